//! The runner: hosts that draw commands, the executor that carries them out, and a meter that
//! decides when the measurement ends.
//!
//! ```text
//!  feeds ── command ──► timed stage ── step ──► completed, arrived ──► feeds, meter
//!    └───── chunk ────► untimed executor ─────► meter
//! ```
//! There is one loop for stages of a run, cells and idle times; they differ by their [`Meter`].
//! Everything that a slice needs lives in [`Runner`], so slices may be cut anywhere: untimed work
//! moves in whole chunks of commands, timed work event by event, and meters look at commands only.

use super::feed::{Feed, CHUNK};
use super::meter::Meter;
use crate::drive::{aim_trim, Drive};
use crate::op::{HostCommand, HostOp};
use crate::timed::{Step, TimedStage};
use crate::units::{Ns, SECTOR_BYTES};
use crate::untimed::{Crew, PageList};
use crate::workload::Admission;

/// Events between two looks at the operation counts: an event is cheap compared with a look.
const EVENTS_AT_ONCE: u64 = 64;

/// Chunks and bytes of a run for several threads, at most: some milliseconds of work.
const RUN_CHUNKS: usize = 64;
const RUN_BYTES: u64 = 8 << 30;

/// The hosts of a stage, and whether they may issue commands.
struct Hosts {
    /// By the number of their tenant; one in untimed stages.
    feeds: Vec<Feed>,
    meter: Meter,
    /// No host may issue another command.
    is_closed: bool,
    /// Whether that is because no time passed for very many commands.
    is_standstill: bool,
    /// The time of the last completion, and how many came at it.
    standstill: ((Ns, u64), u64),
}

/// See the module.
pub(super) struct Runner {
    hosts: Hosts,
    stage: Option<Box<TimedStage>>,
    is_begun: bool,
}

impl Runner {
    /// Hosts before their first command; without a stage, in no time.
    pub(super) fn new(feeds: Vec<Feed>, stage: Option<Box<TimedStage>>, meter: Meter) -> Self {
        let hosts = Hosts {
            feeds,
            meter,
            is_closed: false,
            is_standstill: false,
            standstill: ((Ns(0), 0), 0),
        };
        Self { hosts, stage, is_begun: false }
    }

    /// Carries out commands until the drive has done `goal` operations in all, and at most
    /// `events_max` events, or until a batch of rows is full; true when nothing is left to do.
    pub(super) fn advance(&mut self, drive: &mut Drive, goal: u64, events_max: u64) -> bool {
        let Some(stage) = self.stage.as_deref_mut() else {
            return self.hosts.advance_untimed(drive, goal);
        };
        if !self.is_begun {
            self.is_begun = true;
            stage.run_by_itself(drive, self.hosts.issue_one_at_a_time());
            for tenant in 0..self.hosts.feeds.len() {
                self.hosts.begin_burst(drive, stage, tenant);
            }
            stage.ask_all(drive);
        }
        let mut events_left = events_max.max(EVENTS_AT_ONCE);
        while drive.work_done() < goal && events_left > 0 && !stage.host.ledger.is_log_full() {
            events_left = events_left.saturating_sub(EVENTS_AT_ONCE);
            for _ in 0..EVENTS_AT_ONCE {
                match stage.step(drive) {
                    Step::Internal => {}
                    Step::Completed(tenant) => {
                        self.hosts.completed(drive, stage, usize::from(tenant));
                    }
                    Step::Arrived(tenant) => {
                        self.hosts.arrived(drive, stage, usize::from(tenant));
                    }
                    Step::Idle => {
                        self.hosts.meter.note(drive, Some(stage));
                        drive.is_worn_out |= stage.host.is_worn_out;
                        return true;
                    }
                }
            }
        }
        false
    }

    /// The simulated time.
    pub(super) fn now(&self) -> Ns {
        self.stage.as_ref().map_or(Ns(0), |stage| stage.now())
    }

    /// The timed executor, if there is a clock.
    pub(super) fn stage(&self) -> Option<&TimedStage> {
        self.stage.as_deref()
    }

    /// The same, to end its work.
    pub(super) fn stage_mut(&mut self) -> Option<&mut TimedStage> {
        self.stage.as_deref_mut()
    }

    /// The meter of the stage, cell or idle time.
    pub(super) fn meter(&self) -> &Meter {
        &self.hosts.meter
    }

