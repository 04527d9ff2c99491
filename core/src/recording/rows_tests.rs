use proptest::prelude::*;

use super::*;
use crate::disk::Room;

/// A group, a number in it, a time, and a later one.
fn rows(count: i64) -> impl Iterator<Item = [i64; 4]> {
    (0..count).map(|row| {
        let time = if row % 1000 == 7 { NULL } else { 1_700_000_000_000_000_000 + row * 250_000 };
        let later = if row % 500 == 7 { NULL } else { time.wrapping_add(400 + row % 90) };
        [row % 3, row / 3, time, later]
    })
}

const EXPECTED: [Expected; 4] = [Expected::Unknown, Expected::Unknown, Expected::Unknown, Expected::As(2)];

fn kept(rows: impl Iterator<Item = [i64; 4]>) -> Rows<4> {
    let mut kept = Rows::new(EXPECTED, usize::MAX, Overflow::default());
    rows.for_each(|row| kept.push(row));
    kept
}

/// The same where only so many bytes fit in memory, and so many on the disk.
fn overflowing(rows: impl Iterator<Item = [i64; 4]>, most: usize, disk: u64) -> Rows<4> {
    let room = Room { folder: std::env::temp_dir(), bytes: disk };
    let mut kept = Rows::new(EXPECTED, most, Overflow::within(Some(room)));
    rows.for_each(|row| kept.push(row));
    kept
}

fn on_disk(kept: &Rows<4>) -> usize {
    kept.packed.iter().filter(|packed| matches!(packed, Packed::OnDisk(..))).count()
}

#[test]
fn rows_come_back_as_they_came_whole_chunks_and_what_is_open() {
    let count = 2 * CHUNK as i64 + 100;
    let (kept, mut back) = (kept(rows(count)), Vec::new());
    kept.each(&kept.all(), [0, 1, 2, 3], |row| back.push(row)).unwrap();
    assert_eq!(back, rows(count).collect::<Vec<_>>());
}

#[test]
fn rows_are_read_group_by_group_and_nulls_stay_with_their_rows() {
    let count = CHUNK as i64 + 50;
    let mut kept = kept(rows(count));
    let view = kept.sort(0, 1).unwrap();
    let mut sorted: Vec<_> = rows(count).collect();
    sorted.sort();
    for column in 0..4 {
        let mut nulls = Vec::new();
        let values = kept.column(&view, column, &(0..kept.len()), |number| number, |place| nulls.push(place)).unwrap();
        assert_eq!(values, sorted.iter().map(|row| row[column]).collect::<Vec<_>>(), "column {column}");
        nulls.sort();
        let expected = (0..sorted.len()).filter(|&row| sorted[row][column] == NULL);
        assert_eq!(nulls, expected.collect::<Vec<_>>(), "column {column}");
    }
}

#[test]
fn some_of_the_rows_are_read_alone() {
    let count = 2 * CHUNK as i64 + 50;
    for sorted in [false, true] {
        let mut kept = kept(rows(count));
        let view = if sorted { kept.sort(0, 1).unwrap() } else { kept.all() };
        let part = |within: Range<usize>| {
            let mut nulls = Vec::new();
            (kept.column(&view, 2, &within, |number| number, |place| nulls.push(place)).unwrap(), nulls.len())
        };
        let (whole, nulls) = part(0..kept.len());
        let parts = [0..1, 1..CHUNK + 3, CHUNK + 3..kept.len(), 5..5].map(part);
        assert_eq!(parts.each_ref().map(|(values, _)| values.clone()).concat(), whole);
        assert_eq!(parts.iter().map(|(_, nulls)| nulls).sum::<usize>(), nulls);
    }
}

#[test]
fn what_is_as_expected_takes_no_room() {
    let count = 8 * CHUNK as i64;
    let pushed = |later: fn(i64) -> i64| kept((0..count).map(|row| [0, row, row * row, later(row)])).bytes();
    assert_eq!(pushed(|row| row * row + 3), pushed(|row| row * row));
    assert!(pushed(|row| row * row * 7) > pushed(|row| row * row) + count as usize);
}

/// Every column, and where each has its nulls.
fn columns(kept: &Rows<4>, view: &View) -> Vec<(Vec<i64>, Vec<usize>)> {
    let mut nulls = Vec::new();
    let mut column =
        |column| kept.column(view, column, &(0..view.len()), |number| number, |place| nulls.push(place)).unwrap();
    let columns = [0, 1, 2, 3].map(&mut column).to_vec();
    columns.into_iter().map(|column| (column, nulls.clone())).collect()
}

#[test]
fn rows_on_disk_are_the_same_wherever_the_memory_or_the_disk_is_full() {
    let count = 5 * CHUNK as i64 + 70;
    let mut here = kept(rows(count));
    let expected = here.sort(0, 1).unwrap();
    for (most, disk, chunks) in [(0, u64::MAX, 6), (60_000, u64::MAX, 4), (0, 120_000, 3), (0, 0, 0)] {
        let mut kept = overflowing(rows(count), most, disk);
        let view = kept.sort(0, 1).unwrap();
        assert_eq!(on_disk(&kept), chunks, "{most} {disk}");
        assert_eq!(columns(&kept, &view), columns(&here, &expected), "{most} {disk}");
    }
}

#[test]
fn rows_on_disk_take_next_to_no_memory() {
    let kept = overflowing(rows(20 * CHUNK as i64), 0, u64::MAX);
    assert!(kept.bytes() < 20 * 100, "{}", kept.bytes());
}

#[test]
fn what_is_no_longer_on_disk_is_an_error() {
    let mut kept = overflowing(rows(2 * CHUNK as i64), 0, u64::MAX);
    kept.overflow = Overflow::default();
    assert!(kept.column(&kept.all(), 3, &(0..kept.len()), |number| number, |_| {}).is_err());
    assert!(kept.sort(0, 1).is_err());
}

