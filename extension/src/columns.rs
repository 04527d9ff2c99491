//! Columns of an Arrow table that Python hands over.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use latpcap_core::job::UNSEEN;

use super::saved::stream;
use super::tables::python_error;

/// The columns of these names, batch by batch.
pub fn batches<const COUNT: usize>(
    table: &Bound<'_, PyAny>,
    names: [&str; COUNT],
    mut take: impl FnMut([&[i64]; COUNT]),
) -> PyResult<()> {
    for batch in stream(table)? {
        let batch = batch.map_err(python_error)?;
        let mut columns = names.map(|_| Vec::new());
        for (column, name) in columns.iter_mut().zip(names) {
            let found = batch.column_by_name(name);
            add(column, found.ok_or_else(|| PyValueError::new_err(format!("a table has no column {name}")))?)?;
        }
        take(columns.each_ref().map(|column| &**column));
    }
    Ok(())
}

fn add(to: &mut Vec<i64>, array: &dyn Array) -> PyResult<()> {
    match array.data_type() {
        DataType::UInt32 => numbers::<UInt32Type>(to, array, i64::from),
        DataType::UInt64 => numbers::<UInt64Type>(to, array, |number| number as i64),
        DataType::Int64 => numbers::<Int64Type>(to, array, |number| number),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => numbers::<TimestampNanosecondType>(to, array, |time| time),
        DataType::Boolean if array.null_count() == 0 => to.extend(array.as_boolean().values().iter().map(i64::from)),
        DataType::Boolean => to.extend(array.as_boolean().iter().map(|flag| flag.map_or(UNSEEN, i64::from))),
        other => return Err(PyTypeError::new_err(format!("a column is of another type: {other}"))),
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
