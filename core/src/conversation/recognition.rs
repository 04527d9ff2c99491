//! Which protocol is it? Asked of the first bytes, and of each new turn where the beginning was not captured.

use super::KeptChunk;
use super::peek::Peek;
use super::proxy::ProxyHeader;
use crate::layers::tls::KeyLog;
use crate::layers::tls::hello::ClientHello;
use crate::layers::tls::record::{self, HANDSHAKE};
use crate::protocols::opaque;
use crate::protocols::others;
use crate::protocols::{Layer, Opening, Protocol, REGISTRY, Start, Verdict};
use crate::side::Side;
use crate::stream::Chunk;

/// Bytes of one side that are looked at.
const OPENING_BYTES: usize = 4096;
/// Bytes that are kept until the protocol is known.
const KEPT_BYTES: usize = 64 << 10;
/// Opaque that are tried before a connection counts as foreign.
const TURNS: u32 = 16;

/// What the user or the ports say about a connection before it has said anything itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints {
    /// `--decode-as`: take this protocol without asking.
    pub forced: Option<Forced>,
    /// The server's port is a usual one of this protocol.
    pub by_port: Option<&'static Protocol>,
    /// The handshake showed who the client is.
    pub oriented: bool,
    /// The connection's beginning was captured.
    pub from_start: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Forced {
    Protocol(&'static Protocol),
    /// Unreadable on purpose, under one of the names in [`opaque::NAMES`]: only the changes of direction count.
    Opaque(&'static str),
}

/// The answer, with everything that was kept for the decoder to read.
pub struct Recognised {
    pub name: &'static str,
    pub start: Start,
    /// What was taken for the client is the server.
    pub swapped: bool,
    pub seen: Vec<KeptChunk>,
    /// A PROXY protocol header preceded it.
    pub proxied: bool,
    /// The protocol that it begins with, where another one was forced on it.
    pub contradicts: Option<&'static Protocol>,
}

impl Recognised {
    fn and(mut self, chunk: &Chunk<'_>) -> Recognised {
        self.seen.push(KeptChunk::of(chunk));
        self
    }
}

pub struct Recognition {
    hints: Hints,
    seen: Vec<KeptChunk>,
    kept_bytes: usize,
    client: Vec<u8>,
    server: Vec<u8>,
    first: Option<Side>,
    turns: u32,
    proxy_header: ProxyHeader,
    proxied: bool,
    /// What is said inside TLS, where there are keys.
    peek: Option<Box<Peek>>,
    /// A database that cannot be read, by what was looked at before.
    other: Option<&'static str>,
}

impl Recognition {
    pub fn new(hints: Hints) -> Recognition {
        let (client, server) = (Vec::new(), Vec::new());
        let proxy_header = ProxyHeader::default();
        let (seen, first) = (Vec::new(), None);
        let (proxied, other, peek) = (false, None, None);
        Recognition { hints, seen, kept_bytes: 0, client, server, first, turns: 0, proxy_header, proxied, other, peek }
    }

    /// Take in the next bytes. `Some(None)`: it is nothing that latpcap reads.
    pub fn read(&mut self, chunk: &Chunk<'_>, keys: &mut KeyLog) -> Option<Option<Recognised>> {
        let (chunk, proxied) = self.proxy_header.skip(chunk, self.hints.from_start);
        self.proxied |= proxied;
        let nothing_left = self.proxied && chunk.bytes.is_empty() && chunk.cut == 0;
        if nothing_left { None } else { self.read_on(&chunk, keys) }
    }

    fn read_on(&mut self, chunk: &Chunk<'_>, keys: &mut KeyLog) -> Option<Option<Recognised>> {
        if chunk.lost > 0 {
            self.hints.from_start = false;
            // The answer that would show more was not captured.
            if let Some(recognised) = self.decide() {
                return Some(Some(recognised.and(chunk)));
            }
            self.start_over();
        }
        if self.is_new_turn(chunk) {
            if let Some(swapped) = self.recognise_swapped(chunk) {
                return Some(Some(swapped));
            }
            self.turns += 1;
            if !self.hints.from_start {
                self.start_over();
            }
        }
        self.keep(chunk);
        self.look_inside(chunk, keys);
        if let Some(recognised) = self.recognise() {
            return Some(Some(recognised));
        }
        if self.turns < TURNS && self.kept_bytes > KEPT_BYTES && self.may_be_an_answer() {
            self.start_over();
        }
        let enough = self.turns >= TURNS || self.kept_bytes > KEPT_BYTES;
        enough.then(|| self.decide())
    }

    /// Nobody knows who the client is, and only one side has spoken: the rest of a long answer may have been captured.
    fn may_be_an_answer(&self) -> bool {
        !self.hints.oriented && self.hints.by_port.is_none() && self.server.is_empty()
    }

    /// What it keeps for the moment.
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
            + self.seen.capacity() * size_of::<KeptChunk>()
            + self.client.capacity()
            + self.server.capacity()
            + self.peek.as_ref().map_or(0, |peek| peek.kept_bytes())
    }

    /// No more bytes, or enough of them: the port breaks the tie.
    pub fn decide(&mut self) -> Option<Recognised> {
        if let Some(peek) = &mut self.peek {
            peek.is_over = true;
        }
        let spoken = !self.client.is_empty() || !self.server.is_empty();
        if let Some(Forced::Protocol(protocol)) = self.hints.forced {
            return spoken.then(|| self.recognise_forced(protocol));
        }
        if let Some(tls) = self.recognise_tls() {
            return Some(tls);
        }
        let protocol = self.hints.by_port?;
        let undecided = (protocol.recognise)(&self.opening()) == Verdict::Unsure;
        (undecided && spoken).then(|| self.recognised(protocol.name, (protocol.decoder)(&self.opening()), false))
    }

    fn is_new_turn(&self, chunk: &Chunk<'_>) -> bool {
        let last = self.seen.last().map(|seen| seen.side);
        chunk.side == Side::Client && last == Some(Side::Server)
    }

    /// Which database that cannot be read speaks here, where its name is known.
    pub fn other_database(&mut self) -> Option<&'static str> {
        self.look_for_others();
        self.other
    }

    fn look_for_others(&mut self) {
        let opening = self.opening();
        let turned = Opening { client: opening.server, server: opening.client, ..opening };
        let turned = || others::name(&turned).filter(|_| !self.hints.oriented);
        self.other = self.other.or_else(|| others::name(&opening)).or_else(turned);
    }

    fn start_over(&mut self) {
        self.look_for_others();
        self.seen.clear();
        self.kept_bytes = 0;
        self.client.clear();
        self.server.clear();
        self.first = None;
        self.peek = None;
    }

    fn keep(&mut self, chunk: &Chunk<'_>) {
        self.first.get_or_insert(chunk.side);
        let side = match chunk.side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        let room = OPENING_BYTES.saturating_sub(side.len());
        side.extend_from_slice(&chunk.bytes[..chunk.bytes.len().min(room)]);
        // The rest of a long answer whose request was not captured shows nothing more.
        if self.client.is_empty() && !self.hints.from_start && self.kept_bytes > OPENING_BYTES {
            return;
        }
        self.kept_bytes += chunk.bytes.len();
        // An answer that is missing must not be taken from the next one.
        let lost = if chunk.side == Side::Server { chunk.lost } else { 0 };
        // Many connections never say more than this.
        if self.seen.capacity() == 0 {
            self.seen.reserve_exact(1);
        }
        self.seen.push(KeptChunk { lost, ..KeptChunk::of(chunk) });
    }

    fn opening(&self) -> Opening<'_> {
        Opening {
            client: &self.client,
            server: &self.server,
            first: self.first.unwrap_or(Side::Client),
            from_start: self.hints.from_start,
        }
    }

    fn recognise(&mut self) -> Option<Recognised> {
        match self.hints.forced {
            Some(Forced::Protocol(_)) if may_begin_tls(&self.opening()) => return None,
            Some(Forced::Protocol(protocol)) => return Some(self.recognise_forced(protocol)),
            Some(Forced::Opaque(name)) => {
                let start = opaque::start(&self.opening());
                return Some(self.recognised(name, start, false));
            }
            None => {}
        }
        let opening = self.opening();
        if let Some(protocol) = certain(&opening) {
            let start = (protocol.decoder)(&opening);
            return Some(self.recognised(protocol.name, start, false));
        }
        self.recognise_tls()
    }

    fn recognise_forced(&mut self, protocol: &'static Protocol) -> Recognised {
        let opening = self.opening();
        let spoken = certain(&opening).filter(|spoken| opening.from_start && spoken.name != protocol.name);
        let start = (protocol.decoder)(&opening);
        let layer = start.layer.or(begins_with_tls(&opening).then_some(Layer::Tls));
        let recognised = self.recognised(protocol.name, Start { layer, ..start }, false);
        Recognised { contradicts: spoken, ..recognised }
    }

    /// Where TLS begins with the first byte, and there are keys.
    fn look_inside(&mut self, chunk: &Chunk<'_>, keys: &mut KeyLog) {
        let may_begin = self.hints.from_start && self.turns == 0 && record::is_handshake(&self.client);
        if self.peek.is_none() && may_begin && !keys.is_empty() {
            self.peek = Some(Box::default());
        }
        if let Some(peek) = &mut self.peek {
            peek.read(chunk, keys);
        }
    }

    /// TLS from the first byte on says little of what is inside: without keys it is what the client calls it, or the port.
    fn recognise_tls(&mut self) -> Option<Recognised> {
        let inside = self.peek.as_ref().and_then(|peek| peek.opening());
        let said = inside.and_then(|inside| Some((certain(&inside)?, inside)));
        if let Some((protocol, inside)) = said {
            let start = Start { layer: Some(Layer::Tls), ..(protocol.decoder)(&inside) };
            return Some(self.recognised(protocol.name, start, false));
        }
        if self.peek.as_ref().is_some_and(|peek| !peek.is_over) {
            return None;
        }
        let opening = self.opening();
        let protocol = called_by_client(&opening).or(self.hints.by_port)?;
        let start = Start { layer: Some(Layer::Tls), ..(protocol.decoder)(&opening) };
        begins_with_tls(&opening).then(|| self.recognised(protocol.name, start, false))
    }

    /// Where the handshake was not captured, the client may be the one that was taken for the server. What the server
    /// has said before is then the rest of an answer.
    fn recognise_swapped(&mut self, chunk: &Chunk<'_>) -> Option<Recognised> {
        if self.hints.oriented || self.server.is_empty() {
            return None;
        }
        let opening = Opening { client: &self.server, server: chunk.bytes, first: Side::Client, from_start: false };
        let protocol = certain(&opening)?;
        let start = (protocol.decoder)(&opening);
        let asked = self.seen.iter().position(|seen| seen.side == Side::Server).unwrap_or(0);
        self.seen.drain(..asked);
        self.keep(chunk);
        Some(self.recognised(protocol.name, start, true))
    }

    fn recognised(&mut self, name: &'static str, start: Start, swapped: bool) -> Recognised {
        let seen = std::mem::take(&mut self.seen);
        Recognised { name, start, swapped, seen, proxied: self.proxied, contradicts: None }
    }
}

/// TLS is spoken from the first byte on, or since before the capture began. What is certainly something else is asked
/// first: a packet of MySQL may begin like a record.
fn begins_with_tls(opening: &Opening<'_>) -> bool {
    match opening.from_start {
        true => record::is_handshake(opening.client),
        false => record::is_record(opening.client) && certain(opening).is_none(),
    }
}

/// The protocol that the client names in its ClientHello.
fn called_by_client(opening: &Opening<'_>) -> Option<&'static Protocol> {
    let name = ClientHello::opening(opening.client).filter(|_| opening.from_start)?.application_protocol?;
    REGISTRY.iter().copied().find(|protocol| protocol.alpn == Some(name.as_str()))
}

/// There are too few bytes to tell.
fn may_begin_tls(opening: &Opening<'_>) -> bool {
    opening.from_start && matches!(opening.client, [HANDSHAKE] | [HANDSHAKE, 3])
}

fn certain(opening: &Opening<'_>) -> Option<&'static Protocol> {
    REGISTRY.iter().copied().find(|protocol| (protocol.recognise)(opening) == Verdict::Certain)
}
