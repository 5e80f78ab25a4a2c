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

use super::request::{Begun, Done, Pace, Refusal, Request};
use super::unit_faults::Faults;
use crate::config::ConfigError;
use crate::drive::{Checkpoint, Counts, Drive};
use crate::ftl::gc::GcConfig;
use crate::ftl::End;
use crate::nand::{Contents, Media, MediaError, Reach};
use crate::op::{HostCommand, HostOp, Source};
use crate::reads::{BlockRead, PageTypes, ReadErrors};
use crate::run::Simulation;
use crate::timed::{Latencies, Observation, Step, TimedStage};
use crate::units::{BlockId, Lpn, Ns, Ppn, SECTOR_BYTES};
use crate::untimed::{Instant, Reader};
use crate::workload::Host;

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

/// A command and the pages whose data it holds in memory.
struct Part {
    command: HostCommand,
    held: Vec<Lpn>,
}

/// A running command.
struct UnderWay {
    token: u64,
    part: Part,
}

/// See the module.
pub struct Session {
    pub(super) drive: Drive,
    pub(super) stage: Option<Box<TimedStage>>,
    /// By slot of the drive.
    slots: Vec<Option<UnderWay>>,
    /// Commands that wait until the drive has a slot.
    outside: VecDeque<UnderWay>,
    inside_count: u32,
    inside_max: u32,
    /// Commands left of each request, and why one of them failed.
    requests: BTreeMap<u64, (u32, Option<Refusal>)>,
    /// Pages that memory has lost for want of room, when a flush last told of it.
    pub(super) lost_told: u64,
    capacity_bytes: u64,
    pub(super) unit_bytes: u64,
    /// Of a drive that was cut from power, the checkpoint of its mount: see `power_cut`.
    pub(super) mounted: Checkpoint,
    /// Faults of the contents that are to come, and units that others have struck.
    pub(super) faults: Faults,
    /// Counts of the drive when the session took it over.
    pub(super) origin: Counts,
}

impl Session {
    /// Takes over a drive, which holds zeros until it is written, or until
    /// [`Session::load_contents`].
    ///
    /// # Errors
    /// [`ConfigError`] for drives that are no plain disks: zones, and policies in Python.
    pub fn new(simulation: Simulation, pace: Pace) -> Result<Self, ConfigError> {
        Self::check(&simulation)?;
        let mut drive = simulation.into_drive();
        let unit_bytes = drive.geometry.page_bytes;
        let pages = drive.ftl.figures().logical_pages();
        let protection = drive.config.host.protection.clone();
        drive.media.contents = Some(Box::new(Contents::new(
            unit_bytes as usize,
            protection,
            drive.geometry.block_count() as usize,
            pages as usize,
        )));
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
        if matches!(config.ftl.gc_policy, GcConfig::Python(_)) {
            let message = "a drive with a policy of one's own cannot be served";
            return Err(ConfigError::new("ftl.gc_policy", message));
        }
        Faults::check(&config.nand.faults, simulation.logical_pages())
    }

    /// A session of a drive that has contents.
    pub(super) fn of_drive(mut drive: Drive, pace: Pace) -> Self {
        let inside_max = drive.config.host.depth_max().max(1);
        let (unit_bytes, pages) = (drive.geometry.page_bytes, drive.ftl.figures().logical_pages());
        let faults = Faults::of(&drive.config.nand.faults);
        let stage = (pace == Pace::Timed).then(|| {
            let (host, latencies) = (Host::default(), Latencies::Left);
            let observation = Observation::default();
            let mut stage = TimedStage::new(&mut drive, &observation, &[&host], latencies);
            if drive.ftl.figures().expects_cuts() {
                stage.expect_cuts(&drive);
            }
            // The host may always come again, so dies collect in its pauses.
            stage.host.arrivals = 1;
            stage.ask_all(&mut drive);
            Box::new(stage)
        });
        Self {
            origin: Counts::of(&drive),
            drive,
            stage,
            slots: Vec::new(),
            outside: VecDeque::new(),
            inside_count: 0,
            inside_max,
            requests: BTreeMap::new(),
            lost_told: 0,
            capacity_bytes: u64::from(pages) * unit_bytes,
            unit_bytes,
            mounted: Checkpoint::default(),
            faults,
        }
    }

