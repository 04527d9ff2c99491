//! Passes over numpy columns: see `latpcap_core::passes`. Columns come without a copy, so they must be contiguous.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use latpcap_core::job::of_connections;
use latpcap_core::passes;

type Ints<'py> = PyReadonlyArray1<'py, i64>;
type Bools<'py> = PyReadonlyArray1<'py, bool>;
type NewInts<'py> = Bound<'py, PyArray1<i64>>;
type NewBools<'py> = Bound<'py, PyArray1<bool>>;

/// Rows in the order of their groups, and where each group begins (at last, where the last one ends).
#[pyfunction]
pub fn grouped<'py>(py: Python<'py>, keys: Vec<Ints<'py>>) -> PyResult<(NewInts<'py>, NewInts<'py>)> {
    let (keys, rows) = slices(&keys)?;
    let (order, starts) = py.detach(|| passes::groups(&keys, rows));
    Ok((order.into_pyarray(py), starts.into_pyarray(py)))
}

/// A number for each distinct combination of keys, from 0 on in their order.
#[pyfunction]
pub fn numbered<'py>(py: Python<'py>, keys: Vec<Ints<'py>>) -> PyResult<NewInts<'py>> {
    let (keys, rows) = slices(&keys)?;
    Ok(py.detach(|| passes::numbered(&keys, rows)).into_pyarray(py))
}

/// The distinct values in their order, and how often each occurs.
#[pyfunction]
pub fn counted<'py>(py: Python<'py>, values: Ints<'py>) -> PyResult<(NewInts<'py>, NewInts<'py>)> {
    let values = values.as_slice()?;
    same_length([values.len()])?;
    let (distinct, counts) = py.detach(|| passes::counted(values));
    Ok((distinct.into_pyarray(py), counts.into_pyarray(py)))
}

/// The rows in the order of their keys, the first key first; equal ones stay in their order.
#[pyfunction]
pub fn ordered<'py>(py: Python<'py>, keys: Vec<Ints<'py>>) -> PyResult<NewInts<'py>> {
    let (keys, rows) = slices(&keys)?;
    Ok(py.detach(|| passes::order(&keys, rows)).into_pyarray(py))
}

/// The first row with the same value as each.
#[pyfunction]
pub fn first_alike<'py>(py: Python<'py>, values: Ints<'py>) -> PyResult<NewInts<'py>> {
    let values = values.as_slice()?;
    same_length([values.len()])?;
    Ok(py.detach(|| passes::first_alike(values)).into_pyarray(py))
}

/// How many different numbers below `count` each group has; group g is `numbers[starts[g]:starts[g + 1]]`.
#[pyfunction]
pub fn distinct<'py>(py: Python<'py>, numbers: Ints<'py>, count: usize, starts: Ints<'py>) -> PyResult<NewInts<'py>> {
    let (numbers, starts) = (numbers.as_slice()?, starts.as_slice()?);
    places(numbers, count)?;
    edges(starts, numbers.len())?;
    Ok(py.detach(|| passes::distinct(numbers, count, starts)).into_pyarray(py))
}

/// The lane of each connection by when it begins and ends: see `latpcap_core::job::of_connections`.
#[pyfunction]
pub fn lanes<'py>(py: Python<'py>, start: Ints<'py>, end: Ints<'py>) -> PyResult<NewInts<'py>> {
    let (start, end) = (start.as_slice()?, end.as_slice()?);
    same_length([start.len(), end.len()])?;
    Ok(py.detach(|| of_connections(start, end)).into_pyarray(py))
}

/// The last value that is not negative at or before each row of its run of equal `key`; -1 where there is none.
#[pyfunction]
pub fn last_known<'py>(py: Python<'py>, values: Ints<'py>, key: Ints<'py>) -> PyResult<NewInts<'py>> {
    let (values, key) = (values.as_slice()?, key.as_slice()?);
    same_length([values.len(), key.len()])?;
    Ok(py.detach(|| passes::last_known(values, key)).into_pyarray(py))
}

/// The largest value at or before each row of its run of equal `key`.
#[pyfunction]
pub fn running_maximum<'py>(py: Python<'py>, values: Ints<'py>, key: Ints<'py>) -> PyResult<NewInts<'py>> {
    let (values, key) = (values.as_slice()?, key.as_slice()?);
    same_length([values.len(), key.len()])?;
    Ok(py.detach(|| passes::running_maximum(values, key)).into_pyarray(py))
}

/// The execution that each row serves; -1 for none. See `latpcap_core::passes::serving`.
#[pyfunction]
pub fn serving<'py>(
    py: Python<'py>,
    order: Ints<'py>,
    starts: Ints<'py>,
    executes: Bools<'py>,
    prepares: Bools<'py>,
) -> PyResult<NewInts<'py>> {
    let (order, starts) = (order.as_slice()?, starts.as_slice()?);
    let (executes, prepares) = (executes.as_slice()?, prepares.as_slice()?);
    let rows = same_length([executes.len(), prepares.len()])?;
    edges(starts, order.len())?;
    places(order, rows)?;
    Ok(py.detach(|| passes::serving(order, starts, executes, prepares)).into_pyarray(py))
}

