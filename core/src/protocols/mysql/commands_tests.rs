use super::*;

#[test]
fn commands_have_the_protocol_s_own_names() {
    assert_eq!(Command::of(Some(0x17)).name, "stmt_execute");
    assert_eq!(Command::of(Some(0xfa)).name, "stmt_bulk_execute");
    assert_eq!(Command::of(Some(0x20)).name, "unknown");
    assert_eq!(Command::of(None).name, "unknown");
}

#[test]
fn no_code_is_listed_twice() {
    let ascending = COMMANDS.windows(2).all(|pair| pair[0].code < pair[1].code);
    assert!(ascending);
}

#[test]
fn a_query_without_attributes_still_says_that_there_are_none() {
    assert_eq!(query_text(b"\0\x01select 1", Some(true)), b"select 1");
    assert_eq!(query_text(b"\0\x01select 1", None), b"select 1");
    assert_eq!(query_text(b"select 1", None), b"select 1");
}

#[test]
fn attributes_stand_before_the_sql() {
    let payload = b"\x02\x01\x02\x01\xfe\0\x05trace\x08\0\x01n\x03abcselect 1";
    assert_eq!(query_text(payload, Some(true)), b"select 1");
}

#[test]
fn every_type_of_attribute_has_its_length() {
    let payload = b"\x03\x01\0\x01\x01\0\x01a\x0c\0\x01b\x05\0\x01c\x09\x04\xe7\x07\x01\x0112345678do 1";
    assert_eq!(query_text(payload, Some(true)), b"do 1");
}

#[test]
fn what_are_no_attributes_is_sql() {
    for text in [&b"select 1"[..], b"\x01\x01\0\x01\x63\0\x01areplace", b"\x09\x02x", b"\xfd"] {
        assert_eq!(query_text(text, Some(true)), text);
    }
}

#[test]
fn a_type_list_does_not_make_equal_values_look_different() {
    let first = execute(b"\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0\x2a\0\0\0\0\0\0\0", Some(1)).unwrap();
    let again = execute(b"\x01\0\0\0\0\x01\0\0\0\0\0\x2a\0\0\0\0\0\0\0", Some(1)).unwrap();
    assert_eq!(first.binds, again.binds);
    let other = execute(b"\x01\0\0\0\0\x01\0\0\0\0\0\x2b\0\0\0\0\0\0\0", Some(1)).unwrap();
    assert_ne!(first.binds, other.binds);
}

#[test]
fn an_execute_may_say_how_many_parameters_it_has() {
    let counted = b"\x01\0\0\0\x08\x01\0\0\0\x01\0\x01\x08\0\0\x2a\0\0\0\0\0\0\0";
    assert_eq!(execute(counted, Some(0)).unwrap().binds, [&b"\0"[..], b"\x2a\0\0\0\0\0\0\0"]);
}

#[test]
fn a_cursor_is_asked_for_in_the_flags() {
    assert!(execute(b"\x01\0\0\0\x01\x01\0\0\0", None).unwrap().cursor);
    assert!(!execute(b"\x01\0\0\0\x08\x01\0\0\0\0", None).unwrap().cursor);
}

#[test]
fn a_cut_execute_still_names_its_statement() {
    assert_eq!(execute(b"\x07\0\0\0", Some(1)).unwrap().statement, 7);
    assert!(execute(b"\x07\0", Some(1)).is_err());
}

#[test]
fn unit_results_are_no_rows() {
    assert!(bulk_execute(b"\xff\xff\xff\xff\xc0\0\x08\0").unwrap().unit_results);
    assert!(!bulk_execute(b"\x01\0\0\0\x80\0\x08\0").unwrap().unit_results);
}
