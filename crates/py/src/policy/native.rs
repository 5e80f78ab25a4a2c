//! Policies that are called by their address: compiled by numba, or from C.

use std::sync::Arc;

use opennandlab_sim::ftl::gc::{Chooser, Choosers, PoolShape, PoolView};
use pyo3::prelude::*;

use super::{raw, Policy};

/// The policy of a drive.
pub(crate) struct NativeChoosers {
    pub(crate) policy: Policy,
    /// Not 0.
    pub(crate) address: usize,
    /// What keeps the code alive.
    pub(crate) owner: Arc<Py<PyAny>>,
}

impl Choosers for NativeChoosers {
    fn chooser(&self, _: PoolShape) -> Box<dyn Chooser> {
        let (policy, owner) = (self.policy.clone(), Arc::clone(&self.owner));
        Box::new(NativeChooser { policy, address: self.address, _owner: owner })
    }
}

struct NativeChooser {
    policy: Policy,
    address: usize,
    _owner: Arc<Py<PyAny>>,
}

impl Chooser for NativeChooser {
    fn choose(&mut self, view: &PoolView<'_>) -> Option<i64> {
        (!self.policy.failed.has()).then(|| raw::call(self.address, view))
    }

    fn refused(&mut self, reason: String) {
        self.policy.failed.refuse(&self.policy.name, &reason);
    }
}
