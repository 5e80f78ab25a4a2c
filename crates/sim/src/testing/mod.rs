//! Checkers that run beside the drive in tests: flash that refuses misuse, and a plain-map oracle.
//!
//! [`CheckedFlash`] is a sink that holds the FTL to the rules of NAND (a page is programmed once
//! between two erases, in order, never in a bad block; a block is erased only when nothing live is
//! lost) and that carries a version number in every page. [`Oracle`] is the same drive as a
//! `BTreeMap`. After any commands, both must agree on every page.

use std::collections::BTreeMap;

use crate::ftl::{FlashSink, Ftl, WornOut};
use crate::geometry::Geometry;
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::units::{BlockId, Lpn, Ppn};

/// Flash that asserts the rules of NAND and remembers contents.
pub struct CheckedFlash {
    geometry: Geometry,
    media: Media,
    /// Next page to program, by block.
    next_page: Vec<u32>,
    /// Version stored in each page.
    contents: Vec<u64>,
    /// Where the newest copy of each logical page is.
    newest: BTreeMap<Lpn, Ppn>,
    /// Version that the next host program stores.
    version: u64,
    /// Whether collections are asked for in steps.
    in_steps: bool,
    /// Blocks whose erase was emitted and is not over yet; in steps only.
    erasing: Vec<bool>,
}

impl CheckedFlash {
    /// Fresh flash over this media.
    pub fn new(geometry: Geometry, media: Media) -> Self {
        Self {
            geometry,
            next_page: vec![0; geometry.block_count() as usize],
            contents: vec![0; geometry.page_count()],
            newest: BTreeMap::new(),
            version: 0,
            in_steps: false,
            erasing: vec![false; geometry.block_count() as usize],
            media,
        }
    }

    /// Decides whether the FTL is to leave collections to [`Ftl::step_collection`].
    pub fn collect_in_steps(&mut self, in_steps: bool) {
        assert!(!self.erasing.contains(&true), "an erase is not over");
        self.in_steps = in_steps;
    }

    /// The erase of a block is over: it may be written from now on.
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
        let block = self.geometry.block_of(ppn);
        let written = self.next_page[block.0 as usize];
        assert!(
            self.geometry.page_index(ppn) < written,
            "page {ppn:?} is read before it is programmed"
        );
    }

    fn read_live(&mut self, block: BlockId, page_count: u32, _source: Source) {
        assert!(
            page_count <= self.next_page[block.0 as usize],
            "block {block:?} has fewer pages written"
        );
    }

    fn program(&mut self, ppn: Ppn, lpn: Lpn, source: Source) {
        let block = self.geometry.block_of(ppn);
        assert!(!self.media.is_bad(block), "page {ppn:?} lies in a bad block");
        assert!(!self.erasing[block.0 as usize], "page {ppn:?} lies in a block being erased");
        let next = &mut self.next_page[block.0 as usize];
        let index = self.geometry.page_index(ppn);
        assert_eq!(index, *next, "pages of block {block:?} are programmed out of order, or twice");
        *next += 1;
        let version = if source == Source::Host {
            self.version += 1;
            self.version
        } else {
            let old = self.newest[&lpn];
            self.contents[self.geometry.page_slot(old)]
        };
        self.contents[self.geometry.page_slot(ppn)] = version;
        self.newest.insert(lpn, ppn);
        self.media.program(ppn, lpn);
    }

    fn program_run(&mut self, first: Ppn, lpns: &[u32], source: Source) {
        (first.0..).zip(lpns).for_each(|(ppn, &lpn)| self.program(Ppn(ppn), Lpn(lpn), source));
    }

    fn erase(&mut self, block: BlockId, _source: Source) -> u32 {
        assert!(!self.media.is_bad(block), "block {block:?} is bad");
        assert_eq!(
            self.next_page[block.0 as usize], self.geometry.pages_per_block,
            "erased half full"
        );
        self.next_page[block.0 as usize] = 0;
        self.erasing[block.0 as usize] = self.in_steps;
        self.media.erase(block)
    }

    fn retire(&mut self, block: BlockId) {
        self.media.retire(block);
    }

    fn collects_in_steps(&self) -> bool {
        self.in_steps
    }

    fn read_pages(&mut self, block: BlockId, page_indices: &[u32], source: Source) {
        let first = self.geometry.first_page(block).0;
        for index in page_indices {
            self.read(Ppn(first + index), source);
        }
    }

    fn set_mode(&mut self, block: BlockId, mode: CellMode) {
        self.media.set_mode(block, mode);
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
    /// [`WornOut`] when the FTL has no room; the oracle keeps the old page then.
    pub fn write(
        &mut self,
        ftl: &mut Ftl,
        flash: &mut CheckedFlash,
        lpn: Lpn,
    ) -> Result<(), WornOut> {
        ftl.write(flash, lpn)?;
        self.version += 1;
        self.pages.insert(lpn, self.version);
        Ok(())
    }

    /// Trims a page in both.
    pub fn trim(&mut self, ftl: &mut Ftl, lpn: Lpn) {
        assert_eq!(ftl.trim(lpn), self.pages.remove(&lpn).is_some(), "trim of {lpn:?}");
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
        (0..ftl.logical_pages()).for_each(|lpn| self.check_page(ftl, flash, Lpn(lpn)));
        assert_eq!(ftl.mapped_pages() as usize, self.pages.len());
        ftl.audit(flash.media()).expect("the audit passes");
    }

    fn check_page(&self, ftl: &Ftl, flash: &CheckedFlash, lpn: Lpn) {
        let version = ftl.find(lpn).map(|ppn| flash.version_at(ppn));
        assert_eq!(version, self.pages.get(&lpn).copied(), "content of {lpn:?}");
    }
}
