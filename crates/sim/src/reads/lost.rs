//! The results of reads, and the pages among them that no read corrects.

use super::bit_true::{Fate, Page};
use super::kinds::Kinds;
use super::recovery::Extra;
use super::tally::ReadTally;
use crate::op::Source;
use crate::rng::Rng;

/// A page that no read corrects, in a drive with parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The outcome of its stress.
    pub(super) outcome: u32,
    /// Whether its stripe gave it back.
    pub(super) is_rebuilt: bool,
}

/// The result of reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadResult {
    /// Their costs beyond their first sense and transfer.
    pub extra: Extra,
    /// The page that is to be rebuilt from its stripe: the last of them that was lost.
    pub lost: Option<Lost>,
}

/// The other pages of the row of a page whose die is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestOfRow {
    /// They hold parity, and all their dies answer.
    Readable,
    /// They hold no parity, or one of their dies is lost too.
    Missing,
}

impl std::ops::AddAssign for ReadResult {
    fn add_assign(&mut self, other: Self) {
        self.extra += other.extra;
        self.lost = other.lost.or(self.lost);
    }
}

/// No read corrects a page: its stripe gives it back, unless another page of it is lost too.
pub(super) fn lose(
    kinds: &Kinds,
    tally: &mut ReadTally,
    outcome: u32,
    source: Source,
    rng: &mut Rng,
) -> Option<Lost> {
    let fates = &kinds.fates;
    let failure = kinds.outcome(outcome).failure;
    let is_rebuilt = fates.stripe > 0 && rng.unit() < libm::pow(1.0 - failure, fates.others());
    if is_rebuilt {
        tally.rebuilt += 1;
    } else {
        tally.uncorrectable[source as usize] += 1;
    }
    (fates.stripe > 0).then_some(Lost { outcome, is_rebuilt })
}

/// Counts the fate of a page that was decoded.
pub(super) fn count_fate(
    kinds: &Kinds,
    tally: &mut ReadTally,
    page: Page,
    fate: Fate,
) -> Option<Lost> {
    tally.decoded_pages += 1;
    match fate.rung {
        Some(rung) if rung == kinds.outcome(page.outcome).start => None,
        Some(rung) => {
            tally.recovered[rung] += 1;
            None
        }
        None => {
            // From the noise of the page: when it is decoded must not matter.
            let mut rng = Rng::stream(page.noise, "stripe");
            let lost = lose(kinds, tally, page.outcome, Source::Host, &mut rng);
            if !lost.is_some_and(|lost| lost.is_rebuilt) {
                tally.lost_codewords += u64::from(fate.lost);
            }
            lost
        }
    }
}
