//! All connections of a recording, and what is said on them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::capture::{Packet, Recording};
use crate::conversation::{Conversation, Forced, Hints};
use crate::health::{Health, some};
use crate::note::{NoteCode, Notes};
use crate::packet::{Dissected, Dissector, Flags, Segment, link_type_name};
use crate::protocols::protocol_on;
use crate::sql::Statements;
use crate::stream::{Connection, Connections};
use crate::table::{ExchangeColumns, Tables};
use crate::unread::Unread;

/// What is kept of all connections together, however hostile the capture; the limits of one connection or one table
/// stand where they are kept (docs/hostile-input.md lists all).
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// TCP connections, at about 1 KB each.
    pub connections: usize,
    /// Bytes that wait behind holes.
    pub waiting_bytes: usize,
    /// Requests without an answer, at about 400 bytes each.
    pub unanswered: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections: 1_000_000, waiting_bytes: 256 << 20, unanswered: 1_000_000 }
    }
}

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
    fn correction(&mut self, segment: &Segment<'_>, fresh: bool, connection: &mut Connection) -> i64 {
        let time_ns = segment.time_ns.saturating_add(self.offset_ns);
        if let Some(more_ns) = connection.clock_step(&Segment { time_ns, ..*segment }, fresh) {
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
    /// Of all connections together.
    waiting_bytes: usize,
    under_way: usize,
}

impl Flows<'_> {
    pub fn new(options: &Options) -> Flows<'_> {
        Flows {
            options,
            connections: Connections::new(options.limits.connections),
            conversations: Vec::new(),
            statements: Statements::new(options.show_literals),
            exchanges: ExchangeColumns::default(),
            clock: Clock::default(),
            notes: Notes::default(),
            unknown_link_types: BTreeMap::new(),
            waiting_bytes: 0,
            under_way: 0,
        }
    }

    pub fn segment(&mut self, segment: &Segment<'_>) {
        let is_server_port = |port| self.options.decode_as.contains_key(&port) || protocol_on(port).is_some();
        let Some(number) = self.connections.number_of(segment, &is_server_port) else {
            return self.no_room_for_a_connection();
        };
        if number == self.conversations.len() {
            let hints = self.hints(number, segment);
            self.conversations.push(Conversation::new(hints));
        }
        let connection = self.connections.get_mut(number);
        let conversation = &mut self.conversations[number];
        let fresh = connection.is_fresh(segment);
        let corrected;
        let segment = match self.clock.correction(segment, fresh, connection) {
            0 => segment,
            offset_ns => {
                corrected = Segment { time_ns: segment.time_ns.saturating_add(offset_ns), ..*segment };
                &corrected
            }
        };
        let (held_bytes, under_way) = (connection.streams.held_bytes(), conversation.under_way());
        if connection.forget_times_before(self.clock.steps) {
            conversation.clock_stepped();
        }
        let Some(arrival) = connection.accept(segment, fresh) else {
            self.under_way = self.under_way + conversation.under_way() - under_way;
            return;
        };
        if arrival.retransmission {
            conversation.retransmission();
        }
        if let Some(chunk) = arrival.chunk {
            conversation.read(&chunk, &mut self.statements);
        }
        if segment.flags.has(Flags::FIN) {
            let side = connection.side(segment);
            conversation.hung_up(side, connection.streams.acknowledged(side.other()));
        }
        if arrival.stalled_ns > 0 {
            conversation.stalled(connection.side(segment), arrival.stalled_ns);
        }
        while let Some(chunk) = connection.streams.release() {
            conversation.read(&chunk, &mut self.statements);
        }
        self.waiting_bytes = self.waiting_bytes + connection.streams.held_bytes() - held_bytes;
        self.under_way = self.under_way + conversation.under_way() - under_way;
        if self.waiting_bytes > self.options.limits.waiting_bytes || self.under_way > self.options.limits.unanswered {
            self.make_room(number);
        }
        self.exchanges.take(number, &mut self.conversations[number], &self.statements);
    }

    fn no_room_for_a_connection(&mut self) {
        let most = self.options.limits.connections;
        self.notes.add(NoteCode::TooManyConnections, || {
            format!(
                "there are more than {most} connections: the packets of further ones are left out; split the capture"
            )
        });
    }

    /// The connection that was the last to grow gives up what it waits for.
    fn make_room(&mut self, number: usize) {
        let Limits { waiting_bytes, unanswered, .. } = self.options.limits;
        let connection = self.connections.get_mut(number);
        let conversation = &mut self.conversations[number];
        let under_way = conversation.under_way();
        if self.waiting_bytes > waiting_bytes {
            self.waiting_bytes -= connection.streams.held_bytes();
            while let Some(chunk) = connection.streams.finish() {
                conversation.read(&chunk, &mut self.statements);
            }
            self.notes.add(NoteCode::TooManyWaiting, || {
                format!(
                    "more than {waiting_bytes} bytes waited behind missing packets: some of these were given up early"
                )
            });
        }
        if let Some(dialogue) = conversation.dialogue_mut().filter(|_| self.under_way > unanswered) {
            dialogue.pairing.abandon();
            self.notes.add(NoteCode::TooManyUnanswered, || {
                format!("more than {unanswered} requests waited for an answer: those of some connections were given up")
            });
        }
        self.under_way = self.under_way + conversation.under_way() - under_way;
    }

    /// A packet that gave no segment: why, where that is a defect.
    pub fn unread_packet(&mut self, packet: &Packet<'_>, dissected: &Dissected<'_>) {
        let frame = packet.frame;
        match dissected {
            Dissected::UnknownLinkType(link_type) => *self.unknown_link_types.entry(*link_type).or_default() += 1,
            Dissected::Encrypted(by) => self.notes.add(NoteCode::EncryptedPackets, || {
                format!("packets are encrypted by {by} (first: frame {frame}): what they hold is not known")
            }),
            Dissected::Malformed(why) if !dissected.is_cut(packet) => {
                self.notes.add(NoteCode::MalformedPackets, || {
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
        }
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
            for _ in 0..dialogue.losses {
                self.notes.add(NoteCode::Unreadable, || {
                    let why = dialogue.first_loss.as_deref().unwrap_or("no reason kept");
                    format!("connection {stream}: {why}; reading goes on at the client's next request, what lies between is counted but marked incomplete")
                });
            }
        }
    }
}
