//! A drive that takes one command at a time from the owner of the clock: the drive behind a served
//! disk.
//!
//! ```text
//! begin(at, request) ─► bytes: staged or read at once     (nand::contents)
//!                   └─► command ─► FTL, dies, channels ─► advance(until) ─► Done { token, at }
//! ```
//! The session has no clock and no threads. With [`Pace::Timed`] commands enter at the times that
//! the caller names, none before the last, and [`Session::advance`] lets everything happen up to a
//! time: the model alone decides when a command is done. With [`Pace::Untimed`] the drive keeps its
//! books, collections included, and every command is done at once.
//!
//! A request is cut into commands that the drive knows: zeros without allocation are a trim of the
//! whole units in between and writes of the parts at both ends. A unit that is written in part
//! keeps its other bytes. The drive is busy with sectors, so a request that begins inside one
//! counts the sectors that it touches.

use std::collections::{BTreeMap, VecDeque};

use super::purging::Purging;
use super::request::{Begun, Done, Pace, Refusal, Request};
use super::unit_faults::Faults;
use crate::config::ConfigError;
use crate::drive::{Checkpoint, Counts, Drive, Life};
use crate::ftl::gc::GcConfig;
use crate::ftl::zones::ZoneStatus;
use crate::nand::{Contents, Media, MediaError, Reach};
use crate::op::{HostCommand, HostOp, Purpose, Source};
use crate::reads::{BlockRead, PageTypes, ReadErrors};
use crate::run::Simulation;
use crate::timed::{Latencies, Observation, Step, TimedStage};
use crate::units::{BlockId, Lpn, Ns, Ppn, SECTOR_BYTES};
use crate::untimed::{Instant, Reader};
use crate::workload::{Host, StageIds};

/// The reads of untimed commands, whose programs carry bytes.
pub(super) struct Carrying<'a>(pub(super) &'a mut ReadErrors);

impl Reader for Carrying<'_> {
    const CARRIES: bool = true;

    fn page_types(&self) -> &PageTypes {
        self.0.page_types()
    }

    fn page(&mut self, media: &Media, ppn: Ppn, source: Source) {
        // At once: the command gets the outcome of its reads.
        self.0.record_page(media, ppn, source);
    }

    fn block(&mut self, read: BlockRead) {
        self.0.record_block(&read);
    }
}

/// A command of a request, and the pages whose data it holds in memory.
pub(super) struct Part {
    pub(super) command: HostCommand,
    held: Vec<Lpn>,
}

impl Part {
    /// A command that holds no pages.
    pub(super) fn of(command: HostCommand) -> Self {
        Self { command, held: Vec::new() }
    }

    pub(super) fn flush() -> Self {
        Self::of(HostCommand::new(HostOp::Flush, 0, 0))
    }

    pub(super) fn with_fua(mut self, is_fua: bool) -> Self {
        self.command.is_fua = is_fua;
        self
    }
}

/// A command that runs, or waits for a slot of the drive.
struct Running {
    token: u64,
    part: Part,
}

/// A request that is not done.
pub(super) struct Pending {
    /// Kind and arrival.
    began: (HostOp, Ns),
    purpose: Purpose,
    /// What follows its other commands.
    then: Option<Part>,
    commands_left: u32,
    /// Why one of its commands failed.
    refusal: Option<Refusal>,
}

/// Bytes of a range that are in one unit.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) lpn: Lpn,
    /// The first of the bytes in the unit.
    first: usize,
    pub(super) count: usize,
}

/// See the module.
pub struct Session {
    pub(super) drive: Drive,
    /// Runs commands in time; `None` if the session is untimed.
    pub(super) executor: Option<Box<TimedStage>>,
    /// Commands in the drive, by its slot.
    slots: Vec<Option<Running>>,
    /// Commands that wait until the drive has a slot.
    waiting: VecDeque<Running>,
    in_flight_count: u32,
    queue_depth_max: u32,
    /// By token.
    pub(super) requests: BTreeMap<u64, Pending>,
    /// Pages that memory had lost for want of room when a flush last reported it.
    pub(super) lost_reported: u64,
    /// Of a drive that was cut from power, the checkpoint of its mount: see `power_cut`.
    pub(super) mounted: Checkpoint,
    /// Faults of the contents that are to come, and units that earlier ones have struck.
    pub(super) faults: Faults,
    /// Counts of the drive when the session took it over.
    pub(super) origin: Counts,
    pub(super) life: Life,
    pub(super) purging: Option<Purging>,
    /// The tag of the last command to zones.
    pub(super) next_tag: u32,
}

