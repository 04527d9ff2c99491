//! However the bytes are cut or damaged.

use proptest::prelude::*;

use super::*;
use crate::protocols::pass_tests::meanings;

/// A dialogue with something of everything, turn by turn.
fn long_dialogue() -> Vec<(Side, Vec<u8>)> {
    let result = packets(1, &[b"\x01", DEFINITION, EOF, b"\x011", b"\xfb", &[b'x'; 3000], EOF]);
    let prepared = packets(1, &[PREPARED, DEFINITION, EOF, DEFINITION, EOF]);
    let rows = packets(1, &[b"\x01", DEFINITION, EOF, b"\0\0\x02\0\0\0\0", EOF]);
    let fetched = packets(1, &[b"\0\0\x01", EOF]);
    vec![
        (Server, greeting(BASE)),
        (Client, login_request(1, BASE, LAB)),
        (Server, packet(2, b"\xfecaching_sha2_password\0salt\0")),
        (Client, packet(3, b"scramble")),
        (Server, packets(4, &[b"\x01\x03", OK])),
        (Client, query("select a from t where b = 1")),
        (Server, result),
        (Client, [prepare("select ?"), execute(u32::MAX, 0, b"\0\x01\x08\0\x2a\0\0\0\0\0\0\0")].concat()),
        (Server, [prepared, rows].concat()),
        (Client, execute(1, 1, b"\0\0\x2a\0\0\0\0\0\0\0")),
        (Server, packets(1, &[b"\x01", DEFINITION, EOF_CURSOR])),
        (Client, fetch(1, 10)),
        (Server, fetched),
        (Client, [with_id(0x19, 1), query("load data local infile 'x'")].concat()),
        (Server, packet(1, b"\xfbx")),
        (Client, packets(2, &[&[b'x'; 2000], b""])),
        (Server, packet(4, OK_3_AFFECTED)),
        (Client, query("a; b; c")),
        (Server, packets(1, &[OK_3_AFFECTED_MORE, b"\x01", DEFINITION, EOF, EOF_MORE, DUPLICATE])),
        (Client, command(0x11, b"amy\0\x02xxcrm\0\x2d\0mysql_native_password\0")),
        (Server, packet(1, b"\xfemysql_native_password\0salt\0")),
        (Client, packet(2, b"scramble")),
        (Server, packet(3, OK)),
        (Client, command(0x09, b"")),
        (Server, packet(1, b"Uptime: 1")),
        (Client, command(0x01, b"")),
    ]
}

/// What the dialogue means when each turn comes in pieces of these sizes.
fn in_pieces(sizes: &[usize]) -> (Vec<String>, Session) {
    let mut talk = Talk::new(Beginning::Greeting);
    let mut sizes = sizes.iter().copied().cycle();
    for (side, bytes) in long_dialogue() {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(sizes.next().unwrap_or(1).clamp(1, rest.len()));
            talk.says(side, piece);
            rest = later;
        }
    }
    (talk.told(), talk.session)
}

#[test]
fn whole_and_byte_by_byte_mean_the_same() {
    assert_eq!(in_pieces(&[1]), in_pieces(&[usize::MAX]));
    assert_eq!(in_pieces(&[1]).0.len(), 53);
}

/// Reads on after each loss, as the conversation would.
fn survive(talk: &mut Talk, turns: &[(Side, Vec<u8>)]) {
    for (side, bytes) in turns {
        talk.says(*side, bytes);
        if talk.lost.take().is_some() {
            talk.sides = Default::default();
            talk.decoder.resumes(bytes);
            talk.decoder.resume();
        }
    }
}

fn any_side() -> impl Strategy<Value = Side> {
    any::<bool>().prop_map(|client| if client { Client } else { Server })
}

proptest! {
    #[test]
    fn any_split_means_the_same(sizes in prop::collection::vec(1usize..4000, 1..20)) {
        prop_assert_eq!(in_pieces(&sizes), in_pieces(&[usize::MAX]));
    }

    #[test]
    fn packets_that_are_passed_over_mean_what_they_mean_one_by_one(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..4),
        beginning in 0u8..2,
    ) {
        let mut turns = long_dialogue();
        for (turn, place, byte) in flips {
            *place.get_mut(turn.get_mut(&mut turns).1.as_mut_slice()) = byte;
        }
        let new = || Mysql::new([Beginning::Greeting, Beginning::Compressed][usize::from(beginning)]);
        prop_assert_eq!(meanings(&mut new(), &turns, true), meanings(&mut new(), &turns, false));
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        turns in prop::collection::vec((any_side(), prop::collection::vec(any::<u8>(), 1..60)), 1..20),
        beginning in 0u8..4,
    ) {
        let beginnings = [Beginning::Greeting, Beginning::Login, Beginning::Commands, Beginning::Compressed];
        survive(&mut Talk::new(beginnings[usize::from(beginning)]), &turns);
    }

    #[test]
    fn arbitrary_packets_never_panic(
        turns in prop::collection::vec((any_side(), 0u8..5, prop::collection::vec(any::<u8>(), 0..40)), 1..40),
    ) {
        let turns: Vec<_> = turns.iter().map(|(side, number, payload)| (*side, packet(*number, payload))).collect();
        survive(&mut Talk::new(Beginning::Compressed), &turns);
        survive(&mut Talk::new(Beginning::Commands), &turns);
    }

    #[test]
    fn damaged_dialogues_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..4),
    ) {
        let mut turns = long_dialogue();
        for (turn, place, byte) in flips {
            let bytes = turn.get_mut(&mut turns).1.as_mut_slice();
            *place.get_mut(bytes) = byte;
        }
        for (turn, place) in cuts {
            let bytes = &mut turn.get_mut(&mut turns).1;
            bytes.truncate(1 + place.index(bytes.len()));
        }
        survive(&mut Talk::new(Beginning::Greeting), &turns);
    }
}

proptest! {
    /// Behind a part of a request that was lost, its rest is no request.
    #[test]
    fn the_rest_of_a_request_is_no_whole_one(
        text in prop_oneof!["[ -~]{1,300}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 1..300)],
        binds in prop::collection::vec(prop_oneof![Just(0u8), 1u8..30, any::<u8>()], 0..300),
        at in 1usize..400,
    ) {
        let decoder = Mysql::new(Beginning::Commands);
        for request in [command(3, &text), execute(1, 0, &binds)] {
            let rest = request.get(at..).unwrap_or_default();
            prop_assert!(!(decoder.resumes(rest) && decoder.are_whole(rest)), "{rest:?}");
        }
        prop_assert!(decoder.resumes(&execute(1, 0, &binds)) && decoder.are_whole(&execute(1, 0, &binds)));
    }
}
