//! The RTTs of a recording: each path's and each connection's, put together from both halves.

use super::baseline::Baseline;
use super::phases::Phases;

/// The paths (one client host, one server endpoint) in the order of their first connection; that of each connection is
/// known to the phases.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// The host of the client, and the server's endpoint.
    pub clients: Vec<String>,
    pub servers: Vec<String>,
}

/// The RTTs of a recording.
#[derive(Clone, Debug, Default)]
pub struct Rtts {
    /// When the recording began, in ns since 1970, and how long it went on: times of phases are since then.
    pub start_ns: i64,
    pub runtime_ns: i64,
    pub paths: Paths,
    pub phases: Phases,
    /// The RTT of each path and of each connection: of the period, or phase, with most round trips.
    pub of_paths: Vec<Baseline>,
    pub of_connections: Vec<Baseline>,
    pub of_periods: Vec<Baseline>,
    /// Those of phases; where a proxy passes exchanges on, behind these those that take both networks.
    pub of_phases: Vec<Baseline>,
    /// The phase of each exchange, whose RTT divides its time.
    pub of_exchanges: Vec<u32>,
    pub beyond: Option<BehindProxy>,
}

impl Rtts {
    /// The RTTs with exchanges that cross networks behind a proxy as well: the RTT of these is the sum.
    pub fn through(mut self, beyond: BehindProxy, of_exchanges: Vec<u32>) -> Rtts {
        let both = beyond.all.iter().map(|beyond| self.of_phases[beyond.outer as usize].beyond(beyond));
        let both: Vec<_> = both.collect();
        self.of_phases.extend(both);
        Rtts { of_exchanges, beyond: Some(beyond), ..self }
    }
}

impl Baseline {
    /// The RTT of round trips that take a network behind a proxy, too.
    fn beyond(&self, behind: &Beyond) -> Baseline {
        let ns = self.ns + behind.trips * behind.ns;
        Baseline {
            ns,
            low_ns: self.low_ns + behind.trips * behind.low_ns,
            high_ns: self.high_ns + behind.trips * behind.high_ns,
            near_share: if ns > 0.0 { self.near_ns() / ns } else { 0.0 },
            ..*self
        }
    }
}

/// Networks behind a proxy, which a round trip of the application takes, too: one for each of the last of
/// [`Rtts::of_phases`].
#[derive(Clone, Debug, Default)]
pub struct BehindProxy {
    pub all: Vec<Beyond>,
}

#[derive(Clone, Debug)]
pub struct Beyond {
    /// The connection through the proxy, and the phase that it has on its way to there.
    pub connection: u32,
    pub outer: u32,
    /// Behind the proxy.
    pub server: String,
    /// How many round trips of the proxy one of the application takes.
    pub trips: f64,
    /// A network of its own leads there: not where proxy and server are on one machine.
    pub is_far: bool,
    /// The RTT behind the proxy in ns, with the ends of its range; 0 on one machine.
    pub ns: f64,
    pub low_ns: f64,
    pub high_ns: f64,
    /// The round trips of the application.
    pub round_trips: u64,
}
