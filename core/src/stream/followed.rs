//! Connections of another part of the recording: nobody reads them, but the numbers of all connections, and what is known
//! of the capture's clock, depend on them.

use std::collections::HashMap;

use super::clock::Clocks;
use super::connections::Ends;
use super::reassembly::Reassembly;
use crate::packet::{Flags, Segment};

/// As much of each as tells where it begins anew, and what its senders' clocks say.
#[derive(Debug, Default)]
pub struct Followed {
    all: HashMap<Ends, Trace, ahash::RandomState>,
    begun: usize,
}

#[derive(Debug, Default)]
struct Trace {
    streams: Reassembly,
    clocks: Clocks,
}

/// What one of them takes, with its place in the table.
const KEPT: usize = size_of::<(Ends, Trace)>() * 8 / 7 + 1;

impl Followed {
    /// How many connections have begun.
    pub fn begun(&self) -> usize {
        self.begun
    }

    pub fn kept_bytes(&self) -> usize {
        self.all.len() * KEPT
    }

    /// Takes a segment: what to add to the times from it on, beside `offset_ns`, as [`super::Connection::clock_step`] says
    /// it. `Err` where it begins a connection that there is no room for.
    pub fn pass(
        &mut self,
        segment: &Segment<'_>,
        place: u16,
        offset_ns: i64,
        has_room: bool,
    ) -> Result<Option<i64>, NoRoom> {
        let ends = Ends::of(segment);
        let side = Ends::side(segment);
        if !has_room && !self.all.contains_key(&ends) {
            return Err(NoRoom);
        }
        let begun = &mut self.begun;
        let trace = self.all.entry(ends).or_insert_with(|| {
            *begun += 1;
            Trace::default()
        });
        let opens = segment.flags.0 & (Flags::SYN | Flags::ACK) == Flags::SYN;
        if opens && trace.streams.is_new_connection(side, segment.sequence) {
            *begun += 1;
            *trace = Trace::default();
        }
        let fresh = !trace.streams.brings_nothing_new(side, segment);
        let time_ns = segment.time_ns.saturating_add(offset_ns);
        let step = trace.clocks.step((side, place), time_ns, segment.timestamp, fresh);
        if trace.clocks.place(side) == place {
            trace.streams.accept(side, &Segment { payload: &[], ..*segment });
        }
        if trace.streams.held_bytes() > 0 {
            while trace.streams.finish().is_some() {}
        }
        Ok(step)
    }
}

/// There is no room for another connection.
pub struct NoRoom;
