//! Meters: what a runner measures, and when it is enough.
//!
//! | meter | of | ends |
//! |---|---|---|
//! | [`StageMeter`] | a stage of a run | when its limit was issued, or WAF is steady |
//! | [`CellMeter`] | a cell | when its limit completed; without a clock, was issued |
//! | `Idle` | a time without commands | when the time has passed |
//!
//! Meters look at commands and completions only, never at slices.

use serde_json::Value;

use super::energy::{Consumed, Effort};
use super::series::Series;
use super::steady::SteadyWatch;
use super::window::Window;
use crate::drive::Drive;
use crate::ftl::{FtlCounters, Reclaimed};
use crate::op::{HostCommand, HostOp, Source};
use crate::timed::TimedStage;
use crate::units::{Ns, SECTOR_BYTES};
use crate::workload::cell::{CellLimit, CellPattern, CellSpec};
use crate::workload::Limit;

/// Commands at one simulated time after which a stage ends that is limited by time or by written
/// bytes: about four million.
const STAGE_STANDSTILL: u64 = 4_000_002;
/// The same of a cell.
const CELL_STANDSTILL: u64 = 1_000_000;

/// See the module.
pub(super) enum Meter {
    /// Of a stage.
    Stage(Box<StageMeter>),
    /// Of a cell.
    Cell(Box<CellMeter>),
    /// Nothing is measured, and no command comes.
    Idle,
}

/// Points of the series and how many are taken.
pub(super) struct Sampling {
    pub(super) series: Series,
    pub(super) count: u64,
    pub(super) taken: u64,
    /// Work of the stage that the next point needs; 0 until that was asked for.
    pub(super) due: u64,
}

impl Sampling {
    /// Work of a stage of `total` that the next point needs; `u64::MAX`: none comes.
    fn next_due(&self, total: u64) -> u64 {
        self.due_behind(self.taken, total)
    }

    /// The same behind a number of points `taken`.
    fn due_behind(&self, taken: u64, total: u64) -> u64 {
        if total == 0 || taken >= self.count {
            return u64::MAX;
        }
        let point = u128::from(taken + 1) * u128::from(total);
        point.div_ceil(u128::from(self.count)) as u64
    }

    /// Points that are taken at a look when `done` of `total` is issued.
    fn taken_at(&self, done: u64, total: u64) -> u64 {
        (u128::from(done) * u128::from(self.count) / u128::from(total)) as u64
    }
}

/// What a stage of a run has issued, its series and its steady state.
pub(super) struct StageMeter {
    limit: Limit,
    issued: u64,
    issued_bytes: u64,
    written_bytes: u64,
    watch: Option<SteadyWatch>,
    /// WAF when it became steady.
    steady_waf: Option<f64>,
    sampling: Option<Sampling>,
}

/// What a cell has issued, and what completed in its window.
pub(super) struct CellMeter {
    limit: CellLimit,
    is_timed: bool,
    pub(super) window: Window,
    /// The last command issued by the first thread.
    pub(super) last: Option<HostCommand>,
    /// Commands and bytes issued.
    pub(super) issued: [u64; 2],
    /// What each pool had reclaimed before the cell, and the collections at the last look.
    reclaimed: (Vec<Option<Reclaimed>>, u64),
    /// Whether blocks without live pages count among the reclaimed.
    counts_dead: bool,
    /// Programs and erases of the drive, and the last time at which there were more.
    flash_work: (u64, Ns),
    /// Effort until both ends of the window, if the device states its energies.
    efforts: Option<Box<Efforts>>,
}

/// What a stage had done at both ends of a window.
struct Efforts {
    /// Counters of the FTL at the start of the cell.
    counters: FtlCounters,
    first: Effort,
    last: Option<Effort>,
}

impl Meter {
    /// Whether the limit allows another command.
    #[inline]
    pub(super) fn is_open(&self, now: Ns) -> bool {
        match self {
            Self::Stage(stage) => stage.is_open(now),
            Self::Cell(cell) if cell.is_timed => !cell.window.is_over(),
            Self::Cell(cell) => {
                cell.issued[0] < cell.limit.ios || cell.issued[1] < cell.limit.bytes
            }
            Self::Idle => false,
        }
    }

    /// A command is issued.
    #[inline]
    pub(super) fn issued(&mut self, command: &HostCommand) {
        let bytes = u64::from(command.sector_count) * SECTOR_BYTES;
        match self {
            Self::Stage(stage) => {
                stage.issued += 1;
                stage.issued_bytes += bytes;
                stage.written_bytes += if command.op.writes() { bytes } else { 0 };
            }
            Self::Cell(cell) => {
                // Trims come with the writes that they make room for: they are no part of a limit.
                if command.op.plain() != HostOp::Trim {
                    cell.issued[0] += 1;
                    cell.issued[1] += bytes;
                }
                if command.tenant == 0 {
                    cell.last = Some(*command);
                }
            }
            Self::Idle => {}
        }
    }