impl Session {
    /// Takes over a drive, which holds zeros until it is written, or until
    /// [`Session::load_contents`].
    ///
    /// # Errors
    /// [`ConfigError`] for drives that are no plain disks: zones, and policies in Python.
    pub fn new(simulation: Simulation, pace: Pace) -> Result<Self, ConfigError> {
        Self::check(&simulation)?;
        Self::with_zones(simulation, pace)
    }

    /// The same, and the drive may have zones.
    ///
    /// # Errors
    /// [`ConfigError`] for policies in Python.
    pub fn with_zones(simulation: Simulation, pace: Pace) -> Result<Self, ConfigError> {
        Self::check_policies(&simulation)?;
        let mut drive = simulation.into_drive();
        let unit_bytes = drive.geometry.page_bytes;
        let pages = drive.ftl.figures().logical_pages();
        let protection = drive.config.host.protection.clone();
        let mut contents = Contents::new(
            unit_bytes as usize,
            protection,
            drive.geometry.block_count() as usize,
            pages as usize,
        );
        if let Some((blocks, correctable)) = drive.errors.cell_blocks() {
            contents.set_decoded(blocks, correctable);
        }
        drive.media.contents = Some(Box::new(contents));
        Ok(Self::of_drive(drive, pace))
    }

    /// Whether a session can take over a drive.
    ///
    /// # Errors
    /// [`ConfigError`] as of [`Session::new`].
    pub(super) fn check(simulation: &Simulation) -> Result<(), ConfigError> {
        let config = simulation.config();
        if config.ftl.mapping.zoned().is_some() {
            let message = "a zoned drive cannot be served: NBD has no commands for zones";
            return Err(ConfigError::new("ftl.mapping", message));
        }
        Self::check_policies(simulation)
    }

    fn check_policies(simulation: &Simulation) -> Result<(), ConfigError> {
        let config = simulation.config();
        if matches!(config.ftl.gc_policy, GcConfig::Python(_)) {
            let message = "a drive with a policy of one's own cannot be served";
            return Err(ConfigError::new("ftl.gc_policy", message));
        }
        Faults::check(&config.nand.faults, simulation.logical_pages())
    }

    /// A session of a drive that has contents.
    pub(super) fn of_drive(mut drive: Drive, pace: Pace) -> Self {
        drive.place(Some(&StageIds::Commands));
        let queue_depth_max = drive.config.host.depth_max().max(1);
        let faults = Faults::of(&drive.config.nand.faults);
        let executor = (pace == Pace::Timed).then(|| Self::executor_of(&mut drive));
        Self {
            origin: Counts::of(&drive),
            next_tag: 0,
            drive,
            executor,
            slots: Vec::new(),
            waiting: VecDeque::new(),
            in_flight_count: 0,
            queue_depth_max,
            requests: BTreeMap::new(),
            lost_reported: 0,
            mounted: Checkpoint::default(),
            faults,
            life: Life::default(),
            purging: None,
        }
    }

    /// What runs the commands of an idle drive, from time zero on.
    pub(super) fn executor_of(drive: &mut Drive) -> Box<TimedStage> {
        let (host, latencies) = (Host::default(), Latencies::Left);
        let mut executor = TimedStage::new(drive, &Observation::default(), &[&host], latencies);
        if drive.ftl.figures().expects_cuts() {
            executor.expect_cuts(drive);
        }
        // The host may always come again, so dies collect in its pauses.
        executor.host.arrivals = 1;
        executor.ask_all(drive);
        Box::new(executor)
    }

    /// Bytes that clients may address.
    pub fn capacity_bytes(&self) -> u64 {
        u64::from(self.logical_pages()) * self.unit_bytes()
    }

    /// Bytes of a mapped unit: smaller writes read the rest first.
    pub fn unit_bytes(&self) -> u64 {
        self.drive.geometry.page_bytes
    }

    pub(super) fn contents(&mut self) -> &mut Contents {
        self.drive.media.contents.as_mut().expect("a session has contents")
    }

    /// The place of a page in the map.
    pub(super) fn place(&self, lpn: Lpn) -> Option<(BlockId, u32)> {
        let ppn = self.drive.ftl.find(lpn)?;
        Some((self.drive.geometry.block_of(ppn), self.drive.geometry.page_index(ppn)))
    }

