//! TCP anomalies of a connection, counted: each kind with the first packet that shows it.

use crate::packet::Segment;
use crate::side::Side;

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

/// Data of one side that were sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Resent {
    /// Of so many packets nothing tells whether they had arrived.
    untold: u32,
    /// So many had, by other signs: the receiver may say so once more.
    told: u32,
    /// Where the first of them ends that is not acknowledged yet, and its timestamp.
    first: Option<(u32, Option<u32>)>,
}

/// The anomalies of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Packets that the capture holds twice; they count nowhere else.
    pub duplicates: Tally,
    /// Segments that came after a later one of their stream.
    pub reordered: Tally,
    /// Those of them that the client sent.
    pub reordered_of_client: u64,
    /// Acknowledgments that say again what is missing.
    pub duplicate_acks: Tally,
    /// Retransmissions that their sender waited for in silence, and how long. Where both sides waited for the same loss
    /// it counts once, from when the first of them fell silent.
    pub timeouts: Tally,
    pub timeout_ns: i64,
    /// When the last one began and ended.
    timed_out: Option<(i64, i64)>,
    /// Retransmissions of what had arrived, by the side that sent them.
    pub spurious: [u64; 2],
    /// What each side sent again, as far as nothing tells yet whether it had arrived.
    resent: [Resent; 2],
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
    /// Those of them with which the client stopped the server.
    pub zero_windows_of_client: u64,
    /// When each side first reset the connection.
    pub reset_ns: [Option<i64>; 2],
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
    /// A side sends again after so long a silence: as much of that as was not counted yet.
    pub fn timed_out(&mut self, frame: u64, time_ns: i64, silent_ns: i64) -> i64 {
        let before_ns = self.timeout_ns;
        let fell_silent_ns = time_ns.saturating_sub(silent_ns);
        let (began_ns, ended_ns) = self.timed_out.unwrap_or((fell_silent_ns, fell_silent_ns));
        // The other side's time-out for the same loss began about when this one did; the next one where that ended.
        if fell_silent_ns >= began_ns.saturating_add(ended_ns.saturating_sub(began_ns) / 2) {
            self.timeouts.add(frame);
            let more_ns = time_ns.saturating_sub(fell_silent_ns.max(ended_ns));
            self.timeout_ns = self.timeout_ns.saturating_add(more_ns);
            self.timed_out = Some((fell_silent_ns, time_ns));
        } else {
            for more_ns in [time_ns.saturating_sub(ended_ns), began_ns.saturating_sub(fell_silent_ns)] {
                self.timeout_ns = self.timeout_ns.saturating_add(more_ns.max(0));
            }
            self.timed_out = Some((began_ns.min(fell_silent_ns), ended_ns.max(time_ns)));
        }
        self.timeout_ns - before_ns
    }

    /// `side` sends data again; `has_arrived`: they had been acknowledged.
    pub fn sent_again(&mut self, side: Side, segment: &Segment<'_>, has_arrived: bool) {
        let resent = &mut self.resent[side as usize];
        if has_arrived {
            self.spurious[side as usize] += 1;
            resent.told += 1;
            return;
        }
        resent.untold += 1;
        resent.first.get_or_insert((segment.sequence.wrapping_add(segment.wire_length), segment.timestamp));
    }

    /// The other side of `side`, whose data this acknowledges, says what came twice, or which copy it answers: one with
    /// an older timestamp than the second copy (Eifel, RFC 3522). Was something sent again that had arrived?
    #[inline]
    pub fn acknowledged(&mut self, side: Side, segment: &Segment<'_>) -> bool {
        let resent = &mut self.resent[side as usize];
        if resent.told == 0 && resent.untold == 0 {
            return false;
        }
        let covered = resent.first.take_if(|&mut (end, _)| segment.acknowledgment.wrapping_sub(end) as i32 >= 0);
        let answers = covered.and_then(|(_, timestamp)| Some(segment.echo?.wrapping_sub(timestamp?) as i32));
        let is_spurious = match (segment.came_twice, answers) {
            (true, _) if resent.told > 0 => {
                resent.told -= 1;
                return false;
            }
            (true, _) => true,
            (false, None) => return false,
            (false, Some(later)) => later < 0,
        };
        if resent.untold == 0 {
            return false;
        }
        resent.untold -= 1;
        resent.told += u32::from(is_spurious && !segment.came_twice);
        self.spurious[side as usize] += u64::from(is_spurious);
        is_spurious
    }

    /// `side` sent a segment that came after a later one.
    pub fn overtaken(&mut self, side: Side, frame: u64) {
        self.reordered.add(frame);
        self.reordered_of_client += u64::from(side == Side::Client);
    }

    /// `side` stopped the other.
    pub fn stopped(&mut self, side: Side, frame: u64) {
        self.zero_windows.add(frame);
        self.zero_windows_of_client += u64::from(side == Side::Client);
    }

    /// The client was the server all along.
    pub fn swap_sides(&mut self) {
        self.resent.swap(0, 1);
        self.spurious.swap(0, 1);
        self.reset_ns.swap(0, 1);
        self.reordered_of_client = self.reordered.count - self.reordered_of_client;
        self.zero_windows_of_client = self.zero_windows.count - self.zero_windows_of_client;
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

#[cfg(test)]
#[path = "anomalies_tests.rs"]
mod tests;
