//! Records of handshakes and what follows them, by their lengths alone.

use super::tls::Tls;
use super::*;
use crate::sql::Statements;
use Side::{Client, Server};
use proptest::prelude::*;

/// A record's header, and where it is in clear what it holds.
fn record(content_type: u8, length: usize, body: &[u8]) -> Vec<u8> {
    let [high, low] = (length as u16).to_be_bytes();
    let body = if body.is_empty() { vec![0; length] } else { body.to_vec() };
    [&[content_type, 3, 3, high, low][..], &body].concat()
}

/// A ServerHello that chooses this version and suite.
fn server_hello(version: u16, suite: u16) -> (Side, Vec<u8>) {
    let extensions = match version {
        0x0304 => vec![0, 6, 0, 43, 0, 2, 3, 4],
        _ => vec![],
    };
    let [high, low] = suite.to_be_bytes();
    let body = [&[3, version.min(0x0303) as u8][..], &[7; 32], &[0, high, low, 0], &extensions].concat();
    let message = [&[2, 0, 0, body.len() as u8][..], &body].concat();
    (Server, record(22, message.len(), &message))
}

/// So many plain bytes of data, under TLS 1.3.
fn sealed(side: Side, plain: usize) -> (Side, Vec<u8>) {
    (side, record(23, plain + 17, &[]))
}

fn other(side: Side, content_type: u8, length: usize) -> (Side, Vec<u8>) {
    (side, record(content_type, length, &[]))
}

fn hello() -> (Side, Vec<u8>) {
    other(Client, 22, 500)
}

/// What a record means.
fn read(decoder: &mut Tls, side: Side, bytes: &[u8]) -> Meaning {
    let (mut session, mut statements) = (Session::default(), Statements::new(false));
    let Frame::Message { head, length } = decoder.frame(side, bytes).unwrap() else { panic!("it is a message") };
    assert_eq!(length, bytes.len() as u64);
    let message = Message { side, bytes: &bytes[..head], length, cut: false };
    let mut context = Context { session: &mut session, statements: &mut statements, switch: None };
    decoder.message(&message, &mut context).unwrap()
}

/// What each record means, in one letter: Request or turn (small where it is set-up), More (small without wait), Ended,
/// Unrelated.
fn meanings(mut decoder: Tls, records: &[(Side, Vec<u8>)]) -> String {
    let letter = |(side, bytes): &(Side, Vec<u8>)| match read(&mut decoder, *side, bytes) {
        Meaning::Request(request) | Meaning::Turn(request) if request.purpose == Purpose::Setup => 'r',
        Meaning::Request(_) | Meaning::Turn(_) => 'R',
        Meaning::More => 'M',
        Meaning::MoreWithoutWait => 'm',
        Meaning::Ended => 'E',
        _ => 'U',
    };
    records.iter().map(letter).collect()
}

fn login(protocol: &str) -> Option<&'static SealedLogin> {
    protocol_named(protocol).unwrap().sealed_login.as_ref()
}

/// A whole handshake of TLS 1.3 with SHA-256, and what follows it.
fn after_1_3(protocol: &str, data: &[(Side, Vec<u8>)]) -> String {
    let handshake = [hello(), server_hello(0x0304, 0x1301), sealed(Server, 900), sealed(Client, 36)];
    let told = meanings(Tls::new(false, login(protocol)), &[&handshake[..], data].concat());
    assert_eq!(&told[..4], "rMME");
    told[4..].to_string()
}

#[test]
fn tls_1_3_is_one_exchange_and_its_tickets_come_unasked() {
    let records = [
        hello(),
        server_hello(0x0304, 0x1302),
        other(Server, 20, 1),
        sealed(Server, 900),
        other(Client, 20, 1),
        sealed(Client, 52),
        sealed(Server, 233),
        sealed(Client, 23),
        sealed(Server, 80),
        sealed(Client, 23),
    ];
    assert_eq!(meanings(Tls::new(false, None), &records), "rMMMUEURMR");
}