    pub(super) fn unit(&mut self, lpn: Lpn) -> Result<Option<&[u8]>, MediaError> {
        let place = self.place(lpn);
        self.contents().read(lpn, place)
    }

    /// A range by units.
    pub(super) fn pieces(&self, offset: u64, length: u64) -> impl Iterator<Item = Piece> {
        let (unit, limit) = (self.unit_bytes(), offset + length);
        (offset / unit..limit.div_ceil(unit)).map(move |page| {
            let (first, end) = (offset.max(page * unit), limit.min((page + 1) * unit));
            let (lpn, count) = (Lpn(page as u32), (end - first) as usize);
            Piece { lpn, first: (first - page * unit) as usize, count }
        })
    }

    /// Copies the data of the drive, through the map.
    ///
    /// # Errors
    /// [`MediaError`] of the first unit that is not as it was written; `bytes` is then of no use.
    ///
    /// # Panics
    /// If the range goes beyond the capacity.
    pub fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), MediaError> {
        assert!(offset + bytes.len() as u64 <= self.capacity_bytes(), "read beyond the end");
        let mut rest = bytes;
        for Piece { lpn, first, count } in self.pieces(offset, rest.len() as u64) {
            let (here, behind) = rest.split_at_mut(count);
            match self.unit(lpn)? {
                Some(unit) => here.copy_from_slice(&unit[first..first + count]),
                None => here.fill(0),
            }
            rest = behind;
        }
        Ok(())
    }

    /// Stages new bytes of a unit, `None` for zeros; the other bytes keep their values.
    fn stage(
        &mut self,
        Piece { lpn, first, count }: Piece,
        new: Option<&[u8]>,
    ) -> Result<(), MediaError> {
        let is_zero = new.is_none_or(|bytes| bytes.iter().all(|&byte| byte == 0));
        if count as u64 == self.unit_bytes() {
            self.contents().stage(lpn, new.filter(|_| !is_zero));
            return Ok(());
        }
        let length = self.unit_bytes() as usize;
        let old = self.unit(lpn)?;
        if is_zero && old.is_none() {
            self.contents().stage(lpn, None);
            return Ok(());
        }
        let mut bytes = old.map_or(vec![0; length], |old| old[..length].to_vec());
        match new {
            Some(new) => bytes[first..first + count].copy_from_slice(new),
            None => bytes[first..first + count].fill(0),
        }
        self.contents().stage(lpn, Some(&bytes));
        Ok(())
    }

    /// Stages new bytes of a range; returns the pages that are held for it.
    fn stage_range(
        &mut self,
        offset: u64,
        length: u64,
        new: Option<&[u8]>,
    ) -> Result<Vec<Lpn>, MediaError> {
        let pieces: Vec<_> = self.pieces(offset, length).collect();
        // Units written in part are read before anything changes.
        for piece in &pieces {
            if (piece.count as u64) < self.unit_bytes() {
                self.unit(piece.lpn)?;
            }
        }
        let mut done = 0;
        for &piece in &pieces {
            let here = new.map(|bytes| &bytes[done..done + piece.count]);
            self.stage(piece, here)?;
            done += piece.count;
        }
        Ok(pieces.into_iter().map(|piece| piece.lpn).collect())
    }

    /// Begins a request that arrives at `at`, not before the last one. Its bytes change at once,
    /// and the drive starts to work. `token` names the request in [`Done`]; requests that end
    /// before it arrives are added to `done`.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then.
    ///
    /// # Panics
    /// If the range goes beyond the capacity, or is empty.
    pub fn begin(
        &mut self,
        at: Ns,
        token: u64,
        request: Request<'_>,
        done: &mut Vec<Done>,
    ) -> Result<Begun, Refusal> {
        if let Some(purging) = &self.purging {
            let is_flush = matches!(request, Request::Flush);
            return is_flush.then_some(Begun::Done).ok_or(purging.refusal());
        }
        let purpose = request.purpose();
        let (mut parts, mut then) = self.parts(request)?;
        for part in parts.iter_mut().filter(|part| part.command.op != HostOp::Trim) {
            part.command.purpose = purpose;
        }
        if let Some(part) = &mut then {
            part.command.purpose = Purpose::CopyTarget;
        }
        if self.executor.is_none() || parts.is_empty() {
            return self.run_in_turn(&parts, then);
        }
        let began = (then.as_ref().unwrap_or(&parts[0]).command.op, at);
        let commands_left = parts.len() as u32;
        let pending = Pending { began, purpose, then, commands_left, refusal: None };
        self.requests.insert(token, pending);
        self.arrive(at, done);
        let begun = self.powered(self.executor.as_ref().map_or(at, |executor| executor.now()));
        self.life.activity.begin(begun);
        self.waiting.extend(parts.into_iter().map(|part| Running { token, part }));
        self.submit_waiting();
        self.forget_erased();
        Ok(Begun::Running)
    }

    /// The commands for a request, and one that follows when they have ended.
    fn parts(&mut self, request: Request<'_>) -> Result<(Vec<Part>, Option<Part>), Refusal> {
        if self.zones().is_some() {
            return Ok((vec![self.zone_part(request)], None));
        }
        if self.drive.is_worn_out && request.writes() {
            return Err(Refusal::WornOut);
        }
        let mut then = None;
        let parts = match request {
            Request::Append { .. } | Request::Zone(..) => {
                return Err(ZoneStatus::InvalidField.into())
            }
            Request::Read { offset, length } | Request::Check { offset, length, .. } => {
                vec![self.part(HostOp::Read, offset, length, Vec::new())]
            }
            Request::Write { offset, bytes, is_fua, placement } => {
                let mut part = self.write(offset, bytes.len() as u64, Some(bytes), is_fua)?;
                part.command.placement = placement;
                vec![part]
            }
            Request::Zero { offset, length, is_fua, is_allocated: true } => {
                vec![self.write(offset, length, None, is_fua)?]
            }
            Request::Zero { offset, length, is_fua, is_allocated: false } => {
                self.zero(offset, length, is_fua)?
            }
            Request::Trim { offset, length } => self.trim(offset, length).into_iter().collect(),
            Request::Flush => vec![Part::flush()],
            Request::Copy { sources, offset, bytes, is_fua } => {
                then = Some(self.write(offset, bytes.len() as u64, Some(bytes), is_fua)?);
                self.reads(sources)
            }
        };
        Ok((parts, then))
    }

    /// Drops units that no cut brings back, if many are kept.
    fn forget_erased(&mut self) {
        let (Some(contents), Some(executor)) = (&self.drive.media.contents, &self.executor) else {
            return;
        };
        if contents.keeps_much(&self.drive.geometry) {
            let rests = executor.clockwork.rests(&self.drive);
            let members = self.drive.media.shared_superblocks();
            let reach = Reach::new(&rests, members.as_deref());
            self.contents().forget_erased(&reach);
        }
    }

    /// The command that writes data, or with `None` zeros that are to be allocated.
    pub(super) fn write(
        &mut self,
        offset: u64,
        length: u64,
        new: Option<&[u8]>,
        is_fua: bool,
    ) -> Result<Part, MediaError> {
        let held = self.stage_range(offset, length, new)?;
        Ok(self.part(HostOp::Write, offset, length, held).with_fua(is_fua))
    }

    /// The command for the sectors that a range touches.
    pub(super) fn part(&self, op: HostOp, offset: u64, length: u64, held: Vec<Lpn>) -> Part {
        let capacity = self.capacity_bytes();
        assert!(length > 0 && offset + length <= capacity, "{offset} + {length} bytes");
        let first = offset / SECTOR_BYTES;
        let limit = (offset + length).div_ceil(SECTOR_BYTES);
        Part { command: HostCommand::new(op, first, (limit - first) as u32), held }
    }

    /// Releases the pages of a command that has ended. If a write was refused, pages that did not
    /// reach the flash keep their previous data.
    pub(super) fn release(&mut self, part: &Part, is_refused: bool) {
        for &lpn in &part.held {
            let place = self.place(lpn);
            let waits = self.drive.buffer.as_ref().is_some_and(|buffer| buffer.contains(lpn));
            if is_refused {
                self.contents().abandon(lpn, place);
            }
            self.contents().release(lpn, place, waits);
        }
    }

    /// Runs commands without a clock.
    pub(super) fn run_untimed(&mut self, parts: &[Part]) -> Result<Begun, Refusal> {
        let (before, mut begun) = (self.lost_reads(), Begun::Done);
        for part in parts {
            let (mut front, media, errors) = self.drive.split();
            let mut sink = Instant { media, reader: Carrying(errors) };
            let is_refused = front.apply(&mut sink, &part.command).is_err();
            if part.command.tag > 0 {
                begun = self.zone_answer(&part.command, is_refused)?;
                continue;
            }
            self.release(part, is_refused);
            if is_refused {
                self.drive.is_worn_out = true;
                return Err(Refusal::WornOut);
            }
        }
        let is_read = parts.first().is_some_and(|part| part.command.op == HostOp::Read);
        if is_read && self.lost_reads() > before {
            return Err(Refusal::Uncorrectable);
        }
        Ok(begun)
    }

    /// Number of uncorrectable reads of the host.
    pub(super) fn lost_reads(&self) -> u64 {
        self.drive.errors.lost_of_host()
    }

    /// Lets the next event happen; `None` without a clock.
    fn step(&mut self) -> Option<Step> {
        Some(self.executor.as_mut()?.step(&mut self.drive))
    }

    /// Lets everything happen that comes before a request that arrives at `at`. If the clock is
    /// later already, the request arrives now.
    pub(super) fn arrive(&mut self, at: Ns, done: &mut Vec<Done>) {
        if let Some(executor) = &mut self.executor {
            executor.await_arrival(0, at);
        }
        while let Some(step) = self.step() {
            match step {
                Step::Arrived(_) => return,
                Step::Completed(_) => self.completed(done),
                Step::Internal => {}
                Step::Idle => unreachable!("the arrival is still to come"),
            }
        }
    }

    /// Submits waiting commands while the drive has slots.
    fn submit_waiting(&mut self) {
        let Some(executor) = &mut self.executor else { return };
        while self.in_flight_count < self.queue_depth_max {
            let Some(next) = self.waiting.pop_front() else { return };
            let slot = executor.submit(&mut self.drive, &next.part.command);
            let slot = slot.expect("no more commands are in flight than the drive has slots");
            let slot = slot as usize;
            if slot >= self.slots.len() {
                self.slots.resize_with(slot + 1, || None);
            }
            self.slots[slot] = Some(next);
            self.in_flight_count += 1;
        }
    }

    fn completed(&mut self, done: &mut Vec<Done>) {
        let Some(executor) = &mut self.executor else { return };
        let (last, at) = (executor.host.ledger.last, executor.now());
        // Its slot is free, and no other command has taken it again.
        let is_lost = executor.host.path.slot(last.slot).is_lost;
        self.drive.is_worn_out |= executor.host.is_worn_out && self.drive.ftl.zones().is_none();
        let ended = self.slots[last.slot as usize].take().expect("it was submitted");
        self.in_flight_count -= 1;
        let is_refused = last.bytes < ended.part.command.bytes();
        let answer = if ended.part.command.tag > 0 {
            self.zone_answer(&ended.part.command, is_refused)
        } else {
            self.release(&ended.part, is_refused);
            let is_refused = is_refused || self.reports_loss(ended.part.command.op);
            if is_refused {
                Err(Refusal::WornOut)
            } else {
                Ok(Begun::Done)
            }
        };
        if let Some(request) = self.requests.get_mut(&ended.token) {
            request.commands_left -= 1;
            if let Err(refusal) = answer {
                request.refusal = Some(refusal);
            } else if is_lost && ended.part.command.op == HostOp::Read {
                request.refusal = Some(Refusal::Uncorrectable);
            }
            if request.commands_left == 0 {
                let (refusal, token) = (request.refusal, ended.token);
                match request.then.take() {
                    Some(part) if refusal.is_none() => {
                        request.commands_left = 1;
                        self.waiting.push_back(Running { token, part });
                    }
                    unwritten => {
                        let place = answer.ok().and_then(Begun::place);
                        let (began, purpose) = (request.began, request.purpose);
                        self.note_end(began, purpose, at);
                        self.requests.remove(&token);
                        if let Some(part) = &unwritten {
                            self.release(part, true);
                        }
                        done.push(Done { token, at, refusal, place });
                    }
                }
            }
        }
        self.submit_waiting();
    }

    /// Lets everything happen up to and including `until`; requests that end go to `done`.
    pub fn advance(&mut self, until: Ns, done: &mut Vec<Done>) {
        while self.executor.as_mut().is_some_and(|it| it.clockwork.is_due(until)) {
            if let Some(Step::Completed(_)) = self.step() {
                self.completed(done);
                self.begin_purging();
            }
        }
        if self.purging.is_some() {
            self.pass_purge(until, done);
        }
    }

    /// When something happens next, unless a request comes before.
    pub fn next_at(&mut self) -> Option<Ns> {
        let end = self.purge_end();
        let next = self.executor.as_mut()?.clockwork.next_at();
        next.into_iter().chain(end).min()
    }

    /// Requests that are not done.
    pub fn pending_count(&self) -> usize {
        self.requests.len()
    }
}
