//! The drive: media, firmware, write buffer, read-error accounting, and the work of a host command.
//!
//! A command is cut into pages. If a page is written in part, its rest is read from the flash
//! (`merge`) when the page is programmed: at once, or when it leaves the write buffer before the
//! host has written the rest. Trims take effect on whole pages only. The code is generic over the
//! sink, so both executors do the same.

use std::sync::Arc;

use super::config::DeviceConfig;
use super::front_shape::FrontShape;
use super::host_counters::HostCounters;
use super::patrol::Patrol;
use super::placement_ids::{CommandIds, SharedPlacer};
use super::power_loss::PowerLossConfig;
use crate::ftl::gc::Choosers;
use crate::ftl::zones::Zones;
use crate::ftl::{FlashSink, Ftl, NoRoom, Pending, PurgeScope, Setting, Touched};
use crate::geometry::Geometry;
use crate::host::cache::{CleanCaches, Copied, Found, Part, WriteCache};
use crate::host::latency_monitor::LatencyMonitor;
use crate::host::read_ahead::ReadAhead;
use crate::host::throttle::Throttle;
use crate::nand::Media;
use crate::op::{HostCommand, HostOp, Source};
use crate::reads::{Algorithm, ReadErrors};
use crate::units::{DieId, Lpn, Ns, Ppn, SECTOR_BYTES};

/// Events that a sink receives in addition to flash operations, for commands that wait.
pub trait CommandSink: FlashSink {
    /// A page was taken by the write buffer, or by the area of a zone; `waiting` pages wait there.
    fn buffered(&mut self, waiting: usize);
    /// A page write found no room and waits for an erase; only with collections in steps.
    fn stalled(&mut self, die: DieId, lpn: Lpn);
    /// Whether a page was read ahead: then the command has it, or waits for it.
    fn takes_ahead(&mut self, lpn: Lpn) -> bool;
    /// Whether the entries of the map that a command needs are looked up before it is carried out.
    #[inline]
    fn looks_up_itself(&self) -> bool {
        false
    }
    /// A page is likely to be read soon: prefetches the memory that the read will touch.
    #[inline]
    fn expect_read(&self, _ppn: Ppn) {}
    /// The command waits until every page that has left the write buffer is on the flash.
    fn fence(&mut self);
}

/// A drive at rest.
pub struct Drive {
    pub(crate) config: DeviceConfig,
    /// The seed that it was made with.
    pub(crate) seed: u64,
    /// The seed of the following random draws: that of the drive, or that of the last cell.
    pub(crate) draw_seed: u64,
    pub(crate) geometry: Geometry,
    pub(crate) media: Media,
    pub(crate) ftl: Ftl,
    pub(crate) errors: ReadErrors,
    pub(crate) buffer: Option<WriteCache>,
    pub(crate) clean: Option<Box<CleanCaches>>,
    pub(crate) host: HostCounters,
    /// A write failed because a pool is worn out.
    pub(crate) is_worn_out: bool,
    /// Threads that untimed writes may take.
    pub(crate) threads: usize,
    /// The throttles as the last cell left them; `None` before the first.
    pub(crate) throttle: Option<Throttle>,
    /// Simulated time of all timed stages, cells and idle times up to now.
    pub(crate) clock: Ns,
    pub(crate) patrol: Option<Box<Patrol>>,
    /// The code that chooses victims, if that is not the drive itself.
    pub(crate) choosers: Option<Arc<dyn Choosers>>,
    /// The code that gives writes their placement ids, if that is not the workload.
    pub(crate) placer: Option<SharedPlacer>,
    /// Placement ids by page, if writes carry ids that addresses do not decide.
    pub(crate) ids: Option<Box<CommandIds>>,
    /// Counts slow commands of timed work, if asked for.
    pub(crate) slow: Option<Box<LatencyMonitor>>,
}

