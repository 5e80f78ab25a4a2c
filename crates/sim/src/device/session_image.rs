//! What a served drive holds, behind its image: saved and loaded.
//!
//! ```text
//! image of the drive (`image`)
//! "ONLBYTES" · format u32 · unit bytes u32 · units u64                      little endian
//! each unit: logical page u32 · version u32 · CRC-32 u32 · 0 or 1 u32 · bytes if 1
//! ```
//! Only what the map points at is saved, by logical page; where it lies the image knows. Each unit
//! keeps its CRC, so a file that was damaged is found out and refused.

use std::io::{self, Read, Write};
use std::sync::Arc;

use super::image::{self, contents_of, CONTENTS_WORD};
use super::session::Session;
use crate::nand::Unit;
use crate::units::Lpn;

/// The format of what is saved behind an image.
const CONTENTS_VERSION: u32 = 1;

impl Session {
    /// Writes the image of a drive that was [settled](Session::settle), and behind it what its
    /// pages hold.
    ///
    /// # Errors
    /// What the file says.
    pub fn save(&self, file: &mut impl Write) -> io::Result<()> {
        file.write_all(&image::save(&self.drive))?;
        let units = || (0..self.drive.ftl.logical_pages()).filter_map(|page| self.saved(Lpn(page)));
        file.write_all(CONTENTS_WORD)?;
        file.write_all(&CONTENTS_VERSION.to_le_bytes())?;
        file.write_all(&(self.unit_bytes as u32).to_le_bytes())?;
        file.write_all(&(units().count() as u64).to_le_bytes())?;
        for unit in units() {
            let has_bytes = u32::from(unit.bytes.is_some());
            for word in [unit.lpn, unit.version, unit.crc, has_bytes] {
                file.write_all(&word.to_le_bytes())?;
            }
            file.write_all(unit.bytes.as_deref().unwrap_or(&[]))?;
        }
        Ok(())
    }

    fn saved(&self, lpn: Lpn) -> Option<&Unit> {
        let (block, index) = self.place(lpn)?;
        self.drive.media.contents.as_ref()?.at(block, index)
    }

    /// Takes up what the pages of an image held, if the image is of a served drive.
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
        if u64::from(unit_bytes) != self.unit_bytes {
            return Err(format!("the contents are of units of {unit_bytes} bytes"));
        }
        let count = u64::from(number(file)?) | u64::from(number(file)?) << 32;
        for _ in 0..count {
            self.load_unit(file)?;
        }
        if file.is_empty() {
            Ok(())
        } else {
            Err(format!("{} bytes too many behind the contents", file.len()))
        }
    }

    fn load_unit(&mut self, file: &mut &[u8]) -> Result<(), String> {
        let [lpn, version, crc, has_bytes] =
            [number(file)?, number(file)?, number(file)?, number(file)?];
        let bytes = if has_bytes == 0 {
            None
        } else {
            let split = file.split_at_checked(self.unit_bytes as usize);
            let (bytes, rest) = split.ok_or("the contents are cut off")?;
            *file = rest;
            Some(Arc::from(bytes))
        };
        let is_known = lpn < self.drive.ftl.logical_pages();
        let place = is_known.then(|| self.place(Lpn(lpn))).flatten();
        let Some((block, index)) = place else {
            return Err(format!("the contents have page {lpn}, which the map does not"));
        };
        let pages_per_block = self.drive.geometry.pages_per_block;
        self.contents().restore(
            Unit { lpn, version, crc, bytes, is_lost: false },
            block,
            index,
            pages_per_block,
        );
        self.unit(Lpn(lpn))
            .map(|_| ())
            .map_err(|error| format!("the contents are damaged: {error}"))
    }
}

fn number(file: &mut &[u8]) -> Result<u32, String> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes).map_err(|_| "the contents are cut off".to_owned())?;
    Ok(u32::from_le_bytes(bytes))
}
