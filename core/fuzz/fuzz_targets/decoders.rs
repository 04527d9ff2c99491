//! Any bytes on both sides of a connection of any registered protocol, cut into packets at random.
//!
//! The input is `protocol u8 | flags u8 | cuts u8`, then turns ([`Turn`]). As long as the decoder does not lose its
//! synchronisation, how the bytes were cut must not change what comes out.
#![no_main]

use latpcap_core::conversation::{Common, Conversation, Forced, Hints};
use latpcap_core::exchange::Exchange;
use latpcap_core::protocols::REGISTRY;
use latpcap_core::sql::Statements;
use latpcap_fuzz::{Feed, Sizes, Turn, Wire, without_packets};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut feed = Feed(input);
    let (protocol, flags, cuts) = (feed.u8(), feed.u8(), feed.u8());
    let protocol = REGISTRY[usize::from(protocol) % REGISTRY.len()];
    let hints = Hints {
        forced: (flags & 1 != 0).then_some(Forced::Protocol(protocol)),
        by_port: Some(protocol),
        oriented: flags & 2 == 0,
        from_start: flags & 4 == 0,
    };
    let mut turns = Vec::new();
    while !feed.is_empty() {
        turns.push(Turn::read(&mut feed));
    }
    let show_literals = flags & 8 != 0;
    let whole = told(hints, &turns, None, show_literals);
    let cut = told(hints, &turns, Some(Sizes(u64::from(cuts))), show_literals);
    if let (Some(whole), Some(cut)) = (whole, cut) {
        assert_eq!(whole, cut, "how the bytes were cut has changed what they mean");
    }
});

/// The exchanges of a dialogue without their times, or `None` where its end depends on the packets.
fn told(hints: Hints, turns: &[Turn<'_>], cuts: Option<Sizes>, show_literals: bool) -> Option<Vec<Exchange>> {
    let mut common = Common::new(Statements::new(show_literals));
    let mut conversation = Conversation::new(hints);
    let mut wire = Wire::new(cuts);
    let mut finished = Vec::new();
    let gaps = turns.iter().any(|turn| turn.lost || turn.cut);
    for turn in turns {
        wire.send(turn, &mut |chunk| {
            conversation.read(chunk, &mut common);
            if let Some(dialogue) = conversation.dialogue_mut() {
                dialogue.pairing.take_finished(&mut finished);
            }
        });
    }
    conversation.finish(&mut common);
    let dialogue = conversation.dialogue_mut()?;
    dialogue.pairing.take_finished(&mut finished);
    // In mid-connection the first packet shows which layer is in force.
    let settled = hints.forced.is_some()
        && hints.from_start
        && !gaps
        && dialogue.losses == 0
        && dialogue.session.encryption.is_none();
    finished.iter_mut().for_each(without_packets);
    settled.then_some(finished)
}
