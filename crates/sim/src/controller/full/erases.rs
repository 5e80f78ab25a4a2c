//! Rule 5: in a drive that may lose power, an erase waits for programs that were ordered before.
//!
//! ```text
//! erase of X ordered   Y: 12 of 20 pages programmed, all ordered     it waits until Y has 20 pages
//!                      Z: 5 of 6, the rest of the unit not ordered   and Z those of whole units
//! ```
//! What waits in memory for the rest of its program unit is no part of it: the FTL has completed
//! the units that count before it orders the erase. Whoever waits, waits for what was ordered
//! earlier, so nobody waits for ever.

use super::die::Queued;
use super::Full;
use crate::controller::breakdown::Parts;
use crate::controller::{FlashOp, OpKind};
use crate::engine::Engine;
use crate::op::Source;
use crate::units::BlockId;

/// Erases that wait; see the module.
#[derive(Debug, Default)]
pub(super) struct ErasesInOrder {
    waiting: Vec<Waiting>,
    /// Blocks may have got further since the last look.
    is_due: bool,
}

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// The erase of a block that was erased so often before.
    Erase(u32, u32),
    /// A command; and a block that it waits for.
    Command(u32, u32),
}

/// An erase or a command that waits for programs.
#[derive(Debug)]
struct Waiting {
    who: Who,
    /// Blocks, how often each is erased by then, and how many pages of it are programmed.
    until: Vec<(u32, u32, u32)>,
}

impl Full {
    /// Rule 5 is kept from now on.
    pub fn keep_order_of_erases(&mut self) {
        self.order_of_erases.get_or_insert_default();
    }

    /// An operation joins its queue; an erase of a block that was erased so often before it.
    #[cold]
    pub(super) fn note_ordered(&mut self, op: FlashOp, erases: u32) {
        let block = self.geometry.block_of(op.first()).0;
        let at = self.geometry.page_index(op.first());
        let units = self.units;
        let promised = &mut self.blocks[block as usize].promised;
        match op.kind() {
            OpKind::Read => {}
            OpKind::Program if op.programs_part() => *promised = at.max(*promised),
            OpKind::Program => {
                *promised = units.programmed(at + op.count(), op.is_slc()).max(*promised);
            }
            OpKind::Copyback => *promised = at + op.count(),
            OpKind::Erase => {
                *promised = 0;
                self.wait_for_programs(|_| Who::Erase(block, erases), Some(block));
            }
        }
    }

    /// A command waits for all programs that were ordered; it is told by an operation of its own.
    /// False if there is none.
    pub fn await_programs(&mut self, command: u32) -> bool {
        self.wait_for_programs(|block| Who::Command(command, block), None)
    }

    fn wait_for_programs(&mut self, who: impl Fn(u32) -> Who, own: Option<u32>) -> bool {
        let under_way = (0..).zip(&self.blocks).filter(|(_, it)| it.pending > 0);
        let until: Vec<_> = under_way
            .filter(|&(block, it)| {
                Some(block) != own && it.is_behind(it.erases_ordered, it.promised)
            })
            .map(|(block, it)| (block, it.erases_ordered, it.promised))
            .collect();
        let (Some(order), Some(&(first, ..))) = (&mut self.order_of_erases, until.first()) else {
            return false;
        };
        order.waiting.push(Waiting { who: who(first), until });
        true
    }

    /// Whether an operation is an erase that waits.
    pub(super) fn is_held(&self, queued: &Queued) -> bool {
        let Some(order) = &self.order_of_erases else { return false };
        let block = self.geometry.block_of(queued.op.first()).0;
        queued.op.kind() == OpKind::Erase
            && order.waiting.iter().any(|it| it.who == Who::Erase(block, queued.detail.erase_count))
    }

    /// Programs or erases are over.
    #[inline]
    pub(super) fn note_progress(&mut self) {
        if let Some(order) = &mut self.order_of_erases {
            order.is_due = true;
        }
    }

    /// Starts the erases that need not wait any more.
    #[cold]
    pub(super) fn start_erases(&mut self, engine: &mut Engine) {
        while let Some(order) = self.order_of_erases.as_mut().filter(|it| it.is_due) {
            order.is_due = false;
            let blocks = &self.blocks;
            let is_ahead = |&(block, erases, programmed): &(u32, u32, u32)| {
                blocks[block as usize].is_behind(erases, programmed)
            };
            let mut free = Vec::new();
            order.waiting.retain_mut(|it| {
                // Blocks never go back, so one that has come far enough is looked at no more.
                while it.until.pop_if(|last| !is_ahead(last)).is_some() {}
                if it.until.is_empty() {
                    free.push(it.who);
                }
                !it.until.is_empty()
            });
            for who in free {
                match who {
                    Who::Erase(block, _) => {
                        let die = self.geometry.die_of_block(BlockId(block)).0;
                        self.pump(engine, die);
                    }
                    Who::Command(command, block) => self.tell_settled(command, BlockId(block)),
                }
            }
        }
    }

    /// The programs that a command waited for are over.
    fn tell_settled(&mut self, command: u32, block: BlockId) {
        if self.is_observed {
            self.done.parts.push_back(Parts::default());
        }
        let first = self.geometry.first_page(block);
        let told = FlashOp::new(OpKind::Program, Source::Pad, first, 1).of_command(command);
        self.done.ops.push_back(told);
    }
}
