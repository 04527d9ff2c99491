//! Text that is safe to print: what could steer a terminal or hide other text becomes visible.

/// What stands for a character that must not be printed, and for bytes that are no UTF-8.
const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// Append `bytes` to `text`. Line ends and tabs become blanks, everything else that is not safe becomes U+FFFD.
pub fn append(text: &mut String, bytes: &[u8]) {
    if let Ok(valid) = std::str::from_utf8(bytes) {
        return append_valid(text, valid);
    }
    for chunk in bytes.utf8_chunks() {
        append_valid(text, chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(REPLACEMENT);
        }
    }
}

/// [`append`], with ASCII letters in lower case.
pub fn append_lower(text: &mut String, bytes: &[u8]) {
    let before = text.len();
    append(text, bytes);
    text[before..].make_ascii_lowercase();
}

/// Does it hold a character that nobody sees?
pub fn hides(bytes: &[u8]) -> bool {
    !bytes.is_ascii() && bytes.utf8_chunks().any(|chunk| chunk.valid().chars().any(is_dangerous))
}

/// Does it hold a character that [`append`] leaves out, but for line ends and tabs?
pub fn steers(text: &str) -> bool {
    !is_plain(text.as_bytes()) && text.chars().any(|each| !matches!(each, '\t' | '\n' | '\r') && is_dangerous(each))
}

/// How many bytes [`append`] would add.
pub fn width(bytes: &[u8]) -> usize {
    if is_plain(bytes) {
        return bytes.len();
    }
    let mut text = String::new();
    append(&mut text, bytes);
    text.len()
}

fn append_valid(text: &mut String, valid: &str) {
    if is_plain(valid.as_bytes()) {
        text.push_str(valid);
    } else {
        text.extend(valid.chars().map(visible));
    }
}

fn is_plain(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| (0x20..0x7f).contains(byte))
}

fn visible(character: char) -> char {
    match character {
        ' '..='~' => character,
        '\t' | '\n' | '\r' => ' ',
        _ if is_dangerous(character) => REPLACEMENT,
        _ => character,
    }
}

/// Control characters (C0, DEL, C1), and those that reorder, hide or break a line of text: what Unicode says to ignore
/// where it cannot be displayed, and blanks that are no spaces. Joiners and variants stay: words and emoji are made of them.
fn is_dangerous(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
#[path = "visible_tests.rs"]
mod tests;
