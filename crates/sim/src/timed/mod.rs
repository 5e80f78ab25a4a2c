//! The timed executor: commands, dies and channels in simulated time.
//!
//! ```text
//! stage ──► sink ──► backend: one of the two controllers
//!   ▲ events           │ operations done
//!   └──────────────────┘      ledger: what commands waited for; background: the drive's own work
//! ```
//! [`TimedStage`] lives as long as a stage of work; the drive is lent to each of its calls. Whoever
//! runs it submits commands and takes steps out of it: it calls nobody back.

mod backend;
mod background;
mod completion;
mod fill;
mod flush;
mod ledger;
mod mapping;
mod observation;
mod read_ahead;
mod shortcuts;
mod sink;
mod stage;
mod superblock_operations;

pub(crate) use background::REST_MAX;
pub(crate) use completion::Completion;
pub use observation::Observation;
pub(crate) use sink::expect_read;
pub(crate) use stage::{Latencies, Step, TimedStage};
