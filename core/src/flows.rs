//! All connections of a recording, and what is said on them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::capture::{Packet, Recording, possible_time};
use crate::conversation::{Conversation, Forced, Hints};
use crate::health::{Health, some};
use crate::ledger::{Kept, Limits};
use crate::note::{NoteCode, Notes};
use crate::packet::{Dissected, Dissector, Flags, Segment, link_type_name};
use crate::protocols::protocol_on;
use crate::side::Side;
use crate::sql::Statements;
use crate::stream::{Connection, Connections, RttSample};
use crate::table::{ExchangeColumns, Tables};
use crate::unread::Unread;

/// What one RTT sample takes where it is analysed; here it is kept in less.
const SAMPLE_BYTES: usize = size_of::<(Side, RttSample)>();

/// What a user may ask of the reading.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keep the statements as they were sent, literals included.
    pub show_literals: bool,
    /// Server port → what to read it as.
    pub decode_as: BTreeMap<u16, Forced>,
    /// Set from outside to stop early; what was read so far comes back.
    pub cancel: Arc<AtomicBool>,
    pub limits: Limits,
}

/// The capture's clock as it would have run, had it never been set.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// Added to all times since the last step.
    offset_ns: i64,
    steps: u32,
}

impl Clock {
    /// What to add to the segment's time, and to the later ones.
    #[inline]
    fn correction(&mut self, side: Side, segment: &Segment<'_>, fresh: bool, connection: &mut Connection) -> i64 {
        if let Some(more_ns) = connection.clock_step(side, segment, self.offset_ns, fresh) {
            self.steps += 1;
            self.offset_ns = self.offset_ns.saturating_add(more_ns);
        }
        self.offset_ns
    }
}

/// All connections and what is said on them.
pub struct Flows<'a> {
    options: &'a Options,
    connections: Connections,
    conversations: Vec<Conversation>,
    statements: Statements,
    exchanges: ExchangeColumns,
    clock: Clock,
    notes: Notes,
    /// Packets by LINKTYPE.
    unknown_link_types: BTreeMap<u16, u64>,
    /// What each connection keeps for the moment, and all together.
    kept: Vec<Kept>,
    total: Kept,
    samples: usize,
    /// The connection that gives up first when there is no room.
    next_to_give_up: usize,
    /// No room is made before as much waits: a whole round did not help.
    no_room_below: usize,
    /// There is no room for more exchanges.
    full: bool,
}

