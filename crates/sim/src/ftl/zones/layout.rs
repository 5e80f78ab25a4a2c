//! Where the pages of a zone are: on which dies, and in which of their blocks.
//!
//! ```text
//!                       zone 0     zone 1     zone 2     zone 3       on dies 0 to 3, from the
//! all dies              0 1 2 3    0 1 2 3    0 1 2 3    0 1 2 3      die of its first page on
//! all dies, staggered   0 1 2 3    1 2 3 0    2 3 0 1    3 0 1 2
//! two dies              0 1        2 3        0 1        2 3
//! two dies, staggered   0 1        1 2        2 3        3 0
//! ```
//! The pages of a zone take turns on its dies: page `k` of zone `z` is on die
//! `(z * stride + k mod zone_dies) mod dies`. A host that writes some zones in turn writes the same
//! page of each, one after the other; unless zones are staggered, all of these are on one die.
//!
//! A die numbers its blocks of data by zone: those of its first zone, of its second, and so on.
//! With superblocks the dies are groups of dies.

use std::ops::Range;

use crate::units::{DieId, Lpn};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneLayout {
    /// Pages of the logical space that a zone takes: whole blocks of each of its dies.
    pub zone_pages: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Dies of the drive.
    pub dies: u32,
    /// Dies of a zone, which divide them.
    pub zone_dies: u32,
    /// Whether each zone begins one die behind the zone before it, not behind its last die.
    pub is_staggered: bool,
}

/// The place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZonePlace {
    /// The die.
    pub die: DieId,
    /// Which of its blocks of data.
    pub number: u32,
    /// Which page of that.
    pub offset: u32,
}

/// What a die holds of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZonePart {
    /// The die.
    pub die: DieId,
    /// Its blocks of data.
    pub numbers: Range<u32>,
    first: Lpn,
    step: u32,
}

impl ZonePart {
    /// The logical page at an index, counted over the blocks of the part.
    pub fn lpn(&self, index: u32) -> Lpn {
        Lpn(self.first.0 + index * self.step)
    }
}

impl ZoneLayout {
    /// Dies from the first of a zone to the first of the next.
    fn stride(self) -> u32 {
        if self.is_staggered {
            1
        } else {
            self.zone_dies
        }
    }

    /// Zones until one begins at the die of the first again.
    fn period(self) -> u32 {
        self.dies / self.stride()
    }

    /// Blocks of each of its dies that a zone takes.
    fn rows(self) -> u32 {
        self.zone_pages / self.zone_dies / self.pages_per_block
    }

    /// Blocks of each of its dies that hold the first pages of a zone.
    pub fn rows_of(self, pages: u32) -> u32 {
        pages.div_ceil(self.zone_dies * self.pages_per_block)
    }

    /// The die with this turn in a zone, and the number of its first block of data.
    #[inline]
    fn begin(self, zone: u32, turn: u32) -> (DieId, u32) {
        let (stride, period) = (self.stride(), self.period());
        let die = (zone % period * stride + turn) % self.dies;
        // Of the zones of a period, those that begin at this die or up to `zone_dies` before it.
        let before = zone / period * (self.zone_dies / stride) + turn / stride;
        (DieId(die), before * self.rows())
    }

    /// Where a logical page is.
    #[inline]
    pub fn place(self, lpn: Lpn) -> ZonePlace {
        let (zone, page) = (lpn.0 / self.zone_pages, lpn.0 % self.zone_pages);
        let (turn, index) = (page % self.zone_dies, page / self.zone_dies);
        let (die, first) = self.begin(zone, turn);
        let number = first + index / self.pages_per_block;
        ZonePlace { die, number, offset: index % self.pages_per_block }
    }

    /// The parts of a zone on its dies.
    pub fn parts(self, zone: u32) -> impl Iterator<Item = ZonePart> {
        (0..self.zone_dies).map(move |turn| {
            let (die, first) = self.begin(zone, turn);
            ZonePart {
                die,
                numbers: first..first + self.rows(),
                first: Lpn(zone * self.zone_pages + turn),
                step: self.zone_dies,
            }
        })
    }

