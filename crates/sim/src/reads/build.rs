//! The mechanisms that a drive adds to the accounting of its reads, each on top of the bare one.

use super::bit_true::BitTrue;
use super::cells::CellReads;
use super::decoding::DecodeTimer;
use super::errors::ReadErrors;
use super::kinds::ScarFactors;
use super::recovery::Ladder;
use super::remembered::Remembered;
use super::spread::Spread;
use super::watch::Watch;
use crate::reliability::spread::SpreadConfig;
use crate::superblock::Superblocks;

impl ReadErrors {
    /// Adds a recovery ladder, and pages that carry the errors of copybacks.
    #[must_use]
    pub fn with(mut self, ladder: Ladder, copyback_limit: u32) -> Self {
        self.tally.recovered = vec![0; ladder.rungs().len()];
        self.kinds.fates.ladder = ladder;
        self.kinds.set_copyback_limit(copyback_limit);
        self
    }

    /// Adds parity over stripes of pages, from which a lost one is rebuilt; 0 for none.
    #[must_use]
    pub fn with_stripe(mut self, stripe: u32) -> Self {
        self.kinds.fates.stripe = stripe;
        self
    }

    /// Adds the errors of programs to what their page holds already.
    #[must_use]
    pub fn with_disturb(mut self, programs_per_page: u32, share: f64) -> Self {
        self.types.tell_disturbs(programs_per_page);
        self.kinds.set_disturb(programs_per_page, share);
        self
    }

    /// Distinguishes the pages of superblocks by their place in the blocks of the flash.
    #[must_use]
    pub fn in_superblocks(mut self, superblocks: Option<&Superblocks>) -> Self {
        if let Some(superblocks) = superblocks {
            self.types.lay_over_dies(superblocks);
        }
        self
    }

    /// Gives blocks and layers higher or lower error rates than the mean.
    #[must_use]
    pub fn with_spread(mut self, config: &SpreadConfig, block_count: u32, seed: u64) -> Self {
        let spread = Spread::new(config, block_count, &mut self.types, seed);
        self.kinds.set_spread(spread.factors());
        self.spread = Some(Box::new(spread));
        self
    }

    /// Lets the marks of power cuts on the flash affect reads, if there are any.
    #[must_use]
    pub fn with_scars(mut self, factors: Option<ScarFactors>) -> Self {
        if let Some(factors) = factors {
            self.types.tell_suspects();
            self.kinds.set_scars(factors);
        }
        self
    }

    /// No block of the drive has been erased less often than this.
    pub(crate) fn begin_at(&mut self, erases: u32) {
        self.kinds.set_first_erases(erases);
    }

    /// Lets decoding take its time.
    #[must_use]
    pub fn with_timer(mut self, timer: DecodeTimer) -> Self {
        self.kinds.set_timer(timer);
        self
    }

    /// Lets reads of a block begin with the step on which its last retried read was corrected.
    #[must_use]
    pub fn with_remembered_steps(mut self, block_count: u32) -> Self {
        self.kinds.set_starts();
        self.remembered = Some(Box::new(Remembered::new(block_count)));
        self
    }

    /// Decodes host reads bit by bit.
    #[must_use]
    pub fn with_bit_true(mut self, bit_true: Option<BitTrue>) -> Self {
        self.is_by_bits |= bit_true.is_some();
        self.bit_true = bit_true.map(Box::new);
        self
    }

    /// Reads the blocks that have cells cell by cell.
    #[must_use]
    pub fn with_cells(mut self, cells: Option<CellReads>) -> Self {
        self.is_by_bits |= cells.is_some();
        self.cells = cells.map(Box::new);
        self
    }

    /// Looks for blocks whose first reads have a higher error rate than this.
    #[must_use]
    pub fn with_watch(mut self, rate_max: Option<f64>, block_count: u32) -> Self {
        self.watch = rate_max.map(|rate_max| Box::new(Watch::new(rate_max, block_count)));
        self
    }
}
