//! What the host knows, and holds the drive to after a cut: every write and trim that it issued,
//! when it was acknowledged, and which of them a flush covers.
//!
//! The log is outside the drive and survives every cut. A flush covers the writes and trims that
//! were acknowledged before it was issued.

use crate::units::Ns;

/// A write or a trim of one logical page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoggedWrite {
    /// The logical page.
    pub lpn: u32,
    /// The number of this write or trim among those of the page.
    pub version: u32,
    /// Whether it trims.
    pub is_trim: bool,
    /// The request that it is part of.
    pub token: u64,
    /// When it was asked for.
    pub issued: Ns,
    /// When it was acknowledged.
    pub acked: Option<Ns>,
    /// Whether the host may rely on it: a flush that covers it was acknowledged, or it was
    /// acknowledged itself and has force unit access.
    pub is_covered: bool,
    /// Whether it has force unit access.
    pub is_fua: bool,
}

/// A version of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageVersion {
    /// The logical page.
    pub lpn: u32,
    /// The number of its write or trim among those of the page.
    pub version: u32,
}

/// A place in [`HostLog::asked`].
type Place = u32;

/// A flush in progress.
#[derive(Clone, Debug)]
struct Flush {
    token: u64,
    /// The writes and trims that it covers. They are listed when it is issued, since only the order
    /// of calls shows which of two events at the same time was first.
    covers: Vec<Place>,
}

/// A request of writes or trims that is not acknowledged.
#[derive(Clone, Debug)]
struct Running {
    token: u64,
    places: std::ops::Range<Place>,
}

/// The known content of a page before the first request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownPage {
    /// The version of its last write or trim.
    pub version: u32,
    /// Whether it holds data.
    pub has_data: bool,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct HostLog {
    /// In the order in which they were issued.
    pub asked: Vec<LoggedWrite>,
    /// By logical page, the known content before the first request.
    pub base: Vec<KnownPage>,
    flushes: Vec<Flush>,
    /// Acknowledged writes and trims that no acknowledged flush covers.
    uncovered: Vec<Place>,
    running: Vec<Running>,
    /// Requests that were acknowledged, reads included.
    pub acked_requests: u64,
}

/// The writes and trims of each page.
pub(super) struct ByPage {
    /// By logical page, its first write or trim, or [`NONE`].
    first: Vec<Place>,
    /// By write or trim, the next of its page, or [`NONE`].
    next: Vec<Place>,
}

/// Ends the list of a page: no write or trim follows.
const NONE: Place = Place::MAX;

impl ByPage {
    /// Places in the log of the writes and trims of a page, in their order.
    #[inline]
    pub(super) fn of(&self, lpn: u32) -> impl Iterator<Item = usize> + '_ {
        let mut place = self.first[lpn as usize];
        std::iter::from_fn(move || {
            let next = *self.next.get(place as usize)?;
            Some(std::mem::replace(&mut place, next) as usize)
        })
    }

    /// Whether a page has any write or trim.
    #[inline]
    pub(super) fn has(&self, lpn: u32) -> bool {
        self.first[lpn as usize] != NONE
    }
}

impl HostLog {
    /// A host that knows this of the pages.
    pub fn new(base: Vec<KnownPage>) -> Self {
        Self { base, ..Self::default() }
    }

    /// The writes and trims of each page.
    pub(super) fn by_page(&self) -> ByPage {
        let (mut first, mut next) = (vec![NONE; self.base.len()], vec![NONE; self.asked.len()]);
        for (place, it) in self.asked.iter().enumerate().rev() {
            next[place] = std::mem::replace(&mut first[it.lpn as usize], place as Place);
        }
        ByPage { first, next }
    }

    /// Notes that a write or a trim of these pages was issued, each as `like`.
    pub fn note_ask(&mut self, like: LoggedWrite, pages: impl Iterator<Item = PageVersion>) {
        let first = self.asked.len() as Place;
        let logged = |PageVersion { lpn, version }| LoggedWrite { lpn, version, ..like };
        self.asked.extend(pages.map(logged));
        self.running.push(Running { token: like.token, places: first..self.asked.len() as Place });
    }

    /// Notes that a flush was issued.
    pub fn note_flush(&mut self, token: u64) {
        self.flushes.push(Flush { token, covers: self.uncovered.clone() });
    }

    /// Notes that a request was acknowledged. One that was not noted when it was issued is a read,
    /// and is only counted.
    pub fn note_ack(&mut self, token: u64, at: Ns) {
        self.acked_requests += 1;
        if let Some(index) = self.flushes.iter().position(|it| it.token == token) {
            for covered in self.flushes.swap_remove(index).covers {
                self.asked[covered as usize].is_covered = true;
            }
            let asked = &self.asked;
            self.uncovered.retain(|&place| !asked[place as usize].is_covered);
        } else if let Some(index) = self.running.iter().position(|it| it.token == token) {
            for place in self.running.swap_remove(index).places {
                let asked = &mut self.asked[place as usize];
                asked.acked = Some(at);
                asked.is_covered |= asked.is_fua;
                if !asked.is_covered {
                    self.uncovered.push(place);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(log: &mut HostLog, token: u64, lpn: u32, is_fua: bool) {
        let like = LoggedWrite { token, issued: Ns(token), is_fua, ..LoggedWrite::default() };
        log.note_ask(like, [PageVersion { lpn, version: 1 }].into_iter());
    }

    #[test]
    fn a_flush_covers_what_was_acknowledged_before_it_was_issued() {
        let mut log = HostLog::new(vec![KnownPage::default(); 4]);
        (0..3).for_each(|token| write(&mut log, token, token as u32, false));
        log.note_ack(0, Ns(10));
        log.note_flush(7);
        // At the same time as the flush, and after it.
        log.note_ack(1, Ns(10));
        log.note_ack(7, Ns(20));
        let covered: Vec<bool> = log.asked.iter().map(|it| it.is_covered).collect();
        assert_eq!(covered, [true, false, false]);
        assert_eq!(log.asked[2].acked, None);
        log.note_flush(8);
        log.note_ack(8, Ns(30));
        assert!(log.asked[1].is_covered && !log.asked[2].is_covered);
    }

    #[test]
    fn force_unit_access_is_covered_when_acknowledged_and_reads_are_counted() {
        let mut log = HostLog::new(vec![KnownPage::default(); 2]);
        write(&mut log, 0, 1, true);
        assert!(!log.asked[0].is_covered);
        log.note_ack(0, Ns(5));
        log.note_ack(99, Ns(6));
        assert!(log.asked[0].is_covered);
        assert_eq!(log.acked_requests, 2);
        let by_page = log.by_page();
        assert_eq!((by_page.of(1).collect::<Vec<_>>(), by_page.has(0)), (vec![0], false));
    }
}
