//! From randomness to start sectors: the compiled form of patterns, from which commands are drawn.
//!
//! Request sizes are known when compiling, so each size gets a `Span`: all that can be computed
//! once. Invariant: `next` returns a start sector whose request fits the extent.
//!
//! ```text
//!  extent   |----------------------------------------------------|   sectors of the active range
//!  starts   ^   ^   ^   ^   ^   ^   ^   ^   ^   ^   ^   ^  every `align_sectors`
//! ```

use crate::rng::Rng;

/// The part of the logical space that a pattern uses. It starts at sector 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Sectors of the active range.
    pub sector_count: u64,
    /// Requests start at multiples of this many sectors (not those of `sequential`).
    pub align_sectors: u64,
}

impl Extent {
    /// Number of aligned places at which a request of `request_sectors` fits; 0 when it does not
    /// fit.
    pub fn starts(&self, request_sectors: u32) -> u64 {
        match self.sector_count.checked_sub(u64::from(request_sectors)) {
            Some(room) => room / self.align_sectors + 1,
            None => 0,
        }
    }
}

/// Turns randomness into start sectors.
pub trait Addresses: Clone + Send {
    /// Values that are computed once for each request size.
    type Span: Send;

    /// Prepares for requests of `request_sectors` in `extent`, which fit.
    fn span(&self, extent: Extent, request_sectors: u32) -> Self::Span;

    /// Start sector of the next request.
    fn next(&mut self, span: &Self::Span, rng: &mut Rng) -> u64;

    /// Another start sector for a request that found nothing at `sector`. Leaves no trace in
    /// `self`.
    fn other(&self, span: &Self::Span, sector: u64, rng: &mut Rng) -> u64;
}
