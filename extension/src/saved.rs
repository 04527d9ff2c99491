//! What of a recording that was saved is large, put together again as the core keeps it: packed, beyond the memory on disk.

use std::path::PathBuf;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use latpcap_core::case::{Case, kind};
use latpcap_core::disk::{Overflow, Room};
use latpcap_core::ledger::Limits;
use latpcap_core::recording::{self, ExchangeColumns, ExchangeRows, SampleColumns};
use latpcap_core::side::Side;
use latpcap_core::stream::RttSample;

use super::tables::{ArrowTable, SampleTable, python_error};

type Ints<'py> = PyReadonlyArray1<'py, i64>;

/// The exchanges of a recording that was saved.
#[pyclass]
pub struct SavedExchanges {
    /// As long as some come.
    rows: Option<ExchangeRows>,
    all: Option<ExchangeColumns>,
}

#[pymethods]
impl SavedExchanges {
    /// None yet. `memory`, `disk` and `in_memory` are those of `read`.
    #[new]
    #[pyo3(signature = (memory, disk=None, in_memory=None))]
    fn new(memory: usize, disk: Option<(PathBuf, u64)>, in_memory: Option<usize>) -> SavedExchanges {
        let mut limits = Limits::of(memory);
        limits.rows = in_memory.unwrap_or(limits.rows);
        SavedExchanges { rows: Some(ExchangeRows::within(&limits, room(disk).as_ref())), all: None }
    }

    /// What the columns are called.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        ExchangeColumns::names().collect()
    }

    /// Add rows, column by column in the order of `names`: words by their numbers, the least integer for null.
    fn add(&mut self, columns: Vec<Ints<'_>>) -> PyResult<()> {
        let columns = columns.iter().map(|column| column.as_slice()).collect::<Result<Vec<_>, _>>()?;
        self.rows.as_mut().map_or(Ok(()), |rows| rows.add_saved(&columns)).map_err(python_error)
    }

    /// What they take, with what is computed from them.
    fn kept_bytes(&self) -> usize {
        self.rows.as_ref().map_or(0, ExchangeRows::kept_bytes)
    }

    /// All are there: put them into their order. `words` are those that numbers stand for, column by column.
    fn finish(&mut self, words: Vec<(String, Vec<String>)>) -> PyResult<()> {
        let Some(mut rows) = self.rows.take() else { return Ok(()) };
        words.into_iter().for_each(|(column, words)| rows.know(&column, words));
        self.all = Some(rows.sorted()?);
        Ok(())
    }

    /// What is computed from so many does not fit in `memory` bytes.
    #[staticmethod]
    fn are_too_many(rows: usize, memory: usize) -> bool {
        ExchangeColumns::are_too_many(rows, memory)
    }

    /// One row an exchange, as `Recording.exchanges`.
    #[pyo3(signature = (columns=None, rows=None))]
    fn columns(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        rows: Option<(usize, usize)>,
    ) -> PyResult<ArrowTable> {
        let all = self.all.as_ref().ok_or_else(|| PyValueError::new_err("the rows are not finished"))?;
        let table = py.detach(|| match columns {
            None => all.batch(),
            Some(names) => all.coded(&names, rows.map(|(begin, end)| begin..end)),
        });
        table.map(ArrowTable).map_err(python_error)
    }
}

/// The RTT samples of a recording that was saved: batches of the columns `stream`, `by_server`, `time`, `rtt_ns`,
/// `segments` and `in_flight`; those of a connection in their order.
#[pyfunction]
#[pyo3(signature = (batches, memory, disk=None))]
pub fn saved_samples(batches: &Bound<'_, PyAny>, memory: usize, disk: Option<(PathBuf, u64)>) -> PyResult<SampleTable> {
    let overflow = Overflow::within(room(disk).as_ref().map(Room::for_rows));
    let samples = SampleColumns::saved(Limits::of(memory).samples, overflow, |take| {
        for batch in batches.try_iter()? {
            add_samples(&batch?.extract::<[Ints<'_>; 6]>()?, take)?;
        }
        Ok::<(), PyErr>(())
    })?;
    Ok(SampleTable(samples))
}

fn add_samples(columns: &[Ints<'_>; 6], take: &mut dyn FnMut(u32, Side, RttSample)) -> PyResult<()> {
    let slices = columns.iter().map(|column| column.as_slice()).collect::<Result<Vec<_>, _>>()?;
    let rows = slices.iter().map(|column| column.len()).min().unwrap_or(0);
    let small = |number: i64| u32::try_from(number).map_err(|_| PyValueError::new_err("a number is too large"));
    (0..rows).try_for_each(|row| {
        let [stream, by_server, time_ns, rtt_ns, segments, in_flight] = std::array::from_fn(|at| slices[at][row]);
        let side = if by_server == 0 { Side::Server } else { Side::Client };
        let sample = RttSample { time_ns, rtt_ns, segments: small(segments)?, in_flight: small(in_flight)? };
        take(small(stream)?, side, sample);
        Ok(())
    })
}

/// A row of `Recording.cases`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SavedCase {
    code: String,
    name: String,
    port: u16,
    count: u64,
    first: u64,
    span_ns: i64,
    text: String,
    place: Option<String>,
}

/// The notes that `Recording.cases` of several parts make together.
#[pyfunction]
pub fn notes_of(cases: Vec<SavedCase>) -> PyResult<ArrowTable> {
    let cases = cases.into_iter().map(|case| {
        let unknown = || PyValueError::new_err(format!("there is no note `{}`", case.code));
        let SavedCase { name, port, count, first, span_ns, text, place, .. } = case;
        let code = kind(&case.code).ok_or_else(unknown)?;
        Ok((Case { code, name: name.into(), port, count, first, span_ns, text }, place))
    });
    recording::notes_of(cases.collect::<PyResult<_>>()?).map(ArrowTable).map_err(python_error)
}

fn room(disk: Option<(PathBuf, u64)>) -> Option<Room> {
    disk.map(|(folder, bytes)| Room { folder, bytes })
}
