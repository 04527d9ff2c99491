//! UTF-16, in which all text of the protocol is.

/// Characters of a statement that are kept.
pub const TEXT_MAX: usize = 64 << 10;

/// What of UTF-16 may be read; an odd byte at the end belongs to nothing.
pub fn decode(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    // Nearly all of it is ASCII.
    if units.clone().fold(0, |seen, unit| seen | unit) < 0x80 {
        return String::from_utf8(units.map(|unit| unit as u8).collect()).unwrap_or_default();
    }
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// A statement; the end of one that is too long, or that the capture has cut, is shown as missing.
pub fn statement(bytes: &[u8], is_whole: bool) -> String {
    let mut text = decode(bytes.get(..2 * TEXT_MAX).unwrap_or(bytes));
    if !is_whole || bytes.len() > 2 * TEXT_MAX {
        text.push('…');
    }
    text
}
