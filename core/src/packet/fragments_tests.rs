use super::super::part::Part;
use super::*;

fn fragment(identification: u32, offset: usize, more: bool, bytes: &[u8]) -> Fragment<'_> {
    Fragment { protocol: 6, identification, offset, more, part: Part::whole(bytes) }
}

fn add(fragments: &mut Fragments, fragment: Fragment<'_>, time_ns: i64) -> Option<Datagram> {
    fragments.add(Addresses::default(), fragment, time_ns)
}

/// Adds the pieces in order; what comes out of the last one.
fn join(pieces: &[(usize, bool, &[u8])]) -> Option<Vec<u8>> {
    let mut fragments = Fragments::default();
    let mut datagram = None;
    for &(offset, more, bytes) in pieces {
        assert!(datagram.is_none());
        datagram = add(&mut fragments, fragment(1, offset, more, bytes), 0);
    }
    datagram.map(|datagram| datagram.bytes)
}

const ONE: &[u8] = b"one.one.";
const TWO: &[u8] = b"two.two.";
const END: &[u8] = b"end";

#[test]
fn pieces_may_come_in_any_order() {
    let whole = Some(b"one.one.two.two.end".to_vec());
    assert_eq!(join(&[(0, true, ONE), (8, true, TWO), (16, false, END)]), whole);
    assert_eq!(join(&[(16, false, END), (8, true, TWO), (0, true, ONE)]), whole);
}

#[test]
fn a_repeated_piece_is_ignored() {
    assert_eq!(join(&[(0, true, ONE), (0, true, ONE), (8, false, END)]), Some(b"one.one.end".to_vec()));
}

#[test]
fn overlapping_pieces_give_the_datagram_up() {
    assert_eq!(join(&[(0, true, ONE), (4, true, TWO), (8, true, TWO), (16, false, END)]), None);
    assert_eq!(join(&[(8, false, END), (16, true, TWO), (0, true, ONE)]), None);
}

#[test]
fn a_number_used_again_much_later_is_another_datagram() {
    let mut fragments = Fragments::default();
    assert_eq!(add(&mut fragments, fragment(1, 0, true, ONE), 0), None);
    let late_ns = 31_000_000_000;
    assert_eq!(add(&mut fragments, fragment(1, 8, false, END), late_ns), None);
    let datagram = add(&mut fragments, fragment(1, 0, true, TWO), late_ns).unwrap();
    assert_eq!(datagram.bytes, b"two.two.end");
}

#[test]
fn what_waits_is_bounded_in_number_and_bytes() {
    let mut fragments = Fragments::default();
    let large = vec![0; 60_000];
    for number in 0..3000 {
        add(&mut fragments, fragment(number, 8, true, &large), i64::from(number));
        assert!(fragments.waiting.len() <= MAX_DATAGRAMS);
        assert!(fragments.bytes <= fragments.most);
    }
    for number in 3000..6000 {
        add(&mut fragments, fragment(number, 8, true, ONE), i64::from(number));
        assert!(fragments.waiting.len() <= MAX_DATAGRAMS);
    }
    assert_eq!(fragments.bytes, MAX_DATAGRAMS * (ONE.len() + OVERHEAD));
}
