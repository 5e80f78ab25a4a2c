//! Data of commands whose pages the drive chooses when it carries them out: appends to zones, and
//! writes that a zone may refuse.
//!
//! ```text
//! host ─► arriving, by tag ─ the zone takes it ─► staged, by page ─ program ─► units
//!                            └ refused: dropped
//! ```

use super::{Contents, Media};
use crate::units::Lpn;

impl Contents {
    /// A tagged command brings data; without, it brings zeros.
    pub(crate) fn expect(&mut self, tag: u32, data: &[u8]) {
        self.arriving.insert(tag, data.to_vec());
    }

    /// The command with a tag has ended.
    pub(crate) fn forget_arrival(&mut self, tag: u32) {
        self.arriving.remove(&tag);
    }

    /// Data of a page that no command holds: it leaves with its program.
    pub(crate) fn keep(&mut self, lpn: Lpn, data: Option<&[u8]>) {
        self.stage(lpn, data);
        if let Some(staged) = self.staged.get_mut(&lpn.0) {
            staged.holds = 0;
        }
    }

    /// Data in memory of these pages is dropped.
    fn discard(&mut self, first: Lpn, page_count: u32) {
        let pages = self.staged.range(first.0..first.0 + page_count);
        for lpn in pages.map(|(&lpn, _)| lpn).collect::<Vec<_>>() {
            self.remove_staged(Lpn(lpn));
        }
    }

    /// The data with a tag is that of these pages; their programs take it.
    fn bring(&mut self, tag: u32, first: Lpn, page_count: u32) {
        let data = self.arriving.remove(&tag).unwrap_or_default();
        let mut units = data.chunks_exact(self.unit_bytes());
        for lpn in first.0..first.0 + page_count {
            let unit = units.next().filter(|bytes| bytes.iter().any(|&byte| byte != 0));
            self.keep(Lpn(lpn), unit);
        }
    }
}

impl Media {
    /// See [`FlashSink::bring`](crate::ftl::FlashSink::bring).
    pub(crate) fn bring(&mut self, tag: u32, first: Lpn, page_count: u32) {
        if let Some(contents) = &mut self.contents {
            contents.bring(tag, first, page_count);
        }
    }

    /// See [`FlashSink::discard`](crate::ftl::FlashSink::discard).
    pub(crate) fn discard(&mut self, first: Lpn, page_count: u32) {
        if let Some(contents) = &mut self.contents {
            contents.discard(first, page_count);
        }
    }
}
