//! How long a transfer of many segments takes at another RTT: the sender's window opens once a round trip.
//!
//! A sender may have `window` segments under way; every acknowledged window lets it double, up to what the receiver
//! takes (slow start; docs/model.md C.4). While it waits for acknowledgments the application goes on producing, so a
//! transfer takes as long as its production or as its rounds, whichever is slower from window to window.

use super::rtt_batch::{RTT_BATCH, Times};

/// Segments that may be sent at once on a new connection (RFC 6928).
pub const INITIAL_WINDOW: f64 = 10.0;
/// A window this long unused decays (RFC 5681, section 4.1), in ns: Linux's smallest retransmission time-out.
const MIN_TIMEOUT_NS: f64 = 200e6;

/// What a path lets a sender do.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub rtt_ns: f64,
    /// The largest window in segments.
    pub largest: f64,
    /// That is what the receiver takes at once, not what the sender keeps.
    pub narrow: bool,
    /// How many segments an acknowledged one allows: 2 doubles the window every round.
    pub growth: f64,
    /// The bottleneck's time for one segment; 0 for no limit.
    pub segment_ns: f64,
}

/// One direction of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    window: f64,
    /// When the round trip began in which it sends, and what it sent in it.
    round_at: f64,
    used: f64,
    sent_at: f64,
}

impl Default for Sender {
    fn default() -> Sender {
        Sender { window: INITIAL_WINDOW, round_at: f64::NEG_INFINITY, used: 0.0, sent_at: f64::NEG_INFINITY }
    }
}

impl Sender {
    /// The time from `now`, when the first of `segments` can be sent, to the last; the applications need
    /// `production_ns` for all of them. They make no head start while the window is closed: the send buffer holds about
    /// a window.
    pub fn send(&mut self, now: f64, segments: f64, production_ns: f64, path: &Path) -> f64 {
        if now >= self.round_at + path.rtt_ns {
            self.next_round(now, path);
        }
        if segments <= self.window - self.used {
            self.used += segments;
            let time = ((segments - 1.0).max(0.0) * path.segment_ns).max(production_ns);
            self.sent_at = now + time;
            return time;
        }
        self.send_in_rounds(now, segments, production_ns, path)
    }

    /// The same where the window does not hold all of it.
    fn send_in_rounds(&mut self, now: f64, segments: f64, production_ns: f64, path: &Path) -> f64 {
        let segment_ns = path.segment_ns.max(production_ns / segments.max(1.0));
        let (mut sent, mut time) = (0.0, 0.0_f64);
        while sent + self.window - self.used < segments {
            let part = (self.window - self.used).max(0.0);
            if part >= self.used {
                self.round_at = now + time; // the window opens again when most of it is acknowledged
            }
            sent += part;
            time = (self.round_at + path.rtt_ns + path.segment_ns - now).max(time + part * segment_ns);
            self.used = self.window;
            self.next_round(now + time, path);
        }
        self.used += segments - sent;
        let rest = (segments - sent - 1.0).max(0.0) * segment_ns;
        time = (time + rest).max(production_ns);
        self.sent_at = now + time;
        time
    }

    /// A window grows only while it is used: to twice what was under way.
    fn next_round(&mut self, now: f64, path: &Path) {
        let grown = (self.window * path.growth).min(2.0 * self.used).min(path.largest);
        self.window = self.window.max(grown);
        (self.round_at, self.used) = (now, 0.0);
    }

    /// At least `segments` were under way at once: the capture shows it.
    pub fn widen(&mut self, segments: f64) {
        self.window = self.window.max(segments);
    }

    /// No more than so many can be.
    pub fn narrow(&mut self, segments: f64) {
        self.window = self.window.min(segments);
    }

    pub fn window(&self) -> f64 {
        self.window
    }

    /// After a pause, down to the initial window.
    pub fn halve(&mut self, times: u8) {
        if times > 0 && self.window > INITIAL_WINDOW {
            self.window = (self.window / f64::from(times).exp2()).max(INITIAL_WINDOW);
            self.used = 0.0;
        }
    }
}

/// One direction of one connection at a few RTTs, side by side.
#[derive(Clone, Copy, Debug)]
pub struct Senders {
    window: Times,
    round_at: Times,
    used: Times,
    sent_at: Times,
}

impl Default for Senders {
    fn default() -> Senders {
        let Sender { window, round_at, used, sent_at } = Sender::default();
        let [window, round_at, used, sent_at] = [window, round_at, used, sent_at].map(Times::all);
        Senders { window, round_at, used, sent_at }
    }
}

impl Senders {
    /// `Sender::send` of each; mostly their windows hold the message.
    pub fn send(&mut self, now: Times, segments: f64, production_ns: f64, path: &Path, rtts: &Times) -> Times {
        let since_round = now - (self.round_at + *rtts);
        let grown = self.window.times(path.growth).min(self.used.times(2.0)).min(Times::all(path.largest));
        let window = since_round.choose(self.window.max(grown), self.window);
        let used = since_round.choose(Times::default(), self.used);
        if (window - used).least() >= segments {
            let time = ((segments - 1.0).max(0.0) * path.segment_ns).max(production_ns);
            let round_at = since_round.choose(now, self.round_at);
            *self = Senders { window, round_at, used: used + segments, sent_at: now + time };
            return Times::all(time);
        }
        let mut times = now;
        for (place, time) in times.0.iter_mut().enumerate() {
            let path = Path { rtt_ns: rtts.0[place], ..*path };
            *time = self.one(place, |sender| sender.send(*time, segments, production_ns, &path));
        }
        times
    }

    /// Windows hold a message that have never opened; all are at the same RTT.
    pub fn always_hold(&self, now: Times, segments: f64, rtts: &Times) -> bool {
        let is_next_round = now.0[0] >= self.round_at.0[0] + rtts.0[0];
        segments + if is_next_round { 0.0 } else { self.used.0[0] } <= INITIAL_WINDOW
    }

    /// How often their windows are halved by `now`, if all are at the same RTT.
    pub fn halvings(&self, now: Times, rtts: &Times) -> u8 {
        halvings(now.0[0] - self.sent_at.0[0] - rtts.0[0])
    }

    /// Their last messages were sent by `now`.
    pub fn sent_by(&mut self, now: Times) {
        self.sent_at = now;
    }

    /// What happens to each of them alone.
    pub fn each(&mut self, mut change: impl FnMut(&mut Sender)) {
        (0..RTT_BATCH).for_each(|place| self.one(place, &mut change));
    }

    #[inline]
    pub fn one<T>(&mut self, place: usize, change: impl FnOnce(&mut Sender) -> T) -> T {
        let mut sender = Sender {
            window: self.window.0[place],
            round_at: self.round_at.0[place],
            used: self.used.0[place],
            sent_at: self.sent_at.0[place],
        };
        let result = change(&mut sender);
        self.window.0[place] = sender.window;
        self.round_at.0[place] = sender.round_at;
        self.used.0[place] = sender.used;
        self.sent_at.0[place] = sender.sent_at;
        result
    }
}

/// How often a window is halved in a pause: once for every time-out that passes in silence.
fn halvings(idle_ns: f64) -> u8 {
    if idle_ns.is_finite() { (idle_ns / MIN_TIMEOUT_NS) as u8 } else { 0 }
}

#[cfg(test)]
#[path = "transfer_tests.rs"]
mod tests;
