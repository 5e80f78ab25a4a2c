//! The chip: its operations and their rules.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use opennandlab_ecc::channel::Rng;
use opennandlab_sim::config::ConfigError;
use opennandlab_sim::reliability::arrhenius::{acceleration, JESD218_EA_EV};
use opennandlab_sim::reliability::questions::{check, check_temperature, parsed};
use opennandlab_sim::reliability::{Stress, REFERENCE_C};
use serde::Serialize;

use crate::cells::Cells;
use crate::dump;
use crate::noise::{MeanRber, Noise, Place, ReadFlips};
use crate::options::{within, Options};
use crate::page_code::PageCode;

/// More cycles and hours than any flash sees.
const AMOUNT_MAX: f64 = 1e12;

/// What came of an operation: the numbers of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// `EIO`: a bad block, a program or an erase that failed.
    Failed = 5,
    /// `ENODEV`: the power is off.
    NoPower = 19,
    /// `EBADMSG`: a step does not decode; the data are as they were read.
    Uncorrectable = 74,
    /// `EUCLEAN`: corrected bits at the threshold: the data should be moved.
    Corrected = 117,
}

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Erase block.
    pub block: u32,
    /// Page in the block.
    pub page: u32,
}

/// Whether the code of the controller takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads are corrected, and programs get parity.
    Coded,
    /// Bytes as the cells have them.
    Raw,
}

/// Whether a bad block may be erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erasure {
    /// Not: `EIO`.
    Careful,
    /// It may, and then has no marker any more.
    Forced,
}

/// A page that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What came of it.
    pub status: Status,
    /// Data and OOB; all ones without power.
    pub bytes: Vec<u8>,
    /// Most corrected bits of a step.
    pub corrected_max: u32,
    /// Corrected bits of all steps.
    pub corrected_sum: u32,
}

/// Sizes and code of a chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[repr(C)]
pub struct Geometry {
    /// Data bytes of a page.
    pub page_bytes: u32,
    /// Its spare bytes.
    pub oob_bytes: u32,
    /// Those in front of the parity; the first is the marker of bad blocks.
    pub oob_free_bytes: u32,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// Erase blocks.
    pub blocks: u32,
    /// Data bytes of a step; the page without a code.
    pub step_bytes: u32,
    /// Bit errors that a step may have; 0 without a code.
    pub strength: u32,
    /// Corrected bits of a step from which a read returns `EUCLEAN`; 0 without a code.
    pub bitflip_threshold: u32,
}

/// Counts since the chip was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[repr(C)]
pub struct Stats {
    /// Pages read.
    pub reads: u64,
    /// Pages programmed, also in part or in vain.
    pub programs: u64,
    /// Blocks erased, also in vain.
    pub erases: u64,
    /// Bits corrected.
    pub corrected_bits: u64,
    /// Reads with status `EUCLEAN`.
    pub unclean_reads: u64,
    /// Reads with status `EBADMSG`.
    pub uncorrectable_reads: u64,
    /// Programs with status `EIO`.
    pub failed_programs: u64,
    /// Erases with status `EIO`.
    pub failed_erases: u64,
    /// Power cuts.
    pub cuts: u64,
    /// Blocks with a marker.
    pub bad_blocks: u64,
}

/// A page that was programmed, or changed by a fault.
pub(crate) struct Page {
    pub bytes: Box<[u8]>,
    pub programs: u32,
    /// When it was programmed for the first time.
    hours: f64,
}

/// An erase block. Pages that are not listed are all ones, and take no memory.
#[derive(Default)]
pub(crate) struct Block {
    pub pages: BTreeMap<u32, Page>,
    /// Behind the highest page that was programmed.
    pub next: u32,
    pub fails_program: bool,
    pub fails_erase: bool,
    /// An erase of it was cut or failed.
    is_half_erased: bool,
    erases: u32,
    reads: u64,
    hours: f64,
}

