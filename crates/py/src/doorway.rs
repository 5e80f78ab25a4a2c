//! The one doorway between Python and Rust: releases the GIL, maps errors, catches our bugs.
//!
//! Everything that takes time goes through [`doorway`]. The exception classes are Python's own
//! (`opennandlab.base.errors`), so that both languages speak of one `ConfigError`.

use std::panic::{catch_unwind, AssertUnwindSafe};

use opennandlab_sim::config::ConfigError;
use opennandlab_sim::drive::ImageError;
use opennandlab_sim::memory::OutOfMemory;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// What the far side may refuse, or suffer.
pub(crate) enum Failure {
    /// A description that cannot be used.
    Config(ConfigError),
    /// A device image that cannot be used.
    Image(ImageError),
    /// A trace that cannot be read: the sentence names file and line.
    Trace(String),
    /// Python raised while we were reading, such as `KeyboardInterrupt`.
    Python(PyErr),
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<ImageError> for Failure {
    fn from(error: ImageError) -> Self {
        Self::Image(error)
    }
}

/// Runs `work` without the GIL; a refusal or a panic becomes a Python exception.
pub(crate) fn doorway<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    // A panic is a broken invariant of ours. Data that it left half changed is behind a poisoned
    // mutex.
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => Err(raise(py, failure)),
        Err(panic) => {
            if let Some(OutOfMemory { bytes }) = panic.downcast_ref() {
                return Err(PyMemoryError::new_err(format!("{bytes} bytes were not granted")));
            }
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("a panic without words");
            Err(exception(py, "InternalError", (format!("broken invariant: {text}"),)))
        }
    }
}

fn raise(py: Python<'_>, failure: Failure) -> PyErr {
    match failure {
        Failure::Config(error) => exception(py, "ConfigError", (error.path, error.message)),
        Failure::Image(error) => exception(py, "ImageError", (error.to_string(),)),
        Failure::Trace(text) => exception(py, "TraceError", (text,)),
        Failure::Python(error) => error,
    }
}

/// An exception of `opennandlab.base.errors`.
pub(crate) fn exception<'py, A>(py: Python<'py>, class: &str, arguments: A) -> PyErr
where
    A: pyo3::call::PyCallArgs<'py>,
{
    let made = py
        .import("opennandlab.base.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1(arguments));
    match made {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}