    /// Bytes that clients may address.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Bytes of a mapped unit: smaller writes read the rest first.
    pub fn unit_bytes(&self) -> u64 {
        self.unit_bytes
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

    /// The units that a range touches: page, first byte in it, bytes.
    fn pieces(&self, offset: u64, length: u64) -> impl Iterator<Item = (Lpn, usize, usize)> {
        let (unit, limit) = (self.unit_bytes, offset + length);
        (offset / unit..limit.div_ceil(unit)).map(move |page| {
            let (first, end) = (offset.max(page * unit), limit.min((page + 1) * unit));
            (Lpn(page as u32), (first - page * unit) as usize, (end - first) as usize)
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
        assert!(offset + bytes.len() as u64 <= self.capacity_bytes, "read beyond the end");
        let mut rest = bytes;
        for (lpn, first, count) in self.pieces(offset, rest.len() as u64) {
            let (here, behind) = rest.split_at_mut(count);
            match self.unit(lpn)? {
                Some(unit) => here.copy_from_slice(&unit[first..first + count]),
                None => here.fill(0),
            }
            rest = behind;
        }
        Ok(())
    }

    /// Runs of bytes from `offset` on that are data or holes: lengths, and whether they are holes.
    pub fn extents(&self, offset: u64, length: u64, count_max: usize) -> Vec<(u64, bool)> {
        let mut runs: Vec<(u64, bool)> = Vec::new();
        let Some(contents) = &self.drive.media.contents else { return runs };
        for (lpn, _, count) in self.pieces(offset, length) {
            let is_hole = !contents.is_allocated(lpn, self.place(lpn));
            let is_full = runs.len() == count_max;
            match runs.last_mut() {
                Some((bytes, was_hole)) if *was_hole == is_hole => *bytes += count as u64,
                _ if is_full => break,
                _ => runs.push((count as u64, is_hole)),
            }
        }
        runs
    }

    /// New bytes of a unit, the others as they were.
    fn stage(
        &mut self,
        (lpn, first, count): (Lpn, usize, usize),
        new: Option<&[u8]>,
    ) -> Result<(), MediaError> {
        let is_zero = new.is_none_or(|bytes| bytes.iter().all(|&byte| byte == 0));
        if count as u64 == self.unit_bytes {
            self.contents().stage(lpn, new.filter(|_| !is_zero));
            return Ok(());
        }
        let length = self.unit_bytes as usize;
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

    /// New bytes of a range; the pages that are held for it.
    fn stage_range(
        &mut self,
        offset: u64,
        length: u64,
        new: Option<&[u8]>,
    ) -> Result<Vec<Lpn>, MediaError> {
        let pieces: Vec<_> = self.pieces(offset, length).collect();
        // Units written in part are read before anything changes.
        for &(lpn, _, count) in &pieces {
            if (count as u64) < self.unit_bytes {
                self.unit(lpn)?;
            }
        }
        let mut done = 0;
        for &piece in &pieces {
            let here = new.map(|bytes| &bytes[done..done + piece.2]);
            self.stage(piece, here)?;
            done += piece.2;
        }
        Ok(pieces.into_iter().map(|(lpn, ..)| lpn).collect())
    }

    /// A client asks at `at`, not before the last request. Its bytes change at once, and the drive
    /// begins to work. `token` names it in [`Done`]; those that are done until then go to `done`.
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
        if self.drive.is_worn_out && matches!(request, Request::Write { .. } | Request::Zero { .. })
        {
            return Err(Refusal::WornOut);
        }
        let parts = match request {
            Request::Read { offset, length } => {
                vec![self.part(HostOp::Read, offset, length, false, Vec::new())]
            }
            Request::Write { offset, bytes, is_fua } => {
                vec![self.write(offset, bytes.len() as u64, Some(bytes), is_fua)?]
            }
            Request::Zero { offset, length, is_fua, is_allocated: true } => {
                vec![self.write(offset, length, None, is_fua)?]
            }
            Request::Zero { offset, length, is_fua, is_allocated: false } => {
                self.zero(offset, length, is_fua)?
            }
            Request::Trim { offset, length } => self.trim(offset, length).into_iter().collect(),
            Request::Flush => {
                let command = HostCommand::new(HostOp::Flush, 0, 0);
                vec![Part { command, held: Vec::new() }]
            }
        };
        if self.stage.is_none() || parts.is_empty() {
            return self.carry_out(&parts);
        }
        self.requests.insert(token, (parts.len() as u32, None));
        self.arrive(at, done);
        let under_way = |part| UnderWay { token, part };
        self.outside.extend(parts.into_iter().map(under_way));
        self.let_in();
        self.forget_erased();
        Ok(Begun::UnderWay)
    }

    /// Drops units that no cut brings back, if many are kept.
    fn forget_erased(&mut self) {
        let Some((contents, stage)) = self.drive.media.contents.as_ref().zip(self.stage.as_ref())
        else {
            return;
        };
        if contents.keeps_much(&self.drive.geometry) {
            let rests = stage.clockwork.rests(&self.drive);
            let members = self.drive.media.shared_superblocks();
            let reach = Reach::new(&rests, members.as_deref());
            self.contents().forget_erased(&reach);
        }
    }

    /// Data, or zeros that are to be allocated.
    fn write(
        &mut self,
        offset: u64,
        length: u64,
        new: Option<&[u8]>,
        is_fua: bool,
    ) -> Result<Part, MediaError> {
        let held = self.stage_range(offset, length, new)?;
        Ok(self.part(HostOp::Write, offset, length, is_fua, held))
    }

    /// Zeros that need no pages: the parts of units at both ends are written, the rest is trimmed.
    fn zero(&mut self, offset: u64, length: u64, is_fua: bool) -> Result<Vec<Part>, MediaError> {
        let (unit, end) = (self.unit_bytes, offset + length);
        let (first, last) = (offset.next_multiple_of(unit), end / unit * unit);
        if first >= last {
            return Ok(vec![self.write(offset, length, None, is_fua)?]);
        }
        // Both ends are read before anything changes.
        for edge in [offset, end] {
            if edge % unit > 0 {
                self.unit(Lpn((edge / unit) as u32))?;
            }
        }
        let mut parts = Vec::new();
        for edge in [offset..first, last..end] {
            if !edge.is_empty() {
                parts.push(self.write(edge.start, edge.end - edge.start, None, is_fua)?);
            }
        }
        parts.extend(self.trim(first, last - first));
        Ok(parts)
    }

    /// Trims whole units: they read as zeros afterwards.
    fn trim(&mut self, offset: u64, length: u64) -> Option<Part> {
        let unit = self.unit_bytes;
        let mut held = Vec::new();
        for lpn in (offset.div_ceil(unit)..(offset + length) / unit).map(|page| Lpn(page as u32)) {
            // Pages that read as zeros already cost nothing.
            if self.place(lpn).is_some() || self.contents().is_staged(lpn) {
                self.contents().stage_trim(lpn);
                held.push(lpn);
            }
        }
        // The sectors that are completely in the range.
        let first = offset.next_multiple_of(SECTOR_BYTES);
        let limit = (offset + length) / SECTOR_BYTES * SECTOR_BYTES;
        (first < limit).then(|| self.part(HostOp::Trim, first, limit - first, false, held))
    }

    fn part(&self, op: HostOp, offset: u64, length: u64, is_fua: bool, held: Vec<Lpn>) -> Part {
        assert!(length > 0 && offset + length <= self.capacity_bytes, "{offset} + {length} bytes");
        let first = offset / SECTOR_BYTES;
        let limit = (offset + length).div_ceil(SECTOR_BYTES);
        let command = HostCommand::new(op, first, (limit - first) as u32);
        Part { command: HostCommand { is_fua, ..command }, held }
    }

    /// A command has ended; if a write was refused, pages that did not reach the flash keep their
    /// previous data.
    fn release(&mut self, part: &Part, is_refused: bool) {
        for &lpn in &part.held {
            let place = self.place(lpn);
            let waits = self.drive.buffer.as_ref().is_some_and(|buffer| buffer.contains(lpn));
            if is_refused {
                self.contents().abandon(lpn, place);
            }
            self.contents().release(lpn, place, waits);
        }
    }

    /// Commands without a clock.
    fn carry_out(&mut self, parts: &[Part]) -> Result<Begun, Refusal> {
        let before = self.lost_reads();
        for part in parts {
            let (mut front, media, errors) = self.drive.split();
            let mut sink = Instant { media, reader: Carrying(errors) };
            let is_refused = front.apply(&mut sink, &part.command).is_err();
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
        Ok(Begun::Done)
    }

    /// Number of uncorrectable reads of the host.
    pub(super) fn lost_reads(&self) -> u64 {
        self.drive.errors.lost_of_host()
    }

    /// Moves the clock to `at`, unless it is later.
    fn arrive(&mut self, at: Ns, done: &mut Vec<Done>) {
        let Some(stage) = &mut self.stage else { return };
        stage.await_arrival(0, at);
        loop {
            let Some(stage) = &mut self.stage else { return };
            match stage.step(&mut self.drive) {
                Step::Arrived(_) => return,
                Step::Completed(_) => self.completed(done),
                Step::Internal => {}
                Step::Idle => unreachable!("the arrival is still to come"),
            }
        }
    }

    /// Commands that wait go in while the drive has room.
    fn let_in(&mut self) {
        while self.inside_count < self.inside_max {
            let Some(next) = self.outside.pop_front() else { return };
            let Some(stage) = &mut self.stage else { return };
            let slot = stage.submit(&mut self.drive, &next.part.command);
            let slot = slot.expect("no more commands are inside than the drive has slots") as usize;
            if slot >= self.slots.len() {
                self.slots.resize_with(slot + 1, || None);
            }
            self.slots[slot] = Some(next);
            self.inside_count += 1;
        }
    }

    fn completed(&mut self, done: &mut Vec<Done>) {
        let Some(stage) = &mut self.stage else { return };
        let (last, at) = (stage.host.ledger.last, stage.now());
        // Its slot is free, and no other command has taken it again.
        let is_lost = stage.host.path.slot(last.slot).is_lost;
        self.drive.is_worn_out |= stage.host.is_worn_out;
        let ended = self.slots[last.slot as usize].take().expect("it was let in");
        self.inside_count -= 1;
        let is_refused = last.bytes < ended.part.command.bytes();
        self.release(&ended.part, is_refused);
        let is_refused = is_refused || self.tells_of_loss(ended.part.command.op);
        if let Some((left, refusal)) = self.requests.get_mut(&ended.token) {
            *left -= 1;
            if is_refused {
                *refusal = Some(Refusal::WornOut);
            } else if is_lost && ended.part.command.op == HostOp::Read {
                *refusal = Some(Refusal::Uncorrectable);
            }
            if *left == 0 {
                let refusal = *refusal;
                self.requests.remove(&ended.token);
                done.push(Done { token: ended.token, at, refusal });
            }
        }
        self.let_in();
    }

    /// Lets everything happen up to and including `until`; requests that end go to `done`.
    pub fn advance(&mut self, until: Ns, done: &mut Vec<Done>) {
        loop {
            let Some(stage) = &mut self.stage else { return };
            if !stage.clockwork.is_due(until) {
                return;
            }
            if let Step::Completed(_) = stage.step(&mut self.drive) {
                self.completed(done);
            }
        }
    }

    /// When something happens next, unless a request comes before.
    pub fn next_at(&mut self) -> Option<Ns> {
        self.stage.as_mut()?.clockwork.next_at()
    }

    /// Requests that are not done.
    pub fn under_way(&self) -> usize {
        self.requests.len()
    }

    /// Brings the drive to rest with everything on the flash: running commands are carried out, and
    /// data in the write buffer is written.
    pub fn settle(&mut self) {
        let mut done = Vec::new();
        while !self.requests.is_empty() {
            let Some(next) = self.next_at() else { break };
            self.advance(next, &mut done);
        }
        if let Some(mut stage) = self.stage.take() {
            // Pages that left the buffer and wait for room, and collections in steps.
            stage.host.arrivals = 0;
            while stage.step(&mut self.drive) != Step::Idle {}
            let now = stage.at_rest_since();
            stage.give_back(&mut self.drive, now);
        }
        self.drive.ftl.finish(End::Stage);
        let command = HostCommand::new(HostOp::Flush, 0, 0);
        // A worn-out drive keeps data that it could not write in memory, and loses it.
        let _ = self.carry_out(&[Part { command, held: Vec::new() }]);
        // Of commands that overlapped in time the last version may never have been asked for.
        for lpn in self.contents().staged_pages() {
            let unit = self.unit_bytes;
            let held = vec![lpn];
            let part = self.part(HostOp::Write, u64::from(lpn.0) * unit, unit, true, held);
            let _ = self.carry_out(&[part]);
        }
        self.drive.rest();
    }

    /// The drive, which was [settled](Session::settle).
    pub fn into_simulation(self) -> Simulation {
        let mut drive = self.drive;
        drive.media.contents = None;
        Simulation::of_drive(drive)
    }
}
