//! Jobs of fio: what a process of a job file asks of the drive, with fio's semantics.
//!
//! ```text
//! job file ──Python──► JobSpec ──► Source: where, how long      FreeMap: places of a pass
//!                         │                                     Law: places by popularity
//!                         └──────► run/fio: when, how many, the counts
//! ```
//! A [`JobSpec`] is one process: `numjobs` and sections are resolved before. All numbers are in
//! bytes and nanoseconds; directions are in the order read, write, trim.
//!
//! Source: `io_u.c`, `backend.c`, `filesetup.c` of fio 3.42.

mod free_map;
mod law;
mod source;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use super::check::refuse;
use super::Space;
use crate::config::{parse, ConfigError};
use crate::units::SECTOR_BYTES;
pub(crate) use source::Source;

/// Index of a direction.
pub(crate) const READ: usize = 0;
/// The same of writes.
pub(crate) const WRITE: usize = 1;
/// The same of trims.
pub(crate) const TRIM: usize = 2;
/// Processes at a time: a command names its own in one byte.
const PROCESSES_MAX: usize = 256;
/// Requests in flight of a process.
const DEPTH_MAX: u32 = 65_536;
/// Largest request.
const REQUEST_BYTES_MAX: u64 = 1 << 30;
/// Longest time: 30 years in nanoseconds.
const TIME_NS_MAX: u64 = 1_000_000_000_000_000_000;

/// Directions of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kinds {
    /// Reads.
    #[default]
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// Each request is drawn alone, by `read_pct`.
    Mixed,
    /// A trim, then a write of the same place.
    TrimWrite,
}

/// Request sizes of a direction: the smallest and the largest, and the shares of single ones.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
    /// Bytes and percent; empty: every multiple of the smallest.
    #[serde(default)]
    pub split: Vec<(u64, u32)>,
}

/// Where random requests go.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(tag = "law", rename_all = "snake_case", deny_unknown_fields)]
pub enum Law {
    /// Everywhere alike.
    #[default]
    Uniform,
    /// Rank k with `k^-value`.
    Zipf {
        /// The exponent.
        value: f64,
        /// Where rank 0 is, 0 to 1.
        center: Option<f64>,
    },
    /// Rank `(n-1) u^p`, `p = ln h / ln(1-h)`.
    Pareto {
        /// `h`.
        value: f64,
        /// Where rank 0 is, 0 to 1.
        center: Option<f64>,
    },
    /// The mean of 12 uniform draws, moved by up to half of `value` percent either way.
    Normal {
        /// Percent of the places.
        value: f64,
        /// Where the middle is, 0 to 1.
        center: Option<f64>,
    },
    /// Percent of the requests, first byte and the byte after the last, for each direction.
    Zones {
        /// None: everywhere alike.
        zones: [Vec<(u32, u64, u64)>; 3],
    },
}

/// `zonemode=strided`: `size` bytes in a piece of `range`, then `skip` is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stride {
    /// Bytes of a piece.
    pub range: u64,
    /// Bytes of the requests in it.
    pub size: u64,
    /// Bytes between pieces.
    pub skip: u64,
}

/// The placement id of each write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum Handles {
    /// 0.
    #[default]
    None,
    /// In turn.
    RoundRobin {
        /// The ids.
        ids: Vec<u8>,
    },
    /// One of them, at random.
    Random {
        /// The ids.
        ids: Vec<u8>,
    },
    /// By place: first byte, byte after the last, id; elsewhere 0.
    Scheme {
        /// The first that has the place counts.
        ranges: Vec<(u64, u64, u8)>,
    },
}

/// A pause after a number of requests, or after a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Think {
    /// Its length.
    pub ns: u64,
    /// After this number of requests; 0: after the time alone.
    pub blocks: u64,
    /// Counted when they are issued; otherwise when they are complete.
    pub by_issue: bool,
    /// Or after this time; 0: none.
    pub every_ns: u64,
}

/// When a group of jobs is steady.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steady {
    /// The value that is judged.
    pub of: SteadyOf,
    /// The regression slope; otherwise the largest deviation from the mean.
    pub is_slope: bool,
    /// The value must be below it.
    pub limit: f64,
    /// In percent of the mean.
    pub is_percent: bool,
    /// Values of a window.
    pub window: usize,
    /// Time between values.
    pub interval_ns: u64,
    /// Time before the first.
    pub ramp_ns: u64,
}

/// Values of [`Steady`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyOf {
    /// Requests a second.
    Iops,
    /// Bytes a second.
    Bw,
    /// Mean response time.
    Lat,
}

