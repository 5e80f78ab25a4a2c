//! Checkers that tests run along with the drive: flash that refuses misuse, and a plain-map oracle.
//!
//! [`CheckedFlash`] is a sink that holds the FTL to the rules of NAND (a page is programmed once
//! between two erases, in order, never in a bad block; a block is erased only when nothing live is
//! lost) and that carries a version number in every page. With superblocks the rules hold for their
//! member blocks. [`Oracle`] is the same drive as a `BTreeMap`. After any commands, both must agree
//! on every page.

mod run;

pub use run::{merge, metrics, number, run};

use std::collections::BTreeMap;

use crate::drive::DeviceConfig;
use crate::ftl::{FlashSink, Ftl, Layout, MoveRun, MoveWay, NoRoom, PoolSetup};
use crate::geometry::{Geometry, UNMAPPED};
use crate::nand::{CellMode, Media, ProgramUnits};
use crate::op::Source;
use crate::striping::DieRun;
use crate::superblock::HOLE;
use crate::units::{BlockId, DieId, Lpn, Ns, Ppn};

/// Flash that asserts the rules of NAND and remembers contents.
pub struct CheckedFlash {
    geometry: Geometry,
    media: Media,
    /// Next page to program, by block of the flash.
    next_page: Vec<u32>,
    /// By block: pages that programs of parts have put on the flash, and how many of these programs
    /// the page of the last of them took.
    parts: Vec<(u32, u32)>,
    /// Programs that a page takes.
    programs_per_page: u32,
    /// Version stored in each page.
    contents: Vec<u64>,
    /// Where the newest copy of each logical page is.
    newest: BTreeMap<Lpn, Ppn>,
    /// Version that the next host program stores.
    version: u64,
    layout: Layout,
    /// Copies in a row that data may make inside its die.
    copyback_limit: u8,
    /// Load that is reported for each die.
    loads: Vec<u32>,
    /// Whether collections are asked for in steps.
    in_steps: bool,
    /// Blocks whose erase was emitted and has not ended yet; in steps only.
    erasing: Vec<bool>,
    /// Blocks of which a program or an erase has failed: they are written no more.
    failed: Vec<bool>,
    /// Whether blocks may be erased before they are full: log blocks that are merged.
    merges: bool,
    /// Rows of pages that collections sensed.
    senses: u64,
    /// The time, if a clock runs.
    clock: Option<Ns>,
    /// The power may fail: the program units of the flash.
    units_to_complete: Option<ProgramUnits>,
}

impl CheckedFlash {
    /// Fresh flash over this media.
    pub fn new(geometry: Geometry, media: Media) -> Self {
        let blocks = media
            .superblocks()
            .map_or(geometry.block_count(), |members| members.shape().flash().block_count());
        Self {
            geometry,
            next_page: vec![0; blocks as usize],
            parts: vec![(0, 0); blocks as usize],
            programs_per_page: 1,
            contents: vec![0; geometry.page_count()],
            newest: BTreeMap::new(),
            version: 0,
            layout: Layout::plain(&geometry),
            copyback_limit: 0,
            loads: vec![0; geometry.die_count as usize],
            in_steps: false,
            erasing: vec![false; geometry.block_count() as usize],
            failed: vec![false; geometry.block_count() as usize],
            merges: false,
            senses: 0,
            clock: None,
            units_to_complete: None,
            media,
        }
    }

    /// Fresh flash of a device, with its rules for parity, cell modes and copies inside a die.
    pub fn of_device(config: &DeviceConfig, media: Media) -> Self {
        let copyback_limit = config.ftl.copyback.as_ref().map_or(0, |copyback| copyback.limit);
        let programs_per_page = config.nand.partial_programs.unwrap_or(1);
        let new = Self::new(config.geometry(), media);
        let merges = config.ftl.mapping.merges();
        Self { layout: config.layout(), copyback_limit, programs_per_page, merges, ..new }
    }

    /// Rows of pages that collections have sensed.
    pub fn senses(&self) -> u64 {
        self.senses
    }

    /// Sets the clock, or takes it away.
    pub fn set_clock(&mut self, clock: Option<Ns>) {
        self.clock = clock;
    }

    /// Allows power failures after this call: a block may be erased only when the newest copy of
    /// each of its pages is on the flash, or will be when all issued commands are done.
    /// Pages that wait for the rest of a program unit do not count as such.
    pub fn expect_cuts(&mut self, config: &DeviceConfig) {
        self.units_to_complete = Some(ProgramUnits::new(config.flash_geometry(), &config.flash()));
    }

