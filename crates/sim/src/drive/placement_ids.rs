//! Placement ids: those that code outside the simulator gives to writes, a batch at a time, and
//! those of commands, remembered by logical page until the page is written.
//!
//! Commands are drawn ahead in batches; those of a batch are shown together, before any of them is
//! carried out.

use std::sync::{Arc, Mutex, PoisonError};

use crate::op::HostCommand;
use crate::units::Lpn;
use crate::workload::{Generator, MergedPages};

/// Gives writes their placement ids.
pub trait Placer: Send {
    /// Sets `placement` of the writes among these commands of one host, which come in order; a
    /// logical page has this number of sectors. Ids must be those of the drive.
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

    fn merged_pages(&self) -> Option<MergedPages> {
        self.inner.merged_pages()
    }
}

/// Ids that belong to commands, remembered by logical page until the page is written.
pub(crate) struct CommandIds {
    /// By tenant, or one for all; none if each command has its own.
    of_tenant: Vec<u8>,
    of_page: Vec<u8>,
}

impl CommandIds {
    /// Those of a stage; pages that wait have these ids.
    pub(super) fn new(of_tenant: Vec<u8>, of_page: Vec<u8>) -> Self {
        Self { of_tenant, of_page }
    }

    /// Those of the next stage; pages that wait keep their ids.
    pub(super) fn of_stage(self, of_tenant: Vec<u8>) -> Self {
        Self { of_tenant, ..self }
    }

    /// A command writes a page.
    #[inline]
    pub(super) fn note(&mut self, command: &HostCommand, lpn: Lpn) {
        let tenant = usize::from(command.tenant).min(self.of_tenant.len().saturating_sub(1));
        self.of_page[lpn.0 as usize] =
            self.of_tenant.get(tenant).copied().unwrap_or(command.placement);
    }

    /// The id of a page.
    #[inline]
    pub(super) fn of(&self, lpn: Lpn) -> u8 {
        self.of_page[lpn.0 as usize]
    }
}
