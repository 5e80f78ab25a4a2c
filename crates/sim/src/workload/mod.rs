//! The requests of the host: patterns, sizes, rates, and recorded traces.
//!
//! A workload is declared ([`WorkloadConfig`]), compiled for a device ([`Job`]) and then drawn from
//! ([`Generator`]): *describe, compile, use*. A generator knows addresses and arrival times; it
//! knows neither pages nor time passing in the drive.

pub mod addresses;
mod alignment;
pub mod cell;
pub(crate) mod check;
pub mod config;
mod durability;
pub mod fio;
pub mod idle;
pub mod load;
mod mixed;
mod namespaces;
pub mod pattern;
pub mod placement;
pub mod precondition;
mod reading;
pub mod replay;
mod sequential_fill;
pub mod size;
mod splitting;
pub mod steps;
mod synthetic;
pub mod tenant;
mod tenant_loads;
mod tenant_trace;
pub mod total;
pub mod trace;
mod traffic;
mod zones;

use crate::op::{HostCommand, Priority};
use crate::units::Ns;

pub use alignment::Alignment;
pub use config::WorkloadConfig;
pub use idle::Bursts;
pub use namespaces::Namespace;
pub use placement::StageIds;
pub use reading::ReadingConfig;
pub use replay::{MergedPages, ReplayConfig};
pub(crate) use splitting::Split;
pub use steps::StepsConfig;
pub use traffic::TrimTarget;

/// The address space that a workload is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Capacity that the host may address.
    pub logical_bytes: u64,
    /// The flash page, in bytes.
    pub page_bytes: u64,
    /// Placement ids that commands may carry, from 0; 0 if they have no effect.
    pub placement_ids: u32,
    /// Zones, if the drive is written by zones.
    pub zones: Option<ZoneSpace>,
}

/// The zones of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneSpace {
    /// Bytes of the space that a zone takes.
    pub zone_bytes: u64,
    /// Those of them that can be written, from the start on.
    pub capacity_bytes: u64,
    /// Zones that may be open.
    pub open_max: u32,
    /// Zones that may be active.
    pub active_max: u32,
}

/// A source of host commands. The device calls it, in batches, in the order in which it issues
/// them.
pub trait Generator: Send {
    /// Appends up to `count` commands to `batch`; fewer only when the source is exhausted.
    ///
    /// The commands must not depend on how calls are cut: 10 calls of 1 give the same as 1 call of
    /// 10.
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize);

    /// Whether every command writes one whole page of this number of sectors.
    fn writes_whole_pages(&self, _page_sectors: u32) -> bool {
        false
    }

    /// Appends the pages of `count` commands to `lpns`, instead of the commands themselves.
    ///
    /// # Panics
    /// If [`Generator::writes_whole_pages`] of this number of sectors is false.
    fn fill_pages(&mut self, _lpns: &mut Vec<u32>, _count: usize, _page_sectors: u32) {
        unreachable!("the commands of this source are not all whole pages");
    }

    /// The commands at the end of the last batch that will not be issued, since the stage has
    /// ended: a generator that records its requests takes them back.
    fn unissued(&mut self, _commands: &[HostCommand]) {}

    /// Draws a new address for a `TrimMapped` command that hit an unmapped page.
    ///
    /// Uses a separate random stream, so that redraws do not disturb [`Generator::fill`].
    fn retarget(&mut self, command: &mut HostCommand);

    /// Counts of the pages that a trace touches, if its addresses were changed.
    fn merged_pages(&self) -> Option<MergedPages> {
        None
    }
}

/// When the next command may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Always `queue_depth` commands outstanding; a completion issues the next.
    Closed {
        /// Commands outstanding.
        queue_depth: u32,
    },
    /// At the command's own arrival time.
    Open,
    /// At the command's own arrival time, or when one of `queue_depth` outstanding ones completes,
    /// if that is later: an open loop of a host with a limit of outstanding commands.
    Paced {
        /// Commands outstanding at most.
        queue_depth: u32,
    },
}

/// Queue depth of preconditioning in time when the workload itself is an open loop.
const PRECONDITION_QUEUE_DEPTH: u32 = 32;

