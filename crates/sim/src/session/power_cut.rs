//! Power cuts: a session ends with the state of the flash, and a mount begins a new one from it.
//!
//! ```text
//! Session ── cut ──► Remains { media }  ── mount ──► Session, MountReport
//!   map, queues, write buffer: gone          newest copies ─► firmware ─► re-erase, relocate,
//!   replay
//! ```
//! [`Remains`] has the media and the data that the drive saved on purpose, so no table of the
//! controller can reach the mount: the type has no place for one. A mount may be cut too
//! ([`Mounting::until`]): it then leaves remains again, from which a further mount finds the same
//! data.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::recovery::note_recovered;
use super::request::Pace;
use super::session::{Carrying, Session};
use crate::config::ConfigError;
use crate::controller::Working;
use crate::drive::{Checkpoint, Counts, Drive, Life, Mounting, Remains};
use crate::ftl::{BlockState, Ftl, Pending, Setting};
use crate::nand::{BlockRest, Contents, Latest, ProgramUnits, Reach, Running, Unit};
use crate::op::Source;
use crate::run::Simulation;
use crate::units::{BlockId, Lpn, Ns};
use crate::untimed::Instant;

/// The work of a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MountReport {
    /// Map units whose out-of-band area was read.
    pub scanned_pages: u64,
    /// Blocks that were erased again.
    pub erased_blocks: u32,
    /// Map units that were programmed: moved, saved ones, collected ones.
    pub programmed_pages: u64,
    /// Steps of the recovery that change the flash.
    pub steps: u32,
    /// Time from power to ready.
    pub time: Ns,
}

/// A mount that was cut, and its remains.
pub struct Interrupted(pub Box<Remains>);

impl Session {
    /// A session whose drive may lose power.
    ///
    /// # Errors
    /// [`ConfigError`] for drives that do not find their data again, and those that no session
    /// takes.
    pub fn cuttable(simulation: Simulation) -> Result<Self, ConfigError> {
        simulation.config().check_cuts()?;
        let mut session = Self::new(simulation, Pace::Untimed)?;
        let geometry = session.drive.geometry;
        session.contents().expect_cuts(&geometry);
        session.drive.ftl.set(Setting::Cuts(true));
        Ok(session)
    }

    /// The remains of a drive that was shut down: no command is running, and nothing in memory is
    /// lost.
    pub fn shut_down(mut self) -> Remains {
        self.settle();
        let (done, life) = (self.counts(), self.life_over_cut(None));
        let mut drive = self.drive;
        if let Some(contents) = &mut drive.media.contents {
            contents.forget(&[]);
        }
        Remains {
            config: drive.config,
            seed: drive.seed,
            media: drive.media,
            half_erased: BTreeSet::new(),
            saved: Vec::new(),
            open_stripes: Vec::new(),
            done,
            life,
        }
    }

    /// The power fails at a time before the next event. Returns the remains, the running
    /// operations, and the units that were in memory or on their way to the flash. Pages that were
    /// being programmed are in the media as if they were complete; the caller decides their state
    /// ([`Remains::contents`]).
    ///
    /// # Panics
    /// Without a clock.
    pub fn cut(mut self, at: Ns) -> (Remains, Vec<Running>, Vec<Unit>) {
        let mut executor = self.executor.take().expect("only a timed session can be cut");
        let cut = executor.clockwork.cut(&self.drive, at);
        let mut in_memory = self.contents().staged_units();
        let (done, life) = (self.counts(), self.life_over_cut(Some(at)));
        let erasing = self.erasing(at);
        let mut drive = self.drive;
        let running: Vec<Running> =
            cut.running.iter().filter_map(|it| drive.media.of_ftl(it)).collect();
        let open_stripes = open_stripes(&drive, &cut.rests);
        drive.media.roll_back(&cut.rests, &running, &mut in_memory);
        let remains = Remains {
            half_erased: &drive.media.half_erased(&cut.rests, &running) | &erasing,
            config: drive.config,
            seed: drive.seed,
            media: drive.media,
            saved: Vec::new(),
            open_stripes,
            done,
            life,
        };
        (remains, running, in_memory)
    }

