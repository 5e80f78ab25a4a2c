//! Pages of several planes as one: the flash as map units larger than a page see it.
//!
//! ```text
//!   plane      0    1    2    3           unit of 2 pages, planes joined
//!   row      [ A ][ A ][ B ][ B ]   ──►   [  A  ][  B  ]   a page twice as large, half the planes
//! ```
//! The pages of such a unit are next to each other in a row, so one command senses or programs
//! them, and no other part of the drive is affected. The sizes and costs of a plane and its pages
//! are multiplied here.
//!
//! Left out: a read of less than a unit senses and transfers all of it.

use super::config::NandConfig;

impl NandConfig {
    /// The flash with groups of `planes` planes, a divisor of those of a die, each treated as one
    /// plane.
    #[must_use]
    pub fn joined(&self, planes: u32) -> Self {
        let mut nand = self.clone();
        let factor = f64::from(planes);
        nand.page_size_bytes *= u64::from(planes);
        nand.oob_size_bytes = self.oob_size_bytes.map(|bytes| bytes * u64::from(planes));
        nand.planes_per_die /= planes;
        nand.multi_plane &= nand.planes_per_die > 1;
        nand.independent_planes &= nand.planes_per_die > 1;
        // A wide block is bad if one of its blocks is.
        nand.factory_bad_block_ratio = 1.0 - libm::pow(1.0 - self.factory_bad_block_ratio, factor);
        if let Some(energy) = &mut nand.energy {
            let slc = [&mut energy.slc_read_uj, &mut energy.slc_program_uj].into_iter().flatten();
            let all = [&mut energy.read_uj, &mut energy.program_uj, &mut energy.erase_uj];
            slc.chain(all).for_each(|uj| *uj *= factor);
        }
        nand
    }
}
