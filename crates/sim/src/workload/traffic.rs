//! The keys that describe one host's requests, wherever they are declared: the workload itself, or
//! one of its tenants.
//!
//! A view, not a declaration: both declare their keys themselves and lend them here to be checked
//! and compiled.

use super::check::refuse;
use super::config::TrimTarget;
use super::durability::Durable;
use super::idle::IdleConfig;
use super::load::{Arrivals, LoadConfig};
use super::pattern::{Extent, PatternConfig};
use super::size::{BlockSizes, SizeMix};
use super::synthetic::{OpMix, SyntheticParts};
use super::{Generator, Load, Space};
use crate::config::ConfigError;
use crate::op::HostOp;
use crate::rng::Rng;
use crate::units::SECTOR_BYTES;

/// See the module. Names and meanings are those of the keys.
pub(super) struct Traffic<'a> {
    pub pattern: &'a PatternConfig,
    pub read_pct: f64,
    pub trim_pct: f64,
    pub trim_target: TrimTarget,
    pub block_size_bytes: &'a BlockSizes,
    pub align_bytes: Option<u64>,
    pub queue_depth: &'a LoadConfig,
    pub flush_every: Option<u64>,
    pub fua_pct: f64,
    pub idle: Option<&'a IdleConfig>,
    /// Part of the logical space, from and to, in percent.
    pub range_pct: [f64; 2],
    /// Whether the range is rounded to pages, not sectors.
    pub has_whole_pages: bool,
}

impl Traffic<'_> {
    /// Refuses values out of range.
    pub fn check_values(&self) -> Result<(), ConfigError> {
        for (path, share) in
            [("read_pct", self.read_pct), ("trim_pct", self.trim_pct), ("fua_pct", self.fua_pct)]
        {
            if !(0.0..=100.0).contains(&share) {
                return Err(refuse(path, share, "0 to 100"));
            }
        }
        if self.read_pct + self.trim_pct > 100.0 {
            let accepted =
                format!("0 to {} beside read_pct {}", 100.0 - self.read_pct, self.read_pct);
            return Err(refuse("trim_pct", self.trim_pct, &accepted));
        }
        if self.fua_pct > 0.0 && !self.writes() {
            let message = "nothing is written with read_pct and trim_pct at 100 together; \
                           accepted: 0";
            return Err(ConfigError::new("fua_pct", message));
        }
        if self.flush_every == Some(0) {
            return Err(refuse("flush_every", 0, "at least 1 request between flushes"));
        }
        self.block_size_bytes.check("block_size_bytes")?;
        self.queue_depth.check("queue_depth")?;
        self.idle.map_or(Ok(()), |idle| idle.check("idle"))
    }

    /// Refuses requests that do not fit the part of the space.
    pub fn check_space(&self, space: Space) -> Result<(), ConfigError> {
        let (_, extent) = self.extent(space);
        let largest = self.block_size_bytes.bytes_max();
        let sectors_max = (largest / SECTOR_BYTES) as u32;
        if extent.starts(sectors_max) == 0 {
            let accepted = format!(
                "at most {} B, the active range ({} % of {} B)",
                extent.sector_count * SECTOR_BYTES,
                self.range_pct[1] - self.range_pct[0],
                space.logical_bytes
            );
            return Err(refuse("block_size_bytes", largest, &accepted));
        }
        self.pattern
            .check(extent, &self.block_size_bytes.sector_counts())
            .map_err(|error| error.under("pattern"))
    }

    /// Whether some requests write.
    pub fn writes(&self) -> bool {
        self.read_pct + self.trim_pct < 100.0
    }

    /// First sector of the range, and what a pattern sees of it.
    fn extent(&self, space: Space) -> (u64, Extent) {
        let align_bytes = self.align_bytes.unwrap_or(self.block_size_bytes.bytes_min());
        let [from, to] = self.range_pct;
        // 100 % is exact at any capacity; otherwise rounded down.
        let bytes_at = |percent: f64| {
            if percent >= 100.0 {
                space.logical_bytes
            } else {
                (space.logical_bytes as f64 * percent / 100.0) as u64
            }
        };
        // Ranges of tenants that meet share no page.
        let unit = if self.has_whole_pages { space.page_bytes } else { SECTOR_BYTES };
        let [first, limit] = [from, to].map(|percent| bytes_at(percent) / unit * unit);
        let extent = Extent {
            sector_count: (limit - first) / SECTOR_BYTES,
            align_sectors: align_bytes / SECTOR_BYTES,
        };
        (first / SECTOR_BYTES, extent)
    }

    /// Everything of the generator but the pattern; `streams` names its randomness.
    pub fn parts(&self, space: Space, seed: u64, streams: &str) -> SyntheticParts {
        let stream = |name: &str| Rng::stream(seed, &format!("{streams}.{name}"));
        SyntheticParts {
            extent: self.extent(space).1,
            sizes: SizeMix::new(self.block_size_bytes, stream("size")),
            operations: OpMix {
                read_share: self.read_pct / 100.0,
                read_trim_share: (self.read_pct + self.trim_pct) / 100.0,
                trim: match self.trim_target {
                    TrimTarget::Any => HostOp::Trim,
                    TrimTarget::Mapped => HostOp::TrimMapped,
                },
                rng: stream("op"),
            },
            arrivals: Arrivals::of(self.queue_depth, stream("arrival")),
            address_rng: stream("address"),
            retarget_rng: stream("retarget"),
        }
    }

    /// The commands, from sector 0 on; `shuffle_seed` fixes what a pattern shuffles.
    pub fn generator(
        &self,
        space: Space,
        seed: u64,
        streams: &str,
        shuffle_seed: u64,
    ) -> Box<dyn Generator> {
        let inner = self.pattern.generator(self.parts(space, seed, streams), shuffle_seed);
        let rng = Rng::stream(seed, &format!("{streams}.fua"));
        Durable::around(inner, self.flush_every, self.fua_pct / 100.0, rng)
    }

    /// First sector of the range.
    pub fn first_sector(&self, space: Space) -> u64 {
        self.extent(space).0
    }

    /// A load of these commands.
    pub fn load(&self, generator: Box<dyn Generator>) -> Load {
        let bursts = self.idle.map(IdleConfig::bursts);
        Load { bursts, ..Load::new(generator, self.queue_depth.admission()) }
    }
}
