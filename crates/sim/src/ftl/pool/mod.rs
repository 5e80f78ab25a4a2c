//! What one die has: blocks, and the means to keep some of them free.
//!
//! ```text
//! pool       writes; makes room (room); collects, folds, refreshes (collect, copyback)
//!  ├─ moves  the running collection (collection)
//!  ├─ wear   of its blocks (wear, failing)
//!  └─ log    its blocks: erased, frontier (open; padding), refresh_queue (closed), slc, draining
//! ```
//! `placement` and `handles` decide which open block a page goes to. A pool knows no other pool:
//! the parts that pools share are lent to each call as `Books`.

mod block_state;
mod collect;
mod collection;
mod copyback;
mod draining;
mod erased;
mod failing;
mod frontier;
mod handles;
mod log;
mod padding;
mod placement;
mod pool;
mod refresh_queue;
mod room;
mod slc;
mod wear;

pub use block_state::BlockState;
pub(in crate::ftl) use collect::Beginning;
pub(in crate::ftl) use collection::Collection;
pub(crate) use collection::Reclaimed;
pub use collection::StepOutcome;
pub(in crate::ftl) use frontier::{Frontier, PartialPage};
pub use handles::{
    FdpConfig, HandleCounts, Ids, Isolation, NoPlacement, PlacementConfig, StreamsConfig,
};
pub(in crate::ftl) use log::Log;
pub(in crate::ftl) use placement::HOST_FRONTIER;
pub(in crate::ftl) use pool::Pool;
pub use pool::{ENTRY_AHEAD, PAGE_AHEAD};
pub(in crate::ftl) use slc::SlcCache;
