//! Statements and portals that a session has named, and what stands behind them.
//!
//! They are read from the client's messages alone, in their order: pipelining does not disturb that. Parse and
//! `PREPARE` name the same statements.

use std::collections::HashMap;

use super::DIALECT;
use super::framing::NAME_MAX;
use crate::sql::{self, Sql, Statements};

/// Names kept of a session. One that leaves more behind is not read worse for forgetting them all and beginning anew.
const MAX_NAMES: usize = 16_384;

#[derive(Debug, Default)]
pub struct Names {
    statements: Named<Option<Sql>>,
    portals: Named<Portal>,
    /// Names were closed, or given in a text: one may be given again, and that may be missed.
    change: bool,
    /// The exchange whose text is being read.
    exchange: u32,
    given: Option<Given>,
}

/// What a name stood for before a text gave it anew.
#[derive(Debug)]
struct Given {
    exchange: u32,
    name: Box<[u8]>,
    before: Option<Option<Sql>>,
    /// The text gave other names, too.
    several: bool,
}

/// A statement bound to its values, ready to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portal {
    pub sql: Option<Sql>,
    /// Its statement is known to be empty.
    pub empty: bool,
    /// It has run before: to execute it once more fetches more rows.
    pub executed: bool,
}

impl Names {
    pub fn prepare(&mut self, name: &[u8], sql: Option<Sql>) {
        self.statements.put(name, sql);
    }

    /// What a name stands for. One that was prepared before the capture began is shown by its name.
    pub fn statement(&mut self, name: &[u8], statements: &mut Statements) -> Option<Sql> {
        if let Some(sql) = self.statements.get(name) {
            return *sql;
        }
        if name.is_empty() {
            return None;
        }
        let name = key(name);
        let sql = statements.sql_in(DIALECT, &[b"EXECUTE ", name].concat());
        self.statements.put(name, Some(sql));
        Some(sql)
    }

    pub fn bind(&mut self, name: &[u8], statement: &[u8], sql: Option<Sql>) {
        let empty = self.statements.get(statement).is_some_and(Option::is_none);
        self.portals.put(name, Portal { sql, empty, executed: false });
    }

    pub fn portal(&self, name: &[u8]) -> Option<Sql> {
        self.portals.get(name)?.sql
    }

    /// The portal as it was before this run.
    pub fn execute(&mut self, name: &[u8]) -> Option<Portal> {
        let portal = self.portals.get_mut(name)?;
        let before = *portal;
        portal.executed = true;
        Some(before)
    }

    /// A text comes, which may give names: `exchange` is what will be refused if it is.
    pub fn read_for(&mut self, exchange: u32) {
        self.exchange = exchange;
    }

    /// The server has refused what `exchange` asked: the name that it gave stands for what it stood for before.
    pub fn refused(&mut self, exchange: u32) {
        let Some(given) = self.given.take_if(|given| given.exchange == exchange) else { return };
        let Given { name, before, several, .. } = given;
        if several {
            return self.statements.clear();
        }
        match before {
            Some(sql) => self.statements.put(&name, sql),
            None => _ = self.statements.remove(&name),
        }
    }

    /// Requests were not captured. Where names change, any may stand for something else now.
    pub fn missed_requests(&mut self) {
        if self.change {
            self.statements.clear();
        }
    }

    pub fn forget_unnamed(&mut self) {
        self.statements.remove(&[]);
        self.portals.remove(&[]);
    }

    pub fn close(&mut self, is_portal: bool, name: &[u8]) -> Option<Sql> {
        if is_portal {
            return self.portals.remove(name)?.sql;
        }
        self.change |= !name.is_empty();
        self.statements.remove(name)?
    }
}

/// What texts do with the names.
impl sql::Names for Names {
    fn give(&mut self, name: &[u8], sql: Option<Sql>) {
        let name = key(name);
        let before = self.statements.get(name).copied();
        let several = self.given.as_ref().is_some_and(|given| given.exchange == self.exchange);
        self.given = Some(Given { exchange: self.exchange, name: name.into(), before, several });
        self.change = true;
        self.prepare(name, sql);
    }

    fn get(&self, name: &[u8]) -> Option<Sql> {
        *self.statements.get(name)?
    }

    fn remove(&mut self, name: &[u8]) -> Option<Sql> {
        self.close(false, name)
    }

    fn clear(&mut self) {
        self.statements.clear();
    }
}

/// What names stand for. Most sessions use few but the empty one, which is found without a look-up.
#[derive(Debug)]
struct Named<Value> {
    unnamed: Option<Value>,
    named: HashMap<Box<[u8]>, Value>,
}

impl<Value> Default for Named<Value> {
    fn default() -> Self {
        Named { unnamed: None, named: HashMap::new() }
    }
}

impl<Value> Named<Value> {
    fn get(&self, name: &[u8]) -> Option<&Value> {
        if name.is_empty() { self.unnamed.as_ref() } else { self.named.get(key(name)) }
    }

    fn get_mut(&mut self, name: &[u8]) -> Option<&mut Value> {
        if name.is_empty() { self.unnamed.as_mut() } else { self.named.get_mut(key(name)) }
    }

    fn put(&mut self, name: &[u8], value: Value) {
        if let Some(old) = self.get_mut(name) {
            *old = value;
            return;
        }
        if self.named.len() + usize::from(self.unnamed.is_some()) >= MAX_NAMES {
            self.clear();
        }
        if name.is_empty() {
            self.unnamed = Some(value);
        } else {
            self.named.insert(key(name).into(), value);
        }
    }

    fn remove(&mut self, name: &[u8]) -> Option<Value> {
        if name.is_empty() { self.unnamed.take() } else { self.named.remove(key(name)) }
    }

    fn clear(&mut self) {
        self.unnamed = None;
        self.named.clear();
    }
}

fn key(name: &[u8]) -> &[u8] {
    name.get(..NAME_MAX).unwrap_or(name)
}