    /// The hosts.
    pub(super) fn feeds(&self) -> &[Feed] {
        &self.hosts.feeds
    }

    /// The same with the executor, to end the measurement.
    pub(super) fn meter_mut(&mut self) -> (&mut Meter, Option<&mut TimedStage>) {
        (&mut self.hosts.meter, self.stage.as_deref_mut())
    }

    /// Ends the runner: returns its meter and its executor.
    pub(super) fn into_parts(mut self) -> (Meter, Option<Box<TimedStage>>) {
        for Feed { load, batch, batch_next, .. } in &mut self.hosts.feeds {
            load.generator.unissued(&batch[*batch_next..]);
        }
        (self.hosts.meter, self.stage)
    }

    /// Whether the hosts ended because no time passed.
    pub(super) fn is_standstill(&self) -> bool {
        self.hosts.is_standstill
    }
}

impl Hosts {
    /// Whether a command comes only when the one before is complete.
    fn issue_one_at_a_time(&self) -> bool {
        let [feed] = &self.feeds[..] else { return false };
        matches!(feed.load.admission, Admission::Closed { queue_depth: 1 })
    }

    /// Whether another command may be issued.
    #[inline]
    fn is_open(&self, now: Ns) -> bool {
        !self.is_closed && self.meter.is_open(now)
    }

    /// Draws the next command of a host, within the limit; returns its place in the batch of the
    /// host.
    #[inline(always)]
    #[allow(clippy::inline_always)] // for each command of a closed loop
    fn draw(&mut self, tenant: usize, now: Ns) -> Option<usize> {
        if !self.is_open(now) || !self.feeds[tenant].refill() {
            return None;
        }
        let feed = &mut self.feeds[tenant];
        let place = feed.batch_next;
        feed.batch_next += 1;
        self.meter.issued(&feed.batch[place]);
        Some(place)
    }

    /// Carries out commands without time until the drive has done `goal` operations; true when
    /// nothing is left to do. Threads that help do not outlive it, so that none sleeps in a process
    /// that forks.
    #[inline(never)] // inlined next to the timed loop it costs 1 % more instructions
    fn advance_untimed(&mut self, drive: &mut Drive, goal: u64) -> bool {
        let mut crew = Crew::default();
        loop {
            if self.advance_instant(drive, &mut crew) {
                return true;
            }
            if drive.work_done() >= goal {
                return false;
            }
        }
    }

    /// Carries out commands without time: one chunk, or all up to the meter's next look; true when
    /// nothing is left to do.
    fn advance_instant(&mut self, drive: &mut Drive, crew: &mut Crew) -> bool {
        if !self.is_open(Ns(0)) {
            return true;
        }
        if let Some(sectors) = drive.list_page_sectors() {
            let is_stage = self.meter.stage().is_some();
            if is_stage && self.feeds[0].load.generator.writes_whole_pages(sectors) {
                return self.advance_pages(drive, crew, sectors);
            }
        }
        if !self.feeds[0].refill() {
            return true;
        }
        if let Some(is_over) = self.advance_runs(drive, crew) {
            return is_over;
        }
        let Feed { load, batch, batch_next, .. } = &mut self.feeds[0];
        let chunk = &mut batch[*batch_next..];
        let count = self.meter.take(chunk);
        *batch_next += count;
        let generator = &mut load.generator;
        let outcome = drive.run_instant(&mut chunk[..count], |command| generator.retarget(command));
        drive.is_worn_out |= outcome.is_err();
        self.meter.note(drive, None);
        outcome.is_err()
    }

