//! The power fails, and comes back: a session ends as what the flash holds, and begins again from
//! it.
//!
//! ```text
//! Session ── cut ──► Remains { media }  ── mount ──► Session, MountReport
//!   map, queues, write buffer: gone          newest copies ─► firmware ─► re-erase, relocate,
//!   replay
//! ```
//! [`Remains`] has the media and what the drive saved on purpose, so no table of the controller can
//! reach the mount: the type has no place for one. A mount may be cut too ([`Mounting::until`]): it
//! then leaves remains again, from which a further mount finds the same data.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::config::DeviceConfig;
use super::drive::Drive;
use super::instant::Instant;
use super::request::Pace;
use super::session::{Carrying, Session};
use super::simulation::Simulation;
use crate::config::ConfigError;
use crate::controller::Working;
use crate::ftl::{BlockState, Ftl};
use crate::nand::{BlockRest, Contents, Latest, Media, ProgramUnits, Running, Unit};
use crate::op::Source;
use crate::units::{BlockId, Lpn, Ns, Ppn};

/// What is left of a drive without power.
#[derive(Clone)]
pub struct Remains {
    config: DeviceConfig,
    seed: u64,
    media: Media,
    /// Blocks whose erase was interrupted: nothing in them can be read.
    pub half_erased: BTreeSet<u32>,
    /// What was saved while the capacitors lasted.
    pub saved: Vec<Unit>,
}

/// What a mount is to do.
#[derive(Clone, Debug, Default)]
pub struct Mounting {
    /// By logical page, the version of its last trim that was recorded for good; empty: none.
    pub trims: Vec<u32>,
    /// What tells of the blocks that were opened before it: only the others are looked at page by
    /// page. `None`: all are.
    pub checkpoint: Option<Arc<Checkpoint>>,
    /// By logical page, the highest version that was given out, as the sequence number in the root
    /// tells; empty: none.
    pub versions: Vec<u32>,
    /// Logical pages whose data is moved, since it lies beside an interrupted program.
    pub suspects: Vec<Lpn>,
    /// The power fails again at this step of the recovery, from 0.
    pub until: Option<u32>,
}

/// Where the drive had its pages, as it noted on the flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// By logical page.
    latest: Vec<Latest>,
    /// Blocks that were opened later than this, by the number of their opening, are not in it.
    since: u64,
}

/// What a mount did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MountReport {
    /// Pages whose out-of-band area was read.
    pub scanned_pages: u64,
    /// Blocks that were erased again.
    pub erased_blocks: u32,
    /// Pages that were programmed: moved, saved ones, collected ones.
    pub programmed_pages: u64,
    /// Steps of the recovery that change the flash.
    pub steps: u32,
    /// Time from power to ready.
    pub time: Ns,
}

/// A mount that was cut, and what it left.
pub struct Interrupted(pub Box<Remains>);

impl DeviceConfig {
    /// Whether a drive of this file can be cut from power.
    ///
    /// # Errors
    /// The key that forbids it, and why.
    pub fn check_cuts(&self) -> Result<(), ConfigError> {
        self.ftl.check_mounts().map_err(|error| error.under("ftl"))?;
        let units = ProgramUnits::new(self.flash_geometry(), &self.flash());
        if units.stages(false) {
            let message = "pages of a collection wait in memory for the rest of their program \
                           unit while their block is erased, so it cannot be cut from power here: \
                           program page by page, and map no units below a page";
            return Err(ConfigError::new("nand.program", message));
        }
        if self.nand.failures.is_some() {
            let message = "blocks that fail are not told from interrupted ones after a cut";
            return Err(ConfigError::new("nand.failures", message));
        }
        Ok(())
    }
}

impl Session {
    /// A session whose drive may lose power.
    ///
    /// # Errors
    /// [`ConfigError`] for drives that do not find their data again, and those that no session
    /// takes.
    pub fn cuttable(simulation: Simulation) -> Result<Self, ConfigError> {
        simulation.config().check_cuts()?;
        let mut session = Self::new(simulation, Pace::Untimed)?;
        let pages = session.drive.geometry.pages_per_block;
        session.contents().expect_cuts(pages);
        Ok(session)
    }

    /// What remains when the power fails while nothing is under way, and nothing in memory is
    /// lost: the drive was shut down.
    pub fn shut_down(mut self) -> Remains {
        self.settle();
        let mut drive = self.drive;
        if let Some(contents) = &mut drive.media.contents {
            contents.forget();
        }
        Remains {
            config: drive.config,
            seed: drive.seed,
            media: drive.media,
            half_erased: BTreeSet::new(),
            saved: Vec::new(),
        }
    }

