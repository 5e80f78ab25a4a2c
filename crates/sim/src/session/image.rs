//! Saves and loads the contents of a served drive, behind its image.
//!
//! ```text
//! image of the drive (`image`)
//! "ONLBYTES" · format u32 · unit bytes u32 · units u64                      little endian
//! each page: logical page u32 · newest version u32
//!            unit at the place of the page: logical page u32 · version u32 · seal u32 · flags u32
//!            CRC-32 of the words and the bytes u32 · bytes if flag 1
//! sections (`sections`): "memory" of a drive that was being served or has areas, "life"
//! ```
//! Only units that the map points at are saved, by logical page; their places are in the image. The
//! bytes are those that `host.protection` stores. The CRC is that of the file: a damaged file is
//! refused, while data that a fault had damaged on the flash stays damaged.

use std::io::{self, Read, Write};

use super::sections;
use super::session::Session;
use crate::drive::image::{self, contents_of, CONTENTS_WORD};
use crate::drive::Service;
use crate::nand::{SavedUnit, Unit};
use crate::units::Lpn;

/// The format of the contents behind an image.
const CONTENTS_VERSION: u32 = 2;
/// Sections: the life of the drive, and the data in its memory.
pub(super) const LIFE: &str = "life";
pub(super) const MEMORY: &str = "memory";
/// Flags of a unit.
const HAS_BYTES: u32 = 1;
const IS_DAMAGED: u32 = 2;
const IS_LOST: u32 = 4;

/// CRC-32 of the saved words and bytes of a page.
fn checksum(words: &[u32; 6], bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for word in words {
        hasher.update(&word.to_le_bytes());
    }
    hasher.update(bytes);
    hasher.finalize()
}

/// Writes the record of a page.
pub(super) fn write_unit(file: &mut impl Write, words: &[u32; 6], bytes: &[u8]) -> io::Result<()> {
    for word in words {
        file.write_all(&word.to_le_bytes())?;
    }
    file.write_all(&checksum(words, bytes).to_le_bytes())?;
    file.write_all(bytes)
}

impl Session {
    /// Writes the image of a drive that was [settled](Session::settle), followed by the contents of
    /// its pages.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn save(&self, file: &mut impl Write) -> io::Result<()> {
        let Some(contents) = &self.drive.media.contents else {
            return file.write_all(&image::save(&self.drive));
        };
        let mut head = image::save_before_contents(&self.drive);
        let pages = || (0..self.drive.ftl.figures().logical_pages()).map(Lpn);
        let units = || pages().filter_map(|lpn| self.saved_words(lpn));
        self.begin_contents(&mut head, units().count());
        file.write_all(&head)?;
        for (words, unit) in units() {
            write_unit(file, &words, contents.bytes_of(&unit).unwrap_or(&[]))?;
        }
        if contents.staged_count() > 0 {
            sections::write(file, MEMORY, &self.memory())?;
        }
        let life = self.life_now(Service::default()).to_string();
        sections::write(file, LIFE, life.as_bytes())
    }

    /// Adds the beginning of the contents of `count` units.
    pub(super) fn begin_contents(&self, head: &mut Vec<u8>, count: usize) {
        head.extend(CONTENTS_WORD);
        head.extend(CONTENTS_VERSION.to_le_bytes());
        head.extend((self.unit_bytes() as u32).to_le_bytes());
        head.extend((count as u64).to_le_bytes());
    }

    /// The words of a page, and the unit at its place in the map.
    pub(super) fn saved_words(&self, lpn: Lpn) -> Option<([u32; 6], Unit)> {
        let (newest, unit) = self.saved(lpn)?;
        let contents = self.drive.media.contents.as_ref()?;
        let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
        let flags = flag(unit.has_bytes(), HAS_BYTES)
            | flag(unit.is_damaged(), IS_DAMAGED)
            | flag(unit.is_lost(), IS_LOST);
        let seal = contents.seal_of(unit);
        Some(([lpn.0, newest, unit.lpn, unit.version, seal, flags], *unit))
    }

    /// The newest version of a page, and the unit at its place in the map.
    fn saved(&self, lpn: Lpn) -> Option<(u32, &Unit)> {
        let (block, index) = self.place(lpn)?;
        let contents = self.drive.media.contents.as_ref()?;
        Some((contents.version_of(lpn), contents.at(block, index)?))
    }

    /// Takes over the contents of the pages of an image, if the image is of a served drive.
    ///
    /// # Errors
    /// A sentence when the bytes are damaged or of another drive.
    pub fn load_contents(&mut self, image: &[u8]) -> Result<(), String> {
        let Some(mut bytes) = contents_of(image) else { return Ok(()) };
        let file = &mut bytes;
        let mut word = [0; 8];
        let _ = file.read_exact(&mut word);
        let (version, unit_bytes) = (number(file)?, number(file)?);
        if version != CONTENTS_VERSION {
            return Err(format!(
                "the contents are of format {version}, known is {CONTENTS_VERSION}"
            ));
        }
        if u64::from(unit_bytes) != self.unit_bytes() {
            return Err(format!("the contents are of units of {unit_bytes} bytes"));
        }
        let count = u64::from(number(file)?) | u64::from(number(file)?) << 32;
        for _ in 0..count {
            self.load_unit(file)?;
        }
        while !file.is_empty() {
            let (name, bytes) = sections::take(file)?;
            match name.as_str() {
                LIFE => self.begin_life(bytes)?,
                MEMORY => self.write_memory(bytes)?,
                _ => return Err(format!("the section `{name}` is not known")),
            }
        }
        Ok(())
    }

    fn load_unit(&mut self, file: &mut &[u8]) -> Result<(), String> {
        let mut words = [0; 6];
        for word in &mut words {
            *word = number(file)?;
        }
        let expected = number(file)?;
        let [page, newest, lpn, version, seal, flags] = words;
        let stored = self.contents().stored_unit_bytes();
        let length = if flags & HAS_BYTES == 0 { 0 } else { stored };
        let (bytes, rest) = file.split_at_checked(length).ok_or("the contents are cut off")?;
        *file = rest;
        if checksum(&words, bytes) != expected {
            return Err(format!("the contents of page {page} are damaged"));
        }
        let pages = self.drive.ftl.figures().logical_pages();
        let place = (page < pages && lpn < pages).then(|| self.place(Lpn(page))).flatten();
        let Some(place) = place else {
            return Err(format!("the contents have page {page}, which the map does not"));
        };
        let [is_damaged, is_lost] = [IS_DAMAGED, IS_LOST].map(|flag| flags & flag != 0);
        if is_damaged || lpn != page {
            self.faults.struck.push(page);
        }
        let pages_per_block = self.drive.geometry.pages_per_block;
        let stored = (length > 0).then_some(bytes);
        let saved = SavedUnit { lpn, version, stored, seal, is_damaged, is_lost };
        self.contents().restore((Lpn(page), newest), &saved, place, pages_per_block);
        Ok(())
    }
}

fn number(file: &mut &[u8]) -> Result<u32, String> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes).map_err(|_| "the contents are cut off".to_owned())?;
    Ok(u32::from_le_bytes(bytes))
}
