//! Reading ahead: pages that the drive fetches before a sequential reader asks for them.
//!
//! ```text
//! reads of a tenant   [ 0 ][ 1 ][ 2 ][ 3 ]         the second begins where the first ended
//! fetched ahead                 [ 2  3  4  5 ]     after the second read
//!                                        [ 6 ]     one more after each that follows
//! ```
//! Each tenant has one stream: a window of pages behind the end of its last read, in the memory of
//! the drive or on their way there. A read of such a page takes no flash time, or waits for the
//! running flash read. A write or trim of a page drops it; a read that does not begin where the
//! last one ended ends the stream. Only whole pages of the flash are fetched, so that their units
//! are sensed once.
//!
//! Left out: streams within a tenant, reading backwards or in strides, and windows that grow with
//! the length of a stream.

use std::collections::VecDeque;
use std::ops::Range;

use crate::op::{HostCommand, HostOp};
use crate::units::{Lpn, SECTOR_BYTES};

/// Marks flash operations that fetch ahead, in addition to the index of the fetch.
pub const FETCH: u32 = 1 << 31;

/// A page of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    /// Not to be had from here: nothing on the flash, newer in a cache, or dropped.
    Absent,
    /// On its way from the flash.
    Fetched(u32),
    /// In memory.
    Here,
}

/// The outcome of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing: the page comes from the flash.
    Nothing,
    /// The page, in memory.
    Here,
    /// A running flash read, for which the command now waits, and the time of its decoding.
    OnTheWay {
        /// In nanoseconds.
        decode_ns: u32,
    },
}

#[derive(Clone, Debug, Default)]
struct Stream {
    /// The sector after the last one read.
    next_sector: u64,
    is_sequential: bool,
    /// The page that the window begins with.
    first: u32,
    pages: VecDeque<Page>,
}

/// A flash read of a page; rebuilding a stripe takes several operations.
#[derive(Clone, Debug, Default)]
struct Fetch {
    stream: usize,
    page: u32,
    waits: u32,
    decode_ns: u32,
    /// Slots of commands that wait for it.
    waiters: Vec<u32>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct ReadAhead {
    window_sectors: u64,
    /// Sectors of a page, as a power of two.
    page_shift: u32,
    /// Pages of the FTL in a page of the flash.
    group: u32,
    logical_pages: u32,
    streams: Vec<Stream>,
    /// The stream of the command that is served.
    current: usize,
    fetches: Vec<Fetch>,
    free: Vec<u32>,
}

impl ReadAhead {
    /// No streams yet. Windows are of `window_bytes`, pages of `page_bytes`, of which a page of
    /// the flash holds `group`.
    pub fn new(window_bytes: u64, page_bytes: u64, group: u32, logical_pages: u32) -> Self {
        Self {
            window_sectors: window_bytes / SECTOR_BYTES,
            page_shift: (page_bytes / SECTOR_BYTES).trailing_zeros(),
            group,
            logical_pages,
            streams: Vec::new(),
            current: 0,
            fetches: Vec::new(),
            free: Vec::new(),
        }
    }

    /// A command of the host is about to be served.
    pub fn begin(&mut self, command: &HostCommand) {
        let page = |sector: u64| sector >> self.page_shift;
        let end = command.sector + u64::from(command.sector_count);
        match command.op {
            HostOp::Read => {}
            HostOp::Flush => return,
            // Commands that move a write pointer, or reset a zone: no page was read ahead there.
            HostOp::Zone(_) => return self.forget(0..u32::MAX),
            HostOp::Write | HostOp::Trim | HostOp::TrimMapped => {
                let past = end + (1 << self.page_shift) - 1;
                return self.forget(page(command.sector) as u32..page(past) as u32);
            }
        }
        self.current = usize::from(command.tenant);
        if self.streams.len() <= self.current {
            self.streams.resize(self.current + 1, Stream::default());
        }
        let stream = &mut self.streams[self.current];
        // A tenant's first read follows nothing, even at the beginning of the drive.
        stream.is_sequential = command.sector == stream.next_sector && stream.next_sector > 0;
        stream.next_sector = end;
        if !stream.is_sequential {
            stream.pages.clear();
        }
    }

    /// Drops pages that are written or trimmed, in the windows of all tenants.
    fn forget(&mut self, pages: Range<u32>) {
        for stream in &mut self.streams {
            let limit = stream.first + stream.pages.len() as u32;
            for page in pages.start.max(stream.first)..pages.end.min(limit) {
                stream.pages[(page - stream.first) as usize] = Page::Absent;
            }
        }
    }

