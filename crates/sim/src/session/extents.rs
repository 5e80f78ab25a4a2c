//! Data and holes: which bytes of the drive were written and not trimmed since.

use super::session::{Piece, Session};

/// Adjacent bytes of the drive that are all data or all hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its length.
    pub bytes: u64,
    /// Whether it holds no data, and reads as zeros.
    pub is_hole: bool,
}

impl Session {
    /// Data and holes from `offset` on, in order; at most `count_max` extents.
    pub fn extents(&self, offset: u64, length: u64, count_max: usize) -> Vec<Extent> {
        let mut extents: Vec<Extent> = Vec::new();
        let Some(contents) = &self.drive.media.contents else { return extents };
        for Piece { lpn, count, .. } in self.pieces(offset, length) {
            let is_hole = !contents.is_allocated(lpn, self.place(lpn));
            let is_full = extents.len() == count_max;
            match extents.last_mut() {
                Some(last) if last.is_hole == is_hole => last.bytes += count as u64,
                _ if is_full => break,
                _ => extents.push(Extent { bytes: count as u64, is_hole }),
            }
        }
        extents
    }
}
