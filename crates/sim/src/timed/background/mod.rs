//! What the timed executor does on its own: collections in steps and in pauses, refreshes, patrols.
//!
//! `collector` and `refresher` decide when, die by die, and hold no drive; `collection` and
//! `refresh` carry it out on the stage. `balance` is the pace of collections against that of the
//! host.

mod balance;
mod collection;
mod collector;
mod refresh;
mod refresher;

pub(crate) use collection::REST_MAX;
pub(in crate::timed) use collector::{Calm, Collector, Stalled};
pub(in crate::timed) use refresher::Refresher;
