//! Superblocks: an open block that spans the dies of a group, and the places of its slots.
//!
//! A superblock is to dies what a multi-plane block is to planes: the FTL knows one wide block of
//! one wide die (the *group*), and the flash knows dies, blocks and pages as they are. This file
//! translates between the two. The slots of a program unit (a row of the planes, or the rows of a
//! wordline that are programmed at once) stay together on a member, then comes the next member,
//! then the next row:
//!
//! ```text
//!           place 0  place 1  place 2  place 3      slot = row × row slots + place × unit + offset
//! row 0     die 0    die 1    die 2    die 3        without parity
//!
//! row 0     die 1    die 2    die 3    die 0 P      with parity the order turns by a die each row,
//! row 1     die 2    die 3    die 0    die 1 P      so the last member of a row, which holds its
//! row 2     die 3    die 0    die 1    die 2 P      parity, is another one each time
//! ```
//! Some units of a row may hold the drive's own records instead of data (`m` below, the share is
//! 1/8): they are spread evenly over the rows, and over the places of data.
//!
//! ```text
//! row 0     d  d  d  P        the running sum of the share grows by 3/8 each row; when it passes
//! row 1     d  d  d  P        a whole number, a unit of the row is of that kind; never the first
//! row 2     m  d  d  P        of the superblock
//! ```
//! A member whose block is bad leaves a hole at its place, or gets another block of its die: the
//! [`Members`] of a superblock are a table. A block here is a block of the FTL: one block in each
//! plane of its die.

use crate::geometry::Geometry;
use crate::striping::Axis;

/// In place of the block of a member that is bad.
pub const HOLE: u32 = u32::MAX;

/// One, in parts of which metadata is counted.
const METADATA_UNIT: f64 = 4_294_967_296.0;

/// How superblocks are laid over the dies; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblocks {
    /// The flash: dies, blocks and pages as they are.
    flash: Geometry,
    /// Dies of a group.
    dies: u32,
    /// Slots that a member takes in a row, of native blocks and of those of one bit per cell.
    unit_slots: [u32; 2],
    /// Slots of the block of a member.
    member_slots: [u32; 2],
    /// Whether the last member of a row holds its parity.
    has_parity: bool,
    /// Units of a row that hold the drive's own records, in parts of 2^32.
    metadata_per_row: u64,
    /// Whether a bad block is replaced by another of its die.
    remaps: bool,
}

/// The place of a slot of a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The row.
    pub row: u32,
    /// Which of the members of the row, in the order in which they are written.
    pub place: u32,
    /// Which die of the group.
    pub member: u32,
    /// Index of the slot in the block of this die.
    pub index: u32,
}

impl Superblocks {
    /// Superblocks over groups of `dies` dies of this flash, whose members are programmed in units
    /// of `unit_slots` and take `member_slots`; each at full density, and at one bit per cell.
    /// `metadata_share` of the slots that are not parity hold the drive's own records.
    pub fn new(
        flash: Geometry,
        dies: u32,
        unit_slots: [u32; 2],
        member_slots: [u32; 2],
        [has_parity, remaps]: [bool; 2],
        metadata_share: f64,
    ) -> Self {
        let data_dies = dies - u32::from(has_parity);
        let metadata_per_row = (metadata_share * f64::from(data_dies) * METADATA_UNIT) as u64;
        Self { flash, dies, unit_slots, member_slots, has_parity, metadata_per_row, remaps }
    }

    /// The flash.
    pub fn flash(&self) -> &Geometry {
        &self.flash
    }

    /// Dies of a group.
    pub fn dies(&self) -> u32 {
        self.dies
    }

    /// Whether a row holds its parity.
    pub fn has_parity(&self) -> bool {
        self.has_parity
    }

    /// Whether a bad block is replaced by another of its die.
    pub fn remaps(&self) -> bool {
        self.remaps
    }

    /// Number of dies that hold data and metadata of a row.
    pub fn data_dies(&self) -> u32 {
        self.dies - u32::from(self.has_parity)
    }

    /// Whether some units hold the drive's own records.
    pub fn has_metadata(&self) -> bool {
        self.metadata_per_row > 0
    }

    /// Units of a row that hold the drive's own records.
    #[inline]
    fn metadata_units(&self, row: u32) -> u32 {
        let before = |row: u32| (u128::from(row) * u128::from(self.metadata_per_row)) >> 32;
        (before(row + 1) - before(row)) as u32
    }

    /// Whether a place of a row, of which the last is its parity if it has one, holds the drive's
    /// own records.
    pub fn is_metadata(&self, row: u32, place: u32) -> bool {
        let places = self.data_dies();
        let units = self.metadata_units(row);
        units > 0 && place < places && (place + places - (row + 1) % places) % places < units
    }

    /// Slots of a superblock without holes that hold the drive's own records.
    pub fn metadata_slots(&self, is_slc: bool) -> u32 {
        if !self.has_metadata() {
            return 0;
        }
        let (unit, slots) = (self.unit_slots[usize::from(is_slc)], self.member_slots(is_slc));
        let rows = slots.div_ceil(unit);
        let wide = |row: u32| unit.min(slots - row * unit);
        (0..rows).map(|row| self.metadata_units(row) * wide(row)).sum()
    }

