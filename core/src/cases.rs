//! What happened to connections, in a form that adds up: parts of a recording that were read apart have the notes of the
//! whole when their cases are put together.

use crate::case::Case;
use crate::conversation::Dialogue;
use crate::health::Health;
use crate::note::{NoteCode, Notes};
use crate::unread::Unread;

/// All of them.
#[derive(Default)]
pub struct Cases {
    pub health: Health,
    pub unread: Unread,
    pub losses: Losses,
}

impl Cases {
    /// Those of several parts of a recording.
    pub fn of(cases: impl IntoIterator<Item = Case>) -> Cases {
        let mut all = Cases::default();
        for case in cases {
            match case.code {
                NoteCode::Refused | NoteCode::Unanswered | NoteCode::Unrecognised | NoteCode::OtherDatabase => {
                    all.unread.join(case);
                }
                NoteCode::ProxyHeader | NoteCode::EstimatedRows | NoteCode::ImplausibleRows | NoteCode::Unreadable => {
                    all.losses.join(case);
                }
                _ => all.health.join(&case),
            }
        }
        all
    }

    /// As they are put together.
    pub fn all(&self) -> impl Iterator<Item = Case> {
        self.health.cases().into_iter().chain(self.unread.cases()).chain(self.losses.0.iter().cloned())
    }

    /// A note for each kind.
    pub fn notes(&self) -> Notes {
        let mut notes = Notes::default();
        self.health.add_to(&mut notes);
        self.unread.add_to(&mut notes);
        self.losses.add_to(&mut notes);
        notes
    }
}

/// Connections of which not all could be read: one note a kind, with the first case.
#[derive(Default)]
pub struct Losses(Vec<Case>);

impl Losses {
    /// Takes in a database connection.
    pub fn add(&mut self, stream: u32, dialogue: &Dialogue) {
        let mut add = |code, count: u64, text: &str| {
            if count > 0 {
                self.join(Case { text: text.to_owned(), ..Case::new(code, count, u64::from(stream)) });
            }
        };
        add(NoteCode::ProxyHeader, u64::from(dialogue.proxied), "");
        add(NoteCode::EstimatedRows, u64::from(dialogue.session.estimated_rows), "");
        add(NoteCode::ImplausibleRows, u64::from(dialogue.session.implausible_rows), "");
        let why = dialogue.first_loss.as_deref().unwrap_or("no reason kept");
        add(NoteCode::Unreadable, u64::from(dialogue.losses), why);
    }

    fn join(&mut self, case: Case) {
        match self.0.iter_mut().find(|known| known.code == case.code) {
            Some(known) => {
                let count = known.count.saturating_add(case.count);
                if case.count > 0 && case.first < known.first {
                    *known = case;
                }
                known.count = count;
            }
            None if case.count > 0 => self.0.push(case),
            None => {}
        }
    }

    fn add_to(&self, notes: &mut Notes) {
        for Case { code, count, first: stream, text: why, .. } in &self.0 {
            notes.add_several(*code, *count, || match code {
                NoteCode::ProxyHeader => {
                    format!("a proxy connects for the client (first: stream {stream}): its PROXY header was skipped")
                }
                NoteCode::EstimatedRows => format!(
                    "connection {stream}: the format of some rows was not captured, so the row count is an estimate"
                ),
                NoteCode::ImplausibleRows => format!(
                    "connection {stream}: the server's count of some rows matches neither the request nor the response; it is left out"
                ),
                _ => format!(
                    "connection {stream}: {why}; decoding resumes at the client's next request, the part in between is counted but marked incomplete"
                ),
            });
        }
    }
}

#[cfg(test)]
#[path = "cases_tests.rs"]
mod tests;
