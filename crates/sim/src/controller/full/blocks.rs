//! How far the blocks of the flash are, and how far they will be: erases and programs that were
//! ordered, wait, and have ended.

use super::design::Design;
use super::die::{Class, Queued, Transaction};
use super::erases::{ErasesInOrder, Who};
use super::progress::Progress;
use crate::controller::{Detail, FlashOp, OpKind};
use crate::memory::prefetch_at;
use crate::nand::BlockRest;
use crate::op::Source;
use crate::units::{BlockId, Ppn};

/// What a block of the flash holds at the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// How often it was erased.
    pub erases: u32,
    /// Pages that are written, those of an open program unit included.
    pub pages: u32,
    /// Of the open program unit, the pages that are on the flash, if it is programmed in parts.
    pub part: u32,
    /// Whether it holds one bit per cell.
    pub is_slc: bool,
}

/// See the module.
pub struct Blocks {
    pub(super) all: Vec<Progress>,
    /// Rule 5, in drives that may lose power.
    pub(super) order_of_erases: Option<Box<ErasesInOrder>>,
}

impl Blocks {
    /// Nothing waits; `written` gives the content of blocks at the beginning.
    pub(super) fn new(design: &Design, written: impl Fn(BlockId) -> Written) -> Self {
        let progress = |block| {
            let Written { erases, pages, part, is_slc } = written(BlockId(block));
            let programmed = design.units.programmed(pages, is_slc) + part;
            Progress {
                erases,
                erases_ordered: erases,
                programmed,
                sent: programmed,
                pending: 0,
                inside: 0,
                class: Class::HostWrite,
                promised: programmed,
            }
        };
        let all = (0..design.geometry.block_count()).map(progress).collect();
        Self { all, order_of_erases: None }
    }

    /// The state of a block.
    #[inline]
    pub(super) fn of(&mut self, block: BlockId) -> &mut Progress {
        &mut self.all[block.0 as usize]
    }

    /// Asks for the state of a block.
    #[inline]
    pub(super) fn prefetch(&self, block: BlockId) {
        prefetch_at(&self.all, block.0 as usize);
    }

    /// An operation of a block joins its queue: how often the block was erased when it will be its
    /// turn.
    #[inline]
    pub(super) fn order(&mut self, design: &Design, op: FlashOp, class: Class) -> u32 {
        let erases = self.of(design.block_of(op)).order(op, class);
        if self.order_of_erases.is_some() {
            self.note_ordered(design, op, erases);
        }
        erases
    }

    /// A transaction has ended; returns whether it followed the rules.
    #[inline]
    pub(super) fn end(&mut self, transaction: &Transaction) -> bool {
        let is_right = self.of(BlockId(transaction.block)).end(transaction);
        self.note_progress();
        is_right
    }

    /// An operation of a die that is lost has ended.
    pub(super) fn pass_over(&mut self, design: &Design, op: FlashOp) {
        self.of(design.block_of(op)).pass_over(op, design.index_of(op));
        self.note_progress();
    }

    /// An operation joins its queue; `erases` is the number of earlier erases of its block.
    #[cold]
    fn note_ordered(&mut self, design: &Design, op: FlashOp, erases: u32) {
        let (block, at) = (design.block_of(op), design.index_of(op));
        let promised = &mut self.of(block).promised;
        match op.kind() {
            OpKind::Read => {}
            OpKind::Program if op.programs_part() => *promised = at.max(*promised),
            OpKind::Program => {
                *promised = design.units.programmed(at + op.count(), op.is_slc()).max(*promised);
            }
            OpKind::Copyback => *promised = at + op.count(),
            OpKind::Erase => {
                *promised = 0;
                let who = Who::Erase(block.0, erases);
                let order = self.order_of_erases.as_mut();
                order.map(|order| order.wait(&self.all, |_| who, Some(block.0)));
            }
        }
    }

    /// Lets a command wait for all programs that were ordered; false if there is none.
    pub(super) fn await_programs(&mut self, command: u32) -> bool {
        let who = |block| Who::Command(command, block);
        self.order_of_erases.as_mut().is_some_and(|order| order.wait(&self.all, who, None))
    }

    /// Whether an operation is an erase that waits.
    pub(super) fn is_held(&self, design: &Design, queued: &Queued) -> bool {
        let Some(order) = &self.order_of_erases else { return false };
        let who = Who::Erase(design.block_of(queued.op).0, queued.detail.erase_count);
        queued.op.kind() == OpKind::Erase && order.has(who)
    }

    /// Programs or erases have ended.
    #[inline]
    fn note_progress(&mut self) {
        if let Some(order) = &mut self.order_of_erases {
            order.is_due = true;
        }
    }

    /// Those that need not wait any more, if blocks have got further since the last look.
    pub(super) fn take_free(&mut self) -> Option<Vec<Who>> {
        let order = self.order_of_erases.as_mut().filter(|it| it.is_due)?;
        Some(order.take_free(&self.all))
    }

    /// Whether all erases of these blocks have ended.
    pub fn are_erased(&self, mut blocks: impl Iterator<Item = BlockId>) -> bool {
        let is_erased = |it: Progress| it.erases == it.erases_ordered;
        blocks.all(|block| is_erased(self.all[block.0 as usize]))
    }

    /// Whether a page is on the flash in the state that the reader counted on.
    pub(super) fn is_programmed(&self, design: &Design, op: FlashOp, detail: Detail) -> bool {
        let progress = &self.all[design.block_of(op).0 as usize];
        // Whatever the place of a stripe holds, it is on the flash. Members of a row of dies may
        // still be in memory, where the parity of an open row is too.
        op.source() == Source::Rebuild && design.dies_per_pool == 1
            || progress.erases == detail.erase_count && design.index_of(op) < progress.programmed
    }

    /// Whether a page is in the controller's memory: it is not programmed yet.
    #[inline]
    pub(super) fn holds(&self, design: &Design, page: Ppn) -> bool {
        let progress = &self.all[design.geometry.block_of(page).0 as usize];
        (progress.erases < progress.erases_ordered
            || progress.programmed <= design.geometry.page_index(page))
            && progress.inside == 0
    }

    /// Where the flash has got to with each block.
    pub(super) fn rests(&self) -> impl Iterator<Item = BlockRest> + '_ {
        self.all.iter().map(|progress| BlockRest {
            erases_waiting: progress.erases_ordered - progress.erases,
            programmed: progress.programmed,
        })
    }
}
