//! The timed executor: commands, dies and channels in simulated time.
//!
//! ```text
//! stage ──► commands, background ──► sink ──► backend: one of the two controllers
//!   ▲ events                                    │ operations done
//!   └───────────────────────────────────────────┘
//! ```
//! [`TimedStage`] lives as long as a stage of work; the drive is lent to each of its calls. A
//! runner submits commands and takes steps out of it: it calls nothing back. Its state has three
//! parts:
//!
//! | part | holds |
//! |---|---|
//! | [`clockwork`] | the event queue and the back end |
//! | [`host_side`] | commands on their way, memory that they wait for, their account (`ledger`) |
//! | [`background`] | the drive's own work: collections, refreshes, patrols, padding |

mod backend;
mod background;
mod clockwork;
mod commands;
mod completion;
mod host_side;
mod ledger;
mod observation;
mod requests;
mod sink;
mod stage;
mod superblock_operations;

pub(crate) use completion::Completion;
pub use observation::Observation;
pub use requests::RequestRow;
pub(crate) use sink::expect_read;
pub(crate) use stage::{Latencies, Step, TimedStage, REST_MAX};
