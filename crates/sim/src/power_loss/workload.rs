//! The requests of the host until the power fails: five patterns, drawn from the seed of the cut.

use crate::rng::Rng;

/// A pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// Writes of 1 to 16 units anywhere, some reads, 8 at a time; a flush after 16 requests or so.
    Random,
    /// Writes of 16 units, each behind the last, 4 at a time; a flush after 16 or so.
    Sequential,
    /// A write of 1 to 4 units, then a flush, one at a time: what a database commits.
    Sync,
    /// Writes, trims of 1 to 16 units and flushes, 8 at a time.
    Trim,
    /// Writes of one unit over 64 units, 16 at a time; a flush after 16 or so.
    Hot,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Random, Self::Sequential, Self::Sync, Self::Trim, Self::Hot];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Sequential => "sequential",
            Self::Sync => "sync",
            Self::Trim => "trim",
            Self::Hot => "hot",
        }
    }

    /// The pattern of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Requests that are in progress at the same time.
    pub(super) fn depth(self) -> usize {
        match self {
            Self::Random | Self::Trim => 8,
            Self::Sequential => 4,
            Self::Sync => 1,
            Self::Hot => 16,
        }
    }
}

/// A request of the host, in logical pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Read { first: u32, count: u32 },
    Write { first: u32, count: u32, is_fua: bool },
    Trim { first: u32, count: u32 },
    Flush,
}

/// Draws requests.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    pattern: Pattern,
    pages: u32,
    cursor: u32,
    owes_flush: bool,
    rng: Rng,
}

impl Asking {
    pub(super) fn new(pattern: Pattern, pages: u32, mut rng: Rng) -> Self {
        let cursor = rng.below(u64::from(pages)) as u32;
        Self { pattern, pages, cursor, owes_flush: false, rng }
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.rng.below(count) == 0
    }

    /// `count` pages somewhere.
    fn anywhere(&mut self, count: u32) -> (u32, u32) {
        let count = count.min(self.pages);
        (self.rng.below(u64::from(self.pages - count + 1)) as u32, count)
    }

    fn write(&mut self, (first, count): (u32, u32)) -> Ask {
        Ask::Write { first, count, is_fua: self.one_in(32) }
    }

    pub(super) fn next(&mut self) -> Ask {
        match self.pattern {
            Pattern::Random => {
                if self.one_in(16) {
                    return Ask::Flush;
                }
                let count = [1, 1, 1, 2, 4, 16][self.rng.below(6) as usize];
                let place = self.anywhere(count);
                if self.one_in(10) {
                    return Ask::Read { first: place.0, count: place.1 };
                }
                self.write(place)
            }
            Pattern::Sequential => {
                if self.one_in(16) {
                    return Ask::Flush;
                }
                let count = 16.min(self.pages);
                if self.cursor + count > self.pages {
                    self.cursor = 0;
                }
                let first = self.cursor;
                self.cursor += count;
                self.write((first, count))
            }
            Pattern::Sync => {
                self.owes_flush = !self.owes_flush;
                if !self.owes_flush {
                    return Ask::Flush;
                }
                let count = 1 + self.rng.below(4) as u32;
                let (first, count) = self.anywhere(count);
                Ask::Write { first, count, is_fua: false }
            }
            Pattern::Trim => {
                if self.one_in(12) {
                    return Ask::Flush;
                }
                let count = [1, 2, 4, 16][self.rng.below(4) as usize];
                let (first, count) = self.anywhere(count);
                if self.one_in(4) {
                    Ask::Trim { first, count }
                } else {
                    self.write((first, count))
                }
            }
            Pattern::Hot => {
                if self.one_in(16) {
                    return Ask::Flush;
                }
                let first = self.rng.below(u64::from(self.pages.min(64))) as u32;
                self.write((first, 1))
            }
        }
    }
}
