use super::*;

fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    append(&mut text, bytes);
    text
}

#[test]
fn an_escape_sequence_cannot_reach_the_terminal() {
    assert_eq!(shown(b"a\x1b[31mb\x07\x7f"), "a\u{fffd}[31mb\u{fffd}\u{fffd}");
}

#[test]
fn c1_controls_and_text_that_changes_direction_become_visible() {
    assert_eq!(shown("a\u{9b}b\u{202e}c\u{2066}d".as_bytes()), "a\u{fffd}b\u{fffd}c\u{fffd}d");
}

#[test]
fn what_nobody_sees_becomes_visible() {
    for hidden in ['\u{ad}', '\u{3164}', '\u{115f}', '\u{2800}', '\u{180e}', '\u{ffa0}', '\u{e0100}'] {
        assert_eq!(shown(format!("a{hidden}b").as_bytes()), "a\u{fffd}b");
    }
    assert_eq!(shown("\u{646}\u{200c}\u{647} \u{2764}\u{fe0f}".as_bytes()), "\u{646}\u{200c}\u{647} \u{2764}\u{fe0f}");
}

#[test]
fn line_ends_and_tabs_become_blanks() {
    assert_eq!(shown(b"a\nb\tc\r\nd"), "a b c  d");
}

#[test]
fn bytes_that_are_no_utf8_become_one_sign() {
    assert_eq!(shown(b"caf\xe9 \xc3\xa9"), "caf\u{fffd} \u{e9}");
}

#[test]
fn the_width_is_what_is_appended() {
    for bytes in [&b"plain"[..], b"caf\xe9", "é\u{202e}".as_bytes(), b""] {
        assert_eq!(width(bytes), shown(bytes).len());
    }
}
