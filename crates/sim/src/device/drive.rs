//! The drive: media, firmware, write buffer and read-error accounting, and what one host command
//! does to them.
//!
//! A command is cut into pages. Writes smaller than a page read the rest of it first (`merge`);
//! trims take effect on whole pages only. The text is generic over the sink, so both executors do
//! the same.

use super::backend::Observation;
use super::config::DeviceConfig;
use crate::controller::ecc::ReadErrors;
use crate::ftl::buffer::{Offer, WriteBuffer};
use crate::ftl::{FlashSink, Ftl, WornOut};
use crate::geometry::Geometry;
use crate::nand::Media;
use crate::op::{HostCommand, HostOp, Source};
use crate::units::{Lpn, SECTOR_BYTES};

/// What the host asked for so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Commands started, by read, write, trim.
    pub commands: [u64; 3],
    /// Sectors read, written and trimmed.
    pub sectors: [u64; 3],
    /// Pages that writes touched.
    pub page_writes: u64,
    /// Page writes that the write buffer absorbed.
    pub absorbed_pages: u64,
    /// Pages that were trimmed while they waited in the write buffer.
    pub buffer_trimmed_pages: u64,
    /// Page reads served by the write buffer.
    pub buffer_read_pages: u64,
    /// Page reads of logical pages that hold nothing.
    pub unmapped_read_pages: u64,
    /// Trims that never found a mapped page.
    pub missed_trims: u64,
    /// Page writes that failed because the drive is worn out.
    pub rejected_pages: u64,
}

/// Index of an operation in [`HostCounters`].
pub fn op_index(op: HostOp) -> usize {
    match op {
        HostOp::Read => 0,
        HostOp::Write => 1,
        HostOp::Trim | HostOp::TrimMapped => 2,
    }
}

/// What a sink learns beside flash operations, for commands that wait.
pub trait CommandSink: FlashSink {
    /// The next program empties a slot of the write buffer, and no command waits for it.
    fn flush_next(&mut self);
    /// A page was taken by the write buffer, in which `waiting` pages wait now.
    fn buffered(&mut self, waiting: usize);
}

/// A drive at rest.
pub struct Drive {
    pub(crate) config: DeviceConfig,
    /// The seed that it was made with.
    pub(crate) seed: u64,
    pub(crate) geometry: Geometry,
    pub(crate) media: Media,
    pub(crate) ftl: Ftl,
    pub(crate) errors: ReadErrors,
    pub(crate) buffer: Option<WriteBuffer>,
    pub(crate) host: HostCounters,
    /// A write failed because a pool is worn out.
    pub(crate) is_worn_out: bool,
    /// What the measured stage watches.
    pub(crate) observation: Observation,
}

impl Drive {
    /// A drive fresh from the factory.
    pub fn new(config: DeviceConfig, seed: u64) -> Self {
        let setup = config.pool_setup(seed);
        let bad = config.nand.bad_blocks_per_die(&setup.geometry);
        let media = Media::new(setup.geometry, &bad, seed);
        let ftl = Ftl::new(&config.ftl, &setup, &media);
        Self::assemble(config, media, ftl, seed)
    }

    /// A drive of its parts.
    pub(crate) fn assemble(config: DeviceConfig, media: Media, ftl: Ftl, seed: u64) -> Self {
        let pages = config.ftl.write_buffer_pages;
        Self {
            geometry: config.geometry(),
            errors: config.read_errors(seed).expect("resolve has checked the code"),
            buffer: (pages > 0).then(|| WriteBuffer::new(pages)),
            host: HostCounters::default(),
            is_worn_out: false,
            observation: Observation::default(),
            seed,
            config,
            media,
            ftl,
        }
    }

    /// The parts that flash operations go to, and the rest.
    pub(crate) fn split(&mut self) -> (Front<'_>, &mut Media, &mut ReadErrors) {
        let front = Front {
            ftl: &mut self.ftl,
            buffer: self.buffer.as_mut(),
            host: &mut self.host,
            sectors_per_page: self.geometry.page_bytes / SECTOR_BYTES,
        };
        (front, &mut self.media, &mut self.errors)
    }

    /// Asks for the L2P entry of a coming command's first page.
    #[inline]
    pub(crate) fn prefetch_entry(&self, coming: &HostCommand) {
        self.ftl.prefetch_entry(self.first_page(coming));
    }

    /// Asks for what the L2P entry of a coming command's first page points at.
    #[inline]
    pub(crate) fn prefetch_page(&self, coming: &HostCommand) {
        self.ftl.prefetch_page(self.first_page(coming));
    }

    fn first_page(&self, command: &HostCommand) -> Lpn {
        let shift = (self.geometry.page_bytes / SECTOR_BYTES).trailing_zeros();
        Lpn((command.sector >> shift) as u32)
    }

    /// Pages that wait in the write buffer.
    pub fn buffered_pages(&self) -> usize {
        self.buffer.as_ref().map_or(0, WriteBuffer::len)
    }
}

/// The volatile half of a drive, for the length of a slice.
pub(crate) struct Front<'a> {
    pub(crate) ftl: &'a mut Ftl,
    pub(crate) buffer: Option<&'a mut WriteBuffer>,
    pub(crate) host: &'a mut HostCounters,
    sectors_per_page: u64,
}

