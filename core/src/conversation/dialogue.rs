//! Cuts both streams into messages, skips long bodies, and goes on after a loss (`losses.rs`): once for all protocols.

mod encrypted;
mod losses;
#[cfg(debug_assertions)]
mod work;

use super::Common;
use super::inbox::{Inbox, Origin, Pending};
use crate::cursor::Lost;
use crate::exchange::{MessageSpan, Pairing};
use crate::layers::Unwrap;
use crate::protocols::opaque::{Opaque, Push, WIRE_ENCRYPTION};
use crate::protocols::tls::Tls;
use crate::protocols::{self, Context, Decoder, Frame, Layer, Meaning, Message, Protocol, Start};
use crate::session::Session;
use crate::side::Side;
use crate::stream::Chunk;
use encrypted::Encrypted;

/// Bytes of a wrapped stream that are unwrapped at once: they may become a thousand times as many.
const UNWRAPPED: usize = 16 << 10;

/// A connection whose protocol is known.
pub struct Dialogue {
    pub protocol: &'static str,
    /// What was taken for the client is the server: the capture began in mid-connection.
    pub swapped: bool,
    /// A PROXY protocol header preceded it.
    pub proxied: bool,
    /// The protocol that it begins with, where another one was forced on it.
    pub contradicts: Option<&'static Protocol>,
    pub session: Session,
    pub pairing: Pairing,
    /// How often synchronisation was lost, and why the first time.
    pub losses: u32,
    pub first_loss: Option<String>,
    decoder: Box<dyn Decoder>,
    /// Opens the records of TLS, where there are keys.
    tls: Option<Box<Encrypted>>,
    inboxes: [Inbox; 2],
    /// Takes off what the protocol puts around the records of TLS.
    tls_framing: Option<Box<[Box<dyn Unwrap>; 2]>>,
    /// Bytes of each side's stream that came with no message that is whole.
    uncounted: [u64; 2],
    /// What is in TLS is read.
    pub(super) is_opened: bool,
    /// Messages cannot be delimited until the client begins a request.
    lost: bool,
    /// The server has sent something since the client last did.
    server_spoke: bool,
    /// The end of the last bytes that the server was seen to send.
    server_until: u64,
    /// The client sends what follows bytes that were not captured, with an answer to these: nothing else was under way.
    behind_unseen: bool,
    /// The client's next bytes were not captured, and what it had asked was not answered yet: if the answer was not
    /// lost as well, the client has asked on without it.
    asked_on: bool,
    #[cfg(debug_assertions)]
    work: work::Work,
}

impl Dialogue {
    /// What a dialogue takes beside itself: its decoder, the names that its session knows, an exchange.
    pub const BESIDE: usize = 3 << 9;

    pub fn new(protocol: &'static str, start: Start, swapped: bool) -> Dialogue {
        let mut dialogue = Dialogue {
            protocol,
            swapped,
            proxied: false,
            contradicts: None,
            session: Session::default(),
            pairing: Pairing::default(),
            losses: 0,
            first_loss: None,
            decoder: start.decoder,
            tls: None,
            inboxes: Default::default(),
            tls_framing: None,
            uncounted: [0; 2],
            is_opened: false,
            lost: false,
            server_spoke: false,
            server_until: 0,
            behind_unseen: false,
            asked_on: false,
            #[cfg(debug_assertions)]
            work: work::Work::default(),
        };
        dialogue.switch(start.layer);
        dialogue
    }

    /// Take in the next bytes of one side.
    pub fn read(&mut self, chunk: &Chunk<'_>, common: &mut Common) {
        #[cfg(debug_assertions)]
        let before = crate::cursor::reads::count();
        match self.swapped {
            true => self.read_of(&Chunk { side: chunk.side.other(), ..*chunk }, common),
            false => self.read_of(chunk, common),
        }
        #[cfg(debug_assertions)]
        self.work.check(crate::cursor::reads::count() - before, chunk.bytes.len());
    }

    /// The next bytes of the side that is named in them.
    fn read_of(&mut self, chunk: &Chunk<'_>, common: &mut Common) {
        self.uncounted[chunk.side as usize] += chunk.bytes.len() as u64;
        if chunk.side == Side::Server && !chunk.bytes.is_empty() {
            self.server_until = chunk.offset + chunk.bytes.len() as u64 + chunk.cut;
        }
        self.read_bare(chunk, common);
    }

