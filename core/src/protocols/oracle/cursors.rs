//! Which statement a cursor number stands for, and how many of its rows have come.

use std::collections::BTreeMap;

use super::statement::Verb;
use crate::sql::Sql;

/// More cursors than this are open nowhere; beyond it all are forgotten.
const OPEN_CURSORS: usize = 65_536;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    pub sql: Option<Sql>,
    pub verb: Verb,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    statement: Statement,
    rows: Count,
}

/// The rows of a cursor since its last execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Count {
    /// It was not executed in a call of its own: a cursor that PL/SQL has opened.
    #[default]
    NotBegun,
    Known(u64),
    /// An answer or more was not seen.
    Lost,
}

/// How many rows an answer brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    Known(u64),
    /// Counted from where nobody has seen.
    Unknown,
    /// The count contradicts what was asked for or came.
    Implausible,
}

impl Rows {
    pub fn known(self) -> Option<u64> {
        match self {
            Rows::Known(rows) => Some(rows),
            Rows::Unknown | Rows::Implausible => None,
        }
    }
}

#[derive(Debug, Default)]
pub struct Cursors {
    entries: BTreeMap<u32, Entry>,
    /// Cursors may have been executed and fetched from unseen.
    unseen: bool,
}

impl Cursors {
    /// What a connection has whose requests were not all seen.
    pub fn unseen() -> Cursors {
        Cursors { unseen: true, ..Cursors::default() }
    }

    pub fn statement(&self, cursor: u32) -> Statement {
        self.entries.get(&cursor).map(|entry| entry.statement).unwrap_or_default()
    }

    /// A client parses a new text with a cursor that it has: what it stood for is gone.
    pub fn replace(&mut self, cursor: u32, statement: Statement) {
        self.close(cursor);
        self.remember(cursor, statement);
    }

    /// The client fetches from this cursor right after it has executed `statement`.
    pub fn name(&mut self, cursor: u32, statement: Statement) {
        if !self.entries.contains_key(&cursor) {
            self.remember(cursor, statement);
        }
    }

    /// The server has named the cursor of a statement.
    pub fn remember(&mut self, cursor: u32, statement: Statement) {
        if cursor == 0 || (statement.sql.is_none() && self.entries.contains_key(&cursor)) {
            return;
        }
        if self.entries.len() >= OPEN_CURSORS {
            self.entries.clear();
        }
        self.entries.entry(cursor).or_default().statement = statement;
    }

    pub fn close(&mut self, cursor: u32) {
        self.entries.remove(&cursor);
    }

    /// What was fetched meanwhile is not known any more.
    pub fn forget_counts(&mut self) {
        self.entries.values_mut().for_each(|entry| entry.rows = Count::Lost);
        self.unseen = true;
    }

    /// The rows of an execution: the count begins with it.
    pub fn executed(&mut self, cursor: u32, count: u64) -> u64 {
        self.count(cursor, count);
        count
    }

    /// The rows of one fetch, from a count that runs on from fetch to fetch. `asked`: it brings no more than this.
    pub fn fetched(&mut self, cursor: u32, count: u64, asked: u64, is_last: bool) -> Rows {
        let before = self.entries.get(&cursor).map(|entry| entry.rows).unwrap_or_default();
        self.count(cursor, count);
        match before {
            Count::Known(before) if before <= count && (asked == 0 || count - before <= asked) => {
                Rows::Known(count - before)
            }
            Count::Known(before) if before <= count => {
                self.forget_count(cursor);
                Rows::Implausible
            }
            _ if count == 0 => Rows::Known(0),
            // In mid-connection: all but the last fetch are full.
            _ if asked > 0 && count >= asked && !is_last => Rows::Known(asked),
            Count::NotBegun if !self.unseen && asked > 0 && count <= asked => Rows::Known(count),
            _ => Rows::Unknown,
        }
    }

    /// An answer with rows of this cursor was not read.
    pub fn forget_count(&mut self, cursor: u32) {
        self.remember(cursor, Statement::default());
        if let Some(entry) = self.entries.get_mut(&cursor) {
            entry.rows = Count::Lost;
        }
    }

    fn count(&mut self, cursor: u32, count: u64) {
        self.remember(cursor, Statement::default());
        if let Some(entry) = self.entries.get_mut(&cursor) {
            entry.rows = Count::Known(count);
        }
    }
}

#[cfg(test)]
#[path = "cursors_tests.rs"]
mod tests;
