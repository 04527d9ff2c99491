//! Key logs that somebody gives beside the captures: read line by line, however long they are.

use std::io::Read;

use zeroize::Zeroizing;

use crate::capture::looks_like;
use crate::layers::tls::KeyLog;

/// How much is read at a time; no line of a key log is as long.
const PIECE_BYTES: usize = 64 * 1024;
/// So much without a secret is no key log, and may be a device that never ends.
const MAX_BARREN_BYTES: usize = 64 * PIECE_BYTES;
/// How much of a file is looked at to say what it is.
const LOOK_BYTES: usize = 512;

/// Why a file opens no session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyLogError {
    #[error("{name}: cannot be read: {reason}")]
    CannotRead { name: String, reason: std::io::Error },
    #[error(
        "{name}: is empty: a client writes its secrets when it connects (`latpcap explain keys` says how to get them)"
    )]
    Empty { name: String },
    #[error("{name}: holds no secret of a TLS session; `latpcap explain keys` shows how to get them")]
    NoSecret { name: String },
    #[error("{name}: is not a key log but {what}; {advice}")]
    NotAKeyLog { name: String, what: String, advice: &'static str },
}

/// Adds the secrets of a key log to others; a file without any is an error.
pub fn read_key_log(name: &str, mut stream: impl Read, log: &mut KeyLog) -> Result<(), KeyLogError> {
    let name = || name.to_owned();
    let before = log.len() as u64 + log.left_out();
    let start = add_lines(&mut stream, log).map_err(|reason| KeyLogError::CannotRead { name: name(), reason })?;
    if start.is_empty() {
        return Err(KeyLogError::Empty { name: name() });
    }
    // A log may be given twice, or be damaged as a whole, which a note tells.
    let is_one = ["CLIENT_", "SERVER_", "RSA "].iter().any(|label| contains(&start, label.as_bytes()));
    if is_one || log.len() as u64 + log.left_out() > before {
        return Ok(());
    }
    Err(what_else(&start).map_or_else(
        || KeyLogError::NoSecret { name: name() },
        |(what, advice)| KeyLogError::NotAKeyLog { name: name(), what, advice },
    ))
}

/// Adds whole lines as they come; returns how the stream begins.
fn add_lines(stream: &mut impl Read, log: &mut KeyLog) -> std::io::Result<Zeroizing<Vec<u8>>> {
    let mut start = Zeroizing::new(Vec::with_capacity(LOOK_BYTES));
    let mut piece = Zeroizing::new(vec![0; PIECE_BYTES]);
    let mut filled = 0;
    let (mut known, mut barren) = (0, 0);
    loop {
        let room = piece.get_mut(filled..).unwrap_or_default();
        let count = match stream.read(room) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let new = room.get(..count).unwrap_or_default();
        let wanted = (LOOK_BYTES - start.len()).min(new.len());
        start.extend_from_slice(new.get(..wanted).unwrap_or_default());
        filled += count;
        let whole = match piece.get(..filled).unwrap_or_default() {
            all if count == 0 => all.len(),
            all => all.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1),
        };
        // What fills the piece and has no end is no line of a key log.
        let whole = if whole == 0 && filled == PIECE_BYTES { filled } else { whole };
        log.add(piece.get(..whole).unwrap_or_default());
        let now_known = log.len() as u64 + log.left_out();
        barren = if now_known == known { barren + count } else { 0 };
        known = now_known;
        piece.copy_within(whole..filled, 0);
        filled -= whole;
        if count == 0 || barren > MAX_BARREN_BYTES {
            return Ok(start);
        }
    }
}

/// What a file is that holds no line of a key log, and what to do; `None` where it may be one without secrets.
fn what_else(start: &[u8]) -> Option<(String, &'static str)> {
    const WRITTEN: &str = "give the file that the client wrote (`latpcap explain keys`)";
    if contains(start, b"PRIVATE KEY-----") {
        return Some(("a private key".to_owned(), "it decrypts no session of today's TLS: give the client's key log"));
    }
    if contains(start, b"-----BEGIN CERTIFICATE") {
        return Some(("a certificate".to_owned(), WRITTEN));
    }
    match looks_like(start) {
        capture if capture.ends_with(" capture") => Some((capture, "give captures without --keylog")),
        text if text == "text" => start.split(|byte| *byte == b'\n').any(is_other_text).then_some((text, WRITTEN)),
        other => Some((other, WRITTEN)),
    }
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|part| part == word)
}

/// Neither a comment nor a label with what belongs to it.
fn is_other_text(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let label = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    !line.is_empty()
        && !line.starts_with(b"#")
        && !label.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

#[cfg(test)]
#[path = "key_log_files_tests.rs"]
mod tests;
