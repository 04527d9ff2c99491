//! Statements and portals that a session has named, and what stands behind them.
//!
//! They are read from the client's messages alone, in their order: pipelining does not disturb that.

use std::collections::HashMap;

use super::DIALECT;
use super::framing::NAME_MAX;
use crate::sql::{Sql, Statements};

/// Names kept of a session. One that leaves more behind is not read worse for forgetting them all and beginning anew.
const MAX_NAMES: usize = 16_384;

#[derive(Debug, Default)]
pub struct Names {
    statements: HashMap<Box<[u8]>, Option<Sql>>,
    portals: HashMap<Box<[u8]>, Portal>,
}

/// A statement bound to its values, ready to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portal {
    pub sql: Option<Sql>,
    /// It has run before: to execute it once more fetches more rows.
    pub executed: bool,
}

impl Names {
    pub fn prepare(&mut self, name: &[u8], sql: Option<Sql>) {
        put(&mut self.statements, name, sql);
    }

    /// What a name stands for. One that was prepared before the capture began is shown by its name.
    pub fn statement(&mut self, name: &[u8], statements: &mut Statements) -> Option<Sql> {
        let name = key(name);
        if let Some(sql) = self.statements.get(name) {
            return *sql;
        }
        let sql = (!name.is_empty()).then(|| statements.sql_in(DIALECT, &[b"EXECUTE ", name].concat()));
        put(&mut self.statements, name, sql);
        sql
    }

    pub fn bind(&mut self, name: &[u8], sql: Option<Sql>) {
        put(&mut self.portals, name, Portal { sql, executed: false });
    }

    pub fn portal(&self, name: &[u8]) -> Option<Sql> {
        self.portals.get(key(name))?.sql
    }

    /// The portal as it was before this run.
    pub fn execute(&mut self, name: &[u8]) -> Option<Portal> {
        let portal = self.portals.get_mut(key(name))?;
        let before = *portal;
        portal.executed = true;
        Some(before)
    }

    pub fn forget_unnamed(&mut self) {
        self.statements.remove(&[][..]);
        self.portals.remove(&[][..]);
    }

    pub fn close(&mut self, is_portal: bool, name: &[u8]) -> Option<Sql> {
        if is_portal { self.portals.remove(key(name))?.sql } else { self.statements.remove(key(name))? }
    }
}

fn put<Value>(map: &mut HashMap<Box<[u8]>, Value>, name: &[u8], value: Value) {
    let name = key(name);
    if let Some(old) = map.get_mut(name) {
        *old = value;
        return;
    }
    if map.len() >= MAX_NAMES {
        map.clear();
    }
    map.insert(name.into(), value);
}

fn key(name: &[u8]) -> &[u8] {
    name.get(..NAME_MAX).unwrap_or(name)
}