    /// How many blocks of data a die of a drive with these zones can number.
    pub fn numbers(self, zones: u32) -> u32 {
        zones.div_ceil(self.period()) * (self.zone_dies / self.stride()) * self.rows()
    }

    /// Zones of the first `zones` of which a die holds a part.
    pub fn zones_on(self, die: DieId, zones: u32) -> u32 {
        let (stride, period) = (self.stride(), self.period());
        let holds = |&zone: &u32| (die.0 + self.dies - zone * stride) % self.dies < self.zone_dies;
        let rest = (0..zones % period).filter(holds).count() as u32;
        zones / period * (self.zone_dies / stride) + rest
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn layouts() -> impl Iterator<Item = ZoneLayout> {
        let shapes = [(1, 1), (4, 4), (4, 2), (4, 1), (6, 3), (6, 2), (16, 8), (5, 1), (5, 5)];
        shapes.into_iter().flat_map(|(dies, zone_dies)| {
            [false, true].map(|is_staggered| ZoneLayout {
                zone_pages: zone_dies * 3 * 4,
                pages_per_block: 4,
                dies,
                zone_dies,
                is_staggered,
            })
        })
    }

    /// Every page of a drive, placed as in the picture of the module.
    #[test]
    fn each_page_has_a_place_of_its_own_in_the_order_of_its_block() {
        for layout in layouts() {
            let ZoneLayout { zone_pages, dies, zone_dies, is_staggered, .. } = layout;
            for zones in [1, 7, 24] {
                let mut next = BTreeMap::new();
                for zone in 0..zones {
                    let first = zone * if is_staggered { 1 } else { zone_dies };
                    for page in 0..zone_pages {
                        let place = layout.place(Lpn(zone * zone_pages + page));
                        assert_eq!(place.die.0, (first + page % zone_dies) % dies, "{layout:?}");
                        assert!(place.number < layout.numbers(zones), "{layout:?}, {place:?}");
                        let offset = next.entry((place.die, place.number)).or_insert(0);
                        assert_eq!(place.offset, *offset, "{layout:?}, {place:?}");
                        *offset += 1;
                    }
                }
                assert!(next.values().all(|&written| written == 4), "whole blocks: {layout:?}");
                for die in (0..dies).map(DieId) {
                    let held = next.keys().filter(|key| key.0 == die).count() as u32;
                    assert_eq!(held, layout.zones_on(die, zones) * 3, "{layout:?}, {die:?}");
                }
            }
        }
    }

    #[test]
    fn the_parts_of_a_zone_are_its_pages() {
        for layout in layouts() {
            for zone in 0..20 {
                let mut pages = Vec::new();
                for part in layout.parts(zone) {
                    for (index, number) in (0..).zip(part.numbers.clone()) {
                        for offset in 0..4 {
                            let lpn = part.lpn(index * 4 + offset);
                            let place = ZonePlace { die: part.die, number, offset };
                            assert_eq!(layout.place(lpn), place, "{layout:?}");
                            pages.push(lpn.0);
                        }
                    }
                }
                pages.sort_unstable();
                let first = zone * layout.zone_pages;
                assert_eq!(pages, (first..first + layout.zone_pages).collect::<Vec<_>>());
            }
        }
    }

    /// Without either key, the dies take turns over the whole logical space.
    #[test]
    fn zones_over_all_dies_are_striped() {
        for dies in [1, 4, 5, 16] {
            let layout = ZoneLayout {
                zone_pages: dies * 8,
                pages_per_block: 4,
                dies,
                zone_dies: dies,
                is_staggered: false,
            };
            for lpn in 0..dies * 100 {
                let index = lpn / dies;
                let place =
                    ZonePlace { die: DieId(lpn % dies), number: index / 4, offset: index % 4 };
                assert_eq!(layout.place(Lpn(lpn)), place, "{layout:?}");
            }
        }
    }
}
