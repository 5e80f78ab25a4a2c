//! Operations of the timed executor on superblocks: which dies of the group do what.
//!
//! ```text
//! program   the members that hold the run         erase   every member
//! read      one member; when it cannot be corrected, or its die is lost: the others of its row
//! ```
//! A read that cannot be corrected is rebuilt after it has failed if a command waits for it; else
//! at the same time.

use super::host_side::FailingRead;
use super::sink::TimedSink;
use crate::controller::full::Full;
use crate::controller::{FlashOp, OpKind};
use crate::host::read_ahead::FETCH;
use crate::nand::CellMode;
use crate::op::Source;
use crate::reads::{Extra, Lost, RestOfRow};
use crate::superblock::{Members, HOLE};
use crate::units::{BlockId, DieId, Ppn};

impl TimedSink<'_> {
    /// Queues programs of several pages, or an erase, on the members of a superblock that they
    /// concern, the first of them first.
    pub(super) fn push_to_members(&mut self, op: FlashOp, mut extra: Extra) {
        let Some(members) = self.media.shared_superblocks() else { return };
        let wide = self.media.geometry();
        let (block, slot) = (wide.block_of(op.first()), wide.page_index(op.first()));
        let is_slc = self.media.mode(block) == CellMode::Slc;
        let shape = members.shape();
        let (flash, dies) = (shape.flash(), shape.dies());
        let first_member =
            if op.kind() == OpKind::Erase { 0 } else { shape.locate(slot, is_slc).member };
        for member in (first_member..dies).chain(0..first_member) {
            let own = members.of(block)[member as usize];
            let (from, to) = match op.kind() {
                _ if own == HOLE => continue,
                OpKind::Erase => (0, 1),
                _ => {
                    let written = |slot| shape.written_of(member, slot, is_slc);
                    (written(slot), written(slot + op.count()))
                }
            };
            if from < to {
                let page = Ppn(flash.first_page(BlockId(own)).0 + from);
                self.send(op.run_of(page, to - from), std::mem::take(&mut extra), block, flash);
            }
        }
    }

    /// Queues reads of pages of a superblock, one run for each member.
    pub(super) fn read_members(
        &mut self,
        block: BlockId,
        slots: &[u32],
        source: Source,
        mut extra: Extra,
    ) {
        let Some(members) = self.media.shared_superblocks() else { return };
        let (shape, flash) = (members.shape(), members.shape().flash());
        let is_slc = self.media.mode(block) == CellMode::Slc;
        // By member: the first page, how many, rows that are sensed, the last of them; the same of
        // pages of the flash.
        let mut runs = vec![(0, 0, [0, 0], [u32::MAX; 2]); shape.dies() as usize];
        let mut slots_left = slots;
        while let Some(&start) = slots_left.first() {
            let (at, limit) = shape.locate_unit(start, is_slc);
            let in_unit = |&&slot: &&u32| (start..limit).contains(&slot);
            let (here, behind) = slots_left.split_at(slots_left.iter().take_while(in_unit).count());
            slots_left = behind;
            let (first, count, senses, last) = &mut runs[at.member as usize];
            if *count == 0 {
                *first = at.index;
            }
            *count += here.len() as u32;
            for slot in here {
                let index = at.index + (slot - start);
                let places = [flash.row_of(index), flash.physical_index(index)];
                for (sum, (place, last)) in
                    senses.iter_mut().zip(places.iter().zip(last.iter_mut()))
                {
                    *sum += u32::from(place != last);
                    *last = *place;
                }
            }
        }
        let mut left = slots.len() as u32;
        for (&own, &(first, count, [senses, pages], _)) in members.of(block).iter().zip(&runs) {
            let own_extra = extra.take_share(count, left.max(1));
            left -= count;
            if count > 0 && self.is_lost(flash.die_of_block(BlockId(own))) {
                let run = FlashOp::new(OpKind::Read, source, Ppn(first), count);
                self.read_row(&members, block, own, (run.sensed_in(senses), pages));
            } else if count > 0 {
                let page = Ppn(flash.first_page(BlockId(own)).0 + first);
                let op = FlashOp::new(OpKind::Read, source, page, count).sensed_in(senses);
                self.pages = pages as u16;
                self.send(op, own_extra, block, flash);
            }
        }
    }

    /// Puts a spare block in the place of a member that has failed; if it was at its erase, that
    /// has taken its time.
    #[cold]
    pub(super) fn replace_in_row(&mut self, block: BlockId, member: u32, fails_erase: bool) {
        let Some((failed, _)) = self.media.replace_member(block, member) else { return };
        let Some(members) = self.media.shared_superblocks() else { return };
        let flash = members.shape().flash();
        if fails_erase {
            let op = FlashOp::new(OpKind::Erase, Source::Gc, flash.first_page(failed), 1);
            self.send(op, Extra::default(), block, flash);
        }
    }

    /// Whether a die of the flash is lost now.
    pub(super) fn is_lost(&self, die: DieId) -> bool {
        let is_lost = |full: &Full| full.flash.is_lost(die, self.engine.now());
        self.backend.may_lose_dies() && self.backend.full().is_some_and(is_lost)
    }

    /// Whether a block of a drive without superblocks is on a die that is lost.
    pub(super) fn lies_on_lost(&self, block: BlockId) -> bool {
        self.is_lost(self.media.geometry().die_of_block(block))
    }

    /// Whether a page is on a die that is lost; then it is read from the other members of its row
    /// if they hold parity and their dies answer, else not at all.
    #[cold]
    pub(super) fn read_around(&mut self, ppn: Ppn, source: Source) -> bool {
        let Some(members) = self.media.shared_superblocks() else {
            let is_lost = self.lies_on_lost(self.media.block_of(ppn));
            if is_lost {
                self.errors.record_lost(self.media, ppn, source, RestOfRow::Missing);
            }
            return is_lost;
        };
        let wide = *self.media.geometry();
        let (block, slot) = (wide.block_of(ppn), wide.page_index(ppn));
        let page = members.page(block, slot, self.media.mode(block) == CellMode::Slc);
        let own = members.shape().flash().block_of(page);
        if !self.is_lost(members.shape().flash().die_of_block(own)) {
            return false;
        }
        let rest = self.rest_of_row(&members, block, own.0);
        if let Some(lost) = self.errors.record_lost(self.media, ppn, source, rest) {
            self.rebuild_from_row(&members, ppn, lost);
        }
        true
    }

    /// The rows of a superblock without a member that is lost.
    fn rest_of_row(&self, members: &Members, block: BlockId, lost: u32) -> RestOfRow {
        let flash = members.shape().flash();
        let mut others = members.of(block).iter().filter(|&&own| own != lost && own != HOLE);
        let is_readable = members.shape().has_parity()
            && others.all(|&own| !self.is_lost(flash.die_of_block(BlockId(own))));
        if is_readable {
            RestOfRow::Readable
        } else {
            RestOfRow::Missing
        }
    }

    /// Reads pages of a member that is lost from all others; `run` names their indices in it, and
    /// how many pages of the flash they are.
    fn read_row(
        &mut self,
        members: &Members,
        block: BlockId,
        lost: u32,
        (run, pages): (FlashOp, u32),
    ) {
        let rest = self.rest_of_row(members, block, lost);
        self.errors.note_lost(run.count(), run.source(), rest);
        if rest == RestOfRow::Missing {
            return;
        }
        let flash = members.shape().flash();
        let others = members.of(block).iter().filter(|&&own| own != lost && own != HOLE);
        for &own in others {
            let page = Ppn(flash.first_page(BlockId(own)).0 + run.first().0);
            self.pages = pages as u16;
            self.send(run.run_of(page, run.count()), Extra::default(), block, flash);
        }
    }

    /// Reads the other members of the row of a page that the code could not correct: the page at
    /// the same place of each.
    pub(super) fn rebuild_from_row(&mut self, members: &Members, ppn: Ppn, lost: Lost) {
        let wide = *self.media.geometry();
        let (block, slot) = (wide.block_of(ppn), wide.page_index(ppn));
        let (shape, flash) = (members.shape(), members.shape().flash());
        let at = shape.locate(slot, self.media.mode(block) == CellMode::Slc);
        let mut costs = self.errors.rebuild_costs(wide.die_of_block(block), lost).into_iter();
        for (member, &own) in (0..).zip(members.of(block)) {
            if member != at.member && own != HOLE {
                let page = Ppn(flash.first_page(BlockId(own)).0 + at.index);
                let op = FlashOp::new(OpKind::Read, Source::Rebuild, page, 1);
                self.send(op, costs.next().unwrap_or_default(), block, flash);
            }
        }
    }

    /// Reads the rest of the row of a page that could not be corrected: after its read has ended,
    /// if a command waits for that.
    #[cold]
    pub(super) fn rebuild_member(&mut self, ppn: Ppn, lost: Lost) {
        let Some(members) = self.media.shared_superblocks() else { return };
        if self.is_flush || self.slot >= FETCH {
            return self.rebuild_from_row(&members, ppn, lost);
        }
        let wide = self.media.geometry();
        let (block, slot) = (wide.block_of(ppn), wide.page_index(ppn));
        let page = members.page(block, slot, self.media.mode(block) == CellMode::Slc);
        self.failing.push(FailingRead { page, command: self.slot, ppn, lost });
    }

    /// A read of a command has ended: if it has failed, its row is read now.
    #[cold]
    pub(super) fn follow_failed(&mut self, done: FlashOp) {
        let is_it =
            |read: &FailingRead| read.page == done.first() && read.command == done.command();
        let Some(place) = self.failing.iter().position(is_it) else { return };
        let FailingRead { ppn, lost, .. } = self.failing.swap_remove(place);
        if let Some(members) = self.media.shared_superblocks() {
            self.rebuild_from_row(&members, ppn, lost);
        }
    }
}
