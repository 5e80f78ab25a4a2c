//! Which placement id the writes of a stage carry, on their way from the command to the FTL.
//!
//! ```text
//! one id for all, or by address ──────────────────────────────────► set in the FTL once
//! by tenant; pages that wait in a write buffer ──► noted by page ──► set before each page
//! by command, from a placer (`placement_ids`) ───► the same
//! ```
//! A page is written after its command if it waits in the write buffer, or for an erased block.
//! Then its id is remembered by logical page: the newest write of a page decides.

use super::drive::{Drive, Front};
use super::placement_ids::CommandIds;
use crate::ftl::Ids;
use crate::op::HostCommand;
use crate::units::Lpn;
use crate::workload::StageIds;

impl Drive {
    /// Sets the ids of the following writes, if the drive takes ids.
    pub(crate) fn place(&mut self, ids: Option<&StageIds>) {
        if self.config.ftl.placement.is_none() {
            return;
        }
        let by_address = match ids {
            Some(StageIds::Ranges(ranges)) => Ids::Ranges(ranges.clone()),
            _ => Ids::Command,
        };
        let before = self.ftl.place(&by_address);
        let of_tenant = match ids {
            None => vec![0],
            Some(StageIds::One(id)) => vec![*id],
            Some(StageIds::Tenants(ids)) => ids.clone(),
            Some(StageIds::Ranges(_) | StageIds::Commands) => Vec::new(),
        };
        if let [id] = of_tenant[..] {
            self.ftl.set_handle(id);
        }
        // Pages that wait keep the id of the stage that wrote them.
        let waits = self.buffer.is_some() && ids.is_some();
        let by_command = ids == Some(&StageIds::Commands);
        let is_remembered = by_command || (!of_tenant.is_empty() && (of_tenant.len() > 1 || waits));
        self.ids = is_remembered.then(|| {
            let pages = self.ftl.figures().logical_pages();
            let by_address = |page| before.of(Lpn(page), 0);
            Box::new(match self.ids.take() {
                Some(noted) => noted.of_stage(of_tenant),
                None => CommandIds::new(of_tenant, (0..pages).map(by_address).collect()),
            })
        });
    }
}

impl Front<'_> {
    /// Remembers which id a page is written with, where commands decide.
    #[inline]
    pub(super) fn note_id(&mut self, command: &HostCommand, lpn: Lpn) {
        if let Some(ids) = self.ids.as_deref_mut() {
            ids.note(command, lpn);
        }
    }

    /// Passes the id of the page that is written next to the FTL, if ids come from commands.
    #[inline]
    pub(crate) fn tell_id(&mut self, lpn: Lpn) {
        if let Some(ids) = self.ids.as_deref() {
            self.ftl.set_handle(ids.of(lpn));
        }
    }
}
