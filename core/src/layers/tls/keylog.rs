//! Secrets of TLS sessions as clients and servers log them (SSLKEYLOGFILE, RFC 9850).
//!
//! <https://www.rfc-editor.org/rfc/rfc9850>, <https://firefox-source-docs.mozilla.org/security/nss/legacy/key_log_format/>
//!
//! ```text
//! CLIENT_RANDOM <client random, 64 digits> <master secret, 96 digits>                                       TLS 1.2
//! CLIENT_TRAFFIC_SECRET_0 <client random> <secret, 64 or 96 digits>       and five more labels               TLS 1.3
//! RSA Session-ID:<session id> Master-Key:<master secret>                     older agents for Java, TLS 1.2
//! ```
//!
//! Secrets are wiped when they are dropped, and nothing here shows one: [`Secret`] prints as its length.

use std::collections::BTreeMap;
use std::fmt;

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::ledger::Limits;

/// What distinguishes a session: the random bytes of its ClientHello.
pub type Random = [u8; 32];

/// What a secret is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// TLS 1.2: all keys of the session.
    Master,
    EarlyTraffic,
    ClientHandshake,
    ServerHandshake,
    ClientTraffic,
    ServerTraffic,
}

const LABELS: [(Label, &str); 6] = [
    (Label::Master, "CLIENT_RANDOM"),
    (Label::EarlyTraffic, "CLIENT_EARLY_TRAFFIC_SECRET"),
    (Label::ClientHandshake, "CLIENT_HANDSHAKE_TRAFFIC_SECRET"),
    (Label::ServerHandshake, "SERVER_HANDSHAKE_TRAFFIC_SECRET"),
    (Label::ClientTraffic, "CLIENT_TRAFFIC_SECRET_0"),
    (Label::ServerTraffic, "SERVER_TRAFFIC_SECRET_0"),
];

const MASTER_LENGTH: usize = 48;
/// How many secrets are tried at most, for all sessions together, and how many wait for that.
const TRIALS: u32 = 1 << 16;
const UNCLAIMED_MAX: usize = 1 << 10;
/// What a secret takes beside its bytes, with its share of the map.
const BESIDE: usize = 160;

/// The bytes of a secret, at one place in memory from the first to the last.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Box<[u8]>>);

impl Secret {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a secret of {} bytes", self.0.len())
    }
}

type Secrets = [Option<Secret>; LABELS.len()];

/// The secrets of many sessions.
#[derive(Clone, Debug)]
pub struct KeyLog {
    sessions: BTreeMap<Random, Secrets>,
    /// Master secrets of sessions that are known by their id, or by the ticket that goes on with them.
    by_id: BTreeMap<Box<[u8]>, Secret>,
    /// Those of lines with an id, which some clients make up: tried where a session has no secret.
    unclaimed: Vec<Secret>,
    trials_left: u32,
    damaged: u64,
    left_out: u64,
    kept_bytes: usize,
    most_bytes: usize,
}

impl Default for KeyLog {
    fn default() -> KeyLog {
        KeyLog::within(Limits::default().keys)
    }
}

impl KeyLog {
    /// One that keeps so many bytes at most; what is beyond is left out.
    pub fn within(most_bytes: usize) -> KeyLog {
        KeyLog {
            sessions: BTreeMap::new(),
            by_id: BTreeMap::new(),
            unclaimed: Vec::new(),
            trials_left: TRIALS,
            damaged: 0,
            left_out: 0,
            kept_bytes: 0,
            most_bytes,
        }
    }