    /// Contents of a checkpoint that begins now: only copies that are on the flash already, and
    /// stay there.
    pub fn checkpoint(&self) -> Checkpoint {
        let (Some(contents), Some(executor)) = (&self.drive.media.contents, &self.executor) else {
            return Checkpoint { latest: Arc::default(), since: 0 };
        };
        let media = &self.drive.media;
        let rests = executor.clockwork.rests(&self.drive);
        let reach = Reach::new(&rests, media.superblocks());
        let mut latest = vec![Latest::default(); self.logical_pages() as usize];
        let places: Vec<u32> = self.drive.ftl.figures().places().collect();
        contents.latest_durable(&mut latest, &places, &reach, &media.modes);
        Checkpoint { latest: Arc::new(latest), since: self.unchanged_since(contents, &reach) }
    }

    /// The checkpoint that the mount has written.
    pub fn mounted_checkpoint(&self) -> Checkpoint {
        self.mounted.clone()
    }

    /// The highest number of an opening such that blocks opened up to it stay unchanged until they
    /// are erased.
    fn unchanged_since(&self, contents: &Contents, reach: &Reach) -> u64 {
        let media = &self.drive.media;
        let changes = |&block: &BlockId| {
            let reach = reach.of(block);
            let is_open = self.drive.ftl.block(block).state() == BlockState::Open;
            let written = self.drive.ftl.block(block).written_pages();
            is_open
                || reach.is_mixed
                || reach.erases_waiting > 0
                || !reach.has_all(written, media.mode(block))
        };
        let changing = (0..self.drive.geometry.block_count()).map(BlockId).filter(changes);
        let first =
            changing.filter_map(|block| contents.opening_on_flash(block, reach.of(block))).min();
        first.map_or(contents.openings(), |opening| opening - 1)
    }

    /// The present work of the dies.
    pub fn working(&self) -> Working {
        self.executor.as_ref().map_or_else(Working::default, |it| it.clockwork.backend.working())
    }

    /// The place of a page in the map: block and page index.
    pub fn place_of(&self, lpn: Lpn) -> Option<(BlockId, u32)> {
        self.place(lpn)
    }

    /// The unit at a page of the flash.
    pub fn lies_at(&self, block: BlockId, index: u32) -> Option<&Unit> {
        self.drive.media.contents.as_ref()?.at(block, index)
    }

    /// Operations against the rules of the flash since the mount.
    pub fn broken_rules(&self) -> u64 {
        self.executor.as_ref().map_or(0, |it| it.violations().0)
    }

    /// Whether a page holds anything, or is about to.
    pub fn holds(&self, lpn: Lpn) -> bool {
        let contents = self.drive.media.contents.as_ref();
        self.place(lpn).is_some() || contents.is_some_and(|it| it.is_staged(lpn))
    }

    /// The unit at the place of a page in the map.
    #[inline]
    pub fn found(&self, lpn: Lpn) -> Option<&Unit> {
        let (block, index) = self.place(lpn)?;
        self.lies_at(block, index)
    }

    /// Number of writes of a page: the version of the newest.
    pub fn version(&self, lpn: Lpn) -> u32 {
        self.drive.media.contents.as_ref().map_or(0, |contents| contents.version_of(lpn))
    }

    /// Pages whose newest data is in memory alone.
    pub fn staged_pages(&self) -> usize {
        self.drive.media.contents.as_ref().map_or(0, |contents| contents.staged_count())
    }

    /// Pages that the write buffer holds.
    pub fn memory_pages(&self) -> usize {
        self.drive.buffer_capacity()
    }

    /// By logical page, the version of its newest write or trim, and whether it holds data.
    ///
    /// # Panics
    /// Never: a session has contents.
    pub fn known(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        self.drive.media.contents.as_ref().expect("a session has contents").known()
    }

    /// Logical pages of the drive.
    pub fn logical_pages(&self) -> u32 {
        self.drive.ftl.figures().logical_pages()
    }

    /// Number of block openings.
    pub fn openings(&self) -> u64 {
        self.drive.media.contents.as_ref().map_or(0, |contents| contents.openings())
    }

    /// Pages programmed by the flash, for any purpose.
    pub fn programmed(&self) -> u64 {
        self.drive.ftl.figures().counters().programs.iter().sum()
    }