    /// Asserts that no newer copy of a block's pages waits in memory.
    fn check_copies(&self, block: BlockId) {
        let Some(units) = &self.units_to_complete else { return };
        for &lpn in self.media.oob_of_block(block).iter().filter(|&&lpn| lpn != UNMAPPED) {
            let Some(&newest) = self.newest.get(&Lpn(lpn)) else { continue };
            let ((own, index), at) = (self.place(newest), self.geometry.block_of(newest));
            let is_slc = self.media.mode(at) == CellMode::Slc;
            let durable = units.programmed(self.next_page[own], is_slc);
            assert!(
                index < durable || at == block,
                "block {block:?} is erased, and the newest copy of {lpn} waits at {newest:?}"
            );
        }
    }

    /// Sets the load that is reported for a die.
    pub fn set_load(&mut self, die: DieId, load: u32) {
        self.loads[die.0 as usize] = load;
    }

    /// Whether a page is the last of its stripe or row, and so parity.
    fn is_parity(&self, ppn: Ppn) -> bool {
        let block = self.geometry.block_of(ppn);
        let (die, mode) = (self.geometry.die_of_block(block), self.media.mode(block));
        let index = self.geometry.page_index(ppn);
        if let Some(members) = self.media.superblocks() {
            let at = members.shape().locate(index, mode == CellMode::Slc);
            return members.shape().parity_place(members.of(block), at.row) == Some(at.place);
        }
        self.layout.stripe_of(die, mode, index).is_some_and(|stripe| index + 1 == stripe.end)
    }

    /// Whether a page holds the drive's own records.
    fn is_metadata(&self, ppn: Ppn) -> bool {
        let block = self.geometry.block_of(ppn);
        let is_slc = self.media.mode(block) == CellMode::Slc;
        self.media.superblocks().is_some_and(|members| {
            let at = members.shape().locate(self.geometry.page_index(ppn), is_slc);
            !self.is_parity(ppn) && members.shape().is_metadata(at.row, at.place)
        })
    }

    /// Checks that a page may be programmed, and counts it as programmed.
    fn take_page(&mut self, ppn: Ppn) {
        let block = self.geometry.block_of(ppn);
        assert!(!self.media.is_bad(block), "page {ppn:?} lies in a bad block");
        assert!(!self.erasing[block.0 as usize], "page {ppn:?} lies in a block being erased");
        assert!(!self.failed[block.0 as usize], "page {ppn:?} lies in a block that has failed");
        let (own, index) = self.place(ppn);
        let next = &mut self.next_page[own];
        assert_eq!(index, *next, "pages of block {block:?} are programmed out of order, or twice");
        *next += 1;
        let pages = self.pages_of(block);
        assert!(index < pages, "page {ppn:?} of a block of {pages} pages");
    }

    /// The block of the flash that holds a page, and the page's index there.
    fn place(&self, ppn: Ppn) -> (usize, u32) {
        let (block, index) = (self.geometry.block_of(ppn), self.geometry.page_index(ppn));
        let Some(members) = self.media.superblocks() else { return (block.0 as usize, index) };
        let flash = members.shape().flash();
        let page = members.page(block, index, self.media.mode(block) == CellMode::Slc);
        let own = flash.block_of(page);
        assert!(!members.bad()[own.0 as usize], "page {ppn:?} lies in the bad block {own:?}");
        (own.0 as usize, flash.page_index(page))
    }

    /// The blocks of the flash that a block is made of.
    fn blocks_of(&self, block: BlockId) -> Vec<usize> {
        match self.media.superblocks() {
            None => vec![block.0 as usize],
            Some(members) => {
                let all = members.of(block).iter().filter(|&&own| own != HOLE);
                all.map(|&own| own as usize).collect()
            }
        }
    }

    /// Pages of each of them.
    fn pages_of(&self, block: BlockId) -> u32 {
        let dies = self.media.superblocks().map_or(1, |members| members.shape().dies());
        self.layout.pages(self.media.mode(block)) / dies
    }

    /// Programs a page of this version.
    fn store(&mut self, ppn: Ppn, lpn: Lpn, version: u64) {
        self.take_page(ppn);
        assert!(!self.is_parity(ppn), "data in the parity page {ppn:?}");
        assert!(!self.is_metadata(ppn), "data in a page of records {ppn:?}");
        self.contents[self.geometry.page_slot(ppn)] = version;
        self.newest.insert(lpn, ppn);
        self.media.program(ppn, lpn);
    }

    /// Decides whether the FTL is to leave collections to [`Ftl::step`].
    pub fn collect_in_steps(&mut self, in_steps: bool) {
        assert!(!self.erasing.contains(&true), "an erase is not over");
        self.in_steps = in_steps;
    }

