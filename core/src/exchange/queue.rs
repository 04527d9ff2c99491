//! The exchanges of one connection: those that are over and not taken yet, in the order of their ends, and behind them
//! those under way, in the order of their requests. An exchange stays where it is from its request until it is taken.

use std::collections::VecDeque;
use std::ops::Range;

use super::Exchange;
use crate::protocols::Awaits;
use crate::side::Side;
use crate::stream::Mark;

/// More than all sessions of a connection have under way at once; whoever looks for a session's looks no further.
const SESSION_REQUESTS: usize = 1 << 10;
/// Exchanges that are there at once, if not many are pipelined.
const USUAL_REQUESTS: usize = 16;
/// Most connections have one under way, beside one that is over and is taken when the client speaks again.
const FEW_REQUESTS: usize = 2;

pub struct Open {
    pub exchange: Exchange,
    pub awaits: Awaits,
    /// The server that answers has acknowledged the client's stream up to here.
    pub asked: u64,
    /// What the client had received of the server's stream when it asked: the answer begins there.
    pub had_received: u64,
    /// The client's last packet that is not answered yet.
    pub waiting_since: Option<Mark>,
    /// A server that has acknowledged the client's stream up to here has received that packet.
    pub continued: u64,
    /// The server has spoken in this exchange.
    pub answered: bool,
    /// It ends when the client speaks again.
    pub ends_with_next: bool,
    /// The client has spoken again, in a stream that cannot be read: what the server sends next shows whether it was
    /// over.
    pub turned: bool,
    /// Which of several sessions on the connection it belongs to.
    pub session: Option<u16>,
    /// The client has asked something else in another session since it was answered: what is still to come of the
    /// answer, it does not wait for.
    pub is_left: bool,
}

impl Open {
    pub fn is_awaited(&self) -> bool {
        matches!(self.awaits, Awaits::Answer | Awaits::Shared)
    }
}

#[derive(Default)]
pub struct Queue {
    all: VecDeque<Open>,
    /// How many of them are over, and how many were so when it was last asked for them.
    over: usize,
    send_delays: usize,
}

impl Queue {
    /// How many are under way.
    #[inline]
    pub fn len(&self) -> usize {
        self.all.len() - self.over
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The oldest one under way: the server answers it next.
    #[inline]
    pub fn oldest(&self) -> Option<&Open> {
        self.all.get(self.over)
    }

    #[inline]
    pub fn oldest_mut(&mut self) -> Option<&mut Open> {
        self.all.get_mut(self.over)
    }

    /// The one that was asked last.
    pub fn newest(&self) -> Option<&Open> {
        if self.is_empty() { None } else { self.all.back() }
    }

    /// The one after the oldest.
    #[inline]
    pub fn second(&self) -> Option<&Open> {
        self.all.get(self.over + 1)
    }

    /// The newest one under way: the client goes on with it.
    #[inline]
    pub fn newest_mut(&mut self) -> Option<&mut Open> {
        if self.is_empty() { None } else { self.all.back_mut() }
    }

    /// Makes the oldest exchange of a session the oldest of all (`Server`: it answers that), or its newest the newest
    /// (`Client`). False where there is none.
    pub fn turn_to(&mut self, session: u16, side: Side) -> bool {
        let mut of_session = self.newest_ones().filter(|&at| self.all[at].session == Some(session));
        let (found, place) = match side {
            Side::Server => (of_session.next(), self.over),
            Side::Client => (of_session.next_back(), self.all.len().saturating_sub(1)),
        };
        let Some(found) = found else { return false };
        if found != place
            && let Some(open) = self.all.remove(found)
        {
            self.all.insert(place, open);
        }
        true
    }

    fn newest_ones(&self) -> Range<usize> {
        self.over.max(self.all.len().saturating_sub(SESSION_REQUESTS))..self.all.len()
    }

    /// Those under way on a connection that several sessions share.
    pub fn of_sessions(&self) -> impl Iterator<Item = &Open> {
        self.all.range(self.newest_ones())
    }

    pub fn of_sessions_mut(&mut self) -> impl Iterator<Item = &mut Open> {
        let range = self.newest_ones();
        self.all.range_mut(range)
    }

    /// All under way.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Open> {
        self.all.range(self.over..)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Open> {
        self.all.range_mut(self.over..)
    }

    /// A new one, behind all others.
    #[inline]
    pub fn push(&mut self, open: Open) {
        self.make_room();
        self.all.push_back(open);
    }

    /// One that is over at once, before those under way: it is the oldest now.
    pub fn push_oldest(&mut self, open: Open) {
        self.make_room();
        self.all.insert(self.over, open);
    }

    /// The oldest one is over.
    #[inline]
    pub fn end_oldest(&mut self) {
        self.over += 1;
    }

    /// Some are over that were not so when it was last asked for them.
    #[inline]
    pub fn has_newly_over(&self) -> bool {
        self.over > self.send_delays
    }

    /// Some are over that it was asked for before.
    #[inline]
    pub fn holds(&self) -> bool {
        self.send_delays > 0
    }

    /// The one that was over last, if it was not so when it was last asked for them.
    pub fn newly_over_mut(&mut self) -> Option<&mut Open> {
        if self.has_newly_over() { self.all.get_mut(self.over - 1) } else { None }
    }

    /// Those from this number on: the ones that are over, and the ones under way.
    pub fn each_since(&mut self, number: u32, mut take: impl FnMut(&mut Open)) {
        let newer = self.iter().rev().take_while(|open| open.exchange.number >= number).count();
        for places in [0..self.over, self.all.len() - newer..self.all.len()] {
            self.all.range_mut(places).filter(|open| open.exchange.number >= number).for_each(&mut take);
        }
    }

    /// Moves those that are over to the exchanges of other connections, if nothing more will be learnt of them.
    #[inline]
    pub fn take_over(&mut self, all: &mut Vec<Exchange>, is_known: bool) {
        if is_known {
            // Nothing but the error is more than a number: what is moved is written once, where it goes.
            let over = self.all.range_mut(..self.over).map(|open| &mut open.exchange);
            all.extend(over.map(|over| Exchange { error: over.error.take(), ..*over }));
            (0..self.over).for_each(|_| drop(self.all.pop_front()));
            self.over = 0;
        }
        self.send_delays = self.over;
    }

    /// Room is kept for what is usual, or for nothing.
    #[inline]
    pub fn shrink(&mut self, keeps_room: bool) {
        let usual = if keeps_room { USUAL_REQUESTS } else { 0 };
        if self.all.capacity() > usual && self.all.len() <= FEW_REQUESTS {
            self.all.shrink_to(usual);
        }
    }

    /// What they take beside one, and room beyond the usual that is kept for later ones.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        self.all.capacity().saturating_sub(USUAL_REQUESTS).max(self.all.len().saturating_sub(1)) * size_of::<Open>()
    }

    #[inline]
    fn make_room(&mut self) {
        if self.all.len() == self.all.capacity() && self.all.len() < FEW_REQUESTS {
            self.all.reserve_exact(1);
        }
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
