use super::*;

fn packet(payload: &[u8]) -> Packet<'_> {
    Packet { sequence: 1, length: payload.len() as u32, payload }
}

fn completion(payload: &[u8]) -> Completion {
    Completion::read(&packet(payload))
}

#[test]
fn a_packet_that_is_not_all_there_still_tells_its_length() {
    let packet = Packet::read(b"\xff\xff\xff\x07abc").unwrap();
    assert_eq!((packet.length, packet.sequence, packet.payload), (FULL, 7, &b"abc"[..]));
    assert!(packet.continues() && !packet.is_whole());
}

#[test]
fn ok_tells_the_affected_rows_and_the_status() {
    let completion = completion(&[0x00, 0xfc, 0xe8, 0x03, 0x00, 0x0a, 0x00, 0x00, 0x00]);
    assert_eq!((completion.affected_rows, completion.status), (1000, 0x000a));
}

#[test]
fn eof_has_its_status_behind_the_warnings() {
    assert_eq!(completion(&[0xfe, 1, 0, 0x40, 0]).status, CURSOR_EXISTS);
    assert_eq!(completion(&[0xfe, 0, 0, 0x22, 0, 0, 0]).status, 0x22);
}

#[test]
fn the_status_says_whether_a_transaction_is_open() {
    let told =
        [[0xfe, 0, 0, 0x03, 0], [0xfe, 0, 0, 0x02, 0], [0xfe, 0, 0, 0, 0]].map(|eof| completion(&eof).transaction);
    assert_eq!(told, [Some("open"), Some("idle"), Some("idle")]);
    assert_eq!(completion(&[0xfe, 0, 0]).transaction, None);
}

#[test]
fn a_change_of_schema_is_found_in_the_session_state() {
    let state = b"\0\0\0\x02\x40\0\0\0\x11\x00\x0a\x09autocommi\x01\x03\x02db";
    assert_eq!(completion(state).database.as_deref(), Some("db"));
}

#[test]
fn a_cut_ok_is_read_as_far_as_it_goes() {
    assert_eq!(completion(&[0x00, 5, 0]), Completion { affected_rows: 5, ..Completion::default() });
}

#[test]
fn an_error_has_an_sqlstate_once_the_client_has_logged_in() {
    let error = packet(b"\xff\x28\x04#42000You have an error").error();
    assert_eq!((error.code.as_str(), error.message.as_str()), ("1064 (42000)", "You have an error"));
    let error = packet(b"\xff\x10\x04Too many connections").error();
    assert_eq!((error.code.as_str(), error.message.as_str()), ("1040", "Too many connections"));
}

#[test]
fn a_progress_report_is_no_error_code() {
    assert!(packet(b"\xff\xff\xff\x01\x02\x10\x27\0\x05alter").is_progress());
    assert!(!packet(b"\xff\x28\x04#42000x").is_progress());
}

#[test]
fn a_row_of_16_mb_that_begins_with_fe_does_not_end_the_rows() {
    assert!(!Packet { sequence: 9, length: FULL, payload: &[0xfe] }.ends_rows());
    assert!(packet(&[0xfe, 0, 0, 2, 0, 0, 0]).ends_rows());
}
