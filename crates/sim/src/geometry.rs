//! Address arithmetic: channels, dies, blocks and pages, and the numbers that name them.
//!
//! ```text
//! Ppn (32 bits) = block << page_bits | page       page_bits = log2 of pages per block, rounded up
//! block         = die * blocks_per_die + block of the die
//! die           = channel + channels * die of the channel
//! page          = row * planes + plane            planes = 1 unless multi-plane commands are on
//! ```
//! Consecutive die numbers are on different channels, so that striping over dies stripes over
//! channels first. The packed page number makes block and page a shift and a mask; arrays that are
//! indexed by page use [`Geometry::page_slot`], which has no holes when pages per block is not a
//! power of two.
//!
//! With multi-plane commands a block of the FTL spans the planes of its die: the same block number
//! and the same page number in each plane, as those commands demand.
//!
//! A page here is the map unit of the FTL. If map units are smaller than pages of the flash, such a
//! page holds `units_per_page` of them, and with compression a block holds still more;
//! [`Geometry::physical_index`] returns the page of the flash that holds a map unit.

use crate::striping::{Axis, Striping};
use crate::units::{BlockId, DieId, Lpn, Ppn};

/// Marks a logical page that maps to nothing, and an out-of-band area that holds no logical page.
pub const UNMAPPED: u32 = u32::MAX;

/// The shape of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Channels of the drive.
    pub channel_count: u32,
    /// Dies of the drive.
    pub die_count: u32,
    /// Planes of a die.
    pub planes_per_die: u32,
    /// Pages of a row, which one multi-plane command carries; 1 when planes only multiply blocks.
    pub plane_count: u32,
    /// Blocks of one die: of all its planes, or each across all planes.
    pub blocks_per_die: u32,
    /// 2^63 / `blocks_per_die`, rounded up: a multiplication finds the die of a block.
    pub(crate) die_inverse: u64,
    /// Logical pages that a block takes.
    pub pages_per_block: u32,
    /// Pages that the flash of a block has room for; differs from `pages_per_block` under
    /// compression only.
    pub physical_pages_per_block: u32,
    /// Pages that a page of the flash holds: 1, or more where map units are smaller than it.
    pub units_per_page: u32,
    /// Bits of a page index inside a [`Ppn`].
    pub page_bits: u32,
    /// Data bytes of a page: of a map unit.
    pub page_bytes: u64,
    /// How logical pages go round the dies.
    pub striping: Striping,
}

impl Geometry {
    /// A drive whose blocks are in one plane each, with pages striped over channels first.
    pub fn new(
        [channel_count, die_count]: [u32; 2],
        [blocks_per_die, pages_per_block]: [u32; 2],
        page_bytes: u64,
    ) -> Self {
        assert!(blocks_per_die <= 1 << 31, "{blocks_per_die} blocks in a die");
        Self {
            channel_count,
            die_count,
            planes_per_die: 1,
            plane_count: 1,
            blocks_per_die,
            die_inverse: (1 << 63) / u64::from(blocks_per_die) + 1,
            pages_per_block,
            physical_pages_per_block: pages_per_block,
            units_per_page: 1,
            page_bits: pages_per_block.next_power_of_two().trailing_zeros(),
            page_bytes,
            striping: Striping::new(
                [Axis::Channel, Axis::Die, Axis::Plane],
                [channel_count, die_count / channel_count, 1],
                1,
            ),
        }
    }

    /// The same drive with logical pages striped in this order, the first axis varying fastest.
    #[must_use]
    pub fn striped(self, order: [Axis; 3]) -> Self {
        let sizes = [self.channel_count, self.die_count / self.channel_count, self.plane_count];
        Self { striping: Striping::new(order, sizes, self.units_per_page), ..self }
    }

    /// Blocks of the drive.
    pub fn block_count(&self) -> u32 {
        self.die_count * self.blocks_per_die
    }

    /// Logical pages that all blocks take.
    pub fn page_count(&self) -> usize {
        self.block_count() as usize * self.pages_per_block as usize
    }

