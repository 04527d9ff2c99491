use super::*;

#[test]
fn a_header_that_is_cut_says_which_field_is_missing() {
    #[derive(Debug, PartialEq)]
    struct Message(u8, u16);
    impl Header for Message {
        fn read(mut cursor: Cursor<'_>) -> Result<Self, TooShort> {
            Ok(Self(cursor.u8("tag")?, cursor.u16_be("length")?))
        }
    }
    assert_eq!(header::<3, _>(&[7, 0, 9, 1]), Ok(Message(7, 9)));
    let short = header::<3, Message>(&[7, 0]).unwrap_err();
    assert_eq!(short.to_string(), "length at byte 1 needs 2 bytes, 1 left");
}

#[test]
fn integers_are_read_in_the_order_their_name_says() {
    let mut cursor = Cursor::new(&[1, 0, 2, 2, 0, 1, 0, 0, 0, 0, 3]);
    assert_eq!(cursor.u8("tag"), Ok(1));
    assert_eq!(cursor.u16_be("port"), Ok(2));
    assert_eq!(cursor.u16_le("port"), Ok(2));
    assert_eq!(cursor.u24_le("length"), Ok(1));
    assert_eq!(cursor.u24_be("length"), Ok(3));
    assert!(cursor.is_empty());
}

#[test]
fn a_missing_field_is_named_with_its_place_and_need() {
    let mut cursor = Cursor::new(&[9, 9, 9]);
    cursor.u8("tag").unwrap();
    let error = cursor.u32_be("length").unwrap_err();
    assert_eq!(error.to_string(), "length at byte 1 needs 4 bytes, 2 left");
}

#[test]
fn a_failed_read_does_not_move() {
    let mut cursor = Cursor::new(&[7, 8]);
    assert!(cursor.take(3, "body").is_err());
    assert!(cursor.until(0, "name").is_err());
    assert_eq!(cursor.rest(), [7, 8]);
}

#[test]
fn text_ends_at_its_zero_and_the_zero_is_read() {
    let mut cursor = Cursor::new(b"user\0x");
    assert_eq!(cursor.until(0, "name"), Ok(&b"user"[..]));
    assert_eq!(cursor.peek_u8(), Some(b'x'));
}

#[test]
fn a_part_has_its_own_end() {
    let mut cursor = Cursor::new(&[1, 2, 3]);
    let mut part = cursor.sub(2, "part").unwrap();
    assert_eq!(part.rest(), [1, 2]);
    assert_eq!(cursor.left(), 1);
}

#[test]
fn a_length_beyond_any_memory_is_only_too_short() {
    assert!(Cursor::new(&[1]).take(usize::MAX, "body").is_err());
    assert_eq!(Cursor::new(&[1]).take_up_to(usize::MAX), [1]);
}
