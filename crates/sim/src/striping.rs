//! Which die a logical page belongs to, when that is fixed for life.
//!
//! ```text
//! Striping   lpn / stride mod size on each axis             any order of channels, dies, planes
//! Turns      together pages on a die, then on the next      the usual order, known by its formula
//!              lpn = (index / together * dies + die) * together + index mod together
//! DieRun     the pages of one die among consecutive ones
//! ```
//! Where dies take turns, the pages of a die are numbered without holes (`index`), so that tables
//! can be kept die by die and dies can work apart.

use std::cmp::Ordering;

use crate::units::Lpn;

/// See [`Turns::places`]: computing the places of a whole drive in order costs less than computing
/// each one separately.
#[derive(Clone, Debug)]
pub struct Places {
    dies: u32,
    together: u32,
    entries: u32,
    /// Of the first die in this turn.
    start: u32,
    die: u32,
    within: u32,
    at: u32,
}

impl Iterator for Places {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let place = self.at;
        self.at += 1;
        self.within += 1;
        if self.within == self.together {
            self.within = 0;
            self.die += 1;
            self.at = place.wrapping_add(1 + self.entries).wrapping_sub(self.together);
            if self.die == self.dies {
                self.die = 0;
                self.start += self.together;
                self.at = self.start;
            }
        }
        Some(place)
    }
}

/// One of the places that consecutive logical pages take turns on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The channels of the drive.
    Channel,
    /// The dies of a channel.
    Die,
    /// The planes that a block spans.
    Plane,
}

/// How consecutive logical pages go round the dies: `lpn / stride mod size` on each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Striping {
    pub(crate) channel_stride: u32,
    pub(crate) die_stride: u32,
    pub(crate) plane_stride: u32,
    /// Logical pages after which the order repeats.
    pub(crate) period: u32,
    /// Logical pages that stay together: those of a flash page.
    pub(crate) together: u32,
    turns: Option<Turns>,
}

impl Striping {
    /// The first axis of `order` varies fastest, behind the logical pages that stay together.
    pub(crate) fn new(
        order: [Axis; 3],
        [channels, dies_per_channel, planes]: [u32; 3],
        together: u32,
    ) -> Self {
        let mut strides = [1; 3];
        let mut stride = together;
        for axis in order {
            strides[axis as usize] = stride;
            stride *= [channels, dies_per_channel, planes][axis as usize];
        }
        let [channel_stride, die_stride, plane_stride] = strides;
        let dies = channels * dies_per_channel;
        let takes_turns =
            dies == 1 || (channel_stride == together && die_stride == together * channels);
        let turns = takes_turns.then(|| Turns::new(dies, together));
        Self { channel_stride, die_stride, plane_stride, period: stride, together, turns }
    }

    /// The same, for dies that are chosen otherwise.
    #[must_use]
    pub(crate) fn overruled(self) -> Self {
        Self { turns: self.turns.filter(|&turns| turns == Turns::One), ..self }
    }

    /// The turns of the dies, if pages are dealt in turns.
    #[inline]
    pub fn turns(&self) -> Option<Turns> {
        self.turns
    }
}

/// How dies take turns; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// One die has all pages.
    One,
    /// One page each, on 2^bits dies: a mask and a shift.
    Masked {
        /// See the variant.
        bits: u32,
    },
    /// One page each; divides by a multiplication with 2^64 / dies, exact for all 32-bit numbers.
    Divided {
        /// See the variant.
        dies: u32,
        /// See the variant.
        inverse: u64,
    },
    /// 2^`together_bits` pages each, on 2^bits dies: masks and shifts.
    MaskedGroups {
        /// See the variant.
        together_bits: u32,
        /// See the variant.
        bits: u32,
    },
    /// 2^`together_bits` pages each.
    Grouped {
        /// See the variant.
        together_bits: u32,
        /// As in [`Turns::Divided`].
        dies: u32,
        /// As in [`Turns::Divided`].
        inverse: u64,
    },
}