    /// The same of writes of one whole page each, without a command for any of them.
    fn advance_pages(&mut self, drive: &mut Drive, crew: &mut Crew, sectors: u32) -> bool {
        let bytes = u64::from(sectors) * SECTOR_BYTES;
        let count_behind = |drive: &Drive, coming: usize| {
            let quiet = self.meter.quiet_writes(drive, bytes, CHUNK as u64, coming as u64);
            quiet.min(drive.list_pages_max()) as usize
        };
        let Feed { load, lists: [list, ahead], .. } = &mut self.feeds[0];
        let turns = drive.turns_apart();
        let mut draw = |list: &mut PageList, count: usize| {
            list.draw(&mut *load.generator, count, sectors, turns);
        };
        std::mem::swap(list, ahead);
        ahead.clear();
        if list.lpns().is_empty() {
            draw(list, count_behind(drive, 0));
        }
        let count = list.lpns().len();
        debug_assert_eq!(count, count_behind(drive, 0), "what was drawn ahead is what comes");
        let next_count = count_behind(drive, count);
        let (done, outcome) = drive.write_pages(crew, list, || draw(ahead, next_count));
        // Those behind a refusal count as issued to the end of its chunk.
        let issued = if outcome.is_ok() { count } else { count.min((done / CHUNK + 1) * CHUNK) };
        self.meter.issued_writes(issued as u64, bytes);
        drive.is_worn_out |= outcome.is_err();
        self.meter.note(drive, None);
        outcome.is_err()
    }

    /// Carries out chunks of consecutive writes together, if they are enough for several threads. A
    /// chunk may have two runs, as where a fill comes to the end of the drive.
    fn advance_runs(&mut self, drive: &mut Drive, crew: &mut Crew) -> Option<bool> {
        let start = self.feeds[0].batch_next;
        let mut pages = drive.pages_of_runs(&self.feeds[0].batch[start..])?;
        if !drive.are_runs_for_crew(pages * RUN_CHUNKS as u64) {
            return None;
        }
        let Feed { load, batch, batch_next, .. } = &mut self.feeds[0];
        // Once over the drive, so that no block is erased very often.
        let logical_pages = u64::from(drive.ftl.figures().logical_pages());
        let bytes_max = RUN_BYTES.min(logical_pages * drive.geometry.page_bytes);
        let mut bytes = 0;
        loop {
            let count = self.meter.take(&batch[*batch_next..]);
            *batch_next += count;
            bytes += pages * drive.geometry.page_bytes;
            let is_full = *batch_next - start >= RUN_CHUNKS * CHUNK || bytes >= bytes_max;
            let is_due = *batch_next < batch.len() || !self.meter.is_quiet(drive, bytes);
            if is_full || is_due || !self.meter.is_open(Ns(0)) {
                break;
            }
            load.generator.fill(batch, CHUNK);
            match drive.pages_of_runs(&batch[*batch_next..]) {
                Some(more) => pages = more,
                None => break,
            }
        }
        let outcome = drive.write_runs(crew, &batch[start..*batch_next]);
        drive.is_worn_out |= outcome.is_err();
        self.meter.note(drive, None);
        Some(outcome.is_err())
    }

    /// Fills the closed loop of a host, or schedules its first arrival.
    fn begin_burst(&mut self, drive: &mut Drive, stage: &mut TimedStage, tenant: usize) {
        match self.feeds[tenant].load.admission {
            Admission::Closed { queue_depth } => {
                (0..queue_depth).for_each(|_| self.issue(drive, stage, tenant));
            }
            Admission::Open | Admission::Paced { .. } => self.await_next(stage, tenant),
        }
    }

    /// A command of a host completed: its closed loop submits the next.
    #[inline]
    fn completed(&mut self, drive: &mut Drive, stage: &mut TimedStage, tenant: usize) {
        self.meter.completed(drive, stage);
        self.watch_standstill(stage.now());
        let feed = &mut self.feeds[tenant];
        if feed.is_closed_loop() {
            feed.outstanding -= u32::from(feed.load.bursts.is_some());
            self.issue(drive, stage, tenant);
        } else {
            self.completed_open(drive, stage, tenant);
        }
        self.meter.note(drive, Some(stage));
    }

    /// The same of an open or paced loop, or of a volume of a trace.
    fn completed_open(&mut self, drive: &mut Drive, stage: &mut TimedStage, tenant: usize) {
        let tenant = self.host_of(tenant);
        let feed = &mut self.feeds[tenant];
        if feed.is_closed_loop() {
            self.issue(drive, stage, tenant);
            return;
        }
        feed.outstanding -= 1;
        feed.arrivals.last_done = stage.now();
        if std::mem::take(&mut feed.is_late) {
            self.arrived(drive, stage, tenant);
        }
    }

    /// The host that has the volume of this number; itself, if it is none.
    fn host_of(&self, tenant: usize) -> usize {
        self.feeds[tenant].load.host.volume_of.map_or(tenant, usize::from)
    }

