//! Numbers, pipelining, losses, and packets of 16 MB.

use super::*;

#[test]
fn pipelined_commands_are_answered_in_order() {
    let mut talk = Talk::logged_in(BASE);
    let asked = [query("a"), query("b"), command(0x0e, b"")].concat();
    let answers =
        [packet(1, DUPLICATE), packets(1, &[b"\x01", DEFINITION, EOF, b"\x011", EOF]), packet(1, OK)].concat();
    let told = talk.ask(&asked, &answers);
    assert_eq!(told[3..], ["done error 1062 (23000)", "more", "more", "more", "row 1", "done rows+0", "done"]);
}

#[test]
fn a_long_answer_is_numbered_around_zero() {
    let mut talk = Talk::logged_in(BASE);
    let mut result = vec![&b"\x01"[..], DEFINITION, EOF];
    result.extend(vec![&b"\x011"[..]; 600]);
    result.push(EOF);
    assert_eq!(talk.ask(&query("select a"), &packets(1, &result)).last().unwrap(), "done rows+0");
}

#[test]
fn a_number_out_of_order_is_a_loss() {
    let mut talk = Talk::logged_in(BASE);
    let lost = talk.lost_to(Client, &packet(3, b"\x03do 1"));
    assert_eq!(lost, "the client sends packet 3 where packet 0 was expected");
    let mut talk = Talk::logged_in(BASE);
    talk.says(Client, &query("do 1"));
    assert_eq!(talk.lost_to(Server, &packet(2, OK)), "the server sends packet 2 where packet 1 was expected");
}

#[test]
fn inside_compressed_packets_the_numbers_prove_nothing() {
    let mut talk = Talk::new(Beginning::Compressed);
    talk.says(Client, &packet(7, b"\x03do 1")).says(Server, &packet(3, OK));
    assert_eq!(talk.told(), ["query: do 1", "done affected 0"]);
}

#[test]
fn what_was_not_asked_for_is_an_error_or_a_loss() {
    let mut talk = Talk::logged_in(BASE);
    talk.says(
        Server,
        &packet(0, b"\xff\xbf\x0f#HY000The client was disconnected by the server because of inactivity."),
    );
    assert_eq!(talk.told(), ["unrelated"]);
    assert_eq!(talk.lost_to(Server, &packet(1, OK)), "the server sends what was not asked for");
}

#[test]
fn an_error_that_crosses_a_command_answers_it() {
    let mut talk = Talk::logged_in(BASE);
    assert_eq!(talk.ask(&query("do 1"), &packet(0, b"\xff\xbf\x0f#HY000x"))[1], "done error 4031 (HY000)");
}

#[test]
fn impossible_answers_are_losses() {
    type Case = (Vec<u8>, &'static [&'static [u8]], &'static str);
    let cases: [Case; 5] = [
        (command(0x0e, b""), &[b"\x01"], "an answer cannot begin with 0x01 here"),
        (query("select a"), &[b"\x2fnonsense that is no count"], "an answer cannot begin with 0x2f here"),
        (query("select a"), &[b"\x02", DEFINITION, EOF], "the definitions end while 1 are still to come"),
        (query("select a"), &[b"\x01", DEFINITION, b"\x011"], "no EOF follows the column definitions"),
        (query("load data"), &[b"\xfbfile", OK], "the server answers before the local file has ended"),
    ];
    for (request, answer, expected) in cases {
        let mut talk = Talk::logged_in(BASE);
        talk.says(Client, &request);
        assert_eq!(talk.lost_to(Server, &packets(1, answer)), expected);
    }
}

#[test]
fn after_a_loss_a_command_is_a_place_to_go_on() {
    let mut talk = Talk::with_statement(BASE);
    talk.says(Client, &query("do 1"));
    assert!(!talk.decoder.resumes(b"in the middle of something"));
    assert!(!talk.decoder.resumes(&packet(1, b"\x03do 1")));
    assert!(talk.decoder.resumes(&execute(1, 0, b"")));
    talk.decoder.resume();
    assert_eq!(talk.ask(&execute(1, 0, b""), &packet(1, OK)), ["stmt_execute: select ?", "done affected 0"]);
}

const FULL: usize = framing::FULL as usize;

#[test]
fn a_statement_of_16_mb_goes_on_in_an_empty_packet() {
    let mut talk = Talk::logged_in(BASE);
    let mut text = vec![b'x'; FULL];
    text[..11].copy_from_slice(b"\x03insert xxx");
    talk.says(Client, &packets(0, &[&text, b""])).says(Server, &packet(2, OK_3_AFFECTED));
    let told = talk.told();
    assert!(told[0].starts_with("query: insert xxx") && told[0].ends_with('…') && told[0].len() < 70_000);
    assert_eq!(told[1..], ["more", "done affected 3"]);
}

#[test]
fn long_data_of_more_than_16_mb_is_still_not_answered() {
    let mut talk = Talk::logged_in(BASE);
    let mut data = vec![0; FULL];
    data[..7].copy_from_slice(b"\x18\x01\0\0\0\0\0");
    talk.says(Client, &packets(0, &[&data, b"rest"])).says(Client, &query("do 1"));
    assert_eq!(talk.told(), ["stmt_send_long_data (Nothing)", "unrelated", "query: do 1"]);
}

#[test]
fn a_row_of_16_mb_counts_once() {
    let mut talk = Talk::logged_in(BASE);
    let mut row = vec![0; FULL];
    row[0] = 0xfe;
    let result = packets(1, &[b"\x01", DEFINITION, EOF, &row, b"\xfe\0\0\x02\0 rest", b"\xfb", EOF]);
    let told = talk.ask(&query("select blob"), &result);
    assert_eq!(told[4..], ["row 1", "more", "row 1", "done rows+0"]);
}

#[test]
fn a_row_is_read_by_its_first_byte_alone() {
    let mut talk = Talk::logged_in(BASE);
    talk.says(Client, &query("select a")).says(Server, &packets(1, &[b"\x01", DEFINITION, EOF]));
    let row = packet(4, &[b'x'; 5000]);
    assert_eq!(talk.decoder.frame(Server, &row), Ok(Frame::Message { head: 5, length: 5004 }));
}

#[test]
fn a_statement_beyond_64_kib_is_cut() {
    let mut talk = Talk::logged_in(BASE);
    let told = talk.ask(&query(&format!("select {}", "ü".repeat(40_000))), &packet(1, OK));
    assert_eq!(told[0].trim_start_matches("query: ").chars().count(), 32_771);
    assert!(told[0].ends_with("ü…"));
}