    /// The block of a page.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(ppn.0 >> self.page_bits)
    }

    /// The index of a page inside its block.
    #[inline]
    pub fn page_index(&self, ppn: Ppn) -> u32 {
        ppn.0 & ((1 << self.page_bits) - 1)
    }

    /// The first page of a block.
    #[inline]
    pub fn first_page(&self, block: BlockId) -> Ppn {
        Ppn(block.0 << self.page_bits)
    }

    /// Position of a page in arrays without holes.
    #[inline]
    pub fn page_slot(&self, ppn: Ppn) -> usize {
        self.block_slot(self.block_of(ppn)) + self.page_index(ppn) as usize
    }

    /// Position of a block's first page in arrays without holes.
    #[inline]
    pub fn block_slot(&self, block: BlockId) -> usize {
        block.0 as usize * self.pages_per_block as usize
    }

    /// The die of a block.
    #[inline]
    pub fn die_of_block(&self, block: BlockId) -> DieId {
        // Exact for every 32-bit block, since there are at most 2^31 in a die.
        DieId(((u128::from(block.0) * u128::from(self.die_inverse)) >> 63) as u32)
    }

    /// The same drive with `units_per_page` map units in each page of the flash.
    #[must_use]
    pub fn with_units(self, units_per_page: u32) -> Self {
        let pages_per_block = self.pages_per_block * units_per_page;
        Self {
            units_per_page,
            pages_per_block,
            page_bits: pages_per_block.next_power_of_two().trailing_zeros(),
            physical_pages_per_block: self.physical_pages_per_block * units_per_page,
            page_bytes: self.page_bytes / u64::from(units_per_page),
            ..self
        }
    }

    /// Pages of a block in SLC mode, on flash of `bits_per_cell`.
    pub fn slc_pages_per_block(&self, bits_per_cell: u32) -> u32 {
        let rows = self.flash_pages_per_block() / self.plane_count / bits_per_cell;
        let (slots, physical) = (self.pages_per_block, self.physical_pages_per_block);
        let pages = u64::from(rows * self.units_per_row()) * u64::from(slots);
        (pages / u64::from(physical)) as u32
    }

    /// Pages of the flash that a block has.
    #[inline]
    pub fn flash_pages_per_block(&self) -> u32 {
        self.physical_pages_per_block / self.units_per_page
    }

    /// Whether every page of the flash holds as many of the FTL: there is no compression.
    #[inline]
    pub fn is_even(&self) -> bool {
        self.physical_pages_per_block == self.pages_per_block
    }

    /// Whether a page of the flash may hold several of the FTL.
    #[inline]
    pub fn shares_pages(&self) -> bool {
        self.units_per_page > 1 || !self.is_even()
    }

    /// Pages of the FTL in a row of flash pages, apart from compression.
    #[inline]
    pub fn units_per_row(&self) -> u32 {
        self.plane_count * self.units_per_page
    }

    /// The page of the flash, counted in its block, in which the data of a page index begins; the
    /// index itself without compression and smaller units.
    #[inline]
    pub fn physical_index(&self, page_index: u32) -> u32 {
        let room = if self.is_even() {
            page_index
        } else {
            // Exact: both factors are below 2^16.
            page_index * self.physical_pages_per_block / self.pages_per_block
        };
        if self.units_per_page == 1 {
            room
        } else {
            room / self.units_per_page
        }
    }

    /// Physical pages that `slots` programmed slots fill, including a partly filled one.
    pub fn physical_pages_of(&self, slots: u64) -> u64 {
        let pages = u128::from(slots) * u128::from(self.physical_pages_per_block);
        pages.div_ceil(u128::from(self.pages_per_block)) as u64
    }

    /// The row of a page index: the page number that the planes of its block share.
    #[inline]
    pub fn row_of(&self, page_index: u32) -> u32 {
        let page = self.physical_index(page_index);
        if self.plane_count == 1 {
            page
        } else {
            page / self.plane_count
        }
    }

    /// The plane of a page: given by its index in blocks that span the planes, else by its block.
    #[inline]
    pub fn plane_of(&self, ppn: Ppn) -> u32 {
        if self.plane_count > 1 {
            self.physical_index(self.page_index(ppn)) % self.plane_count
        } else if self.planes_per_die > 1 {
            self.block_of(ppn).0 % self.blocks_per_die % self.planes_per_die
        } else {
            0
        }
    }

    /// The die that holds a logical page under static striping.
    #[inline]
    pub fn die_of(&self, lpn: Lpn) -> DieId {
        if self.die_count == 1 {
            return DieId(0);
        }
        if let Some(turns) = self.striping.turns() {
            return DieId(turns.die(lpn.0));
        }
        let channel = lpn.0 / self.striping.channel_stride % self.channel_count;
        let die = lpn.0 / self.striping.die_stride % (self.die_count / self.channel_count);
        DieId(channel + self.channel_count * die)
    }

    /// The channel of a die.
    pub fn channel_of(&self, die: DieId) -> u32 {
        die.0 % self.channel_count
    }

    /// Logical pages of a die when `logical_pages` are striped over all dies.
    pub fn logical_pages_of(&self, die: DieId, logical_pages: u32) -> u32 {
        let striping = self.striping;
        if let Some(turns) = striping.turns() {
            return turns.count_below(die.0, logical_pages);
        }
        // In each turn a die takes the units of a page for each plane.
        let rest = logical_pages % striping.period;
        let first = die.0 % self.channel_count * striping.channel_stride
            + die.0 / self.channel_count * striping.die_stride;
        let of_plane = |plane: u32| {
            rest.saturating_sub(first + plane * striping.plane_stride).min(striping.together)
        };
        let partial: u32 = (0..self.plane_count).map(of_plane).sum();
        logical_pages / striping.period * self.units_per_row() + partial
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_die_of_a_block_is_the_quotient() {
        let mut rng = crate::rng::Rng::stream(1, "dies");
        for blocks_per_die in [1, 2, 3, 7, 255, 256, 1_000_003, 0x7FFF_FFFF, 0x8000_0000] {
            let geometry = Geometry::new([1, 1], [blocks_per_die, 1], 4096);
            let drawn = (0..1000).map(|_| rng.below(1 << 32) as u32);
            let edges = (0..50_u32).flat_map(|turn| {
                let edge = turn.wrapping_mul(blocks_per_die);
                [edge.wrapping_sub(1), edge, edge.wrapping_add(1)]
            });
            for block in drawn.chain(edges).chain([0, u32::MAX]) {
                let die = geometry.die_of_block(BlockId(block));
                assert_eq!(die.0, block / blocks_per_die, "{block} / {blocks_per_die}");
            }
        }
    }

    #[test]
    fn page_numbers_pack_and_unpack() {
        let geometry = Geometry::new([2, 4], [10, 48], 4096);
        assert_eq!(geometry.page_bits, 6);
        let ppn = Ppn(geometry.first_page(BlockId(13)).0 + 47);
        assert_eq!(geometry.block_of(ppn), BlockId(13));
        assert_eq!(geometry.page_index(ppn), 47);
        assert_eq!(geometry.page_slot(ppn), 13 * 48 + 47);
        assert_eq!(geometry.die_of_block(BlockId(13)), DieId(1));
        let striped: u32 = (0..4).map(|die| geometry.logical_pages_of(DieId(die), 1003)).sum();
        assert_eq!(striped, 1003);
        for lpn in 0..1003 {
            assert_eq!(geometry.channel_of(geometry.die_of(Lpn(lpn))), lpn % 2);
        }
    }

    #[test]
    fn every_order_spreads_the_pages_as_its_letters_say() {
        use Axis::{Channel, Die, Plane};
        let orders = [
            [Channel, Die, Plane],
            [Channel, Plane, Die],
            [Die, Channel, Plane],
            [Die, Plane, Channel],
            [Plane, Channel, Die],
            [Plane, Die, Channel],
        ];
        for order in orders {
            let base = Geometry::new([3, 6], [10, 8], 4096);
            let units = 1 + order[0] as u32;
            let geometry = Geometry { planes_per_die: 2, plane_count: 2, ..base }
                .with_units(units)
                .striped(order);
            let sizes = [3, 2, 2];
            for pages in [0, 5, 12, 100, 997] {
                let mut counted = [0; 6];
                for lpn in 0..pages {
                    // The digits of the page number, the first axis lowest.
                    let (mut rest, mut place) = (lpn / units, [0; 3]);
                    for axis in order {
                        place[axis as usize] = rest % sizes[axis as usize];
                        rest /= sizes[axis as usize];
                    }
                    let die = geometry.die_of(Lpn(lpn));
                    assert_eq!(die, DieId(place[0] + 3 * place[1]), "{order:?}, page {lpn}");
                    counted[die.0 as usize] += 1;
                }
                for (die, count) in (0..).zip(counted) {
                    assert_eq!(geometry.logical_pages_of(DieId(die), pages), count, "{order:?}");
                }
            }
        }
    }

    #[test]
    fn rows_planes_and_physical_pages_follow_the_index() {
        let base = Geometry::new([1, 1], [6, 16], 4096);
        let wide = Geometry { planes_per_die: 4, plane_count: 4, ..base };
        assert_eq!((wide.row_of(13), wide.plane_of(Ppn(13))), (3, 1));
        let apart = Geometry { planes_per_die: 4, ..base };
        assert_eq!((apart.row_of(13), apart.plane_of(apart.first_page(BlockId(5)))), (13, 1));
        // Sixteen slots in six pages: 2.67 slots a page.
        let packed = Geometry { physical_pages_per_block: 6, ..base };
        let pages: Vec<u32> = (0..16).map(|slot| packed.physical_index(slot)).collect();
        assert_eq!(pages, [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5]);
        assert_eq!((packed.physical_pages_of(16), packed.physical_pages_of(17)), (6, 7));
    }
}