    /// How many of the commands that come next the limit allows; they count as issued.
    pub(super) fn take(&mut self, commands: &[HostCommand]) -> usize {
        // The common cases without a question for each command.
        if let Self::Stage(stage) = self {
            if let Limit::Ios(ios) = stage.limit {
                let count = commands.len().min((ios - stage.issued) as usize);
                stage.issued += count as u64;
                return count;
            }
            let bytes: u64 = commands.iter().map(HostCommand::bytes).sum();
            if stage.takes(bytes) {
                let writes = commands.iter().filter(|command| command.op.writes());
                stage.issued += commands.len() as u64;
                stage.issued_bytes += bytes;
                stage.written_bytes += writes.map(HostCommand::bytes).sum::<u64>();
                return commands.len();
            }
        }
        let mut count = 0;
        while count < commands.len() && self.is_open(Ns(0)) {
            self.issued(&commands[count]);
            count += 1;
        }
        count
    }

    /// Number of writes of `bytes` bytes each before the meter has to look at the drive: a multiple
    /// of `chunk`, or the rest of the limit. They come behind `coming` ones that are as yet neither
    /// issued nor looked at, and end at such a look at the latest.
    pub(super) fn quiet_writes(&self, drive: &Drive, bytes: u64, chunk: u64, coming: u64) -> u64 {
        let Self::Stage(stage) = self else { return chunk };
        let coming_bytes = coming * bytes;
        let behind = |total: u64, done: u64| total.saturating_sub(done);
        let left = match stage.limit {
            Limit::Ios(ios) => behind(ios, stage.issued + coming),
            Limit::Bytes(all) => behind(all, stage.issued_bytes + coming_bytes).div_ceil(bytes),
            Limit::WrittenBytes(all) => {
                behind(all, stage.written_bytes + coming_bytes).div_ceil(bytes)
            }
            Limit::Time(_) | Limit::Exhausted | Limit::Idle => u64::MAX,
        };
        let mut due = stage.next_sample(bytes, coming).unwrap_or(u64::MAX);
        if let Some(watch) = &stage.watch {
            let written = drive.written_bytes();
            let window = if coming > 0 && watch.bytes_left(written + coming_bytes) == 0 {
                watch.window_bytes()
            } else {
                watch.bytes_left(written + coming_bytes)
            };
            due = due.min(window.div_ceil(bytes));
        }
        due.clamp(1, 1 << 40).next_multiple_of(chunk).min(left)
    }

    /// Whether neither a sample nor the steady-state watch is due, with `bytes` bytes issued and
    /// not yet written.
    pub(super) fn is_quiet(&self, drive: &Drive, bytes: u64) -> bool {
        let Self::Stage(stage) = self else { return true };
        stage.next_sample(1, 0) != Some(0)
            && stage.watch.as_ref().is_none_or(|it| it.bytes_left(drive.written_bytes()) > bytes)
    }

    /// Records that `count` writes of `bytes` bytes each are issued.
    pub(super) fn issued_writes(&mut self, count: u64, bytes: u64) {
        if let Self::Stage(stage) = self {
            stage.issued += count;
            stage.issued_bytes += count * bytes;
            stage.written_bytes += count * bytes;
        }
    }

    /// A command completed.
    #[inline]
    pub(super) fn completed(&mut self, drive: &Drive, stage: &TimedStage) {
        let (now, done) = (stage.now(), &stage.host.ledger.last);
        if let Self::Cell(cell) = self {
            if cell.limit.reclaims > 0 {
                cell.look_at_reclaims(drive);
            }
            if cell.limit.quiet_seconds > 0.0 && cell.window.is_ramp() {
                cell.look_at_work(drive, now);
            }
            let was_ramp = cell.window.is_ramp();
            cell.window.note(now, done);
            let is_edge = was_ramp != cell.window.is_ramp() || cell.window.is_over();
            if is_edge && cell.efforts.is_some() {
                cell.look_at_effort(drive, stage);
            }
        }
    }

    /// Takes samples that are due, and asks whether WAF is steady.
    #[inline]
    pub(super) fn note(&mut self, drive: &mut Drive, timed: Option<&mut TimedStage>) {
        let Self::Stage(stage) = self else { return };
        if stage.sampling.is_some() {
            stage.sample(drive, timed);
        }
        if let Some(watch) = &mut stage.watch {
            let found = watch.note(drive.written_bytes(), drive.programmed_bytes());
            stage.steady_waf = stage.steady_waf.or(found);
        }
    }

