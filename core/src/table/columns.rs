//! Columns that grow value by value, at little more than the cost of their numbers, and become Arrow arrays.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Int64Type, TimestampNanosecondType, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::NullBuffer;

pub trait Column: Default {
    type Value;

    fn push(&mut self, value: Self::Value);

    /// Put the rows in another order.
    fn permute(&mut self, order: &[u32]);

    /// The values move, they are not copied.
    fn into_array(self) -> ArrayRef;
}

fn permuted<T: Copy>(values: &mut Vec<T>, order: &[u32]) {
    *values = order.iter().map(|&row| values[row as usize]).collect();
}

/// Numbers, one in each row.
#[derive(Debug)]
pub struct Numbers<T: ArrowPrimitiveType>(pub Vec<T::Native>);

impl<T: ArrowPrimitiveType> Default for Numbers<T> {
    fn default() -> Self {
        Numbers(Vec::new())
    }
}

impl<T: ArrowPrimitiveType> Column for Numbers<T> {
    type Value = T::Native;

    fn push(&mut self, value: T::Native) {
        self.0.push(value);
    }

    fn permute(&mut self, order: &[u32]) {
        permuted(&mut self.0, order);
    }

    fn into_array(self) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::new(self.0.into(), None))
    }
}

/// A number type with a value that stands for null: no frame, time, count or text has it.
pub trait Nullable: ArrowPrimitiveType {
    const NULL: Self::Native;
}

impl Nullable for UInt32Type {
    const NULL: u32 = u32::MAX;
}

impl Nullable for UInt64Type {
    const NULL: u64 = u64::MAX;
}

impl Nullable for Int64Type {
    const NULL: i64 = i64::MIN;
}

impl Nullable for TimestampNanosecondType {
    const NULL: i64 = i64::MIN;
}

/// Numbers, none in some rows.
#[derive(Debug)]
pub struct Optional<T: Nullable>(Vec<T::Native>);

impl<T: Nullable> Default for Optional<T> {
    fn default() -> Self {
        Optional(Vec::new())
    }
}

impl<T: Nullable> Optional<T> {
    fn nulls(&self) -> Option<NullBuffer> {
        self.0.contains(&T::NULL).then(|| NullBuffer::from_iter(self.0.iter().map(|&value| value != T::NULL)))
    }

    pub fn iter(&self) -> impl Iterator<Item = Option<T::Native>> {
        self.0.iter().map(|&value| (value != T::NULL).then_some(value))
    }
}

impl<T: Nullable> Column for Optional<T> {
    type Value = Option<T::Native>;

    fn push(&mut self, value: Option<T::Native>) {
        self.0.push(value.unwrap_or(T::NULL));
    }

    fn permute(&mut self, order: &[u32]) {
        permuted(&mut self.0, order);
    }

    fn into_array(self) -> ArrayRef {
        let nulls = self.nulls();
        Arc::new(PrimitiveArray::<T>::new(self.0.into(), nulls))
    }
}

/// Nanoseconds since 1970-01-01 UTC.
#[derive(Debug, Default)]
pub struct Times(Optional<TimestampNanosecondType>);

impl Column for Times {
    type Value = Option<i64>;

    fn push(&mut self, value: Option<i64>) {
        self.0.push(value);
    }

    fn permute(&mut self, order: &[u32]) {
        self.0.permute(order);
    }

    fn into_array(self) -> ArrayRef {
        let nulls = self.0.nulls();
        Arc::new(PrimitiveArray::<TimestampNanosecondType>::new(self.0.0.into(), nulls).with_timezone("UTC"))
    }
}

/// One of a few names in each row.
#[derive(Debug, Default)]
pub struct Names {
    numbers: Vec<u16>,
    /// What `numbers` count in.
    names: Vec<&'static str>,
}

impl Column for Names {
    type Value = &'static str;

    fn push(&mut self, name: &'static str) {
        let known = self.names.iter().position(|&known| known == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        self.numbers.push(number as u16);
    }

    fn permute(&mut self, order: &[u32]) {
        permuted(&mut self.numbers, order);
    }

    fn into_array(self) -> ArrayRef {
        let numbers = PrimitiveArray::<UInt16Type>::from(self.numbers);
        Arc::new(DictionaryArray::new(numbers, Arc::new(StringArray::from_iter_values(self.names))))
    }
}

/// The same as plain strings, none in some rows.
#[derive(Debug, Default)]
pub struct OptionalNames(Names);

impl Column for OptionalNames {
    type Value = Option<&'static str>;

    fn push(&mut self, name: Option<&'static str>) {
        self.0.push(name.unwrap_or_default());
    }

    fn permute(&mut self, order: &[u32]) {
        self.0.permute(order);
    }

    fn into_array(self) -> ArrayRef {
        let Names { numbers, names } = self.0;
        let names = numbers.into_iter().map(|number| names[usize::from(number)]);
        Arc::new(StringArray::from_iter(names.map(|name| (!name.is_empty()).then_some(name))))
    }
}

#[derive(Debug, Default)]
pub struct Flags(Vec<bool>);

impl Column for Flags {
    type Value = bool;

    fn push(&mut self, flag: bool) {
        self.0.push(flag);
    }

    fn permute(&mut self, order: &[u32]) {
        permuted(&mut self.0, order);
    }

    fn into_array(self) -> ArrayRef {
        Arc::new(BooleanArray::from(self.0))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;

    #[test]
    fn more_names_than_a_byte_can_number_keep_their_rows() {
        let names: Vec<&'static str> = (0..300).map(|number| &*Box::leak(format!("command {number}").into())).collect();
        let mut column = Names::default();
        names.iter().for_each(|name| column.push(name));
        let array = column.into_array();
        let read = array.as_dictionary::<UInt16Type>().downcast_dict::<StringArray>().unwrap();
        assert_eq!(read.into_iter().collect::<Vec<_>>(), names.into_iter().map(Some).collect::<Vec<_>>());
    }

    #[test]
    fn nulls_stay_with_their_rows() {
        let mut column = Optional::<UInt32Type>::default();
        [Some(1), None, Some(3)].into_iter().for_each(|value| column.push(value));
        column.permute(&[2, 1, 0]);
        let array = column.into_array();
        assert_eq!(array.as_primitive::<UInt32Type>().iter().collect::<Vec<_>>(), [Some(3), None, Some(1)]);
    }
}
