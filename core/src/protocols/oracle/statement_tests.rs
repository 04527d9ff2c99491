use super::*;

/// python-oracledb: the text is a string.
const THIN: &[u8] =
    b"\x03\x5e\x03\x02\x80\x61\x00\x01\x01\x12\x01\x01\x0d\0\0\0\x01\x02\x04\x7f\xff\xff\xff\0\0\0\0\0\0\
    \0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\x12select 1 from dual\x01\x01\0\0\0\0\0\0\x01\x01\0\x02\x80\0\0\0\0";
/// JDBC: the text is bare.
const JDBC: &[u8] = b"\x03\x5e\x04\x02\x80\x21\x00\x01\x01\x12\x01\x01\x0d\0\0\x04\xff\xff\xff\xff\x01\x0a\x04\x7f\xff\
    \xff\xff\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0select 1 from dual\x01\x01\0\0\0\0\0\0\x01\x01\0\x02\x80\0";

const OCI_NULL: [u8; 8] = [0; 8];
const OCI_PRESENT: [u8; 8] = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

fn text_of(bytes: &[u8]) -> Option<Vec<u8>> {
    match text(bytes, &Execution::read(bytes)?, &Effort::default()) {
        Text::Whole(text, _) => Some(text.into_owned()),
        _ => None,
    }
}

#[test]
fn the_text_is_found_as_a_string_and_bare() {
    assert_eq!(text_of(THIN).unwrap(), b"select 1 from dual");
    assert_eq!(text_of(JDBC).unwrap(), b"select 1 from dual");
}

#[test]
fn options_and_rows_asked_for_are_read() {
    let execution = Execution::read(THIN).unwrap();
    assert!(execution.executes() && execution.fetches());
    assert_eq!((execution.cursor, execution.rows, execution.family), (0, 2, Family::Universal));
}

#[test]
fn a_token_before_the_fields_changes_nothing() {
    let mut bytes = THIN.to_vec();
    bytes.splice(3..3, *b"\x01\x05");
    assert_eq!(text_of(&bytes).unwrap(), b"select 1 from dual");
}

#[test]
fn oci_declares_its_buffer_and_writes_little_endian() {
    let mut bytes = b"\x03\x5e\x05\x61\x80\0\0\0\0\0\0".to_vec();
    bytes.extend(OCI_PRESENT);
    bytes.extend(54u32.to_le_bytes());
    bytes.extend(OCI_PRESENT);
    bytes.extend(13u32.to_le_bytes());
    bytes.extend([OCI_PRESENT, OCI_PRESENT].concat());
    bytes.extend([0, 0, 0, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f]);
    bytes.extend(OCI_NULL);
    bytes.extend([0; 100]);
    bytes.extend(b"\x12select 1 from dual");
    bytes.extend([1; 52]);
    assert_eq!(text_of(&bytes).unwrap(), b"select 1 from dual");
}

#[test]
fn a_text_whose_end_has_not_come_is_partial() {
    let half = &THIN[..60];
    assert_eq!(text(half, &Execution::read(half).unwrap(), &Effort::default()), Text::Partial);
    assert_eq!(beginning(half, &Execution::read(half).unwrap(), &Effort::default()).unwrap(), &b"select 1 fr"[..]);
}

#[test]
fn a_lie_about_the_length_finds_nothing() {
    let mut bytes = THIN.to_vec();
    bytes[9] = 0x11;
    bytes.extend([0; 400]);
    assert_eq!(text_of(&bytes), None);
}

#[test]
fn a_bare_text_that_begins_like_a_string_is_whole() {
    let text = b"\n\t\t\t\t\tSELECT 1 FROM DUAL\n\t\t\t\t\t";
    let bytes = [&JDBC[..9], &[text.len() as u8], &JDBC[10..JDBC.len() - 32], text, &JDBC[JDBC.len() - 14..]].concat();
    assert_eq!(text.len(), 30);
    assert_eq!(text_of(&bytes).unwrap(), text);
}

#[test]
fn the_first_chunk_of_a_text_whose_end_was_cut_is_no_text() {
    let mut bytes = b"\x03\x03\x14\x01\0\0\0\x38\x4d\x46\0\x60\0\0\0\xfe\x28".to_vec();
    bytes.extend(b"select amount, price, name, owner from s");
    bytes.extend(b"\x38tock where ");
    let execution = Execution::read_version_7(&bytes, false, &Effort::default()).unwrap();
    assert_eq!(text(&bytes, &execution, &Effort::default()), Text::Partial);
    assert_eq!(guess(&bytes, &Effort::default()), None);
}

#[test]
fn a_text_in_another_character_set_is_longer_than_declared_for() {
    let text = "insert into t values ('\u{597d}\u{597d}')".as_bytes();
    let mut bytes = b"\x03\x5e\x05\x21\x80\0\0\0\0\0\0".to_vec();
    bytes.extend(b"\x14\xee\xda\0\x57\0\0\0\xc8\x4e\xd9\0\x0c\0\0\0\0\0\0\0\xf8\x4e\xd9\0");
    bytes.extend([0; 40]);
    bytes.push(text.len() as u8);
    bytes.extend(text);
    bytes.extend([1; 48]);
    assert_eq!(text_of(&bytes).unwrap(), text);
}

#[test]
fn a_statement_is_known_by_its_first_word() {
    assert_eq!(Verb::of(b" /* by app */ -- x\n (SELECT 1)"), Verb::Query);
    assert_eq!(Verb::of(b"merge into t"), Verb::Change);
    assert_eq!(Verb::of(b"BEGIN null; END;"), Verb::Block);
    assert_eq!(Verb::of(b"/* never closed"), Verb::Other);
}
