//! One stimulus of a standard test: an access pattern, applied until a limit.
//!
//! A cell is one measurement of a test: "random 8 KiB, 65 % reads, 4 threads of 32, for 2000
//! requests". It is declared ([`CellSpec`]), compiled for an address space ([`Cell`]) and then
//! drawn from, like a workload; but it names neither preconditioning nor tenants, and its limit may
//! ask for time, requests and bytes at once. Every draw follows from the seed of the cell alone.

mod draw;
pub mod lines;
mod places;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::addresses::Extent;
use super::check::{refuse, whole_sectors};
use super::load::{ArrivalConfig, Arrivals, LoadConfig, PoissonConfig};
use super::pattern::hot_cold::HotColdConfig;
use super::pattern::log_zones::{LogZonesConfig, Trimming};
use super::pattern::zipf::ZipfConfig;
use super::pattern::Parameters;
use super::size::BlockSizes;
use super::{Admission, Generator, Host, Load, Space};
use crate::config::{parse, ConfigError};
use crate::op::HostCommand;
use crate::rng::Rng;
use crate::units::{Ns, SECTOR_BYTES};
use draw::{Drawing, Turns};
use places::{Range, Starts};

/// Most threads with separate streams: a command names its thread in one byte.
const STREAMS_MAX: u32 = 256;
/// Most requests outstanding.
const OUTSTANDING_MAX: u64 = 65_536;
/// Most segments of an active range.
const SEGMENTS_MAX: u32 = 65_536;
/// Alignment of requests of mixed sizes, and of segments.
const MIX_ALIGN_BYTES: u64 = 4096;
/// Most pieces of a cell in time.
pub(crate) const PIECES_MAX: u64 = 10_000_000;
/// Longest time of a cell in seconds: 30 years, far below the range of nanoseconds in 64 bits.
const SECONDS_MAX: f64 = 1e9;

/// Addresses of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellPattern {
    /// Every start in the range (or of a zone) equally likely.
    #[default]
    Random,
    /// Ascending, from the start again at the end; with several threads, a slice for each.
    Sequential,
    /// Every start once, in an order that follows from the seed of the range; then again.
    Shuffled,
}

/// By which law requests prefer some starts to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkewLaw {
    /// The k-th most popular start gets requests in proportion to `k^-value`.
    Zipf,
    /// A share of the starts is never used, the others are equally likely.
    Static,
}

/// Unequal shares of single starts; those of cells with one seed are the same.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skew {
    /// By which law.
    pub law: SkewLaw,
    /// The exponent, above 0, at most 10; or the share, above 0, below 1.
    pub value: f64,
    /// Whether popular starts are spread over the range; if false they are the first.
    #[serde(default = "yes")]
    pub shuffle: bool,
    /// Seed of the places of popular starts.
    #[serde(default = "usual_seed")]
    pub seed: u64,
    /// Neighbouring ranks of a Zipf law that share a place; 1 if left out.
    #[serde(default)]
    pub ranks_per_place: Option<u32>,
}

fn yes() -> bool {
    true
}

fn usual_seed() -> u64 {
    ActiveRange::default().seed
}

/// Which addresses are in use.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ActiveRange {
    /// Part of the capacity, from its start; above 0, at most 1.
    pub share: f64,
    /// `None`: all of that part; else this number of bytes of it, in segments.
    pub amount_bytes: Option<u64>,
    /// Equal, separate segments that hold them.
    pub segments: u32,
    /// Seed of the places of the segments.
    pub seed: u64,
}

impl Default for ActiveRange {
    fn default() -> Self {
        Self { share: 1.0, amount_bytes: None, segments: 2048, seed: 42 }
    }
}

/// A part of the active range and how often requests start in it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellZone {
    /// Part of the range; zones follow each other from its start.
    pub range_share: f64,
    /// Part of the requests.
    pub access_share: f64,
}

