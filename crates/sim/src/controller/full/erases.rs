//! Rule 5: in a drive that may lose power, an erase waits for programs that were ordered before.
//!
//! ```text
//! erase of X ordered   Y: 12 of 20 pages programmed, all ordered     it waits until Y has 20 pages
//!                      Z: 5 of 6, the rest of the unit not ordered   and Z those of whole units
//! ```
//! Pages that wait in memory for the rest of their program unit are not counted: the FTL has
//! completed the units that count before it orders the erase. An erase or a command waits only for
//! programs that were ordered before it, so none waits for ever.

use super::progress::Progress;

/// Erases that wait; see the module.
#[derive(Debug, Default)]
pub(super) struct ErasesInOrder {
    waiting: Vec<Waiting>,
    /// Blocks may have got further since the last look.
    pub(super) is_due: bool,
}

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// The erase of a block, and the number of earlier erases of that block.
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

impl ErasesInOrder {
    /// Lets an erase of `own`, or a command, wait for all programs that are behind; false if there
    /// is none. `who` is asked with the first block of them.
    pub(super) fn wait(
        &mut self,
        blocks: &[Progress],
        who: impl Fn(u32) -> Who,
        own: Option<u32>,
    ) -> bool {
        let under_way = (0..).zip(blocks).filter(|(_, it)| it.pending > 0);
        let until: Vec<_> = under_way
            .filter(|&(block, it)| {
                Some(block) != own && it.is_behind(it.erases_ordered, it.promised)
            })
            .map(|(block, it)| (block, it.erases_ordered, it.promised))
            .collect();
        let Some(&(first, ..)) = until.first() else { return false };
        self.waiting.push(Waiting { who: who(first), until });
        true
    }

    /// Whether this one waits.
    pub(super) fn has(&self, who: Who) -> bool {
        self.waiting.iter().any(|it| it.who == who)
    }

    /// Takes out those that need not wait any more.
    pub(super) fn take_free(&mut self, blocks: &[Progress]) -> Vec<Who> {
        self.is_due = false;
        let is_ahead = |&(block, erases, programmed): &(u32, u32, u32)| {
            blocks[block as usize].is_behind(erases, programmed)
        };
        let mut free = Vec::new();
        self.waiting.retain_mut(|it| {
            // Blocks never go back, so one that has come far enough is examined no more.
            while it.until.pop_if(|last| !is_ahead(last)).is_some() {}
            if it.until.is_empty() {
                free.push(it.who);
            }
            !it.until.is_empty()
        });
        free
    }
}