    /// The power fails at a time before the next event. Returns what remains, with what was under
    /// way; the pages that were being programmed are in the media as if they were whole, and it is
    /// for the caller to say what became of them ([`Remains::contents`]). Beside, the units that
    /// memory held: also those on their way to the flash.
    ///
    /// # Panics
    /// Without a clock.
    pub fn cut(mut self, at: Ns) -> (Remains, Vec<Running>, Vec<Unit>) {
        let mut stage = self.stage.take().expect("only what takes time can be interrupted");
        let now = at.max(stage.engine.now());
        let mut events = Vec::new();
        while let Some(code) = stage.engine.take() {
            events.push((stage.engine.now(), code));
        }
        let cut = stage.backend.cut(&self.drive, &events, now);
        let mut in_memory = self.contents().staged_units();
        let mut drive = self.drive;
        in_memory.extend(drive.media.roll_back(&cut.rests, &cut.running));
        let erased = cut.running.iter().filter(|it| it.pages.is_none() && it.fraction > 0.0);
        let remains = Remains {
            half_erased: erased.map(|it| it.block.0).collect(),
            config: drive.config,
            seed: drive.seed,
            media: drive.media,
            saved: Vec::new(),
        };
        (remains, cut.running, in_memory)
    }

    /// What a checkpoint that begins now holds: only what is on the flash already. Of a page whose
    /// newest copy was made since the mount, that; and beside it the one that the mount found, from
    /// which a copy may be on its way. Further copies of the same version are dead, and may be
    /// erased at any time.
    pub fn checkpoint(&self) -> Checkpoint {
        let Some((contents, stage)) = self.drive.media.contents.as_ref().zip(self.stage.as_ref())
        else {
            return Checkpoint { latest: Vec::new(), since: 0 };
        };
        let rests = stage.backend.cut(&self.drive, &[], stage.engine.now()).rests;
        let mut latest = vec![Latest::default(); self.logical_pages() as usize];
        contents.latest_durable(&mut latest, &rests);
        for (it, &mounted) in latest.iter_mut().zip(&self.mounted) {
            it.other = mounted;
        }
        let pages = self.drive.geometry.pages_per_block;
        let blocks = (0..).map(BlockId).zip(&rests);
        let changes = |&(block, rest): &(BlockId, &BlockRest)| {
            let is_open = self.drive.ftl.state(block) == BlockState::Open;
            is_open || rest.erases_waiting > 0 || rest.programmed < pages
        };
        let changing = blocks.filter(changes);
        let first =
            changing.filter_map(|(block, &rest)| contents.opening_on_flash(block, rest)).min();
        Checkpoint { latest, since: first.map_or(contents.openings(), |opening| opening - 1) }
    }

    /// What the dies are doing now.
    pub fn working(&self) -> Working {
        self.stage.as_ref().map_or_else(Working::default, |stage| stage.backend.working())
    }

    /// The newest copies that are on the flash now, as a mount would find them if the power failed:
    /// what a checkpoint holds.
    pub fn place_of(&self, lpn: Lpn) -> Option<(BlockId, u32)> {
        self.place(lpn)
    }

    /// What lies where the map has a page, as it is.
    pub fn lies_at(&self, block: BlockId, index: u32) -> Option<&Unit> {
        self.drive.media.contents.as_ref()?.at(block, index)
    }

    /// Operations against the rules of the flash since the mount.
    pub fn broken_rules(&self) -> u64 {
        self.stage.as_ref().map_or(0, |stage| stage.violations().0)
    }

    /// Whether a page holds anything, or is about to.
    pub fn holds(&self, lpn: Lpn) -> bool {
        let contents = self.drive.media.contents.as_ref();
        self.place(lpn).is_some() || contents.is_some_and(|it| it.is_staged(lpn))
    }

    /// What the map finds of a page: the unit as it is.
    #[inline]
    pub fn found(&self, lpn: Lpn) -> Option<&Unit> {
        let (block, index) = self.place(lpn)?;
        self.lies_at(block, index)
    }

    /// Writes of a page so far: the version of the newest.
    pub fn version(&self, lpn: Lpn) -> u32 {
        self.drive.media.contents.as_ref().map_or(0, |contents| contents.version_of(lpn))
    }

