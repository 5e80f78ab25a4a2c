//! The keys that describe the requests of one host, declared once for the two structs that have
//! them: the workload itself, and each of its tenants.
//!
//! [`with_traffic`] declares such a struct: its own keys, and the shared ones in place of `..`. A
//! struct inside the struct would give files another form, and serde's `flatten` lets unknown keys
//! pass. [`Traffic`] is a view of the shared keys of both, to be checked and compiled here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::addresses::Extent;
use super::alignment::{room_of, Alignment, Offsets, NATURAL_BYTES};
use super::check::refuse;
use super::durability::DurableHost;
use super::idle::IdleConfig;
use super::load::{Arrivals, LoadConfig};
use super::pattern::PatternConfig;
use super::size::{BlockSizes, SizeMix};
use super::synthetic::{OpMix, SyntheticParts};
use super::{Generator, Load, Space};
use crate::config::ConfigError;
use crate::op::HostOp;
use crate::rng::Rng;
use crate::units::SECTOR_BYTES;

/// Targets of trims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrimTarget {
    /// Any address that the pattern draws.
    Any,
    /// An address that holds data: it is drawn again until it does.
    Mapped,
}

/// Declares a struct of keys with their defaults, `..` standing for those of its traffic. Every
/// key has a default here, and unknown keys are refused.
macro_rules! with_traffic {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$first_about:meta])* pub $first:ident: $first_type:ty = $first_default:expr,)*
            ..
            $($(#[$last_about:meta])* pub $last:ident: $last_type:ty = $last_default:expr,)*
        }
    ) => {
        #[derive(
            Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(deny_unknown_fields, default)]
        $(#[$about])*
        pub struct $name {
            $($(#[$first_about])* pub $first: $first_type,)*
            /// Addresses of requests, in the part of the space that is in use: a name, or a mapping
            /// with parameters such as `{kind: hot_cold, fraction: 0.2, share: 0.8}`; default
            /// `random`.
            #[serde(deserialize_with = "crate::config::name_or_mapping")]
            #[schemars(schema_with = "crate::config::name_or_mapping_schema::<\
                                      crate::workload::pattern::PatternConfig>")]
            pub pattern: $crate::workload::pattern::PatternConfig,
            /// Share of requests that read, in percent by count; 0 to 100; default 0.
            #[schemars(range(min = 0, max = 100))]
            pub read_pct: f64,
            /// Share of requests that trim, in percent by count; 0 to 100, at most 100 with
            /// `read_pct`; default 0.
            #[schemars(range(min = 0, max = 100))]
            pub trim_pct: f64,
            /// Targets of trims: `any` address of the pattern, or `mapped` data only; default
            /// `any`.
            pub trim_target: $crate::workload::traffic::TrimTarget,
            /// Request size in bytes, as text such as 4KiB, or a map of size to weight; multiples
            /// of 512 B up to 1 GiB; default 4096.
            pub block_size_bytes: $crate::workload::size::BlockSizes,
            /// Smaller requests become as large as this, in bytes or as text such as 4KiB; a
            /// multiple of 512 B; default none.
            #[serde(
                skip_serializing_if = "Option::is_none",
                deserialize_with = "crate::config::optional_bytes"
            )]
            #[schemars(schema_with = "crate::config::size_schema")]
            pub min_size_bytes: Option<u64>,
            /// Requests start at multiples of this many bytes, a multiple of 512; or `natural`:
            /// those below 4096 bytes at multiples of 512, others at multiples of 4096. Default
            /// the smallest block size. `sequential` ignores it.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub align_bytes: Option<$crate::workload::alignment::Alignment>,
            /// Requests outstanding, 1 to 65536, or how they arrive: `{arrival: poisson, iops:
            /// 50000}`; default 1.
            pub queue_depth: $crate::workload::load::LoadConfig,
            /// A flush command after this number of requests; at least 1; default none. It counts
            /// as a request of `total`.
            #[serde(
                skip_serializing_if = "Option::is_none",
                deserialize_with = "crate::workload::check::optional_whole"
            )]
            #[schemars(range(min = 1))]
            pub flush_every: Option<u64>,
            /// Share of the writes with force unit access (complete only in the flash), in
            /// percent; 0 to 100; default 0.
            #[serde(skip_serializing_if = "crate::config::is_default")]
            #[schemars(range(min = 0, max = 100))]
            pub fua_pct: f64,
            /// Bursts with pauses between them, `{busy: {seconds: 5}, idle_ms: 5000}`; default
            /// none.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub idle: Option<$crate::workload::idle::IdleConfig>,
            $($(#[$last_about])* pub $last: $last_type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($first: $first_default,)*
                    pattern: $crate::workload::pattern::PatternConfig::Random(
                        $crate::workload::pattern::random::RandomConfig {},
                    ),
                    read_pct: 0.0,
                    trim_pct: 0.0,
                    trim_target: $crate::workload::traffic::TrimTarget::Any,
                    block_size_bytes: $crate::workload::size::BlockSizes::one(4096),
                    min_size_bytes: None,
                    align_bytes: None,
                    queue_depth: $crate::workload::load::LoadConfig::Closed(1),
                    flush_every: None,
                    fua_pct: 0.0,
                    idle: None,
                    $($last: $last_default,)*
                }
            }
        }

        impl $name {
            /// The keys that describe requests, for the part of the space that they go to.
            fn traffic_in(
                &self,
                part: $crate::workload::traffic::Part,
            ) -> $crate::workload::traffic::Traffic<'_> {
                $crate::workload::traffic::Traffic {
                    pattern: &self.pattern,
                    read_pct: self.read_pct,
                    trim_pct: self.trim_pct,
                    trim_target: self.trim_target,
                    block_size_bytes: &self.block_size_bytes,
                    align_bytes: self.align_bytes,
                    queue_depth: &self.queue_depth,
                    flush_every: self.flush_every,
                    fua_pct: self.fua_pct,
                    idle: self.idle.as_ref(),
                    part,
                }
            }

            /// Raises the sizes to the smallest, and fills in the alignment, which follows from
            /// them.
            fn resolve_sizes(&mut self) -> Result<(), $crate::config::ConfigError> {
                if let Some(bytes_min) = self.min_size_bytes {
                    $crate::workload::check::whole_sectors("min_size_bytes", bytes_min)?;
                    self.block_size_bytes = self.block_size_bytes.at_least(bytes_min);
                    self.block_size_bytes.check("min_size_bytes")?;
                }
                let smallest = self.block_size_bytes.bytes_min();
                let align = *self
                    .align_bytes
                    .get_or_insert($crate::workload::alignment::Alignment::Bytes(smallest));
                $crate::workload::check::whole_sectors("align_bytes", align.bytes())
            }
        }
    };
}
pub(super) use with_traffic;

