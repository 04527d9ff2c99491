//! Columns of an Arrow table that Python hands over.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampNanosecondType, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use latpcap_core::job::UNSEEN;
use latpcap_core::job::columns::Column;

use super::saved::stream;
use super::tables::python_error;

/// The columns of a table, which has so many of so many rows.
pub fn of(table: &Bound<'_, PyAny>, count: usize, rows: usize) -> PyResult<Vec<Column>> {
    let mut columns = vec![Column::default(); count];
    for batch in stream(table)? {
        let batch = batch.map_err(python_error)?;
        if batch.num_columns() != count {
            return Err(PyValueError::new_err("a table has other columns than were asked for"));
        }
        for (column, array) in columns.iter_mut().zip(batch.columns()) {
            add(column, array)?;
        }
    }
    match columns.iter().all(|column| column.numbers.len() == rows) {
        true => Ok(columns),
        false => Err(PyValueError::new_err("a table has other rows than were asked for")),
    }
}

/// The columns of these names, batch by batch.
pub fn batches<const COUNT: usize>(
    table: &Bound<'_, PyAny>,
    names: [&str; COUNT],
    mut take: impl FnMut([&[i64]; COUNT]),
) -> PyResult<()> {
    for batch in stream(table)? {
        let batch = batch.map_err(python_error)?;
        let mut columns = names.map(|_| Column::default());
        for (column, name) in columns.iter_mut().zip(names) {
            let found = batch.column_by_name(name);
            add(column, found.ok_or_else(|| PyValueError::new_err(format!("a table has no column {name}")))?)?;
        }
        take(columns.each_ref().map(|column| &*column.numbers));
    }
    Ok(())
}

fn add(column: &mut Column, array: &dyn Array) -> PyResult<()> {
    let to = &mut column.numbers;
    match array.data_type() {
        DataType::UInt32 => numbers::<UInt32Type>(to, array, i64::from),
        DataType::UInt64 => numbers::<UInt64Type>(to, array, |number| number as i64),
        DataType::Int64 => numbers::<Int64Type>(to, array, |number| number),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => numbers::<TimestampNanosecondType>(to, array, |time| time),
        DataType::Boolean if array.null_count() == 0 => to.extend(array.as_boolean().values().iter().map(i64::from)),
        DataType::Boolean => to.extend(array.as_boolean().iter().map(|flag| flag.map_or(UNSEEN, i64::from))),
        DataType::Dictionary(..) | DataType::Utf8 => words(column, array)?,
        other => return Err(PyTypeError::new_err(format!("a column of the exchanges is of another type: {other}"))),
    }
    Ok(())
}

fn numbers<T: ArrowPrimitiveType>(to: &mut Vec<i64>, array: &dyn Array, number: impl Fn(T::Native) -> i64) {
    let array: &PrimitiveArray<T> = array.as_primitive();
    match array.nulls() {
        None => to.extend(array.values().iter().map(|&value| number(value))),
        Some(_) => to.extend(array.iter().map(|value| value.map_or(UNSEEN, &number))),
    }
}

/// Words by their places among all of the column's; as they are, or as numbers of a dictionary.
fn words(column: &mut Column, array: &dyn Array) -> PyResult<()> {
    let (mut keys, coded) = (Vec::with_capacity(array.len()), array.as_any_dictionary_opt());
    match coded.map(|coded| (coded.keys(), coded.keys().data_type())) {
        None => keys.extend((0..array.len() as i64).map(|row| if array.is_null(row as usize) { UNSEEN } else { row })),
        Some((own, DataType::UInt16)) => numbers::<UInt16Type>(&mut keys, own, i64::from),
        Some((own, DataType::UInt32)) => numbers::<UInt32Type>(&mut keys, own, i64::from),
        Some((own, DataType::Int32)) => numbers::<Int32Type>(&mut keys, own, i64::from),
        Some((_, other)) => return Err(PyTypeError::new_err(format!("words have other numbers: {other}"))),
    }
    let own = coded.map_or(array, |coded| &**coded.values());
    let own = own.as_string_opt::<i32>().ok_or_else(|| PyTypeError::new_err("words are no texts"))?;
    let mut places: HashMap<String, i64> = column.words.drain(..).zip(0..).collect();
    let mut place = |word: Option<&str>| {
        let next = places.len() as i64;
        *places.entry(word.unwrap_or_default().to_owned()).or_insert(next)
    };
    let of_own: Vec<i64> = own.iter().map(&mut place).collect();
    column.numbers.extend(keys.into_iter().map(|key| usize::try_from(key).map_or(UNSEEN, |key| of_own[key])));
    column.words = vec![String::new(); places.len()];
    places.into_iter().for_each(|(word, place)| column.words[place as usize] = word);
    Ok(())
}
