//! What is known of a recording while it is being read: sums that another thread may look at.
//!
//! Sums alone: which RTT that is, and what the time was spent on, only the whole recording tells.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::exchange::Exchange;
use crate::sql::Statements;

/// Statements that are summed up each for itself; further ones together.
const MAX_STATEMENTS: usize = 4096;

/// Shared by who reads and who watches.
#[derive(Debug, Default)]
pub struct Live(Mutex<Sums>);

/// All that was read so far.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    pub packets: u64,
    pub connections: u64,
    pub total: Sum,
    /// When the last request was sent; 0 before the first.
    pub last_ns: i64,
    statements: HashMap<u32, (String, Sum)>,
    others: Sum,
}

/// Of some exchanges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub exchanges: u64,
    pub round_trips: u64,
    /// For first packets of responses.
    pub waited_ns: i64,
    pub errors: u64,
}

impl Sum {
    fn add(&mut self, exchange: &Exchange) {
        self.exchanges += 1;
        self.round_trips += u64::from(exchange.round_trips);
        self.waited_ns = self.waited_ns.saturating_add(exchange.waited_ns.unwrap_or(0).max(0));
        self.errors += u64::from(exchange.error.is_some());
    }
}

impl Sums {
    /// Those that waited longest, the longest first; what had no room of its own is without a text.
    pub fn worst(&self, most: usize) -> Vec<(&str, Sum)> {
        let others = (self.others.exchanges > 0).then_some(("", self.others));
        let mut all: Vec<_> = self.statements.values().map(|(text, sum)| (text.as_str(), *sum)).chain(others).collect();
        all.sort_unstable_by(|(one, a), (next, b)| (b.waited_ns, *one).cmp(&(a.waited_ns, *next)));
        all.truncate(most);
        all
    }

    fn add(&mut self, exchange: &Exchange, statements: &Statements) {
        self.total.add(exchange);
        if let Some(request) = &exchange.request {
            self.last_ns = self.last_ns.max(request.last.time_ns);
        }
        let Some(sql) = exchange.sql else { return };
        let has_room = self.statements.len() < MAX_STATEMENTS;
        match self.statements.get_mut(&sql.fingerprint) {
            Some((_, sum)) => sum.add(exchange),
            None if has_room => {
                let mut sum = Sum::default();
                sum.add(exchange);
                self.statements.insert(sql.fingerprint, (statements.text(sql.fingerprint).into(), sum));
            }
            None => self.others.add(exchange),
        }
    }
}

impl Live {
    /// As it is now.
    pub fn sums(&self) -> MutexGuard<'_, Sums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many more packets were read, and these exchanges are over; there are so many connections.
    pub fn take(&self, packets: usize, finished: &[Exchange], statements: &Statements, connections: usize) {
        let mut sums = self.sums();
        sums.packets += packets as u64;
        sums.connections = connections as u64;
        finished.iter().for_each(|exchange| sums.add(exchange, statements));
    }
}