/// The part of the logical space that requests go to.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// From the start to this percentage, in sectors.
    Sectors(f64),
    /// From and to, in percent, in pages: adjacent parts of tenants share no page.
    Pages([f64; 2]),
    /// The same, of the pages of a namespace.
    Within([f64; 2], [u32; 2]),
}

/// See the module. Names and meanings are those of the keys.
pub(super) struct Traffic<'a> {
    pub pattern: &'a PatternConfig,
    pub read_pct: f64,
    pub trim_pct: f64,
    pub trim_target: TrimTarget,
    pub block_size_bytes: &'a BlockSizes,
    pub align_bytes: Option<Alignment>,
    pub queue_depth: &'a LoadConfig,
    pub flush_every: Option<u64>,
    pub fua_pct: f64,
    pub idle: Option<&'a IdleConfig>,
    pub part: Part,
}

impl Part {
    /// First byte and the byte after the last.
    pub(super) fn bytes(self, space: Space) -> [u64; 2] {
        let whole = [0, space.logical_bytes];
        let (bounds, unit, [first, limit]) = match self {
            Self::Sectors(limit) => ([0.0, limit], SECTOR_BYTES, whole),
            // A part of a drive with zones is whole zones.
            Self::Pages(bounds) => {
                (bounds, space.zones.map_or(space.page_bytes, |zones| zones.zone_bytes), whole)
            }
            Self::Within(bounds, pages) => {
                (bounds, space.page_bytes, pages.map(|page| u64::from(page) * space.page_bytes))
            }
        };
        // 100 % is exact at any capacity; otherwise rounded down.
        let bytes_at = |percent: f64| {
            if percent >= 100.0 {
                limit - first
            } else {
                ((limit - first) as f64 * percent / 100.0) as u64
            }
        };
        bounds.map(|percent| first + bytes_at(percent) / unit * unit)
    }

