//! What a file is that is no pcap and no pcapng: a guess from its first bytes, so that a message can help.

pub(super) enum NotPcap {
    /// A capture in a format that Wireshark's tools convert.
    OtherCapture(&'static str),
    Else(&'static str),
    /// Nothing that is known: what a damaged capture looks like.
    Unknown(&'static str),
}

const OTHER_CAPTURES: [(&[u8], &str); 14] = [
    (b"snoop\0\0\0", "snoop"),
    (b"TRSNIFF data", "Sniffer"),
    (b"XCP\0", "NetXRay"),
    (b"GMBU", "Network Monitor"),
    (b"RTSS", "Network Monitor"),
    (b"iptrace 1.0", "iptrace"),
    (b"iptrace 2.0", "iptrace"),
    (b"\x7fver", "OmniPeek"),
    (b"ObserverPktBuffe", "Observer"),
    (b"EyeSDN", "EyeSDN"),
    (b"btsnoop\0", "btsnoop"),
    (b"\x54\x52\x00\x64\x00", "nettl"),
    (b"\x05VNF", "Visual Networks"),
    (b"\xaa\xaa\xaa\xaa\x00\x00", "5Views"),
];

const OTHER_FILES: [(&[u8], &str); 19] = [
    (b"\x0a\x0a\x0d\x0d\x0a", "a pcapng file damaged by a transfer in text mode"),
    (b"\x0d\x0a\x0d\x0d\x0a", "a pcapng file damaged by a transfer in text mode"),
    (b"\x0d\x0d\x0a\x0a", "a pcapng file damaged by a transfer in text mode"),
    (b"\x7fELF", "an ELF program"),
    (b"MZ", "a Windows program"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive (unpack it first)"),
    (b"\xfd7zXZ\0", "xz-compressed (unpack it first: xz -d)"),
    (b"BZh", "bzip2-compressed (unpack it first: bzip2 -d)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive (unpack it first)"),
    (b"Rar!\x1a\x07", "a RAR archive (unpack it first)"),
    (b"\x1f\x9d", "compressed by compress (unpack it first: gzip -d)"),
    (b"\x1f\x8b", "damaged gzip data"),
    (b"\x02\x21\x4c\x18", "lz4 data of the legacy format (unpack it first: lz4 -d)"),
    (b"SQLite format 3", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"<?xml", "an XML document"),
];

pub(super) fn guess(start: &[u8]) -> NotPcap {
    let begins = |(magic, _): &&(&[u8], &'static str)| start.starts_with(magic);
    if let Some((_, format)) = OTHER_CAPTURES.iter().find(begins) {
        return NotPcap::OtherCapture(format);
    }
    if let Some((_, kind)) = OTHER_FILES.iter().find(begins) {
        return NotPcap::Else(kind);
    }
    by_content(start)
}

const CAPTURES: [(&[u8], &str); 5] = [
    (b"\x0a\x0d\x0d\x0a", "a pcapng capture"),
    (b"\xa1\xb2\xc3\xd4", "a pcap capture"),
    (b"\xd4\xc3\xb2\xa1", "a pcap capture"),
    (b"\xa1\xb2\x3c\x4d", "a pcap capture"),
    (b"\x4d\x3c\xb2\xa1", "a pcap capture"),
];

/// What a file is that was given where no capture is wanted.
pub fn looks_like(start: &[u8]) -> String {
    if let Some((_, capture)) = CAPTURES.iter().find(|(magic, _)| start.starts_with(magic)) {
        return (*capture).to_owned();
    }
    match guess(start) {
        NotPcap::OtherCapture(format) => format!("a {format} capture"),
        NotPcap::Else(kind) | NotPcap::Unknown(kind) => kind.to_owned(),
    }
}

fn by_content(start: &[u8]) -> NotPcap {
    let tar = start.get(257..262) == Some(b"ustar");
    let lower = start.trim_ascii_start().get(..14).unwrap_or_default();
    let lower = lower.to_ascii_lowercase();
    if tar {
        NotPcap::Else("a tar archive (unpack it first)")
    } else if lower.starts_with(b"<!doctype html") || lower.starts_with(b"<html") {
        NotPcap::Else("an HTML page")
    } else if start.iter().all(|&byte| byte == 0) {
        NotPcap::Unknown("all zeros")
    } else if is_text(start) {
        NotPcap::Else("text")
    } else {
        NotPcap::Unknown("data of an unknown format")
    }
}

fn is_text(start: &[u8]) -> bool {
    let printable = |&byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
    let valid = match std::str::from_utf8(start) {
        Ok(_) => true,
        // A character cut at the end of what was looked at.
        Err(error) => error.error_len().is_none(),
    };
    valid && start.iter().all(printable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(start: &[u8]) -> &'static str {
        match guess(start) {
            NotPcap::OtherCapture(format) => format,
            NotPcap::Else(kind) | NotPcap::Unknown(kind) => kind,
        }
    }

    #[test]
    fn the_obvious_is_named() {
        assert_eq!(told(b"snoop\0\0\0\0\0\0\x02"), "snoop");
        assert_eq!(told(b"\x7fELF\x02\x01"), "an ELF program");
        assert_eq!(told(b"\n <!DOCTYPE html><html>"), "an HTML page");
        assert_eq!(told("Zeit;Größe\n".as_bytes()), "text");
        assert_eq!(told(&[0, 0, 0, 0, 0]), "all zeros");
        assert_eq!(told(&[1, 2, 3, 4, 0xff]), "data of an unknown format");
    }
}
