//! Where packets were captured: files that follow each other are of one place, and each interface there is a tap.

use std::collections::HashMap;

/// Which file, of those that follow each other, is the first one, and which interface of them it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap {
    /// The first file's number.
    pub file: usize,
    pub place: u16,
    pub interface: u32,
}

#[derive(Debug)]
struct Place {
    first: usize,
    /// The last file so far.
    last: usize,
    /// How many interfaces have shown packets.
    taps: usize,
}

#[derive(Debug, Default)]
pub(super) struct Taps {
    places: Vec<Place>,
    taps: Vec<Tap>,
    several_interfaces: bool,
    numbers: HashMap<(u16, u32), u16, ahash::RandomState>,
}

impl Taps {
    /// The last files of all places.
    pub fn last_files(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> {
        self.places.iter().map(|place| place.last).enumerate()
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// A file begins, which goes on with those of a place, or is the first one of another.
    pub fn begin(&mut self, file: usize, goes_on: Option<usize>) -> u16 {
        let place = goes_on.unwrap_or(self.places.len());
        match self.places.get_mut(place) {
            Some(place) => place.last = file,
            None => self.places.push(Place { first: file, last: file, taps: 0 }),
        }
        u16::try_from(place).unwrap_or(u16::MAX)
    }

    /// Are there several taps at one place?
    pub fn has_several_interfaces(&self) -> bool {
        self.several_interfaces
    }

    /// The tap's number.
    #[cold]
    pub fn number(&mut self, place: u16, interface: u32) -> u16 {
        *self.numbers.entry((place, interface)).or_insert_with(|| {
            let number = u16::try_from(self.taps.len()).unwrap_or(u16::MAX);
            let known = self.places.get_mut(usize::from(place));
            let file = known.map_or(0, |known| {
                known.taps += 1;
                self.several_interfaces |= known.taps > 1;
                known.first
            });
            self.taps.push(Tap { file, place, interface });
            number
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = Tap> {
        self.taps.iter().copied()
    }

    pub fn get(&self, number: u16) -> Option<Tap> {
        self.taps.get(usize::from(number)).copied()
    }

    /// Is it one of several interfaces there?
    pub fn is_one_of_several(&self, tap: Tap) -> bool {
        self.taps.iter().any(|other| other.place == tap.place && other.interface != tap.interface)
    }
}
