//! All conversations of a recording: from the bytes that each side sent to the exchanges that are over.

use crate::batch::{Batch, Event, What};
use crate::conversation::{Common, Conversation};
use crate::exchange::Exchange;
use crate::layers::Inflated;
use crate::layers::tls::KeyLog;
use crate::ledger::{Kept, Limits, Round, Share};
use crate::note::{NoteCode, Notes};
use crate::options::Options;
use crate::sql::Statements;
use crate::stream::{Chunk, Connection};

/// By the number of their connections.
pub struct Conversations<'a> {
    limits: &'a Limits,
    pub all: Vec<Conversation>,
    /// What Wireshark calls their connections.
    streams: Vec<u32>,
    pub common: Common,
    pub notes: Notes,
    kept: Kept,
    /// What of each is in that sum.
    counted: Vec<Share>,
    /// What the connections kept when the batch ended.
    connections: Kept,
    round: Round,
}

impl Conversations<'_> {
    pub fn new(options: &Options) -> Conversations<'_> {
        Conversations {
            limits: &options.limits,
            all: Vec::new(),
            streams: Vec::new(),
            common: Common {
                statements: Statements::within(options.show_literals, options.limits.statements),
                keys: KeyLog::clone(&options.keys),
                inflated: Inflated::default(),
            },
            notes: Notes::default(),
            kept: Kept::default(),
            counted: Vec::new(),
            connections: Kept::default(),
            round: Round::default(),
        }
    }

    /// Read what a batch brought; exchanges that are over go into it.
    pub fn read(&mut self, batch: &mut Batch) {
        self.connections = batch.connections;
        self.common.inflated.read = batch.read;
        for events in batch.events.chunk_by(|one, next| one.turn == next.turn) {
            match events.first() {
                Some(Event { what: What::Secrets(place), .. }) => self.common.keys.add(&batch.secrets[*place]),
                Some(event) => self.turn(event.connection as usize, events, &batch.bytes, &mut batch.finished),
                None => {}
            }
        }
        batch.forget_bytes();
        self.kept.statements = self.common.statements.kept_bytes();
        (batch.conversations, batch.conversed) = (self.kept, self.all.len());
    }

    /// What one packet has brought one connection.
    fn turn(&mut self, number: usize, events: &[Event], bytes: &[u8], finished: &mut Vec<Exchange>) {
        for event in events {
            self.event(number, &event.what, bytes);
        }
        self.take(number, finished);
        self.count(number);
        if self.is_beyond() {
            self.make_room(finished);
        }
    }

    #[inline]
    fn event(&mut self, number: usize, what: &What, bytes: &[u8]) {
        if let What::Begins(hints, stream) = what {
            self.all.push(Conversation::new(*hints));
            self.streams.push(*stream);
            self.counted.push(Share::default());
            return;
        }
        let conversation = &mut self.all[number];
        match what {
            What::Begins(..) | What::Secrets(_) => {}
            What::ClockStepped => conversation.clock_stepped(),
            What::Chunk(chunk, range) => {
                let bytes = &bytes[range.clone()];
                conversation.read(&Chunk { bytes, ..*chunk }, &mut self.common);
            }
            What::HungUp(side, acknowledged) => conversation.hung_up(*side, *acknowledged),
            What::Signal(side, signal) => conversation.signal(*side, *signal),
        }
    }

    /// The exchanges that a conversation has finished; their errors as they may be shown.
    fn take(&mut self, number: usize, finished: &mut Vec<Exchange>) {
        let Some(dialogue) = self.all[number].dialogue_mut() else { return };
        if !dialogue.pairing.has_finished() {
            return;
        }
        let before = finished.len();
        dialogue.pairing.take_finished(finished);
        for exchange in &mut finished[before..] {
            exchange.connection = self.streams[number];
            if let Some(error) = &mut exchange.error {
                error.message = self.common.statements.error(exchange.sql, &error.code, &error.message);
                error.code = Statements::error_code(&error.code);
            }
        }
        dialogue.pairing.shrink();
    }

    /// No more comes: what its connection still held, and what is open.
    pub fn close(&mut self, number: usize, connection: &mut Connection, finished: &mut Vec<Exchange>) {
        let conversation = &mut self.all[number];
        while let Some(chunk) = connection.streams.finish() {
            conversation.read(&chunk, &mut self.common);
        }
        conversation.finish(&mut self.common);
        if conversation.dialogue().is_some_and(|dialogue| dialogue.swapped) {
            connection.swap_roles();
        }
        self.take(number, finished);
    }

    /// What a conversation keeps now goes into the sum.
    #[inline]
    fn count(&mut self, number: usize) {
        let conversation = &self.all[number];
        let now = Share {
            connections: conversation.kept_bytes(),
            buffers: conversation.kept_buffers(),
            requests: conversation.kept_requests(),
        };
        self.kept.count(&mut self.counted[number], now);
    }

    // --- where there is no room -------------------------------------------------------------------------------------

    /// More waits than may.
    #[inline]
    fn is_beyond(&self) -> bool {
        let buffers = self.kept.buffers + self.connections.buffers;
        buffers > self.limits.buffers || self.kept.requests > self.limits.requests
    }

    /// One connection after the other gives up what it waits for, until an eighth of the room is free again.
    fn make_room(&mut self, finished: &mut Vec<Exchange>) {
        let waiting = |kept: &Kept| kept.buffers + kept.requests;
        if !self.round.is_due(waiting(&self.kept)) {
            return;
        }
        let Limits { buffers, requests, .. } = *self.limits;
        let without = |elsewhere: usize| (buffers / 8 * 7).saturating_sub(elsewhere);
        let too_many = (self.kept.buffers + self.connections.buffers > buffers, self.kept.requests > requests);
        let (most_buffers, most_requests) = match too_many {
            (true, false) => (without(self.connections.buffers), usize::MAX),
            (false, true) => (usize::MAX, requests / 8 * 7),
            _ => (without(self.connections.buffers), requests / 8 * 7),
        };
        let mut round = std::mem::take(&mut self.round);
        round.ask(self.all.len(), |number| {
            if self.kept.buffers > most_buffers {
                self.give_up_buffers(number, finished);
            }
            if self.kept.requests > most_requests {
                self.give_up_requests(number, finished);
            }
            self.kept.buffers <= most_buffers && self.kept.requests <= most_requests
        });
        round.end(!self.is_beyond(), waiting(&self.kept) + (buffers + requests) / 64);
        self.round = round;
    }

    fn give_up_buffers(&mut self, number: usize, finished: &mut Vec<Exchange>) {
        if self.all[number].kept_buffers() == 0 {
            return;
        }
        let most = self.limits.buffers;
        let (code, what) = match self.all[number] {
            Conversation::New(_) => (NoteCode::TooManyUnrecognised, "streams not yet recognised"),
            _ => (NoteCode::TooManyUnfinished, "partly received messages"),
        };
        self.all[number].give_up_buffers(&mut self.common);
        self.notes.add(code, || format!("more than {most} bytes of {what}: those of some connections were discarded"));
        self.take(number, finished);
        self.count(number);
    }

    fn give_up_requests(&mut self, number: usize, finished: &mut Vec<Exchange>) {
        if self.all[number].kept_requests() == 0 {
            return;
        }
        let most = self.limits.requests;
        if self.all[number].dialogue().is_some_and(|dialogue| dialogue.pairing.is_open()) {
            self.notes.add(NoteCode::TooManyUnanswered, || {
                format!("more than {most} bytes of unanswered requests: those of some connections were discarded")
            });
        }
        self.all[number].give_up_requests();
        self.take(number, finished);
        self.count(number);
    }
}
