//! Placement handles: the host states which data belongs together, and each handle has its own open
//! block (flexible data placement, and streams).
//!
//! ```text
//! host, id 0 ──► reclaim unit of handle 0 ──┐ collected   persistently: stays with its handle
//! host, id 1 ──► reclaim unit of handle 1 ──┴────────────  initially: one block for all handles
//! ```
//! A reclaim unit is a block of the pool: a superblock, if the drive has superblocks. The handle of
//! data is known by block, so moved data costs no look-up by page. Host pages, moved pages, and
//! reclaim units that were opened and erased are counted by handle.
//!
//! Source: NVM Express Base Specification 2.1, 8.1.10 (FDP) and 8.1.8.3 (streams).

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::ftl::gc::PythonConfig;
use crate::units::{BlockId, Lpn};

/// Handles of a drive, at most.
const HANDLES_MAX: u32 = 128;

/// Whether the host states which data belongs together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PlacementConfig {
    /// It does not; ids of commands have no effect.
    None(NoPlacement),
    /// Flexible data placement: placement handles of reclaim units.
    Fdp(FdpConfig),
    /// Streams: writes of each stream have their own open block, writes without a stream have
    /// another.
    Streams(StreamsConfig),
}

impl Default for PlacementConfig {
    fn default() -> Self {
        Self::None(NoPlacement {})
    }
}

/// No parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoPlacement {}

/// What becomes of the isolation of handles when data is moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Moved data of all handles shares an open block.
    #[default]
    Initially,
    /// Moved data stays with the handle that wrote it.
    Persistently,
}

/// Parameters of `fdp`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FdpConfig {
    /// Placement handles; 1 to 128. Each needs an open block in every pool.
    #[schemars(range(min = 1, max = 128))]
    pub handles: u32,
    /// What becomes of data that collection moves: `initially` isolated data of all handles shares
    /// an open block, `persistently` isolated data stays with its handle. Default `initially`.
    #[serde(default)]
    pub isolation: Isolation,
    /// Who gives writes their ids, in place of the workload: `module:name`, or
    /// `path/file.py:name`. Left out: the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<PythonConfig>,
}

/// Parameters of `streams`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamsConfig {
    /// Streams, with ids from 1; 1 to 127. Id 0 is a write without a stream.
    #[schemars(range(min = 1, max = 127))]
    pub count: u32,
    /// Who gives writes their ids, in place of the workload: `module:name`, or
    /// `path/file.py:name`. Left out: the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<PythonConfig>,
}

impl PlacementConfig {
    /// Number of ids that commands may carry, from 0; 0 if they have no effect.
    pub fn ids(&self) -> u32 {
        match self {
            Self::None(_) => 0,
            Self::Fdp(fdp) => fdp.handles,
            Self::Streams(streams) => streams.count + 1,
        }
    }

    /// The Python code that gives writes their ids, if that is not the workload.
    pub fn by(&self) -> Option<&PythonConfig> {
        match self {
            Self::None(_) => None,
            Self::Fdp(fdp) => fdp.by.as_ref(),
            Self::Streams(streams) => streams.by.as_ref(),
        }
    }

    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None(_))
    }

    pub(crate) fn isolation(&self) -> Isolation {
        match self {
            Self::Fdp(fdp) => fdp.isolation,
            Self::None(_) | Self::Streams(_) => Isolation::Initially,
        }
    }

    /// The key for the number of handles or streams.
    pub(crate) fn count_key(&self) -> &'static str {
        match self {
            Self::Streams(_) => "placement.count",
            Self::None(_) | Self::Fdp(_) => "placement.handles",
        }
    }

    /// Refuses numbers out of range.
    pub(in crate::ftl) fn check(&self) -> Result<(), ConfigError> {
        let (value, max) = match self {
            Self::None(_) => return Ok(()),
            Self::Fdp(fdp) => (fdp.handles, HANDLES_MAX),
            Self::Streams(streams) => (streams.count, HANDLES_MAX - 1),
        };
        if (1..=max).contains(&value) {
            let checked = self.by().map_or(Ok(()), PythonConfig::check);
            return checked.map_err(|error| error.under("placement.by"));
        }
        let message = format!("{value} is out of range; accepted: 1 to {max}");
        Err(ConfigError::new(self.count_key(), message))
    }
}

/// Which handle a write of the host goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ids {
    /// The handle of the command, which is passed before the write.
    #[default]
    Command,
    /// The handle of the range that contains the logical page: the page behind each range, in
    /// order, and its handle.
    Ranges(Vec<(u32, u8)>),
}

impl Ids {
    /// The handle of a page that a command with this one writes.
    #[inline]
    pub(crate) fn of(&self, lpn: Lpn, handle: u8) -> u8 {
        let Self::Ranges(ranges) = self else { return handle };
        let place = ranges.iter().position(|&(limit, _)| lpn.0 < limit);
        place.map_or(0, |place| ranges[place].1)
    }
}

/// Counts of a handle. Of data without a handle, because collection has mixed it, only moves and
/// erases are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandleCounts {
    /// Pages of the host.
    pub host_pages: u64,
    /// Pages that were moved out of its reclaim units.
    pub moved_pages: u64,
    /// Reclaim units that were opened for writes of the host.
    pub units_opened: u64,
    /// Reclaim units that were closed before they were full, since a program failed.
    pub units_not_full: u64,
    /// Reclaim units out of which data was moved.
    pub units_moved: u64,
    /// Reclaim units that were erased.
    pub units_erased: u64,
}