    /// Take in the text of a log; further ones add to it.
    pub fn add(&mut self, text: &[u8]) {
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            if !line.is_empty() && !line.starts_with(b"#") && self.line(line).is_none() {
                self.damaged += 1;
            }
        }
    }

    /// How many sessions have secrets in it.
    pub fn len(&self) -> usize {
        self.sessions.len() + self.by_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Somebody gave one, even if nothing in it could be used.
    pub fn was_given(&self) -> bool {
        !self.is_empty() || self.damaged > 0 || self.left_out > 0
    }

    /// Lines that are none of a key log, or cut.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Lines for which there was no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    pub fn knows(&self, random: &Random) -> bool {
        self.sessions.contains_key(random)
    }

    pub fn secret(&self, random: &Random, label: Label) -> Option<&Secret> {
        self.sessions.get(random)?.get(label as usize)?.as_ref()
    }

    /// The master secret of a TLS 1.2 session, by its ClientHello or by its id.
    pub fn master(&self, random: &Random, id: &[u8]) -> Option<&Secret> {
        self.secret(random, Label::Master).or_else(|| self.by_id.get(id))
    }

    /// A session may be gone on with under this id, or with a ticket of this name.
    pub fn remember(&mut self, name: &[u8], secret: &Secret) {
        if !name.is_empty() && !self.by_id.contains_key(name) && self.has_room(secret) {
            self.by_id.insert(Box::from(name), secret.clone());
        }
    }

    pub fn remembered(&self, name: &[u8]) -> Option<&Secret> {
        self.by_id.get(name)
    }

    /// What a ticket is remembered by: tickets are long.
    pub fn name_of(ticket: &[u8]) -> Random {
        Sha256::digest(ticket).into()
    }

    /// The first of the secrets that belong to no session yet for which `fits` says so: it has found its session.
    pub fn claim<T>(&mut self, mut fits: impl FnMut(&Secret) -> Option<T>) -> Option<(Secret, T)> {
        let most = self.unclaimed.len().min(self.trials_left as usize);
        let found = self.unclaimed.iter().take(most).enumerate().find_map(|(at, secret)| Some((at, fits(secret)?)));
        self.trials_left -= found.as_ref().map_or(most, |(at, _)| at + 1) as u32;
        let (at, fitted) = found?;
        Some((self.unclaimed.remove(at), fitted))
    }

    /// Are there secrets that belong to no session yet?
    pub fn has_unclaimed(&self) -> bool {
        !self.unclaimed.is_empty() && self.trials_left > 0
    }

    /// The lines of these sessions alone, as a log of their own.
    pub fn lines_of(&self, randoms: &[Random]) -> Zeroizing<Vec<u8>> {
        let known = || randoms.iter().filter_map(|random| Some((random, self.sessions.get(random)?)));
        let lines = || {
            known().flat_map(|(random, secrets)| {
                let secrets = secrets.iter().zip(LABELS);
                secrets.filter_map(move |(secret, (_, name))| Some((name, random, secret.as_ref()?)))
            })
        };
        let length =
            |(name, _, secret): (&str, _, &Secret)| name.len() + 2 * (size_of::<Random>() + secret.0.len()) + 3;
        // All at once: a vector that grows leaves copies behind.
        let mut text = Zeroizing::new(Vec::with_capacity(lines().map(length).sum()));
        for (name, random, secret) in lines() {
            text.extend_from_slice(name.as_bytes());
            text.push(b' ');
            digits(random, &mut text);
            text.push(b' ');
            digits(secret.bytes(), &mut text);
            text.push(b'\n');
        }
        text
    }

    /// One line; `None` where it is damaged. What other labels tell is not needed here.
    fn line(&mut self, line: &[u8]) -> Option<()> {
        let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let (name, session, value, None) = (words.next()?, words.next()?, words.next()?, words.next()) else {
            return None;
        };
        if name == b"RSA" {
            return self.line_by_id(session, value);
        }
        let Some(&(label, _)) = LABELS.iter().find(|(_, known)| known.as_bytes() == name) else {
            return is_label(name).then_some(());
        };
        let random: Random = bytes(session)?.as_ref().try_into().ok()?;
        let secret = Secret(bytes(value)?);
        let right_length = match label {
            Label::Master => secret.0.len() == MASTER_LENGTH,
            _ => matches!(secret.0.len(), 32 | 48),
        };
        let known = self.secret(&random, label) == Some(&secret);
        if right_length && !known && self.has_room(&secret) {
            self.sessions.entry(random).or_default()[label as usize] = Some(secret);
        }
        right_length.then_some(())
    }

    /// The pre-master secret of a key exchange (`RSA <16 digits> <96 digits>`) is nothing that anybody logs any more.
    fn line_by_id(&mut self, session: &[u8], value: &[u8]) -> Option<()> {
        let Some(id) = session.strip_prefix(b"Session-ID:") else { return bytes(session).map(|_| ()) };
        let id = bytes(id).filter(|id| id.len() <= 32)?;
        let secret = Secret(bytes(value.strip_prefix(b"Master-Key:")?)?);
        let right_length = secret.0.len() == MASTER_LENGTH;
        if right_length && self.has_room(&secret) {
            if self.unclaimed.len() < UNCLAIMED_MAX {
                self.unclaimed.push(secret.clone());
            }
            let unnamed = KeyLog::name_of(secret.bytes());
            let name: &[u8] = if id.is_empty() { &unnamed } else { &id };
            self.by_id.insert(Box::from(name), secret);
        }
        right_length.then_some(())
    }

    fn has_room(&mut self, secret: &Secret) -> bool {
        let bytes = secret.0.len() + BESIDE;
        let room = self.kept_bytes + bytes <= self.most_bytes;
        if room {
            self.kept_bytes += bytes;
        } else {
            self.left_out += 1;
        }
        room
    }
}

/// A label that is not needed here: `EXPORTER_SECRET`, `CLIENT_TRAFFIC_SECRET_1` (which follows from the one before it).
fn is_label(name: &[u8]) -> bool {
    name.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

/// The bytes that hexadecimal digits stand for.
fn bytes(digits: &[u8]) -> Option<Zeroizing<Box<[u8]>>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let mut bytes = Zeroizing::new(vec![0; digits.len() / 2].into_boxed_slice());
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = (digit(0)? << 4 | digit(1)?) as u8;
    }
    Some(bytes)
}

fn digits(bytes: &[u8], text: &mut Vec<u8>) {
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
    text.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
}

#[cfg(test)]
#[path = "keylog_tests.rs"]
mod tests;