/// A process of a job; missing keys have the values of [`JobSpec::default`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools)] // they are options of fio, each on or off
pub struct JobSpec {
    /// Names its randomness.
    pub name: String,
    /// Of the reporting group.
    pub group: u32,
    /// Directions.
    pub kinds: Kinds,
    /// Random places; otherwise ascending.
    pub is_random: bool,
    /// A new place after this number of requests, those between follow each other.
    pub new_place_every: u32,
    /// Requests between new places repeat the place instead of following it.
    pub repeats_place: bool,
    /// Bytes that ascending requests leave out; below 0: descending.
    pub skip: i64,
    /// Percent of the requests of a mixed job that read.
    pub read_pct: u32,
    /// Request sizes by direction.
    pub sizes: [Sizes; 3],
    /// The sizes of ascending requests are those of reads, of random ones those of writes.
    pub sizes_by_place: bool,
    /// Random requests begin at multiples of it, by direction.
    pub align: [u64; 3],
    /// First byte.
    pub offset: u64,
    /// Bytes of the range.
    pub size: u64,
    /// The end of the file; skips wrap there.
    pub reach: u64,
    /// Bytes to issue; 0: `size`.
    pub io_size: u64,
    /// Requests to issue; 0: no limit.
    pub number_ios: u64,
    /// Passes.
    pub loops: u32,
    /// A place comes once in a pass.
    pub has_map: bool,
    /// Where random requests go.
    pub places: Law,
    /// Percent of the requests of a random job that are at random places.
    pub random_pct: [u32; 3],
    /// Pieces.
    pub stride: Option<Stride>,
    /// Requests in flight.
    pub depth: u32,
    /// A flush after this number of writes; 0: none.
    pub flush_every: u64,
    /// A flush at the end of a pass.
    pub ends_with_flush: bool,
    /// Other requests do not wait for a flush.
    pub flushes_beside: bool,
    /// Writes complete on the flash.
    pub is_fua: bool,
    /// Bytes a second, by direction; 0: no limit.
    pub rate: [u64; 3],
    /// Requests a second, by direction; 0: no limit.
    pub rate_iops: [u64; 3],
    /// Times between requests are drawn.
    pub is_poisson: bool,
    /// Pauses.
    pub think: Think,
    /// A pause moves the schedule of `rate`.
    pub rate_ignores_think: bool,
    /// The longest time; 0: no limit.
    pub runtime_ns: u64,
    /// Only the time ends it.
    pub is_time_based: bool,
    /// Run and not counted.
    pub ramp_ns: u64,
    /// From the begin of the stage.
    pub delay_ns: u64,
    /// Begins when these processes have ended.
    pub after: Vec<usize>,
    /// All others end with it.
    pub ends_all: bool,
    /// Every pass has the same randomness.
    pub repeats: bool,
    /// Placement ids.
    pub handles: Handles,
    /// When its group is steady.
    pub steady: Option<Steady>,
    /// Lengths of the windows of its series.
    pub windows_ns: Vec<u64>,
    /// Every request is kept.
    pub keeps_all: bool,
}

impl Default for JobSpec {
    fn default() -> Self {
        let sizes = || Sizes { min: 4096, max: 4096, split: Vec::new() };
        Self {
            name: String::new(),
            group: 0,
            kinds: Kinds::Read,
            is_random: false,
            new_place_every: 1,
            repeats_place: false,
            skip: 0,
            read_pct: 50,
            sizes: [sizes(), sizes(), sizes()],
            sizes_by_place: false,
            align: [4096; 3],
            offset: 0,
            size: 0,
            reach: 0,
            io_size: 0,
            number_ios: 0,
            loops: 1,
            has_map: true,
            places: Law::Uniform,
            random_pct: [100; 3],
            stride: None,
            depth: 1,
            flush_every: 0,
            ends_with_flush: false,
            flushes_beside: false,
            is_fua: false,
            rate: [0; 3],
            rate_iops: [0; 3],
            is_poisson: false,
            think: Think::default(),
            rate_ignores_think: false,
            runtime_ns: 0,
            is_time_based: false,
            ramp_ns: 0,
            delay_ns: 0,
            after: Vec::new(),
            ends_all: false,
            repeats: true,
            handles: Handles::None,
            steady: None,
            windows_ns: Vec::new(),
            keeps_all: false,
        }
    }
}

impl JobSpec {
    /// Reads the processes of a stage, given as a JSON list, for an address space.
    ///
    /// # Errors
    /// The dotted path of the first invalid key, its value, and the accepted values.
    pub fn resolve(json: &str, space: Space) -> Result<Vec<Self>, ConfigError> {
        let jobs: Vec<Self> = parse(json)?;
        space.refuse_zones(".", "a job of fio")?;
        if jobs.is_empty() || jobs.len() > PROCESSES_MAX {
            return Err(refuse(".", jobs.len(), "1 to 256 processes at a time"));
        }
        for (index, job) in jobs.iter().enumerate() {
            job.check(space, index).map_err(|error| error.under(&format!("[{index}]")))?;
        }
        Ok(jobs)
    }

