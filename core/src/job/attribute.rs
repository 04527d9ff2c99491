//! Where the time goes: every instant belongs to exactly one part, so the parts sum to the time that all took.
//!
//! One function, whatever is asked: the steps are those of the capture, or of a replay on another network, or with fixes
//! made.

use super::pieces::Pieces;
use super::shared_time::SharedTime;

/// Which parts an interval belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Work,
    /// It opens or closes its connection; whether what of that is the network is known.
    Setup {
        whole: bool,
    },
    /// Captured in part.
    Unknown,
}

impl Kind {
    /// Of an exchange.
    pub fn of(setup: bool, whole: bool) -> Kind {
        match (setup, whole) {
            (true, whole) => Kind::Setup { whole },
            (false, true) => Kind::Work,
            (false, false) => Kind::Unknown,
        }
    }

    /// What it waited for is known.
    pub fn is_whole(self) -> bool {
        matches!(self, Kind::Work | Kind::Setup { whole: true })
    }
}

/// The parts of the time, in shared ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    pub network: Sum,
    pub service: Sum,
    pub transfer: Sum,
    pub stall: Sum,
    pub client: Sum,
    pub think: Sum,
    pub setup: Sum,
    /// What of `setup` is the network.
    pub setup_network: Sum,
    pub loss: Sum,
    pub unknown: Sum,
}

/// A sum that is off by no more than its last bit, however many it is of (Neumaier).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    sum: f64,
    rest: f64,
}

impl Sum {
    pub fn add(&mut self, value: f64) {
        if value == 0.0 {
            return;
        }
        let sum = self.sum + value;
        let (large, small) = if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
        self.rest += (large - sum) + small;
        self.sum = sum;
    }

    pub fn ns(&self) -> f64 {
        self.sum + self.rest
    }
}

/// Divide the time of `intervals`, each of which has its kind, when it begins and what it is cut into: `each` gets what
/// that is worth. Those of a connection follow each other and do not overlap.
pub fn attribute(
    intervals: impl Iterator<Item = (Kind, i64, Pieces<i64>)>,
    shared: &SharedTime,
    mut each: impl FnMut(&Pieces<i64>, &Pieces<f64>),
) -> Parts {
    let mut parts = Parts::default();
    for (kind, begin, pieces) in intervals {
        let mut mark = shared.mark(begin);
        let worth = pieces.map(|length| if length == 0 { 0.0 } else { shared.next(&mut mark, length) });
        parts.add(kind, &worth);
        each(&pieces, &worth);
    }
    parts
}

impl Parts {
    pub fn add(&mut self, kind: Kind, worth: &Pieces<f64>) {
        match kind {
            Kind::Work => {
                self.network.add(worth.network);
                self.service.add(worth.service);
                self.transfer.add(worth.request + worth.response);
                self.stall.add(worth.stalled + worth.stalled_within());
                self.loss.add(worth.loss());
            }
            Kind::Setup { whole } => self.set_up(worth.all(), if whole { worth.network } else { 0.0 }),
            Kind::Unknown => self.unknown.add(worth.all()),
        }
    }

    /// The parts by their names.
    pub fn named(&self) -> [(&'static str, Sum); 10] {
        [
            ("network", self.network),
            ("service", self.service),
            ("transfer", self.transfer),
            ("stall", self.stall),
            ("client", self.client),
            ("think", self.think),
            ("setup", self.setup),
            ("setup_network", self.setup_network),
            ("loss", self.loss),
            ("unknown", self.unknown),
        ]
    }

    /// Set-up of which so much is the network.
    pub fn set_up(&mut self, worth: f64, network: f64) {
        self.setup.add(worth);
        self.setup_network.add(network);
    }

    /// Each of them so many times as long.
    pub fn times(self, factor: f64) -> Parts {
        let Parts { network, service, transfer, stall, client, think, setup, setup_network, loss, unknown } = self;
        let times = |sum: Sum| Sum { sum: factor * sum.sum, rest: factor * sum.rest };
        Parts {
            network: times(network),
            service: times(service),
            transfer: times(transfer),
            stall: times(stall),
            client: times(client),
            think: times(think),
            setup: times(setup),
            setup_network: times(setup_network),
            loss: times(loss),
            unknown: times(unknown),
        }
    }

    /// While nothing goes on the client works; where that is longer than `think_ns` it thinks.
    pub fn idle(&mut self, gap: f64, think_ns: f64) {
        (if gap > think_ns { &mut self.think } else { &mut self.client }).add(gap.max(0.0));
    }
}
