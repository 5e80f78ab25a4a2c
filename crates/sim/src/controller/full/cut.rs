//! What the dies are doing when the power fails.
//!
//! `blocks` counts what the flash has done: erases that ended, and pages programmed since. So what
//! was ordered and is not in it waits, in a queue, in a register or in the array.

use super::die::{Array, Transaction};
use super::Full;
use crate::controller::{Cut, OpKind};
use crate::nand::{BlockRest, Running};
use crate::op::Source;
use crate::units::{BlockId, Ns};

impl Full {
    /// Tells kind, source and page type of what the arrays are busy with.
    pub fn under_way(&self, note: &mut impl FnMut(OpKind, Source, u8)) {
        for die in &self.dies {
            if let Array::Busy(transaction) = &die.array {
                note(transaction.kind, transaction.source, transaction.page_type);
            }
        }
    }

    /// Tells the first pages, by their index in their block, of what the arrays program.
    pub fn programs_under_way(&self, note: &mut impl FnMut(u32)) {
        for die in &self.dies {
            if let Array::Busy(transaction) = &die.array {
                if let Some((first, _)) = pages_of(transaction) {
                    note(first);
                }
            }
        }
    }

    /// Where the flash has got to with each block, and what is under way.
    pub fn cut(&self, now: Ns) -> Cut {
        let mut cut = Cut::new(&self.geometry);
        for (rest, progress) in cut.rests.iter_mut().zip(&self.blocks) {
            *rest = BlockRest {
                erases_waiting: progress.erases_ordered - progress.erases,
                programmed: progress.programmed,
            };
        }
        for die in &self.dies {
            if let Array::Busy(transaction) = &die.array {
                // Until its command has crossed the bus, the array has not begun.
                if die.array_until.0 != u64::MAX {
                    cut.running.extend(interrupted(
                        transaction,
                        Ns(die.array_until.0.saturating_sub(now.0)),
                    ));
                }
            }
            if let Some(suspended) = &die.suspended {
                cut.running.extend(interrupted(&suspended.transaction, suspended.left));
            }
        }
        cut
    }
}

/// Pages that a transaction programs, by index: first and limit.
fn pages_of(transaction: &Transaction) -> Option<(u32, u32)> {
    let limit = transaction.programmed_limit;
    match transaction.kind {
        OpKind::Read | OpKind::Erase => None,
        OpKind::Program => Some((limit - transaction.slots, limit)),
        OpKind::Copyback => Some((limit - transaction.settled, limit)),
    }
}

/// A transaction that would end after `left`; `None` of reads.
fn interrupted(transaction: &Transaction, left: Ns) -> Option<Running> {
    if transaction.kind == OpKind::Read {
        return None;
    }
    let time = transaction.spent.array_time.0.max(1);
    Some(Running {
        block: BlockId(transaction.block),
        pages: pages_of(transaction),
        page_type: transaction.page_type,
        is_moved: transaction.source != Source::Host,
        left,
        fraction: (1.0 - left.0 as f64 / time as f64).clamp(0.0, 1.0),
    })
}