    /// Finds a page that the command of this slot reads.
    pub fn find(&mut self, lpn: Lpn, slot: u32) -> Found {
        let stream = &self.streams[self.current];
        let place = lpn.0.wrapping_sub(stream.first) as usize;
        match stream.pages.get(place) {
            None | Some(Page::Absent) => Found::Nothing,
            Some(Page::Here) => Found::Here,
            Some(&Page::Fetched(fetch)) => {
                let fetch = &mut self.fetches[fetch as usize];
                fetch.waiters.push(slot);
                Found::OnTheWay { decode_ns: fetch.decode_ns }
            }
        }
    }

    /// The read was served: pages behind its end leave the window. Returns those that are to be
    /// fetched now, in their order: with [`ReadAhead::fetch`] and [`ReadAhead::fetched`] for each.
    pub fn wanted(&mut self) -> Range<u32> {
        let stream = &mut self.streams[self.current];
        if !stream.is_sequential {
            return 0..0;
        }
        // A page that was read in part is wanted for the rest of it.
        let first = (stream.next_sector >> self.page_shift) as u32;
        let limit = stream.first + stream.pages.len() as u32;
        if stream.pages.is_empty() || first >= limit {
            stream.pages.clear();
            stream.first = first;
        } else {
            stream.pages.drain(..first.saturating_sub(stream.first) as usize);
            stream.first = stream.first.max(first);
        }
        let end = (stream.next_sector + self.window_sectors) >> self.page_shift;
        let end = end.min(u64::from(self.logical_pages)) as u32;
        // Whole pages of the flash, except the last of the drive.
        let end = if end < self.logical_pages { end / self.group * self.group } else { end };
        let start = stream.first + stream.pages.len() as u32;
        start..end.max(start)
    }

