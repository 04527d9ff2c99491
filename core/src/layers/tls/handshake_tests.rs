use proptest::prelude::*;

use super::*;

fn message(kind: u8, length: usize) -> Vec<u8> {
    let [_, high, middle, low] = (length as u32).to_be_bytes();
    [&[kind, high, middle, low][..], &vec![kind; length]].concat()
}

fn kinds(parts: &[&[u8]]) -> Vec<(u8, usize)> {
    let (mut messages, mut seen) = (HandshakeMessages::default(), Vec::new());
    for part in parts {
        messages.read(part, |message| seen.push((message.kind, message.body.len())));
    }
    seen
}

#[test]
fn several_messages_in_a_record_are_read_one_by_one() {
    let flight = [message(2, 70), message(11, 900), message(14, 0)].concat();
    assert_eq!(kinds(&[&flight]), [(2, 70), (11, 900), (14, 0)]);
}

#[test]
fn a_message_beyond_any_chain_of_certificates_ends_the_reading_and_is_not_kept() {
    let mut messages = HandshakeMessages::default();
    messages.read(&[11, 0xff, 0xff, 0xff, 1, 2, 3], |_| panic!("it is not whole"));
    messages.read(&message(2, 3), |_| panic!("it cannot be delimited"));
    assert!(messages.is_lost() && messages.kept_bytes() == 0);
}

proptest! {
    #[test]
    fn any_cut_into_records_gives_the_same_messages(
        lengths in prop::collection::vec(0..5000usize, 1..6),
        cuts in prop::collection::vec(0..20_000usize, 0..12),
    ) {
        let all: Vec<u8> = lengths.iter().zip(1..).flat_map(|(length, kind)| message(kind, *length)).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (all.len() + 1)).chain([0, all.len()]).collect();
        cuts.sort_unstable();
        let parts: Vec<&[u8]> = cuts.windows(2).map(|two| &all[two[0]..two[1]]).collect();
        let bytes: Vec<&[u8]> = all.chunks(1).collect();
        prop_assert_eq!(kinds(&parts), kinds(&[&all]));
        prop_assert_eq!(kinds(&bytes), kinds(&[&all]));
    }

    #[test]
    fn damage_never_panics_and_keeps_little(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..32)) {
        let mut messages = HandshakeMessages::default();
        for part in &parts {
            messages.read(part, |_| {});
            prop_assert!(messages.kept_bytes() <= 2 * (LENGTH_MAX + HEADER + 64));
        }
    }
}
