//! Placement ids that somebody outside the simulator gives to writes, a batch at a time.
//!
//! Commands are drawn ahead in batches; those of a batch are shown together, before any of them is
//! carried out.

use std::sync::{Arc, Mutex, PoisonError};

use crate::op::HostCommand;
use crate::workload::Generator;

/// Gives writes their placement ids.
pub trait Placer: Send {
    /// Sets `placement` of the writes among these commands of one host, which come in order; a
    /// logical page has so many sectors. Ids must be those of the drive.
    fn place(&mut self, commands: &mut [HostCommand], page_sectors: u32);
}

/// The placer of all hosts of a drive.
pub(crate) type SharedPlacer = Arc<Mutex<Box<dyn Placer>>>;

/// The commands of a generator, with ids.
pub(crate) struct Placed {
    pub(crate) inner: Box<dyn Generator>,
    pub(crate) placer: SharedPlacer,
    pub(crate) page_sectors: u32,
}

impl Generator for Placed {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        let before = batch.len();
        self.inner.fill(batch, count);
        let mut placer = self.placer.lock().unwrap_or_else(PoisonError::into_inner);
        placer.place(&mut batch[before..], self.page_sectors);
    }

    fn unissued(&mut self, commands: &[HostCommand]) {
        self.inner.unissued(commands);
    }

    fn retarget(&mut self, command: &mut HostCommand) {
        self.inner.retarget(command);
    }
}
