//! Pages that leave the write buffer for a die with nothing to do: most of those of a drive whose
//! pages are programmed in units. Such a page only waits in memory for the rest of its unit, so it
//! need not wait for its turn in the queue of the die first.

use super::die::Class;
use super::Full;
use crate::controller::FlashOp;
use crate::units::DieId;

impl Full {
    /// Takes a page that leaves the write buffer as [`Full::stage_alone`] would, when nothing else
    /// comes together with it; false if it has to go through the queue of its die.
    #[inline]
    pub fn stage_past_queue(&mut self, die: DieId, op: FlashOp) -> bool {
        if !self.flash.dies[die.0].is_idle() || !self.held.is_empty() {
            return false;
        }
        let class = self.class_of(op);
        let flash = &mut self.flash;
        let is_alone = class == Class::HostWrite
            && self.staged.is_none()
            && !flash.is_watched()
            && flash.design.leaves_unit_open(op);
        if is_alone {
            flash.dies[die.0].last_turn = class;
            flash.blocks.of(flash.design.block_of(op)).class = class;
            flash.watch.note_programmed(op, 1);
            self.done.push(op, None);
        }
        is_alone
    }
}
