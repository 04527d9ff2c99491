//! The job of a recording whose RTTs are known.
//!
//! ```text
//! connections, RTTs ─► Connections, Phases ─► Facts of all exchanges ─► beginnings, awaited FINs, narrow windows
//! ```

use std::io;

use super::UNSEEN;
use super::awaited_fins::awaited_fins;
use super::beginnings::{Beginning, completed};
use super::narrow_windows::{RECEIVE_WINDOW_UTILISATION, narrow_windows};
use super::reading::Recorded;
use super::recorded::{Connections, Phases};
use super::table::Table;
use crate::recording::{DatabaseConnections, ExchangeColumns};
use crate::rtt::estimate::Rtts;

/// A recording whose job is wanted.
pub struct Source<'a> {
    pub exchanges: ExchangeColumns,
    /// Which statements end a transaction.
    pub ends: Vec<bool>,
    pub connections: &'a DatabaseConnections,
    pub rtts: &'a Rtts,
    pub is_window: bool,
    /// No time of its connections is left out.
    pub holds_all_time: bool,
    /// There is no room for all exchanges.
    pub is_scarce: bool,
}

impl Source<'_> {
    /// Returns the job, with what is known of each connection; `None` where the RTTs are of another recording.
    pub fn job(self) -> io::Result<Option<Recorded>> {
        let (connections, rtts) = (self.connections, self.rtts);
        if rtts.phases.opening.len() != connections.len() {
            return Ok(None);
        }
        let mut table = Table::of(self.exchanges, self.ends);
        table.phases = Phases::of(&rtts.of_phases);
        table.connections = Connections::of(connections, &rtts.phases, !self.is_window);
        (table.start_ns, table.runtime_ns) = (connections.start_ns, connections.runtime_ns);
        (table.is_window, table.scarce) = (self.is_window, self.is_scarce);
        let mut recorded = Recorded::of(table);
        if !recorded.read(&rtts.of_exchanges)? {
            return Ok(None);
        }
        let beginnings = if self.holds_all_time {
            completed(connections, &rtts.phases.opening, &recorded.table.phases, &recorded.facts.logins)
        } else {
            connections.all.iter().map(Beginning::of).collect()
        };
        recorded.take_beginnings(&beginnings);
        recorded.find_awaited_fins(connections);
        recorded.find_narrow_windows(connections);
        Ok(Some(recorded))
    }
}

impl Recorded {
    fn take_beginnings(&mut self, beginnings: &[Beginning]) {
        let of = &mut self.table.connections;
        of.syn_ns = beginnings.iter().map(|each| each.syn_ns.unwrap_or(UNSEEN)).collect();
        of.syn_ack_ns = beginnings.iter().map(|each| each.syn_ack_ns.unwrap_or(UNSEEN)).collect();
        of.server_first = beginnings.iter().map(|each| each.is_greeted).collect();
        of.unseen_trips = beginnings.iter().map(|each| each.unseen.round_trips).collect();
        of.unseen_until_ns = beginnings.iter().map(|each| each.unseen.until_ns).collect();
        let waits = self.facts.waits.iter().zip(&of.syn_ns);
        of.is_aside = waits.map(|(&waits, &syn_ns)| !waits && syn_ns == UNSEEN).collect();
    }

    fn find_awaited_fins(&mut self, connections: &DatabaseConnections) {
        let (of, phases) = (&mut self.table.connections, &self.table.phases);
        let near_ns: Vec<i64> = of.opening.iter().map(|&phase| phases.near_ns(phase)).collect();
        of.closed_ns = awaited_fins(connections, &near_ns, &of.syn_ns, &self.facts.session_closed);
    }

    fn find_narrow_windows(&mut self, connections: &DatabaseConnections) {
        let [requests, responses] = &self.facts.largest;
        for (connection, of) in connections.all.iter().enumerate() {
            let largest_bytes = [requests[connection] as u64, responses[connection] as u64];
            for (side, window_bytes) in narrow_windows(of, largest_bytes).into_iter().enumerate() {
                self.narrow_windows_bytes[side][connection] = window_bytes;
            }
        }
        let taken = |windows: &Vec<f64>| windows.iter().map(|bytes| RECEIVE_WINDOW_UTILISATION * bytes).collect();
        self.table.connections.window_bytes = self.narrow_windows_bytes.each_ref().map(taken);
    }
}
