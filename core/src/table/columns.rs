//! Columns that grow row by row, at little more than the cost of their numbers, and become Arrow arrays.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Int64Type, TimestampNanosecondType, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{ArrowNativeType, NullBuffer};

/// What a column holds: how a value is stored, and what its rows are in Arrow.
pub trait Kind: Default {
    type Value;
    type Stored: Copy;

    fn store(&mut self, value: Self::Value) -> Self::Stored;
    fn array(self, rows: Vec<Self::Stored>) -> ArrayRef;
}

#[derive(Debug, Default)]
pub struct Column<K: Kind> {
    pub kind: K,
    pub rows: Vec<K::Stored>,
}

impl<K: Kind> Column<K> {
    pub fn push(&mut self, value: K::Value) {
        let stored = self.kind.store(value);
        self.rows.push(stored);
    }

    /// Put the rows in another order.
    pub fn permute(&mut self, order: &[u32]) {
        self.rows = order.iter().map(|&row| self.rows[row as usize]).collect();
    }

    pub fn into_array(self) -> ArrayRef {
        self.kind.array(self.rows)
    }
}

/// A number as Arrow has it, and the value that stands for null: no frame, time, count or text has it.
pub trait Integer: ArrowNativeType {
    type Arrow: ArrowPrimitiveType<Native = Self>;
    const NULL: Self;
}

impl Integer for u32 {
    type Arrow = UInt32Type;
    const NULL: u32 = u32::MAX;
}

impl Integer for u64 {
    type Arrow = UInt64Type;
    const NULL: u64 = u64::MAX;
}

impl Integer for i64 {
    type Arrow = Int64Type;
    const NULL: i64 = i64::MIN;
}

/// A number in each row; the rows move, they are not copied.
#[derive(Debug, Default)]
pub struct Number<T>(PhantomData<T>);

impl<T: Integer> Kind for Number<T> {
    type Value = T;
    type Stored = T;

    fn store(&mut self, value: T) -> T {
        value
    }

    fn array(self, rows: Vec<T>) -> ArrayRef {
        Arc::new(PrimitiveArray::<T::Arrow>::new(rows.into(), None))
    }
}

/// A number in each row, or none.
#[derive(Debug, Default)]
pub struct Optional<T>(PhantomData<T>);

fn nulls<T: Integer>(rows: &[T]) -> Option<NullBuffer> {
    rows.contains(&T::NULL).then(|| NullBuffer::from_iter(rows.iter().map(|row| *row != T::NULL)))
}

impl<T: Integer> Kind for Optional<T> {
    type Value = Option<T>;
    type Stored = T;

    fn store(&mut self, value: Option<T>) -> T {
        value.unwrap_or(T::NULL)
    }

    fn array(self, rows: Vec<T>) -> ArrayRef {
        let nulls = nulls(&rows);
        Arc::new(PrimitiveArray::<T::Arrow>::new(rows.into(), nulls))
    }
}

/// Nanoseconds since 1970-01-01 UTC, or none.
#[derive(Debug, Default)]
pub struct Time;

impl Kind for Time {
    type Value = Option<i64>;
    type Stored = i64;

    fn store(&mut self, value: Option<i64>) -> i64 {
        value.unwrap_or(i64::NULL)
    }

    fn array(self, rows: Vec<i64>) -> ArrayRef {
        let nulls = nulls(&rows);
        Arc::new(PrimitiveArray::<TimestampNanosecondType>::new(rows.into(), nulls).with_timezone("UTC"))
    }
}

/// One of a few names in each row.
#[derive(Debug, Default)]
pub struct Name(Vec<&'static str>);

impl Kind for Name {
    type Value = &'static str;
    type Stored = u16;

    fn store(&mut self, name: &'static str) -> u16 {
        let known = self.0.iter().position(|&known| known == name);
        let number = known.unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        });
        number as u16
    }

    fn array(self, rows: Vec<u16>) -> ArrayRef {
        let numbers = PrimitiveArray::<UInt16Type>::from(rows);
        Arc::new(DictionaryArray::new(numbers, Arc::new(StringArray::from_iter_values(self.0))))
    }
}

/// The same as plain strings, or none.
#[derive(Debug, Default)]
pub struct OptionalName(Name);

impl Kind for OptionalName {
    type Value = Option<&'static str>;
    type Stored = u16;

    fn store(&mut self, name: Option<&'static str>) -> u16 {
        name.map_or(u16::MAX, |name| self.0.store(name))
    }

    fn array(self, rows: Vec<u16>) -> ArrayRef {
        let Name(names) = self.0;
        Arc::new(StringArray::from_iter(rows.into_iter().map(|row| names.get(usize::from(row)))))
    }
}

#[derive(Debug, Default)]
pub struct Flag;

impl Kind for Flag {
    type Value = bool;
    type Stored = bool;

    fn store(&mut self, flag: bool) -> bool {
        flag
    }

    fn array(self, rows: Vec<bool>) -> ArrayRef {
        Arc::new(BooleanArray::from(rows))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;

    #[test]
    fn more_names_than_a_byte_can_number_keep_their_rows() {
        let names: Vec<&'static str> = (0..300).map(|number| &*Box::leak(format!("command {number}").into())).collect();
        let mut column = Column::<Name>::default();
        names.iter().for_each(|name| column.push(name));
        let array = column.into_array();
        let read = array.as_dictionary::<UInt16Type>().downcast_dict::<StringArray>().unwrap();
        assert_eq!(read.into_iter().collect::<Vec<_>>(), names.into_iter().map(Some).collect::<Vec<_>>());
    }

    #[test]
    fn nulls_stay_with_their_rows() {
        let mut column = Column::<Optional<u32>>::default();
        [Some(1), None, Some(3)].into_iter().for_each(|value| column.push(value));
        column.permute(&[2, 1, 0]);
        let array = column.into_array();
        assert_eq!(array.as_primitive::<UInt32Type>().iter().collect::<Vec<_>>(), [Some(3), None, Some(1)]);
    }
}