    /// Its share of the space.
    fn percent(self) -> f64 {
        match self {
            Self::Sectors(limit) => limit,
            Self::Pages([from, to]) | Self::Within([from, to], _) => to - from,
        }
    }
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
        let offsets = self.offset_sectors();
        let sizes = self.block_size_bytes.sector_counts();
        let sizes: Vec<u32> = sizes.into_iter().map(|it| room_of(it, offsets)).collect();
        let sectors_max = sizes.iter().copied().max().unwrap_or(1);
        if let (Some(zones), Part::Pages([from, to]), 0) =
            (space.zones, self.part, extent.sector_count)
        {
            let message = format!(
                "[{from}, {to}] of {} B has no whole zone of {} B; accepted: a part with one",
                space.logical_bytes, zones.zone_bytes
            );
            return Err(ConfigError::new("range_pct", message));
        }
        if extent.starts(sectors_max) == 0 {
            let accepted = format!(
                "at most {} B, the active range ({} % of {} B)",
                extent.sector_count * SECTOR_BYTES,
                self.part.percent(),
                space.logical_bytes
            );
            return Err(refuse("block_size_bytes", largest, &accepted));
        }
        let needs_zones = match self.pattern {
            PatternConfig::HostLog(_) => Some("host_log"),
            PatternConfig::ZoneActions(_) => Some("zone_actions"),
            _ => None,
        };
        if let (Some(name), None) = (needs_zones, space.zones) {
            let message = format!(
                "{name} on a drive that has no zones; accepted: a drive with ftl.mapping `{{kind: \
                 zoned, zone_bytes, open_zones_max, active_zones_max}}`, or another pattern"
            );
            return Err(ConfigError::new("pattern", message));
        }
        if matches!(self.pattern, PatternConfig::LogZones(_)) {
            for (path, share) in [("read_pct", self.read_pct), ("trim_pct", self.trim_pct)] {
                if share > 0.0 {
                    return Err(refuse(
                        path,
                        share,
                        "0 with pattern log_zones, which trims itself",
                    ));
                }
            }
        }
        self.pattern.check(extent, &sizes).map_err(|error| error.under("pattern"))
    }

    /// Whether some requests write.
    pub fn writes(&self) -> bool {
        self.read_pct + self.trim_pct < 100.0
    }

    /// First sector of the range, and its extent for the pattern.
    fn extent(&self, space: Space) -> (u64, Extent) {
        let align_bytes =
            self.align_bytes.map_or(self.block_size_bytes.bytes_min(), Alignment::bytes);
        let [first, limit] = self.part.bytes(space);
        let extent = Extent {
            sector_count: (limit - first) / SECTOR_BYTES,
            align_sectors: align_bytes / SECTOR_BYTES,
        };
        (first / SECTOR_BYTES, extent)
    }

    /// Sectors of a page in which smaller requests start anywhere; 0 if at its start.
    fn offset_sectors(&self) -> u32 {
        let is_drawn = matches!(
            self.pattern,
            PatternConfig::Random(_)
                | PatternConfig::Permutation(_)
                | PatternConfig::HotCold(_)
                | PatternConfig::Zipf(_)
                | PatternConfig::Zoned(_)
        );
        let is_natural = is_drawn && self.align_bytes == Some(Alignment::Natural);
        let has_parts = self.block_size_bytes.bytes_min() < NATURAL_BYTES;
        if is_natural && has_parts {
            (NATURAL_BYTES / SECTOR_BYTES) as u32
        } else {
            0
        }
    }

    /// Everything of the generator but the pattern; `streams` names its randomness.
    pub fn parts(&self, space: Space, seed: u64, streams: &str) -> SyntheticParts {
        let stream = |name: &str| Rng::stream(seed, &format!("{streams}.{name}"));
        SyntheticParts {
            extent: self.extent(space).1,
            zones: space.zones,
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
            offsets: Offsets::within(self.offset_sectors(), stream("offset")),
            address_rng: stream("address"),
            retarget_rng: stream("retarget"),
        }
    }

    /// The commands, from sector 0 on; `shuffle_seed` fixes the shuffles of a pattern.
    pub fn generator(
        &self,
        space: Space,
        seed: u64,
        streams: &str,
        shuffle_seed: u64,
    ) -> Box<dyn Generator> {
        let inner = self.pattern.generator(self.parts(space, seed, streams), shuffle_seed);
        let rng = Rng::stream(seed, &format!("{streams}.fua"));
        DurableHost::around(inner, self.flush_every, self.fua_pct / 100.0, rng)
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