    /// Pages whose newest data is in memory alone.
    pub fn staged_pages(&self) -> usize {
        self.drive.media.contents.as_ref().map_or(0, |contents| contents.staged_pages().len())
    }

    /// Pages that the write buffer holds.
    pub fn memory_pages(&self) -> usize {
        self.drive.buffer_capacity()
    }

    /// By logical page, the version of its newest write or trim, and whether it holds data.
    pub fn known(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        self.drive.media.contents.iter().flat_map(|contents| contents.known())
    }

    /// Logical pages of the drive.
    pub fn logical_pages(&self) -> u32 {
        self.drive.ftl.logical_pages()
    }

    /// Blocks that were opened so far.
    pub fn openings(&self) -> u64 {
        self.drive.media.contents.as_ref().map_or(0, |contents| contents.openings())
    }

    /// Pages that the flash has programmed so far, for whomever.
    pub fn programmed(&self) -> u64 {
        self.drive.ftl.counters().programs.iter().sum()
    }

    /// Pages that the host has written so far.
    pub fn host_programs(&self) -> u64 {
        self.drive.ftl.counters().programs[Source::Host as usize]
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
    /// What the pages of the flash hold.
    pub fn contents(&mut self) -> &mut Contents {
        self.media.contents.as_mut().expect("a drive that was cut has contents")
    }

    /// The same, to look at.
    pub fn held(&self) -> &Contents {
        self.media.contents.as_ref().expect("a drive that was cut has contents")
    }

    /// The drive.
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    /// Pages of a block.
    pub fn pages_per_block(&self) -> u32 {
        self.media.geometry().pages_per_block
    }

    /// The newest copies of all pages, from a look at every page, or from a checkpoint and at the
    /// pages of the blocks that were opened since.
    pub fn latest(&self, logical_pages: u32, checkpoint: Option<&Checkpoint>) -> Vec<Latest> {
        let held = self.held();
        let mut latest = vec![Latest::default(); logical_pages as usize];
        let Some(checkpoint) = checkpoint else {
            held.latest(&mut latest, |_| true);
            return latest;
        };
        let pages = self.pages_per_block();
        for (lpn, (known, noted)) in latest.iter_mut().zip(&checkpoint.latest).enumerate() {
            for place in [noted.place, noted.other] {
                let Some(at) = place.checked_sub(1) else { continue };
                let (block, index) = (BlockId(at / pages), at % pages);
                // A block that was opened anew holds something else, and one that a cut has hit
                // may.
                let is_old = held.opening(block) <= checkpoint.since;
                let is_it = |unit: &Unit| {
                    unit.lpn as usize == lpn && unit.version == noted.version && !unit.is_lost
                };
                if is_old && held.at(block, index).is_some_and(is_it) {
                    *known = Latest { place, other: 0, ..*noted };
                    break;
                }
            }
        }
        held.latest(&mut latest, |block| held.opening(block) > checkpoint.since);
        latest
    }

    /// The drive comes back.
    ///
    /// # Errors
    /// [`Interrupted`] when the power failed again on the way.
    pub fn mount(mut self, mounting: &Mounting) -> Result<(Session, MountReport), Interrupted> {
        let mut report = MountReport::default();
        let mut left = mounting.until.unwrap_or(u32::MAX);
        let mut goes_on = |report: &mut MountReport| {
            report.steps += 1;
            left = left.wrapping_sub(1);
            left != u32::MAX || mounting.until.is_none()
        };
        // What an interrupted erase has left is of no use to anybody.
        for block in std::mem::take(&mut self.half_erased) {
            if !goes_on(&mut report) {
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
        let mut latest = self.latest(setup.logical_pages, checkpoint);
        let blocks = (0..geometry.block_count()).map(BlockId);
        let held = self.held();
        report.scanned_pages = blocks
            .filter(|&block| held.is_written(block))
            .map(|block| match checkpoint {
                // The first page tells when the block was opened.
                Some(it) if held.opening(block) <= it.since => 1,
                _ => u64::from(geometry.pages_per_block),
            })
            .sum();
        let pages = geometry.pages_per_block;
        let place = |it: &Latest| {
            let place = it.place.checked_sub(1)?;
            let (block, index) = (BlockId(place / pages), place % pages);
            Some(Ppn(geometry.first_page(block).0 + index))
        };
        // What was saved, where the flash has nothing as new.
        let saved = self.saved;
        let newer = |unit: &&Unit| {
            let lpn = unit.lpn as usize;
            let trimmed = mounting.trims.get(lpn).copied().unwrap_or(0);
            unit.version > latest[lpn].version.max(trimmed)
        };
        let newer: Vec<Unit> = saved.iter().filter(newer).cloned().collect();
        let given_out = |lpn: usize| mounting.versions.get(lpn).copied().unwrap_or(0);
        for (lpn, it) in latest.iter_mut().enumerate() {
            let trimmed = mounting.trims.get(lpn).copied().unwrap_or(0);
            if trimmed > it.version {
                *it = Latest { version: trimmed, place: 0, other: 0 };
            }
            match place(it) {
                Some(ppn) => self.media.program(ppn, Lpn(lpn as u32)),
                None => it.version = it.version.max(given_out(lpn)),
            }
        }
        let contents = self.media.contents.as_mut().expect("a drive that was cut has contents");
        contents.remember(&latest);
        let contents = self.media.contents.as_ref().expect("a drive that was cut has contents");
        let places = latest.iter().map(place);
        let is_written = |block| contents.is_written(block);
        let ftl = Ftl::mount(&self.config.ftl, &setup, &self.media, places, is_written);
        let mut drive = Drive::assemble(self.config, self.media, ftl, self.seed);
        let before = programs(&drive);
        // What was saved comes first, and is newer than what would be moved.
        let is_saved = |lpn: Lpn| saved.iter().any(|unit| unit.lpn == lpn.0);
        let suspects = mounting.suspects.iter().filter(|&&lpn| !is_saved(lpn));
        let suspects = suspects.filter_map(|&lpn| {
            let ppn = drive.ftl.find(lpn)?;
            let (block, index) = (geometry.block_of(ppn), geometry.page_index(ppn));
            drive.media.contents.as_ref()?.at(block, index).cloned()
        });
        let again: Vec<Unit> = newer.into_iter().chain(suspects).collect();
        for unit in again {
            if !goes_on(&mut report) {
                return Err(Interrupted(Box::new(of_drive(drive, saved))));
            }
            write_again(&mut drive, unit);
        }
        if !goes_on(&mut report) {
            return Err(Interrupted(Box::new(of_drive(drive, saved))));
        }
        let (front, media, errors) = drive.split();
        front.ftl.catch_up(&mut Instant { media, reader: Carrying(errors) });
        report.programmed_pages = programs(&drive) - before;
        report.time = mount_time(&drive, &report);
        let mut session = Session::of_drive(drive, Pace::Timed);
        session.mounted = (0..setup.logical_pages)
            .map(|lpn| session.place(Lpn(lpn)).map_or(0, |(block, at)| 1 + block.0 * pages + at))
            .collect();
        if let Some(stage) = &mut session.stage {
            stage.backend.keep_order_of_erases();
        }
        Ok((session, report))
    }
}

fn programs(drive: &Drive) -> u64 {
    drive.ftl.counters().programs.iter().sum()
}

/// Takes data to the flash at a new place, without time.
fn write_again(drive: &mut Drive, unit: Unit) {
    let lpn = Lpn(unit.lpn);
    drive.media.contents.as_mut().expect("it is mounted").stage_again(unit);
    let (front, media, errors) = drive.split();
    // A drive that is worn out keeps the old place.
    let _ = front.ftl.write(&mut Instant { media, reader: Carrying(errors) }, lpn);
}

/// What a mount leaves that was interrupted.
fn of_drive(drive: Drive, saved: Vec<Unit>) -> Remains {
    let (config, seed, mut media) = (drive.config, drive.seed, drive.media);
    if let Some(contents) = &mut media.contents {
        contents.forget();
    }
    Remains { config, seed, media, half_erased: BTreeSet::new(), saved }
}

/// From power to ready: dies look at their pages side by side.
fn mount_time(drive: &Drive, report: &MountReport) -> Ns {
    let timing = drive.config.flash().timing();
    let mean = |times: &[Ns]| times.iter().map(|time| time.0).sum::<u64>() / times.len() as u64;
    let (read, program) = (mean(&timing.read), mean(&timing.program));
    let moved = report.programmed_pages * (program + timing.transfer.0);
    let work = report.scanned_pages * (read + timing.transfer.0)
        + moved
        + u64::from(report.erased_blocks) * timing.erase.0;
    Ns(work / u64::from(drive.geometry.die_count))
}
