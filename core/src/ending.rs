//! The end of a recording: what is open ends, and what concerns all connections becomes notes.

use std::io;

use crate::capture::Captures;
use crate::cases::Cases;
use crate::conversations::Conversations;
use crate::flows::Flows;
use crate::health::some;
use crate::note::{NoteCode, Notes};
use crate::options::Options;
use crate::packet::{Dissector, link_type_name};
use crate::recording::{ExchangeRows, SampleColumns, Tables, tap_rows};

/// What the stages have kept.
pub struct Ending<'a> {
    pub options: &'a Options,
    pub flows: Flows<'a>,
    pub conversations: Conversations<'a>,
    pub exchanges: ExchangeRows,
    pub notes: Notes,
}

impl Ending<'_> {
    pub fn tables(mut self, captures: Captures, dissector: &Dissector) -> io::Result<Tables> {
        self.close();
        self.notes.join(std::mem::take(&mut self.flows.notes));
        self.notes.join(std::mem::take(&mut self.conversations.notes));
        let refusal = self.refusal();
        self.note_of_link_types();
        let cases = self.cases();
        self.notes.join(cases.notes());
        self.notes_of_limits(dissector);
        let paths = self.flows.taps.end();
        let taps = tap_rows(paths, &captures, &self.flows.connections, &self.conversations.all);
        let samples = SampleColumns::of(&mut self.flows.connections, self.flows.overflow);
        Ok(Tables {
            captures,
            connections: self.flows.connections,
            conversations: self.conversations.all,
            statements: self.conversations.common.statements,
            exchanges: self.exchanges.sorted()?,
            samples,
            taps,
            notes: self.notes,
            cases,
            refusal,
        })
    }

    /// No more comes on any connection.
    fn close(&mut self) {
        let mut finished = Vec::new();
        for number in 0..self.flows.connections.len() {
            self.conversations.close(number, self.flows.connections.get_mut(number), &mut finished);
            finished.iter().for_each(|exchange| self.exchanges.take(exchange));
            finished.clear();
        }
    }

    /// What a connection begins with is certain; what the user says of its port is not.
    fn refusal(&self) -> Option<String> {
        self.flows.connections.numbered().zip(&self.conversations.all).find_map(|((stream, connection), conversation)| {
            let dialogue = conversation.dialogue()?;
            let (port, spoken) = (connection.server.port, dialogue.contradicts?.name);
            Some(format!(
                "--decode-as {port}={} contradicts the capture: stream {stream} on that port begins with the greeting or login of {spoken}; leave it out, or write {port}={spoken}",
                dialogue.protocol
            ))
        })
    }

    fn note_of_link_types(&mut self) {
        let types = &self.flows.unknown_link_types;
        self.notes.add_several(NoteCode::UnknownLinkType, types.values().sum(), || {
            let named = types.iter().map(|(&link_type, count)| match link_type_name(link_type) {
                Some(name) => format!("{} of {name} (link type {link_type})", some(*count, "packet")),
                None => format!("{} of link type {link_type}", some(*count, "packet")),
            });
            format!("latpcap cannot read {}", named.take(3).collect::<Vec<_>>().join(", "))
        });
    }

    /// TCP anomalies of the connections that are database traffic, what could not be read of them, and what the others are.
    fn cases(&self) -> Cases {
        let mut cases = Cases::default();
        for ((stream, connection), conversation) in self.flows.connections.numbered().zip(&self.conversations.all) {
            if let Some(dialogue) = conversation.dialogue() {
                cases.health.add(stream, connection);
                cases.losses.add(stream, dialogue);
            } else {
                let named = self.options.decode_as.contains_key(&connection.server.port);
                cases.unread.add(stream, connection, conversation, named);
            }
        }
        cases
    }

    fn notes_of_limits(&mut self, dissector: &Dissector) {
        let limits = [
            (
                NoteCode::TooManyStatements,
                self.conversations.common.statements.overflowed(),
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
            (
                NoteCode::TooManyKeys,
                self.conversations.common.keys.left_out(),
                "secrets of the key log exceed the limit and are left out",
            ),
            (
                NoteCode::TooMuchInflated,
                self.conversations.common.inflated.refused(),
                "compressed packets are not read, as earlier ones expanded to 200 times the size of the files",
            ),
        ];
        for (code, count, what) in limits {
            self.notes.add_several(code, count, || format!("{count} {what}"));
        }
        let damaged = self.conversations.common.keys.damaged();
        self.notes.add_several(NoteCode::KeyLogDamaged, damaged, || {
            format!("{} of the key log left out: cut, or no secret", some(damaged, "line"))
        });
    }
}
