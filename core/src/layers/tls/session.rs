//! One connection that speaks TLS 1.2 or 1.3, read with the secrets of its session: which keys are in force on each
//! side, and how many records they have protected.
//!
//! ```text
//! 1.2   hellos, certificates, key exchange in clear | ChangeCipherSpec | Finished and all that follows: one key a side
//! 1.3   hellos in clear | handshake keys up to a side's Finished | traffic keys, anew with each of its KeyUpdates
//!       client, where it sends data with its ClientHello: early keys up to EndOfEarlyData come before all these
//! ```
//!
//! What is read is whole records, in the order of each side. It knows nothing of packets, nor of what is inside.

use std::ops::Range;

use super::facts::{Handshake, Reading, TlsFacts};
use super::handshake::{CLIENT_HELLO, HandshakeMessages, NEW_SESSION_TICKET};
use super::hello::{TLS_1_2, TLS_1_3};
use super::keylog::{KeyLog, Label, Random, Secret};
use super::protection::{Opened, Protection, Suite};
use super::record::{APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, Header};
use super::schedule::Bytes;
use crate::cursor::Cursor;
use crate::side::Side;

const HELLO_REQUEST: u8 = 0;
const END_OF_EARLY_DATA: u8 = 5;
const FINISHED: u8 = 20;
const KEY_UPDATE: u8 = 24;

/// Records of a handshake whose own secret is missing, while those behind it have one.
const UNOPENED_MAX: u32 = 64;

/// What a record was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The handshake, a ticket, new keys, an alert: nothing of the protocol inside.
    Control,
    /// Likewise, where nobody waits for it: what a client says in a handshake of TLS 1.3 in front of its Finished.
    Aside,
    /// Data, here in the bytes that were handed in.
    Data(Range<usize>),
}

/// Which keys a side uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Clear,
    Early,
    Handshake,
    Traffic,
}

/// The keys in force on one side.
#[derive(Default)]
struct Direction {
    stage: Stage,
    suite: Option<Suite>,
    /// TLS 1.3: what the keys come from, and the next ones will.
    secret: Bytes,
    protection: Option<Protection>,
    sequence: u64,
    messages: HandshakeMessages,
    unopened: u32,
}

#[derive(Default)]
pub struct Session {
    handshake: Handshake,
    facts: TlsFacts,
    sides: [Direction; 2],
    /// TLS 1.2: what each side's ChangeCipherSpec brings into force.
    agreed: [Option<Protection>; 2],
    /// TLS 1.2: where these come from.
    master: Option<Secret>,
    /// TLS 1.2: no secret has the session's name; the Finished that follows shows whether one without a name fits.
    is_tried: bool,
    /// TLS 1.2: the ticket that the server has given, by what it is remembered by.
    ticket: Option<Random>,
}

impl Session {
    /// Read the next record of one side: `body` is what stands behind its header, and holds the data afterwards. The error
    /// says why nothing of this connection can be read from here on.
    pub fn read(&mut self, side: Side, header: Header, body: &mut [u8], keys: &mut KeyLog) -> Result<Read, Reading> {
        match self.handshake.server_hello.as_ref().map(|hello| hello.version) {
            Some(TLS_1_3) if header.content_type == APPLICATION_DATA => self.read_1_3(side, header, body, keys),
            Some(TLS_1_2) => self.read_1_2(side, header, body, keys),
            Some(TLS_1_3) => Ok(Read::Control),
            Some(_) => Err(Reading::UnsupportedSuite),
            None if header.content_type == APPLICATION_DATA => self.read_1_3(side, header, body, keys),
            None => {
                self.read_clear(side, header, body);
                Ok(Read::Control)
            }
        }
    }

    /// What it keeps.
    pub fn kept_bytes(&self) -> usize {
        let messages: usize = self.sides.iter().map(|side| side.messages.kept_bytes()).sum();
        size_of::<Session>() + 2 * Protection::KEPT + messages + self.handshake.kept_bytes()
    }

    fn read_clear(&mut self, side: Side, header: Header, body: &[u8]) {
        if header.content_type != HANDSHAKE {
            return;
        }
        let Session { handshake, facts, ticket, .. } = self;
        handshake.record(side, body, facts, |message| {
            if message.kind == NEW_SESSION_TICKET {
                *ticket = ticket_in(message.body);
            }
        });
    }

    // --- TLS 1.2 ----------------------------------------------------------------------------------------------------

