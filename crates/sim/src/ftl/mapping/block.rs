//! A map of blocks alone: the drive that reads, erases, modifies and writes.
//!
//! ```text
//! overwrite of page 2     old  [0 1 2 3]     other  [0' 1' 2 ·]      page 3 follows when the host
//!                         copied up to 2 ─────────►                   writes elsewhere: other is
//!                                                                     the block now, old is erased
//! ```
//! An overwrite opens another block: the pages before its page are copied there, then the page is
//! written. If the same request writes the next pages, or any request does in a block that was
//! begun with its first page, they go to the other block; if not, the rest is copied, and the old
//! block is erased. So a random page costs a whole block of programs and an erase, and blocks that
//! are written in order cost no copies. Pages that are left to copy when a stage of a run ends are
//! copied then. This is the read-erase-modify-write drive of the NAND performance tutorial of 2009,
//! except that the other block takes the role of that drive's memory of a whole block.

use serde::{Deserialize, Serialize};

use super::blocks::{Address, Bench, DataBlocks};
use super::Request;
use crate::ftl::sink::{FlashSink, NoRoom};
use crate::units::{BlockId, Lpn};

/// The block that is being rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rewrite {
    number: u32,
    target: u32,
    /// Pages of the old block that it took.
    copied: u32,
    /// It began with the first page of the block.
    is_from_start: bool,
    /// The request that wrote to it last.
    request: u64,
}

/// See the module.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct BlockOnly {
    rewrite: Option<Rewrite>,
}

impl BlockOnly {
    /// Writes a page of the host.
    pub(crate) fn write<S: FlashSink>(
        &mut self,
        blocks: &mut DataBlocks,
        at: &mut Bench<'_, S>,
        lpn: Lpn,
        request: Request,
    ) -> Result<(), NoRoom> {
        let Address { number, offset } = blocks.address(lpn);
        if let Some(rewrite) = &mut self.rewrite {
            let goes_on = rewrite.number == number
                && offset == blocks.written(BlockId(rewrite.target))
                && (rewrite.is_from_start || rewrite.request == request.number);
            if goes_on {
                rewrite.request = request.number;
                let target = BlockId(rewrite.target);
                self.place(blocks, at, number, target, lpn);
                return Ok(());
            }
        }
        self.settle(blocks, at);
        let data = blocks.data(number);
        if let Some(data) = data.filter(|&data| offset == blocks.written(data)) {
            blocks.append(at, data, lpn);
            return Ok(());
        }
        if at.log.erased.len() == 0 {
            return Err(NoRoom::WornOut);
        }
        let target = blocks.open(at);
        if data.is_none() {
            blocks.set_data(number, target);
            blocks.pad_to(at, target, offset);
            blocks.append(at, target, lpn);
        } else {
            self.rewrite = Some(Rewrite {
                number,
                target: target.0,
                copied: 0,
                is_from_start: offset == 0,
                request: request.number,
            });
            self.place(blocks, at, number, target, lpn);
        }
        Ok(())
    }

    /// Writes a page to the block that will replace its block.
    fn place<S: FlashSink>(
        &mut self,
        blocks: &mut DataBlocks,
        at: &mut Bench<'_, S>,
        number: u32,
        target: BlockId,
        lpn: Lpn,
    ) {
        let offset = blocks.address(lpn).offset;
        let copied = blocks.copy(at, number, blocks.written(target)..offset, target, None);
        self.rewrite.iter_mut().for_each(|rewrite| rewrite.copied += copied);
        blocks.pad_to(at, target, offset);
        blocks.append(at, target, lpn);
        if offset + 1 == blocks.len(number) {
            self.settle(blocks, at);
        }
    }

    /// Completes the block that is being rewritten.
    pub(crate) fn settle<S: FlashSink>(&mut self, blocks: &mut DataBlocks, at: &mut Bench<'_, S>) {
        if let Some(Rewrite { number, target, copied, .. }) = self.rewrite.take() {
            let copied = copied + blocks.merge_into(at, number, BlockId(target));
            blocks.note_reclaimed();
            let counters = &mut at.books.counters.mapping;
            if copied > 0 {
                counters.full_merges += 1;
            } else {
                counters.switch_merges += 1;
            }
        }
    }

    /// Whether its table fits `data_blocks` blocks of data.
    pub(crate) fn is_sound(&self, data_blocks: u32) -> bool {
        self.rewrite.is_none_or(|rewrite| rewrite.number < data_blocks)
    }

    /// Blocks of the flash that it uses in addition to data blocks.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = u32> + '_ {
        self.rewrite.iter().map(|rewrite| rewrite.target)
    }
}