/// See the module.
pub struct RawNand {
    pub(crate) options: Options,
    pub(crate) code: PageCode,
    pub(crate) blocks: Vec<Block>,
    pub(crate) rng: Rng,
    noise: Vec<Box<dyn Noise>>,
    ages: bool,
    /// Age of the chip in hours at [`REFERENCE_C`].
    hours: f64,
    pe_cycles: f64,
    pub(crate) is_off: bool,
    /// Programs and erases until the power fails.
    pub(crate) cut: Option<u32>,
    stats: Stats,
}

impl RawNand {
    /// A chip: erased but for bad blocks, or with the pages of a dump.
    ///
    /// # Errors
    /// [`ConfigError`] for options that do not fit each other, and for a dump that does not fit
    /// them.
    pub fn new(mut options: Options, image: Option<&Path>) -> Result<Self, ConfigError> {
        let code = PageCode::new(&options)?;
        let threshold = options.bitflip_threshold;
        if let (Some(strength), Some(threshold)) = (code.strength(), threshold) {
            within("bitflip_threshold", threshold, 1..=strength)?;
        }
        within("read_flips", options.read_flips, 0..=code.steps.bits() as u32)?;
        let mut noise: Vec<Box<dyn Noise>> = Vec::new();
        let model = options.reliability.as_ref().map(|model| parsed(&model.to_string()));
        let model = model.transpose()?;
        match (&model, &options.cells) {
            (Some(model), Some(cells)) => {
                noise.push(Box::new(Cells::new(cells, model, options.seed)?));
            }
            (Some(model), None) => {
                noise.push(Box::new(MeanRber::new(model.build(), options.seed)));
            }
            (None, Some(_)) => {
                let message = "need voltages; accepted: with reliability states";
                return Err(ConfigError::new("cells", message));
            }
            (None, None) => {}
        }
        if options.read_flips > 0 {
            let (steps, count, seed) = (code.steps, options.read_flips, options.seed);
            noise.push(Box::new(ReadFlips { steps, count, seed }));
        }
        if image.is_some() && options.bad_share > 0.0 {
            let message = format!(
                "{} with an image, which has its own markers; accepted: 0",
                options.bad_share
            );
            return Err(ConfigError::new("bad_share", message));
        }
        let image = image.map(|path| dump::Image::open(path, &options)).transpose()?;
        let count = image.as_ref().map_or(options.block_count(), dump::Image::block_count);
        options.blocks = Some(count);
        let mut chip = Self {
            code,
            blocks: (0..count).map(|_| Block::default()).collect(),
            rng: Rng::frame(options.seed, u64::from_be_bytes(*b"rawnand\0"), 0),
            noise,
            ages: options.reliability.is_some(),
            hours: 0.0,
            pe_cycles: 0.0,
            is_off: false,
            cut: None,
            stats: Stats::default(),
            options,
        };
        match image {
            Some(image) => chip.load(image)?,
            None => chip.spoil(),
        }
        Ok(chip)
    }

    /// Stores the pages of a dump, which count as programmed.
    fn load(&mut self, image: dump::Image) -> Result<(), ConfigError> {
        let options = self.options.clone();
        image.pages(&options, |block, page, bytes| {
            self.stored(At { block, page }).copy_from_slice(bytes);
            let found = &mut self.blocks[block as usize];
            found.pages.get_mut(&page).expect("was stored just now").programs = 1;
            found.next = page + 1;
        })
    }