    /// The next command of an open loop has arrived, or a pause or an idle time has ended.
    fn arrived(&mut self, drive: &mut Drive, stage: &mut TimedStage, tenant: usize) {
        let Some(feed) = self.feeds.get_mut(tenant) else {
            if self.meter.waits_for_idle() {
                stage.await_idle(drive);
            }
            return;
        };
        if let Some(command) = &feed.arriving {
            if feed.is_full() {
                feed.is_late = true;
                return;
            }
            let asks = usize::from(command.tenant);
            let asks = self.host_of(asks);
            let feed = &mut self.feeds[asks];
            feed.outstanding += 1;
            feed.arrivals.count += 1;
            feed.arrivals.last = (stage.now(), feed.outstanding);
        }
        match self.feeds[tenant].arriving.take() {
            Some(mut command) => {
                self.aim(drive, tenant, &mut command);
                stage.submit(drive, &command);
                self.is_closed |= stage.host.is_worn_out;
                self.await_next(stage, tenant);
            }
            None => self.begin_burst(drive, stage, tenant),
        }
        self.meter.note(drive, Some(stage));
    }

    /// Draws and submits the next command of a closed loop, if its burst and the limit allow one.
    #[inline]
    fn issue(&mut self, drive: &mut Drive, stage: &mut TimedStage, tenant: usize) {
        if self.feeds[tenant].load.bursts.is_some() && self.pauses(stage, tenant) {
            return;
        }
        let Some(place) = self.draw(tenant, stage.now()) else { return };
        let feed = &mut self.feeds[tenant];
        feed.prefetch_ahead(drive, stage);
        if let Some(bursts) = &mut feed.load.bursts {
            bursts.count(&feed.batch[place]);
            feed.outstanding += 1;
        }
        let command = &feed.batch[place];
        if command.op == HostOp::TrimMapped {
            let mut command = *command;
            self.aim(drive, tenant, &mut command);
            stage.submit(drive, &command);
        } else {
            stage.submit(drive, command);
        }
        self.is_closed |= stage.host.is_worn_out;
    }

    /// Whether the burst of a closed loop has ended; schedules the next when nothing is
    /// outstanding.
    fn pauses(&mut self, stage: &mut TimedStage, tenant: usize) -> bool {
        let is_open = self.is_open(stage.now());
        let feed = &mut self.feeds[tenant];
        let Some(bursts) = &mut feed.load.bursts else { return false };
        if bursts.is_busy(stage.now()) {
            return false;
        }
        if feed.outstanding == 0 && is_open {
            let at = bursts.pause(stage.now());
            stage.await_arrival(tenant as u8, at);
        }
        true
    }

    /// Aims a trim at mapped data.
    fn aim(&mut self, drive: &mut Drive, tenant: usize, command: &mut HostCommand) {
        if command.op == HostOp::TrimMapped {
            let generator = &mut self.feeds[tenant].load.generator;
            let (front, ..) = drive.split();
            let is_hit = aim_trim(&front, command, &mut |command| generator.retarget(command));
            front.host.missed_trims += u64::from(!is_hit);
        }
    }

    /// Schedules the arrival of the next command of an open loop.
    fn await_next(&mut self, stage: &mut TimedStage, tenant: usize) {
        let Some(place) = self.draw(tenant, stage.now()) else { return };
        let end = self.meter.time_limit();
        let feed = &mut self.feeds[tenant];
        let mut command = feed.batch[place];
        if let Some(bursts) = &mut feed.load.bursts {
            command.arrival = bursts.arrival(&command);
        }
        if end.is_some_and(|end| command.arrival > end) {
            feed.is_exhausted = true;
            return;
        }
        feed.arriving = Some(command);
        stage.await_arrival(tenant as u8, command.arrival);
    }

    /// Lets no command follow when no time passes: every command is served without flash.
    #[inline]
    fn watch_standstill(&mut self, now: Ns) {
        let (since, count) = self.standstill;
        let place = (now, self.meter.progress());
        if since != place {
            self.standstill = (place, 0);
        } else if let Some(count_max) = self.meter.standstill_max() {
            self.standstill.1 = count + 1;
            if count + 1 >= count_max {
                (self.is_standstill, self.is_closed) = (true, true);
            }
        }
    }
}
