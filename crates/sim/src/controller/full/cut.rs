//! What the dies are doing when the power fails.
//!
//! `blocks` counts what the flash has done: erases that ended, and pages programmed since. So what
//! was ordered and is not in it waits, in a queue, in a register or in the array.

use super::die::{Array, Die, Transaction};
use super::dies::Dies;
use crate::controller::OpKind;
use crate::nand::Running;
use crate::op::Source;
use crate::units::{BlockId, Ns};

impl Dies {
    /// What the arrays are busy with.
    fn busy_arrays(&self) -> impl Iterator<Item = &Transaction> {
        self.all.iter().filter_map(|die| match &die.array {
            Array::Busy(transaction) => Some(&**transaction),
            Array::Free | Array::Suspending => None,
        })
    }

    /// Reports kind, source and page type of the operations on the arrays.
    pub fn under_way(&self, note: &mut impl FnMut(OpKind, Source, u8)) {
        for transaction in self.busy_arrays() {
            note(transaction.kind, transaction.source, transaction.page_type);
        }
    }

    /// Reports the first page, as an index in its block, of each program on the arrays.
    pub fn programs_under_way(&self, note: &mut impl FnMut(u32)) {
        self.busy_arrays().filter_map(pages_of).for_each(|(first, _)| note(first));
    }

    /// Programs and erases that a cut interrupts now.
    pub(super) fn running(&self, now: Ns) -> impl Iterator<Item = Running> + '_ {
        self.all.iter().flat_map(move |die| {
            let suspended = die.suspended.as_ref();
            let suspended = suspended.and_then(|it| interrupted(&it.transaction, it.left));
            in_array(die, now).into_iter().chain(suspended)
        })
    }
}

/// What a cut interrupts in the array of a die.
fn in_array(die: &Die, now: Ns) -> Option<Running> {
    let Array::Busy(transaction) = &die.array else { return None };
    // Until its command has crossed the bus, the array has not begun.
    let has_begun = die.array_until.0 != u64::MAX;
    has_begun
        .then(|| interrupted(transaction, Ns(die.array_until.0.saturating_sub(now.0))))
        .flatten()
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