/// When a cell ends: once all that is given is reached, or at `seconds_max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CellLimit {
    /// Simulated time; 0 for none.
    pub seconds: f64,
    /// Completed requests; 0 for none.
    pub ios: u64,
    /// Bytes read and written; 0 for none.
    pub bytes: u64,
    /// Blocks that collections have reclaimed in every pool of the drive; 0 for none. Under random
    /// requests only blocks with live pages count: before these, a drive reclaims blocks of dead
    /// pages.
    pub reclaims: u64,
    /// The end in any case.
    pub seconds_max: Option<f64>,
    /// Part of the limit at the start that is run and not measured, 0 to below 1.
    pub ramp_ratio: f64,
    /// The ramp continues until the drive itself has programmed and erased nothing for this time,
    /// at most for half of `seconds_max`; 0 for none. For cells of reads: work left by earlier
    /// writes would take a large part of a short cell, but takes only part of the first second of a
    /// minute.
    pub quiet_seconds: f64,
}

/// A stimulus as it is declared; missing keys have the values of [`CellSpec::default`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CellSpec {
    /// Addresses of requests.
    pub pattern: CellPattern,
    /// Share of requests that read, in percent by count; the others write.
    pub read_pct: f64,
    /// Size of requests in bytes, or pairs of size and weight.
    #[serde(deserialize_with = "sizes")]
    pub block_bytes: BlockSizes,
    /// Threads, at least 1.
    pub threads: u32,
    /// Requests outstanding per thread, at least 1.
    pub queue_depth: u32,
    /// Addresses in use.
    pub active_range: ActiveRange,
    /// Shares of random requests over parts of the range; none: uniform.
    pub zones: Vec<CellZone>,
    /// Shares of random requests over single starts; `None`: equal ones.
    pub skew: Option<Skew>,
    /// Zones that are trimmed and written from end to end, in random order; `None`: none.
    pub logs: Option<LogZonesConfig>,
    /// Requests made per second, by a Poisson process; `None`: one whenever one completes.
    pub rate_per_s: Option<f64>,
    /// Other loads at the same time, which have no limits and no further loads themselves.
    pub beside: Vec<CellSpec>,
    /// Random requests start at multiples of it from the start of the range (or segment); `None`:
    /// the block size, and for a mix of sizes 4096.
    pub align_bytes: Option<u64>,
    /// Where sequential streams begin, in bytes from the start of their slice.
    pub start_bytes: u64,
    /// When it ends.
    pub limit: CellLimit,
    /// Length of pieces in time, in seconds; `None` for none.
    pub sample_s: Option<f64>,
    /// False: without a clock, at the speed of memory, until a limit of requests or bytes.
    pub is_measured: bool,
}

impl Default for CellSpec {
    fn default() -> Self {
        Self {
            pattern: CellPattern::Random,
            read_pct: 0.0,
            block_bytes: BlockSizes::one(4096),
            threads: 1,
            queue_depth: 1,
            active_range: ActiveRange::default(),
            zones: Vec::new(),
            skew: None,
            logs: None,
            rate_per_s: None,
            beside: Vec::new(),
            align_bytes: None,
            start_bytes: 0,
            limit: CellLimit::default(),
            sample_s: None,
            is_measured: true,
        }
    }
}

/// Serde helper: one size, or pairs of size and weight.
fn sizes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BlockSizes, D::Error> {
    let problem = |value: &Value| {
        serde::de::Error::custom(format!(
            "`{value}` is not a valid size; accepted: bytes, or pairs of bytes and weight"
        ))
    };
    let value = Value::deserialize(deserializer)?;
    if let Some(bytes) = value.as_u64() {
        return Ok(BlockSizes::one(bytes));
    }
    let Value::Array(pairs) = &value else { return Err(problem(&value)) };
    let pair = |pair: &Value| Some((pair.get(0)?.as_u64()?, pair.get(1)?.as_f64()?));
    let pairs: Option<Vec<_>> = pairs.iter().map(pair).collect();
    BlockSizes::of(pairs.ok_or_else(|| problem(&value))?).map_err(serde::de::Error::custom)
}