    /// The next wanted page is about to be read: the mark of its operations.
    pub fn fetch(&mut self) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.fetches.push(Fetch::default());
            self.fetches.len() as u32 - 1
        });
        let stream = &mut self.streams[self.current];
        let page = stream.first + stream.pages.len() as u32;
        stream.pages.push_back(Page::Fetched(index));
        let fetch = &mut self.fetches[index as usize];
        (fetch.stream, fetch.page) = (self.current, page);
        FETCH | index
    }

    /// The number of operations that the last fetch waits for, and the time to decode their data,
    /// in nanoseconds; without operations the page is not available.
    pub fn fetched(&mut self, mark: u32, operations: u32, decode_ns: u32) {
        let index = mark & !FETCH;
        let fetch = &mut self.fetches[index as usize];
        (fetch.waits, fetch.decode_ns) = (operations, decode_ns);
        if operations == 0 {
            self.free.push(index);
            if let Some(page) = self.streams[self.current].pages.back_mut() {
                *page = Page::Absent;
            }
        }
    }

    /// The page of the last fetch cannot be corrected: it is not kept, and a command that asks for
    /// it reads it.
    pub fn lost(&mut self) {
        if let Some(page) = self.streams[self.current].pages.back_mut() {
            *page = Page::Absent;
        }
    }

    /// An operation of a fetch has ended. With the last of them the page is in memory, unless it
    /// was dropped meanwhile; the commands that wait for it are moved to `waiters`.
    pub fn done(&mut self, mark: u32, waiters: &mut Vec<u32>) {
        let index = mark & !FETCH;
        let fetch = &mut self.fetches[index as usize];
        fetch.waits -= 1;
        if fetch.waits > 0 {
            return;
        }
        waiters.append(&mut fetch.waiters);
        let stream = &mut self.streams[fetch.stream];
        let place = fetch.page.wrapping_sub(stream.first) as usize;
        if let Some(page) = stream.pages.get_mut(place) {
            if *page == Page::Fetched(index) {
                *page = Page::Here;
            }
        }
        self.free.push(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn command(op: HostOp, sector: u64, sector_count: u32) -> HostCommand {
        HostCommand::new(op, sector, sector_count)
    }

    /// Serves a read of one page; returns the outcome and the pages that were fetched.
    fn read(ahead: &mut ReadAhead, page: u32) -> (Found, Vec<u32>) {
        ahead.begin(&command(HostOp::Read, u64::from(page) * 8, 8));
        let found = ahead.find(Lpn(page), 7);
        let wanted = ahead.wanted();
        for _ in wanted.clone() {
            let mark = ahead.fetch();
            ahead.fetched(mark, 1, 7);
        }
        (found, wanted.collect())
    }

    #[test]
    fn the_second_read_in_a_row_starts_a_window_that_moves_along() {
        let mut ahead = ReadAhead::new(16_384, 4096, 1, 100);
        assert_eq!(read(&mut ahead, 0), (Found::Nothing, vec![]));
        assert_eq!(read(&mut ahead, 1), (Found::Nothing, vec![2, 3, 4, 5]));
        assert_eq!(read(&mut ahead, 2), (Found::OnTheWay { decode_ns: 7 }, vec![6]));
        let mut waiters = Vec::new();
        // Fetches are numbered in their order: the first two are pages 2 and 3.
        ahead.done(FETCH, &mut waiters);
        assert_eq!(waiters, [7]);
        ahead.done(FETCH | 1, &mut waiters);
        assert_eq!(read(&mut ahead, 3), (Found::Here, vec![7]));
        // Elsewhere: the stream has ended, and running fetches have no effect.
        assert_eq!(read(&mut ahead, 50), (Found::Nothing, vec![]));
        ahead.done(FETCH | 2, &mut waiters);
        assert_eq!(read(&mut ahead, 4), (Found::Nothing, vec![]));
        // There is no page beyond the end.
        assert_eq!(read(&mut ahead, 97), (Found::Nothing, vec![]));
        assert_eq!(read(&mut ahead, 98).1, [99]);
        assert_eq!(read(&mut ahead, 99), (Found::OnTheWay { decode_ns: 7 }, vec![]));
    }

    #[test]
    fn what_is_written_or_trimmed_is_dropped_on_its_way_too() {
        for op in [HostOp::Write, HostOp::Trim] {
            let mut ahead = ReadAhead::new(16_384, 4096, 1, 100);
            read(&mut ahead, 10);
            assert_eq!(read(&mut ahead, 11).1, [12, 13, 14, 15]);
            let mut waiters = Vec::new();
            ahead.done(FETCH, &mut waiters);
            // Half a page of 12, which is here, and all of 13, which is on its way.
            ahead.begin(&command(op, 12 * 8 + 4, 12));
            ahead.done(FETCH | 1, &mut waiters);
            ahead.done(FETCH | 2, &mut waiters);
            assert_eq!(read(&mut ahead, 12).0, Found::Nothing);
            assert_eq!(read(&mut ahead, 13).0, Found::Nothing);
            assert_eq!(read(&mut ahead, 14).0, Found::Here);
        }
    }

    #[test]
    fn units_of_a_page_are_fetched_together() {
        let mut ahead = ReadAhead::new(32_768, 4096, 4, 102);
        read(&mut ahead, 0);
        assert_eq!(read(&mut ahead, 1).1, (2..8).collect::<Vec<_>>());
        assert_eq!(read(&mut ahead, 2), (Found::OnTheWay { decode_ns: 7 }, vec![]));
        assert_eq!(read(&mut ahead, 3).1, (8..12).collect::<Vec<_>>());
        read(&mut ahead, 92);
        assert_eq!(read(&mut ahead, 93).1, (94..102).collect::<Vec<_>>());
    }

    #[test]
    fn a_page_that_was_read_in_part_is_wanted_for_the_rest() {
        let mut ahead = ReadAhead::new(8192, 4096, 1, 100);
        for sector in [0, 1] {
            ahead.begin(&command(HostOp::Read, sector, 1));
            assert_eq!(ahead.find(Lpn(0), 0), Found::Nothing);
        }
        assert_eq!(ahead.wanted(), 0..2);
    }

    #[test]
    fn nothing_stale_is_ever_found() {
        let mut rng = Rng::stream(1, "ahead");
        let mut ahead = ReadAhead::new(8 * 4096, 4096, 2, 64);
        // How often each page was written; and when it was fetched last, by page.
        let (mut version, mut seen) = ([0; 64], [0; 64]);
        let mut flying: Vec<u32> = Vec::new();
        let (mut next, mut found) = (0, [0; 3]);
        for _ in 0..200_000 {
            // Fetches end in any order.
            while flying.len() as u64 > rng.below(12) {
                let mark = flying.swap_remove(rng.below(flying.len() as u64) as usize);
                ahead.done(mark, &mut Vec::new());
            }
            if rng.below(8) == 0 {
                let op = if rng.below(2) == 0 { HostOp::Write } else { HostOp::Trim };
                let page = (next + rng.below(12)) % 60;
                ahead.begin(&command(op, page * 8 + 3, 16));
                for page in page..page + 3 {
                    version[page as usize] += 1;
                }
            } else {
                next = if rng.below(30) == 0 { rng.below(64) } else { next % 64 };
                ahead.begin(&command(HostOp::Read, next * 8, 8));
                let here = ahead.find(Lpn(next as u32), 0);
                let place = next as usize;
                let is_new = here == Found::Nothing || seen[place] == version[place];
                assert!(is_new, "page {next} is stale");
                let place = match here {
                    Found::Nothing => 0,
                    Found::Here => 1,
                    Found::OnTheWay { .. } => 2,
                };
                found[place] += 1;
                for page in ahead.wanted() {
                    let mark = ahead.fetch();
                    ahead.fetched(mark, 1, 7);
                    seen[page as usize] = version[page as usize];
                    flying.push(mark);
                }
                next += 1;
            }
        }
        assert!(found.iter().all(|&count| count > 1000), "{found:?}");
    }
}
