//! Any bytes as a statement of any dialect and as a server's message: what comes out is harmless and small.
#![no_main]

use latpcap_core::protocols::REGISTRY;
use latpcap_core::sql::{Dialect, Statements};
use libfuzzer_sys::fuzz_target;

/// docs/design.md: what is kept of a fingerprint, with room for the sign that it was cut.
const LONGEST: usize = 4096 + 16;

fuzz_target!(|input: &[u8]| {
    let Some((&kind, text)) = input.split_first() else { return };
    let known = usize::from(kind) % (REGISTRY.len() + 1);
    let dialect = REGISTRY.get(known).map_or(Dialect::UNKNOWN, |protocol| protocol.dialect);
    for show_literals in [false, true] {
        let mut statements = Statements::new(show_literals);
        let first = statements.sql_in(dialect, text);
        let again = statements.sql_in(dialect, text);
        assert_eq!(first, again, "the same text is the same statement");
        harmless(statements.text(first.text));
        harmless(statements.text(first.fingerprint));
        assert!(statements.text(first.fingerprint).len() <= LONGEST);
        let message = String::from_utf8_lossy(text);
        harmless(&statements.error(Some(first), "1064", &Statements::message(&message)));
        harmless(&Statements::printable(&message));
    }
});

fn harmless(text: &str) {
    assert!(!text.chars().any(|character| character.is_control()), "{text:?}");
    assert!(
        !text
            .contains(['\u{202a}', '\u{202b}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{200f}'])
    );
}
