//! A dialogue in clear and the same one inside TLS: what is read must be equal, however it was cut, and nothing that is
//! not authentic may be shown.

use proptest::prelude::*;

use super::{Common, Conversation, Hints};
use crate::layers::tls::{Reading, sealing};
use crate::protocols::{Purpose, postgresql};
use crate::side::Side::{self, Client, Server};
use crate::sql::Statements;
use crate::stream::{Chunk, Mark, START};

const QUERIES: usize = 8;

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn query(number: usize) -> String {
    format!("select {number} from table_{number}")
}

/// What PostgreSQL's client and server say behind the answer to the wish for TLS; some answers are long.
fn dialogue() -> Vec<(Side, Vec<u8>)> {
    let startup = b"\0\x03\0\0user\0app\0\0";
    let startup = [&(startup.len() as u32 + 4).to_be_bytes()[..], startup].concat();
    let ready = message(b'Z', b"I");
    let mut turns = vec![(Client, startup), (Server, [message(b'R', &[0; 4]), ready.clone()].concat())];
    for number in 0..QUERIES {
        turns.push((Client, message(b'Q', format!("{}\0", query(number)).as_bytes())));
        let row = message(b'D', &[&[0, 1, 0, 0, 0x10, 0][..], &vec![b'x'; 0x1000]].concat());
        let columns = [&[0, 1][..], b"a\0", &[0; 18]].concat();
        let rows = 1 + number * number % 12;
        let complete = message(b'C', format!("SELECT {rows}\0").as_bytes());
        turns.push((Server, [message(b'T', &columns), row.repeat(rows), complete, ready.clone()].concat()));
    }
    turns
}

/// The same as it travels: the wish for TLS, and all that follows in records of these sizes.
fn sealed(mut sizes: impl Iterator<Item = usize>) -> Vec<(Side, Vec<u8>)> {
    let mut turns = vec![(Client, vec![0, 0, 0, 8, 4, 210, 22, 47]), (Server, b"S".to_vec())];
    turns.extend(sealing::handshake());
    let mut keys = [sealing::Sealer::traffic(Client), sealing::Sealer::traffic(Server)];
    for (side, bytes) in dialogue() {
        let mut records = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (data, behind) = rest.split_at(sizes.next().unwrap_or(usize::MAX).clamp(1, rest.len().min(1 << 14)));
            records.extend(keys[side as usize].record(23, data));
            rest = behind;
        }
        turns.push((side, records));
    }
    turns
}

fn in_clear() -> Vec<(Side, Vec<u8>)> {
    let wish = [(Client, vec![0, 0, 0, 8, 4, 210, 22, 47]), (Server, b"N".to_vec())];
    wish.into_iter().chain(dialogue()).collect()
}

/// Packets: side, bytes, whether it was captured, and what the snap length cut.
struct Packet {
    side: Side,
    bytes: Vec<u8>,
    seen: bool,
    cut: usize,
}

fn packets(turns: &[(Side, Vec<u8>)], mut sizes: impl Iterator<Item = usize>) -> Vec<Packet> {
    let mut packets = Vec::new();
    for (side, bytes) in turns {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(sizes.next().unwrap_or(usize::MAX).clamp(1, rest.len()));
            packets.push(Packet { side: *side, bytes: now.to_vec(), seen: true, cut: 0 });
            rest = later;
        }
    }
    packets
}