/// A stimulus compiled for an address space.
#[derive(Debug)]
pub struct Cell {
    spec: CellSpec,
    range: Range,
    align_sectors: u64,
    /// Sectors of the slice that a sequential thread has for itself.
    slice_sectors: u64,
    beside: Vec<Cell>,
}

impl CellSpec {
    /// Reads a stimulus given as JSON and compiles it for an address space.
    ///
    /// # Errors
    /// The dotted path of the first invalid key, its value, and the accepted values.
    pub fn resolve(json: &str, space: Space) -> Result<Cell, ConfigError> {
        let spec: Self = parse(json)?;
        space.refuse_zones(".", "a standard test")?;
        spec.check_requests()?;
        spec.limit.check(spec.is_measured)?;
        spec.check_pieces()?;
        let range = Range::new(&spec.active_range, space)?;
        let beside = spec.beside.iter().enumerate().map(|(index, load)| {
            load.beside(&spec, space).map_err(|error| error.under(&format!("beside[{index}]")))
        });
        Cell::new(spec.clone(), range, beside.collect::<Result<_, _>>()?)
    }

    /// Compiles a load that runs at the same time as that of `first`.
    fn beside(&self, first: &Self, space: Space) -> Result<Cell, ConfigError> {
        self.check_requests()?;
        if !self.beside.is_empty() || self.limit != CellLimit::default() {
            let message = "a load beside another has neither a limit nor loads; accepted: none";
            return Err(ConfigError::new("limit", message));
        }
        if [self, first].iter().any(|it| it.is_sequential() || it.logs.is_some())
            || !first.is_measured
        {
            let message = "loads beside each other; accepted: random ones, with a clock";
            return Err(ConfigError::new("pattern", message));
        }
        Cell::new(self.clone(), Range::new(&self.active_range, space)?, Vec::new())
    }

    fn check_requests(&self) -> Result<(), ConfigError> {
        if !(0.0..=100.0).contains(&self.read_pct) {
            return Err(refuse("read_pct", self.read_pct, "0 to 100"));
        }
        self.block_bytes.check("block_bytes")?;
        if self.threads == 0 || (self.is_sequential() && self.threads > STREAMS_MAX) {
            let accepted = "at least 1, and for sequential streams at most 256";
            return Err(refuse("threads", self.threads, accepted));
        }
        if self.queue_depth == 0 || self.outstanding() > OUTSTANDING_MAX {
            let accepted = "1 to 65536 requests outstanding in all threads together";
            return Err(refuse("queue_depth", self.queue_depth, accepted));
        }
        if let Some(bytes) = self.align_bytes {
            whole_sectors("align_bytes", bytes)?;
        }
        if !self.start_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(refuse("start_bytes", self.start_bytes, "a multiple of 512 B"));
        }
        if self.is_sequential() && !self.zones.is_empty() {
            let message = "zones are shares of random requests; accepted: none for `sequential`";
            return Err(ConfigError::new("zones", message));
        }
        places::check_zones(&self.zones)?;
        if let Some(rate) = self.rate_per_s {
            poisson(rate)
                .check("rate_per_s")
                .map_err(|error| ConfigError::new("rate_per_s", error.message))?;
            if self.is_sequential() || !self.is_measured {
                let message = "arrivals need a clock and one stream; accepted: none here";
                return Err(ConfigError::new("rate_per_s", message));
            }
        }
        self.check_order()
    }

    /// Refuses orders of requests that contradict each other.
    fn check_order(&self) -> Result<(), ConfigError> {
        let orders = [
            ("zones", !self.zones.is_empty()),
            ("skew", self.skew.is_some()),
            ("logs", self.logs.is_some()),
        ];
        let mut asked = orders.iter().filter(|(_, is_asked)| *is_asked).map(|(name, _)| *name);
        let Some(first) = asked.next() else { return self.check_whole("pattern") };
        if let Some(second) = asked.next() {
            let message = format!("it contradicts `{first}`; accepted: one of zones, skew, logs");
            return Err(ConfigError::new(second, message));
        }
        if self.pattern != CellPattern::Random {
            let message = "an order of random requests; accepted: none for this pattern";
            return Err(ConfigError::new(first, message));
        }
        if self.logs.is_some() && (self.threads > 1 || self.read_pct > 0.0) {
            let message = "zones are written by one thread; accepted: threads 1, read_pct 0";
            return Err(ConfigError::new("logs", message));
        }
        self.check_whole(first)
    }

    /// Refuses segments for requests whose starts are numbered.
    fn check_whole(&self, path: &str) -> Result<(), ConfigError> {
        let is_numbered =
            self.skew.is_some() || self.logs.is_some() || self.pattern == CellPattern::Shuffled;
        if is_numbered && self.active_range.amount_bytes.is_some() {
            let message = "it needs a range in one piece; accepted: no active_range.amount_bytes";
            return Err(ConfigError::new(path, message));
        }
        Ok(())
    }

    fn check_pieces(&self) -> Result<(), ConfigError> {
        let Some(length) = self.sample_s else { return Ok(()) };
        if !(1e-6..=SECONDS_MAX).contains(&length) {
            return Err(refuse("sample_s", length, "0.000001 to 1e9"));
        }
        let longest = self.limit.seconds_max.unwrap_or(0.0).max(self.limit.seconds);
        if longest / length > PIECES_MAX as f64 {
            return Err(refuse("sample_s", length, "at most 10 million pieces in a cell"));
        }
        Ok(())
    }

    /// Requests outstanding in all threads together.
    pub fn outstanding(&self) -> u64 {
        u64::from(self.threads) * u64::from(self.queue_depth)
    }

    fn is_sequential(&self) -> bool {
        self.pattern == CellPattern::Sequential
    }
}

