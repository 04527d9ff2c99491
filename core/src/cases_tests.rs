use super::*;
use crate::case::KINDS;

fn told(cases: impl IntoIterator<Item = Case>) -> Vec<(String, u64)> {
    Cases::of(cases).notes().iter().map(|note| (note.message.clone(), note.count)).collect()
}

#[test]
fn parts_say_together_what_the_whole_says() {
    let timeouts = |count, first, span_ns| Case { span_ns, ..Case::new(NoteCode::Timeouts, count, first) };
    let parts = [timeouts(2, 90, 1_500_400_000), timeouts(1, 4, 499_700_000)];
    let message = "3 time-outs before retransmissions, 2.000 s in all (first: frame 4)";
    assert_eq!(told(parts), [(message.to_owned(), 3)]);
}

#[test]
fn what_is_said_of_one_connection_is_said_of_the_first() {
    let lost = |stream, why: &str| Case { text: why.to_owned(), ..Case::new(NoteCode::Unreadable, 2, stream) };
    let [(message, count)] = &told([lost(7, "later"), lost(3, "bytes are missing")])[..] else { panic!("one note") };
    assert!(message.starts_with("connection 3: bytes are missing; "), "{message}");
    assert_eq!(*count, 4);
}

#[test]
fn ports_are_told_with_all_their_connections() {
    let on = |port, count, first| Case {
        name: "SQL Server".into(),
        port,
        ..Case::new(NoteCode::OtherDatabase, count, first)
    };
    let [(message, count)] = &told([on(1433, 1, 9), on(1434, 2, 5), on(1433, 4, 6)])[..] else { panic!("one note") };
    let groups = "SQL Server on port 1433 (5 connections, first: stream 6), SQL Server on port 1434 (2 connections, first: stream 5)";
    assert!(message.contains(groups), "{message}");
    assert_eq!(*count, 7);
}

#[test]
fn cases_that_are_put_together_again_are_the_same() {
    let cases: Vec<Case> = KINDS.into_iter().map(|code| Case::new(code, 2, 7)).collect();
    let mut again: Vec<Case> = Cases::of(cases.clone()).all().collect();
    again.sort_by_key(|case| KINDS.iter().position(|kind| *kind == case.code));
    assert_eq!(again, cases);
}
