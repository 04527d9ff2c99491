//! What the handles of a connection stand for.

use std::collections::BTreeMap;

use super::tokens::Columns;
use crate::sql::Sql;

/// More than a connection has at a time. Servers number upwards, so the lowest number is the oldest.
const KEPT: usize = 16_384;

/// What a number that comes back is the handle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    Statement,
    CursorStatement,
    Cursor,
}

#[derive(Clone, Debug, Default)]
pub struct Cursor {
    pub sql: Option<Sql>,
    /// Of its rows, which may come with none before them.
    pub columns: Option<Columns>,
}

#[derive(Debug, Default)]
pub struct Prepared {
    statements: BTreeMap<i32, Option<Sql>>,
    cursor_statements: BTreeMap<i32, Option<Sql>>,
    cursors: BTreeMap<i32, Cursor>,
}

impl Prepared {
    pub fn add(&mut self, kind: Handle, number: i32, sql: Option<Sql>, columns: Option<Columns>) {
        match kind {
            Handle::Statement => insert(&mut self.statements, number, sql),
            Handle::CursorStatement => insert(&mut self.cursor_statements, number, sql),
            Handle::Cursor => insert(&mut self.cursors, number, Cursor { sql, columns }),
        }
    }

    pub fn sql(&self, kind: Handle, number: i32) -> Option<Sql> {
        match kind {
            Handle::Statement => *self.statements.get(&number)?,
            Handle::CursorStatement => *self.cursor_statements.get(&number)?,
            Handle::Cursor => self.cursors.get(&number)?.sql,
        }
    }

    pub fn columns(&self, cursor: i32) -> Option<Columns> {
        self.cursors.get(&cursor)?.columns.clone()
    }

    pub fn close(&mut self, kind: Handle, number: i32) {
        match kind {
            Handle::Statement => drop(self.statements.remove(&number)),
            Handle::CursorStatement => drop(self.cursor_statements.remove(&number)),
            Handle::Cursor => drop(self.cursors.remove(&number)),
        }
    }

    /// The session begins anew, or requests are missing: each number may stand for something else.
    pub fn clear(&mut self) {
        *self = Prepared::default();
    }

    pub fn kept_bytes(&self) -> usize {
        let statements = self.statements.len() + self.cursor_statements.len();
        statements * size_of::<(i32, Option<Sql>)>() + self.cursors.len() * size_of::<(i32, Cursor)>()
    }
}

fn insert<T>(map: &mut BTreeMap<i32, T>, number: i32, value: T) {
    if map.len() >= KEPT {
        map.pop_first();
    }
    map.insert(number, value);
}