impl Turns {
    /// # Panics
    /// When the pages that stay together are no power of two.
    pub fn new(dies: u32, together: u32) -> Self {
        assert!(together.is_power_of_two(), "{together} pages together");
        // Not read by one die, for which it would not fit.
        let inverse = (u64::MAX / u64::from(dies)).wrapping_add(1);
        match (dies, together) {
            (1, _) => Self::One,
            (_, 1) if dies.is_power_of_two() => Self::Masked { bits: dies.trailing_zeros() },
            (_, 1) => Self::Divided { dies, inverse },
            _ => {
                let together_bits = together.trailing_zeros();
                if dies.is_power_of_two() {
                    Self::MaskedGroups { together_bits, bits: dies.trailing_zeros() }
                } else {
                    Self::Grouped { together_bits, dies, inverse }
                }
            }
        }
    }

    /// Dies that take turns.
    pub fn dies(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Masked { bits } | Self::MaskedGroups { bits, .. } => 1 << bits,
            Self::Divided { dies, .. } | Self::Grouped { dies, .. } => dies,
        }
    }

    /// The die of a page.
    #[inline]
    pub fn die(self, lpn: u32) -> u32 {
        self.place(lpn).0
    }

    /// The die of a page, and which of the pages of this die it is.
    #[inline]
    pub fn place(self, lpn: u32) -> (u32, u32) {
        match self {
            Self::One => (0, lpn),
            Self::Masked { bits } => (lpn & ((1 << bits) - 1), lpn >> bits),
            Self::Divided { dies, inverse } => divide(lpn, dies, inverse),
            Self::MaskedGroups { together_bits, bits } => {
                let (group, within) = (lpn >> together_bits, lpn & ((1 << together_bits) - 1));
                (group & ((1 << bits) - 1), group >> bits << together_bits | within)
            }
            Self::Grouped { together_bits, dies, inverse } => {
                let (die, turn) = divide(lpn >> together_bits, dies, inverse);
                let within = lpn & ((1 << together_bits) - 1);
                (die, turn << together_bits | within)
            }
        }
    }

    /// Positions of the pages from 0 on in a table with `entries` consecutive entries for each die.
    pub fn places(self, entries: u32) -> Places {
        let together = self.together();
        Places { dies: self.dies(), together, entries, start: 0, die: 0, within: 0, at: 0 }
    }

    /// The page that a die holds at an index.
    #[inline]
    pub fn lpn(self, die: u32, index: u32) -> u32 {
        match self {
            Self::One => index,
            Self::Masked { bits } => index << bits | die,
            Self::Divided { dies, .. } => index * dies + die,
            Self::MaskedGroups { together_bits, bits } => {
                let (turn, within) = (index >> together_bits, index & ((1 << together_bits) - 1));
                (turn << bits | die) << together_bits | within
            }
            Self::Grouped { together_bits, dies, .. } => {
                let within = index & ((1 << together_bits) - 1);
                ((index >> together_bits) * dies + die) << together_bits | within
            }
        }
    }

    /// Consecutive pages that stay on a die.
    fn together(self) -> u32 {
        match self {
            Self::MaskedGroups { together_bits, .. } | Self::Grouped { together_bits, .. } => {
                1 << together_bits
            }
            _ => 1,
        }
    }

    /// How many of the pages below `limit` a die holds.
    pub fn count_below(self, die: u32, limit: u32) -> u32 {
        let together = self.together();
        let (turn_of, index) = self.place(limit);
        let rounds = index & !(together - 1);
        match die.cmp(&turn_of) {
            Ordering::Less => rounds + together,
            Ordering::Equal => index,
            Ordering::Greater => rounds,
        }
    }
}

/// Remainder and quotient, with 2^64 / `divisor`.
#[inline]
fn divide(value: u32, divisor: u32, inverse: u64) -> (u32, u32) {
    let quotient = ((u128::from(value) * u128::from(inverse)) >> 64) as u32;
    (value - quotient * divisor, quotient)
}

/// Consecutive pages of one die: those that it has among consecutive logical pages.
#[derive(Clone, Copy, Debug)]
pub struct DieRun {
    turns: Turns,
    die: u32,
    index: u32,
    /// How many there are.
    pub count: u32,
}

