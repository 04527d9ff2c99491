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

/// Values are looked for among fewer than a row in so many.
const WORTH: usize = 8;

impl<T: Copy> Distinct<T> {
    /// The column with the `value` of each row; values with the same `key` are the same.
    pub fn of<K: Hash + Eq>(rows: usize, value: impl Fn(usize) -> T, key: impl Fn(T) -> K) -> Distinct<T> {
        let most = (rows / WORTH).min(1 << u16::BITS);
        let (mut places, mut values, mut of_rows) =
            (HashMap::with_hasher(RandomState::new()), Vec::new(), Vec::with_capacity(rows));
        for row in 0..rows {
            let own = value(row);
            let place = *places.entry(key(own)).or_insert_with(|| {
                values.push(own);
                values.len() - 1
            });
            if place >= most {
                return Distinct::Many((0..rows).map(value).collect());
            }
            of_rows.push(place as u16);
        }
        Distinct::Few { values, of_rows }
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
            let column = Distinct::of(20_000, |row| row % of_each, |value| value);
            assert_eq!(matches!(column, Distinct::Few { .. }), of_each == 7);
            assert!((0..20_000).all(|row| column.get(row) == row as usize % of_each));
        }
    }
}
