//! What was asked and is not answered yet, in order.

use std::collections::VecDeque;
use std::sync::Arc;

use super::objects::StatementId;
use super::rows::{Format, Messages};
use crate::cursor::Lost;
use crate::protocols::Error;
use crate::sql::Sql;

/// Requests that no client leaves unanswered at once.
const OUTSTANDING_MAX: usize = 1 << 16;
/// Data in an answer where the request does not limit it.
const DATA_MAX: usize = 1 << 20;

/// A request whose answer has not come.
#[derive(Clone, Debug)]
pub struct Outstanding {
    pub expected: Expected,
    pub effect: Effect,
    pub statement: Option<StatementId>,
    pub is_execute: bool,
    /// Where lazy sending is agreed on, the server keeps the answer back until it has an awaited one to send.
    pub is_held_back: bool,
    /// It shares its exchange with the request behind it.
    pub merged: bool,
    /// What went wrong in the request that this one shares its exchange with.
    pub error: Option<Box<Error>>,
    /// More data than this cannot come.
    pub limit: usize,
}

impl Default for Outstanding {
    fn default() -> Outstanding {
        Outstanding {
            expected: Expected::Response,
            effect: Effect::None,
            statement: None,
            is_execute: false,
            is_held_back: false,
            merged: false,
            error: None,
            limit: DATA_MAX,
        }
    }
}

/// Which packets answer it. An error is a response to any of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    Response,
    /// accept, accept_data, cond_accept.
    Accept,
    /// Parts of a dialogue, then a response.
    Dialogue,
    /// Rows in this format, then their end.
    Rows(Option<Arc<Format>>),
    /// At most one row, then a response.
    Singleton(Option<Arc<Format>>),
    /// Messages of a compiled request.
    Messages(Option<Arc<Messages>>),
    /// The elements of an array with this description.
    Slice(Box<[u8]>),
    BatchStates,
}

/// What the answer says about objects and the connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    None,
    Statement(StatementId),
    Prepared(StatementId),
    Request(Arc<Messages>),
    Blob(Option<Sql>),
    /// Brings a part of a blob.
    Segment,
    ServerVersion,
    ServiceVersion,
    AffectedRows,
}

/// The oldest is answered first.
#[derive(Clone, Debug, Default)]
pub struct Queue(VecDeque<Outstanding>);

impl Queue {
    pub fn push(&mut self, outstanding: Outstanding) -> Result<(), Lost> {
        if self.0.len() >= OUTSTANDING_MAX {
            return Err(Lost("too many requests without an answer".into()));
        }
        self.0.push_back(outstanding);
        Ok(())
    }

    pub fn first(&self) -> Option<&Outstanding> {
        self.0.front()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn pop(&mut self) -> Option<Outstanding> {
        self.0.pop_front()
    }

    /// An authentication dialogue is under way, or a connection is being accepted.
    pub fn in_dialogue(&self) -> bool {
        self.0.back().is_some_and(|last| matches!(last.expected, Expected::Dialogue | Expected::Accept))
    }

    pub fn ends_with_execute_of(&self, statement: Option<StatementId>) -> bool {
        self.0.back().is_some_and(|last| last.is_execute && last.statement == statement)
    }

    /// The last request and the one before it are one exchange.
    pub fn merge_last_two(&mut self) {
        if let Some(at) = self.0.len().checked_sub(2) {
            self.0[at].merged = true;
        }
    }

    /// The oldest request failed, and the one it shares its exchange with is still to be answered.
    pub fn pass_on(&mut self, error: Option<Box<Error>>) {
        if let Some(first) = self.0.front_mut() {
            first.error = error;
        }
    }
}