#[test]
fn tls_1_2_ends_with_the_first_request() {
    let records = [
        hello(),
        server_hello(0x0303, 0xc030),
        other(Server, 22, 2000),
        other(Client, 22, 70),
        other(Client, 20, 1),
        other(Client, 22, 40),
        other(Server, 20, 1),
        other(Server, 22, 40),
        other(Client, 23, 50),
        other(Server, 23, 60),
    ];
    assert_eq!(meanings(Tls::new(true, None), &records), "MMMMMMMMRM");
}

#[test]
fn a_client_that_is_asked_for_its_certificate_proves_itself_before_its_finished() {
    let begin = [hello(), server_hello(0x0304, 0x1302), sealed(Server, 900)];
    let after =
        |data: &[(Side, Vec<u8>)]| meanings(Tls::new(true, None), &[&begin[..], data].concat())[3..].to_string();
    let none = [sealed(Client, 8), sealed(Client, 52), sealed(Server, 233), sealed(Client, 60)];
    assert_eq!(after(&none), "mEUR", "MariaDB asks, and the client has none");
    let signed =
        [sealed(Client, 900), sealed(Client, 264), sealed(Client, 52), sealed(Server, 233), sealed(Client, 60)];
    assert_eq!(after(&signed), "mMEUR");
    let in_one = [sealed(Client, 1228), sealed(Server, 233), sealed(Client, 60), sealed(Server, 11)];
    assert_eq!(after(&in_one), "mERM");
    let in_one_with_data = [sealed(Client, 1228), sealed(Client, 200), sealed(Server, 233), sealed(Client, 60)];
    assert_eq!(after(&in_one_with_data), "mRMR");
    let as_long_as_a_signature = [sealed(Client, 1228), sealed(Client, 72), sealed(Server, 400), sealed(Client, 60)];
    assert_eq!(after(&as_long_as_a_signature), "mMMR", "it is counted, as part of the handshake");
}

#[test]
fn java_pads_its_records_and_what_they_hold_is_told_all_the_same() {
    let begin = [hello(), server_hello(0x0304, 0x1302), sealed(Server, 900), sealed(Client, 24), sealed(Client, 68)];
    let data = [sealed(Client, 244), sealed(Server, 233), sealed(Server, 19), sealed(Client, 21), sealed(Client, 18)];
    assert_eq!(meanings(Tls::new(true, login("mysql")), &[&begin[..], &data].concat()), "MMMmErMMRU");
}

#[test]
fn data_before_the_answer_shares_the_round_trip_of_the_handshake() {
    let mut hello_body = vec![1, 0, 0, 45, 3, 3];
    hello_body.extend([9; 32]);
    hello_body.extend([0, 0, 2, 0x13, 1, 1, 0, 0, 4, 0, 42, 0, 0]);
    hello_body[3] = (hello_body.len() - 4) as u8;
    let records = [
        (Client, record(22, hello_body.len(), &hello_body)),
        sealed(Client, 100),
        server_hello(0x0304, 0x1301),
        sealed(Server, 120),
        sealed(Client, 100),
        sealed(Client, 4),
        sealed(Client, 36),
        sealed(Server, 233),
        sealed(Client, 60),
    ];
    assert_eq!(meanings(Tls::new(false, None), &records), "rmMMmmEUR");
}

#[test]
fn a_stream_captured_from_the_middle_is_turns_at_once() {
    let side = |side| other(side, 23, 60);
    let records = [side(Server), side(Client), side(Client), side(Server), side(Client)];
    assert_eq!(meanings(Tls::new(false, login("mysql")), &records), "URMMR");
}