impl CellLimit {
    fn check(&self, is_measured: bool) -> Result<(), ConfigError> {
        let is_time = |seconds: f64| (0.0..=SECONDS_MAX).contains(&seconds);
        if !is_time(self.seconds) {
            return Err(refuse("limit.seconds", self.seconds, "0 to 1e9"));
        }
        if let Some(seconds) = self.seconds_max.filter(|&it| !(is_time(it) && it > 0.0)) {
            return Err(refuse("limit.seconds_max", seconds, "above 0, at most 1e9"));
        }
        if !is_time(self.quiet_seconds) {
            return Err(refuse("limit.quiet_seconds", self.quiet_seconds, "0 to 1e9"));
        }
        if self.quiet_seconds > 0.0 && self.seconds_max.is_none() {
            let message =
                "a drive that is never quiet would never begin; accepted: seconds_max too";
            return Err(ConfigError::new("limit.quiet_seconds", message));
        }
        if !(self.ramp_ratio >= 0.0 && self.ramp_ratio < 1.0) {
            return Err(refuse("limit.ramp_ratio", self.ramp_ratio, "0 to below 1"));
        }
        let has_count = self.ios > 0 || self.bytes > 0;
        if !is_measured && (!has_count || self.seconds > 0.0 || self.reclaims > 0) {
            let message =
                "without a clock neither time nor reclaimed blocks end it; accepted: ios or bytes";
            return Err(ConfigError::new("limit", message));
        }
        if self.reclaims > 0 && self.seconds_max.is_none() {
            let message = "a drive that never collects would never end; accepted: seconds_max too";
            return Err(ConfigError::new("limit.reclaims", message));
        }
        if !has_count && self.seconds <= 0.0 && self.seconds_max.is_none() {
            let message = "it would never end; accepted: one of seconds, ios, bytes, seconds_max";
            return Err(ConfigError::new("limit", message));
        }
        Ok(())
    }

    /// A time in nanoseconds, to the nearest.
    pub(crate) fn ns(seconds: f64) -> u64 {
        (seconds * 1e9).round() as u64
    }
}