impl HandleCounts {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            host_pages: self.host_pages + other.host_pages,
            moved_pages: self.moved_pages + other.moved_pages,
            units_opened: self.units_opened + other.units_opened,
            units_not_full: self.units_not_full + other.units_not_full,
            units_moved: self.units_moved + other.units_moved,
            units_erased: self.units_erased + other.units_erased,
        }
    }

    /// The counts since `then`.
    #[must_use]
    pub fn since(self, then: Self) -> Self {
        Self {
            host_pages: self.host_pages - then.host_pages,
            moved_pages: self.moved_pages - then.moved_pages,
            units_opened: self.units_opened - then.units_opened,
            units_not_full: self.units_not_full - then.units_not_full,
            units_moved: self.units_moved - then.units_moved,
            units_erased: self.units_erased - then.units_erased,
        }
    }
}

/// The handles of a pool.
#[derive(Clone, Debug)]
pub(crate) struct Handles {
    count: u8,
    isolation: Isolation,
    /// Whether moved data of a handle has an open block apart from that of the host.
    moves_apart: bool,
    /// Which handle a write of the host goes to.
    pub(crate) ids: Ids,
    /// Of the pool.
    first_block: u32,
    /// By block of the pool: the handle of its data; `count` for data of several.
    of_block: Vec<u8>,
    /// By handle, and of data of several.
    counts: Vec<HandleCounts>,
}

impl Handles {
    /// Those of a pool of these blocks, if there are some.
    pub(super) fn new(
        config: &PlacementConfig,
        moves_apart: bool,
        blocks: Range<u32>,
    ) -> Option<Self> {
        let count = config.ids();
        (count > 0).then(|| Self {
            count: count as u8,
            isolation: config.isolation(),
            moves_apart,
            ids: Ids::default(),
            first_block: blocks.start,
            of_block: vec![0; blocks.len()],
            counts: vec![HandleCounts::default(); count as usize + 1],
        })
    }

    pub(super) fn count(&self) -> u8 {
        self.count
    }

    /// Whether there are several, so that each has separate open blocks.
    pub(super) fn divides(&self) -> bool {
        self.count > 1
    }

    /// Open blocks of several handles, that of wear leveling included.
    pub(super) fn streams(&self) -> usize {
        let count = usize::from(self.count);
        let moved = match self.isolation {
            Isolation::Initially => 1,
            Isolation::Persistently if self.moves_apart => count,
            Isolation::Persistently => 0,
        };
        count + moved + 1
    }

    /// The stream of a host write, which counts as written.
    pub(super) fn host_stream(&mut self, lpn: Lpn, handle: u8) -> usize {
        let handle = self.ids.of(lpn, handle);
        self.counts[usize::from(handle)].host_pages += 1;
        usize::from(handle)
    }

    /// A write that was counted was refused.
    pub(super) fn refused(&mut self, stream: usize) {
        self.counts[stream].host_pages -= 1;
    }

    /// The stream of data that is moved out of a block of the pool.
    #[inline]
    pub(super) fn moved_stream(&self, victim: BlockId) -> usize {
        let (count, handle) = (usize::from(self.count), self.handle_in(victim));
        match self.isolation {
            Isolation::Initially => count,
            Isolation::Persistently if self.moves_apart => count + handle,
            Isolation::Persistently => handle,
        }
    }

    /// The handle of the data in the open block of a stream; `count` if it is mixed.
    fn handle_of(&self, stream: usize) -> u8 {
        let count = usize::from(self.count);
        if !self.divides() {
            return 0;
        }
        let is_own = stream < count
            || (self.isolation == Isolation::Persistently && stream + 1 < self.streams());
        if is_own {
            (stream % count) as u8
        } else {
            self.count
        }
    }

    /// A block of the pool becomes the open block of a stream.
    pub(super) fn note_opened(&mut self, block: BlockId, stream: usize, for_host: bool) {
        let handle = self.handle_of(stream);
        self.of_block[(block.0 - self.first_block) as usize] = handle;
        self.counts[usize::from(handle)].units_opened += u64::from(for_host);
    }

    /// The handle of the data in a block.
    #[inline]
    fn handle_in(&self, block: BlockId) -> usize {
        usize::from(self.of_block[(block.0 - self.first_block) as usize])
    }

    fn counts_of(&mut self, block: BlockId) -> &mut HandleCounts {
        let handle = self.handle_in(block);
        &mut self.counts[handle]
    }

    /// A block of the pool was closed before it was full.
    pub(super) fn note_not_full(&mut self, block: BlockId) {
        self.counts_of(block).units_not_full += 1;
    }

    /// Pages were moved out of a block of the pool, the first of them or more.
    pub(super) fn note_moved(&mut self, block: BlockId, pages: u64, is_first: bool) {
        let counts = self.counts_of(block);
        counts.moved_pages += pages;
        counts.units_moved += u64::from(is_first);
    }

    /// A block of the pool was erased.
    pub(super) fn note_erased(&mut self, block: BlockId) {
        self.counts_of(block).units_erased += 1;
    }

    /// The counts by handle, followed by those of data of several handles.
    pub(in crate::ftl) fn counts(&self) -> &[HandleCounts] {
        &self.counts
    }

    /// The handle of each block.
    pub(in crate::ftl) fn save(&self) -> Vec<u8> {
        self.of_block.clone()
    }

    /// Restores what [`Handles::save`] gave; false if it is of another drive.
    pub(in crate::ftl) fn restore(&mut self, of_block: &[u8]) -> bool {
        let fits = of_block.len() == self.of_block.len()
            && of_block.iter().all(|&handle| handle <= self.count);
        if fits {
            self.of_block.copy_from_slice(of_block);
        }
        fits
    }
}