impl DieRun {
    /// Those of `count` logical pages from `first` on that a die holds.
    pub fn new(turns: Turns, die: u32, first: Lpn, count: u32) -> Self {
        let index = turns.count_below(die, first.0);
        Self { turns, die, index, count: turns.count_below(die, first.0 + count) - index }
    }

    /// The logical page at a place in the run.
    #[inline]
    pub fn lpn(&self, place: u32) -> Lpn {
        Lpn(self.turns.lpn(self.die, self.index + place))
    }

    /// The `count` pages from `place` on.
    #[must_use]
    pub fn part(self, place: u32, count: u32) -> Self {
        Self { index: self.index + place, count, ..self }
    }

    /// Writes the logical pages of the run, in order, to a table of as many.
    #[inline]
    pub fn fill(&self, lpns: &mut [u32]) {
        if let Turns::MaskedGroups { .. } | Turns::Grouped { .. } = self.turns {
            for (lpn, place) in lpns.iter_mut().zip(0..) {
                *lpn = self.lpn(place).0;
            }
            return;
        }
        // In a form that is compiled to whole vectors.
        let (first, step) = (self.lpn(0).0, self.turns.dies());
        for (lpn, place) in lpns.iter_mut().zip(0..) {
            *lpn = first + place * step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dies_take_turns_as_the_formula_says() {
        for (dies, together) in [(1, 1), (1, 4), (2, 1), (8, 1), (3, 1), (8, 4), (3, 2), (6, 8)] {
            let turns = Turns::new(dies, together);
            assert_eq!(turns.dies(), dies);
            let mut held = vec![0; dies as usize];
            for lpn in 0..5000 {
                let (die, index) = turns.place(lpn);
                assert_eq!(die, lpn / together % dies, "{turns:?}, page {lpn}");
                assert_eq!(index, held[die as usize], "{turns:?}, page {lpn}");
                assert_eq!(turns.lpn(die, index), lpn, "{turns:?}");
                held[die as usize] += 1;
            }
            for (die, &count) in (0..).zip(&held) {
                assert_eq!(turns.count_below(die, 5000), count, "{turns:?}");
            }
            let entries = held.iter().copied().max().expect("there are dies");
            for (lpn, entry) in (0..5000).zip(turns.places(entries)) {
                let (die, index) = turns.place(lpn);
                assert_eq!(entry, die * entries + index, "{turns:?}, page {lpn}");
            }
        }
    }

    #[test]
    fn division_is_exact_up_to_the_last_page() {
        for dies in [3, 5, 7, 641, 65_537, 1_000_003] {
            let turns = Turns::new(dies, 1);
            for lpn in [0, 1, dies - 1, dies, u32::MAX / dies * dies - 1, u32::MAX - 1, u32::MAX] {
                assert_eq!(turns.place(lpn), (lpn % dies, lpn / dies), "{dies} dies, page {lpn}");
            }
        }
    }

    #[test]
    fn a_run_gives_each_die_its_pages() {
        for (dies, together) in [(1, 1), (4, 1), (3, 1), (4, 4), (3, 2), (8, 2)] {
            let turns = Turns::new(dies, together);
            for (first, count) in [(0, 1), (5, 0), (5, 3), (7, 40), (12, 24), (11, 97)] {
                for die in 0..dies {
                    let run = DieRun::new(turns, die, Lpn(first), count);
                    let mut lpns = vec![0; run.count as usize];
                    run.fill(&mut lpns);
                    let own = (first..first + count).filter(|&lpn| turns.die(lpn) == die);
                    assert_eq!(lpns, own.collect::<Vec<_>>(), "{turns:?}, {first}, {count}");
                    if run.count > 1 {
                        let mut tail = vec![0; run.count as usize - 1];
                        run.part(1, run.count - 1).fill(&mut tail);
                        assert_eq!(tail, lpns[1..], "{turns:?}");
                    }
                }
            }
        }
    }
}