    /// The same, counted.
    fn read_bare(&mut self, chunk: &Chunk<'_>, common: &mut Common) {
        let Some(tls_framing) = &mut self.tls_framing else { return self.read_records(chunk, common) };
        let framing = &mut tls_framing[chunk.side as usize];
        let mut bare = Vec::new();
        if chunk.lost > 0 {
            framing.reset();
        }
        if let Err(lost) = framing.unwrap(chunk.bytes, &mut bare) {
            return self.lose_at(chunk, lost);
        }
        if chunk.cut > 0 {
            framing.reset();
        }
        self.read_records(&Chunk { bytes: &bare, ..*chunk }, common);
    }

    fn read_records(&mut self, chunk: &Chunk<'_>, common: &mut Common) {
        match self.tls.take() {
            Some(tls) => self.tls = self.read_encrypted(tls, chunk, common),
            None => self.read_plain(chunk, common),
        }
    }

    /// The next bytes of the messages themselves, or of what takes their place.
    pub(super) fn read_plain(&mut self, chunk: &Chunk<'_>, common: &mut Common) {
        let side = chunk.side;
        if side == Side::Server && std::mem::take(&mut self.asked_on) && chunk.lost == 0 {
            self.pairing.distrust_next(1);
        }
        if chunk.lost > 0 {
            self.gap(chunk);
        }
        if !chunk.bytes.is_empty() {
            self.bytes(chunk, common);
            self.server_spoke = side == Side::Server;
        }
        if chunk.cut > 0 {
            self.cut(chunk, common);
        }
    }