    /// Slots of a superblock without holes that take data.
    pub fn data_slots_of(&self, is_slc: bool) -> u32 {
        self.data_dies() * self.member_slots(is_slc) - self.metadata_slots(is_slc)
    }

    /// Slots of the block of a member.
    #[inline]
    pub fn member_slots(&self, is_slc: bool) -> u32 {
        self.member_slots[usize::from(is_slc)]
    }

    /// Slots of a row at full density.
    pub fn row_slots(&self) -> u32 {
        self.dies * self.unit_slots[0]
    }

    /// Slots of a superblock.
    pub fn slots(&self, is_slc: bool) -> u32 {
        self.dies * self.member_slots(is_slc)
    }

    /// The drive as the FTL sees it: a wide die for each group, of wide blocks.
    pub fn geometry(&self) -> Geometry {
        let flash = &self.flash;
        let slots = self.dies * flash.pages_per_block;
        let groups = flash.die_count / self.dies;
        let base = Geometry::new([1, groups], [flash.blocks_per_die, slots], flash.page_bytes);
        let wide = Geometry {
            planes_per_die: flash.planes_per_die,
            plane_count: flash.plane_count,
            units_per_page: flash.units_per_page,
            ..base
        };
        wide.striped([Axis::Channel, Axis::Die, Axis::Plane])
    }

    /// The place of a slot.
    #[inline]
    pub fn locate(&self, slot: u32, is_slc: bool) -> Place {
        let (unit, of_member) = (self.unit_slots[usize::from(is_slc)], self.member_slots(is_slc));
        let row_slots = self.dies * unit;
        let (row, within) = (slot / row_slots, slot % row_slots);
        // The last row is short where a block is not a whole number of units.
        let wide = unit.min(of_member.saturating_sub(row * unit)).max(1);
        let place = within / wide;
        Place { row, place, member: self.member_at(row, place), index: row * unit + within % wide }
    }

    /// The place of a slot, and the slot after the last one of the same unit.
    #[inline]
    pub fn locate_unit(&self, slot: u32, is_slc: bool) -> (Place, u32) {
        let at = self.locate(slot, is_slc);
        let unit = self.unit_slots[usize::from(is_slc)];
        let unit_limit = ((at.row + 1) * unit).min(self.member_slots(is_slc));
        (at, slot + unit_limit.saturating_sub(at.index).max(1))
    }

    /// The slot of an index in the block of a member.
    #[inline]
    pub fn slot(&self, member: u32, index: u32, is_slc: bool) -> u32 {
        let unit = self.unit_slots[usize::from(is_slc)];
        let row = index / unit;
        let wide = unit.min(self.member_slots(is_slc) - row * unit);
        row * self.dies * unit + self.place_of(row, member) * wide + index % unit
    }

    /// First slot of the unit of a slot, and the slot after the unit's last.
    #[inline]
    pub fn unit(&self, slot: u32, is_slc: bool) -> (u32, u32) {
        let unit = self.unit_slots[usize::from(is_slc)];
        let index = self.locate(slot, is_slc).index;
        let wide = unit.min(self.member_slots(is_slc).saturating_sub(index / unit * unit)).max(1);
        let first = slot - index % unit;
        (first, first + wide)
    }

    /// The die of the group at a place of a row.
    #[inline]
    pub fn member_at(&self, row: u32, place: u32) -> u32 {
        if self.has_parity {
            (row + 1 + place) % self.dies
        } else {
            place
        }
    }

    /// The place of a die of the group in a row.
    #[inline]
    fn place_of(&self, row: u32, member: u32) -> u32 {
        if self.has_parity {
            (member + self.dies - (row + 1) % self.dies) % self.dies
        } else {
            member
        }
    }

    /// Slots of a member among the first `written` of a superblock: how far its block is.
    pub fn written_of(&self, member: u32, written: u32, is_slc: bool) -> u32 {
        let of_member = self.member_slots(is_slc);
        if written >= self.slots(is_slc) {
            return of_member;
        }
        let at = self.locate(written, is_slc);
        let unit = self.unit_slots[usize::from(is_slc)];
        match self.place_of(at.row, member).cmp(&at.place) {
            std::cmp::Ordering::Less => of_member.min((at.row + 1) * unit),
            std::cmp::Ordering::Equal => at.index,
            std::cmp::Ordering::Greater => at.row * unit,
        }
    }

    /// The place of a row that holds its parity: the last of those that are no holes.
    pub fn parity_place(&self, members: &[u32], row: u32) -> Option<u32> {
        let is_good = |&place: &u32| members[self.member_at(row, place) as usize] != HOLE;
        self.has_parity.then(|| (0..self.dies).rev().find(is_good)).flatten()
    }

