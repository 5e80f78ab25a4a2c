//! Flushes of drives that may lose power, and whose pages wait in memory for the rest of a program
//! unit.
//!
//! A page that leaves the write buffer is done for it when it waits in its unit. A flush pads the
//! units when it begins; but a page that stalled comes to its unit later, and a unit that another
//! command completes is that command's to wait for. So when all pages that a flush covers have come
//! to their units, it pads these, and waits for all programs that are ordered by then.

use super::backend::Backend;
use super::stage::TimedStage;
use crate::drive::Drive;
use crate::op::HostOp;

impl TimedStage {
    /// The power may fail: erases wait for what was to be programmed before, and flushes for whole
    /// program units.
    pub(crate) fn expect_cuts(&mut self, drive: &Drive) {
        self.backend.keep_order_of_erases();
        let units = drive.config.pool_setup(drive.seed).units;
        self.settling = units.stages(false).then(Vec::new);
    }

    /// Whether a command that is served is a flush, or a write with force unit access, that has to
    /// wait for program units.
    #[cold]
    pub(super) fn settles(&mut self, drive: &mut Drive, index: u32) -> bool {
        let Some(settling) = &mut self.settling else { return false };
        let command = self.path.slot(index).command;
        if command.op != HostOp::Flush && !(command.is_fua && command.op == HostOp::Write) {
            return false;
        }
        if let Some(place) = settling.iter().position(|&it| it == index) {
            settling.swap_remove(place);
            return false;
        }
        let waits = self.with_sink(drive, index, |front, sink| {
            if front.pads {
                front.ftl.pad(sink);
            }
            if let Backend::Full(full) = &mut sink.backend {
                sink.waits += u32::from(full.await_programs(index));
            }
            sink.waits
        });
        if waits > 0 {
            self.path.slot(index).waits = waits;
            self.settling.iter_mut().for_each(|settling| settling.push(index));
        }
        waits > 0
    }
}
