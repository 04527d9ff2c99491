//! How far a packet was read that is not whole yet: what comes in pieces is not read again from its beginning.

use std::cell::Cell;

use super::wire::{Stop, Wire};

/// The progress in one side's packet, until that has been taken in.
#[derive(Debug, Default)]
pub struct Progress {
    /// The places in a row as packed, and in one as plain.
    places: [Cell<Place>; 2],
    /// No packet begins in a row of unknown format before this byte.
    pub scanned: Cell<usize>,
}

/// The next one of so many items that begin at a byte, and where it stands.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    begin: usize,
    count: usize,
    item: usize,
    at: usize,
}

impl Progress {
    /// Pass the items that begin here, from the first one on that has not been passed.
    pub fn each(
        &self,
        packed: bool,
        count: usize,
        wire: &mut Wire<'_>,
        mut pass: impl FnMut(usize, &mut Wire<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let (begin, kept) = (wire.position(), &self.places[usize::from(packed)]);
        let mut place = Place { begin, count, item: 0, at: begin };
        if (kept.get().begin, kept.get().count) == (begin, count) {
            place = kept.get();
            wire.forward(place.at)?;
        }
        while place.item < count {
            if let Err(stop) = pass(place.item, wire) {
                kept.set(place);
                return Err(stop);
            }
            place = Place { item: place.item + 1, at: wire.position(), ..place };
        }
        kept.set(place);
        Ok(())
    }

    /// The packet has been taken in.
    pub fn reset(&self) {
        self.places.iter().for_each(|place| place.set(Place::default()));
        self.scanned.set(0);
    }
}
