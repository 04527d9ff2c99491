use super::*;

#[test]
fn drops_of_the_interface_and_of_the_system_add_up() {
    let options = [5, 0, 8, 0, 3, 0, 0, 0, 0, 0, 0, 0, 7, 0, 8, 0, 4, 0, 0, 0, 0, 0, 0, 0];
    let body = [&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &options].concat();
    assert_eq!(statistics(Cursor::new(&body), Order::Little), Ok((1, 7)));
}

#[test]
fn secrets_are_a_tls_key_log_or_said_to_be_another_protocols() {
    let block = |kind: &[u8], length: u8| [kind, &[0, 0, 0, length], b"abcd"].concat();
    let read = |block: &[u8]| secrets(Cursor::new(block), Order::Big).map(|found| format!("{found:?}"));
    assert_eq!(read(&block(b"TLSK", 3)), Ok("TlsKeyLog([97, 98, 99])".to_owned()));
    assert_eq!(read(&block(b"SSHK", 4)), Ok("Other(\"SSH\")".to_owned()));
    assert_eq!(read(&block(b"ABCD", 0)), Ok("Other(\"type 0x41424344\")".to_owned()));
    assert!(read(&block(b"TLSK", 5)).is_err());
}

#[test]
fn key_logs_beyond_the_room_are_left_out_until_they_were_taken() {
    let mut extras = Extras::default();
    let text = vec![b'x'; MAX_KEY_LOG_BYTES];
    assert!(extras.keep_key_log(b"one") && !extras.keep_key_log(&text));
    assert_eq!(extras.take_key_log().as_deref(), Some(&b"one\n".to_vec()));
    assert!(extras.take_key_log().is_none() && extras.keep_key_log(&text));
}

#[test]
fn a_relay_says_so_in_its_description() {
    let body = |text: &[u8; 8]| [&[101, 0, 0, 0, 0, 0, 0, 0, 3, 0, 8, 0], &text[..]].concat();
    let relayed = |text| interface(Cursor::new(&body(text)), Order::Little).unwrap().0.relayed;
    assert!(relayed(b"relayed:") && !relayed(b"a relay "));
}

#[test]
fn an_option_that_lies_about_its_length_leaves_the_interface() {
    let body = [1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 255, 255, 9];
    let (interface, read) = interface(Cursor::new(&body), Order::Little).unwrap();
    assert!(read.is_err());
    assert_eq!(interface.link_type, 1);
    assert_eq!(interface.clock.nanoseconds(0, 1), 1000);
}
