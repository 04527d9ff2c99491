//! What was captured: a job's connections and the phases of their RTTs.

use super::UNSEEN;
use super::attribute::Kind;
use crate::recording::{DatabaseConnection, DatabaseConnections};
use crate::rtt::baseline::Baseline;
use crate::rtt::phases;

/// The payload of a segment on Ethernet if no SYN announced its size.
const MSS_BYTES: u32 = 1460;
/// Larger segments are those of a loopback device; no network carries them.
const MAX_FRAME_BYTES: u32 = 9_000;
/// The timestamp option, which nearly every host sends, takes this much of a segment (RFC 7323).
const TIMESTAMPS_BYTES: u32 = 12;

/// A connection has a phase for each RTT that its path had, mostly one: the RTT and the ends of its range, NaN where it is
/// unknown, and which part of it lies between the client and the capture point.
#[derive(Clone, Debug, Default)]
pub struct Phases {
    pub baseline_ns: Vec<f64>,
    pub low_ns: Vec<f64>,
    pub high_ns: Vec<f64>,
    pub near_share: Vec<f64>,
    /// Those whose RTT is made up, as it was unknown; none where nothing is made up.
    pub made_up: Vec<bool>,
}

impl Phases {
    /// Phases with these RTTs.
    pub fn of(rtts: &[Baseline]) -> Phases {
        let column = |of: fn(&Baseline) -> f64| rtts.iter().map(of).collect();
        Phases {
            baseline_ns: column(|rtt| rtt.ns),
            low_ns: column(|rtt| rtt.low_ns),
            high_ns: column(|rtt| rtt.high_ns),
            near_share: column(|rtt| rtt.near_share),
            made_up: Vec::new(),
        }
    }

    /// The same where those that are unknown are so long.
    pub fn known(&self, otherwise_ns: f64) -> Phases {
        let known = |of: &Vec<f64>| of.iter().map(|&ns| if ns.is_nan() { otherwise_ns } else { ns }).collect();
        let [baseline_ns, low_ns, high_ns] = [&self.baseline_ns, &self.low_ns, &self.high_ns].map(known);
        let made_up = self.baseline_ns.iter().map(|ns| ns.is_nan()).collect();
        Phases { baseline_ns, low_ns, high_ns, near_share: self.near_share.clone(), made_up }
    }

    /// Its RTT is known, be it 0.
    pub fn is_known(&self, phase: u32) -> bool {
        !self.made_up.get(phase as usize).is_some_and(|&made_up| made_up)
    }

    pub fn count(&self) -> usize {
        self.baseline_ns.len()
    }

    /// What of the RTT lies between the client and the capture point.
    pub fn near_ns(&self, phase: u32) -> i64 {
        self.near(phase).round_ties_even() as i64
    }

    /// One way of that.
    pub fn half_ns(&self, phase: u32) -> i64 {
        (self.near(phase) / 2.0).round_ties_even() as i64
    }

    /// The part of it between the capture point and the server; 0 where it is unknown.
    pub fn beyond_ns(&self, phase: u32) -> i64 {
        (self.baseline_ns[phase as usize] - self.near(phase)).round_ties_even() as i64
    }

    fn near(&self, phase: u32) -> f64 {
        let near = self.baseline_ns[phase as usize] * self.near_share[phase as usize];
        if near.is_nan() { 0.0 } else { near }
    }
}

/// The connections of a job, column by column. Times are ns since the recording began, as the capture point saw them.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    /// The number that its exchanges say.
    pub stream: Vec<u32>,
    /// The number of its path, and the phases that it was opened and closed in.
    pub path: Vec<u32>,
    pub opening: Vec<u32>,
    pub closing: Vec<u32>,
    /// The numbers of its client host and its server.
    pub client: Vec<u32>,
    pub server: Vec<u32>,
    pub start_ns: Vec<i64>,
    pub syn_ns: Vec<i64>,
    pub syn_ack_ns: Vec<i64>,
    pub ack_ns: Vec<i64>,
    /// Until when an exchange went on that had begun before the window.
    pub under_way_ns: Vec<i64>,
    pub server_first: Vec<bool>,
    /// Round trips of its login that were not captured, and when that was over.
    pub unseen_trips: Vec<u32>,
    pub unseen_until_ns: Vec<i64>,
    pub segment_bytes: Vec<f64>,
    /// All that was sent again had arrived, and nobody waited in silence.
    pub lost_nothing: Vec<bool>,
    /// The server's FIN, where the client waited for it.
    pub closed_ns: Vec<i64>,
    /// The most that the client, and the server, take at once; infinite where that grows as needed.
    pub window_bytes: [Vec<f64>; 2],
    /// The client waits for nothing on it, and it opened before the capture: it is no part of the job. The close of one
    /// that was used before says when somebody hung up, not what others have to wait for.
    pub is_aside: Vec<bool>,
}