impl Admission {
    /// That of preconditioning, which never waits for arrivals.
    #[must_use]
    pub(crate) fn without_arrivals(self) -> Self {
        match self {
            Self::Closed { .. } => self,
            Self::Open => Self::Closed { queue_depth: PRECONDITION_QUEUE_DEPTH },
            Self::Paced { queue_depth } => Self::Closed { queue_depth },
        }
    }
}

/// When a stage ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// After this number of bytes written by the host.
    WrittenBytes(u64),
    /// After this number of bytes read and written (and trimmed).
    Bytes(u64),
    /// After this number of commands.
    Ios(u64),
    /// After this simulated time.
    Time(Ns),
    /// When the generator is exhausted.
    Exhausted,
    /// When a drive that rests has no work left.
    Idle,
}

/// Ends a preconditioning stage early: when the WAF of successive windows no longer moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyRule {
    /// Host bytes written in a window.
    pub window_bytes: u64,
    /// Windows that must agree.
    pub window_count: u32,
    /// Allowed `(max - min) / mean` of their WAF; the trend across them must stay within half of
    /// it.
    pub tolerance_ratio: f64,
}

/// A host among others that share the drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Shown in tables and result files; empty when there is only one.
    pub name: String,
    /// Share relative to the others, at least 1.
    pub weight: u32,
    /// Class in arbitration.
    pub priority: Priority,
    /// The volume that its requests come from, if it is one of several of a trace.
    pub volume: String,
    /// The host that it is a volume of: their requests wait in one queue.
    pub volume_of: Option<u8>,
    /// The trace that it replays, next to other hosts.
    pub trace: Option<TraceFacts>,
}

/// Hosts that can share a drive, at most.
pub(crate) const TENANTS_MAX: usize = 64;

impl Host {
    /// The name of one that has none.
    pub(crate) fn name_of(index: usize) -> String {
        format!("tenant-{index}")
    }
}

/// The trace of one of several hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceFacts {
    /// Requests that there are to replay.
    pub requests: u64,
    /// Counts of pages, if addresses were changed.
    pub pages: Option<MergedPages>,
}

/// The commands of one host. Those of load `i` of a stage carry `tenant: i`, whichever load draws
/// them: open loops of traces are drawn together, in the order of their arrival.
pub struct Load {
    /// The host.
    pub host: Host,
    /// The source of the commands.
    pub generator: Box<dyn Generator>,
    /// When they may start.
    pub admission: Admission,
    /// Bursts with pauses between them.
    pub bursts: Option<Bursts>,
}

impl Load {
    /// The commands of a host that has the drive for itself.
    pub fn new(generator: Box<dyn Generator>, admission: Admission) -> Self {
        Self { host: Host::default(), generator, admission, bursts: None }
    }

    /// A host whose commands another load draws.
    pub(crate) fn drawn_elsewhere(host: Host) -> Self {
        Self { host, ..Self::new(Box::new(Nothing), Admission::Open) }
    }
}

/// No commands.
struct Nothing;

impl Generator for Nothing {
    fn fill(&mut self, _: &mut Vec<HostCommand>, _: usize) {}

    fn retarget(&mut self, _: &mut HostCommand) {}
}

/// Wear that is set instead of written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wear {
    /// Erases of a block, on average.
    pub cycles: f64,
    /// By how much of this mean a block may be off, either way.
    pub spread: f64,
}

/// One stretch of commands: a preconditioning step, or the measured part.
pub struct Stage {
    /// Shown next to progress, such as `sequential fill`.
    pub label: String,
    /// The hosts, exactly one without time; none: the drive rests.
    pub loads: Vec<Load>,
    /// False: the untimed executor, at memory speed.
    pub timed: bool,
    /// When the stage ends.
    pub limit: Limit,
    /// Ends it earlier, when the WAF is steady.
    pub until: Option<SteadyRule>,
    /// The placement ids of its writes; `None`: all 0.
    pub ids: Option<StageIds>,
    /// Instead of commands, the blocks get this wear.
    pub wear: Option<Wear>,
}

/// A workload compiled for a device.
pub struct Job {
    /// Run before measuring; nothing of it enters the metrics.
    pub precondition: Vec<Stage>,
    /// The measured part; `None` for preconditioning alone.
    pub measured: Option<Stage>,
    /// Points of each series of the result.
    pub sample_count: u32,
    /// The resolved workload, for the result file.
    pub resolved: serde_json::Value,
    /// Things the user should know, such as records skipped or sorted.
    pub warnings: Vec<String>,
}