    fn read_1_2(&mut self, side: Side, header: Header, body: &mut [u8], keys: &mut KeyLog) -> Result<Read, Reading> {
        if header.content_type == CHANGE_CIPHER_SPEC {
            return self.change_cipher_spec(side, keys);
        }
        if std::mem::take(&mut self.is_tried) {
            self.try_unclaimed(side, header, body, keys)?;
        }
        let direction = &mut self.sides[side as usize];
        if direction.protection.is_none() {
            self.read_clear(side, header, body);
            return Ok(Read::Control);
        }
        let opened = direction.open(header, body).ok_or(Reading::WrongSecret)?;
        let data = body.get(opened.data.clone()).unwrap_or_default();
        match opened.content_type {
            APPLICATION_DATA => Ok(Read::Data(opened.data)),
            HANDSHAKE if matches!(data.first(), Some(&(HELLO_REQUEST | CLIENT_HELLO))) => Err(Reading::Interrupted),
            _ => Ok(Read::Control),
        }
    }

    fn change_cipher_spec(&mut self, side: Side, keys: &mut KeyLog) -> Result<Read, Reading> {
        self.handshake.change_cipher_spec(side, &mut self.facts);
        if self.agreed.iter().all(Option::is_none) && self.sides.iter().all(|side| side.protection.is_none()) {
            match self.agree(keys) {
                Ok(protections) => self.agreed = protections.map(Some),
                Err(Reading::NoSecret) if keys.has_unclaimed() => {
                    self.is_tried = true;
                    return Ok(Read::Control);
                }
                Err(reading) => return Err(reading),
            }
        }
        self.begin_1_2(side, keys)
    }

    fn begin_1_2(&mut self, side: Side, keys: &mut KeyLog) -> Result<Read, Reading> {
        self.remember(keys);
        let direction = &mut self.sides[side as usize];
        direction.protection = self.agreed[side as usize].take();
        direction.sequence = 0;
        direction.stage = Stage::Traffic;
        if direction.protection.is_some() { Ok(Read::Control) } else { Err(Reading::Interrupted) }
    }

    /// The keys of both sides, from the master secret. A session that another connection goes on with has the same one,
    /// and not every client logs it again.
    fn agree(&mut self, keys: &KeyLog) -> Result<[Protection; 2], Reading> {
        let hellos = (self.handshake.client_hello.as_ref(), self.handshake.server_hello.as_ref());
        let (Some(client), Some(server)) = hellos else { return Err(Reading::NoSecret) };
        Suite::of(server.cipher_suite).ok_or(Reading::UnsupportedSuite)?;
        let resumed = client.ticket.filter(|_| self.facts.resumed == Some(true));
        let master = keys
            .master(&client.random, &server.session_id)
            .or_else(|| keys.remembered(&resumed?))
            .ok_or(Reading::NoSecret)?
            .clone();
        let protections = self.protections(&master);
        self.master = Some(master);
        protections.ok_or(Reading::UnsupportedSuite)
    }

    fn protections(&self, master: &Secret) -> Option<[Protection; 2]> {
        let (client, server) = (self.handshake.client_hello.as_ref()?, self.handshake.server_hello.as_ref()?);
        let suite = Suite::of(server.cipher_suite)?;
        suite.protections(master.bytes(), &client.random, &server.random, server.encrypt_then_mac)
    }

    /// Java's agent logs ids that no handshake tells. The right secret is the one under which the Finished is authentic.
    fn try_unclaimed(&mut self, side: Side, header: Header, body: &[u8], keys: &mut KeyLog) -> Result<(), Reading> {
        let (master, protections) = keys
            .claim(|master| {
                let protections = self.protections(master)?;
                protections[side as usize].open(0, header, &mut body.to_vec())?;
                Some(protections)
            })
            .ok_or(Reading::NoSecret)?;
        self.agreed = protections.map(Some);
        self.master = Some(master);
        self.begin_1_2(side, keys).map(|_| ())
    }

    /// Another connection may go on with this session, by its id or its ticket.
    fn remember(&self, keys: &mut KeyLog) {
        let Some(master) = &self.master else { return };
        let id = self.handshake.server_hello.as_ref().map(|hello| hello.session_id.as_slice());
        for name in [id, self.ticket.as_ref().map(Random::as_slice)] {
            keys.remember(name.unwrap_or_default(), master);
        }
    }

    // --- TLS 1.3 ----------------------------------------------------------------------------------------------------

