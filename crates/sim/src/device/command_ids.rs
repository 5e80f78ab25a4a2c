//! Placement ids that belong to commands, remembered by logical page until the page is written.

use crate::units::Lpn;

/// See the module.
pub(crate) struct CommandIds {
    /// By tenant; one for all where there is one.
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

    /// A tenant writes a page.
    #[inline]
    pub(super) fn note(&mut self, tenant: u8, lpn: Lpn) {
        let last = self.of_tenant.len() - 1;
        self.of_page[lpn.0 as usize] = self.of_tenant[usize::from(tenant).min(last)];
    }

    /// The id of a page.
    #[inline]
    pub(super) fn of(&self, lpn: Lpn) -> u8 {
        self.of_page[lpn.0 as usize]
    }
}
