//! The result for one path, period, connection or phase.

/// The evidence that a baseline rests on. Its numbers are those of `latpcap/rtt/baselines.py`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Method {
    #[default]
    Unknown,
    Handshake,
    InStream,
    Both,
    Floor,
    Given,
}

impl Method {
    /// By their numbers.
    pub const ALL: [Method; 6] =
        [Method::Unknown, Method::Handshake, Method::InStream, Method::Both, Method::Floor, Method::Given];
}

/// Why this method. Its numbers are those of `latpcap/rtt/baselines.py`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    #[default]
    None,
    Given,
    Agree,
    Alone,
    Confirmed,
    Siblings,
    SlowHandshake,
    SlowDirect,
    SlowData,
    SynAnswered,
    LateData,
    Split,
    Middlebox,
    Resent,
    Data,
    Floor,
    CoarseClock,
    Changed,
    Varies,
    Steady,
    SplitSyn,
    SplitChange,
    FarResponses,
    Near,
}

impl Reason {
    /// By their numbers.
    pub const ALL: [Reason; 24] = [
        Reason::None,
        Reason::Given,
        Reason::Agree,
        Reason::Alone,
        Reason::Confirmed,
        Reason::Siblings,
        Reason::SlowHandshake,
        Reason::SlowDirect,
        Reason::SlowData,
        Reason::SynAnswered,
        Reason::LateData,
        Reason::Split,
        Reason::Middlebox,
        Reason::Resent,
        Reason::Data,
        Reason::Floor,
        Reason::CoarseClock,
        Reason::Changed,
        Reason::Varies,
        Reason::Steady,
        Reason::SplitSyn,
        Reason::SplitChange,
        Reason::FarResponses,
        Reason::Near,
    ];
}

/// The place where the capture was taken. Its numbers are those of `latpcap/rtt/baselines.py`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Position {
    #[default]
    Unknown,
    Client,
    Server,
    Between,
    Loopback,
}

impl Position {
    /// By their numbers.
    pub const ALL: [Position; 5] =
        [Position::Unknown, Position::Client, Position::Server, Position::Between, Position::Loopback];
}

impl Method {
    /// Handshakes or acknowledgments, or both.
    pub fn is_direct(self) -> bool {
        matches!(self, Method::Handshake | Method::InStream | Method::Both)
    }
}

/// A baseline RTT and what it came from; ns, NaN where unknown.
#[derive(Clone, Copy, Debug)]
pub struct Baseline {
    pub ns: f64,
    pub low_ns: f64,
    pub high_ns: f64,
    /// The part of the RTT between capture point and client; 0 at the client and where unknown, 1 at the server.
    pub near_share: f64,
    pub method: Method,
    pub reason: Reason,
    pub position: Position,
    /// SYN → ACK, both hosts' turnaround included, as Wireshark's iRTT.
    pub handshake_ns: f64,
    /// The least, the middle and the mean acknowledgment.
    pub in_stream_ns: [f64; 3],
    /// The fastest responses (5 % quantile), the near half included.
    pub floor_ns: f64,
    /// How many measurements the chosen method rests on.
    pub samples: u64,
}

impl Baseline {
    /// The part between the capture point and the client; 0 where there is no baseline.
    pub fn near_ns(&self) -> f64 {
        let near = self.ns * self.near_share;
        if near.is_nan() { 0.0 } else { near }
    }

    /// The clock was too coarse for any of it.
    pub fn unmeasured(&self) -> Baseline {
        let is_loopback = self.position == Position::Loopback;
        Baseline {
            ns: f64::NAN,
            low_ns: f64::NAN,
            high_ns: f64::INFINITY,
            near_share: 0.0,
            method: Method::Unknown,
            reason: Reason::CoarseClock,
            position: if is_loopback { Position::Loopback } else { Position::Unknown },
            samples: 0,
            ..*self
        }
    }

    /// The RTT that somebody knows. What no response took is on one side of an unknown capture point, the rest on the
    /// other.
    pub fn with_given_ns(&self, ns: f64) -> Baseline {
        let without_responses = (1.0 - self.floor_ns / ns.max(1.0)).max(0.0);
        let near_share = if self.position == Position::Unknown { without_responses } else { self.near_share };
        Baseline { ns, low_ns: ns, high_ns: ns, near_share, method: Method::Given, reason: Reason::Given, ..*self }
    }

    /// Let the range hold another one, too.
    pub fn hold_range_of(&mut self, other: &Baseline) {
        self.low_ns = self.low_ns.min(other.low_ns);
        self.high_ns = self.high_ns.max(other.high_ns);
    }

    /// Let the range reach this, which the path may take since it may have changed.
    pub fn reach(&mut self, most_ns: f64) {
        if self.high_ns < most_ns {
            (self.high_ns, self.reason) = (most_ns, Reason::SplitChange);
        }
    }
}
