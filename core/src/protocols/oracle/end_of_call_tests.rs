use super::*;

const EMPTY: &[u8] =
    b"\x04\x01\x01\x01\x03\x00\x02\x03\xae\x00\x00\x01\x02\x00\x03\0\0\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\
    \x02\x03\xae\x00\x28ORA-00942: table or view does not exist\n";

fn expected(sequence: u8, certain: bool) -> Expected {
    Expected { sequence: Some(sequence), cursor: 0, certain, without_cursor: false }
}

fn end_of(response: &[u8], sequence: u8) -> Option<EndOfCall<'_>> {
    find(response, &expected(sequence, false), &mut Shape::default(), &Effort::default())
}

#[test]
fn an_error_is_read_with_code_and_message() {
    let end = end_of(EMPTY, 7).unwrap();
    assert_eq!((end.error, end.cursor, end.rows), (942, 2, 0));
    assert!(end.message.starts_with(b"ORA-00942: table"));
}

#[test]
fn rows_before_the_end_do_not_hide_it() {
    let end = b"\x04\x01\x01\x01\x0f\x02\x01\x2c\0\0\0\x01\x01\x00\x03\0\0\0\0\0\0\0\0\0\0\0\0\x09\0\x01\x01\0\0\0\0\0\x02\x01\x2c";
    let response = [b"\x06\x02\x01\x04\x07\x04\x01\x01\x01\x0f\x07\x02\xc1\x04", &end[..]].concat();
    assert_eq!(end_of(&response, 9).unwrap().rows, 300);
    assert_eq!(end_of(&response, 8), None);
    assert_eq!(end_of(&response[..response.len() - 1], 9), None);
}

#[test]
fn two_byte_flags_and_the_fields_of_20c_are_found_by_trying() {
    let end = b"\x04\x01\x01\x01\x05\x01\x05\0\0\0\x01\x02\0\x03\0\x01\x20\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x01\x05\x01\x03\0";
    assert_eq!(end_of(end, 7).unwrap().rows, 5);
}

#[test]
fn a_10g_server_says_it_with_other_fields_before_the_same_message() {
    let response =
        b"\x09\x04\x01\x04\x01\x05\x02\x05\x7b\0\0\x01\x03\0\x01\x17\x03\0\x01\x20\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\
        \x19ORA-01403: no data found\n";
    let end = find(response, &expected(0, true), &mut Shape::default(), &Effort::default()).unwrap();
    assert_eq!((end.rows, end.error, end.cursor), (5, 1403, 3));
}

#[test]
fn a_refused_logon_has_neither_a_cursor_nor_a_type() {
    let end = b"\x04\x01\x01\0\x02\x03\xf9\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let response = [&end[..], b"\x33ORA-01017: invalid username/password; logon denied\n"].concat();
    let find = |without_cursor| {
        let expected = Expected { sequence: Some(0), cursor: 0, certain: true, without_cursor };
        super::find(&response, &expected, &mut Shape::default(), &Effort::default()).map(|end| (end.error, end.cursor))
    };
    assert_eq!(find(true), Some((1017, 0)));
    assert_eq!(find(false), None);
}

#[test]
fn the_short_form_of_old_drivers_is_told_by_its_cursor() {
    let end = b"\x08\x01\x02\0\x04\x02\x19\x67\x01\x03\0\0\0\x01\x02\0\x06\0\0\x01\x08\0\0\x02\xff\xb8\x01\x56\0\x02\
        \xb8\xce\x01\x01\0\0\0\0\x01\x01";
    let find = |cursor| {
        let expected = Expected { sequence: Some(0), cursor, certain: true, without_cursor: false };
        super::find(end, &expected, &mut Shape::default(), &Effort::default())
            .map(|end| (end.rows, end.cursor, end.sql_type))
    };
    assert_eq!(find(2), Some((3, 2, 6)));
    assert_eq!(find(3), None);
}

#[test]
fn the_wide_form_of_a_10g_server_is_read() {
    let mut response = b"\x07\x02\xc1\x02\x04\x01\0\0\0\x19\0\0\0\0\0\0\0\0\0\x02\0\0\0\x03".to_vec();
    response.extend([0; 23]);
    response.extend(b"\x1c\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let end = end_of(&response, 0x1c).unwrap();
    assert_eq!((end.rows, end.cursor, end.sql_type), (25, 2, 3));
}

#[test]
fn a_bare_status_ends_calls_that_return_nothing() {
    assert!(ends_with_status(b"\x09\x01\x01\x01\x04"));
    assert!(ends_with_status(b"\x21\x01\x08\x09\x01\x01\x01\x0a"));
    assert!(ends_with_status(b"\x08\x01\x00\x09\x01\0\0\0"));
    assert!(!ends_with_status(b"\x09\x01\x01\x01"));
    assert!(!ends_with_status(b""));
}