    /// The time after which no command is issued, if there is one.
    pub(super) fn time_limit(&self) -> Option<Ns> {
        match self {
            Self::Stage(stage) => stage.time_limit(),
            Self::Cell(_) | Self::Idle => None,
        }
    }

    /// Whether a rest lasts until the drive has no work left.
    pub(super) fn waits_for_idle(&self) -> bool {
        matches!(self, Self::Stage(stage) if stage.limit == Limit::Idle)
    }

    /// How many commands may complete at one time, if there is a limit.
    #[inline]
    pub(super) fn standstill_max(&self) -> Option<u64> {
        match self {
            Self::Stage(stage) => match stage.limit {
                Limit::Time(_) | Limit::WrittenBytes(_) => Some(STAGE_STANDSTILL),
                Limit::Bytes(_) | Limit::Ios(_) | Limit::Exhausted | Limit::Idle => None,
            },
            Self::Cell(_) => Some(CELL_STANDSTILL),
            Self::Idle => None,
        }
    }

    /// Progress of a stage other than time: the bytes written, if they limit the stage.
    #[inline]
    pub(super) fn progress(&self) -> u64 {
        match self {
            Self::Stage(stage) if matches!(stage.limit, Limit::WrittenBytes(_)) => {
                stage.written_bytes
            }
            Self::Stage(_) | Self::Cell(_) | Self::Idle => 0,
        }
    }

    /// The meter of a stage, if it is one.
    pub(super) fn stage(&self) -> Option<&StageMeter> {
        match self {
            Self::Stage(stage) => Some(stage),
            Self::Cell(_) | Self::Idle => None,
        }
    }

    /// The meter of a cell, if it is one.
    pub(super) fn cell(&self) -> Option<&CellMeter> {
        match self {
            Self::Cell(cell) => Some(cell),
            Self::Stage(_) | Self::Idle => None,
        }
    }
}

impl StageMeter {
    /// Nothing is issued yet.
    pub(super) fn new(
        limit: Limit,
        watch: Option<SteadyWatch>,
        sampling: Option<Sampling>,
    ) -> Self {
        Self {
            limit,
            issued: 0,
            issued_bytes: 0,
            written_bytes: 0,
            watch,
            steady_waf: None,
            sampling,
        }
    }

    /// What ends the stage.
    pub(super) fn limit(&self) -> Limit {
        self.limit
    }

    /// How much of the stage was issued, in the unit of its limit, and how much there is; 0 when
    /// that is not known.
    pub(super) fn extent(&self, now: Ns) -> (u64, u64) {
        match self.limit {
            Limit::WrittenBytes(bytes) => (self.written_bytes, bytes),
            Limit::Bytes(bytes) => (self.issued_bytes, bytes),
            Limit::Ios(ios) => (self.issued, ios),
            Limit::Time(span) => (now.0.min(span.0), span.0),
            Limit::Exhausted => (self.issued, 0),
            Limit::Idle => (now.0, 0),
        }
    }

    #[inline]
    fn is_open(&self, now: Ns) -> bool {
        let (done, total) = self.extent(now);
        let is_over = !matches!(self.limit, Limit::Exhausted | Limit::Idle) && done >= total;
        !(is_over || self.steady_waf.is_some())
    }

    /// Whether commands of `bytes` bytes surely do not reach the limit.
    fn takes(&self, bytes: u64) -> bool {
        let left = match self.limit {
            Limit::WrittenBytes(total) => total.saturating_sub(self.written_bytes),
            Limit::Bytes(total) => total.saturating_sub(self.issued_bytes),
            Limit::Exhausted => u64::MAX,
            Limit::Ios(_) | Limit::Time(_) | Limit::Idle => 0,
        };
        bytes < left && self.steady_waf.is_none()
    }

    #[inline]
    pub(super) fn time_limit(&self) -> Option<Ns> {
        match self.limit {
            Limit::Time(span) => Some(span),
            _ => None,
        }
    }

    /// Whether WAF became steady, if the stage has that rule.
    pub(super) fn is_steady(&self) -> Option<bool> {
        self.watch.as_ref().map(|_| self.steady_waf.is_some())
    }

    /// The mean of WAF when it became steady.
    pub(super) fn steady_waf(&self) -> Option<f64> {
        self.steady_waf
    }

    /// The series up to now, of a measured stage.
    pub(super) fn series(&self) -> Option<&Series> {
        self.sampling.as_ref().map(|sampling| &sampling.series)
    }

    /// The whole series, of a measured stage.
    pub(super) fn into_series(
        self,
        drive: &mut Drive,
        timed: Option<&mut TimedStage>,
    ) -> Option<Series> {
        let mut sampling = self.sampling?;
        if sampling.taken < sampling.count {
            sampling.series.sample(drive, timed);
        }
        Some(sampling.series)
    }