impl Drive {
    /// A drive fresh from the factory.
    pub fn new(config: DeviceConfig, seed: u64) -> Self {
        let setup = config.pool_setup(seed);
        let media = config.fresh_media(seed);
        let ftl = Ftl::new(&config.ftl, &setup, &media);
        Self::assemble(config, media, ftl, seed)
    }

    /// A drive of its parts.
    pub(crate) fn assemble(config: DeviceConfig, mut media: Media, ftl: Ftl, seed: u64) -> Self {
        let errors = config.read_errors(seed).expect("resolve has checked the code");
        media.clears_oob = errors.has_cells();
        let power = config.power.as_ref();
        let factors = || power.map_or_else(PowerLossConfig::default_scars, PowerLossConfig::scars);
        Self {
            geometry: config.geometry(),
            errors: errors.with_scars(media.scars().map(|_| factors())),
            buffer: build_buffer(&config),
            clean: config.host.build_clean_caches(),
            host: HostCounters::default(),
            is_worn_out: false,
            threads: 1,
            throttle: None,
            clock: Ns(0),
            patrol: config
                .controller
                .patrol
                .as_ref()
                .map(|patrol| Box::new(Patrol::new(patrol.period_days))),
            choosers: None,
            placer: None,
            ids: None,
            slow: None,
            seed,
            draw_seed: seed,
            config,
            media,
            ftl,
        }
    }

    /// Lets all following random draws depend on this seed.
    pub(crate) fn reseed(&mut self, seed: u64) {
        self.draw_seed = seed;
        self.ftl.set(Setting::Seed(seed));
        self.errors.reseed(seed);
    }

    /// Pages of the write buffer, written through and read, in the order of their policies; and the
    /// pages of the write buffer that are there in part.
    pub(crate) fn save_memory(&self) -> [Vec<u64>; 4] {
        let clean = self.clean.as_deref();
        let [written, read] = clean.map_or_else(Default::default, CleanCaches::save);
        let (waiting, partial) = match &self.buffer {
            Some(buffer) => (buffer.save(), buffer.save_partial()),
            None => (Vec::new(), Vec::new()),
        };
        [waiting, written, read, partial]
    }

    /// Restores what [`Drive::save_memory`] gave.
    pub(crate) fn restore_memory(&mut self, memory: &[Vec<u64>; 4]) -> Result<(), String> {
        let pages = u64::from(self.ftl.figures().logical_pages());
        let [waiting, written, read, partial] = memory;
        let mut listed = [waiting, written, read].into_iter().flatten();
        if listed.any(|&number| number & u64::from(u32::MAX) >= pages) {
            return Err("a cache holds a page beyond the capacity".into());
        }
        let sectors = (self.geometry.page_bytes / SECTOR_BYTES) as u32;
        let fits = match &mut self.buffer {
            Some(buffer) => buffer.restore(waiting, partial, sectors),
            None => waiting.is_empty() && partial.is_empty(),
        } && match &mut self.clean {
            Some(clean) => clean.restore([written, read]),
            None => written.is_empty() && read.is_empty(),
        };
        fits.then_some(()).ok_or_else(|| "a cache holds what its policy cannot".into())
    }

    /// Brings the drive into the state in which nothing was written; returns the blocks that were
    /// erased for it. Wear, bad blocks and temperature stay.
    pub(crate) fn purge(&mut self, scope: PurgeScope) -> u64 {
        let setup = self.config.pool_setup(self.seed);
        let erased = self.ftl.purge(&self.config.ftl, &setup, &mut self.media, scope);
        self.connect_choosers();
        self.forget_memory();
        self.is_worn_out = false;
        erased
    }

    /// Connects victim policies that ask outside code to the choosers; required when either is new.
    pub(crate) fn connect_choosers(&mut self) {
        if let Some(choosers) = &self.choosers {
            self.ftl.set(Setting::Choosers(&**choosers));
        }
    }

    /// Write buffer and caches as they are when nothing is in them.
    pub(crate) fn forget_memory(&mut self) {
        self.buffer = build_buffer(&self.config);
        self.clean = self.config.host.build_clean_caches();
    }

