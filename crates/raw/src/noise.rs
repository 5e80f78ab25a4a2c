//! What a read gets wrong.

use opennandlab_ecc::{bits, channel::Rng};
use opennandlab_sim::reliability::{RberModel, Stress};

use crate::page_code::Steps;

/// A page of a chip, and how often its block was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Erase block.
    pub block: u32,
    /// Page in the block.
    pub page: u32,
    /// Erases of the block on this chip: errors are others after each.
    pub erases: u32,
}

impl Place {
    fn rng(self, seed: u64, name: u64) -> Rng {
        let page = u64::from(self.block) << 32 | u64::from(self.page);
        Rng::frame(seed ^ name, page, self.erases.into())
    }
}

/// The bytes of the pages of a block by their number; none for a page that is not programmed.
pub type Pages<'a> = dyn Fn(u32) -> Option<&'a [u8]> + 'a;

/// Bit errors of reads.
///
/// Who calls: [`crate::RawNand::read`], with the bytes that the cells of a page hold. An
/// implementation changes them to those that are sensed. The same place under the same stress
/// should give the same errors, as cells do; a page of all ones may be an erased one.
pub trait Noise: Send {
    /// Changes a page with its OOB to what a read senses. `pages` are those of its block.
    fn disturb(&mut self, place: Place, stress: &Stress, pages: &Pages<'_>, page: &mut [u8]);
}

/// Errors at the rate of an error model, in independent bits.
///
/// Each bit of a page has a rank in 0 to 1 that lasts until the block is erased, and is wrong while
/// it is below the rate: errors stay in repeated reads, and only come when stress grows. Only the
/// lowest ranks are drawn, in order.
pub struct MeanRber {
    model: Box<dyn RberModel>,
    seed: u64,
}

impl MeanRber {
    /// Errors of a model.
    pub fn new(model: Box<dyn RberModel>, seed: u64) -> Self {
        Self { model, seed }
    }
}

impl Noise for MeanRber {
    fn disturb(&mut self, place: Place, stress: &Stress, _: &Pages<'_>, page: &mut [u8]) {
        // A rank u is below p where -ln(1 - u) is below -ln(1 - p). The least of n exponential
        // deviates is one of rate n, and the distances to the next are as well, of n - 1, …
        let limit = -libm::log1p(-self.model.rber(stress));
        let mut rng = place.rng(self.seed, u64::from_be_bytes(*b"meanrber"));
        let bit_count = 8 * page.len();
        let mut wrong = vec![0_u8; page.len()];
        let mut depth = 0.0;
        for left in (1..=bit_count).rev() {
            depth -= libm::log(rng.unit()) / left as f64;
            if depth >= limit {
                break;
            }
            let new = std::iter::repeat_with(|| rng.below(bit_count as u64) as usize)
                .find(|&bit| !bits::bit(&wrong, bit));
            bits::flip(&mut wrong, new.expect("at most half of the bits are wrong"));
        }
        for (byte, wrong) in page.iter_mut().zip(wrong) {
            *byte ^= wrong;
        }
    }
}

/// A fixed number of errors in each step.
pub(crate) struct ReadFlips {
    pub steps: Steps,
    pub count: u32,
    pub seed: u64,
}

impl Noise for ReadFlips {
    fn disturb(&mut self, place: Place, _: &Stress, _: &Pages<'_>, page: &mut [u8]) {
        let mut rng = place.rng(self.seed, u64::from_be_bytes(*b"readflip"));
        for step in 0..self.steps.count {
            self.steps.flip(page, step, self.count as usize, &mut rng);
        }
    }
}
