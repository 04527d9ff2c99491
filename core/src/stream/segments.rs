//! Segments with data over the time of a connection, and those of them that were sent again.
//!
//! A row is a slot of time in which some passed. Where rows become many, slots become longer, so a connection keeps a few
//! however long it lasts.

use crate::side::Side;

const SECOND_NS: i64 = 1_000_000_000;
/// How long slots can be, each a multiple of the one before it, and how many rows are many. 512 are more than ten for
/// each interval of a report, so slots are never longer than these.
const SLOTS: [(i64, usize); 7] = [
    (SECOND_NS / 1_000, 512),
    (SECOND_NS / 100, 512),
    (SECOND_NS / 10, 512),
    (SECOND_NS, 512),
    (10 * SECOND_NS, 512),
    (60 * SECOND_NS, 1 << 16),
    (86_400 * SECOND_NS, usize::MAX),
];
/// What turns out to have arrived was sent again in one of the last slots.
const LATELY: usize = 8;

/// What passed in one slot, by the side that sent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    pub begin_ns: i64,
    /// Segments with data, those that were sent again included.
    pub sent: [u32; 2],
    pub again: [u32; 2],
    /// Of these, what had arrived.
    pub spurious: [u32; 2],
}

/// The slots of a connection in which segments with data passed, in their order.
#[derive(Debug, Default)]
pub struct Segments {
    slots: Vec<Slot>,
    /// Index into `SLOTS`.
    length: usize,
}

impl Segments {
    /// `side` sends data.
    #[inline]
    pub fn sent(&mut self, side: Side, time_ns: i64) {
        let is_open = |last: &Slot| time_ns < last.begin_ns.saturating_add(self.length_ns());
        if !self.slots.last().is_some_and(is_open) {
            self.open(time_ns);
        }
        if let Some(slot) = self.slot_of(time_ns) {
            add(&mut slot.sent, side);
        }
    }

    /// The data that `side` sent at this time had been sent before, and `has_arrived`.
    pub fn again(&mut self, side: Side, time_ns: i64, has_arrived: bool) {
        let Some(slot) = self.slot_of(time_ns) else { return };
        add(&mut slot.again, side);
        if has_arrived {
            add(&mut slot.spurious, side);
        }
    }

    /// The slot that a packet counts in: what comes late in the last one that had begun.
    #[inline]
    fn slot_of(&mut self, time_ns: i64) -> Option<&mut Slot> {
        let at = match self.slots.last() {
            Some(last) if last.begin_ns > time_ns => self.slots.partition_point(|slot| slot.begin_ns <= time_ns),
            _ => self.slots.len(),
        };
        self.slots.get_mut(at.saturating_sub(1))
    }

    /// What `side` had sent again lately had arrived.
    pub fn had_arrived(&mut self, side: Side) {
        let untold = |slot: &&mut Slot| slot.spurious[side as usize] < slot.again[side as usize];
        if let Some(slot) = self.slots.iter_mut().rev().take(LATELY).find(untold) {
            add(&mut slot.spurious, side);
        }
    }

    pub fn swap_sides(&mut self) {
        for slot in &mut self.slots {
            slot.sent.swap(0, 1);
            slot.again.swap(0, 1);
            slot.spurious.swap(0, 1);
        }
    }

    pub fn slots(&self) -> impl ExactSizeIterator<Item = Slot> {
        self.slots.iter().copied()
    }

    pub fn length_ns(&self) -> i64 {
        SLOTS[self.length].0
    }

    pub fn kept_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    fn open(&mut self, time_ns: i64) {
        while self.slots.len() >= SLOTS[self.length].1 {
            self.lengthen();
        }
        let begin_ns = begin_of(time_ns, self.length_ns());
        if self.slots.last().is_none_or(|last| last.begin_ns < begin_ns) {
            self.slots.push(Slot { begin_ns, ..Slot::default() });
        }
    }

    fn lengthen(&mut self) {
        self.length += 1;
        let length_ns = self.length_ns();
        self.slots.iter_mut().for_each(|slot| slot.begin_ns = begin_of(slot.begin_ns, length_ns));
        self.slots.dedup_by(|later, slot| {
            let is_same = later.begin_ns == slot.begin_ns;
            if is_same {
                slot.join(later);
            }
            is_same
        });
    }
}

impl Slot {
    fn join(&mut self, other: &Slot) {
        let pairs =
            [(&mut self.sent, other.sent), (&mut self.again, other.again), (&mut self.spurious, other.spurious)];
        for (mine, theirs) in pairs {
            mine.iter_mut().zip(theirs).for_each(|(count, more)| *count = count.saturating_add(more));
        }
    }
}

fn add(counts: &mut [u32; 2], side: Side) {
    let count = &mut counts[side as usize];
    *count = count.saturating_add(1);
}

/// When the slot of that length begins that holds a time: slots begin at multiples of their length since 1970.
fn begin_of(time_ns: i64, length_ns: i64) -> i64 {
    time_ns.saturating_sub(time_ns.rem_euclid(length_ns))
}

#[cfg(test)]
#[path = "segments_tests.rs"]
mod tests;