    fn check(&self, space: Space, index: usize) -> Result<(), ConfigError> {
        let end = self.offset.checked_add(self.size);
        if self.size == 0 || end.is_none_or(|end| end > space.logical_bytes) {
            let accepted = format!("above 0, within the {} B of the drive", space.logical_bytes);
            return Err(refuse("size", self.size, &accepted));
        }
        for (sizes, align) in self.sizes.iter().zip(self.align) {
            let split = sizes.split.iter().map(|&(bytes, _)| bytes);
            let all = split.chain([sizes.min, sizes.max, align, self.offset.max(SECTOR_BYTES)]);
            for bytes in all {
                if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) {
                    return Err(refuse("sizes", bytes, "multiples of 512 B"));
                }
            }
            if sizes.min > sizes.max || sizes.max > REQUEST_BYTES_MAX || sizes.min > self.size {
                return Err(refuse("sizes", sizes.max, "up to 1 GiB, and to the size of the job"));
            }
            if sizes.split.iter().any(|&(bytes, _)| !(sizes.min..=sizes.max).contains(&bytes)) {
                return Err(refuse("sizes.split", sizes.max, "between min and max"));
            }
        }
        if !(1..=DEPTH_MAX).contains(&self.depth) {
            return Err(refuse("depth", self.depth, "1 to 65536"));
        }
        if self.new_place_every == 0 || self.loops == 0 {
            return Err(refuse("loops", self.loops, "at least 1"));
        }
        let skips = self.skip.unsigned_abs();
        if !skips.is_multiple_of(SECTOR_BYTES) || !self.reach.is_multiple_of(SECTOR_BYTES) {
            return Err(refuse("skip", self.skip, "a multiple of 512 B"));
        }
        if let Some(stride) = &self.stride {
            let is_whole = |bytes: u64| bytes.is_multiple_of(SECTOR_BYTES);
            let parts = [stride.range, stride.size, stride.skip];
            if stride.range == 0 || stride.size == 0 || !parts.into_iter().all(is_whole) {
                return Err(refuse("stride", stride.range, "multiples of 512 B above 0"));
            }
        }
        let times = [self.runtime_ns, self.ramp_ns, self.delay_ns, self.think.ns];
        if times.into_iter().any(|ns| ns > TIME_NS_MAX) || self.windows_ns.contains(&0) {
            return Err(refuse("runtime_ns", self.runtime_ns, "up to 1e18"));
        }
        if self.is_time_based && self.runtime_ns == 0 {
            return Err(refuse("runtime_ns", 0, "above 0 where the time alone ends a job"));
        }
        // Each waits for earlier ones alone, so none waits for itself.
        if let Some(&late) = self.after.iter().find(|&&before| before >= index) {
            return Err(refuse("after", late, "numbers of processes before it"));
        }
        if let Some(steady) = &self.steady {
            if steady.window < 2 || steady.interval_ns == 0 || steady.window > 1 << 20 {
                return Err(refuse("steady.window", steady.window, "at least 2 values"));
            }
        }
        let ids = match &self.handles {
            Handles::None => Vec::new(),
            Handles::RoundRobin { ids } | Handles::Random { ids } if ids.is_empty() => {
                return Err(refuse("handles.ids", "[]", "at least one"));
            }
            Handles::RoundRobin { ids } | Handles::Random { ids } => ids.clone(),
            Handles::Scheme { ranges } => ranges.iter().map(|&(.., id)| id).collect(),
        };
        ids.into_iter().try_for_each(|id| space.check_id("handles.ids", id.into()))
    }

    /// Whether some of its requests write.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.kinds, Kinds::Write | Kinds::Mixed | Kinds::TrimWrite)
    }

    /// Of the requests that were issued, the bytes that its limit counts.
    pub(crate) fn counted(&self, bytes: &[u64; 3]) -> u64 {
        match self.kinds {
            Kinds::Mixed => bytes[READ] + bytes[WRITE],
            Kinds::Write | Kinds::TrimWrite => bytes[WRITE],
            Kinds::Read => bytes[READ],
            Kinds::Trim => bytes[TRIM],
        }
    }

    /// Bytes to issue in all.
    pub(crate) fn bytes_max(&self) -> u64 {
        let once = if self.io_size > 0 { self.io_size } else { self.size };
        once.saturating_mul(self.loops.into())
    }

    /// Bytes to issue before the queue is emptied and a new pass begins.
    pub(crate) fn pass_bytes(&self) -> u64 {
        let goes_on = self.writes() && (!self.is_random || !self.has_map);
        if goes_on {
            self.size.max(self.io_size)
        } else {
            self.size
        }
    }

    /// The largest request.
    pub(crate) fn request_bytes_max(&self) -> u64 {
        self.sizes.iter().map(|sizes| sizes.max).max().unwrap_or(0)
    }
}
