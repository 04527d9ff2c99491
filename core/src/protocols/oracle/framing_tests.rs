use super::*;

fn length(known: Option<Form>, bytes: &[u8]) -> Result<Frame, Lost> {
    frame(known, Side::Client, bytes)
}

#[test]
fn both_forms_are_told_apart_by_where_the_length_stands() {
    let eleven = Ok(Frame::Message { head: 11, length: 11 });
    assert_eq!(length(None, b"\x00\x0b\0\0\x0c\0\0\0\x01\0\x02"), eleven);
    assert_eq!(length(None, b"\0\0\x00\x0b\x0c\0\0\0\x01\0\x02"), eleven);
}

#[test]
fn a_large_packet_beyond_64_kib_is_no_small_one() {
    let header = Header::read(Some(Form::Large), b"\0\x10\0\0\x06\0\0\0").unwrap();
    assert_eq!((header.form, header.length), (Form::Large, 0x10_0000));
}

#[test]
fn the_urgent_byte_is_no_part_of_a_packet() {
    let one = Ok(Frame::Message { head: 1, length: 1 });
    assert_eq!(length(Some(Form::Large), b"!\0\0\0\x0b\x0c\0\0\0\x01\0\x02"), one);
}

#[test]
fn a_data_descriptor_reaches_over_its_raw_bytes() {
    let packet = b"\0\0\0\x12\x0f\0\0\0\0\0\0\x03\0\0\x10\0\0\0";
    assert_eq!(length(Some(Form::Large), packet), Ok(Frame::Message { head: 16, length: 18 + 4096 }));
}

#[test]
fn lengths_beyond_any_session_data_unit_and_unknown_types_are_refused() {
    assert!(length(Some(Form::Large), b"\x7f\0\0\0\x06\0\0\0\0").is_err());
    assert!(length(Some(Form::Large), b"\0\0\0\x07\x06\0\0\0\0").is_err());
    assert!(length(None, b"\0\x0b\0\0\x10\0\0\0\0").is_err());
}