    /// Ends the erase of a block: it may be written again.
    pub fn erase_is_over(&mut self, block: BlockId) {
        assert!(std::mem::take(&mut self.erasing[block.0 as usize]), "no erase of {block:?}");
    }

    /// The version in a page.
    pub fn version_at(&self, ppn: Ppn) -> u64 {
        self.contents[self.geometry.page_slot(ppn)]
    }
}

impl FlashSink for CheckedFlash {
    fn media(&self) -> &Media {
        &self.media
    }

    fn read(&mut self, ppn: Ppn, _source: Source) {
        let (own, index) = self.place(ppn);
        assert!(index < self.next_page[own], "page {ppn:?} is read before it is programmed");
    }

    fn read_live(&mut self, block: BlockId, page_count: u32, _source: Source) {
        let written: u32 = self.blocks_of(block).iter().map(|&own| self.next_page[own]).sum();
        assert!(page_count <= written, "block {block:?} has fewer pages written");
        self.senses += u64::from(page_count);
    }

    fn program(&mut self, ppn: Ppn, lpn: Lpn, source: Source) {
        if source == Source::Map {
            // A page of the map in the flash, whose content follows from the rest.
            self.take_page(ppn);
            return self.media.program(ppn, lpn);
        }
        assert_eq!(source, Source::Host, "moved pages come from somewhere");
        self.version += 1;
        self.store(ppn, lpn, self.version);
    }

    fn program_die_run(&mut self, first: Ppn, run: DieRun) {
        for index in 0..run.count {
            self.program(Ppn(first.0 + index), run.lpn(index), Source::Host);
        }
    }

    fn erase(&mut self, block: BlockId, source: Source) -> u32 {
        assert!(!self.media.is_bad(block), "block {block:?} is bad");
        self.check_copies(block);
        let pages = self.pages_of(block);
        let has_failed = std::mem::take(&mut self.failed[block.0 as usize]);
        for own in self.blocks_of(block) {
            let may_be_part = has_failed || self.merges;
            assert!(may_be_part || self.next_page[own] == pages, "erased half full");
            self.next_page[own] = 0;
            self.parts[own] = (0, 0);
        }
        self.erasing[block.0 as usize] = self.in_steps && source != Source::Map;
        self.media.erase(block)
    }

    fn retire(&mut self, block: BlockId, failed: &[u32]) {
        self.media.retire(block, failed);
    }

    fn fail_program(&mut self, block: BlockId) {
        self.failed[block.0 as usize] = true;
    }

    fn replace_member(&mut self, block: BlockId, member: u32, fails_erase: bool) {
        assert!(fails_erase || self.failed[block.0 as usize], "member {member} has not failed");
        self.failed[block.0 as usize] = true;
        let (failed, spare) = self.media.replace_member(block, member).expect("a spare block");
        assert_ne!(failed, spare);
    }

    fn collects_in_steps(&self) -> bool {
        self.in_steps
    }

    fn clock(&self) -> Option<Ns> {
        self.clock
    }

    fn read_pages(&mut self, block: BlockId, page_indices: &[u32], source: Source) {
        let geometry = self.geometry;
        let is_same = |&one: &u32, &next: &u32| geometry.row_of(one) == geometry.row_of(next);
        self.senses += page_indices.chunk_by(is_same).count() as u64;
        let first = self.geometry.first_page(block).0;
        for index in page_indices {
            self.read(Ppn(first + index), source);
        }
    }

    fn load(&self, die: DieId) -> u32 {
        self.loads[die.0 as usize]
    }

    fn move_run(&mut self, run: &MoveRun<'_>) {
        let MoveRun { victim, page_indices, first, lpns, source, way } = *run;
        assert_eq!(page_indices.len(), lpns.len(), "pages without an owner");
        let depth = self.media.copyback_depth(victim);
        let origin = self.geometry.first_page(victim).0;
        for ((ppn, index), &lpn) in (first.0..).map(Ppn).zip(page_indices).zip(lpns) {
            let old = Ppn(origin + index);
            assert_eq!(self.newest.get(&Lpn(lpn)), Some(&old), "{old:?} is not the newest copy");
            if way == MoveWay::Inside {
                let planes = [old, ppn].map(|page| self.geometry.plane_of(page));
                assert_eq!(planes[0], planes[1], "a copy from {old:?} to {ppn:?}, another plane");
            }
            assert_ne!(source, Source::Host, "the host moves no pages");
            let is_corrected = source != Source::Refresh || way == MoveWay::Bus;
            assert!(is_corrected, "refreshed data of {victim:?} keeps its errors");
            let version = self.contents[self.geometry.page_slot(old)];
            self.store(ppn, Lpn(lpn), version);
        }
        if way == MoveWay::Inside {
            assert!(depth < self.copyback_limit, "{depth} copies of {victim:?} uncorrected");
            let target = self.geometry.block_of(first);
            self.media.note_copyback(victim, target);
            assert!(self.media.copyback_depth(target) > depth);
        }
    }

