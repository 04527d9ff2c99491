//! Steps: what each exchange of a recording did while it was under way, and what it starts from.

/// One exchange, one TCP handshake, or the wait for the server to hang up; times in ns.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub connection: u32,
    /// Of its connection: which RTT its path had.
    pub phase: u32,
    pub worker: u32,
    /// The lane that it follows: its own, but for the first.
    pub after: u32,
    pub starts: Starts,
    /// From where it starts to its first request packet.
    pub gap: f64,
    /// First → last packet of the request.
    pub request: f64,
    pub round_trips: f64,
    /// Which part of them is left when fixes are made.
    pub trips: f64,
    /// How long a packet of the gap, and of the rest, waited for a delayed ACK, beside a round trip each.
    pub stalled_before: f64,
    pub stalled_within: f64,
    /// What the wait took beyond its round trips; a little below zero where the path was faster than on average.
    pub service: f64,
    /// First → last packet of the response.
    pub response: f64,
    pub answered: bool,
    /// Round trips in its middle: `service` then holds everything but the round trips.
    pub whole: bool,
    /// Nobody was seen to ask for it.
    pub unseen: bool,
    /// The exchange it is.
    pub row: u32,
}

/// What a step's gap is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// The beginning of the recording.
    AtFirst,
    /// The lane's last step was over.
    After,
    /// The same, and it was on another connection.
    AfterOther,
    /// The connection's last request was sent: a pipeline.
    With,
    /// Both as after another one; a clock begins with it.
    Clock,
    /// The lane's last step began that began by this clock; and it and the connection's last one are over.
    Tick,
    /// A round trip after the last request of another connection, whose number stands for the lane: the server pushed
    /// what the step waited for; and the connection's last one is over.
    AfterPush,
}

/// When a step was under way, for finding its lane.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub connection: u32,
    pub client: u32,
    pub begin: f64,
    pub end: f64,
    pub setup: bool,
    /// A commit, or a rollback.
    pub ends_transaction: bool,
    /// Somebody waits for its answer.
    pub waits: bool,
    /// Sent while an answer was outstanding on its connection.
    pub follows_own: bool,
    /// What was asked.
    pub statement: u32,
    /// Its request waited for a delayed ACK.
    pub stalled: bool,
    /// Its request's last packet, and the phase that it was sent in.
    pub sent: f64,
    pub phase: u32,
    /// How long before its request the server pushed something; 0 where it did not.
    pub since_push: f64,
    /// Its connection waits for what the server pushes.
    pub listens: bool,
}

/// Where a span starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    pub gap: f64,
    pub worker: u32,
    /// The lane that it follows, and in the lowest bits what the gap is counted from.
    follows: u32,
}

impl Start {
    pub const fn new(worker: u32, after: u32, starts: Starts, gap: f64) -> Start {
        Start { gap, worker, follows: after << 3 | starts as u32 }
    }

    /// The lane that it follows.
    pub fn after(&self) -> u32 {
        self.follows >> 3
    }

    pub fn starts(&self) -> Starts {
        const ALL: [Starts; 8] = [
            Starts::AtFirst,
            Starts::After,
            Starts::AfterOther,
            Starts::With,
            Starts::Clock,
            Starts::Tick,
            Starts::AfterPush,
            Starts::AtFirst,
        ];
        ALL[self.follows as usize & 7]
    }
}

pub const NOWHERE: Span = Span {
    connection: 0,
    client: 0,
    begin: 0.0,
    end: 0.0,
    setup: false,
    ends_transaction: false,
    waits: false,
    follows_own: false,
    statement: u32::MAX,
    stalled: false,
    sent: f64::NEG_INFINITY,
    phase: 0,
    since_push: 0.0,
    listens: false,
};
