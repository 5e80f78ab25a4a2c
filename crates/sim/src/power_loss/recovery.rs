//! From a cut to a drive that answers again.
//!
//! ```text
//! interrupted work ───── physics ─► media ─► root? ─► checkpoint, journal, pages since ─► mount
//!                                                          │ false beliefs of weak firmware
//!                                                          ▼
//!                                                      Answers
//! ```
//! Weak options make the drive answer otherwise than the flash would allow: by a journal that names
//! pages which were never programmed, by a record without checksum, by a page half of which is new.
//! These answers are laid over those of the mounted drive, and are gone at the next cut: a campaign
//! counts the effects of each cut, so damage does not pile up and hide later effects. The effects
//! on the flash stay: lost pages, and the marks of pages and blocks with more errors afterwards.

use std::collections::BTreeMap;

use super::check::Reading;
use super::host_log::HostLog;
use super::physics::{damages_earlier, page_after, PageAfter};
use super::records::{Change, Records, Writing};
use super::rig::{pages_saved, Aftermath};
use super::wordlines::passes_of_block;
use crate::drive::{
    Checkpoint, LowerPageBackup, MapOrder, Mounting, PowerLossConfig, Remains, SubpageWrite,
    SuspectPages,
};
use crate::nand::{Running, Unit};
use crate::rng::Rng;
use crate::session::{Found, Interrupted, MapView, MountReport, Session};
use crate::units::{Lpn, Ns};

/// Pages that a record without checksum may name for no reason.
const GARBAGE_TRIMS: u32 = 24;

/// Effects of a cut that the host does not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutEffects {
    /// Interrupted pages that cannot be read.
    pub torn_pages: u64,
    /// Earlier pages of their wordlines that cannot be read.
    pub damaged_pages: u64,
    /// Earlier pages that were given back from their copy, or were not there to be damaged.
    pub protected_pages: u64,
    /// Blocks whose erase was interrupted.
    pub half_erased: u64,
    /// Pages that were saved by capacitors.
    pub saved_pages: u64,
    /// The capacitors did not last; the drive knows it, since the saved pages state how many there
    /// were to save.
    pub is_partial_save: bool,
    /// No root can be read.
    pub is_dead: bool,
}

/// The effects of a cut on the flash of a drive whose pages hold bytes.
#[derive(Clone, Debug, Default)]
pub struct FlashAfterCut {
    /// Counts.
    pub facts: CutEffects,
    /// Logical pages of which the map knows newer data than can be read: they give errors.
    pub unreadable: Vec<u32>,
    /// Logical pages that a mount has to move.
    pub suspects: Vec<Lpn>,
}

/// Lets physics act on what a cut has interrupted.
pub fn interrupt_operations(
    remains: &mut Remains,
    running: &[Running],
    config: &PowerLossConfig,
    rng: &mut Rng,
) -> FlashAfterCut {
    let Worked { facts, over, suspects } = Worked::on(remains, running, config, rng);
    FlashAfterCut { facts, unreadable: over.into_keys().collect(), suspects }
}

/// The work of physics on a cut, until it is done.
struct Worked {
    facts: CutEffects,
    /// Answers that differ from those of the flash, by logical page.
    over: BTreeMap<u32, Reading>,
    /// Logical pages that a mount has to move.
    suspects: Vec<Lpn>,
}

impl Worked {
    fn on(
        remains: &mut Remains,
        running: &[Running],
        config: &PowerLossConfig,
        rng: &mut Rng,
    ) -> Self {
        let half_erased = remains.half_erased.len() as u64;
        let facts = CutEffects { half_erased, ..CutEffects::default() };
        let mut worked = Self { facts, over: BTreeMap::new(), suspects: Vec::new() };
        for it in running {
            worked.interrupt(remains, it, config, rng);
        }
        worked
    }

    /// One operation that the cut has interrupted.
    fn interrupt(
        &mut self,
        remains: &mut Remains,
        running: &Running,
        config: &PowerLossConfig,
        rng: &mut Rng,
    ) {
        let block = running.block;
        let Some((first, limit)) = running.pages else {
            // An interrupted erase; one that had not begun has taken nothing.
            return;
        };
        if running.fraction >= 1.0 {
            return;
        }
        // Units of one page of the flash share its fate.
        let (mut last_page, mut after) = (None, PageAfter::Erased);
        for index in first..limit {
            let Some(unit) = remains.held().at(block, index).copied() else { continue };
            if config.subpage_write == SubpageWrite::SubPage
                && (0.1..0.95).contains(&running.fraction)
            {
                let older = remains.held().units_of(unit.lpn).iter().any(|it| it.2 < unit.version);
                if older && !running.is_moved {
                    let reading =
                        Reading::Data { lpn: unit.lpn, version: unit.version, is_torn: true };
                    self.over.insert(unit.lpn, reading);
                }
                continue;
            }
            let (member, page, _) = remains.flash_page(block, index);
            if last_page.replace((member, page)) != Some((member, page)) {
                after = page_after(running.fraction, rng);
            }
            match after {
                PageAfter::Erased => remains.contents().clear(block, index),
                PageAfter::Lost => {
                    self.facts.torn_pages += 1;
                    remains.contents().lose(block, index);
                }
                PageAfter::Readable => {
                    remains.mark_suspect(block, index);
                    if config.suspect_pages == SuspectPages::Relocate {
                        self.suspects.push(Lpn(unit.lpn));
                    }
                }
            }
        }
        if config.paired_scheme.passes() > 1 && running.fraction > 0.0 && running.fraction < 1.0 {
            self.damage_earlier(remains, running, config, rng);
        }
    }

