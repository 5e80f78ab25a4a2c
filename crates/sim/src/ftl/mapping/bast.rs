//! BAST: a log block for each of a few blocks of data.
//!
//! ```text
//! data  [0 1 2 3]   log  [2' 0' 2'' ·]      newest: 0' in the log, 1 in data, 2'' in the log
//!
//! the log holds 0 1 2 3 in order   switch: it is the block of data now
//! … or 0 1                         partial: 2 3 are copied behind them, then it is
//! else                             full: the newest of each go to another block; both are erased
//! ```
//! Source: Kim, Kim, Noh, Min, Cho, "A space-efficient flash translation layer for `CompactFlash`
//! systems", IEEE Trans. Consumer Electronics 48(2), 2002. A page that is the next of its block is
//! written there, without a log. Uniform random pages on full blocks, with D blocks of data and L
//! log blocks that do not fill: each write finds no log block with probability `1 - L/D` and merges
//! one first, so the write amplification is `1 + b (1 - L/D)`, with two erases a merge.

use serde::{Deserialize, Serialize};

use super::blocks::{Address, Bench, DataBlocks, NONE};
use super::LogReplacement;
use crate::ftl::sink::{FlashSink, NoRoom};
use crate::units::{BlockId, Lpn};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LogBlock {
    number: u32,
    block: u32,
    /// The oldest is merged first.
    stamp: u64,
}

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Bast {
    replacement: LogReplacement,
    limit: u32,
    logs: Vec<LogBlock>,
    /// By number of a block of data: the index in `logs` of its log block.
    place: Vec<u32>,
    clock: u64,
}

impl Bast {
    /// A scheme without log blocks yet; it may have up to `limit`.
    pub(crate) fn new(replacement: LogReplacement, limit: u32, data_blocks: usize) -> Self {
        Self { replacement, limit, logs: Vec::new(), place: vec![NONE; data_blocks], clock: 0 }
    }

    /// Writes a page of the host.
    pub(crate) fn write<S: FlashSink>(
        &mut self,
        blocks: &mut DataBlocks,
        at: &mut Bench<'_, S>,
        lpn: Lpn,
    ) -> Result<(), NoRoom> {
        let Address { number, offset } = blocks.address(lpn);
        self.clock += 1;
        let mut place = self.place[number as usize];
        if place == NONE {
            match blocks.data(number) {
                Some(data) if offset == blocks.written(data) => {
                    blocks.append(at, data, lpn);
                    return Ok(());
                }
                None if offset == 0 && at.log.erased.len() > 0 => {
                    let data = blocks.open(at);
                    blocks.set_data(number, data);
                    blocks.append(at, data, lpn);
                    return Ok(());
                }
                _ => {}
            }
        } else if blocks.written(self.block(place)) == blocks.pages {
            self.merge(blocks, at, place)?;
            place = NONE;
        }
        if place == NONE {
            if self.logs.len() as u32 == self.limit {
                let oldest = (0..self.limit).min_by_key(|&place| self.logs[place as usize].stamp);
                self.merge(blocks, at, oldest.expect("the device was checked for one"))?;
            }
            if at.log.erased.len() == 0 {
                return Err(NoRoom::WornOut);
            }
            place = self.logs.len() as u32;
            let block = blocks.open(at).0;
            self.logs.push(LogBlock { number, block, stamp: self.clock });
            self.place[number as usize] = place;
        }
        let block = self.block(place);
        blocks.append(at, block, lpn);
        if self.replacement == LogReplacement::Lru {
            self.logs[place as usize].stamp = self.clock;
        }
        // Nothing is gained by keeping a log that can take the place of its block.
        if offset + 1 == blocks.len(number)
            && blocks.written(block) == blocks.len(number)
            && blocks.is_in_order(at, number, block)
        {
            self.merge(blocks, at, place)?;
        }
        Ok(())
    }

    fn block(&self, place: u32) -> BlockId {
        BlockId(self.logs[place as usize].block)
    }

    /// Merges a log block with its block of data.
    fn merge<S: FlashSink>(
        &mut self,
        blocks: &mut DataBlocks,
        at: &mut Bench<'_, S>,
        place: u32,
    ) -> Result<(), NoRoom> {
        let LogBlock { number, block, .. } = self.logs[place as usize];
        let block = BlockId(block);
        let is_in_order = blocks.is_in_order(at, number, block);
        if !is_in_order && at.log.erased.len() == 0 {
            return Err(NoRoom::WornOut);
        }
        self.logs.swap_remove(place as usize);
        self.place[number as usize] = NONE;
        if let Some(moved) = self.logs.get(place as usize) {
            self.place[moved.number as usize] = place;
        }
        if is_in_order {
            blocks.merge_log(at, number, block);
        } else {
            blocks.merge_full(at, number);
            blocks.erase(at, block);
        }
        blocks.note_reclaimed();
        Ok(())
    }

    /// Blocks of the flash that it uses in addition to data blocks.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = u32> + '_ {
        self.logs.iter().map(|log| log.block)
    }

    /// Whether its tables fit the configuration of `like`, and each other.
    pub(crate) fn is_sound(&self, like: &Self) -> bool {
        let agrees = |(place, log): (usize, &LogBlock)| {
            self.place.get(log.number as usize) == Some(&(place as u32))
        };
        (self.limit, self.replacement) == (like.limit, like.replacement)
            && self.place.len() == like.place.len()
            && self.logs.len() as u32 <= self.limit
            && self.place.iter().filter(|&&place| place != NONE).count() == self.logs.len()
            && self.logs.iter().enumerate().all(agrees)
    }
}