    fn read_1_3(&mut self, side: Side, header: Header, body: &mut [u8], keys: &KeyLog) -> Result<Read, Reading> {
        if self.sides[side as usize].stage != Stage::Traffic && !self.find_keys(side, header, body, keys)? {
            return Ok(Read::Control);
        }
        let opened = self.sides[side as usize].open(header, body).ok_or(Reading::WrongSecret)?;
        let data = body.get(opened.data.clone()).unwrap_or_default();
        match opened.content_type {
            APPLICATION_DATA => Ok(Read::Data(opened.data)),
            HANDSHAKE => {
                let last = self.messages(side, data, keys)?;
                let is_aside = side == Side::Client && last != Some(FINISHED);
                Ok(if is_aside { Read::Aside } else { Read::Control })
            }
            _ => Ok(Read::Control),
        }
    }

    /// Which keys open this record is certain only in front of data: a side's Finished, or its EndOfEarlyData, may not
    /// have been captured, and early data may not have been accepted. False where none can be had yet.
    fn find_keys(&mut self, side: Side, header: Header, body: &[u8], keys: &KeyLog) -> Result<bool, Reading> {
        let direction = &mut self.sides[side as usize];
        let mut copy = body.to_vec();
        if let Some(protection) = &direction.protection
            && protection.open(direction.sequence, header, &mut copy).is_some()
        {
            return Ok(true);
        }
        let Some(client) = &self.handshake.client_hello else { return Err(Reading::NoSecret) };
        let mut known = 0;
        for (stage, label) in later_stages(side, direction.stage) {
            let Some(secret) = keys.secret(&client.random, label) else { continue };
            for suite in self.handshake.server_hello.as_ref().map_or_else(
                || Suite::with_secret_of(secret.bytes().len()).collect::<Vec<_>>(),
                |hello| Suite::of(hello.cipher_suite).into_iter().collect(),
            ) {
                known += 1;
                copy.clear();
                copy.extend_from_slice(body);
                if suite.protection(secret.bytes()).is_some_and(|it| it.open(0, header, &mut copy).is_some()) {
                    direction.begin(stage, suite, secret.bytes());
                    return Ok(true);
                }
            }
        }
        self.unopened(side, known, keys)
    }

    fn unopened(&mut self, side: Side, mut known: usize, keys: &KeyLog) -> Result<bool, Reading> {
        let Some(client) = &self.handshake.client_hello else { return Err(Reading::NoSecret) };
        if let Some(hello) = &self.handshake.server_hello {
            Suite::of(hello.cipher_suite).ok_or(Reading::UnsupportedSuite)?;
        } else {
            // Early data without its secret: what follows the server's answer may have one.
            return Ok(false);
        }
        if side == Side::Client
            && client.offers_early_data
            && keys.secret(&client.random, Label::EarlyTraffic).is_none()
        {
            known += 1;
        }
        let own = later_stages(side, Stage::Early).next().and_then(|(_, label)| keys.secret(&client.random, label));
        let direction = &mut self.sides[side as usize];
        direction.unopened += 1;
        match own {
            None if known > 0 && direction.unopened <= UNOPENED_MAX => Ok(false),
            None if known == 0 => Err(Reading::NoSecret),
            _ => Err(Reading::WrongSecret),
        }
    }

    /// The last message that ends in a record: one that changes the keys changes them behind it.
    fn messages(&mut self, side: Side, data: &[u8], keys: &KeyLog) -> Result<Option<u8>, Reading> {
        let direction = &mut self.sides[side as usize];
        let mut last = None;
        direction.messages.read(data, |message| last = Some(message.kind));
        match last {
            Some(KEY_UPDATE) => direction.update(),
            Some(FINISHED) => self.advance(side, Stage::Traffic, keys)?,
            Some(END_OF_EARLY_DATA) => self.advance(side, Stage::Handshake, keys)?,
            _ => {}
        }
        Ok(last)
    }

    fn advance(&mut self, side: Side, to: Stage, keys: &KeyLog) -> Result<(), Reading> {
        let Some(client) = &self.handshake.client_hello else { return Err(Reading::NoSecret) };
        let direction = &mut self.sides[side as usize];
        let label = later_stages(side, Stage::Clear).find(|(stage, _)| *stage == to).map(|(_, label)| label);
        let secret = label.and_then(|label| keys.secret(&client.random, label)).ok_or(Reading::NoSecret)?;
        let suite = match &self.handshake.server_hello {
            Some(hello) => Suite::of(hello.cipher_suite),
            None => direction.suite,
        };
        direction.begin(to, suite.ok_or(Reading::UnsupportedSuite)?, secret.bytes());
        Ok(())
    }

    // --- after a loss -----------------------------------------------------------------------------------------------

