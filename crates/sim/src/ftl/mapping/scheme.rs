//! A die under a scheme with a map of blocks: the scheme, and the calls that all schemes have in
//! common.

use serde::{Deserialize, Serialize};

use super::bast::Bast;
use super::block::BlockOnly;
use super::blocks::{Bench, BlocksSnapshot, DataBlocks};
use super::fast::Fast;
use super::{zoned, MappingConfig, Request};
use crate::ftl::books::Books;
use crate::ftl::config::{FtlConfig, PoolSetup};
use crate::ftl::pool::{BlockState, Log, Reclaimed};
use crate::ftl::sink::{FlashSink, NoRoom};
use crate::ftl::zones::{ZonePart, ZonePlace};
use crate::nand::Media;
use crate::op::Source;
use crate::units::{BlockId, Lpn};

/// The log blocks, or their equivalent.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Kind {
    Block(BlockOnly),
    Bast(Bast),
    Fast(Fast),
    Zoned,
}

/// See the module.
pub(crate) struct BlockScheme {
    blocks: DataBlocks,
    kind: Kind,
}

/// As plain numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SchemeSnapshot {
    blocks: BlocksSnapshot,
    kind: Kind,
}

impl BlockScheme {
    /// The scheme of a die, if the device has one.
    pub(crate) fn new(config: &FtlConfig, setup: &PoolSetup, log: &Log) -> Option<Box<Self>> {
        let pools = setup.geometry.die_count;
        if !config.mapping.merges() {
            return None;
        }
        let mut blocks = DataBlocks::new(log, setup.logical_pages, setup.worn_limit);
        if let Some(layout) = setup.zone_layout(config) {
            blocks.renumber(layout.numbers(setup.logical_pages / layout.zone_pages));
        }
        let kind = match &config.mapping {
            MappingConfig::Bast(bast) => {
                let limit = bast.log_blocks / pools;
                Kind::Bast(Bast::new(bast.replacement, limit, blocks.numbers()))
            }
            MappingConfig::Fast(fast) => Kind::Fast(Fast::new(fast.log_blocks / pools)),
            MappingConfig::Zoned(_) => Kind::Zoned,
            _ => Kind::Block(BlockOnly::default()),
        };
        Some(Box::new(Self { blocks, kind }))
    }

    /// Writes a page of the host.
    ///
    /// # Errors
    /// [`NoRoom::WornOut`] when no erased block is left; nothing was written then.
    pub(crate) fn write<S: FlashSink>(
        &mut self,
        log: &mut Log,
        books: &mut Books,
        sink: &mut S,
        lpn: Lpn,
        request: Request,
    ) -> Result<(), NoRoom> {
        let (blocks, at) = (&mut self.blocks, &mut Bench { log, books, sink });
        match &mut self.kind {
            Kind::Block(block) => block.write(blocks, at, lpn, request),
            Kind::Bast(bast) => bast.write(blocks, at, lpn),
            Kind::Fast(fast) => fast.write(blocks, at, lpn, request),
            Kind::Zoned => unreachable!("{lpn:?} is of a zone, which knows its place"),
        }
    }

    /// Writes the next page of a zone.
    ///
    /// # Errors
    /// As [`BlockScheme::write`].
    pub(crate) fn write_in_zone<S: FlashSink>(
        &mut self,
        log: &mut Log,
        books: &mut Books,
        sink: &mut S,
        page: (Lpn, Source),
        place: ZonePlace,
    ) -> Result<(), NoRoom> {
        zoned::write(&mut self.blocks, &mut Bench { log, books, sink }, page, place)
    }

    /// Erases the blocks of a zone on this die.
    pub(crate) fn reset<S: FlashSink>(
        &mut self,
        log: &mut Log,
        books: &mut Books,
        sink: &mut S,
        part: &ZonePart,
    ) {
        zoned::reset(&mut self.blocks, &mut Bench { log, books, sink }, part);
    }

    /// Completes the work that waits for the next write of the host, since none comes.
    pub(crate) fn settle<S: FlashSink>(&mut self, log: &mut Log, books: &mut Books, sink: &mut S) {
        if let Kind::Block(block) = &mut self.kind {
            block.settle(&mut self.blocks, &mut Bench { log, books, sink });
        }
    }

    /// Pages of a block that were programmed.
    pub(crate) fn written(&self, block: BlockId) -> u32 {
        self.blocks.written(block)
    }

    /// Blocks reclaimed up to now.
    pub(crate) fn reclaimed(&self) -> Reclaimed {
        self.blocks.reclaimed
    }

    /// Blocks that were taken out of use.
    pub(crate) fn retired(&self) -> u32 {
        self.blocks.retired()
    }

    fn in_use(&self) -> Vec<u32> {
        let beside: Vec<u32> = match &self.kind {
            Kind::Block(block) => block.in_use().collect(),
            Kind::Bast(bast) => bast.in_use().collect(),
            Kind::Fast(fast) => fast.in_use().collect(),
            Kind::Zoned => Vec::new(),
        };
        self.blocks.in_use().chain(beside).collect()
    }

    /// Checks that every block in use is used for one thing.
    ///
    /// # Errors
    /// The first contradiction.
    pub(crate) fn audit(&self, log: &Log) -> Result<(), String> {
        let mut used = self.in_use();
        used.sort_unstable();
        let closed = |&block: &u32| log.state(BlockId(block)) == BlockState::Closed;
        let holding: Vec<u32> = log.blocks().filter(closed).collect();
        if used == holding {
            return Ok(());
        }
        let differs = used.iter().zip(&holding).find(|(used, holding)| used != holding);
        let (used, holding) = (used.len(), holding.len());
        Err(format!(
            "die {}: {used} blocks are in the tables of its scheme, {holding} hold data, first \
             difference {differs:?}",
            log.die.0
        ))
    }

    pub(crate) fn snapshot(&self) -> SchemeSnapshot {
        SchemeSnapshot { blocks: self.blocks.snapshot(), kind: self.kind.clone() }
    }

    /// Restores what [`BlockScheme::snapshot`] gave.
    ///
    /// # Errors
    /// What contradicts the device.
    pub(crate) fn restore(
        &mut self,
        snapshot: &SchemeSnapshot,
        log: &Log,
        media: &Media,
    ) -> Result<(), String> {
        let data_blocks = self.blocks.numbers();
        let is_sound = match (&snapshot.kind, &self.kind) {
            (Kind::Block(block), Kind::Block(_)) => block.is_sound(data_blocks as u32),
            (Kind::Bast(bast), Kind::Bast(like)) => bast.is_sound(like),
            (Kind::Fast(fast), Kind::Fast(like)) => fast.is_sound(like, data_blocks as u32),
            (Kind::Zoned, Kind::Zoned) => true,
            _ => false,
        };
        if !is_sound || !self.blocks.restore(&snapshot.blocks) {
            return Err(format!("die {} has tables of another mapping", log.die.0));
        }
        self.kind = snapshot.kind.clone();
        let blocks = log.blocks();
        for block in self.in_use() {
            let is_good = blocks.contains(&block) && !media.is_bad(BlockId(block));
            if !is_good {
                return Err(format!("block {block} is in a table of its scheme, and is bad"));
            }
        }
        self.audit(log)
    }
}
