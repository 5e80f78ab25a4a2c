//! Clean copies of pages in the memory of the drive: of pages that were written through, and of
//! pages that were read. They can be dropped at any time, and serve reads until then.

use super::ReadCache;
use crate::units::Lpn;

/// Which copy served a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// One that was written through.
    WhenWritten,
    /// One that was read before.
    WhenRead,
}

/// See the module.
#[derive(Default)]
pub struct CleanCaches {
    written: Option<ReadCache>,
    read: Option<ReadCache>,
}

impl CleanCaches {
    /// The caches of a drive; `None` if it has neither.
    pub fn new(written: Option<ReadCache>, read: Option<ReadCache>) -> Option<Box<Self>> {
        (written.is_some() || read.is_some()).then(|| Box::new(Self { written, read }))
    }

    /// Whether there is a copy of a page.
    pub fn holds(&self, lpn: Lpn) -> bool {
        [&self.written, &self.read].into_iter().flatten().any(|cache| cache.holds(lpn))
    }

    /// The copy that serves a read, if there is one.
    pub fn find(&mut self, lpn: Lpn) -> Option<Copied> {
        let has = |cache: &mut Option<ReadCache>| cache.as_mut().is_some_and(|it| it.read(lpn));
        if has(&mut self.written) {
            Some(Copied::WhenWritten)
        } else {
            has(&mut self.read).then_some(Copied::WhenRead)
        }
    }

    /// A page was read from the flash.
    pub fn note_read(&mut self, lpn: Lpn) {
        if let Some(read) = &mut self.read {
            read.keep(lpn);
        }
    }

    /// The page has new data, on their way to the flash or to the write buffer.
    pub fn note_write(&mut self, lpn: Lpn) {
        if let Some(written) = &mut self.written {
            written.keep(lpn);
        }
        if let Some(read) = &mut self.read {
            read.forget(lpn);
        }
    }

    /// The page holds nothing any more.
    pub fn note_trim(&mut self, lpn: Lpn) {
        for cache in [&mut self.written, &mut self.read].into_iter().flatten() {
            cache.forget(lpn);
        }
    }

    /// Pages that were written through, and pages that were read; see [`ReadCache::save`].
    pub fn save(&self) -> [Vec<u64>; 2] {
        [&self.written, &self.read]
            .map(|cache| cache.as_ref().map_or_else(Vec::new, ReadCache::save))
    }

    /// Restores the state from [`CleanCaches::save`], into empty caches; false if it is invalid.
    pub fn restore(&mut self, numbers: [&[u64]; 2]) -> bool {
        let mut caches = [&mut self.written, &mut self.read].into_iter().zip(numbers);
        caches.all(|(cache, numbers)| match cache {
            Some(cache) => cache.restore(numbers),
            None => numbers.is_empty(),
        })
    }
}
