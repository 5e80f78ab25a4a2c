//! Policies that the interpreter runs.
//!
//! The arrays of a pool are made once, by Python, and live as long as anybody there examines them;
//! before each call they are brought up to date. So nothing is allocated for a call, and Python
//! holds no pointer into a drive.

use std::sync::Arc;

use opennandlab_sim::ftl::gc::{Chooser, Choosers, PoolShape, PoolView};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray};

use super::{raw, Policy};
use crate::doorway::exception;

/// The policy of a drive.
pub(crate) struct PythonChoosers {
    pub(crate) policy: Policy,
    /// `make(die, block_count, pages_per_block)` gives a [`Made`].
    pub(crate) make: Py<PyAny>,
}

/// The pool and its parts, made by Python.
#[derive(FromPyObject)]
struct Made {
    /// The function that is called.
    choose: Py<PyAny>,
    /// Its argument.
    pool: Py<PyAny>,
    /// The memory of its arrays, each with an entry for each block; `head` takes the clock and the
    /// number of candidates.
    head: Py<PyByteArray>,
    live: Py<PyByteArray>,
    erase_counts: Py<PyByteArray>,
    closed_at: Py<PyByteArray>,
    rank: Py<PyByteArray>,
    states: Py<PyByteArray>,
    order: Py<PyByteArray>,
}

impl Choosers for PythonChoosers {
    fn chooser(&self, shape: PoolShape) -> Box<dyn Chooser> {
        let made = Python::attach(|py| {
            let arguments = (shape.die, shape.block_count, shape.pages_per_block);
            self.make.call1(py, arguments).and_then(|made| made.extract::<Made>(py))
        });
        let made = made.map_err(|error| self.policy.failed.keep(error)).ok().map(Arc::new);
        Box::new(PythonChooser {
            policy: self.policy.clone(),
            made,
            order: Vec::new(),
            states: Vec::new(),
        })
    }
}

struct PythonChooser {
    policy: Policy,
    /// `None` if it could not be made.
    made: Option<Arc<Made>>,
    order: Vec<u32>,
    states: Vec<u8>,
}

impl PythonChooser {
    /// Brings the arrays of the pool up to date.
    fn show(&mut self, py: Python<'_>, made: &Made, view: &PoolView<'_>) {
        view.order(&mut self.order);
        self.states.clear();
        self.states.extend(view.states.iter().map(|&state| state as u8));
        raw::fill(made.head.bind(py), &[view.now, self.order.len() as u64]);
        raw::fill(made.live.bind(py), view.live_counts);
        raw::fill(made.erase_counts.bind(py), view.erase_counts);
        raw::fill(made.closed_at.bind(py), view.closed_at);
        raw::fill(made.rank.bind(py), view.ranks);
        raw::fill(made.states.bind(py), &self.states);
        raw::fill(made.order.bind(py), &self.order);
    }

    fn ask(&mut self, py: Python<'_>, made: &Made, view: &PoolView<'_>) -> PyResult<i64> {
        self.show(py, made, view);
        let answer = made.choose.bind(py).call1((&made.pool,)).inspect_err(|error| {
            self.note(py, error, view.shape.die);
        })?;
        if let Some(number) = number(&answer) {
            return Ok(number);
        }
        let shown = answer.repr().map_or_else(|_| "?".into(), |text| text.to_string());
        let kind = answer.get_type().name().map_or_else(|_| "?".into(), |text| text.to_string());
        let text = format!(
            "the policy `{}` returned `{shown}` ({kind}) for die {}; accepted: the number of a \
             block, as an integer; {}",
            self.policy.name,
            view.shape.die,
            view.candidates_text()
        );
        Err(exception(py, "PolicyError", (text,)))
    }
}

impl PythonChooser {
    /// Adds a note below the traceback: the policy and the die.
    fn note(&self, py: Python<'_>, error: &PyErr, die: u32) {
        let note = format!("in the policy `{}`, asked for a victim of die {die}", self.policy.name);
        // Exceptions that take no notes are raised without it.
        let _ = error.value(py).setattr("__notes__", vec![note]);
    }
}

/// An integer of Python or numpy, of the size that numbers of blocks have.
fn number(answer: &Bound<'_, PyAny>) -> Option<i64> {
    if answer.is_instance_of::<PyBool>() {
        return None;
    }
    answer.extract::<i64>().ok()
}

impl Chooser for PythonChooser {
    fn choose(&mut self, view: &PoolView<'_>) -> Option<i64> {
        if self.policy.failed.has() {
            return None;
        }
        let made = self.made.clone()?;
        Python::attach(|py| {
            let answer = self.ask(py, &made, view);
            answer.map_err(|error| self.policy.failed.keep(error)).ok()
        })
    }

    fn refused(&mut self, reason: String) {
        self.policy.failed.refuse(&self.policy.name, &reason);
    }
}