    /// Superblocks of each group that lack a block if bad blocks are replaced: the number of bad
    /// blocks of the worst die. Zero if bad blocks leave holes.
    pub fn bad_superblocks(&self, bad_per_die: &[u32]) -> Vec<u32> {
        let of_group = |group: &[u32]| group.iter().copied().max().unwrap_or(0);
        let groups = bad_per_die.chunks(self.dies as usize);
        groups.map(|group| if self.remaps { of_group(group) } else { 0 }).collect()
    }

    /// Slots for data that the good blocks of each group have. If bad blocks leave holes, a
    /// superblock without a good block counts as if it held parity nevertheless: the number of such
    /// superblocks is random.
    pub fn data_slots(&self, bad_per_die: &[u32]) -> Vec<u64> {
        let blocks = self.flash.blocks_per_die;
        let parity = u64::from(self.has_parity);
        let of_group = |group: &[u32]| {
            let good = |bad: u32| u64::from(blocks.saturating_sub(bad));
            let least = good(group.iter().copied().max().unwrap_or(0));
            let member_slots = u64::from(self.member_slots[0]);
            if self.remaps {
                return least * u64::from(self.data_slots_of(false));
            }
            let all: u64 = group.iter().map(|&bad| good(bad)).sum();
            let own = u64::from(blocks) * u64::from(self.metadata_slots(false));
            let slots = all.saturating_sub(parity * u64::from(blocks)) * member_slots;
            slots.saturating_sub(own)
        };
        bad_per_die.chunks(self.dies as usize).map(of_group).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flash(dies: u32, slots: u32) -> Geometry {
        Geometry::new([2, dies], [10, slots], 4096)
    }

    #[test]
    fn slots_and_members_are_each_others_inverse() {
        for (dies, unit, slots) in [(2, 1, 7), (4, 3, 7), (5, 4, 16), (8, 6, 16), (3, 24, 20)] {
            for has_parity in [false, true] {
                let modes = [slots, slots / 3];
                let units = [unit, 1];
                let shape = Superblocks::new(
                    flash(dies, slots),
                    dies,
                    units,
                    modes,
                    [has_parity, false],
                    0.0,
                );
                for is_slc in [false, true] {
                    let mut next = vec![0; dies as usize];
                    for slot in 0..shape.slots(is_slc) {
                        let at = shape.locate(slot, is_slc);
                        // Each die is written in the order of its pages.
                        assert_eq!(at.index, next[at.member as usize], "{shape:?}, slot {slot}");
                        for (member, &written) in (0..).zip(&next) {
                            assert_eq!(shape.written_of(member, slot, is_slc), written);
                        }
                        next[at.member as usize] += 1;
                        assert_eq!(shape.slot(at.member, at.index, is_slc), slot);
                        let (first, limit) = shape.unit(slot, is_slc);
                        assert!((first..limit).contains(&slot));
                        for other in first..limit {
                            let other = shape.locate(other, is_slc);
                            assert_eq!((other.row, other.member), (at.row, at.member));
                        }
                    }
                    assert!(next.iter().all(|&count| count == modes[usize::from(is_slc)]));
                }
            }
        }
    }

    #[test]
    fn metadata_takes_its_share_of_each_stretch_and_of_each_place() {
        for (dies, share, has_parity) in [(4, 0.125, true), (16, 0.04, false), (3, 0.5, true)] {
            let parts = [has_parity, false];
            let shape =
                Superblocks::new(flash(dies, 4800), dies, [6, 2], [4800, 1600], parts, share);
            let places = shape.data_dies();
            let mut by_place = vec![0; dies as usize];
            let mut units = 0;
            for row in 0..800 {
                for place in 0..dies {
                    let is_metadata = shape.is_metadata(row, place);
                    assert!(!(is_metadata && Some(place) == shape.parity_place(&[1; 16], row)));
                    by_place[place as usize] += u32::from(is_metadata);
                    units += u32::from(is_metadata);
                }
                let due = f64::from(row + 1) * share * f64::from(places);
                assert!((f64::from(units) - due).abs() <= 1.0, "row {row}: {units} of {due}");
            }
            assert_eq!(shape.metadata_slots(false), 6 * units);
            assert_eq!(shape.data_slots_of(false), places * 4800 - 6 * units);
            let mean = f64::from(units) / f64::from(places);
            for &count in &by_place[..places as usize] {
                assert!((f64::from(count) / mean - 1.0).abs() < 0.35, "{by_place:?}");
            }
        }
    }

    #[test]
    fn parity_goes_round_the_dies_and_closes_its_row() {
        let shape = Superblocks::new(flash(4, 8), 4, [2, 1], [8, 4], [true, false], 0.0);
        let row = |row: u32| (0..4).map(|place| shape.member_at(row, place)).collect::<Vec<_>>();
        assert_eq!([row(0), row(1), row(3)], [[1, 2, 3, 0], [2, 3, 0, 1], [0, 1, 2, 3]]);
        assert_eq!(shape.parity_place(&[9, 9, 9, 9], 0), Some(3));
        // Die 0 is a hole: in row 0 the one before it closes the row.
        assert_eq!(shape.parity_place(&[HOLE, 9, 9, 9], 0), Some(2));
        assert_eq!(shape.parity_place(&[HOLE, 9, 9, 9], 1), Some(3));
    }
}