    /// Pages programmed for the host.
    pub fn host_programs(&self) -> u64 {
        self.drive.ftl.figures().counters().programs[Source::Host as usize]
    }

    /// Checks that all tables of the firmware agree with each other and with the flash.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit_tables(&self) -> Result<(), String> {
        self.drive.ftl.audit(&self.drive.media)
    }
}

impl Remains {
    /// Mounts the drive: finds its data on the flash and recovers.
    ///
    /// # Errors
    /// [`Interrupted`] if the power failed again during the mount.
    pub fn mount(mut self, mounting: &Mounting) -> Result<(Session, MountReport), Interrupted> {
        let mut report = MountReport::default();
        let mut left = mounting.until.unwrap_or(u32::MAX);
        let mut may_continue = |report: &mut MountReport| {
            report.steps += 1;
            left = left.wrapping_sub(1);
            left != u32::MAX || mounting.until.is_none()
        };
        // Data left by an interrupted erase is of no use.
        let reuses = self.reuses_half_erased();
        for block in std::mem::take(&mut self.half_erased) {
            if reuses {
                self.media.carry_erase(BlockId(block));
                self.media.erase(BlockId(block));
                self.media.mark_half_erased(BlockId(block));
                continue;
            }
            if !may_continue(&mut report) {
                self.half_erased.insert(block);
                return Err(Interrupted(Box::new(self)));
            }
            self.media.carry_erase(BlockId(block));
            self.media.erase(BlockId(block));
            report.erased_blocks += 1;
        }
        let setup = self.config.pool_setup(self.seed);
        let geometry = setup.geometry;
        let checkpoint = mounting.checkpoint.as_deref();
        let mut latest = self.latest_without_trimmed(setup.logical_pages, mounting);
        let again = self.written_again(&latest, mounting);
        let blocks = (0..geometry.block_count()).map(BlockId);
        let held = self.held();
        report.scanned_pages = blocks
            .filter(|&block| held.is_written(block))
            .map(|block| match checkpoint {
                // The first page records when the block was opened.
                Some(it) if held.opening(block) <= it.since => 1,
                _ => u64::from(geometry.pages_per_block),
            })
            .sum();
        let (saved, done, life) = (self.saved, self.done, self.life);
        let mut contents = self.media.contents.take().expect("a drive that was cut has contents");
        let blocks = (0..geometry.block_count()).map(BlockId);
        let opening = |block| contents.is_written(block).then(|| contents.opening(block));
        let openings: Vec<Option<u64>> = blocks.map(opening).collect();
        let mut versions_given = std::borrow::Cow::from(&mounting.versions);
        if versions_given.is_empty() {
            versions_given = vec![0; latest.len()].into();
        }
        contents.remember(&latest, &versions_given, &geometry);
        let places = latest.iter().map(|it| it.place);
        let opening = |block: BlockId| openings[block.0 as usize];
        let ftl = Ftl::mount(&self.config.ftl, &setup, &self.media, places, opening);
        contents.note_programmed();
        self.media.contents = Some(contents);
        let mut drive = Drive::assemble(self.config, self.media, ftl, self.seed);
        drive.errors.begin_at(drive.media.erase_count_min());
        let before = programs(&drive);
        for unit in again {
            if !may_continue(&mut report) {
                return Err(Interrupted(Box::new(of_drive(
                    (drive, life),
                    saved,
                    self.open_stripes,
                    done,
                ))));
            }
            write_again(&mut drive, unit);
        }
        if !may_continue(&mut report) {
            return Err(Interrupted(Box::new(of_drive(
                (drive, life),
                saved,
                self.open_stripes,
                done,
            ))));
        }
        let (front, media, errors) = drive.split();
        let mut sink = Instant { media, reader: Carrying(errors) };
        front.ftl.complete(&mut sink, Pending::Room);
        front.ftl.complete(&mut sink, Pending::AllUnits);
        // Saved units that were not needed are released.
        drive.media.contents.iter_mut().for_each(|contents| contents.recount(&[]));
        report.programmed_pages = programs(&drive) - before;
        report.time = mount_time(&drive, &setup.units, &report);
        // Before the session begins: collections in steps move pages at once, and those copies are
        // not on the flash yet.
        note_recovered(&mut drive, &mut latest);
        let mounted = Checkpoint { latest: Arc::new(latest), since: settled_since(&drive) };
        let mut session = Session::of_drive(drive, Pace::Timed);
        session.mounted = mounted;
        session.count_on(done);
        session.continue_life(life);
        Ok((session, report))
    }
}

