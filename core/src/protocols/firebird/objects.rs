//! What the connection has made so far and calls by a handle: statements, compiled requests, blobs.
//!
//! Handles are reused quickly. A client that has not read a handle yet says 0xFFFF: the object created last.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rows::{Format, Messages};
use super::wire::LAST_OBJECT;
use crate::sql::Sql;

/// Values of all formats together: beyond it the formats are forgotten and learnt again.
const VALUES_MAX: usize = 1 << 20;

/// A statement under its own number: its handle may not be known yet.
pub type StatementId = u32;

#[derive(Clone, Debug, Default)]
pub struct Statement {
    pub sql: Option<Sql>,
    /// The server said that it is a SELECT.
    pub is_select: bool,
    /// The last formats that came with it.
    pub input: Option<Arc<Format>>,
    pub output: Option<Arc<Format>>,
    pub batch: Option<Arc<Format>>,
}

impl Statement {
    fn formats(&self) -> impl Iterator<Item = &Format> {
        [&self.input, &self.output, &self.batch].into_iter().flatten().map(|format| format.as_ref())
    }

    fn forget_formats(&mut self) {
        (self.input, self.output, self.batch) = (None, None, None);
    }
}

#[derive(Debug, Default)]
pub struct Objects {
    statements: BTreeMap<StatementId, Statement>,
    handles: BTreeMap<u16, StatementId>,
    next_statement: StatementId,
    last_statement: Option<StatementId>,
    requests: BTreeMap<u16, Arc<Messages>>,
    last_request: Option<Arc<Messages>>,
    blobs: BTreeMap<u16, Option<Sql>>,
    /// The statement that the blob opened last belongs to.
    last_blob: Option<Sql>,
    /// The statement that rows came from last, and the last one whose rows have blobs.
    last_fetched: Option<Sql>,
    last_with_blobs: Option<Sql>,
    /// The statement that was prepared last.
    last_prepared: Option<Sql>,
    values: usize,
}

impl Objects {
    // --- statements -------------------------------------------------------------------------------------------------

    /// A statement that was asked for; its handle comes with the answer.
    pub fn allocate(&mut self) -> StatementId {
        let id = self.next_statement;
        self.next_statement = self.next_statement.wrapping_add(1);
        self.statements.insert(id, Statement::default());
        self.last_statement = Some(id);
        id
    }

    pub fn name(&mut self, id: StatementId, handle: u16) {
        if let Some(old) = self.handles.insert(handle, id).filter(|old| *old != id) {
            self.statements.remove(&old);
        }
    }

    pub fn id_of(&self, handle: u16) -> Option<StatementId> {
        if handle == LAST_OBJECT { self.last_statement } else { self.handles.get(&handle).copied() }
    }

    pub fn statement(&self, handle: u16) -> Option<&Statement> {
        self.statements.get(&self.id_of(handle)?)
    }

    /// The statement with this handle, made anew where its allocation was not seen.
    pub fn statement_mut(&mut self, handle: u16) -> (StatementId, &mut Statement) {
        let known = self.id_of(handle).filter(|id| self.statements.contains_key(id));
        let id = known.unwrap_or_else(|| {
            let id = self.allocate();
            self.name(id, handle);
            id
        });
        (id, self.statements.entry(id).or_default())
    }

    pub fn by_id(&mut self, id: StatementId) -> Option<&mut Statement> {
        self.statements.get_mut(&id)
    }

    pub fn drop_statement(&mut self, handle: u16) {
        if let Some(id) = self.handles.remove(&handle) {
            self.statements.remove(&id);
        }
    }

    /// A format as it is kept. Should a client keep too many alive, all are forgotten.
    pub fn keep(&mut self, format: Format) -> Arc<Format> {
        self.make_room(format.size());
        Arc::new(format)
    }

    fn make_room(&mut self, values: usize) {
        self.values += values;
        if self.values > VALUES_MAX {
            self.values = self.values_in_use() + values;
        }
        if self.values > VALUES_MAX {
            self.values = values;
            self.requests.clear();
            self.statements.values_mut().for_each(Statement::forget_formats);
        }
    }

