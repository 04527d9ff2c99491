//! Rows of numpy columns as JSON text: see `latpcap_core::json`.

use std::ops::Range;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use latpcap_core::json::{self, Column, Field, Texts};

/// A column as Python hands it over: a dictionary, whose keys say of which kind it is.
#[derive(FromPyObject)]
pub(super) enum Given<'py> {
    Truths {
        #[pyo3(item)]
        truths: PyReadonlyArray1<'py, bool>,
        #[pyo3(item)]
        known: Option<PyReadonlyArray1<'py, bool>>,
    },
    Numbers {
        #[pyo3(item)]
        numbers: PyReadonlyArray1<'py, i64>,
        #[pyo3(item)]
        known: Option<PyReadonlyArray1<'py, bool>>,
    },
    Fractions {
        #[pyo3(item)]
        fractions: PyReadonlyArray1<'py, f64>,
    },
    Times {
        #[pyo3(item)]
        times: PyReadonlyArray1<'py, i64>,
    },
    Texts {
        #[pyo3(item)]
        starts: PyReadonlyArray1<'py, i64>,
        #[pyo3(item)]
        bytes: PyReadonlyArray1<'py, u8>,
        #[pyo3(item)]
        rows: PyReadonlyArray1<'py, i64>,
    },
    Object {
        #[pyo3(item)]
        object: Vec<(String, Given<'py>)>,
    },
}

/// The rows from `start` to `stop` as objects, with `separator` between them.
#[pyfunction]
pub fn json_rows<'py>(
    py: Python<'py>,
    columns: Vec<(String, Given<'py>)>,
    start: usize,
    stop: usize,
    separator: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let start = start.min(stop);
    let fields = fields(&columns, &(start..stop))?;
    let text = py.detach(|| {
        let mut text = Vec::new();
        json::rows(&fields, start..stop, separator, &mut text);
        text
    });
    Ok(PyBytes::new(py, &text))
}

/// The columns, each with at least these rows.
fn fields<'a>(columns: &'a [(String, Given<'_>)], wanted: &Range<usize>) -> PyResult<Vec<Field<'a>>> {
    columns.iter().map(|(name, given)| Ok(Field::new(name, column(given, wanted)?))).collect()
}

fn column<'a>(given: &'a Given<'_>, wanted: &Range<usize>) -> PyResult<Column<'a>> {
    let (column, length) = match given {
        Given::Truths { truths, known } => {
            let (values, known) = (truths.as_slice()?, known.as_ref().map(|known| known.as_slice()).transpose()?);
            let length = known.map_or(values.len(), |known| known.len().min(values.len()));
            (Column::Truths { values, known }, length)
        }
        Given::Numbers { numbers, known } => {
            let (values, known) = (numbers.as_slice()?, known.as_ref().map(|known| known.as_slice()).transpose()?);
            let length = known.map_or(values.len(), |known| known.len().min(values.len()));
            (Column::Numbers { values, known }, length)
        }
        Given::Fractions { fractions } => (Column::Fractions(fractions.as_slice()?), fractions.as_slice()?.len()),
        Given::Times { times } => (Column::Times(times.as_slice()?), times.as_slice()?.len()),
        Given::Texts { starts, bytes, rows } => {
            let texts = Texts { starts: starts.as_slice()?, bytes: bytes.as_slice()?, rows: rows.as_slice()? };
            let length = texts.rows.len();
            if !texts.rows[wanted.start.min(length)..wanted.end.min(length)].iter().all(|&row| texts.is_known(row)) {
                return Err(PyValueError::new_err("a row names a text that is not there"));
            }
            (Column::Texts(texts), length)
        }
        Given::Object { object } => (Column::Object(fields(object, wanted)?), wanted.end),
    };
    match length >= wanted.end {
        true => Ok(column),
        false => Err(PyValueError::new_err("a column is too short")),
    }
}