#[test]
fn the_login_of_mysql_is_told_by_the_lengths_of_its_answers() {
    let at_once = [sealed(Client, 100), sealed(Server, 11), sealed(Client, 30), sealed(Server, 80)];
    assert_eq!(after_1_3("mysql", &at_once), "rMRM");
    let switched =
        [sealed(Client, 100), sealed(Server, 48), sealed(Client, 24), sealed(Server, 11), sealed(Client, 30)];
    assert_eq!(after_1_3("mysql", &switched), "rMrMR");
    let whole_password =
        [sealed(Client, 100), sealed(Server, 6), sealed(Client, 12), sealed(Server, 11), sealed(Client, 30)];
    assert_eq!(after_1_3("mysql", &whole_password), "rMrMR");
    let known_password = [sealed(Client, 100), sealed(Server, 6), sealed(Server, 11), sealed(Client, 30)];
    assert_eq!(after_1_3("mysql", &known_password), "rMMR");
    let tickets_later =
        [sealed(Client, 100), sealed(Server, 233), sealed(Server, 233), sealed(Server, 48), sealed(Client, 24)];
    assert_eq!(after_1_3("mysql", &tickets_later), "rMMMr");
}

#[test]
fn the_login_of_postgresql_goes_on_until_the_session_begins() {
    let steps =
        [(80, 43), (60, 93), (110, 420), (40, 70)].map(|(asks, says)| [sealed(Client, asks), sealed(Server, says)]);
    assert_eq!(after_1_3("postgresql", &steps.concat()), "rMrMrMRM");
    let trusted = [(80, 420), (40, 70)].map(|(asks, says)| [sealed(Client, asks), sealed(Server, says)]);
    assert_eq!(after_1_3("postgresql", &trusted.concat()), "rMRM");
}

#[test]
fn nobody_waits_for_what_only_acknowledges_a_session_of_sql_server() {
    let login = [sealed(Client, 95), sealed(Server, 43), sealed(Client, 400), sealed(Server, 500)];
    let begins = [sealed(Client, 16), sealed(Client, 120), sealed(Server, 4112), sealed(Client, 16)];
    let goes_on = [sealed(Server, 16), sealed(Server, 4112), sealed(Client, 120), sealed(Server, 60)];
    let data = [&login[..], &begins, &goes_on].concat();
    assert_eq!(after_1_3("sqlserver", &data), "rMrMURMUUMRM");
}

#[test]
fn padding_leaves_open_whether_a_short_answer_ends_the_login_of_mysql() {
    let handshake = [hello(), server_hello(0x0303, 0x003d), other(Client, 22, 70)];
    let data = [other(Client, 23, 160), other(Server, 23, 64), other(Client, 23, 80), other(Server, 23, 64)];
    let told = meanings(Tls::new(true, login("mysql")), &[&handshake[..], &data].concat());
    assert_eq!(&told[3..], "rMRM", "an OK is as long as a status: the login is over");
}

#[test]
fn a_message_longer_than_a_record_goes_on_whatever_the_server_says_meanwhile() {
    let long =
        [sealed(Client, 1 << 14), sealed(Server, 11), sealed(Client, 1 << 14), sealed(Client, 300), sealed(Server, 11)];
    assert_eq!(after_1_3("oracle", &long), "RMmmM");
    let next =
        [sealed(Client, 1 << 14), sealed(Server, 11), sealed(Client, 300), sealed(Server, 11), sealed(Client, 30)];
    assert_eq!(after_1_3("oracle", &next), "RMmMR");
}

#[test]
fn a_change_of_keys_is_no_exchange() {
    let by_client = [sealed(Client, 5), sealed(Server, 5), sealed(Client, 40), sealed(Server, 60), sealed(Client, 40)];
    assert_eq!(after_1_3("oracle", &by_client), "RUMMR", "it belongs to the request that follows");
    let twice = [sealed(Client, 5), sealed(Client, 5), sealed(Server, 5), sealed(Client, 40), sealed(Server, 5)];
    assert_eq!(after_1_3("oracle", &twice), "RMUMM", "after a long answer, for one");
    let ping = [sealed(Client, 5), sealed(Server, 11), sealed(Client, 40)];
    assert_eq!(after_1_3("oracle", &ping), "RMR");
}

#[test]
fn the_good_bye_of_either_side_is_no_exchange() {
    assert_eq!(
        after_1_3("oracle", &[sealed(Client, 40), sealed(Server, 60), sealed(Client, 2), sealed(Server, 2)]),
        "RMUU"
    );
    assert_eq!(
        after_1_3("oracle", &[sealed(Client, 40), sealed(Server, 60), sealed(Server, 2), sealed(Client, 2)]),
        "RMUU"
    );
}

