//! What a column's numbers stand for: how a value becomes a number, and the numbers an Arrow array.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Int64Type, TimestampNanosecondType, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, StringArray, UInt32Array};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

use super::packed::NULL;
use super::rows::Rows;
use super::view::View;

/// A value as a column keeps it; null for none.
pub trait Value {
    fn number(self) -> i64;
}

impl Value for u32 {
    fn number(self) -> i64 {
        self.into()
    }
}

impl Value for i64 {
    fn number(self) -> i64 {
        self
    }
}

impl Value for u64 {
    /// Its bits: all of them count in a hash, and nothing that is counted reaches 2^63.
    fn number(self) -> i64 {
        self as i64
    }
}

impl Value for bool {
    fn number(self) -> i64 {
        self.into()
    }
}

impl<T: Value> Value for Option<T> {
    fn number(self) -> i64 {
        self.map_or(NULL, T::number)
    }
}

/// What the rows of a column are in Arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    U32,
    U64,
    /// Likewise, of which each bit counts: none is null.
    Hash,
    I64,
    /// Nanoseconds since 1970-01-01 UTC.
    Time,
    Flag,
    /// One of a few names.
    Name,
    /// The same as plain strings.
    Text,
}

impl Kind {
    /// A column of the rows `within`, as an array; `words` are those that its numbers stand for, where they do.
    pub fn array<const COLUMNS: usize>(
        self,
        rows: &Rows<COLUMNS>,
        view: &View,
        column: usize,
        within: &Range<usize>,
        words: &[&str],
    ) -> io::Result<ArrayRef> {
        Ok(match self {
            Kind::U32 => {
                Arc::new(primitive::<UInt32Type, COLUMNS>(rows, view, column, within, |number| number as u32)?)
            }
            Kind::U64 => {
                Arc::new(primitive::<UInt64Type, COLUMNS>(rows, view, column, within, |number| number as u64)?)
            }
            Kind::Hash => Arc::new(PrimitiveArray::<UInt64Type>::from(rows.column(
                view,
                column,
                within,
                |hash| hash as u64,
                |_| {},
            )?)),
            Kind::I64 => Arc::new(primitive::<Int64Type, COLUMNS>(rows, view, column, within, |number| number)?),
            Kind::Time => Arc::new(
                primitive::<TimestampNanosecondType, COLUMNS>(rows, view, column, within, |time| time)?
                    .with_timezone("UTC"),
            ),
            Kind::Flag => Arc::new(BooleanArray::from(rows.column(view, column, within, |flag| flag == 1, |_| {})?)),
            Kind::Name => {
                let numbers = primitive::<UInt16Type, COLUMNS>(rows, view, column, within, |number| number as u16)?;
                Arc::new(DictionaryArray::new(numbers, Arc::new(StringArray::from_iter_values(words))))
            }
            Kind::Text => {
                let numbers = rows.column(view, column, within, |number| number, |_| {})?;
                let word = |number: i64| usize::try_from(number).ok().and_then(|number| words.get(number));
                Arc::new(StringArray::from_iter(numbers.into_iter().map(word)))
            }
        })
    }

    /// The same as whoever computes wants it: texts as numbers, in the order in which they are read first.
    pub fn coded<const COLUMNS: usize>(
        self,
        rows: &Rows<COLUMNS>,
        view: &View,
        column: usize,
        within: &Range<usize>,
        words: &[&str],
    ) -> io::Result<ArrayRef> {
        if self != Kind::Text {
            return self.array(rows, view, column, within, words);
        }
        let numbers = primitive::<UInt32Type, COLUMNS>(rows, view, column, within, |number| number as u32)?;
        if numbers.null_count() == numbers.len() {
            return Ok(Arc::new(DictionaryArray::new(numbers, Arc::new(StringArray::new_null(0)))));
        }
        let mut codes = vec![None; words.len()];
        let (mut of_words, mut read) = (HashMap::new(), Vec::new());
        let coded: UInt32Array = numbers
            .iter()
            .map(|number| {
                let number = number? as usize;
                let (code, word) = (codes.get_mut(number)?, words.get(number)?);
                Some(*code.get_or_insert_with(|| {
                    *of_words.entry(*word).or_insert_with(|| {
                        read.push(*word);
                        read.len() as u32 - 1
                    })
                }))
            })
            .collect();
        Ok(Arc::new(DictionaryArray::new(coded, Arc::new(StringArray::from_iter_values(read)))))
    }
}

fn primitive<T: ArrowPrimitiveType, const COLUMNS: usize>(
    rows: &Rows<COLUMNS>,
    view: &View,
    column: usize,
    within: &Range<usize>,
    value: impl Fn(i64) -> T::Native,
) -> io::Result<PrimitiveArray<T>> {
    let mut valid: Option<BooleanBufferBuilder> = None;
    let null = |place| {
        let valid = valid.get_or_insert_with(|| {
            let mut all = BooleanBufferBuilder::new(within.len());
            all.append_n(within.len(), true);
            all
        });
        valid.set_bit(place, false);
    };
    let values = rows.column(view, column, within, value, null)?;
    Ok(PrimitiveArray::new(values.into(), valid.map(|mut valid| NullBuffer::new(valid.finish()))))
}