    fn values_in_use(&self) -> usize {
        let formats = self.statements.values().flat_map(Statement::formats).map(|format| format.size());
        let messages = self.requests.values().flat_map(|messages| messages.iter()).map(|(_, format)| format.size());
        formats.sum::<usize>() + messages.sum::<usize>()
    }

    // --- requests ---------------------------------------------------------------------------------------------------

    pub fn compile(&mut self, messages: Messages) -> Arc<Messages> {
        self.make_room(messages.iter().map(|(_, format)| format.size()).sum());
        let messages = Arc::new(messages);
        self.last_request = Some(messages.clone());
        messages
    }

    pub fn name_request(&mut self, handle: u16, messages: Arc<Messages>) {
        self.requests.insert(handle, messages);
    }

    pub fn message(&self, request: u16, number: u16) -> Option<&Format> {
        let messages = if request == LAST_OBJECT { self.last_request.as_ref() } else { self.requests.get(&request) };
        messages?.iter().find(|(known, _)| u16::from(*known) == number).map(|(_, format)| format)
    }

    pub fn messages(&self, request: u16) -> Option<Arc<Messages>> {
        if request == LAST_OBJECT { self.last_request.clone() } else { self.requests.get(&request).cloned() }
    }

    pub fn release(&mut self, request: u16) {
        self.requests.remove(&request);
    }

    // --- blobs ------------------------------------------------------------------------------------------------------

    pub fn prepared(&mut self, sql: Option<Sql>) {
        self.last_prepared = sql;
    }

    /// Rows of this statement are on their way.
    pub fn fetched(&mut self, sql: Option<Sql>, format: Option<&Format>) {
        self.last_fetched = sql;
        if format.is_some_and(|format| format.has_blobs) {
            self.last_with_blobs = sql;
        }
    }

    /// The statement that a blob opened now belongs to: the one whose rows have blobs.
    pub fn open_blob(&mut self) -> Option<Sql> {
        self.last_blob = self.last_with_blobs.or(self.last_fetched);
        self.last_blob
    }

    /// A blob is written before the statement that takes it is executed, and after that was prepared.
    pub fn create_blob(&mut self) -> Option<Sql> {
        self.last_blob = self.last_prepared;
        self.last_blob
    }

    pub fn name_blob(&mut self, handle: u16, sql: Option<Sql>) {
        self.blobs.insert(handle, sql);
    }

    pub fn blob(&self, handle: u16) -> Option<Sql> {
        if handle == LAST_OBJECT { self.last_blob } else { self.blobs.get(&handle).copied().flatten() }
    }

    // --- losses -----------------------------------------------------------------------------------------------------

    /// Requests were missed: handles are used again so quickly that any of them may be another statement by now.
    pub fn forget_texts(&mut self) {
        self.statements.values_mut().for_each(|statement| statement.sql = None);
        self.blobs.values_mut().for_each(|sql| *sql = None);
        (self.last_blob, self.last_fetched, self.last_with_blobs, self.last_prepared) = (None, None, None, None);
    }

    /// Answers were missed: statements whose handle will never be known are forgotten.
    pub fn forget_nameless(&mut self) {
        let named: std::collections::HashSet<_> = self.handles.values().copied().collect();
        self.statements.retain(|id, _| named.contains(id));
        self.last_statement = self.last_statement.filter(|id| named.contains(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_created_last_has_no_handle_until_the_answer() {
        let mut objects = Objects::default();
        let id = objects.allocate();
        objects.statement_mut(LAST_OBJECT).1.is_select = true;
        objects.name(id, 2);
        assert!(objects.statement(2).unwrap().is_select);
    }

    #[test]
    fn a_handle_that_is_used_again_is_another_statement() {
        let mut objects = Objects::default();
        objects.statement_mut(2).1.is_select = true;
        let id = objects.allocate();
        objects.name(id, 2);
        assert!(!objects.statement(2).unwrap().is_select);
        assert_eq!(objects.statements.len(), 1);
    }
}