#[test]
fn an_empty_record_before_the_data_is_part_of_it() {
    let handshake = [hello(), server_hello(0x0301, 0x0035), other(Client, 22, 70)];
    let split = |side| [other(side, 23, 32), other(side, 23, 80)];
    let data = [split(Client), split(Server), split(Client)].concat();
    assert_eq!(&meanings(Tls::new(true, None), &[&handshake[..], &data].concat())[3..], "RMMMRM");
}

#[test]
fn another_handshake_inside_tls_1_2_is_an_exchange_of_its_own() {
    let begin = [hello(), server_hello(0x0303, 0xc030), other(Client, 22, 70)];
    let data = |side| other(side, 23, 60);
    let again = [other(Server, 22, 28), other(Client, 22, 300), other(Server, 22, 2000), other(Client, 22, 90)];
    let end = [other(Client, 20, 41), other(Client, 22, 40), other(Server, 20, 41), other(Server, 22, 40)];
    let records = [&begin[..], &[data(Client), data(Server)], &again, &end, &[data(Client), data(Server)]].concat();
    assert_eq!(&meanings(Tls::new(true, None), &records)[3..], "RMUrMMMMMMRM");
}

#[test]
fn after_a_loss_in_the_handshake_its_end_is_no_request() {
    let mut decoder = Tls::new(true, None);
    decoder.resume();
    let rest = [other(Client, 20, 1), sealed(Client, 36), sealed(Server, 233), sealed(Client, 40), sealed(Server, 60)];
    assert_eq!(meanings(decoder, &rest), "MEURM");
    let mut decoder = Tls::new(true, None);
    decoder.resume();
    assert_eq!(meanings(decoder, &[sealed(Client, 8), sealed(Client, 36), sealed(Client, 40)]), "mER");
    let mut decoder = Tls::new(true, None);
    decoder.resume();
    assert_eq!(meanings(decoder, &[sealed(Client, 30), sealed(Server, 40), sealed(Client, 40)]), "RMR");
    let mut decoder = Tls::new(true, None);
    let version_is_known = [hello(), server_hello(0x0304, 0x1301), sealed(Server, 900)];
    version_is_known.iter().for_each(|(side, bytes)| drop(read(&mut decoder, *side, bytes)));
    decoder.resume();
    assert_eq!(meanings(decoder, &[sealed(Client, 8), sealed(Client, 36), sealed(Client, 40)]), "mER");
}

#[test]
fn what_is_no_record_is_refused() {
    assert!(Tls::new(false, None).frame(Client, b"GET / HTTP").is_err());
    assert!(Tls::new(false, None).frame(Client, &[23, 3, 3, 0xff, 0xff]).is_err());
}

proptest! {
    #[test]
    fn any_records_have_a_meaning_and_keep_little(
        records in prop::collection::vec((any::<bool>(), 20..24u8, prop::collection::vec(any::<u8>(), 0..80)), 0..40),
        losses in prop::collection::vec(any::<bool>(), 40),
    ) {
        let mut decoder = Tls::new(false, login("mysql"));
        for ((is_client, content_type, body), is_lost) in records.iter().zip(losses) {
            let side = if *is_client { Client } else { Server };
            let _ = read(&mut decoder, side, &record(*content_type, body.len(), body));
            if is_lost {
                decoder.resume();
            }
            prop_assert!(decoder.kept_bytes() <= 40 * 2 * 80);
        }
    }
}

#[test]
fn a_handshake_message_for_which_there_is_no_room_is_given_up() {
    let mut decoder = Tls::new(false, None);
    let begun = [&[11, 0, 0x20, 0][..], &[0; 4000]].concat();
    read(&mut decoder, Server, &record(22, begun.len(), &begun));
    assert!(decoder.kept_bytes() >= begun.len());
    decoder.give_up();
    assert_eq!(decoder.kept_bytes(), 0);
}