    /// Damages earlier pages of the wordlines of an interrupted program.
    fn damage_earlier(
        &mut self,
        remains: &mut Remains,
        running: &Running,
        config: &PowerLossConfig,
        rng: &mut Rng,
    ) {
        let (first, _) = running.pages.unwrap_or_default();
        let place = |index: u32| remains.flash_page(running.block, index);
        let (member, _, row) = place(first);
        let pages = remains.pages_per_block();
        let rows = 1 + (0..pages).map(|index| place(index).2).max().unwrap_or(0);
        let places = passes_of_block(rows, config.paired_scheme.passes());
        let interrupted = places[row as usize];
        let is_earlier = |&index: &u32| {
            let (its_member, _, its_row) = place(index);
            let its = places[its_row as usize];
            its_member == member
                && its.wordline == interrupted.wordline
                && its.pass < interrupted.pass
        };
        let all_earlier: Vec<u32> = (0..pages).filter(is_earlier).collect();
        let (mut last_page, mut is_hit) = (None, false);
        for earlier in all_earlier {
            let Some(unit) = remains.held().at(running.block, earlier).copied() else { continue };
            if unit.is_lost() {
                continue;
            }
            let page = remains.flash_page(running.block, earlier);
            if last_page.replace(page) != Some(page) {
                is_hit = damages_earlier(running.fraction, rng);
            }
            if config.lower_page_backup != LowerPageBackup::None {
                self.facts.protected_pages += u64::from(is_hit);
                self.suspects.push(Lpn(unit.lpn));
                continue;
            }
            if is_hit {
                self.facts.damaged_pages += 1;
                remains.contents().lose(running.block, earlier);
                let newer = remains.held().units_of(unit.lpn);
                if newer.iter().all(|it| it.2 < unit.version) {
                    // The map knows of the data, and an older copy is none.
                    self.over.insert(unit.lpn, Reading::Error);
                }
            } else {
                remains.mark_suspect(running.block, earlier);
            }
        }
    }
}

/// A drive after a cut.
pub(super) struct Recovered {
    pub(super) session: Session,
    pub(super) records: Records,
    pub(super) report: MountReport,
    pub(super) facts: CutEffects,
    /// Answers that weak options give, by logical page.
    over: BTreeMap<u32, Reading>,
}

impl Recovered {
    /// Reads what cuts have marked: pages that the code does not correct give an error.
    pub(super) fn read_marked(&mut self) {
        for lpn in self.session.read_marked() {
            self.over.entry(lpn.0).or_insert(Reading::Error);
        }
    }

    /// Pages whose answers may be others than before the run of a log, in their order; `before` is
    /// the checkpoint of the mount before.
    pub(super) fn changed(&self, log: &HostLog, before: &Checkpoint) -> Vec<u32> {
        let mut is_changed = vec![false; log.base.len()];
        let asked = log.asked.iter().map(|it| it.lpn);
        let moved = self.session.moved_since(before).into_iter();
        for lpn in moved.chain(asked).chain(self.over.keys().copied()) {
            is_changed[lpn as usize] = true;
        }
        (0..).zip(is_changed).filter_map(|(lpn, it)| it.then_some(lpn)).collect()
    }

    /// The answer of the drive; `view` is its session's map.
    #[inline]
    pub(super) fn reading(&self, view: &MapView<'_>, lpn: u32) -> Reading {
        if !self.over.is_empty() {
            if let Some(&reading) = self.over.get(&lpn) {
                return reading;
            }
        }
        sound(view, lpn)
    }
}

/// The content of the flash at the place in the map.
#[inline]
pub(super) fn sound(view: &MapView<'_>, lpn: u32) -> Reading {
    match view.at(lpn) {
        Found::Unmapped => Reading::Empty,
        Found::NoUnit => Reading::Garbage,
        Found::Unit(unit) if unit.is_lost() => Reading::Error,
        Found::Unit(unit) => Reading::Data { lpn: unit.lpn, version: unit.version, is_torn: false },
    }
}

/// The mount of a drive that was cut, and the flash that it will find.
pub(super) struct Prepared {
    pub(super) remains: Remains,
    pub(super) mounting: Mounting,
    records: Records,
    over: BTreeMap<u32, Reading>,
    facts: CutEffects,
}