/// Command, statement, rows, error, round trips of each exchange; and how much of TLS could be read.
type Told = Vec<(&'static str, Purpose, Option<String>, Option<u64>, u32)>;

fn read(packets: &[Packet], with_keys: bool) -> (Told, Option<Reading>) {
    let by_port = Some(&postgresql::PROTOCOL);
    let hints = Hints { forced: None, by_port, oriented: true, from_start: true };
    read_on(hints, packets, with_keys).unwrap()
}

/// `None` where nothing is recognised.
fn read_on(hints: Hints, packets: &[Packet], with_keys: bool) -> Option<(Told, Option<Reading>)> {
    let mut common = Common::new(Statements::new(true));
    if with_keys {
        common.keys = sealing::log();
    }
    let mut conversation = Conversation::new(hints);
    let (mut sent, mut lost, mut exchanges) = ([START; 2], [0; 2], Vec::new());
    for (packet, frame) in packets.iter().zip(1..) {
        let side = packet.side;
        let offset = sent[side as usize];
        sent[side as usize] += packet.bytes.len() as u64;
        if !packet.seen {
            lost[side as usize] += packet.bytes.len() as u64;
            continue;
        }
        let bytes = &packet.bytes[..packet.bytes.len() - packet.cut];
        let mark = Mark { frame, time_ns: frame as i64 * 1_000 };
        let acknowledged = sent[side.other() as usize];
        let lost = std::mem::take(&mut lost[side as usize]);
        conversation
            .read(&Chunk { side, mark, acknowledged, offset, lost, bytes, cut: packet.cut as u64 }, &mut common);
    }
    conversation.finish(&mut common);
    let dialogue = conversation.dialogue_mut()?;
    dialogue.pairing.take_finished(&mut exchanges);
    let reading = dialogue.session.tls.as_ref().map(|tls| tls.reading);
    let told = exchanges.iter().map(|exchange| {
        let text = exchange.sql.map(|sql| common.statements.text(sql.text).to_owned());
        (exchange.command, exchange.purpose, text, exchange.rows, exchange.round_trips)
    });
    Some((told.collect(), reading))
}

#[test]
fn what_is_said_inside_shows_the_protocol_on_any_port() {
    let clear = read(&packets(&in_clear(), std::iter::empty()), false).0;
    let hints = Hints { forced: None, by_port: None, oriented: true, from_start: true };
    let direct = packets(&sealed(std::iter::empty())[2..], std::iter::repeat(900));
    let (told, reading) = read_on(hints, &direct, true).unwrap();
    assert_eq!((work(told), reading), (work(clear), Some(Reading::Decrypted)));
    assert!(read_on(hints, &direct, false).is_none());
}

/// A ClientHello in a record that calls the protocol inside by this name.
fn client_hello(protocol: &str) -> Vec<u8> {
    let counted = |bytes: &[u8]| [&[bytes.len() as u8][..], bytes].concat();
    let names = counted(protocol.as_bytes());
    let alpn = [&[0, 16, 0, names.len() as u8 + 2, 0][..], &counted(&names)].concat();
    let body = [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 0x01, 1, 0, 0], &counted(&alpn)].concat();
    let message = [&[1, 0, 0][..], &counted(&body)].concat();
    [&[22, 3, 1, 0][..], &counted(&message)].concat()
}

#[test]
fn without_keys_the_client_may_name_the_protocol() {
    let hints = Hints { forced: None, by_port: None, oriented: true, from_start: true };
    let protocol = |name: &str, size: usize| {
        let mut turns = sealed(std::iter::empty())[2..].to_vec();
        turns[0].1 = client_hello(name);
        read_on(hints, &packets(&turns, std::iter::repeat(size)), false).map(|(_, reading)| reading)
    };
    for size in [usize::MAX, 10, 1] {
        assert_eq!(protocol("postgresql", size), Some(Some(Reading::NoKeys)), "{size}");
        assert_eq!(protocol("h2", size), None);
    }
}

/// Without the wish for TLS and the handshake.
fn work(told: Told) -> Told {
    told.into_iter().filter(|(command, ..)| *command != "tls").collect()
}

fn texts(told: &Told) -> Vec<&str> {
    told.iter().filter_map(|(_, _, text, ..)| text.as_deref()).collect()
}

fn is_one_of_the_queries(text: &&str) -> bool {
    (0..QUERIES).any(|number| *text == query(number))
}

