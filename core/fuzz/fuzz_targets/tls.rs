//! TLS on any port with a key log, both made up: hostile handshakes, records, secrets, holes and cuts.
//!
//! The input is `protocol u8 | flags u8 | cuts u8 | length u16 | key log`, then turns ([`Turn`]). Nothing may panic, what
//! is kept stays small, and where nothing is missing, how the bytes were cut changes nothing.
#![no_main]

use latpcap_core::conversation::{Common, Conversation, Hints};
use latpcap_core::exchange::Exchange;
use latpcap_core::layers::tls::{KeyLog, Reading};
use latpcap_core::protocols::REGISTRY;
use latpcap_core::sql::Statements;
use latpcap_fuzz::{Feed, Sizes, Turn, Wire, without_packets};
use libfuzzer_sys::fuzz_target;

/// A record, what is made of it, messages of a handshake, and what the decoder inside keeps.
const KEPT_MAX: usize = 1 << 20;

fuzz_target!(|input: &[u8]| {
    let mut feed = Feed(input);
    let (protocol, flags, cuts, length) = (feed.u8(), feed.u8(), feed.u8(), feed.u16());
    let mut keys = KeyLog::default();
    keys.add(feed.bytes(usize::from(length)));
    let by_port = (flags & 1 != 0).then(|| REGISTRY[usize::from(protocol) % REGISTRY.len()]);
    let hints = Hints { forced: None, by_port, oriented: flags & 2 == 0, from_start: flags & 4 == 0 };
    let mut turns = Vec::new();
    while !feed.is_empty() {
        turns.push(Turn::read(&mut feed));
    }
    let whole = told(hints, &keys, &turns, None);
    let cut = told(hints, &keys, &turns, Some(Sizes(u64::from(cuts))));
    if let (Some(whole), Some(cut)) = (whole, cut) {
        assert_eq!(whole, cut, "how the bytes were cut has changed what they mean");
    }
});

/// The exchanges without their times, or `None` where they depend on the packets: where anything is missing, and where
/// turns are all that can be seen.
fn told(hints: Hints, keys: &KeyLog, turns: &[Turn<'_>], cuts: Option<Sizes>) -> Option<Vec<Exchange>> {
    let mut common = Common { keys: keys.clone(), ..Common::new(Statements::new(true)) };
    let mut conversation = Conversation::new(hints);
    let mut wire = Wire::new(cuts);
    let mut finished = Vec::new();
    for turn in turns {
        wire.send(turn, &mut |chunk| {
            conversation.read(chunk, &mut common);
            assert!(conversation.kept_buffers() <= KEPT_MAX + 4 * turn.bytes.len());
            if let Some(dialogue) = conversation.dialogue_mut() {
                dialogue.pairing.take_finished(&mut finished);
            }
        });
    }
    conversation.finish(&mut common);
    let dialogue = conversation.dialogue_mut()?;
    dialogue.pairing.take_finished(&mut finished);
    let is_read = dialogue.session.tls.as_ref().is_some_and(|tls| tls.reading == Reading::Decrypted);
    let is_settled = is_read
        && hints.from_start
        && hints.by_port.is_some()
        && dialogue.losses == 0
        && !turns.iter().any(|turn| turn.lost || turn.cut);
    finished.iter_mut().for_each(without_packets);
    is_settled.then_some(finished)
}
