//! What the handles of a connection stand for.

use std::collections::BTreeMap;
use std::sync::Arc;

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
    pub columns: Option<Arc<Columns>>,
}

impl Cursor {
    fn kept_columns(&self) -> usize {
        self.columns.as_ref().map_or(0, |columns| columns.kept_bytes())
    }
}

#[derive(Debug, Default)]
pub struct Prepared {
    statements: BTreeMap<i32, Option<Sql>>,
    cursor_statements: BTreeMap<i32, Option<Sql>>,
    cursors: BTreeMap<i32, Cursor>,
    /// Bytes of the cursors' columns; those that several share count for each.
    columns: usize,
}

impl Prepared {
    pub fn add(&mut self, kind: Handle, number: i32, sql: Option<Sql>, columns: Option<Arc<Columns>>) {
        match kind {
            Handle::Statement => drop(insert(&mut self.statements, number, sql)),
            Handle::CursorStatement => drop(insert(&mut self.cursor_statements, number, sql)),
            Handle::Cursor => self.add_cursor(number, Cursor { sql, columns }),
        }
    }

    fn add_cursor(&mut self, number: i32, cursor: Cursor) {
        self.close(Handle::Cursor, number);
        self.columns += cursor.kept_columns();
        let oldest = insert(&mut self.cursors, number, cursor);
        self.columns -= oldest.map_or(0, |oldest| oldest.kept_columns());
    }

    pub fn sql(&self, kind: Handle, number: i32) -> Option<Sql> {
        match kind {
            Handle::Statement => *self.statements.get(&number)?,
            Handle::CursorStatement => *self.cursor_statements.get(&number)?,
            Handle::Cursor => self.cursors.get(&number)?.sql,
        }
    }

    pub fn columns(&self, cursor: i32) -> Option<Arc<Columns>> {
        self.cursors.get(&cursor)?.columns.clone()
    }

    pub fn close(&mut self, kind: Handle, number: i32) {
        match kind {
            Handle::Statement => drop(self.statements.remove(&number)),
            Handle::CursorStatement => drop(self.cursor_statements.remove(&number)),
            Handle::Cursor => {
                let closed = self.cursors.remove(&number);
                self.columns -= closed.map_or(0, |closed| closed.kept_columns());
            }
        }
    }

    /// The session begins anew, or requests are missing: each number may stand for something else.
    pub fn clear(&mut self) {
        *self = Prepared::default();
    }

    pub fn kept_bytes(&self) -> usize {
        let statements = self.statements.len() + self.cursor_statements.len();
        let cursors = self.cursors.len() * size_of::<(i32, Cursor)>() + self.columns;
        statements * size_of::<(i32, Option<Sql>)>() + cursors
    }
}

/// The oldest one has no room any more where there are too many.
fn insert<T>(map: &mut BTreeMap<i32, T>, number: i32, value: T) -> Option<T> {
    let oldest = if map.len() >= KEPT { map.pop_first() } else { None };
    map.insert(number, value);
    oldest.map(|(_, oldest)| oldest)
}