const CUT: Cut = Cut { spans: [1, 1], end: 0, begin: 500 };

/// A number of the order, a span before it that may be null, and its group.
fn spans() -> impl Strategy<Value = Vec<[i64; 4]>> {
    let row =
        (prop_oneof![4 => 0..1000_i64, 1 => Just(NULL)], prop_oneof![4 => 0..1000_i64, 1 => Just(NULL)], 0..5_i64);
    let some = prop::collection::vec(row, 1..40);
    (some, 0..3 * CHUNK).prop_map(|(some, count)| {
        let rows = (0..count as i64).zip(some.iter().cycle());
        rows.map(|(row, &(time, span, group))| [time, span, group, as_it_came(row)]).collect()
    })
}

/// The number of a row, and the row of a number: not ascending.
fn as_it_came(row: i64) -> i64 {
    row / 7 * 7 + 6 - row % 7
}

/// All columns of a view at once, as they are read.
fn seen(rows: &Rows<4>, view: &View, within: Range<usize>) -> Vec<[i64; 4]> {
    let columns = [0, 1, 2, 3].map(|column| {
        let mut nulls = Vec::new();
        let numbers = rows.column(view, column, &within, |number| number, |place| nulls.push(place)).unwrap();
        nulls.sort_unstable();
        let expected = (0..numbers.len()).filter(|&place| numbers[place] == NULL);
        assert_eq!(nulls, expected.collect::<Vec<_>>());
        numbers
    });
    (0..within.len()).map(|row| columns.each_ref().map(|column| column[row])).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_view_shows_the_rows_that_were_picked_wherever_they_are(
        rows in spans(),
        is_sorted: bool,
        is_on_disk: bool,
        every in prop_oneof![1..4_usize, 50..400_usize],
        cut: bool,
        ends in (0..3 * CHUNK, 0..3 * CHUNK),
    ) {
        let most = if is_on_disk { 0 } else { usize::MAX };
        let mut kept = overflowing(rows.iter().copied(), most, u64::MAX);
        let view = if is_sorted { kept.sort(2, 3).unwrap() } else { kept.all() };
        let mut expected = rows.clone();
        if is_sorted {
            expected.sort_by_key(|&[_, _, group, number]| (group, number));
        }
        let is_kept: Vec<bool> = (0..rows.len()).map(|place| place % every == 0 || place % 7 == 3 && every < 4).collect();
        let mut picked = view.kept(&is_kept);
        let mut places = is_kept.iter();
        expected.retain(|_| *places.next().unwrap());
        if cut {
            picked.cut = Some(CUT);
            for [time, span, ..] in &mut expected {
                if *time == NULL || *span == NULL || *time - *span < CUT.begin {
                    *span = NULL;
                }
            }
        }
        prop_assert_eq!(&seen(&kept, &picked, 0..picked.len()), &expected);
        let within = ends.0.min(picked.len())..ends.1.max(ends.0).min(picked.len());
        prop_assert_eq!(seen(&kept, &picked, within.clone()), &expected[within]);
        let (mut each, mut placed) = (Vec::new(), vec![[0; 4]; picked.len()]);
        kept.each(&picked, [0, 1, 2, 3], |row| each.push(row)).unwrap();
        kept.each_placed(&picked, [0, 1, 2, 3], |place, row| placed[place] = row).unwrap();
        prop_assert_eq!(&placed, &expected);
        let (mut all_placed, all) = (vec![[0; 4]; rows.len()], seen(&kept, &view, 0..rows.len()));
        kept.each_placed(&view, [0, 1, 2, 3], |place, row| all_placed[place] = row).unwrap();
        prop_assert_eq!(all_placed, all);
        expected.sort_by_key(|&[.., number]| as_it_came(number));
        prop_assert_eq!(each, expected);
    }

    #[test]
    fn groups_side_by_side_are_the_whole(rows in spans(), groups in 1..5_u32) {
        let mut kept = kept(rows.iter().copied());
        let view = kept.sort(2, 3).unwrap();
        let group = |group: i64| u32::try_from(group).ok().filter(|&group| group < groups);
        let of_places = kept.column(&view, 2, &(0..view.len()), group, |_| {}).unwrap();
        let (arranged, bounds) = view.grouped(&of_places, groups as usize);
        let mut expected: Vec<_> = rows.into_iter().filter(|&[_, _, of, _]| group(of).is_some()).collect();
        expected.sort_by_key(|&[_, _, group, number]| (group, number));
        prop_assert_eq!(seen(&kept, &arranged, 0..arranged.len()), &expected[..]);
        let parts: Vec<_> = arranged.split(&bounds).iter().map(|part| seen(&kept, part, 0..part.len())).collect();
        prop_assert_eq!(parts.len(), groups as usize);
        for (part, of) in parts.iter().zip(0_i64..) {
            prop_assert!(part.iter().all(|&[_, _, group, _]| group == of));
        }
        prop_assert_eq!(parts.concat(), expected);
    }
}

#[test]
fn a_small_view_unpacks_no_chunk_and_reads_as_the_whole() {
    let count = 40 * CHUNK as i64;
    let kept = kept(rows(count));
    let is_kept: Vec<bool> = (0..count as usize).map(|row| row % CHUNK == 17).collect();
    let view = kept.all().kept(&is_kept);
    assert_eq!(view.len(), 40);
    let whole = seen(&kept, &kept.all(), 0..kept.len());
    assert_eq!(seen(&kept, &view, 0..40), whole.into_iter().skip(17).step_by(CHUNK).collect::<Vec<_>>());
}
