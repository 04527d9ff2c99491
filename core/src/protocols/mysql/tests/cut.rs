//! Packets of which the capture kept only the beginning.

use super::*;

#[test]
fn a_cut_statement_ends_with_an_ellipsis() {
    let mut talk = Talk::logged_in(BASE);
    talk.says_cut(Client, &query("select a from t"), 13);
    assert_eq!(talk.told(), ["query: select a…"]);
}

#[test]
fn a_command_cut_to_its_header_is_unknown_and_ends_with_the_next() {
    let mut talk = Talk::logged_in(BASE);
    talk.says_cut(Client, &query("select a from t"), 4).says(Server, &packet(1, OK)).says(Client, &query("do 1"));
    assert_eq!(talk.told(), ["unknown", "more", "query: do 1"]);
}

#[test]
fn nothing_that_is_cut_is_a_loss() {
    let opened = packets(1, &[b"\x01", DEFINITION, EOF]);
    let dialogues: [(&[u8], &[u8]); 6] = [
        (&[], b"\0\x03\0\x02\0\0\0"),
        (&[], b"\xff\x26\x04#23000Duplicate entry"),
        (&[], b"\x01"),
        (&[], b"\xfc\x2c\x01"),
        (&opened, b"\x03abc"),
        (&opened, b"\xfe\0\0\x02\0"),
    ];
    for (before, last) in dialogues {
        let last = packet(if before.is_empty() { 1 } else { 4 }, last);
        for kept in 4..last.len() {
            let mut talk = Talk::logged_in(BASE);
            talk.says(Client, &query("select a")).says(Server, before).says_cut(Server, &last, kept);
            talk.says(Client, &query("do 1"));
            assert!(talk.told().contains(&"query: do 1".to_owned()));
        }
    }
}

#[test]
fn cut_logins_greetings_and_commands_are_no_losses() {
    for kept in 4..greeting(BASE).len() {
        let mut talk = Talk::new(Beginning::Greeting);
        talk.says_cut(Server, &greeting(BASE), kept)
            .says(Client, &login_request(1, BASE, LAB))
            .says(Server, &packet(2, OK));
        assert_eq!(talk.told(), ["greeting", "authenticate", "done"]);
    }
    for kept in 4..login_request(1, BASE, LAB).len() {
        let mut talk = Talk::new(Beginning::Greeting);
        talk.says(Server, &greeting(BASE))
            .says_cut(Client, &login_request(1, BASE, LAB), kept)
            .says(Server, &packet(2, OK));
        assert_eq!(talk.told(), ["greeting", "authenticate", "done"]);
    }
    for request in
        [execute(1, 0, b"\0\x01\x08\0x"), fetch(1, 10), command(0xfa, &[1; 20]), command(0x11, b"amy\0\x02xxcrm\0")]
    {
        for kept in 5..request.len() {
            assert_eq!(Talk::logged_in(BASE).says_cut(Client, &request, kept).told().len(), 1);
        }
    }
}