impl Cell {
    fn new(spec: CellSpec, range: Range, beside: Vec<Self>) -> Result<Self, ConfigError> {
        let sectors_max = spec.block_bytes.bytes_max() / SECTOR_BYTES;
        // Whole units of 4 KiB, so that streams of neighbours do not share a page of that size.
        let unit = MIX_ALIGN_BYTES / SECTOR_BYTES;
        let slice_sectors = match u64::from(spec.threads) {
            1 => range.sector_count(),
            threads => range.sector_count() / threads / unit * unit,
        };
        let room = if spec.is_sequential() { slice_sectors } else { range.sector_count() };
        let room = room.min(range.segment_sectors());
        if sectors_max > room {
            let accepted = format!(
                "at most {} B, what the active range leaves to a request",
                room * SECTOR_BYTES
            );
            return Err(refuse("block_bytes", sectors_max * SECTOR_BYTES, &accepted));
        }
        let align_bytes = match (spec.align_bytes, spec.block_bytes.bytes_min()) {
            (Some(bytes), _) => bytes,
            (None, smallest) if smallest == spec.block_bytes.bytes_max() => smallest,
            (None, _) => MIX_ALIGN_BYTES,
        };
        let align_sectors = align_bytes / SECTOR_BYTES;
        let cell = Self { spec, range, align_sectors, slice_sectors, beside };
        cell.check_places()?;
        Ok(cell)
    }

    /// Refuses zones and skews without room for a request, and slices that are cut up by segments.
    fn check_places(&self) -> Result<(), ConfigError> {
        let sizes = self.spec.block_bytes.sector_counts();
        let extent = self.extent();
        if let Some(skew) = &self.spec.skew {
            let named = |error: ConfigError| ConfigError::new("skew.value", error.message);
            match skew.law {
                SkewLaw::Zipf => skew.zipf().check(extent, &sizes).map_err(named)?,
                SkewLaw::Static if !(skew.value > 0.0 && skew.value < 1.0) => {
                    return Err(refuse("skew.value", skew.value, "above 0, below 1"));
                }
                SkewLaw::Static => skew.written().check(extent, &sizes).map_err(named)?,
            }
        }
        if let Some(logs) = &self.spec.logs {
            logs.check(extent, &sizes).map_err(|error| error.under("logs"))?;
        }
        if self.spec.pattern == CellPattern::Shuffled && sizes.len() > 1 {
            let message = "every start once; accepted: requests of one size";
            return Err(ConfigError::new("block_bytes", message));
        }
        for sectors in self.spec.block_bytes.sector_counts() {
            if self.spec.is_sequential() {
                for thread in 0..self.spec.threads {
                    if self.slice(thread).next_place(&self.range, 0, sectors.into()).is_none() {
                        let message =
                            "the segments leave a slice no room for a request; accepted: fewer \
                             threads, or larger segments";
                        return Err(ConfigError::new("threads", message));
                    }
                }
            } else {
                self.starts(sectors).check_zones(&self.spec.zones)?;
            }
        }
        Ok(())
    }

    /// The stimulus as it was declared.
    pub fn spec(&self) -> &CellSpec {
        &self.spec
    }

    /// The range in one piece.
    fn extent(&self) -> Extent {
        Extent { sector_count: self.range.sector_count(), align_sectors: self.align_sectors }
    }

    /// Loads that run at the same time.
    pub fn load_count(&self) -> usize {
        1 + self.beside.len()
    }

    fn starts(&self, sectors: u32) -> Starts {
        Starts::new(&self.range, sectors, self.align_sectors, &self.spec.zones)
    }

    fn slice(&self, thread: u32) -> places::Slice {
        let first = u64::from(thread) * self.slice_sectors;
        places::Slice { first, limit: first + self.slice_sectors }
    }

    /// The commands of a thread (of all threads, for random requests).
    fn drawing(&self, thread: u32, seed: u64) -> Drawing {
        let stream = |name: &str| Rng::stream(seed, &format!("cell.{thread}.{name}"));
        Drawing::new(self, thread, stream)
    }

