//! The targets of cuts.

use super::rig::Moment;

/// Where a cut is aimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// Any time.
    Random,
    /// While a collection programs.
    Gc,
    /// While a block is erased.
    Erase,
    /// While the journal is written.
    Journal,
    /// While a checkpoint or a root is written.
    Checkpoint,
    /// While a later page of a wordline is programmed.
    UpperPage,
    /// While the write buffer is full.
    PlpDump,
    /// Any time, and again at a step of the recovery.
    Recovery,
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 8] = [
        Self::Random,
        Self::Gc,
        Self::Erase,
        Self::Journal,
        Self::Checkpoint,
        Self::UpperPage,
        Self::PlpDump,
        Self::Recovery,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Gc => "gc",
            Self::Erase => "erase",
            Self::Journal => "journal",
            Self::Checkpoint => "checkpoint",
            Self::UpperPage => "upper_page",
            Self::PlpDump => "plp_dump",
            Self::Recovery => "recovery",
        }
    }

    /// The target of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The moment that the rig waits for.
    pub(super) fn moment(self) -> Moment {
        match self {
            Self::Random | Self::Recovery => Moment::Any,
            Self::Gc => Moment::Moves,
            Self::Erase => Moment::Erase,
            Self::Journal => Moment::Journal,
            Self::Checkpoint => Moment::Checkpoint,
            Self::UpperPage => Moment::LaterPass,
            Self::PlpDump => Moment::FullMemory,
        }
    }
}