    fn program_filler(&mut self, ppn: Ppn, source: Source) {
        self.take_page(ppn);
        assert!(source != Source::Parity || self.is_parity(ppn), "parity in a data page {ppn:?}");
        assert_eq!(source == Source::Map, self.is_metadata(ppn), "the records of {ppn:?}");
        self.media.program(ppn, Lpn(UNMAPPED));
    }

    fn program_part(&mut self, first: Ppn, next: Ppn) {
        self.media.note_part(first, next);
        let (own, index) = self.place(next);
        assert_eq!(index, self.next_page[own], "a part of {next:?} that is not written");
        let page = |index: u32| self.geometry.physical_index(index);
        assert!(index > 0 && page(index - 1) == page(index), "no part of a page before {next:?}");
        let (until, programs) = self.parts[own];
        assert!(until < index, "nothing was written since the last part before {next:?}");
        let is_same = until > 0 && page(until - 1) == page(index);
        let programs = if is_same { programs + 1 } else { 1 };
        assert!(programs < self.programs_per_page, "no program is left for the rest of {next:?}");
        self.parts[own] = (index, programs);
    }

    fn set_mode(&mut self, block: BlockId, mode: CellMode) {
        let written: u32 = self.blocks_of(block).iter().map(|&own| self.next_page[own]).sum();
        assert_eq!(written, 0, "block {block:?} is not erased");
        self.media.set_mode(block, mode);
    }
}

/// The highest erase count of a block that was last written in this mode. For a block of one bit
/// per cell it is unknown whether it belongs to a permanent cache.
pub fn erases_max(setup: &PoolSetup, mode: CellMode) -> u32 {
    match (mode, setup.slc_blocks.dynamic_max) {
        (CellMode::Native, _) => setup.worn_limit,
        (CellMode::Slc, 0) => setup.slc_worn_limit,
        (CellMode::Slc, _) => setup.slc_worn_limit.max(setup.worn_limit),
    }
}

/// The drive as a plain map from logical page to version.
#[derive(Default)]
pub struct Oracle {
    pages: BTreeMap<Lpn, u64>,
    version: u64,
}

impl Oracle {
    /// Writes a page through both.
    ///
    /// # Errors
    /// [`NoRoom`] when the FTL has no room; the oracle keeps the old page then.
    pub fn write(
        &mut self,
        ftl: &mut Ftl,
        flash: &mut CheckedFlash,
        lpn: Lpn,
    ) -> Result<(), NoRoom> {
        ftl.write(flash, lpn)?;
        self.version += 1;
        self.pages.insert(lpn, self.version);
        Ok(())
    }

    /// Trims a page in both.
    pub fn trim(&mut self, ftl: &mut Ftl, flash: &mut CheckedFlash, lpn: Lpn) {
        assert_eq!(ftl.trim(flash, lpn), self.pages.remove(&lpn).is_some(), "trim of {lpn:?}");
    }

    /// Reads a page from both.
    pub fn read(&self, ftl: &mut Ftl, flash: &mut CheckedFlash, lpn: Lpn) {
        assert_eq!(
            ftl.read(flash, lpn, Source::Host),
            self.pages.contains_key(&lpn),
            "read of {lpn:?}"
        );
        self.check_page(ftl, flash, lpn);
    }

    /// Compares every page, and audits the FTL's tables.
    ///
    /// # Panics
    /// At the first difference.
    pub fn check(&self, ftl: &Ftl, flash: &CheckedFlash) {
        (0..ftl.figures().logical_pages()).for_each(|lpn| self.check_page(ftl, flash, Lpn(lpn)));
        assert_eq!(ftl.figures().mapped_pages() as usize, self.pages.len());
        ftl.audit(flash.media()).expect("the audit passes");
    }

    fn check_page(&self, ftl: &Ftl, flash: &CheckedFlash, lpn: Lpn) {
        let version = ftl.find(lpn).map(|ppn| flash.version_at(ppn));
        assert_eq!(version, self.pages.get(&lpn).copied(), "content of {lpn:?}");
    }
}