    /// Whether there is neither write buffer nor cache, nor an id that a page must remember.
    pub(crate) fn is_plain(&self) -> bool {
        self.buffer.is_none() && self.clean.is_none() && self.ids.is_none()
    }

    /// The parts that flash operations go to, and the rest.
    pub(crate) fn split(&mut self) -> (Front<'_>, &mut Media, &mut ReadErrors) {
        let shape = self.front_shape();
        self.split_as(shape)
    }

    /// The same if the shape of the front is known: see [`Drive::front_shape`].
    #[inline]
    pub(crate) fn split_as(
        &mut self,
        shape: FrontShape,
    ) -> (Front<'_>, &mut Media, &mut ReadErrors) {
        let FrontShape { is_plain, takes_singles, pads, stretch, page_shift, .. } = shape;
        let front = Front {
            takes_singles,
            ftl: &mut self.ftl,
            is_plain,
            buffer: self.buffer.as_mut(),
            clean: self.clean.as_deref_mut(),
            pads,
            stretch,
            ids: self.ids.as_deref_mut(),
            host: &mut self.host,
            page_shift,
        };
        (front, &mut self.media, &mut self.errors)
    }

    /// Prefetches the L2P entry of a coming command's first page.
    #[inline]
    pub(crate) fn prefetch_entry(&self, coming: &HostCommand) {
        self.ftl.prefetch(self.first_page(coming), Touched::Entry);
    }

    /// Prefetches the memory that the L2P entry of a coming command's first page points to.
    #[inline]
    pub(crate) fn prefetch_page(&self, coming: &HostCommand) {
        self.ftl.prefetch(self.first_page(coming), Touched::Page);
    }

    #[inline]
    pub(crate) fn first_page(&self, command: &HostCommand) -> Lpn {
        Lpn((command.sector >> self.page_shift()) as u32)
    }

    /// The pages that a command touches.
    #[inline]
    pub(crate) fn pages_of(&self, command: &HostCommand) -> impl Iterator<Item = Lpn> {
        let limit = command.sector + u64::from(command.sector_count);
        let past = limit + (1 << self.page_shift()) - 1;
        (self.first_page(command).0..(past >> self.page_shift()) as u32).map(Lpn)
    }

    /// Flash operations since the drive was made.
    pub(crate) fn flash_ops(&self) -> u64 {
        let counters = self.ftl.figures().counters();
        total(&counters.programs) + total(&counters.reads) + total(&counters.erases)
    }

    /// Work done, in the unit in which slices are measured.
    pub(crate) fn work_done(&self) -> u64 {
        self.flash_ops() + total(&self.host.commands)
    }

    /// Whether uncorrectable reads count as lost; false if the device has no code.
    pub(crate) fn tells_losses(&self) -> bool {
        self.config.ecc.algorithm != Algorithm::None
    }

    /// Bytes that the host wrote since the drive was made.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.host.sectors[HostOp::Write.index()] * SECTOR_BYTES
    }

    /// Bytes that were programmed since the drive was made.
    pub(crate) fn programmed_bytes(&self) -> u64 {
        let programs = total(&self.ftl.figures().counters().programs);
        self.geometry.physical_pages_of(programs) * self.geometry.page_bytes
    }

    /// Bytes that all of the flash holds.
    pub(crate) fn raw_bytes(&self) -> u64 {
        let pages = self.geometry.physical_pages_of(self.geometry.page_count() as u64);
        pages * self.geometry.page_bytes
    }

    /// Pages that wait in the write buffer, or in the areas of zones.
    pub fn buffered_pages(&self) -> usize {
        self.buffer.as_ref().map_or(0, WriteCache::len) + self.ftl.zones().map_or(0, Zones::kept)
    }

    /// The read-ahead of a timed stage, if the drive has one.
    pub(crate) fn read_ahead(&self) -> Option<ReadAhead> {
        let geometry = &self.geometry;
        let bytes = self.config.host.read_ahead_bytes?;
        let pages = self.ftl.figures().logical_pages();
        Some(ReadAhead::new(bytes, geometry.page_bytes, geometry.units_per_page, pages))
    }

    /// Pages of the write buffer, or of the areas of zones, waiting and in flight.
    pub(crate) fn buffer_capacity(&self) -> usize {
        let areas = self.ftl.zones().map_or(0, Zones::area_pages);
        self.buffer.as_ref().map_or(areas, |buffer| buffer.page_count() as usize)
    }
}

