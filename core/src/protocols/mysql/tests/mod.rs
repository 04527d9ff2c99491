//! Dialogues, packet by packet, and what they mean.

mod commands;
mod connecting;
mod cut;
mod order;
mod packets;
mod prepared;
mod properties;
mod results;

use super::*;
use crate::protocols::{Awaits, Outcome, Purpose, Request};
use crate::session::Session;
use crate::sql::{Names, Statements};
use Side::{Client, Server};
use packets::*;

/// Drives a decoder the way the conversation does, and writes down what everything meant.
struct Talk {
    decoder: Mysql,
    session: Session,
    statements: Statements,
    sides: [(Vec<u8>, u64); 2],
    switch: Option<Layer>,
    lost: Option<String>,
    meanings: Vec<Meaning>,
}

impl Talk {
    fn new(beginning: Beginning) -> Talk {
        Talk {
            decoder: Mysql::new(beginning),
            session: Session::default(),
            statements: Statements::new(true),
            sides: Default::default(),
            switch: None,
            lost: None,
            meanings: Vec::new(),
        }
    }

    /// The capture began in mid-connection.
    fn running() -> Talk {
        Talk::new(Beginning::Commands)
    }

    fn logged_in(capabilities: u32) -> Talk {
        let mut talk = Talk::new(Beginning::Greeting);
        talk.says(Server, &greeting(capabilities)).says(Client, &login_request(1, capabilities, LAB));
        talk.says(Server, &packet(2, OK));
        talk.meanings.clear();
        talk
    }

    /// A connection with statement 1 prepared.
    fn with_statement(capabilities: u32) -> Talk {
        let mut talk = Talk::logged_in(capabilities);
        let answer: &[&[u8]] = match capabilities & login::DEPRECATE_EOF {
            0 => &[PREPARED, DEFINITION, EOF, DEFINITION, EOF],
            _ => &[PREPARED, DEFINITION, DEFINITION],
        };
        let told = talk.ask(&prepare("select ?"), &packets(1, answer));
        assert_eq!((told[0].as_str(), told.last().unwrap().as_str()), ("stmt_prepare: select ?", "done"));
        talk
    }

    fn says(&mut self, side: Side, bytes: &[u8]) -> &mut Talk {
        let (buffer, skip) = &mut self.sides[side as usize];
        let skipped = (*skip).min(bytes.len() as u64);
        *skip -= skipped;
        buffer.extend(&bytes[skipped as usize..]);
        while let Some(length) = self.message(side) {
            let (buffer, skip) = &mut self.sides[side as usize];
            let here = length.min(buffer.len() as u64);
            buffer.drain(..here as usize);
            *skip = length - here;
        }
        self
    }

    /// Reads one message, if its head is there.
    fn message(&mut self, side: Side) -> Option<u64> {
        let bytes = &self.sides[side as usize].0;
        if bytes.is_empty() || self.lost.is_some() {
            return None;
        }
        match self.decoder.frame(side, bytes) {
            Ok(Frame::Message { head, length }) if head <= bytes.len() => {
                assert!(head >= 1 && head as u64 <= length);
                let bytes = bytes[..head].to_vec();
                self.read(&Message { side, bytes: &bytes, length, cut: false });
                Some(length)
            }
            Ok(Frame::Message { head: need, .. } | Frame::Need(need)) => {
                assert!(need > bytes.len());
                None
            }
            Ok(Frame::Becomes(_)) => None,
            Err(lost) => {
                self.lost = Some(lost.0);
                None
            }
        }
    }

    fn read(&mut self, message: &Message<'_>) {
        let mut context = Context { session: &mut self.session, statements: &mut self.statements, switch: None };
        let meaning = self.decoder.message(message, &mut context);
        self.switch = context.switch.or(self.switch);
        match meaning {
            Ok(meaning) => self.meanings.push(meaning),
            Err(lost) => self.lost = Some(lost.0),
        }
    }

    /// What the capture kept of a packet.
    fn says_cut(&mut self, side: Side, bytes: &[u8], kept: usize) -> &mut Talk {
        self.read(&Message { side, bytes: &bytes[..kept], length: bytes.len() as u64, cut: true });
        self
    }

    /// Asks, gets the answer, and tells what both meant.
    fn ask(&mut self, request: &[u8], response: &[u8]) -> Vec<String> {
        self.meanings.clear();
        self.says(Client, request).says(Server, response).told()
    }

    fn told(&self) -> Vec<String> {
        assert_eq!(self.lost, None);
        self.meanings.iter().map(|meaning| self.words(meaning)).collect()
    }

    fn words(&self, meaning: &Meaning) -> String {
        match meaning {
            Meaning::Request(request) => {
                let sql = request.sql.map(|sql| format!(": {}", self.statements.text(sql.text))).unwrap_or_default();
                let awaits =
                    if request.awaits == Awaits::Answer { String::new() } else { format!(" ({:?})", request.awaits) };
                format!("{}{awaits}{sql}", request.command)
            }
            Meaning::Rows(rows) => format!("row {rows}"),
            Meaning::Done(outcome) => format!("done{}", outcome_words(outcome)),
            Meaning::Greeting(outcome) => format!("greeting{}", outcome_words(outcome)),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    fn lost_to(&mut self, side: Side, bytes: &[u8]) -> String {
        self.says(side, bytes);
        self.lost.clone().unwrap_or_default()
    }
}

fn outcome_words(outcome: &Outcome) -> String {
    let rows = outcome.rows.map(|rows| format!(" rows+{rows}")).unwrap_or_default();
    let affected = outcome.affected_rows.map(|rows| format!(" affected {rows}")).unwrap_or_default();
    let error = outcome.error.as_ref().map(|error| format!(" error {}", error.code)).unwrap_or_default();
    format!("{rows}{affected}{error}")
}
