//! FAST: log blocks that all blocks of data share.
//!
//! ```text
//! random      L log blocks in turn, pages of any block in the order in which they come
//!             all full: the oldest is recycled, and every block of data that has a live page in it
//!             is merged into another block (full merge)
//! sequential  one log block: a request of two pages or more that begins with a block begins it,
//!             pages that continue it are appended; at its end it is the block of data (switch),
//!             or the rest is copied behind them first when another begins (partial)
//! ```
//! Source: Lee, Park, Chung, Lee, Park, Song, "A log buffer-based flash translation layer using
//! fully-associative sector translation", ACM Trans. Embedded Computing Systems 6(3), 2007. A page
//! that is the next of its block is written there, without a log. An oldest log block that holds
//! exactly the pages of one block in order takes its place as well.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::blocks::{Address, Bench, DataBlocks};
use super::Request;
use crate::ftl::sink::{FlashSink, NoRoom};
use crate::units::{BlockId, Lpn};

/// The log block of sequential writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sequential {
    number: u32,
    block: u32,
}

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fast {
    limit: u32,
    /// The log blocks of random writes, oldest first.
    logs: VecDeque<u32>,
    sequential: Option<Sequential>,
}

impl Fast {
    /// A scheme without log blocks yet; it may have up to `limit`.
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit, logs: VecDeque::new(), sequential: None }
    }

    /// Writes a page of the host.
    pub(crate) fn write<S: FlashSink>(
        &mut self,
        blocks: &mut DataBlocks,
        at: &mut Bench<'_, S>,
        lpn: Lpn,
        request: Request,
    ) -> Result<(), NoRoom> {
        let Address { number, offset } = blocks.address(lpn);
        let data = blocks.data(number);
        if let Some(Sequential { block, .. }) = self.sequential.filter(|it| it.number == number) {
            if offset == blocks.written(BlockId(block)) {
                blocks.append(at, BlockId(block), lpn);
                if offset + 1 == blocks.len(number) {
                    self.merge_sequential(blocks, at);
                }
                return Ok(());
            }
        } else if let Some(data) = data.filter(|&data| offset == blocks.written(data)) {
            blocks.append(at, data, lpn);
            return Ok(());
        }
        if offset == 0 && (data.is_none() || request.page_count > 1) {
            self.merge_sequential(blocks, at);
            if at.log.erased.len() == 0 {
                return Err(NoRoom::WornOut);
            }
            let block = blocks.open(at);
            blocks.append(at, block, lpn);
            if blocks.data(number).is_none() {
                blocks.set_data(number, block);
            } else {
                self.sequential = Some(Sequential { number, block: block.0 });
                if blocks.len(number) == 1 {
                    self.merge_sequential(blocks, at);
                }
            }
            return Ok(());
        }
        let is_full = |log: &u32| blocks.written(BlockId(*log)) == blocks.pages;
        if self.logs.back().is_none_or(is_full) {
            while self.logs.len() as u32 >= self.limit {
                self.recycle(blocks, at)?;
            }
            if at.log.erased.len() == 0 {
                return Err(NoRoom::WornOut);
            }
            self.logs.push_back(blocks.open(at).0);
        }
        let log = *self.logs.back().expect("one was opened");
        blocks.append(at, BlockId(log), lpn);
        Ok(())
    }

    /// Makes the log block of sequential writes the block of data.
    fn merge_sequential<S: FlashSink>(&mut self, blocks: &mut DataBlocks, at: &mut Bench<'_, S>) {
        if let Some(Sequential { number, block }) = self.sequential.take() {
            blocks.merge_log(at, number, BlockId(block));
        }
    }

    /// Merges every block of data that has a live page in the oldest log block, and erases that.
    fn recycle<S: FlashSink>(
        &mut self,
        blocks: &mut DataBlocks,
        at: &mut Bench<'_, S>,
    ) -> Result<(), NoRoom> {
        let oldest = BlockId(*self.logs.front().expect("the caller has counted them"));
        let first = at.log.geometry.first_page(oldest).0;
        for index in 0..blocks.written(oldest) {
            if !at.books.map.is_live(crate::units::Ppn(first + index)) {
                continue;
            }
            let owner = Lpn(at.sink.media().oob_of_block(oldest)[index as usize]);
            let number = blocks.address(owner).number;
            let is_whole = index == 0
                && blocks.written(oldest) == blocks.len(number)
                && blocks.is_in_order(at, number, oldest);
            if is_whole && self.sequential.is_none_or(|it| it.number != number) {
                self.logs.pop_front();
                blocks.merge_log(at, number, oldest);
                blocks.note_reclaimed();
                return Ok(());
            }
            if at.log.erased.len() == 0 {
                return Err(NoRoom::WornOut);
            }
            blocks.merge_full(at, number);
            if let Some(it) = self.sequential.filter(|it| it.number == number) {
                self.sequential = None;
                blocks.erase(at, BlockId(it.block));
            }
        }
        self.logs.pop_front();
        blocks.erase(at, oldest);
        blocks.note_reclaimed();
        Ok(())
    }

    /// Blocks of the flash that it uses in addition to data blocks.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = u32> + '_ {
        self.logs.iter().copied().chain(self.sequential.iter().map(|it| it.block))
    }

    /// Whether its tables fit another of the same drive.
    pub(crate) fn is_sound(&self, like: &Self, data_blocks: u32) -> bool {
        self.limit == like.limit
            && self.logs.len() as u32 <= self.limit
            && self.sequential.is_none_or(|it| it.number < data_blocks)
    }
}
