//! Does the capture's clock run evenly? The packets themselves show it: later ones of a side must not be earlier, and the
//! sender's own clock (the TCP timestamps option, RFC 7323 §3) must agree with the capture's.

use crate::side::Side;

/// Packets of several queues or interfaces are out of order by less.
const BACK_NS: i64 = 1_000_000;
/// How much two clocks may differ between two packets of a side; drift does not reach it.
const STEP_NS: i64 = 1_000_000_000;
/// The least time over which a sender's clock is measured before it is believed.
const TIMED_NS: i64 = 20_000_000;
/// Where a place shows nothing new of a side for so long, another one's clock is asked.
const GONE_NS: u64 = 2_000_000_000;
/// The rates of senders' clocks in use, in ticks a second; RFC 7323 allows 1 to 1000, Linux knows microseconds, too.
const RATES: [i64; 7] = [1_000, 100, 1_000_000, 250, 300, 10, 1];

/// What both senders' clocks say of the capture's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocks {
    sides: [Sender; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    /// Whose clock the times are of.
    place: u16,
    last_ns: Option<i64>,
    first: Option<Tick>,
    last: Option<Tick>,
}

#[derive(Clone, Copy, Debug)]
struct Tick {
    time_ns: i64,
    value: u32,
}

impl Clocks {
    /// What to add to the times from this segment on, where the capture's clock was set since the side's packet before.
    /// `timestamp`: the sender's clock, where the segment tells it; `fresh`: it brings something new, so it was sent after the others.
    /// Times of two places tell nothing of either clock: the first one's count, until it has shown nothing for long.
    #[inline]
    pub fn step(
        &mut self,
        (side, place): (Side, u16),
        time_ns: i64,
        timestamp: Option<u32>,
        fresh: bool,
    ) -> Option<i64> {
        let sender = &mut self.sides[side as usize];
        if sender.place != place {
            if sender.last_ns.is_some_and(|last_ns| last_ns.abs_diff(time_ns) < GONE_NS) {
                return None;
            }
            *sender = Sender { place, ..Sender::default() };
        }
        let is_before = |last_ns: i64| time_ns.saturating_add(BACK_NS) < last_ns;
        let goes_back = fresh && sender.last_ns.is_some_and(is_before);
        let told = timestamp.and_then(|value| sender.disagreement(Tick { time_ns, value }));
        if goes_back || told.is_some() {
            return self.begin_anew(place, time_ns, told);
        }
        if fresh {
            sender.last_ns = Some(time_ns);
        }
        None
    }

    /// Where it was captured what counts of a side.
    pub fn place(&self, side: Side) -> u16 {
        self.sides[side as usize].place
    }

    /// The clock was set by as much as the sender's has `told`, or else back from the latest time there was.
    #[cold]
    fn begin_anew(&mut self, place: u16, time_ns: i64, told: Option<i64>) -> Option<i64> {
        let here = self.sides.iter().filter(|sender| sender.place == place);
        let latest_ns = here.filter_map(|sender| sender.last_ns).max();
        let more_ns = told.or(latest_ns.map(|latest_ns| latest_ns.saturating_sub(time_ns)))?;
        let anew = Sender { place, last_ns: time_ns.checked_add(more_ns), ..Sender::default() };
        let here = self.sides.iter_mut().filter(|sender| sender.place == place);
        here.for_each(|sender| *sender = anew);
        Some(more_ns)
    }
}

impl Sender {
    /// Takes a segment's timestamp: what the time since the last one lacks by the sender's clock, where that is much.
    #[inline]
    fn disagreement(&mut self, now: Tick) -> Option<i64> {
        let (Some(first), Some(last)) = (self.first, self.last) else {
            (self.first, self.last) = (Some(now), Some(now));
            return None;
        };
        let (passed_ns, ticks) = last.until(now);
        if ticks < 0 {
            return None;
        }
        self.last = Some(now);
        if (0..STEP_NS).contains(&passed_ns) && ticks < 1_000 {
            return None;
        }
        let (timed_ns, timed_ticks) = first.until(last);
        lacking(passed_ns, ticks, measured_rate(timed_ns, timed_ticks))
    }
}

/// What the time that passed lacks by a clock that ticked so often meanwhile, where that is much.
#[cold]
fn lacking(passed_ns: i64, ticks: i64, measured: Option<i64>) -> Option<i64> {
    let sender_ns = |rate: i64| ticks.saturating_mul(1_000_000_000 / rate);
    let lacks_ns = |rate| sender_ns(rate).saturating_sub(passed_ns);
    // A twentieth for what the rate is off.
    let disagrees = |rate: i64| lacks_ns(rate).saturating_abs() > STEP_NS.max(sender_ns(rate) / 20);
    let nearest = |measured| near(measured).min_by_key(|rate| rate.abs_diff(measured));
    match measured.and_then(|measured| Some((measured, nearest(measured)?))) {
        // It may be any of the near ones, or none of them.
        Some((measured, nearest)) => near(measured).chain([measured]).all(disagrees).then(|| lacks_ns(nearest)),
        // Even the slowest clock would have ticked.
        None => (passed_ns > sender_ns(2).saturating_add(4 * STEP_NS)).then_some(-passed_ns),
    }
}

impl Tick {
    #[inline]
    fn until(self, later: Tick) -> (i64, i64) {
        let ticks = later.value.wrapping_sub(self.value) as i32;
        (later.time_ns.saturating_sub(self.time_ns), i64::from(ticks))
    }
}

/// These ticks in this time, as ticks a second; `None` where they are too few to tell.
fn measured_rate(timed_ns: i64, ticks: i64) -> Option<i64> {
    let rate = i128::from(ticks) * 1_000_000_000 / i128::from(timed_ns.max(1));
    (timed_ns >= TIMED_NS && ticks >= 4).then_some(rate.clamp(1, i64::MAX.into()) as i64)
}

/// The known rates that come close to the measured one.
fn near(measured: i64) -> impl Iterator<Item = i64> {
    RATES.into_iter().filter(move |&rate| rate.abs_diff(measured).saturating_mul(10) <= rate as u64 * 3)
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
