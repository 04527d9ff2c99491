//! TCP anomalies of the database connections, as notes: each kind once, over all of them.

use crate::case::Case;
use crate::note::{NoteCode, Notes};
use crate::side::Side;
use crate::stream::{Anomalies, Connection, Tally};

/// The anomalies of several connections together.
#[derive(Default)]
pub struct Health {
    anomalies: Anomalies,
    /// Connections of which one side was not captured, and the first of them.
    one_sided: u64,
    first_one_sided: u32,
}

impl Health {
    /// Takes in a database connection.
    pub fn add(&mut self, stream: u32, connection: &Connection) {
        self.anomalies.join(connection.anomalies());
        if is_one_sided(connection) {
            if self.one_sided == 0 {
                self.first_one_sided = stream;
            }
            self.one_sided += 1;
        }
    }

    /// How often each kind happened, and how long it took.
    pub fn cases(&self) -> Vec<Case> {
        let Anomalies { timeout_ns, stalled_ns, .. } = self.anomalies;
        let case = |code, tally: Tally, span_ns| Case { span_ns, ..Case::new(code, tally.count, tally.first_frame) };
        let all = [
            Case::new(NoteCode::OneDirection, self.one_sided, u64::from(self.first_one_sided)),
            case(NoteCode::ClockStep, self.anomalies.clock_steps, 0),
            case(NoteCode::Timeouts, self.anomalies.timeouts, timeout_ns),
            case(NoteCode::DelayedAck, self.anomalies.stalls, stalled_ns),
            case(NoteCode::ZeroWindow, self.anomalies.zero_windows, 0),
            case(NoteCode::DuplicatePackets, self.anomalies.duplicates, 0),
            case(NoteCode::Reordered, self.anomalies.reordered, 0),
            case(NoteCode::Offloaded, self.anomalies.offloaded, 0),
        ];
        all.into_iter().filter(|case| case.count > 0).collect()
    }

    /// Takes in those of a part of the recording.
    pub fn join(&mut self, case: &Case) {
        let tally = Tally { count: case.count, first_frame: case.first };
        let mut more = Anomalies::default();
        match case.code {
            NoteCode::OneDirection => {
                let first = u32::try_from(case.first).unwrap_or(u32::MAX);
                self.first_one_sided = if self.one_sided == 0 { first } else { self.first_one_sided.min(first) };
                self.one_sided = self.one_sided.saturating_add(case.count);
            }
            NoteCode::ClockStep => more.clock_steps = tally,
            NoteCode::Timeouts => (more.timeouts, more.timeout_ns) = (tally, case.span_ns),
            NoteCode::DelayedAck => (more.stalls, more.stalled_ns) = (tally, case.span_ns),
            NoteCode::ZeroWindow => more.zero_windows = tally,
            NoteCode::DuplicatePackets => more.duplicates = tally,
            NoteCode::Reordered => more.reordered = tally,
            NoteCode::Offloaded => more.offloaded = tally,
            _ => {}
        }
        self.anomalies.join(&more);
    }

    pub fn add_to(&self, notes: &mut Notes) {
        let Anomalies { timeout_ns, stalled_ns, .. } = self.anomalies;
        notes.add_several(NoteCode::OneDirection, self.one_sided, || {
            let connections = some(self.one_sided, "connection");
            format!("only one direction of {connections} was captured (first: stream {})", self.first_one_sided)
        });
        let mut note = |code, tally: Tally, what: &str, message: &dyn Fn(String) -> String| {
            notes.add_at(code, tally.count, Some(tally.first_frame), || {
                format!("{} (first: frame {})", message(some(tally.count, what)), tally.first_frame)
            });
        };
        note(NoteCode::ClockStep, self.anomalies.clock_steps, "step", &|steps| {
            format!("the capture's clock was set, and later times were corrected: {steps}")
        });
        note(NoteCode::Timeouts, self.anomalies.timeouts, "time-out", &|timeouts| {
            format!("{timeouts} before retransmissions, {} in all", seconds(timeout_ns))
        });
        note(NoteCode::DelayedAck, self.anomalies.stalls, "packet", &|packets| {
            format!("{packets} waited for delayed acknowledgments, {} in all", seconds(stalled_ns))
        });
        note(NoteCode::ZeroWindow, self.anomalies.zero_windows, "zero window", &|windows| {
            format!("{windows}: a receiver did not read its data, so the sender had to wait")
        });
        note(NoteCode::DuplicatePackets, self.anomalies.duplicates, "packet", &|packets| {
            format!("the capture contains {packets} twice; duplicates are left out")
        });
        note(NoteCode::Reordered, self.anomalies.reordered, "packet", &|packets| {
            format!("{packets} arrived after a later one of the same stream")
        });
        note(NoteCode::Offloaded, self.anomalies.offloaded, "packet", &|packets| {
            format!(
                "the network card segments or merges packets (offloading): {packets} longer than the receiver's MSS"
            )
        });
    }
}

/// One side sent data, and nothing of the other was captured.
fn is_one_sided(connection: &Connection) -> bool {
    let silent = |side: Side| connection.packets[side as usize] == 0;
    connection.last_data_ns.is_some() && (silent(Side::Client) || silent(Side::Server))
}

/// A count and what is counted: `1,234 packets`.
pub fn some(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
}

fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

fn seconds(ns: i64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!([7, 999, 1000, 1_234_567].map(grouped), ["7", "999", "1,000", "1,234,567"]);
        assert_eq!([some(1, "packet"), some(2, "packet")], ["1 packet", "2 packets"]);
    }

    #[test]
    fn what_did_not_happen_is_no_note() {
        let mut notes = Notes::default();
        Health::default().add_to(&mut notes);
        assert_eq!(notes.iter().count(), 0);
    }
}
