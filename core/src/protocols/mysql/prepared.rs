//! The statements a connection has prepared, so that an execute can show its SQL.

use std::collections::{BTreeMap, HashMap};

use super::commands::LAST_PREPARED;
use crate::sql::{Names, Sql, Statements};

/// More than any connection has open at a time (the server's own default limit is 16,382 for all together).
const KEPT: usize = 65_536;
/// Names that SQL gave. A session that leaves more behind is not read worse for forgetting them all.
const KEPT_NAMES: usize = 4096;

#[derive(Clone, Copy, Debug)]
struct Statement {
    sql: Option<Sql>,
    parameters: u16,
    /// The statement mixed with the long data that was sent for its next execution.
    long_data: Option<Sql>,
}

/// Servers number statements upwards, so the lowest number is the oldest.
#[derive(Debug, Default)]
pub struct Prepared {
    statements: BTreeMap<u32, Statement>,
    /// What the last prepare asked for, whether it was answered yet or not.
    newest: Option<Sql>,
    /// Those that SQL has named: `PREPARE name FROM '…'`.
    named: HashMap<Box<[u8]>, Option<Sql>>,
}

impl Prepared {
    /// The client asks for `sql` to be prepared.
    pub fn asked(&mut self, sql: Option<Sql>) {
        self.newest = sql;
    }

    /// The server has prepared `sql`.
    pub fn answered(&mut self, id: u32, sql: Option<Sql>, parameters: u16) {
        if self.statements.len() >= KEPT {
            self.statements.pop_first();
        }
        self.statements.insert(id, Statement { sql, parameters, long_data: None });
    }

    pub fn sql(&self, id: u32) -> Option<Sql> {
        match id {
            LAST_PREPARED => self.newest,
            _ => self.statements.get(&id)?.sql,
        }
    }

    pub fn parameters(&self, id: u32) -> Option<u16> {
        self.statements.get(&id).map(|statement| statement.parameters)
    }

    /// A piece of a parameter, sent before the execute.
    pub fn long_data(&mut self, id: u32, data: &[u8]) {
        if let Some(statement) = self.statements.get_mut(&id) {
            let before = statement.long_data.or(statement.sql);
            statement.long_data = before.map(|sql| Statements::with_parameters(sql, data));
        }
    }

    /// The statement as it is executed with `binds`.
    pub fn execute(&mut self, id: u32, binds: &[&[u8]]) -> Option<Sql> {
        let with_data = self.statements.get_mut(&id).and_then(|statement| statement.long_data.take());
        let sql = with_data.or(self.sql(id))?;
        Some(binds.iter().fold(sql, |sql, bytes| Statements::with_parameters(sql, bytes)))
    }

    /// The long data sent so far is thrown away.
    pub fn reset(&mut self, id: u32) {
        if let Some(statement) = self.statements.get_mut(&id) {
            statement.long_data = None;
        }
    }

    pub fn close(&mut self, id: u32) {
        self.statements.remove(&id);
    }

    /// All are closed (reset of the connection, change of user).
    pub fn close_all(&mut self) {
        *self = Prepared::default();
    }

    /// Packets are missing: a prepare may be among them.
    pub fn forget_newest(&mut self) {
        self.newest = None;
    }

    /// Requests are missing: each name may have been given to another statement.
    pub fn forget_named(&mut self) {
        self.named.clear();
    }
}

impl Names for Prepared {
    fn give(&mut self, name: &[u8], sql: Option<Sql>) {
        if self.named.len() >= KEPT_NAMES {
            self.named.clear();
        }
        self.named.insert(name.into(), sql);
    }

    fn get(&self, name: &[u8]) -> Option<Sql> {
        *self.named.get(name)?
    }

    fn remove(&mut self, name: &[u8]) -> Option<Sql> {
        self.named.remove(name)?
    }

    fn clear(&mut self) {
        self.named.clear();
    }
}

#[cfg(test)]
#[path = "prepared_tests.rs"]
mod tests;