impl Connections {
    /// Connections as they were captured, each with its first and last phase. What had arrived is known of whole ones.
    pub fn of(all: &DatabaseConnections, phases: &phases::Phases, are_whole: bool) -> Connections {
        fn column<T>(all: &DatabaseConnections, of: impl FnMut(&DatabaseConnection) -> T) -> Vec<T> {
            all.all.iter().map(of).collect()
        }
        let time = |of: fn(&DatabaseConnection) -> Option<i64>| column(all, |each| of(each).unwrap_or(UNSEEN));
        Connections {
            stream: column(all, |of| of.stream),
            path: phases.path.clone(),
            opening: phases.opening.clone(),
            closing: phases.closing.clone(),
            client: column(all, |of| of.host),
            server: column(all, |of| of.server),
            start_ns: column(all, |of| of.start_ns),
            syn_ns: time(|of| of.syn_ns),
            syn_ack_ns: time(|of| of.syn_ack_ns),
            ack_ns: time(|of| of.ack_ns),
            under_way_ns: time(|of| of.under_way_until_ns),
            server_first: column(all, |of| of.is_greeted),
            unseen_trips: vec![0; all.len()],
            unseen_until_ns: vec![0; all.len()],
            segment_bytes: column(all, segment_bytes),
            lost_nothing: column(all, |of| are_whole && lost_nothing(of)),
            closed_ns: vec![UNSEEN; all.len()],
            window_bytes: [(); 2].map(|()| vec![f64::INFINITY; all.len()]),
            is_aside: vec![false; all.len()],
        }
    }

    pub fn count(&self) -> usize {
        self.client.len()
    }

    /// Round trips of its TCP handshake, and of the greeting.
    pub fn handshake_trips(&self, connection: usize) -> f64 {
        match self.syn_ns[connection] {
            UNSEEN => 0.0,
            _ => 1.0 + f64::from(u8::from(self.server_first[connection])),
        }
    }

    /// When its TCP handshake was over: for a server that speaks first, with its greeting.
    pub fn handshake_end(&self, connection: usize, first_word: Option<i64>) -> i64 {
        let (start, syn) = (self.start_ns[connection], self.syn_ns[connection]);
        let seen = syn.max(self.syn_ack_ns[connection]).max(self.ack_ns[connection]);
        let end = if syn == UNSEEN { start } else { seen.max(start) };
        match first_word.filter(|&word| word != UNSEEN) {
            None => end,
            Some(word) => {
                let greets = self.server_first[connection] && syn != UNSEEN;
                (if greets { end.max(word) } else { end }).max(start).min(word.max(start))
            }
        }
    }
}

/// The payload of a full segment: the smaller of both sides' MSS less the usual options. That of a loopback device is
/// Ethernet's elsewhere.
fn segment_bytes(connection: &DatabaseConnection) -> f64 {
    let [client, server] = connection.mss_bytes.map(|announced| announced.unwrap_or(MSS_BYTES));
    let payload = client.min(server).saturating_sub(TIMESTAMPS_BYTES).max(1);
    f64::from(if payload > MAX_FRAME_BYTES { MSS_BYTES - TIMESTAMPS_BYTES } else { payload })
}

/// All that was sent again on it had arrived, and nobody waited in silence.
fn lost_nothing(connection: &DatabaseConnection) -> bool {
    let (again, spurious) = (connection.retransmissions, connection.spurious_retransmissions);
    spurious > 0 && again <= spurious && connection.timeouts == 0
}

/// A job: who was connected to whom, how far apart they were, and what they said.
#[derive(Debug)]
pub struct Job<'a, E> {
    pub phases: &'a Phases,
    pub connections: &'a Connections,
    pub exchanges: E,
}

/// What is still needed of a job when it is cut into steps.
#[derive(Debug, Default)]
pub struct Known {
    /// Of each phase.
    pub baseline_ns: Vec<f64>,
    pub low_ns: Vec<f64>,
    pub high_ns: Vec<f64>,
    /// Of each connection.
    pub segment_bytes: Vec<f64>,
    pub window_bytes: [Vec<f64>; 2],
    /// Of each exchange.
    pub kinds: Vec<Kind>,
}

impl Known {
    pub fn of<E>(job: &Job<E>, kinds: Vec<Kind>) -> Known {
        Known {
            baseline_ns: job.phases.baseline_ns.clone(),
            low_ns: job.phases.low_ns.clone(),
            high_ns: job.phases.high_ns.clone(),
            segment_bytes: job.connections.segment_bytes.clone(),
            window_bytes: job.connections.window_bytes.clone(),
            kinds,
        }
    }

    pub fn count(&self) -> usize {
        self.segment_bytes.len()
    }

    /// Of each phase, the RTT at the low end of its range, as measured, and at the high end.
    pub fn phases(&self) -> impl Iterator<Item = [f64; 3]> {
        let range = self.low_ns.iter().zip(&self.high_ns);
        self.baseline_ns.iter().zip(range).map(|(&measured, (&low, &high))| [low, measured, high])
    }
}