    /// A record of one side was not captured whole.
    pub fn skip(&mut self, side: Side) {
        let direction = &mut self.sides[side as usize];
        direction.sequence += 1;
        direction.messages = HandshakeMessages::default();
        if direction.protection.is_none() {
            self.handshake.lose(side);
        }
    }

    /// The same as [`Session::read`] where so many records at most may be missing before this one: that it is authentic
    /// proves how many. `None` where it is not; the bytes are as they were then.
    pub fn read_ahead(
        &mut self,
        side: Side,
        header: Header,
        body: &mut [u8],
        missing_max: u64,
        keys: &mut KeyLog,
    ) -> Option<(Missing, Read)> {
        let direction = &self.sides[side as usize];
        let protection = direction.protection.as_ref().filter(|protection| protection.protects(header))?;
        let mut copy = body.to_vec();
        let mut opens = |protection: &Protection, from: u64| {
            (0..=missing_max).find(|missing| {
                copy.copy_from_slice(body);
                protection.open(from + missing, header, &mut copy).is_some()
            })
        };
        if let Some(missing) = opens(protection, direction.sequence) {
            self.sides[side as usize].sequence += missing;
            return Some((Missing(Some(missing)), self.read(side, header, body, keys).ok()?));
        }
        // A Finished or a KeyUpdate may be among what is missing.
        let later = match direction.stage {
            Stage::Traffic if !direction.secret.is_empty() => direction.updated(),
            Stage::Handshake => self.with_traffic_keys(side, keys),
            _ => None,
        }?;
        let sequence = opens(later.protection.as_ref()?, 0)?;
        self.sides[side as usize] = Direction { sequence, ..later };
        Some((Missing(None), self.read(side, header, body, keys).ok()?))
    }

    fn with_traffic_keys(&self, side: Side, keys: &KeyLog) -> Option<Direction> {
        let (stage, label) = later_stages(side, Stage::Handshake).next()?;
        let secret = keys.secret(&self.handshake.client_hello.as_ref()?.random, label)?;
        let mut direction = Direction::default();
        direction.begin(stage, self.sides[side as usize].suite?, secret.bytes());
        Some(direction)
    }

    /// How much data a record so long held, where that is certain.
    pub fn data_length(&self, side: Side, length: usize) -> Option<usize> {
        self.sides[side as usize].protection.as_ref()?.data_length(length)
    }

    /// Where in a record's body its data begins.
    pub fn data_start(&self, side: Side) -> usize {
        self.sides[side as usize].protection.as_ref().map_or(0, Protection::data_start)
    }
}

/// How many records are missing; `None` where the keys have changed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing(pub Option<u64>);

/// The stages behind this one, each with what its keys come from.
fn later_stages(side: Side, from: Stage) -> impl Iterator<Item = (Stage, Label)> {
    let stages = match side {
        Side::Client => [
            (Stage::Early, Label::EarlyTraffic),
            (Stage::Handshake, Label::ClientHandshake),
            (Stage::Traffic, Label::ClientTraffic),
        ]
        .as_slice(),
        Side::Server => &[(Stage::Handshake, Label::ServerHandshake), (Stage::Traffic, Label::ServerTraffic)],
    };
    stages.iter().copied().filter(move |(stage, _)| *stage > from)
}

/// The hash of the ticket in a NewSessionTicket of TLS 1.2 (RFC 5077 §3.3).
fn ticket_in(body: &[u8]) -> Option<Random> {
    let mut cursor = Cursor::new(body);
    cursor.skip(4, "lifetime").ok()?;
    let length = cursor.u16_be("length of the ticket").ok()?;
    let ticket = cursor.take(usize::from(length), "ticket").ok()?;
    Some(KeyLog::name_of(ticket))
}

impl Direction {
    fn open(&mut self, header: Header, body: &mut [u8]) -> Option<Opened> {
        let opened = self.protection.as_ref()?.open(self.sequence, header, body)?;
        self.sequence += 1;
        Some(opened)
    }

    fn begin(&mut self, stage: Stage, suite: Suite, secret: &[u8]) {
        self.stage = stage;
        self.suite = Some(suite);
        self.protection = suite.protection(secret);
        self.secret = Bytes::new(secret.to_vec());
        self.sequence = 0;
    }

    fn update(&mut self) {
        if let Some(updated) = self.updated() {
            let messages = std::mem::take(&mut self.messages);
            *self = Direction { messages, ..updated };
        }
    }

    fn updated(&self) -> Option<Direction> {
        let suite = self.suite?;
        let mut updated = Direction::default();
        updated.begin(self.stage, suite, &suite.hash.next_secret(&self.secret));
        Some(updated)
    }
}
