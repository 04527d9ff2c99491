use proptest::prelude::*;

use super::*;

fn packed(numbers: &[i64]) -> (Vec<i64>, usize) {
    let chunk = Chunk::of(numbers);
    let mut unpacked = vec![0; numbers.len()];
    chunk.unpack(&mut unpacked, |number, _| number);
    (unpacked, chunk.bytes() - size_of::<Chunk>())
}

fn numbers() -> impl Strategy<Value = Vec<i64>> {
    let near = 1_700_000_000_000_000_000..1_700_000_000_000_300_000_i64;
    let number = prop_oneof![6 => near, 1 => Just(NULL), 1 => Just(i64::MAX), 1 => 0..300_i64, 1 => any::<i64>()];
    prop_oneof![prop::collection::vec(number, 0..300), prop::collection::vec(any::<i64>(), 0..300)]
}

proptest! {
    #[test]
    fn what_was_packed_comes_back(numbers in numbers()) {
        prop_assert_eq!(packed(&numbers).0, numbers);
    }

    #[test]
    fn one_number_comes_back_alone(numbers in numbers()) {
        let chunk = Chunk::of(&numbers);
        prop_assert_eq!((0..numbers.len()).map(|row| chunk.number(row)).collect::<Vec<_>>(), numbers);
    }

    #[test]
    fn a_chunk_knows_whether_it_has_a_null(numbers in numbers()) {
        prop_assert_eq!(Chunk::of(&numbers).has_null(), numbers.is_empty() || numbers.contains(&NULL));
    }

    #[test]
    fn what_was_written_is_read_back(numbers in numbers()) {
        let (chunk, mut bytes) = (Chunk::of(&numbers), Vec::new());
        chunk.write(&mut bytes);
        prop_assert_eq!(Chunk::read(&bytes, numbers.len()), Some(chunk));
    }

    #[test]
    fn whatever_is_read_back_can_be_unpacked(mut bytes in prop::collection::vec(any::<u8>(), 0..200), rows in 0..40usize) {
        if let Some(width) = bytes.get_mut(8) {
            *width %= 9;
        }
        if let Some(aside) = bytes.get_mut(10) {
            *aside = 0;
        }
        if let Some(chunk) = Chunk::read(&bytes, rows) {
            chunk.unpack(&mut vec![0; rows], |number, _| number);
        }
    }

    #[test]
    fn each_number_meets_what_stands_in_its_place(numbers in numbers()) {
        let mut met: Vec<i64> = (0..numbers.len() as i64).collect();
        Chunk::of(&numbers).unpack(&mut met, |number, there| number ^ there);
        let expected: Vec<i64> = numbers.iter().zip(0..).map(|(number, row)| number ^ row).collect();
        prop_assert_eq!(met, expected);
    }

    #[test]
    fn no_number_takes_more_than_it_does_unpacked(numbers in numbers()) {
        prop_assert!(packed(&numbers).1 <= numbers.len() * size_of::<i64>());
    }
}

#[test]
fn a_number_aside_is_no_null() {
    assert!(!Chunk::of(&[1, 0, i64::MAX]).has_null());
}

#[test]
fn the_ends_of_each_width_come_back() {
    for most in [u8::MAX as i64, u16::MAX as i64, u32::MAX as i64, i64::MAX] {
        let numbers = [-1, 0, 1, most - 2, most - 1, most, NULL].repeat(9);
        assert_eq!(packed(&numbers).0, numbers);
    }
    assert_eq!(packed(&[NULL + 1, i64::MAX, NULL]).0, [NULL + 1, i64::MAX, NULL]);
}

#[test]
fn a_row_that_is_unlike_the_others_takes_room_for_itself_alone() {
    let mut same = vec![5; CHUNK];
    assert_eq!(packed(&same).1, 0);
    same[77] = NULL;
    assert_eq!(packed(&same), (same.clone(), ASIDE_BYTES));
    let mut near: Vec<i64> = (0..CHUNK as i64).map(|row| 1_000_000 + row % 200).collect();
    assert_eq!(packed(&near).1, CHUNK);
    near[3] = i64::MAX;
    assert_eq!(packed(&near), (near.clone(), CHUNK + ASIDE_BYTES));
}