    /// What it keeps of messages that are not whole yet.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        let tls = self.tls.as_ref().map_or(0, |tls| tls.kept_bytes());
        self.inboxes[0].kept_bytes() + self.inboxes[1].kept_bytes() + self.decoder.kept_bytes() + tls
    }

    /// What it keeps beside itself as long as it is known.
    #[inline]
    pub fn kept_keys(&self) -> usize {
        self.tls.as_ref().map_or(0, |tls| tls.kept_keys())
    }

    /// One side has hung up: little is still to come.
    pub fn shrink(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.shrink();
        }
    }

    /// There is no room for messages that are not whole: they are not read.
    pub fn give_up(&mut self) {
        let had_records = self.tls.as_mut().is_some_and(|tls| tls.give_up());
        if had_records || !self.inboxes.iter().all(Inbox::is_idle) {
            self.lose(Lost("there was no room for messages that were not whole yet".into()));
        }
        self.inboxes.iter_mut().for_each(Inbox::shrink);
        self.decoder.give_up();
    }

    #[inline]
    fn inbox(&mut self, side: Side) -> &mut Inbox {
        &mut self.inboxes[side as usize]
    }

    // --- reading on -------------------------------------------------------------------------------------------------

    fn bytes(&mut self, chunk: &Chunk<'_>, common: &mut Common) {
        if chunk.side == Side::Server && self.pairing.is_doubtful() {
            self.lose(Lost("an answer is missing from the capture".into()));
        }
        let stale = chunk.side == Side::Server && !self.pairing.may_be_answered_by(chunk.acknowledged);
        if stale {
            // Sent before the server had the request that is open: the answer to something that was lost.
        } else if self.lost && !self.try_resync(chunk, common) {
            self.missed(chunk.side, chunk.bytes.len() as u64);
            self.follow_turns(chunk);
        } else if let Err(lost) = self.messages_in(chunk, chunk.bytes, common) {
            self.lose_at(chunk, lost);
        }
    }

    #[inline]
    fn messages_in(&mut self, chunk: &Chunk<'_>, raw: &[u8], common: &mut Common) -> Result<(), Lost> {
        let inbox = self.inbox(chunk.side);
        if inbox.layer.is_none() {
            return if inbox.body_holds(raw.len()) { Ok(()) } else { self.cut_into_messages(chunk, raw, common) };
        }
        for piece in raw.chunks(UNWRAPPED) {
            let plain = self.inbox(chunk.side).unwrap(piece, &mut common.inflated)?;
            let result = self.cut_into_messages(chunk, &plain, common);
            self.inbox(chunk.side).reuse(plain);
            result?;
        }
        Ok(())
    }

    /// Messages that are whole in one packet are read in place; others wait in the inbox.
    fn cut_into_messages(&mut self, chunk: &Chunk<'_>, fresh: &[u8], common: &mut Common) -> Result<(), Lost> {
        let latest = Origin::of(chunk);
        let wrapped = self.inbox(chunk.side).layer.is_some();
        if self.inbox(chunk.side).is_empty() {
            let used = self.messages(chunk, fresh, latest, common)?;
            return self.keep(chunk, &fresh[used..], wrapped, common);
        }
        if !self.inbox(chunk.side).add(fresh, latest) {
            return Ok(());
        }
        let (buffer, origin) = self.inbox(chunk.side).take();
        let used = self.messages(chunk, &buffer, origin.unwrap_or(latest), common)?;
        if used < buffer.len() && self.inbox(chunk.side).need == 0 {
            return self.keep(chunk, &buffer[used..], wrapped, common);
        }
        self.inbox(chunk.side).put_back(buffer, used, latest);
        Ok(())
    }

    /// Bytes after the last whole message: kept, or read anew where that message changed what follows it.
    fn keep(&mut self, chunk: &Chunk<'_>, rest: &[u8], wrapped: bool, common: &mut Common) -> Result<(), Lost> {
        if rest.is_empty() {
            return Ok(());
        }
        if self.tls.is_some() {
            self.read_bare(&Chunk { lost: 0, bytes: rest, cut: 0, ..*chunk }, common);
            return Ok(());
        }
        let inbox = self.inbox(chunk.side);
        if inbox.need > 0 {
            let origin = Origin::of(chunk);
            inbox.add(rest, origin);
            return Ok(());
        }
        if inbox.layer.is_some() == wrapped {
            return self.cut_into_messages(chunk, rest, common);
        }
        self.messages_in(chunk, rest, common)
    }

    /// Read the whole messages that `bytes` begin with; how many bytes they took.
    #[inline]
    fn messages(&mut self, chunk: &Chunk<'_>, bytes: &[u8], first: Origin, common: &mut Common) -> Result<usize, Lost> {
        let side = chunk.side;
        let (mut at, mut switched) = self.pass_body(chunk, bytes.len());
        while at < bytes.len() && !switched {
            let rest = &bytes[at..];
            let origin = if at == 0 { first } else { Origin::of(chunk) };
            let mut context = Context { session: &mut self.session, statements: &mut common.statements, switch: None };
            let passed = self.decoder.pass(side, rest, &mut context);
            if passed.length > 0 {
                self.pairing.transaction = self.session.transaction;
                self.inbox(side).need = 0;
                let span = self.span(chunk, origin, passed.length as u64);
                at += passed.length;
                self.pairing.message(passed.meaning(side), &span);
                continue;
            }
            let (head, length) = match self.decoder.frame(side, rest)? {
                Frame::Becomes(layer) => {
                    switched = self.switch(Some(layer));
                    continue;
                }
                Frame::Message { head, length } if head <= rest.len() => (head, length),
                Frame::Message { head: need, .. } | Frame::Need(need) => {
                    self.inbox(side).need = need.max(rest.len() + 1);
                    break;
                }
            };
            self.inbox(side).need = 0;
            let here = length.min(rest.len() as u64);
            let message = Message { side, bytes: &rest[..head], length, cut: false };
            switched = self.message(chunk, &message, here, origin, common)?;
            at += here as usize;
        }
        Ok(at)
    }

    /// How many bytes belong to a long message, and whether what follows it is wrapped anew.
    #[inline]
    fn pass_body(&mut self, chunk: &Chunk<'_>, available: usize) -> (usize, bool) {
        if self.inbox(chunk.side).body == 0 {
            return (0, false);
        }
        let passed = self.inbox(chunk.side).pass(available);
        (passed, self.end_body(chunk))
    }

    /// The last byte of a long message has passed: now it counts. True when what follows it is wrapped anew.
    fn end_body(&mut self, chunk: &Chunk<'_>) -> bool {
        let Some(pending) = self.inbox(chunk.side).passed() else { return false };
        let Pending { meaning, origin, length, switch } = pending;
        let span = self.span(chunk, origin, length);
        self.pairing.message(meaning, &span);
        self.switch(switch)
    }

    /// Read one message of which `here` bytes are at hand. True when what follows it is wrapped or unwrapped anew.
    #[inline]
    fn message(
        &mut self,
        chunk: &Chunk<'_>,
        message: &Message<'_>,
        here: u64,
        origin: Origin,
        common: &mut Common,
    ) -> Result<bool, Lost> {
        let mut context = Context { session: &mut self.session, statements: &mut common.statements, switch: None };
        let meaning = self.decoder.message(message, &mut context)?;
        let switch = context.switch;
        if let Some(sql) = meaning.sql() {
            self.session.client.sends(common.statements.signs(sql));
        }
        self.pairing.transaction = self.session.transaction;
        if meaning == Meaning::More
            && message.side == Side::Client
            && let Some(origin) = self.inbox(Side::Server).unfinished()
        {
            self.pairing.answer_begins(origin.mark, origin.acknowledged);
        }
        if message.length > here {
            let pending = Pending { meaning, origin, length: message.length, switch };
            self.inbox(message.side).suspend(pending, message.length - here);
            return Ok(false);
        }
        let span = self.span(chunk, origin, message.length);
        self.pairing.message(meaning, &span);
        Ok(self.switch(switch))
    }

    /// Of messages that share the bytes of a wrapped stream, the first one is taken to have come with all of them.
    #[inline]
    fn span(&mut self, chunk: &Chunk<'_>, origin: Origin, length: u64) -> MessageSpan {
        let uncounted = std::mem::take(&mut self.uncounted[chunk.side as usize]);
        let is_wrapped = self.is_opened || self.inbox(chunk.side).layer.is_some();
        MessageSpan {
            side: chunk.side,
            first: origin.mark,
            last: chunk.mark,
            length,
            wire: if is_wrapped { uncounted } else { length },
            acknowledged: origin.acknowledged,
            start: origin.offset + 1,
            end: chunk.offset + 1,
        }
    }

    /// From here on the bytes are something else, on both sides; true if they are.
    #[inline]
    fn switch(&mut self, layer: Option<Layer>) -> bool {
        let Some(layer) = layer else { return false };
        self.begin(layer);
        true
    }

    #[cold]
    fn begin(&mut self, layer: Layer) {
        match layer {
            Layer::Wrapped(wrapping) => {
                self.session.compression.get_or_insert(wrapping.name);
                self.wrap(|| Some((wrapping.begin)()));
            }
            Layer::TlsWrapped(wrapping) => {
                self.tls_framing = Some(Box::new([(wrapping.begin)(), (wrapping.begin)()]));
                self.begin(Layer::Tls);
            }
            Layer::Tls => {
                self.session.encryption = Some("tls");
                self.pairing.end_with_next();
                let protocol = protocols::protocol_named(self.protocol);
                let login = protocol.and_then(|protocol| protocol.sealed_login.as_ref());
                let counting = Box::new(Tls::new(self.pairing.is_open(), login));
                let inner = std::mem::replace(&mut self.decoder, counting);
                self.tls = Some(Box::new(Encrypted::new(inner)));
            }
            Layer::Encrypted { login } => {
                let asked = self.pairing.is_open();
                self.session.encryption = (!asked).then_some(WIRE_ENCRYPTION);
                self.pairing.end_with_next();
                self.decoder = Box::new(Opaque::encrypted(asked, login));
                self.wrap(|| None);
            }
            Layer::Push => {
                self.session.replication = true;
                self.decoder = Box::new(Push);
            }
        }
    }

    fn wrap(&mut self, layer: impl Fn() -> Option<Box<dyn Unwrap>>) {
        for inbox in &mut self.inboxes {
            inbox.layer = layer();
        }
    }

    /// From here on something else is said: what was asked before has its whole answer.
    pub(super) fn replace_decoder(&mut self, decoder: Box<dyn Decoder>) {
        self.pairing.end_with_next();
        self.pairing.end_all();
        self.decoder = decoder;
        self.inboxes.iter_mut().for_each(Inbox::clear);
    }

    /// From here on nothing can be read, but turns can be counted.
    pub(super) fn go_blind(&mut self, decoder: Box<dyn Decoder>) {
        self.pairing.lose();
        self.decoder = decoder;
        self.lost = false;
        self.wrap(|| None);
        self.inboxes.iter_mut().for_each(Inbox::clear);
    }
}