#[test]
fn what_is_said_inside_is_read_as_if_it_were_in_clear() {
    let whole = std::iter::empty;
    let clear = read(&packets(&in_clear(), whole()), false).0;
    let (told, reading) = read(&packets(&sealed(whole()), whole()), true);
    assert_eq!((work(told), reading), (work(clear.clone()), Some(Reading::Decrypted)));
    assert_eq!(texts(&clear).len(), QUERIES);
    let (blind, reading) = read(&packets(&sealed(whole()), whole()), false);
    assert_eq!((texts(&blind).len(), reading), (0, Some(Reading::NoKeys)));
}

#[test]
fn bytes_one_by_one_are_read_as_whole_turns() {
    let clear = read(&packets(&in_clear(), std::iter::empty()), false).0;
    let told = read(&packets(&sealed(std::iter::repeat(700)), std::iter::repeat(1)), true).0;
    assert_eq!(work(told), work(clear));
}

#[test]
fn behind_a_record_that_is_not_whole_the_next_ones_are_read() {
    // The answer to the second query loses a packet in its middle, the fifth query all of its packets.
    let mut packets = packets(&sealed(std::iter::repeat(3000)), std::iter::repeat(1400));
    let answers: Vec<usize> = (0..packets.len()).filter(|at| packets[*at].side == Server).collect();
    let middle = answers[answers.len() / 2];
    packets[middle].seen = false;
    let (told, reading) = read(&packets, true);
    assert_eq!(reading, Some(Reading::Decrypted));
    assert!(texts(&told).len() >= QUERIES - 1, "{told:?}");
    assert_eq!(texts(&told).last(), Some(&&*query(QUERIES - 1)));
}

#[test]
fn behind_packets_that_were_cut_the_next_ones_are_read() {
    let mut packets = packets(&sealed(std::iter::repeat(3000)), std::iter::repeat(1400));
    for packet in packets.iter_mut().skip(8).filter(|packet| packet.side == Server && packet.bytes.len() > 256) {
        packet.cut = packet.bytes.len() - 256;
    }
    let (told, reading) = read(&packets, true);
    assert_eq!(reading, Some(Reading::Decrypted));
    assert_eq!(texts(&told).len(), QUERIES, "{told:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn however_it_is_cut_it_is_read_alike(
        records in prop::collection::vec(1..20_000usize, 1..20),
        cuts in prop::collection::vec(1..3_000usize, 1..40),
    ) {
        let clear = read(&packets(&in_clear(), std::iter::empty()), false).0;
        let packets = packets(&sealed(records.into_iter().cycle()), cuts.into_iter().cycle());
        prop_assert_eq!(work(read(&packets, true).0), work(clear));
    }

    #[test]
    fn a_byte_that_was_changed_is_never_shown(at in 0..100_000usize, change in 1..=255u8, cut in 1..3_000usize) {
        let mut turns = sealed(std::iter::repeat(2_000));
        // Behind the wish for TLS; its answer; the hellos.
        let data: usize = turns.iter().skip(4).map(|(_, bytes)| bytes.len()).sum();
        let mut at = at % data;
        for (_, bytes) in turns.iter_mut().skip(4) {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= change;
                break;
            }
            at -= bytes.len();
        }
        let (told, reading) = read(&packets(&turns, std::iter::repeat(cut)), true);
        prop_assert!(texts(&told).iter().all(is_one_of_the_queries), "{:?}", told);
        prop_assert_ne!(reading, Some(Reading::NoKeys));
    }

    #[test]
    fn a_hole_hides_what_is_in_it_and_no_more_than_what_is_near(
        hole in 6..200usize, length in 1..4usize, cut in 200..3_000usize, record in 100..6_000usize,
    ) {
        let mut packets = packets(&sealed(std::iter::repeat(record)), std::iter::repeat(cut));
        let first = hole % (packets.len() - 12) + 6;
        packets.iter_mut().skip(first).take(length).for_each(|packet| packet.seen = false);
        let (told, _) = read(&packets, true);
        prop_assert!(texts(&told).iter().all(is_one_of_the_queries), "{:?}", told);
        prop_assert!(texts(&told).len() + 4 >= QUERIES, "{:?}", told);
    }
}
