//! How far a packet was read that is not whole yet: what comes in pieces is not read again from its beginning.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::rows::Format;
use super::wire::{Stop, Wire};

/// Of one side. It is forgotten when the packet has been taken in.
#[derive(Debug, Default)]
pub struct Progress {
    /// Of what is packed, and of what is not.
    places: [Cell<Place>; 2],
    /// The row's format that the packet describes, by where the row begins.
    format: RefCell<Option<(usize, Arc<Format>)>>,
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

    /// The format of the row that begins here.
    pub fn format(&self, begin: usize, read: impl FnOnce() -> Option<Format>) -> Option<Arc<Format>> {
        let mut kept = self.format.borrow_mut();
        match &*kept {
            Some((known, format)) if *known == begin => Some(format.clone()),
            _ => {
                let format = Arc::new(read()?);
                *kept = Some((begin, format.clone()));
                Some(format)
            }
        }
    }

    /// The packet has been taken in.
    pub fn reset(&self) {
        self.places.iter().for_each(|place| place.set(Place::default()));
        self.scanned.set(0);
        if self.format.borrow().is_some() {
            *self.format.borrow_mut() = None;
        }
    }
}