/// The cache in which writes wait, if there is one.
fn build_buffer(config: &DeviceConfig) -> Option<WriteCache> {
    let ftl = &config.ftl;
    config.host.build_write_cache(ftl.write_buffer_pages, ftl.write_buffer_absorbs)
}

/// The sum of counters.
pub(crate) fn total(counts: &[u64]) -> u64 {
    counts.iter().sum()
}

/// The volatile half of a drive, for the length of a slice.
pub(crate) struct Front<'a> {
    pub(crate) ftl: &'a mut Ftl,
    pub(crate) buffer: Option<&'a mut WriteCache>,
    pub(super) clean: Option<&'a mut CleanCaches>,
    /// See [`Drive::is_plain`].
    pub(crate) is_plain: bool,
    /// Whether commands of one page may take the short path.
    pub(super) takes_singles: bool,
    pub(super) ids: Option<&'a mut CommandIds>,
    /// Whether flushed data is padded to whole program units.
    pub(crate) pads: bool,
    /// Pages of a stretch that leaves the write buffer together.
    pub(super) stretch: u32,
    pub(crate) host: &'a mut HostCounters,
    /// Sectors of a page, as a power of two.
    pub(crate) page_shift: u32,
}

impl Front<'_> {
    /// The page in which a command begins.
    #[inline]
    pub(crate) fn first_page(&self, command: &HostCommand) -> Lpn {
        Lpn((command.sector >> self.page_shift) as u32)
    }

    #[inline]
    pub(crate) fn sectors_per_page(&self) -> u64 {
        1 << self.page_shift
    }

    /// First page of a command, and the page after its last.
    #[inline]
    pub(crate) fn pages(&self, command: &HostCommand) -> std::ops::Range<u32> {
        let limit = command.sector + u64::from(command.sector_count);
        let past = limit + self.sectors_per_page() - 1;
        self.first_page(command).0..(past >> self.page_shift) as u32
    }

    /// All sectors of a page.
    #[inline]
    pub(crate) fn whole(&self) -> Part {
        Part::whole(1 << self.page_shift)
    }

    /// The sectors of a page that a command names.
    #[inline]
    pub(super) fn part(&self, command: &HostCommand, page: u32) -> Part {
        let start = u64::from(page) << self.page_shift;
        let limit = command.sector + u64::from(command.sector_count) - start;
        let page_sectors = 1 << self.page_shift;
        Part {
            first: command.sector.saturating_sub(start) as u32,
            limit: limit.min(page_sectors) as u32,
            page_sectors: page_sectors as u32,
        }
    }

    /// Whether the page is completely inside the command.
    #[inline]
    pub(super) fn covers(&self, command: &HostCommand, page: u32) -> bool {
        let first = u64::from(page) << self.page_shift;
        let limit = command.sector + u64::from(command.sector_count);
        command.sector <= first && first + self.sectors_per_page() <= limit
    }

    /// Whether a `TrimMapped` command would hit something.
    pub(crate) fn hits_mapped(&self, command: &HostCommand) -> bool {
        let buffer = self.buffer.as_deref();
        self.pages(command).map(Lpn).any(|lpn| {
            self.ftl.find(lpn).is_some() || buffer.is_some_and(|buffer| buffer.contains(lpn))
        })
    }

    /// Carries out a command.
    ///
    /// # Errors
    /// [`NoRoom::WornOut`] when a write found no room; the pages before it are written, and the
    /// others do not count as written.
    #[inline]
    pub(crate) fn apply<S: CommandSink>(
        &mut self,
        sink: &mut S,
        command: &HostCommand,
    ) -> Result<(), NoRoom> {
        self.host.count(command);
        if command.op == HostOp::Flush {
            return self.flush(sink);
        }
        if self.ftl.zones().is_some() {
            return self.apply_to_zone(sink, command);
        }
        self.host.fua_writes += u64::from(command.is_fua && command.op == HostOp::Write);
        if self.ftl.traits().tells_requests() {
            self.begin_mapped(sink, command);
        }
        for page in self.pages(command) {
            match command.op {
                HostOp::Write => {
                    let written = self.write_page(sink, command, page);
                    if written.is_err() {
                        self.ftl.set_translated(false);
                        self.refuse(command, page);
                        return written;
                    }
                }
                HostOp::Read => self.read_page(sink, Lpn(page), self.part(command, page)),
                HostOp::Trim | HostOp::TrimMapped => self.trim_page(sink, command, page),
                HostOp::Flush | HostOp::Zone(_) => {}
            }
        }
        self.ftl.set_translated(false);
        if command.is_fua && command.op == HostOp::Write && self.pads {
            self.pages(command)
                .for_each(|page| self.ftl.complete(sink, Pending::UnitsBehind(Lpn(page))));
        }
        Ok(())
    }

    /// The write of `page` was refused, and with it the rest of the command.
    #[cold]
    pub(super) fn refuse(&mut self, command: &HostCommand, page: u32) {
        self.host.refused_page_writes += 1;
        let limit = command.sector + u64::from(command.sector_count);
        let first = (u64::from(page) << self.page_shift).max(command.sector);
        self.host.sectors[HostOp::Write.index()] -= limit - first;
        self.host.asides.refuse(command, limit - first);
    }

    /// Whether a command is a write that starts right after a page.
    #[inline]
    pub(crate) fn follows(&self, command: &HostCommand, page: Lpn) -> bool {
        command.op == HostOp::Write && command.sector == (u64::from(page.0) + 1) << self.page_shift
    }

    /// Carries out writes that [`Front::run_length`] found to be a run, for sinks without time.
    ///
    /// # Errors
    /// [`NoRoom::WornOut`] when a pool found no room.
    pub(crate) fn apply_run<S: CommandSink>(
        &mut self,
        sink: &mut S,
        commands: &[HostCommand],
        page_count: u32,
    ) -> Result<(), NoRoom> {
        if self.ftl.traits().tells_requests() {
            return commands.iter().try_for_each(|command| self.apply(sink, command));
        }
        let first = self.first_page(&commands[0]);
        let written = self.ftl.figures().counters().programs[Source::Host as usize];
        let outcome = self.ftl.write_run(sink, first, page_count);
        let written = self.ftl.figures().counters().programs[Source::Host as usize] - written;
        self.count_run(commands.len() as u64, u64::from(page_count), written);
        outcome
    }

    /// Counts commands that were carried out as a run and wrote `written` of `pages` pages. Like
    /// single writes, it ends at the page that is refused: commands behind that never came.
    pub(crate) fn count_run(&mut self, commands: u64, pages: u64, written: u64) {
        let came = pages.min(written + 1);
        self.host.commands[1] += (commands * came).div_ceil(pages.max(1));
        self.host.sectors[1] += written << self.page_shift;
        self.host.page_writes += came;
        self.host.rejected_pages += came - written;
        self.host.refused_page_writes += came - written;
    }

    #[inline]
    pub(super) fn write_page<S: CommandSink>(
        &mut self,
        sink: &mut S,
        command: &HostCommand,
        page: u32,
    ) -> Result<(), NoRoom> {
        let lpn = Lpn(page);
        self.host.page_writes += 1;
        if self.is_plain {
            if !self.covers(command, page) {
                self.ftl.read(sink, lpn, Source::Merge);
            }
            return self.program_page(sink, lpn);
        }
        self.note_id(command, lpn);
        self.write_cached_page(sink, lpn, self.part(command, page), command.is_fua)
    }

    #[inline]
    pub(super) fn program_page<S: CommandSink>(
        &mut self,
        sink: &mut S,
        lpn: Lpn,
    ) -> Result<(), NoRoom> {
        self.tell_id(lpn);
        let outcome = self.ftl.write(sink, lpn);
        match outcome {
            Ok(()) => {}
            Err(NoRoom::Stalled(die)) => {
                sink.stalled(die, lpn);
                return Ok(());
            }
            Err(NoRoom::WornOut) => self.host.rejected_pages += 1,
        }
        outcome
    }

    #[inline]
    pub(crate) fn read_page<S: CommandSink>(&mut self, sink: &mut S, lpn: Lpn, part: Part) {
        if !self.is_plain {
            return self.read_cached_page(sink, lpn, part);
        }
        if !self.fetch_page(sink, lpn) {
            self.host.unmapped_read_pages += 1;
        }
    }

    /// Reads a page from the flash, or takes it from the pages that were read ahead; false if there
    /// is none.
    #[inline]
    fn fetch_page<S: CommandSink>(&mut self, sink: &mut S, lpn: Lpn) -> bool {
        let is_ahead = sink.takes_ahead(lpn);
        self.host.ahead_hits += u64::from(is_ahead);
        is_ahead || self.ftl.read(sink, lpn, Source::Host)
    }

    /// Whether there is a copy of a page, or of a part of it, in memory.
    pub(crate) fn holds_in_memory(&self, lpn: Lpn) -> bool {
        self.buffer.as_deref().is_some_and(|buffer| buffer.contains(lpn))
            || self.clean.as_deref().is_some_and(|clean| clean.holds(lpn))
    }

    /// Reads a page ahead of the host, unless there is a copy of it, or a part, in memory.
    pub(crate) fn read_page_ahead<S: CommandSink>(&mut self, sink: &mut S, lpn: Lpn) {
        let is_read = !self.holds_in_memory(lpn) && self.ftl.read(sink, lpn, Source::Host);
        self.host.ahead_pages += u64::from(is_read);
    }

    /// Reads a page of a drive with a write buffer or a cache.
    fn read_cached_page<S: CommandSink>(&mut self, sink: &mut S, lpn: Lpn, part: Part) {
        let waiting = self.buffer.as_deref().map_or(Found::None, |buffer| buffer.find(lpn, part));
        if waiting == Found::Some {
            // The rest is on the flash, or was never written.
            let is_read = self.ftl.read(sink, lpn, Source::Host);
            self.host.buffer_read_pages += u64::from(!is_read);
            return;
        }
        if self.is_in_memory(lpn, waiting == Found::All) {
            return;
        }
        if !self.fetch_page(sink, lpn) {
            self.host.unmapped_read_pages += 1;
        } else if let Some(clean) = self.clean.as_deref_mut() {
            clean.note_read(lpn);
        }
    }

    /// Whether the memory of the drive serves a read.
    fn is_in_memory(&mut self, lpn: Lpn, is_waiting: bool) -> bool {
        let clean = self.clean.as_deref_mut().filter(|_| !is_waiting);
        let copied = clean.and_then(|clean| clean.find(lpn));
        let is_written = is_waiting || copied == Some(Copied::WhenWritten);
        self.host.buffer_read_pages += u64::from(is_written);
        self.host.read_cache_hits += u64::from(copied == Some(Copied::WhenRead));
        is_waiting || copied.is_some()
    }

    fn trim_page<S: CommandSink>(&mut self, sink: &mut S, command: &HostCommand, page: u32) {
        if self.covers(command, page) {
            if self.buffer.as_deref_mut().is_some_and(|buffer| buffer.trim(Lpn(page))) {
                self.host.buffer_trimmed_pages += 1;
            }
            if let Some(clean) = self.clean.as_deref_mut() {
                clean.note_trim(Lpn(page));
            }
            self.ftl.trim(sink, Lpn(page));
        }
    }
}