    /// Loads for the timed executor: one of all threads, or one for each sequential stream; and the
    /// other loads at the same time.
    pub fn loads(&self, seed: u64) -> Vec<Load> {
        if !self.beside.is_empty() {
            let cells = std::iter::once(self).chain(&self.beside).enumerate();
            return cells.map(|(index, cell)| cell.load_of(index as u32, seed)).collect();
        }
        let is_one = !self.spec.is_sequential() || self.spec.threads == 1;
        if is_one {
            return vec![self.load_of(0, seed)];
        }
        let admission = Admission::Closed { queue_depth: self.spec.queue_depth };
        let load = |thread| Load::new(Box::new(self.drawing(thread, seed)), admission);
        (0..self.spec.threads).map(load).map(weighted).collect()
    }

    /// The load of all threads, as the host of this number.
    fn load_of(&self, tenant: u32, seed: u64) -> Load {
        let queue_depth = self.spec.outstanding() as u32;
        let mut drawing = self.drawing(tenant, seed).alone();
        let admission = match self.spec.rate_per_s {
            None => Admission::Closed { queue_depth },
            Some(rate) => {
                let rng = Rng::stream(seed, &format!("cell.{tenant}.arrival"));
                drawing.arrivals = Arrivals::of(&poisson(rate), rng);
                Admission::Paced { queue_depth }
            }
        };
        weighted(Load::new(self.trimming(drawing), admission))
    }

    /// The commands with the trims that belong to them.
    fn trimming(&self, drawing: Drawing) -> Box<dyn Generator> {
        match &self.spec.logs {
            Some(logs) => Box::new(Trimming::new(drawing, logs.zone_bytes)),
            None => Box::new(drawing),
        }
    }

    /// The commands of one of several threads with separate streams, which together are the
    /// stimulus.
    pub fn stream(&self, thread: u32, seed: u64) -> Box<dyn Generator> {
        self.trimming(self.drawing(thread, seed))
    }

    /// All commands in one order, threads in turn.
    pub fn generator(&self, seed: u64) -> Box<dyn Generator> {
        if !self.spec.is_sequential() || self.spec.threads == 1 {
            return self.trimming(self.drawing(0, seed).alone());
        }
        let threads = (0..self.spec.threads).map(|thread| self.drawing(thread, seed));
        Box::new(Turns::new(threads.collect()))
    }

    /// Where the stream of a thread continues after a command, in bytes from the start of its
    /// slice.
    pub(crate) fn end_bytes(&self, thread: u32, last: Option<&HostCommand>) -> u64 {
        if !self.spec.is_sequential() {
            return 0;
        }
        let Some(last) = last else { return self.spec.start_bytes };
        let place = self.range.place_of(last.sector) + u64::from(last.sector_count);
        (place - self.slice(thread).first) * SECTOR_BYTES
    }

    /// Length of the pieces in time.
    pub(crate) fn sample(&self) -> Option<Ns> {
        self.spec.sample_s.map(|seconds| Ns(CellLimit::ns(seconds)))
    }
}

impl Skew {
    fn zipf(&self) -> ZipfConfig {
        let ranks_per_place = self.ranks_per_place.unwrap_or(1);
        ZipfConfig { theta: self.value, shuffle: self.shuffle, ranks_per_place }
    }

    /// The written part of the range, which takes all requests.
    fn written(&self) -> HotColdConfig {
        HotColdConfig { fraction: 1.0 - self.value, share: 1.0, shuffle: self.shuffle }
    }
}

fn poisson(iops: f64) -> LoadConfig {
    LoadConfig::Open(ArrivalConfig::Poisson(PoissonConfig { iops }))
}

fn weighted(load: Load) -> Load {
    Load { host: Host { weight: 1, ..Host::default() }, ..load }
}

#[cfg(test)]
mod tests;