impl Front<'_> {
    /// First page of a command, and the page after its last.
    #[inline]
    fn pages(&self, command: &HostCommand) -> std::ops::Range<u32> {
        let limit = command.sector + u64::from(command.sector_count);
        let first = command.sector / self.sectors_per_page;
        first as u32..limit.div_ceil(self.sectors_per_page) as u32
    }

    /// Whether the page lies wholly inside the command.
    #[inline]
    fn covers(&self, command: &HostCommand, page: u32) -> bool {
        let first = u64::from(page) * self.sectors_per_page;
        let limit = command.sector + u64::from(command.sector_count);
        command.sector <= first && first + self.sectors_per_page <= limit
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
    /// [`WornOut`] when a write found no room; the pages before it are written.
    #[inline]
    pub(crate) fn apply<S: CommandSink>(
        &mut self,
        sink: &mut S,
        command: &HostCommand,
    ) -> Result<(), WornOut> {
        let index = op_index(command.op);
        self.host.commands[index] += 1;
        self.host.sectors[index] += u64::from(command.sector_count);
        for page in self.pages(command) {
            match command.op {
                HostOp::Write => self.write_page(sink, command, page)?,
                HostOp::Read => self.read_page(sink, Lpn(page)),
                HostOp::Trim | HostOp::TrimMapped => self.trim_page(command, page),
            }
        }
        Ok(())
    }

    /// Lists the pages of the single-page writes at the head of `commands`, up to the first command
    /// that is none, or that goes on where the one before ended.
    #[inline]
    pub(crate) fn single_pages(&self, commands: &[HostCommand], lpns: &mut Vec<u32>) {
        lpns.clear();
        if self.buffer.is_some() {
            return;
        }
        let shift = self.sectors_per_page.trailing_zeros();
        let mut follower = u64::MAX;
        for command in commands {
            let is_single = command.op == HostOp::Write
                && u64::from(command.sector_count) == self.sectors_per_page
                && command.sector & (self.sectors_per_page - 1) == 0
                && command.sector != follower;
            if !is_single {
                return;
            }
            follower = command.sector + self.sectors_per_page;
            lpns.push((command.sector >> shift) as u32);
        }
    }

    /// Counts single-page writes that were carried out.
    pub(crate) fn count_singles(&mut self, count: u64) {
        self.host.commands[1] += count;
        self.host.sectors[1] += count * self.sectors_per_page;
        self.host.page_writes += count;
    }

    /// Pages of the whole-page writes at the head of `commands` that follow each other without a
    /// gap, and how many commands they are; `(0, 0)` when one of the buffer, the first command or
    /// its alignment forbids it.
    #[inline]
    pub(crate) fn run_length(&self, commands: &[HostCommand]) -> (u32, usize) {
        let (mut sectors, mut count) = (0, 0);
        let first = commands[0].sector;
        for command in commands {
            let fits = command.op == HostOp::Write
                && command.sector == first + sectors
                && command.sector.is_multiple_of(self.sectors_per_page)
                && u64::from(command.sector_count).is_multiple_of(self.sectors_per_page)
                && self.buffer.is_none();
            if !fits {
                break;
            }
            sectors += u64::from(command.sector_count);
            count += 1;
        }
        // A chunk of commands is far below 2^32 pages.
        ((sectors / self.sectors_per_page) as u32, count)
    }

    /// Carries out writes that [`Front::run_length`] found to be a run, for sinks without time.
    ///
    /// # Errors
    /// [`WornOut`] when a pool found no room.
    pub(crate) fn apply_run<S: CommandSink>(
        &mut self,
        sink: &mut S,
        commands: &[HostCommand],
        page_count: u32,
    ) -> Result<(), WornOut> {
        let first = Lpn((commands[0].sector / self.sectors_per_page) as u32);
        let written = self.ftl.counters().programs[Source::Host as usize];
        let outcome = self.ftl.write_run(sink, first, page_count);
        let written = self.ftl.counters().programs[Source::Host as usize] - written;
        self.host.commands[1] += commands.len() as u64;
        self.host.sectors[1] += u64::from(page_count) * self.sectors_per_page;
        self.host.page_writes += u64::from(page_count);
        self.host.rejected_pages += u64::from(page_count) - written;
        outcome
    }

    #[inline]
    fn write_page<S: CommandSink>(
        &mut self,
        sink: &mut S,
        command: &HostCommand,
        page: u32,
    ) -> Result<(), WornOut> {
        let lpn = Lpn(page);
        self.host.page_writes += 1;
        let Some(buffer) = self.buffer.as_deref_mut() else {
            if !self.covers(command, page) {
                self.ftl.read(sink, lpn, Source::Merge);
            }
            return self.program_page(sink, lpn);
        };
        let is_here = buffer.contains(lpn);
        let offer = buffer.offer(lpn);
        let waiting = buffer.len();
        if !is_here && !self.covers(command, page) {
            self.ftl.read(sink, lpn, Source::Merge);
        }
        match offer {
            Offer::Absorbed => self.host.absorbed_pages += 1,
            Offer::Kept => {}
            Offer::Flush(oldest) => {
                sink.flush_next();
                self.program_page(sink, oldest)?;
            }
        }
        sink.buffered(waiting);
        Ok(())
    }

    #[inline]
    fn program_page<S: CommandSink>(&mut self, sink: &mut S, lpn: Lpn) -> Result<(), WornOut> {
        let outcome = self.ftl.write(sink, lpn);
        self.host.rejected_pages += u64::from(outcome.is_err());
        outcome
    }

    #[inline]
    fn read_page<S: CommandSink>(&mut self, sink: &mut S, lpn: Lpn) {
        if self.buffer.as_deref().is_some_and(|buffer| buffer.contains(lpn)) {
            self.host.buffer_read_pages += 1;
        } else if !self.ftl.read(sink, lpn, Source::Host) {
            self.host.unmapped_read_pages += 1;
        }
    }

    fn trim_page(&mut self, command: &HostCommand, page: u32) {
        if self.covers(command, page) {
            if self.buffer.as_deref_mut().is_some_and(|buffer| buffer.trim(Lpn(page))) {
                self.host.buffer_trimmed_pages += 1;
            }
            self.ftl.trim(Lpn(page));
        }
    }
}
