use super::*;

const LINE: &str = "CLIENT_RANDOM";

fn log(text: &str) -> KeyLog {
    let mut log = KeyLog::default();
    log.add(text.as_bytes());
    log
}

fn line(label: &str, random: u8, secret: u8, length: usize) -> String {
    format!("{label} {} {}", format!("{random:02x}").repeat(32), format!("{secret:02X}").repeat(length))
}

#[test]
fn several_sessions_are_told_apart_by_their_random() {
    let text = [
        "# a comment".to_owned(),
        line(LINE, 1, 2, 48),
        line("CLIENT_TRAFFIC_SECRET_0", 3, 0xab, 32) + "\r",
        line("SERVER_TRAFFIC_SECRET_0", 3, 5, 48),
        line("EXPORTER_SECRET", 3, 6, 32),
        line("CLIENT_TRAFFIC_SECRET_1", 3, 7, 32),
    ];
    let log = log(&text.join("\n"));
    assert_eq!((log.len(), log.damaged()), (2, 0));
    assert_eq!(log.master(&[1; 32], &[]).unwrap().bytes(), [2; 48]);
    assert_eq!(log.secret(&[3; 32], Label::ClientTraffic).unwrap().bytes(), [0xab; 32]);
    assert!(log.secret(&[3; 32], Label::ClientHandshake).is_none() && !log.knows(&[9; 32]));
}

#[test]
fn a_session_may_be_known_by_its_id() {
    let log = log(&format!("RSA Session-ID:0a0b Master-Key:{}", "11".repeat(48)));
    assert_eq!(log.master(&[0; 32], &[10, 11]).unwrap().bytes(), [0x11; 48]);
}

#[test]
fn damaged_lines_are_counted_and_the_others_read() {
    let cut = &line(LINE, 1, 2, 48)[..150];
    let text = [
        cut,
        "no key log at all",
        "CLIENT_RANDOM zz 00",
        "one",
        &line(LINE, 4, 4, 32),
        &line("CLIENT_TRAFFIC_SECRET_0", 4, 4, 20),
        "RSA Session-ID:0 Master-Key:00",
        &line(LINE, 5, 6, 48),
    ];
    let log = log(&text.join("\n"));
    assert_eq!((log.len(), log.damaged()), (1, 7));
    assert!(log.was_given() && !KeyLog::default().was_given());
}

#[test]
fn the_lines_of_some_sessions_are_a_log_of_their_own() {
    let all = log(&[line(LINE, 1, 2, 48), line("CLIENT_TRAFFIC_SECRET_0", 3, 4, 32)].join("\n"));
    let some = all.lines_of(&[[3; 32], [9; 32]]);
    assert_eq!(String::from_utf8_lossy(&some).trim_end(), line("CLIENT_TRAFFIC_SECRET_0", 3, 4, 32));
}

#[test]
fn what_has_no_room_is_left_out_and_counted() {
    let mut log = KeyLog::within(500);
    (0..5).for_each(|random| log.add(line(LINE, random, 1, 48).as_bytes()));
    assert_eq!((log.len(), log.left_out()), (2, 3));
    assert!(log.kept_bytes() <= 500);
}

#[test]
fn no_secret_is_shown() {
    let shown = format!("{:?}", log(&line(LINE, 1, 0xcd, 48)));
    assert!(!shown.contains("205") && !shown.to_lowercase().contains("cd") && shown.contains("48 bytes"), "{shown}");
}