/// Lets physics and the firmware act on what a cut has left.
pub(super) fn prepare(
    aftermath: Aftermath,
    log: &HostLog,
    config: &PowerLossConfig,
    program: Ns,
    rng: &mut Rng,
) -> Prepared {
    let Aftermath { mut remains, running, in_memory, mut records, torn_record, powered } =
        aftermath;
    let Worked { mut facts, mut over, suspects } = Worked::on(&mut remains, &running, config, rng);
    let mut mounting = Mounting { suspects, ..Mounting::default() };
    let units = remains.units_per_page();
    if let Some(pages) = pages_saved(config.plp, powered, program, units) {
        facts.is_partial_save = save(in_memory, pages, log, &mut remains.saved, &mut records);
        facts.saved_pages = remains.saved.len() as u64;
    }
    if let Some(kind) = torn_record {
        let is_root = kind == Writing::Root;
        facts.is_dead = is_root && !config.root_pairs;
        if kind == Writing::Journal && !config.journal_crc {
            let pages = log.base.len() as u64;
            for _ in 0..GARBAGE_TRIMS {
                over.insert(rng.below(pages) as u32, Reading::Empty);
            }
        }
    }
    mounting.trims = records.trimmed_versions();
    mounting.checkpoint.clone_from(&records.checkpoint);
    // The sequence number that the root gives from which on to count; here by page.
    mounting.versions = log.base.iter().map(|base| base.version).collect();
    for it in &log.asked {
        let version = &mut mounting.versions[it.lpn as usize];
        *version = (*version).max(it.version);
    }
    if config.map_order == MapOrder::MapBeforeData {
        believe(&remains, &records.recorded_changes, &mut over);
    }
    Prepared { remains, mounting, records, over, facts }
}

/// Saves what memory holds as far as capacitors last, for `pages` pages; returns whether they did
/// not last.
fn save(
    in_memory: Vec<Unit>,
    pages: usize,
    log: &HostLog,
    saved: &mut Vec<Unit>,
    records: &mut Records,
) -> bool {
    // What the host asked for, in its order; copies that are moved have their old place still.
    let asked = log.by_page();
    let place = |unit: &Unit| {
        let mut own = asked.of(unit.lpn);
        own.find(|&place| log.asked[place].version == unit.version)
    };
    let mut placed: Vec<(usize, Unit)> =
        in_memory.into_iter().filter_map(|unit| Some((place(&unit)?, unit))).collect();
    placed.sort_by_key(|&(place, _)| place);
    placed.dedup_by_key(|&mut (place, _)| place);
    let is_partial = pages < placed.len();
    for (place, unit) in placed.into_iter().take(pages) {
        if log.asked[place].is_trim {
            records.set_trimmed(unit.lpn, unit.version);
        } else {
            saved.push(unit);
        }
    }
    // Trims that only memory knew.
    if !is_partial {
        for it in log.asked.iter().filter(|it| it.is_trim && it.acked.is_some()) {
            records.set_trimmed(it.lpn, it.version);
        }
    }
    is_partial
}

impl Prepared {
    /// Steps of the recovery at which the power may fail again.
    pub(super) fn steps(&self) -> u32 {
        self.remains.recovery_steps(&self.mounting)
    }

    /// The drive comes back.
    ///
    /// # Errors
    /// The remains, when the power fails at a step of the recovery, if it is to.
    pub(super) fn mount(self) -> Result<Recovered, Box<Self>> {
        let Self { remains, mounting, mut records, over, facts } = self;
        match remains.mount(&mounting) {
            Ok((session, report)) => {
                records.mounted(&session);
                Ok(Recovered { session, records, report, facts, over })
            }
            Err(Interrupted(remains)) => {
                let mounting = Mounting { until: None, ..mounting };
                Err(Box::new(Self { remains: *remains, mounting, records, over, facts }))
            }
        }
    }

    /// The same again.
    pub(super) fn copy(&self) -> Self {
        Self {
            remains: self.remains.clone(),
            mounting: self.mounting.clone(),
            records: self.records.clone(),
            over: self.over.clone(),
            facts: self.facts,
        }
    }
}

/// The firmware believes its journal: a page is at the recorded place, whatever that place holds.
fn believe(remains: &Remains, changes: &[Change], over: &mut BTreeMap<u32, Reading>) {
    for change in changes {
        let unit = remains.held().at(change.block, change.index);
        let reading = match unit {
            Some(unit) if unit.is_lost() => Reading::Error,
            Some(unit) => Reading::Data { lpn: unit.lpn, version: unit.version, is_torn: false },
            None => Reading::Garbage,
        };
        let is_as_said = matches!(reading, Reading::Data { lpn, version, .. }
            if lpn == change.lpn && version >= change.version);
        if is_as_said {
            over.remove(&change.lpn);
        } else {
            over.insert(change.lpn, reading);
        }
    }
}
