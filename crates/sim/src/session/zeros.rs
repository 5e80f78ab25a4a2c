//! Zeros without pages of the flash, and trims: whole units are unmapped, parts of units written.

use super::session::{Part, Session};
use crate::nand::MediaError;
use crate::op::HostOp;
use crate::units::{Lpn, SECTOR_BYTES};

impl Session {
    /// The commands for zeros that need no pages: the parts of units at both ends are written, the
    /// rest is trimmed.
    pub(super) fn zero(
        &mut self,
        offset: u64,
        length: u64,
        is_fua: bool,
    ) -> Result<Vec<Part>, MediaError> {
        let (unit, end) = (self.unit_bytes(), offset + length);
        let (first, last) = (offset.next_multiple_of(unit), end / unit * unit);
        if first >= last {
            return Ok(vec![self.write(offset, length, None, is_fua)?]);
        }
        // Both ends are read before anything changes.
        for edge in [offset, end] {
            if edge % unit > 0 {
                self.unit(Lpn((edge / unit) as u32))?;
            }
        }
        let mut parts = Vec::new();
        for edge in [offset..first, last..end] {
            if !edge.is_empty() {
                parts.push(self.write(edge.start, edge.end - edge.start, None, is_fua)?);
            }
        }
        parts.extend(self.trim(first, last - first));
        Ok(parts)
    }

    /// The command that trims whole units: they read as zeros afterwards.
    pub(super) fn trim(&mut self, offset: u64, length: u64) -> Option<Part> {
        let unit = self.unit_bytes();
        let mut held = Vec::new();
        for lpn in (offset.div_ceil(unit)..(offset + length) / unit).map(|page| Lpn(page as u32)) {
            // Pages that read as zeros already cost nothing.
            if self.place(lpn).is_some() || self.contents().is_staged(lpn) {
                self.contents().stage_trim(lpn);
                held.push(lpn);
            }
        }
        // The sectors that are completely in the range.
        let first = offset.next_multiple_of(SECTOR_BYTES);
        let limit = (offset + length) / SECTOR_BYTES * SECTOR_BYTES;
        (first < limit).then(|| self.part(HostOp::Trim, first, limit - first, held))
    }
}
