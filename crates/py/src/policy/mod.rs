//! Policies written by the user: the questions of the simulator, and how a policy is called.
//!
//! ```text
//! core, without the GIL ─┬─► PythonChooser: takes the GIL, brings the arrays of the pool up to
//!                        │   date, calls `choose(pool)`
//!                        └─► NativeChooser: calls the function, on any thread, without the GIL
//! ```
//! An error is kept in [`Failed`]: the simulator continues with the built-in greedy policy to the
//! end of its slice, so that the drive stays whole, and then the exception is raised.

mod native;
mod placer;
mod python;
mod raw;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

pub(crate) use native::NativeChoosers;
pub(crate) use placer::PythonPlacer;
pub(crate) use python::PythonChoosers;

use crate::doorway::exception;

/// The error after which a policy is not asked any more, until it is raised.
#[derive(Default)]
pub(crate) struct Failed {
    has: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failed {
    fn has(&self) -> bool {
        self.has.load(Ordering::Acquire)
    }

    /// Keeps an error, if it is the first.
    fn keep(&self, error: PyErr) {
        let mut kept = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(error);
        self.has.store(true, Ordering::Release);
    }

    /// Raises the error that was kept; the policy may be asked again.
    pub(crate) fn raise(&self) -> PyResult<()> {
        if !self.has() {
            return Ok(());
        }
        let kept = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.has.store(false, Ordering::Release);
        kept.map_or(Ok(()), Err)
    }

    /// Keeps that a policy chose what cannot be collected.
    fn refuse(&self, name: &str, reason: &str) {
        let text = format!("the policy `{name}` chose a block that cannot be collected: {reason}");
        Python::attach(|py| self.keep(exception(py, "PolicyError", (text,))));
    }
}

/// What all choosers of a drive know.
#[derive(Clone)]
pub(crate) struct Policy {
    /// What the user calls it.
    pub(crate) name: String,
    pub(crate) failed: Arc<Failed>,
}