    /// Saves the pages to a file, which is replaced when all of them are written, or not at all.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let erased = vec![0xff; self.options.raw_bytes()];
        let per_block = u64::from(self.options.pages_per_block);
        let pages = (0..self.blocks.len() as u64 * per_block).map(|number| {
            let block = &self.blocks[(number / per_block) as usize];
            let page = block.pages.get(&((number % per_block) as u32));
            page.map_or(&erased[..], |page| &page.bytes)
        });
        dump::write(path, pages)
    }

    /// Marks blocks as a factory does.
    fn spoil(&mut self) {
        let count = self.blocks.len() as u64;
        let mut left = (self.options.bad_share * count as f64) as u64;
        while left > 0 {
            // The first block is good by all data sheets.
            let block = 1 + self.rng.below(count - 1) as u32;
            if !self.has_marker(block) {
                self.set_marker(block);
                left -= 1;
            }
        }
    }

    /// Sizes and code.
    pub fn geometry(&self) -> Geometry {
        let Options { page_bytes, oob_bytes, pages_per_block, .. } = self.options;
        let strength = self.code.strength().unwrap_or(0);
        let threshold = self.options.bitflip_threshold.unwrap_or((3 * strength).div_ceil(4));
        Geometry {
            page_bytes,
            oob_bytes,
            oob_free_bytes: self.code.steps.first as u32 - page_bytes,
            pages_per_block,
            blocks: self.blocks.len() as u32,
            step_bytes: self.code.steps.data_bytes as u32,
            strength,
            bitflip_threshold: if strength == 0 { 0 } else { threshold },
        }
    }

    /// Adds a source of bit errors to reads.
    pub fn add_noise(&mut self, noise: Box<dyn Noise>) {
        self.noise.push(noise);
        self.ages = true;
    }

    /// The counts.
    pub fn stats(&self) -> Stats {
        let bad_blocks =
            (0..self.blocks.len() as u32).filter(|&block| self.has_marker(block)).count();
        Stats { bad_blocks: bad_blocks as u64, ..self.stats }
    }

    /// Whether a block has a marker: the first byte of the OOB of its first page is not FF.
    ///
    /// # Errors
    /// [`ConfigError`] for a block that does not exist.
    pub fn is_bad(&self, block: u32) -> Result<Result<bool, Status>, ConfigError> {
        self.check(At { block, page: 0 })?;
        Ok(if self.is_off { Err(Status::NoPower) } else { Ok(self.has_marker(block)) })
    }

    pub(crate) fn has_marker(&self, block: u32) -> bool {
        let first = self.blocks[block as usize].pages.get(&0);
        first.is_some_and(|page| page.bytes[self.options.page_bytes as usize] != 0xff)
    }

    fn set_marker(&mut self, block: u32) {
        let place = self.options.page_bytes as usize;
        self.stored(At { block, page: 0 })[place] = 0;
    }

    /// Writes the marker 00, whatever the block holds.
    ///
    /// # Errors
    /// [`ConfigError`] for a block that does not exist.
    pub fn mark_bad(&mut self, block: u32) -> Result<Status, ConfigError> {
        self.check(At { block, page: 0 })?;
        if self.is_off || self.power_fails() {
            return Ok(Status::NoPower);
        }
        self.set_marker(block);
        Ok(Status::Ok)
    }

    /// Reads a page with its OOB.
    ///
    /// # Errors
    /// [`ConfigError`] for a page that does not exist.
    pub fn read(&mut self, at: At, access: Access) -> Result<Reading, ConfigError> {
        self.check(at)?;
        let mut bytes = vec![0xff; self.options.raw_bytes()];
        if self.is_off {
            let status = Status::NoPower;
            return Ok(Reading { status, bytes, corrected_max: 0, corrected_sum: 0 });
        }
        let block = &mut self.blocks[at.block as usize];
        block.reads += 1;
        self.stats.reads += 1;
        let mut since = block.hours;
        if let Some(page) = block.pages.get(&at.page) {
            bytes.copy_from_slice(&page.bytes);
            since = page.hours;
        }
        let stress = Stress {
            pe_cycles: self.pe_cycles + f64::from(block.erases),
            retention_h: (self.hours - since).min(AMOUNT_MAX),
            temperature_c: REFERENCE_C,
            reads: block.reads as f64 / f64::from(self.options.pages_per_block),
            page_type: None,
        };
        let place = Place { block: at.block, page: at.page, erases: block.erases };
        let block = &self.blocks[at.block as usize];
        let pages = |page: u32| block.pages.get(&page).map(|page| &page.bytes[..]);
        for noise in &mut self.noise {
            noise.disturb(place, &stress, &pages, &mut bytes);
        }
        if access == Access::Raw {
            let status = Status::Ok;
            return Ok(Reading { status, bytes, corrected_max: 0, corrected_sum: 0 });
        }
        let found = self.code.decode(&mut bytes);
        let is_unclean = found.corrected_max >= self.geometry().bitflip_threshold.max(1);
        let status = match (found.failed, is_unclean) {
            (1.., _) => Status::Uncorrectable,
            (0, true) => Status::Corrected,
            (0, false) => Status::Ok,
        };
        self.stats.corrected_bits += u64::from(found.corrected_sum);
        self.stats.unclean_reads += u64::from(status == Status::Corrected);
        self.stats.uncorrectable_reads += u64::from(status == Status::Uncorrectable);
        let (corrected_max, corrected_sum) = (found.corrected_max, found.corrected_sum);
        Ok(Reading { status, bytes, corrected_max, corrected_sum })
    }

    /// Programs a page: its data, and the first bytes of its OOB.
    ///
    /// # Errors
    /// [`ConfigError`] for a page that does not exist, for more or fewer bytes than it has, and, if
    /// the chip is strict, for a page that must not be programmed.
    pub fn program(
        &mut self,
        at: At,
        data: &[u8],
        oob: &[u8],
        access: Access,
    ) -> Result<Status, ConfigError> {
        self.check(at)?;
        let page_bytes = self.options.page_bytes as usize;
        if data.len() != page_bytes {
            let message = format!("{} bytes; accepted: the {page_bytes} of a page", data.len());
            return Err(ConfigError::new("data", message));
        }
        let room = match access {
            Access::Coded => self.geometry().oob_free_bytes,
            Access::Raw => self.options.oob_bytes,
        };
        if oob.len() > room as usize {
            let message = format!("{} bytes; accepted: up to {room}", oob.len());
            return Err(ConfigError::new("oob", message));
        }
        if self.is_off {
            return Ok(Status::NoPower);
        }
        if self.has_marker(at.block) {
            self.stats.failed_programs += 1;
            return Ok(Status::Failed);
        }
        self.check_rules(at)?;
        let mut bytes = vec![0xff; self.options.raw_bytes()];
        bytes[..page_bytes].copy_from_slice(data);
        bytes[page_bytes..page_bytes + oob.len()].copy_from_slice(oob);
        if access == Access::Coded {
            self.code.encode(&mut bytes);
        }
        self.stats.programs += 1;
        let is_cut = self.power_fails();
        let block = &mut self.blocks[at.block as usize];
        let has_failed = block.fails_program;
        if is_cut || has_failed {
            // A share of the zeros is there.
            tear(&mut self.rng, &mut bytes, |byte, pattern| byte | !pattern);
        }
        block.next = block.next.max(at.page + 1);
        for (stored, byte) in self.stored(at).iter_mut().zip(bytes) {
            *stored &= byte;
        }
        let hours = self.hours;
        let block = &mut self.blocks[at.block as usize];
        let page = block.pages.get_mut(&at.page).expect("was stored just now");
        page.programs += 1;
        if page.programs == 1 {
            page.hours = hours;
        }
        self.stats.failed_programs += u64::from(has_failed && !is_cut);
        Ok(outcome(is_cut, has_failed))
    }

    /// Whether a page may be programmed.
    fn check_rules(&self, at: At) -> Result<(), ConfigError> {
        if !self.options.strict {
            return Ok(());
        }
        let At { block, page } = at;
        let found = &self.blocks[block as usize];
        let refused = |why: String| {
            let message = format!("page {page} of block {block} {why}; erase the block first");
            Err(ConfigError::new("program", message))
        };
        if found.is_half_erased {
            return refused("follows an erase that was not finished".to_owned());
        }
        let programs = found.pages.get(&page).map_or(0, |page| page.programs);
        if programs >= self.options.nop {
            return refused(format!("was programmed {programs} times, as often as `nop` allows"));
        }
        if page + 1 < found.next {
            return refused(format!("comes after page {} was programmed", found.next - 1));
        }
        Ok(())
    }

    /// Erases a block.
    ///
    /// # Errors
    /// [`ConfigError`] for a block that does not exist.
    pub fn erase(&mut self, block: u32, erasure: Erasure) -> Result<Status, ConfigError> {
        self.check(At { block, page: 0 })?;
        if self.is_off {
            return Ok(Status::NoPower);
        }
        if erasure == Erasure::Careful && self.has_marker(block) {
            self.stats.failed_erases += 1;
            return Ok(Status::Failed);
        }
        self.stats.erases += 1;
        let is_cut = self.power_fails();
        let found = &mut self.blocks[block as usize];
        let has_failed = found.fails_erase;
        if is_cut || has_failed {
            // A share of the zeros is gone.
            for page in found.pages.values_mut() {
                tear(&mut self.rng, &mut page.bytes, |byte, pattern| byte | pattern);
            }
            found.is_half_erased = true;
        } else {
            *found = Block {
                erases: found.erases + 1,
                hours: self.hours,
                fails_program: found.fails_program,
                ..Block::default()
            };
        }
        self.stats.failed_erases += u64::from(has_failed && !is_cut);
        Ok(outcome(is_cut, has_failed))
    }

    /// Lets the chip grow old: cycles of all blocks, and hours in which nothing is done.
    ///
    /// Hours at several temperatures are added with the activation energy of JESD218, 1.1 eV.
    ///
    /// # Errors
    /// [`ConfigError`] for numbers that are negative, not finite or too large, and for a chip
    /// whose reads do not depend on its age.
    pub fn age(&mut self, pe: f64, hours: f64, celsius: f64) -> Result<(), ConfigError> {
        check((0.0..=AMOUNT_MAX).contains(&pe), "pe", pe, "0 to 1e12")?;
        check((0.0..=AMOUNT_MAX).contains(&hours), "hours", hours, "0 to 1e12")?;
        check_temperature("celsius", celsius)?;
        if !self.ages {
            let message = "is none, so reads do not depend on age; accepted: a model, such as \
                           `states`, when the chip is made";
            return Err(ConfigError::new("reliability", message));
        }
        self.pe_cycles = (self.pe_cycles + pe).min(AMOUNT_MAX);
        if hours > 0.0 {
            self.hours += hours * hours_of(celsius);
        }
        Ok(())
    }

    /// Whether the power fails in the operation that begins.
    fn power_fails(&mut self) -> bool {
        let Some(left) = &mut self.cut else { return false };
        *left -= 1;
        if *left > 0 {
            return false;
        }
        (self.cut, self.is_off) = (None, true);
        self.stats.cuts += 1;
        true
    }

    /// The bytes of a page, kept until the next erase.
    pub(crate) fn stored(&mut self, at: At) -> &mut [u8] {
        let block = &mut self.blocks[at.block as usize];
        let (hours, size) = (block.hours, self.options.raw_bytes());
        let page = block.pages.entry(at.page).or_insert_with(|| {
            let bytes = vec![0xff; size].into_boxed_slice();
            Page { bytes, programs: 0, hours }
        });
        &mut page.bytes
    }

    pub(crate) fn check(&self, at: At) -> Result<(), ConfigError> {
        within("block", at.block, 0..=self.blocks.len() as u32 - 1)?;
        within("page", at.page, 0..=self.options.pages_per_block - 1)
    }
}

/// The hours at [`REFERENCE_C`] that one hour at `celsius` is.
fn hours_of(celsius: f64) -> f64 {
    acceleration(JESD218_EA_EV, REFERENCE_C, celsius)
}

fn outcome(is_cut: bool, has_failed: bool) -> Status {
    match (is_cut, has_failed) {
        (true, _) => Status::NoPower,
        (false, true) => Status::Failed,
        (false, false) => Status::Ok,
    }
}

/// Changes bytes by patterns in which a drawn share of the bits is set: the effect of an
/// operation that was not finished.
fn tear(rng: &mut Rng, bytes: &mut [u8], change: impl Fn(u8, u8) -> u8) {
    let share = rng.below(257) as u16;
    for byte in bytes {
        let draws = rng.next_u64().to_le_bytes();
        let pattern =
            (0..8).fold(0, |pattern, bit| pattern | u8::from(u16::from(draws[bit]) < share) << bit);
        *byte = change(*byte, pattern);
    }
}
