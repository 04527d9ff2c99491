//! What was captured, as it is replayed.

use super::attribute::Kind;
use super::columns::columns;

/// A time that the capture does not tell.
pub const UNSEEN: i64 = i64::MIN;

columns! {
    /// What was captured, column by column. Times are ns since the recording began, as the client saw them.
    Job
    phases {
        /// A connection has a phase for each RTT that its path had, mostly one. The baseline RTT, and the ends of its
        /// range.
        baseline_ns: f64,
        low_ns: f64,
        high_ns: f64,
    }
    connections {
        /// The phase that it was opened in.
        opening: u32,
        /// The number of its client host.
        client: u32,
        /// SYN and SYN/ACK.
        opened_ns: i64,
        established_ns: i64,
        /// The server's FIN, where the client waited for it.
        closed_ns: i64,
        server_first: bool,
        segment_bytes: f64,
        /// The most that the client, and the server, take at once; infinite where that grows as needed.
        client_window_bytes: f64,
        server_window_bytes: f64,
    }
    exchanges {
        /// Ascending; exchanges are in the order of their requests.
        connection: u32,
        /// The phase of its connection.
        phase: u32,
        request_ns: i64,
        request_end_ns: i64,
        response_ns: i64,
        response_end_ns: i64,
        round_trips: u32,
        /// Full segments; a message that shares a packet with the one before has a part of one.
        request_segments: f64,
        response_segments: f64,
        setup: bool,
        complete: bool,
        ends_transaction: bool,
        /// What it asks: which statement, and what for.
        statement: u32,
        /// The client waits for it together with the request before it, or goes on and gets its answer with a later one
        /// (`exchange::Wait`).
        shared: bool,
        deferred: bool,
        /// Most of its request followed when the answer had begun: the client did not wait for that.
        streamed: bool,
    }
    held {
        /// Of exchanges, too; empty where there is none. How long a sender waited for acknowledgments.
        silent_ns: f64,
        /// What of that the client waited.
        request_silent_ns: f64,
        /// How long a side that paces kept its request, or its response, back.
        request_paced_ns: f64,
        response_paced_ns: f64,
    }
    pushes {
        /// Of exchanges, too; empty where there is none. How long before its request the server pushed something; 0 where
        /// it did not.
        told_ns: f64,
    }
    stalls {
        /// Of exchanges, too; empty where there is none. How long a small packet waited for a delayed ACK (Nagle), beside
        /// the round trip that it waited as well: before the request, and within request and response.
        stalled_before_ns: f64,
        stalled_within_ns: f64,
    }
}

impl Job<'_> {
    /// The columns fit together.
    pub fn check(&self) -> Result<(), &'static str> {
        let phases = self.baseline_ns.len();
        let stalls = self.stalled_before_ns.len();
        let held = self.silent_ns.len();
        let pushes = self.told_ns.len();
        let fit = self.fits(phases, self.connections(), self.rows(), held, pushes, stalls)
            && [stalls, held, pushes].iter().all(|&cells| cells == 0 || cells == self.rows())
            && self.opening.iter().chain(self.phase.iter()).all(|&phase| (phase as usize) < phases)
            && self.connection.is_sorted()
            && self.connection.last().is_none_or(|&last| (last as usize) < self.connections())
            && self.segment_bytes.iter().all(|&bytes| bytes >= 1.0);
        if fit { Ok(()) } else { Err("the columns of a job do not fit together") }
    }

    pub fn connections(&self) -> usize {
        self.client.len()
    }

    pub fn rows(&self) -> usize {
        self.connection.len()
    }

    /// How long a sender waited for acknowledgments in a row.
    pub fn silent(&self, row: usize) -> f64 {
        self.silent_ns.get(row).copied().unwrap_or(0.0)
    }

    /// How long the client waited for acknowledgments while it sent a row's request and until it sent the next one.
    pub fn request_silent(&self, row: usize) -> f64 {
        self.request_silent_ns.get(row).copied().unwrap_or(0.0)
    }

    /// How long a side that paces kept a row's request, and its response, back.
    pub fn paced(&self, row: usize) -> [f64; 2] {
        [&self.request_paced_ns, &self.response_paced_ns].map(|paced| paced.get(row).copied().unwrap_or(0.0))
    }

    /// How long before a row's request the server pushed something; 0 where it did not.
    pub fn told(&self, row: usize) -> f64 {
        self.told_ns.get(row).copied().unwrap_or(0.0)
    }

    /// How long a packet waited for a delayed ACK before a row, and within it.
    pub fn stalls(&self, row: usize) -> [f64; 2] {
        [&self.stalled_before_ns, &self.stalled_within_ns].map(|stalls| stalls.get(row).copied().unwrap_or(0.0))
    }
}

/// What is still needed of a job when it is cut into turns.
#[derive(Debug)]
pub struct Connections {
    /// Of each phase.
    pub baseline_ns: Vec<f64>,
    pub low_ns: Vec<f64>,
    pub high_ns: Vec<f64>,
    pub segment_bytes: Vec<f64>,
    pub client_window_bytes: Vec<f64>,
    pub server_window_bytes: Vec<f64>,
    /// Of each exchange.
    pub kinds: Vec<Kind>,
}

impl Connections {
    pub fn of(job: &Job) -> Connections {
        Connections {
            baseline_ns: job.baseline_ns.to_vec(),
            low_ns: job.low_ns.to_vec(),
            high_ns: job.high_ns.to_vec(),
            segment_bytes: job.segment_bytes.to_vec(),
            client_window_bytes: job.client_window_bytes.to_vec(),
            server_window_bytes: job.server_window_bytes.to_vec(),
            kinds: job.setup.iter().zip(&*job.complete).map(|(&setup, &whole)| Kind::of(setup, whole)).collect(),
        }
    }

    pub fn len(&self) -> usize {
        self.segment_bytes.len()
    }

    pub fn exchanges(&self) -> usize {
        self.kinds.len()
    }

    /// Of each phase, the RTT at the low end of its range, as measured, and at the high end.
    pub fn phases(&self) -> impl Iterator<Item = [f64; 3]> {
        let range = self.low_ns.iter().zip(&self.high_ns);
        self.baseline_ns.iter().zip(range).map(|(&measured, (&low, &high))| [low, measured, high])
    }
}
