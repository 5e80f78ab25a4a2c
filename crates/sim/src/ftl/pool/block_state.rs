//! What a block is used for.

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockState {
    /// Nothing is written in it.
    Erased = 0,
    /// Pages are placed in it.
    Open = 1,
    /// Written to its end.
    Closed = 2,
    /// Never used, or used no more.
    Bad = 3,
    /// Under collection: no candidate any more.
    Victim = 4,
    /// Its erase was emitted and is not over.
    Erasing = 5,
    /// Written to its end at one bit per cell, and waiting to be folded.
    Cached = 6,
    /// A program failed: it is written no more, and waits to be emptied and retired.
    Failed = 7,
    /// Set apart for map pages.
    Map = 8,
}