    /// Number of writes of `bytes` bytes each before the next sample is due, behind `coming` ones
    /// and the look that follows these.
    fn next_sample(&self, bytes: u64, coming: u64) -> Option<u64> {
        let (done, total) = self.extent(Ns(0));
        let sampling = self.sampling.as_ref().filter(|it| total > 0 && it.taken < it.count)?;
        let unit = if matches!(self.limit, Limit::Ios(_)) { 1 } else { bytes };
        let done = done + coming * unit;
        let taken = if coming > 0 { sampling.taken_at(done, total) } else { sampling.taken };
        let left = sampling.due_behind(taken, total).saturating_sub(done);
        Some(left.div_ceil(unit))
    }

    /// Takes a point of the series if it is due.
    #[inline]
    fn sample(&mut self, drive: &mut Drive, timed: Option<&mut TimedStage>) {
        let now = timed.as_ref().map_or(Ns(0), |timed| timed.now());
        let (done, total) = self.extent(now);
        let Some(sampling) = &mut self.sampling else { return };
        if done < sampling.due {
            return;
        }
        if done >= sampling.next_due(total) {
            sampling.taken = sampling.taken_at(done, total);
            sampling.series.sample(drive, timed);
        }
        sampling.due = sampling.next_due(total);
    }
}

/// Number of programs and erases up to now, of hosts and of the drive itself.
fn flash_work(drive: &Drive) -> u64 {
    let done = drive.ftl.figures().counters();
    done.programs.iter().chain(&done.erases).sum()
}

impl CellMeter {
    /// Nothing is issued yet; with a clock, `window` decides when it is enough.
    pub(super) fn new(drive: &Drive, spec: &CellSpec, window: Window) -> Self {
        Self {
            limit: spec.limit,
            is_timed: spec.is_measured,
            window,
            last: None,
            issued: [0; 2],
            reclaimed: (drive.ftl.figures().reclaimed().collect(), 0),
            counts_dead: spec.pattern == CellPattern::Sequential,
            flash_work: (flash_work(drive), Ns(0)),
            efforts: (spec.is_measured && Effort::is_known(drive)).then(|| {
                let counters = *drive.ftl.figures().counters();
                Box::new(Efforts { counters, first: Effort::default(), last: None })
            }),
        }
    }

    /// Notes the effort when the window begins, and when it ends.
    #[cold]
    pub(super) fn look_at_effort(&mut self, drive: &Drive, stage: &TimedStage) {
        let (is_ramp, is_over) = (self.window.is_ramp(), self.window.is_over());
        let Some(efforts) = self.efforts.as_deref_mut() else { return };
        if is_ramp || efforts.last.is_some() {
            return;
        }
        let done = Effort::of(drive, stage, &efforts.counters);
        if is_over {
            efforts.last = Some(done);
        } else {
            efforts.first = done;
        }
    }

    /// What the window drew from the supply, as `metrics.power` has it; `None` if that is unknown.
    pub(super) fn power(&self, drive: &Drive) -> Option<Value> {
        let efforts = self.efforts.as_deref()?;
        Some(Consumed::between(drive, &efforts.first, efforts.last.as_ref()?)?.to_json())
    }

    /// Blocks that every pool with good blocks has reclaimed at least since the cell began. If the
    /// die of a write is chosen by load, pools are one group, and their mean counts.
    pub(super) fn reclaims(&self, drive: &Drive) -> u64 {
        let count = |it: Reclaimed| if self.counts_dead { it.all } else { it.live };
        let pools = drive.ftl.figures().reclaimed().zip(&self.reclaimed.0);
        let since = pools.filter_map(|(now, then)| Some(count(now?) - count((*then)?)));
        if drive.config.ftl.allocation.is_dynamic() {
            let (sum, pools) = since.fold((0, 0), |(sum, pools), it| (sum + it, pools + 1));
            return sum / pools.max(1);
        }
        since.min().unwrap_or(0)
    }

    /// Passes to the window how long the drive has programmed and erased nothing.
    #[cold]
    fn look_at_work(&mut self, drive: &Drive, now: Ns) {
        let done = flash_work(drive);
        if done != self.flash_work.0 {
            self.flash_work = (done, now);
        }
        self.window.note_quiet(Ns(now.0 - self.flash_work.1 .0));
    }

    /// Passes the reclaimed blocks to the window if a collection has ended since the last look.
    #[inline]
    fn look_at_reclaims(&mut self, drive: &Drive) {
        let collections = drive.ftl.figures().counters().erases[Source::Gc as usize];
        if collections != self.reclaimed.1 {
            self.reclaimed.1 = collections;
            self.window.note_reclaims(self.reclaims(drive));
        }
    }
}
