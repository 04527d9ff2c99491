//! Columns with few distinct values: messages of a size fill as many segments, and fixes leave the same of most rows.

use std::collections::HashMap;
use std::hash::Hash;

use ahash::RandomState;

/// A value for each row.
#[derive(Debug)]
pub enum Distinct<T> {
    /// Each value once, and which of them each row has.
    Few { values: Vec<T>, of_rows: Vec<u16> },
    /// A table of the values would not be smaller.
    Many(Vec<T>),
}

/// Distinct values are kept apart if there are at least this many rows for each.
const MIN_ROWS_PER_VALUE: usize = 8;

/// A column as its rows come.
#[derive(Debug)]
pub struct Gathered<T, K> {
    column: Distinct<T>,
    places: HashMap<K, usize, RandomState>,
    most: usize,
}

impl<T: Copy, K: Hash + Eq> Gathered<T, K> {
    /// None yet of so many rows.
    pub fn of(rows: usize) -> Gathered<T, K> {
        let column = Distinct::Few { values: Vec::new(), of_rows: Vec::with_capacity(rows) };
        let most = (rows / MIN_ROWS_PER_VALUE).min(1 << u16::BITS);
        Gathered { column, places: HashMap::with_hasher(RandomState::new()), most }
    }

    /// The next row's; values with the same `key` are the same.
    pub fn push(&mut self, value: T, key: K) {
        match &mut self.column {
            Distinct::Many(values) => values.push(value),
            Distinct::Few { values, of_rows } => {
                let place = *self.places.entry(key).or_insert_with(|| {
                    values.push(value);
                    values.len() - 1
                });
                if place < self.most {
                    return of_rows.push(place as u16);
                }
                let mut all = Vec::with_capacity(of_rows.capacity());
                all.extend(of_rows.iter().map(|&place| values[place as usize]));
                all.push(value);
                (self.column, self.places) = (Distinct::Many(all), HashMap::default());
            }
        }
    }

    pub fn column(self) -> Distinct<T> {
        self.column
    }
}

impl<T: Copy> Distinct<T> {
    /// Each value, at least once.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        match self {
            Distinct::Few { values, .. } | Distinct::Many(values) => values.iter(),
        }
    }

    pub fn get(&self, row: u32) -> T {
        match self {
            Distinct::Few { values, of_rows } => values[of_rows[row as usize] as usize],
            Distinct::Many(values) => values[row as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_its_value_whether_few_or_many_are_distinct() {
        for of_each in [7, 20_000] {
            let mut column = Gathered::of(20_000);
            (0..20_000).for_each(|row| column.push(row % of_each, row % of_each));
            let column = column.column();
            assert_eq!(matches!(column, Distinct::Few { .. }), of_each == 7);
            assert!((0..20_000).all(|row| column.get(row) == row as usize % of_each));
        }
    }
}