impl Flows<'_> {
    pub fn new(options: &Options) -> Flows<'_> {
        Flows {
            options,
            connections: Connections::default(),
            conversations: Vec::new(),
            statements: Statements::within(options.show_literals, options.limits.statements),
            exchanges: ExchangeColumns::within(options.limits.errors),
            clock: Clock::default(),
            notes: Notes::default(),
            unknown_link_types: BTreeMap::new(),
            kept: Vec::new(),
            total: Kept::default(),
            samples: 0,
            next_to_give_up: 0,
            no_room_below: 0,
            full: false,
        }
    }

    pub fn segment(&mut self, segment: &Segment<'_>) {
        let is_server_port = |port| self.options.decode_as.contains_key(&port) || protocol_on(port).is_some();
        let has_room = self.total.connections < self.options.limits.connections;
        let Some(number) = self.connections.number_of(segment, has_room, &is_server_port) else {
            return self.no_room_for_a_connection();
        };
        if number == self.conversations.len() {
            let hints = self.hints(number, segment);
            self.conversations.push(Conversation::new(hints));
            self.kept.push(Kept::default());
        }
        let connection = self.connections.get_mut(number);
        let conversation = &mut self.conversations[number];
        let side = connection.side(segment);
        let fresh = connection.is_fresh(side, segment);
        let corrected;
        let offset_ns = self.clock.correction(side, segment, fresh, connection);
        let time_ns = possible_time(segment.time_ns.saturating_add(offset_ns));
        let segment = match time_ns == segment.time_ns {
            true => segment,
            false => {
                corrected = Segment { time_ns, ..*segment };
                &corrected
            }
        };
        if connection.forget_times_before(self.clock.steps) {
            conversation.clock_stepped();
        }
        let Some(arrival) = connection.accept(side, segment, fresh) else { return };
        if arrival.retransmission {
            conversation.retransmission();
        }
        if let Some(chunk) = arrival.chunk {
            conversation.read(&chunk, &mut self.statements);
        }
        if segment.flags.0 & (Flags::FIN | Flags::RST) != 0 {
            conversation.hung_up(side, connection.streams.acknowledged(side.other()));
        }
        if arrival.stalled_ns > 0 {
            conversation.stalled(side, arrival.stalled_ns);
        }
        while let Some(chunk) = connection.streams.release() {
            conversation.read(&chunk, &mut self.statements);
        }
        if let Some(sample) = arrival.sample {
            self.sample(number, side.other(), sample);
        }
        let more = self.exchanges.take(number, &mut self.conversations[number], &self.statements);
        self.count(number);
        if self.total.is_beyond(&self.options.limits) {
            self.make_room_again();
        }
        if more && self.kept_bytes() > self.options.limits.memory {
            self.end_at(segment.frame);
        }
    }

    /// There is no room for what further packets would bring.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// One more RTT sample of what this side sent, kept if there is room.
    fn sample(&mut self, number: usize, side: Side, sample: RttSample) {
        if (self.samples + 1) * SAMPLE_BYTES <= self.options.limits.samples {
            self.samples += 1;
            return self.connections.get_mut(number).samples.push(side, sample);
        }
        self.notes.add(NoteCode::TooManySamples, || {
            format!("RTT samples beyond the first {} are left out; give more --memory", self.samples)
        });
    }

    /// There is no room for more exchanges.
    fn end_at(&mut self, frame: u64) {
        self.full = true;
        let memory = self.options.limits.memory / 1_000_000;
        self.notes.add(NoteCode::TooManyExchanges, || {
            format!("{memory} MB are full of exchanges at packet {frame}: what comes after it is left out; give more --memory, or split the capture")
        });
    }

    #[inline]
    fn count(&mut self, number: usize) {
        let conversation = &self.conversations[number];
        let connection = self.connections.get_mut(number);
        let now = Kept {
            connections: connection.kept_bytes() + conversation.kept_bytes(),
            buffers: connection.streams.held_bytes() + conversation.kept_buffers(),
            requests: conversation.kept_requests(),
        };
        let before = std::mem::replace(&mut self.kept[number], now);
        self.total.replace(before, now);
    }

    /// All that draws on the memory.
    fn kept_bytes(&self) -> usize {
        let Limits { files, fragments, .. } = self.options.limits;
        let Kept { connections, buffers, requests } = self.total;
        let texts = self.statements.kept_bytes();
        let tables = self.exchanges.kept_bytes() + self.samples * SAMPLE_BYTES;
        files + fragments + connections + buffers + requests + texts + tables
    }

    /// A segment that has its neighbour's time, as its own is wrong: nothing that it begins or ends can be timed.
    pub fn segment_with_a_wrong_time(&mut self, segment: &Segment<'_>) {
        let frame = segment.frame;
        self.notes.add_at(NoteCode::ClockOutlier, 1, Some(frame), || {
            format!("the time of frame {frame} is far from those of the packets around it: it is taken to be theirs")
        });
        self.clock.steps += 1;
        self.segment(segment);
        self.clock.steps += 1;
    }

    fn no_room_for_a_connection(&mut self) {
        let most = self.connections.len();
        self.notes.add(NoteCode::TooManyConnections, || {
            format!(
                "there are more than {most} connections: the packets of further ones are left out; give more --memory, or split the capture"
            )
        });
    }

    /// Where a whole round has not helped, the next one waits until there is more to give up.
    fn make_room_again(&mut self) {
        let waiting = |total: &Kept| total.buffers + total.requests;
        if waiting(&self.total) < self.no_room_below {
            return;
        }
        self.make_room();
        let Limits { buffers, requests, .. } = self.options.limits;
        let helped = !self.total.is_beyond(&self.options.limits);
        self.no_room_below = if helped { 0 } else { waiting(&self.total) + (buffers + requests) / 64 };
    }

    /// One connection after the other gives up what it waits for, until an eighth of the room is free again.
    fn make_room(&mut self) {
        let Limits { buffers, requests, .. } = self.options.limits;
        let (most_buffers, most_requests) = match (self.total.buffers > buffers, self.total.requests > requests) {
            (true, false) => (buffers / 8 * 7, usize::MAX),
            (false, true) => (usize::MAX, requests / 8 * 7),
            _ => (buffers / 8 * 7, requests / 8 * 7),
        };
        for _ in 0..self.connections.len() {
            let number = self.next_to_give_up;
            self.next_to_give_up = (number + 1) % self.connections.len();
            if self.total.buffers > most_buffers && self.kept[number].buffers > 0 {
                self.give_up_buffers(number);
            }
            if self.total.requests > most_requests && self.kept[number].requests > 0 {
                self.give_up_requests(number);
            }
            if self.total.buffers <= most_buffers && self.total.requests <= most_requests {
                break;
            }
        }
    }

    fn give_up_buffers(&mut self, number: usize) {
        let most = self.options.limits.buffers;
        let connection = self.connections.get_mut(number);
        let conversation = &mut self.conversations[number];
        if connection.streams.held_bytes() > 0 {
            while let Some(chunk) = connection.streams.finish() {
                conversation.read(&chunk, &mut self.statements);
            }
            self.notes.add(NoteCode::TooManyWaiting, || {
                format!("more than {most} bytes waited behind missing packets: some of these were given up early")
            });
        }
        let (code, what) = match conversation {
            Conversation::New(_) => (NoteCode::TooManyUnrecognised, "streams that were not recognised yet"),
            _ => (NoteCode::TooManyUnfinished, "messages of which only a part had arrived"),
        };
        if conversation.kept_buffers() > 0 {
            conversation.give_up_buffers(&mut self.statements);
            self.notes
                .add(code, || format!("more than {most} bytes of {what}: those of some connections were given up"));
        }
        self.take_and_count(number);
    }

    fn give_up_requests(&mut self, number: usize) {
        let most = self.options.limits.requests;
        if self.conversations[number].dialogue().is_some_and(|dialogue| dialogue.pairing.is_open()) {
            self.notes.add(NoteCode::TooManyUnanswered, || {
                format!("more than {most} bytes of requests without an answer: those of some connections were given up")
            });
        }
        self.conversations[number].give_up_requests();
        self.take_and_count(number);
    }

    fn take_and_count(&mut self, number: usize) {
        self.exchanges.take(number, &mut self.conversations[number], &self.statements);
        self.count(number);
    }

    /// A packet that gave no segment: why, where that is a defect.
    pub fn unread_packet(&mut self, packet: &Packet<'_>, dissected: &Dissected<'_>) {
        let frame = packet.frame;
        match dissected {
            Dissected::UnknownLinkType(link_type) => *self.unknown_link_types.entry(*link_type).or_default() += 1,
            Dissected::Encrypted(by) => self.notes.add_at(NoteCode::EncryptedPackets, 1, Some(frame), || {
                format!("packets are encrypted by {by} (first: frame {frame}): what they hold is not known")
            }),
            Dissected::Malformed(why) if !dissected.is_cut(packet) => {
                self.notes.add_at(NoteCode::MalformedPackets, 1, Some(frame), || {
                    format!("packets are damaged and left out (first: frame {frame}: {why})")
                })
            }
            _ => {}
        }
    }

    fn hints(&mut self, number: usize, segment: &Segment<'_>) -> Hints {
        let connection = self.connections.get_mut(number);
        let port = connection.server.port;
        Hints {
            forced: self.options.decode_as.get(&port).copied(),
            by_port: protocol_on(port),
            oriented: connection.oriented,
            from_start: segment.flags.has(Flags::SYN),
        }
    }

    pub fn finish(mut self, recording: Recording, dissector: &Dissector) -> Tables {
        for number in 0..self.connections.len() {
            let connection = self.connections.get_mut(number);
            let conversation = &mut self.conversations[number];
            while let Some(chunk) = connection.streams.finish() {
                conversation.read(&chunk, &mut self.statements);
            }
            conversation.finish(&mut self.statements);
            self.exchanges.take(number, conversation, &self.statements);
            if conversation.dialogue().is_some_and(|dialogue| dialogue.swapped) {
                connection.swap_roles();
            }
        }
        let refusal = self.refusal();
        self.note_of_link_types();
        self.notes_of_connections();
        self.notes_of_losses();
        self.notes_of_limits(dissector);
        Tables {
            recording,
            connections: self.connections,
            conversations: self.conversations,
            statements: self.statements,
            exchanges: self.exchanges.sorted(),
            notes: self.notes,
            refusal,
        }
    }

    /// What a connection begins with is certain; what the user says of its port is not.
    fn refusal(&self) -> Option<String> {
        self.connections.iter().zip(&self.conversations).enumerate().find_map(|(stream, (connection, conversation))| {
            let dialogue = conversation.dialogue()?;
            let (port, spoken) = (connection.server.port, dialogue.contradicts?.name);
            Some(format!(
                "--decode-as {port}={} contradicts the capture: stream {stream} on that port begins with the greeting or login of {spoken}; leave it out, or write {port}={spoken}",
                dialogue.protocol
            ))
        })
    }

    fn note_of_link_types(&mut self) {
        let types = &self.unknown_link_types;
        self.notes.add_several(NoteCode::UnknownLinkType, types.values().sum(), || {
            let named = types.iter().map(|(&link_type, count)| match link_type_name(link_type) {
                Some(name) => format!("{} of {name} (link type {link_type})", some(*count, "packet")),
                None => format!("{} of link type {link_type}", some(*count, "packet")),
            });
            format!("latpcap cannot read {}", named.take(3).collect::<Vec<_>>().join(", "))
        });
    }

    /// TCP anomalies of the connections that are database traffic, and what the others are.
    fn notes_of_connections(&mut self) {
        let (mut health, mut unread) = (Health::default(), Unread::default());
        for (stream, (connection, conversation)) in self.connections.iter().zip(&self.conversations).enumerate() {
            if conversation.dialogue().is_some() {
                health.add(stream, connection);
            } else {
                let named = self.options.decode_as.contains_key(&connection.server.port);
                unread.add(stream, connection, conversation, named);
            }
        }
        health.add_to(&mut self.notes);
        unread.add_to(&mut self.notes);
    }

    fn notes_of_limits(&mut self, dissector: &Dissector) {
        let limits = [
            (
                NoteCode::TooManyStatements,
                self.statements.overflowed(),
                "executions of statements have no text of their own, as there are too many distinct ones",
            ),
            (
                NoteCode::TooManyErrors,
                self.exchanges.errors_overflowed(),
                "errors are shown without their text, as there are too many distinct ones",
            ),
            (
                NoteCode::TooManyFragments,
                dissector.fragments_given_up(),
                "IP datagrams in pieces were given up, as too many were incomplete at once",
            ),
        ];
        for (code, count, what) in limits {
            self.notes.add_several(code, count, || format!("{count} {what}"));
        }
    }

    /// Connections that were out of sync for a while: one note, with the first case.
    fn notes_of_losses(&mut self) {
        for (stream, conversation) in self.conversations.iter().enumerate() {
            let Some(dialogue) = conversation.dialogue() else { continue };
            if dialogue.proxied {
                self.notes.add(NoteCode::ProxyHeader, || {
                    format!("a proxy speaks for the client (first: stream {stream}): its PROXY header was skipped")
                });
            }
            if dialogue.session.estimated_rows {
                self.notes.add(NoteCode::EstimatedRows, || {
                    format!(
                        "connection {stream}: the format of some rows was not captured, so their number is an estimate"
                    )
                });
            }
            if dialogue.session.implausible_rows {
                self.notes.add(NoteCode::ImplausibleRows, || {
                    format!("connection {stream}: the server's count of some rows fits neither what was asked for nor what came; it is left out")
                });
            }
            for _ in 0..dialogue.losses {
                self.notes.add(NoteCode::Unreadable, || {
                    let why = dialogue.first_loss.as_deref().unwrap_or("no reason kept");
                    format!("connection {stream}: {why}; reading goes on at the client's next request, what lies between is counted but marked incomplete")
                });
            }
        }
    }
}
