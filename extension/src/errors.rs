//! The core's errors as Python's.

use arrow_schema::ArrowError;
use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

/// Rows on disk that cannot be read back are the system's fault, all else is that of who asks.
pub fn python_error(error: ArrowError) -> PyErr {
    match error {
        ArrowError::IoError(_, error) => PyErr::from(error),
        error => PyValueError::new_err(error.to_string()),
    }
}
