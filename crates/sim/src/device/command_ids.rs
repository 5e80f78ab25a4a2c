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
    /// Those of a stage on a drive of so many pages; pages that wait keep the id that they had in
    /// the stage `before`.
    pub(super) fn new(of_tenant: Vec<u8>, pages: usize, before: Option<Box<Self>>) -> Self {
        let of_page = before.map_or_else(|| vec![0; pages], |before| before.of_page);
        Self { of_tenant, of_page }
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
