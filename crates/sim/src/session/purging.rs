//! The stages of a purge.

use super::request::Refusal;
use crate::drive::{PurgeOrder, Unfinished};
use crate::units::{BlockId, Ns};

/// A purge that is not done.
pub(super) struct Purging {
    pub(super) order: PurgeOrder,
    /// The request that waits for its end.
    pub(super) token: Option<u64>,
    /// When it was ordered, or when the erases began.
    pub(super) since: Ns,
    pub(super) stage: Stage,
    /// Blocks that it erases.
    pub(super) all: u32,
}

pub(super) enum Stage {
    /// Requests from before are running.
    Ordered,
    /// By block, the end of its erase, in that order.
    Begun { ends: Vec<(Ns, BlockId)>, seen: Ns },
    /// Without power: the blocks that are left, once it has begun.
    Halted(Option<Vec<BlockId>>),
}

impl Purging {
    /// When the drive is done; `None` while that is not known.
    pub(super) fn end(&self) -> Option<Ns> {
        let Stage::Begun { ends, .. } = &self.stage else { return None };
        Some(ends.last().map_or(self.since, |&(end, _)| end))
    }

    /// The blocks whose erase has not ended, in the order of their erases.
    pub(super) fn left(&self, at: Ns) -> Option<Vec<BlockId>> {
        match &self.stage {
            Stage::Ordered => None,
            Stage::Begun { ends, .. } => {
                let left = ends.partition_point(|&(end, _)| end <= at);
                Some(ends[left..].iter().map(|&(_, block)| block).collect())
            }
            Stage::Halted(left) => left.clone(),
        }
    }

    /// What becomes of requests.
    pub(super) fn refusal(&self) -> Refusal {
        Refusal::Purging { mark: self.order.mark }
    }

    /// As it is kept.
    pub(super) fn unfinished(&self, at: Ns) -> Unfinished {
        Unfinished { order: self.order, all: self.all, left: self.left(at) }
    }

    pub(super) fn resumed(unfinished: Unfinished) -> Self {
        let Unfinished { order, all, left } = unfinished;
        Self { order, token: None, since: Ns(0), stage: Stage::Halted(left), all }
    }
}
