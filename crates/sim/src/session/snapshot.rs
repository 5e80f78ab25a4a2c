//! An image of a drive while it is served.
//!
//! ```text
//! one look at the drive     tables, a list of the units, data in memory ─► Snapshot
//! many short ones           a few units each, with their bytes            ─► file
//! ```
//! The list holds the bytes of its units: what the drive writes meanwhile goes elsewhere, so the
//! image is that of the first look. Data that was in memory then is kept in a section
//! and written when the image is loaded. A snapshot ends early when the drive loses its power or
//! its data.

use super::image::{write_unit, MEMORY};
use super::sections;
use super::session::Session;
use crate::drive::image;
use crate::drive::{Counts, Service};
use crate::nand::Unit;
use crate::units::Lpn;

/// Units that are copied in one look.
const UNITS_TOGETHER: usize = 64;
/// Of a page in memory: bytes follow, or it is trimmed.
const HAS_BYTES: u32 = 1;
const IS_TRIM: u32 = 2;
const HEAD_BYTES: usize = 8;

/// See the module.
pub struct Snapshot {
    /// Tables, and the beginning of the contents.
    pub head: Vec<u8>,
    /// Sections behind the contents.
    pub tail: Vec<u8>,
    /// Units that are to come: their words, and their bytes.
    units: Vec<([u32; 6], Unit)>,
    recounts: u64,
}

impl Snapshot {
    /// What the first look has put together, in bytes.
    pub fn bytes(&self) -> u64 {
        let units = self.units.len() * size_of::<([u32; 6], Unit)>();
        (self.head.len() + self.tail.len() + units) as u64
    }
}

impl Session {
    /// Looks at the drive as it is now. By the image, `service` was its last.
    pub fn snapshot(&mut self, service: Service) -> Snapshot {
        let mut head = image::save_before_contents(&self.drive);
        let pages = (0..self.logical_pages()).map(Lpn);
        let mut units: Vec<_> = pages.filter_map(|lpn| self.saved_words(lpn)).collect();
        self.begin_contents(&mut head, units.len());
        // They are taken from the end.
        units.reverse();
        let mut tail = Vec::new();
        let memory = self.memory();
        let life = self.life_now(service).to_string();
        for (name, bytes) in [(MEMORY, &memory[..]), (super::image::LIFE, life.as_bytes())] {
            sections::write(&mut tail, name, bytes).expect("memory takes it");
        }
        let contents = self.contents();
        for (_, unit) in &units {
            contents.hold(unit);
        }
        Snapshot { head, tail, units, recounts: contents.recounts() }
    }

    /// Adds the next units of a snapshot to `bytes`; whether there are more.
    ///
    /// # Errors
    /// The bytes of its units are gone.
    pub fn copy_units(
        &mut self,
        snapshot: &mut Snapshot,
        bytes: &mut Vec<u8>,
    ) -> Result<bool, String> {
        let contents = self.contents();
        if contents.recounts() != snapshot.recounts {
            return Err("the drive has lost its power or its data in the meantime".to_owned());
        }
        let first = snapshot.units.len().saturating_sub(UNITS_TOGETHER);
        for (words, unit) in snapshot.units.drain(first..).rev() {
            write_unit(bytes, &words, contents.bytes_of(&unit).unwrap_or(&[]))
                .expect("memory takes it");
            contents.let_go(Some(unit));
        }
        Ok(!snapshot.units.is_empty())
    }

    /// Ends a snapshot early.
    pub fn drop_snapshot(&mut self, snapshot: Snapshot) {
        let contents = self.contents();
        if contents.recounts() == snapshot.recounts {
            snapshot.units.into_iter().for_each(|(_, unit)| contents.let_go(Some(unit)));
        }
    }

    /// The pages whose newest data is in memory.
    pub(super) fn memory(&self) -> Vec<u8> {
        let unit_bytes = self.unit_bytes() as usize;
        let contents = self.drive.media.contents.as_ref().expect("a session has contents");
        let mut memory = Vec::new();
        for (unit, is_trim) in contents.staged() {
            let bytes = contents.bytes_of(&unit).map(|bytes| &bytes[..unit_bytes]);
            let flags = u32::from(bytes.is_some()) | if is_trim { IS_TRIM } else { 0 };
            memory.extend(unit.lpn.to_le_bytes());
            memory.extend(flags.to_le_bytes());
            memory.extend(bytes.unwrap_or(&[]));
        }
        memory
    }

    /// Writes what a snapshot found in memory; counts begin behind that.
    ///
    /// # Errors
    /// A sentence when it makes no sense.
    pub(super) fn write_memory(&mut self, mut memory: &[u8]) -> Result<(), String> {
        let (unit, pages) = (self.unit_bytes(), self.logical_pages());
        let is_timed = self.executor.take().is_some();
        while !memory.is_empty() {
            let number = |at: usize| {
                memory.get(at..at + 4).map_or(u32::MAX, |it| {
                    u32::from_le_bytes(std::array::from_fn(|place| it[place]))
                })
            };
            let (lpn, flags) = (number(0), number(4));
            let length = if flags & HAS_BYTES == 0 { 0 } else { unit as usize };
            let limit = HEAD_BYTES + length;
            if lpn >= pages || flags > (HAS_BYTES | IS_TRIM) || memory.len() < limit {
                return Err(format!("the section `{MEMORY}` has page {lpn}, of {pages}"));
            }
            let (entry, rest) = memory.split_at(limit);
            memory = rest;
            let offset = u64::from(lpn) * unit;
            let data = Some(&entry[HEAD_BYTES..]).filter(|it| !it.is_empty());
            if self.zones().is_some_and(|zones| zones.keeps(lpn)) {
                self.contents().keep(Lpn(lpn), data);
                continue;
            }
            let part = if flags & IS_TRIM == 0 {
                self.write(offset, unit, data, true).ok()
            } else {
                self.trim(offset, unit)
            };
            // A worn-out drive loses it.
            if let Some(part) = part {
                let _ = self.run_untimed(&[part]);
            }
        }
        if is_timed {
            self.executor = Some(Self::executor_of(&mut self.drive));
        }
        self.origin = Counts::of(&self.drive);
        Ok(())
    }
}
