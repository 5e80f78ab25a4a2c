//! Placement ids that Python gives: a batch of writes in, an id for each out.

use opennandlab_sim::drive::Placer;
use opennandlab_sim::op::{HostCommand, HostOp};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::Policy;

/// The placer of a drive.
pub(crate) struct PythonPlacer {
    pub(crate) policy: Policy,
    /// `ask(lpns, sizes, sources)` takes bytes of uint32, uint32 and uint8, and gives bytes, one id
    /// for each write; it has checked them.
    pub(crate) ask: Py<PyAny>,
}

impl Placer for PythonPlacer {
    fn place(&mut self, commands: &mut [HostCommand], page_sectors: u32) {
        if self.policy.failed.has() {
            return;
        }
        let sectors = u64::from(page_sectors);
        let (mut lpns, mut sizes, mut sources) = (Vec::new(), Vec::new(), Vec::new());
        for command in commands.iter().filter(|command| command.op == HostOp::Write) {
            let first = command.sector / sectors;
            let limit = (command.sector + u64::from(command.sector_count)).div_ceil(sectors);
            lpns.extend((first as u32).to_ne_bytes());
            sizes.extend(((limit - first) as u32).to_ne_bytes());
            sources.push(command.tenant);
        }
        if sources.is_empty() {
            return;
        }
        let ids = Python::attach(|py| {
            let bytes = |numbers: &[u8]| PyBytes::new(py, numbers);
            let given = (bytes(&lpns), bytes(&sizes), bytes(&sources));
            self.ask.call1(py, given).and_then(|ids| ids.extract::<Vec<u8>>(py))
        });
        match ids {
            Ok(ids) => {
                let writes = commands.iter_mut().filter(|command| command.op == HostOp::Write);
                writes.zip(ids).for_each(|(command, id)| command.placement = id);
            }
            Err(error) => self.policy.failed.keep(error),
        }
    }
}