/// The sum of each group, and whether it has one; rows of group -1 and those that are not `known` are left out.
#[pyfunction]
#[pyo3(signature = (group, values, count, known=None))]
pub fn sums<'py>(
    py: Python<'py>,
    group: Ints<'py>,
    values: Ints<'py>,
    count: usize,
    known: Option<Bools<'py>>,
) -> PyResult<(NewInts<'py>, NewBools<'py>)> {
    let (group, values) = (group.as_slice()?, values.as_slice()?);
    let known = known.as_ref().map(|known| known.as_slice()).transpose()?;
    same_length([group.len(), values.len(), known.map_or(group.len(), <[bool]>::len)])?;
    let found = py.detach(|| passes::sums(group, values, known, count));
    Ok((found.sums.into_pyarray(py), found.any.into_pyarray(py)))
}

/// The texts that hold one of `words`: text t is `data[starts[t]:starts[t + 1]]`.
#[pyfunction]
pub fn holding<'py>(
    py: Python<'py>,
    starts: Ints<'py>,
    data: PyReadonlyArray1<'py, u8>,
    words: Vec<String>,
) -> PyResult<NewBools<'py>> {
    let (starts, bytes) = (starts.as_slice()?, data.as_slice()?);
    edges(starts, bytes.len())?;
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    Ok(py.detach(|| passes::holding(starts, bytes, &words)).into_pyarray(py))
}

/// The first text with the same bytes as each.
#[pyfunction]
pub fn first_like<'py>(py: Python<'py>, starts: Ints<'py>, data: PyReadonlyArray1<'py, u8>) -> PyResult<NewInts<'py>> {
    let (starts, bytes) = (starts.as_slice()?, data.as_slice()?);
    edges(starts, bytes.len())?;
    Ok(py.detach(|| passes::first_like(starts, bytes)).into_pyarray(py))
}

/// The values of each of `count` groups in ascending order, and where each group begins (at last, where the last one
/// ends). Rows that are not `known` are left out; without `groups`, the others are one.
#[pyfunction]
#[pyo3(signature = (groups, values, count, known=None))]
pub fn ascending<'py>(
    py: Python<'py>,
    groups: Option<Ints<'py>>,
    values: Ints<'py>,
    count: usize,
    known: Option<Bools<'py>>,
) -> PyResult<(NewInts<'py>, NewInts<'py>)> {
    let groups = groups.as_ref().map(|groups| groups.as_slice()).transpose()?;
    let (values, known) = (values.as_slice()?, known.as_ref().map(|known| known.as_slice()).transpose()?);
    let length = |length: Option<usize>| length.unwrap_or(values.len());
    same_length([values.len(), length(groups.map(<[i64]>::len)), length(known.map(<[bool]>::len))])?;
    let is_known = |&(row, _): &(usize, &i64)| known.is_none_or(|known| known[row]);
    places(groups.unwrap_or_default().iter().enumerate().filter(is_known).map(|(_, group)| group), count)?;
    if groups.is_none() && count == 0 {
        return Err(PyValueError::new_err("values need a group"));
    }
    let (sorted, starts) = py.detach(|| passes::ascending(groups, values, known, count));
    Ok((sorted.into_pyarray(py), starts.into_pyarray(py)))
}

/// The nearest-rank quantile of each group `values[starts[g]:starts[g + 1]]`, which ascends; NaN for an empty one.
#[pyfunction]
pub fn quantile<'py>(
    py: Python<'py>,
    values: Ints<'py>,
    starts: Ints<'py>,
    fraction: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (values, starts) = (values.as_slice()?, starts.as_slice()?);
    edges(starts, values.len())?;
    Ok(py.detach(|| passes::quantile(values, starts, fraction)).into_pyarray(py))
}

/// Columns, and the length that all of them have.
fn slices<'a>(columns: &'a [Ints<'_>]) -> PyResult<(Vec<&'a [i64]>, usize)> {
    let columns = columns.iter().map(|column| column.as_slice()).collect::<Result<Vec<_>, _>>()?;
    let rows = same_length(columns.iter().map(|column| column.len()))?;
    Ok((columns, rows))
}

/// The length that all columns have.
fn same_length(lengths: impl IntoIterator<Item = usize>) -> PyResult<usize> {
    let mut lengths = lengths.into_iter();
    let first = lengths.next().unwrap_or(0);
    match lengths.all(|length| length == first) && u32::try_from(first).is_ok() {
        true => Ok(first),
        false => Err(PyValueError::new_err("columns have one length, of less than 4 billion rows")),
    }
}

/// Where groups begin and end in a column of `rows`.
fn edges(starts: &[i64], rows: usize) -> PyResult<()> {
    places(starts, rows + 1)?;
    match starts.is_sorted() {
        true => Ok(()),
        false => Err(PyValueError::new_err("groups follow each other")),
    }
}

/// All numbers are rows of a column.
fn places<'a>(numbers: impl IntoIterator<Item = &'a i64>, rows: usize) -> PyResult<()> {
    match numbers.into_iter().all(|&number| usize::try_from(number).is_ok_and(|number| number < rows)) {
        true => Ok(()),
        false => Err(PyValueError::new_err("a row is beyond the column")),
    }
}
