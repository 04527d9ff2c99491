//! What the server says: its greeting, and its answers in the order of the commands.

use super::compression::COMPRESSION;
use super::framing::{self, HEADER, Packet};
use super::login::Greeting;
use super::response::{Reply, Response, Step, Success};
use super::{Mysql, Phase};
use crate::cursor::Lost;
use crate::protocols::{Context, Layer, Meaning, Outcome, Passed};

/// Enough of a server's packet for any error message, status or statement number.
const SERVER_HEAD: usize = HEADER + 2048;

impl Mysql {
    pub(super) fn server_head(&self, first: Option<u8>) -> usize {
        match self.open.front() {
            Some(Response { continues: true, .. }) => HEADER,
            Some(Response { reply: Reply::Row | Reply::Definition { .. }, .. }) => match first {
                Some(framing::EOF | framing::ERR) => SERVER_HEAD,
                _ => HEADER + 1,
            },
            _ => SERVER_HEAD,
        }
    }

    pub(super) fn server(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        match self.phase {
            Phase::Greeting => return self.greeting(packet, context),
            Phase::Login { .. } | Phase::NoLogin if packet.is_error() => {
                self.phase = Phase::NoLogin;
                return Ok(Meaning::Refused(failure(packet)));
            }
            _ => {}
        }
        if self.is_late_eof(packet) {
            return Ok(Meaning::Unrelated);
        }
        let Some(response) = self.open.front() else {
            return unasked(packet);
        };
        if response.reply == Reply::Unreadable {
            return Ok(Meaning::More);
        }
        // An unsolicited error may cross a command on its way: it is what the client reads as the answer.
        let crosses = packet.is_error() && packet.sequence == 0 && matches!(response.reply, Reply::First(_));
        if !crosses {
            self.check(packet, "server", response.sequence)?;
        }
        self.answer(packet, context)
    }

    /// Packets that are only more of the oldest answer, most of them rows, and the one that ends it.
    pub(super) fn pass_answer(&mut self, bytes: &[u8], context: &mut Context<'_>) -> Passed {
        let Some(response) = self.open.front_mut() else { return Passed::default() };
        if self.phase == Phase::Greeting || self.late_eof.is_some() {
            return Passed::default();
        }
        let (mut rest, mut rows) = (bytes, 0);
        while let Some((packet, behind)) = Packet::split(rest)
            && (self.compressed || packet.sequence == response.sequence)
        {
            if let Some(is_row) = response.pass(&packet, &mut self.layout) {
                response.sequence = packet.sequence.wrapping_add(1);
                (rest, rows) = (behind, rows + u64::from(is_row));
                continue;
            }
            let is_end = response.is_completed_by(&packet);
            let mut passed = Passed::of(bytes.len() - rest.len(), rows);
            if is_end && let Ok(meaning) = self.answer(&packet, context) {
                passed.add_meaning(rest.len() - behind.len(), meaning);
            }
            return passed;
        }
        Passed::of(bytes.len() - rest.len(), rows)
    }

    fn greeting(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        self.check(packet, "server", 0)?;
        if packet.is_error() {
            self.phase = Phase::NoLogin;
            return Ok(Meaning::Greeting(failure(packet)));
        }
        self.phase = Phase::Login { sequence: 1 };
        if !matches!(packet.first(), Some(9 | 10) | None) {
            return Err(Lost("the server does not greet as MySQL does".into()));
        }
        match Greeting::read(packet) {
            Ok(greeting) => {
                self.capabilities.server = greeting.capabilities;
                context.session.server_version = Some(greeting.version);
                context.session.knows_by(packet.payload, !packet.is_whole());
            }
            Err(missing) if packet.is_whole() => return Err(missing.into()),
            Err(_) => {}
        }
        Ok(Meaning::Greeting(Outcome::default()))
    }

    /// The first packet after a prepare shows how results are laid out on this connection.
    fn is_late_eof(&mut self, packet: &Packet<'_>) -> bool {
        let Some(sequence) = self.late_eof.take() else {
            return false;
        };
        let late = packet.is_eof() && (self.compressed || packet.sequence == sequence);
        self.layout.deprecate_eof = Some(!late);
        late
    }

    fn answer(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) -> Result<Meaning, Lost> {
        let Some(response) = self.open.front_mut() else {
            return Ok(Meaning::Unrelated);
        };
        response.sequence = packet.sequence.wrapping_add(1);
        if std::mem::replace(&mut response.continues, packet.continues()) {
            return Ok(Meaning::More);
        }
        let step = response.step(packet, &mut self.layout)?;
        if let (Some((id, parameters)), Success::Prepared(sql)) = (response.prepared.take(), &response.success) {
            self.prepared.answered(id, *sql, parameters);
        }
        Ok(match step {
            Step::More => Meaning::More,
            Step::Row => Meaning::Rows(1),
            Step::Done(outcome) => {
                self.done(outcome.error.is_none(), context);
                Meaning::Done(outcome)
            }
        })
    }

    /// The oldest command has its whole answer.
    fn done(&mut self, succeeded: bool, context: &mut Context<'_>) {
        let Some(response) = self.open.pop_front() else {
            return;
        };
        if !succeeded {
            return;
        }
        if self.layout.deprecate_eof.is_none() && matches!(response.reply, Reply::DefinitionsEnd { .. }) {
            self.late_eof = Some(response.sequence);
        }
        if let Some(escapes) = response.escapes {
            self.dialect.escapes_with_backslash = escapes;
            self.dialect.backslash_is_known = true;
        }
        context.session.transaction = response.transaction.or(context.session.transaction);
        self.succeed(response.success, context);
        if response.database.is_some() {
            context.session.change_database(response.database);
        }
    }

    fn succeed(&mut self, success: Success, context: &mut Context<'_>) {
        match success {
            Success::Nothing | Success::Prepared(_) => {}
            Success::LoggedIn => self.compress(context),
            Success::Database(database) => context.session.change_database(database),
            Success::User { user, database } => {
                context.session.change_user(user);
                context.session.change_database(database);
                self.prepared.close_all();
            }
            Success::ConnectionReset => self.prepared.close_all(),
        }
    }

    fn compress(&mut self, context: &mut Context<'_>) {
        if let Some(algorithm) = self.capabilities.compression() {
            self.compressed = true;
            context.session.compression = Some(algorithm);
            context.switch = Some(Layer::Wrapped(COMPRESSION));
        }
    }
}

fn failure(packet: &Packet<'_>) -> Outcome {
    Outcome { error: Some(packet.error()), ..Outcome::default() }
}

/// Before it hangs up, a server may say why: idle for too long, shut down, killed.
fn unasked(packet: &Packet<'_>) -> Result<Meaning, Lost> {
    match packet.is_error() {
        true => Ok(Meaning::Unrelated),
        false => Err(Lost("the server sends what was not asked for".into())),
    }
}
