//! The knowledge of the host: its requests, their times and their acknowledgements.

use crate::units::Ns;

/// A write or a trim of one logical page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoggedWrite {
    /// The page.
    pub lpn: u32,
    /// The number of this write or trim among those of the page.
    pub version: u32,
    /// Whether it trims.
    pub is_trim: bool,
    /// The request.
    pub token: u64,
    /// When it was asked for.
    pub issued: Ns,
    /// When it was acknowledged.
    pub acked: Option<Ns>,
    /// Whether a flush that was issued later is acknowledged, or it was force unit access itself.
    pub is_covered: bool,
    /// Whether it is force unit access.
    pub is_fua: bool,
}

/// What a page is known to hold before the first request.
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
    /// By logical page.
    pub base: Vec<KnownPage>,
    /// Flushes in progress: request, and the writes and trims that were acknowledged before it was
    /// issued. Of events at the same time, only their order shows which was first.
    flushes: Vec<(u64, Vec<u32>)>,
    /// Places in `asked` of acknowledged writes and trims that no flush covers.
    uncovered: Vec<u32>,
    /// Requests that are not acknowledged: their places in `asked`.
    under_way: Vec<(u64, std::ops::Range<u32>)>,
    /// Requests that were acknowledged.
    pub acked_requests: u64,
}

/// The writes and trims of each page.
pub(super) struct ByPage {
    /// Of each page its first write or trim, as a place in the log.
    first: Vec<u32>,
    /// Of each write or trim the next of its page.
    next: Vec<u32>,
}

/// No write or trim.
const NONE: u32 = u32::MAX;

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
            next[place] = std::mem::replace(&mut first[it.lpn as usize], place as u32);
        }
        ByPage { first, next }
    }

    /// A write or a trim of pages was issued: their numbers and versions.
    pub fn ask(&mut self, like: LoggedWrite, pages: impl Iterator<Item = (u32, u32)>) {
        let first = self.asked.len() as u32;
        self.asked.extend(pages.map(|(lpn, version)| LoggedWrite { lpn, version, ..like }));
        self.under_way.push((like.token, first..self.asked.len() as u32));
    }

    /// A flush was issued.
    pub fn flush(&mut self, token: u64) {
        self.flushes.push((token, self.uncovered.clone()));
    }

    /// A request was acknowledged.
    pub fn ack(&mut self, token: u64, at: Ns) {
        self.acked_requests += 1;
        if let Some(place) = self.flushes.iter().position(|(it, _)| *it == token) {
            for covered in self.flushes.swap_remove(place).1 {
                self.asked[covered as usize].is_covered = true;
            }
            let asked = &self.asked;
            self.uncovered.retain(|&place| !asked[place as usize].is_covered);
        } else if let Some(place) = self.under_way.iter().position(|(it, _)| *it == token) {
            for place in self.under_way.swap_remove(place).1 {
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
