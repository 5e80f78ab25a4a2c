//! Orders to the firmware, as values, and the properties that decide which of them apply.

use super::config::PoolSetup;
use super::gc::Choosers;
use crate::striping::Turns;
use crate::units::{BlockId, DieId, Lpn, Ns};

/// Why a block of a die is taken for a collection in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It is the best victim.
    Collect,
    /// It is the oldest of the cache, and a native block has room for its pages.
    Fold,
    /// It is in the cache only temporarily, so that folding it always frees space.
    FoldGuest,
    /// It has been due for refresh for longest.
    Refresh(Ns),
}

/// Work that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The erase of a collected block, which joins the erased ones.
    Erase(DieId, BlockId),
    /// A burst of the host: the cache of a die of which all is folded takes writes again.
    Burst(DieId),
    /// A stage in which collections ran in steps, and its flash is idle: erases that were emitted
    /// have ended, and no executor will report it.
    Stage,
}

/// Work that waits for more data or for the next write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Open program units of host writes, which are completed, or programmed as they are.
    Units,
    /// Those of one die.
    UnitsOf(DieId),
    /// Those of the die that holds a page.
    UnitsBehind(Lpn),
    /// All open program units, those of moved pages too.
    AllUnits,
    /// Merges of log blocks, which the next write of the host would cause.
    Merges,
    /// Folds and collections, at once, in pools that have no erased block beyond the reserve and no
    /// running collection, until they have one.
    Room,
}

/// Memory that a command touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// The L2P entry of its page.
    Entry,
    /// The state of the page to which the entry points, which should have been fetched before.
    Page,
}

/// Properties of a drive's firmware that do not change while it runs.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is independent of the others
pub struct Traits {
    /// How the dies take turns, if the die of a logical page is fixed and follows from its number
    /// alone.
    pub turns: Option<Turns>,
    /// Whether all pages of the host go to one log, in the order in which they are written.
    pub has_one_log: bool,
    /// Whether the dies share nothing and so may work apart.
    pub is_separable: bool,
    /// Whether commands have to wait for entries of the map.
    pub looks_up: bool,
    /// Whether blocks of data and log blocks are merged.
    pub merges: bool,
    /// Whether nothing follows the program of a page that the host writes.
    pub ends_with_program: bool,
}

impl Traits {
    /// Whether it matters which pages belong to one request.
    #[inline]
    pub fn tells_requests(self) -> bool {
        self.merges || self.looks_up
    }
}

/// A change of how the firmware works from then on.
#[derive(Clone, Copy)]
pub enum Setting<'a> {
    /// Whether the power may fail: if so, before the erase of a block is issued, the programs that
    /// copy its data elsewhere are.
    Cuts(bool),
    /// The seed of the following random choices of the victim policies.
    Seed(u64),
    /// The wear limits of blocks.
    WearLimits(&'a PoolSetup),
    /// The choosers of victim policies that ask code outside the simulator.
    Choosers(&'a dyn Choosers),
}
