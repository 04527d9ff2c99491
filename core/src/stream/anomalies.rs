//! TCP anomalies of a connection, counted: each kind with the first packet that shows it.

/// How often, and the first frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub count: u64,
    /// 0 where there is none.
    pub first_frame: u64,
}

impl Tally {
    #[inline]
    pub fn add(&mut self, frame: u64) {
        if self.count == 0 {
            self.first_frame = frame;
        }
        self.count += 1;
    }
}

/// The anomalies of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Packets that the capture holds twice; they count nowhere else.
    pub duplicates: Tally,
    /// Segments that came after a later one of their stream.
    pub reordered: Tally,
    /// Acknowledgments that say again what is missing.
    pub duplicate_acks: Tally,
    /// Retransmissions that their sender waited for in silence, and how long.
    pub timeouts: Tally,
    pub timeout_ns: i64,
    /// Data that a delayed acknowledgment held back, and how long.
    pub stalls: Tally,
    pub stalled_ns: i64,
    /// Segments longer than their receiver's MSS: the wire saw several.
    pub offloaded: Tally,
    /// Segments that the snap length cut.
    pub cut: Tally,
    /// The capture's clock was set while the connection was there.
    pub clock_steps: Tally,
    /// By how much in all, forwards or backwards.
    pub clock_stepped_ns: i64,
    /// Segments with which a side stopped the other.
    pub zero_windows: Tally,
}

impl Tally {
    fn join(&mut self, other: Tally) {
        if self.count == 0 || (other.count > 0 && other.first_frame < self.first_frame) {
            self.first_frame = other.first_frame;
        }
        self.count += other.count;
    }
}

impl Anomalies {
    pub fn timed_out(&mut self, frame: u64, silent_ns: i64) {
        self.timeouts.add(frame);
        self.timeout_ns = self.timeout_ns.saturating_add(silent_ns);
    }

    pub fn stalled(&mut self, frame: u64, stalled_ns: i64) {
        self.stalls.add(frame);
        self.stalled_ns = self.stalled_ns.saturating_add(stalled_ns);
    }

    pub fn clock_stepped(&mut self, frame: u64, more_ns: i64) {
        self.clock_steps.add(frame);
        self.clock_stepped_ns = self.clock_stepped_ns.saturating_add(more_ns.saturating_abs());
    }

    /// Adds another connection's.
    pub fn join(&mut self, other: &Anomalies) {
        self.duplicates.join(other.duplicates);
        self.reordered.join(other.reordered);
        self.duplicate_acks.join(other.duplicate_acks);
        self.timeouts.join(other.timeouts);
        self.timeout_ns = self.timeout_ns.saturating_add(other.timeout_ns);
        self.stalls.join(other.stalls);
        self.stalled_ns = self.stalled_ns.saturating_add(other.stalled_ns);
        self.offloaded.join(other.offloaded);
        self.cut.join(other.cut);
        self.clock_steps.join(other.clock_steps);
        self.clock_stepped_ns = self.clock_stepped_ns.saturating_add(other.clock_stepped_ns);
        self.zero_windows.join(other.zero_windows);
    }
}