/// The same number as `unchanged_since`, for a drive whose dies rest.
pub(super) fn settled_since(drive: &Drive) -> u64 {
    let Some(contents) = &drive.media.contents else { return 0 };
    let open = |&block: &BlockId| drive.ftl.block(block).state() == BlockState::Open;
    let blocks = (0..drive.geometry.block_count()).map(BlockId).filter(open);
    let first = blocks.filter(|&block| contents.is_written(block));
    let first = first.map(|block| contents.opening(block)).min();
    first.map_or(contents.openings(), |opening| opening - 1)
}

fn programs(drive: &Drive) -> u64 {
    drive.ftl.figures().counters().programs.iter().sum()
}

/// With parity, the blocks that are not complete on the flash, each with the start of its
/// incomplete stripe.
fn open_stripes(drive: &Drive, rests: &[BlockRest]) -> Vec<(BlockId, u32)> {
    let parity = &drive.config.ftl.parity;
    if parity.is_none() {
        return Vec::new();
    }
    let (media, geometry) = (&drive.media, drive.geometry);
    let reach = Reach::new(rests, media.superblocks());
    let start = |block: BlockId, index: u32| {
        if let Some(members) = media.superblocks() {
            return index - index % members.shape().row_slots();
        }
        let stripe = drive.ftl.block(block).stripe_of(media, index);
        stripe.map_or(index, |stripe| stripe.start)
    };
    let blocks = (0..geometry.block_count()).map(BlockId);
    let found = blocks.filter_map(|block| {
        let (reach, mode) = (reach.of(block), media.mode(block));
        if !reach.is_touched() || reach.has_all(geometry.pages_per_block, mode) {
            return None;
        }
        let first = (0..geometry.pages_per_block).find(|&index| !reach.has(index, mode))?;
        Some((block, start(block, first)))
    });
    found.collect()
}

/// Takes data to the flash at a new place, without time.
fn write_again(drive: &mut Drive, unit: Unit) {
    let lpn = Lpn(unit.lpn);
    drive.media.contents.as_mut().expect("it is mounted").stage_again(unit);
    let (front, media, errors) = drive.split();
    // A drive that is worn out keeps the old place.
    let _ = front.ftl.write(&mut Instant { media, reader: Carrying(errors) }, lpn);
}

/// The remains of an interrupted mount.
fn of_drive(
    (drive, life): (Drive, Life),
    saved: Vec<Unit>,
    open_stripes: Vec<(BlockId, u32)>,
    done: Counts,
) -> Remains {
    let (config, seed, mut media) = (drive.config, drive.seed, drive.media);
    if let Some(contents) = &mut media.contents {
        contents.forget(&saved);
    }
    let half_erased = BTreeSet::new();
    Remains { config, seed, media, half_erased, saved, open_stripes, done, life }
}

/// Time from power to ready: dies read their pages in parallel. A page of the flash has the
/// out-of-band data of all its units, joined planes are sensed together, and a program takes the
/// units of one program unit.
fn mount_time(drive: &Drive, units: &ProgramUnits, report: &MountReport) -> Ns {
    let (timing, flash) = (drive.config.flash().timing(), drive.config.flash_geometry());
    let mean = |times: &[Ns]| times.iter().map(|time| time.0).sum::<u64>() / times.len() as u64;
    let pages_of = |slots: u64| slots.div_ceil(flash.units_per_page.into());
    let senses = pages_of(report.scanned_pages).div_ceil(flash.plane_count.into());
    let (first, limit) = units.span(0, false);
    let programs = report.programmed_pages.div_ceil(u64::from(limit - first));
    let transfers = pages_of(report.scanned_pages) + pages_of(report.programmed_pages);
    let members = u64::from(flash.die_count / drive.geometry.die_count);
    let work = senses * mean(&timing.read)
        + programs * mean(&timing.program)
        + transfers * timing.transfer.0
        + u64::from(report.erased_blocks) * members * timing.erase.0;
    Ns(work / u64::from(flash.die_count))
}
