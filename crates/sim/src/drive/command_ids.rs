//! Placement ids that belong to commands, remembered by logical page until the page is written.

use crate::op::HostCommand;
use crate::units::Lpn;

/// See the module.
pub(crate) struct CommandIds {
    /// By tenant; one for all where there is one, none where each command has its own.
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
