use super::super::encodings::Order;
use super::*;

const OCI_PRESENT: [u8; 8] = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

#[test]
fn a_piggyback_that_closes_cursors_is_walked_over() {
    let message = b"\x11\x69\x08\x01\x01\x01\x01\x02\x03\x5e\x09\x02\x80\x21";
    let found = find(message, &Effort::default()).unwrap();
    assert_eq!((found.header.function, found.header.sequence), (EXECUTE, 9));
    assert_eq!(found.closed, Closed::These(vec![2]));
}

#[test]
fn piggybacks_with_tokens_lead_to_their_call() {
    let message = b"\x11\x69\x0e\x00\x01\x01\x04\x01\x05\x01\x04\x01\x03\x01\x02\x03\x09\x0f\x00";
    let found = find(message, &Effort::default()).unwrap();
    assert_eq!((found.header.function, found.closed), (9, Closed::These(vec![5, 4, 3, 2])));
}

#[test]
fn an_unknown_piggyback_ends_where_the_next_sequence_begins() {
    let message = b"\x11\x69\x05\x01\x01\x01\x01\x01\x11\xbf\x06\x01\x01\x09\x00512,0,0,0\x03\x09\x07";
    assert_eq!(find(message, &Effort::default()).unwrap().header, Header { kind: CALL, function: 9, sequence: 7 });
}

#[test]
fn cursors_closed_by_oci_are_fixed_width_numbers() {
    let mut message = b"\x11\x69\x05".to_vec();
    message.extend(OCI_PRESENT);
    message.extend(b"\x02\0\0\0\x03\0\0\0\x04\0\0\0\x03\x0e\x06");
    let found = find(&message, &Effort::default()).unwrap();
    assert_eq!((found.header.function, found.closed), (14, Closed::These(vec![3, 4])));
}

#[test]
fn a_sequence_begins_again_at_one() {
    let header = |sequence| Header { kind: CALL, function: 14, sequence };
    assert!(header(1).follows(255));
    assert!(header(2).follows(126));
    assert!(header(128).follows(127));
    assert!(header(9).follows(8));
    assert!(header(0).follows(0));
    assert!(!header(8).follows(9));
    assert!(!header(0).follows(9));
}

#[test]
fn a_fetch_is_read_with_and_without_token_and_from_oci() {
    assert_eq!(fetch(b"\x03\x05\x17\x01\x0a\x01\x64"), Some((10, 100, Family::Universal)));
    assert_eq!(fetch(b"\x03\x05\x06\x00\x01\x01\x01\x64"), Some((1, 100, Family::Universal)));
    assert_eq!(fetch(b"\x03\x05\x1d\x02\0\0\0\x19\0\0\0"), Some((2, 25, Family::Wide(Order::Little))));
}

#[test]
fn a_reexecution_names_its_cursor_and_brings_values() {
    let read = reexecution(b"\x03\x04\x0b\x01\x04\x01\x01\x00\x00\x07\x02\xc1\x02").unwrap();
    assert_eq!((read.cursor, read.rows, read.binds), (4, 1, &b"\x07\x02\xc1\x02"[..]));
}

#[test]
fn lob_operations_are_told_apart() {
    assert_eq!(lob(b"\x03\x60\x07\x00\x01\x01\x28\0\0\0\0\0\0\0\x01\x02\0\0\x01\x01"), "lob_read");
    assert_eq!(lob(b"\x03\x60\x07\x01\x01\x28\0\0\0\0\0\0\0\x02\x40\x00\0\0"), "lob_chunk_size");
    assert_eq!(lob(b"\x03\x60\x07"), "lob");
}
