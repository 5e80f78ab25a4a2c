//! A drive that is served: single requests come from outside, at times that the caller names.
//!
//! ```text
//! Session ─ request ─► executor ─► Done
//!         ─ power cut ─► Remains ─ mount ─► Session
//! ```
//! In addition: the bytes of its pages, the image with them, faults that are set from outside, and
//! a drive that goes from a simulation into a session and back.

mod aiming;
mod copy;
mod extents;
mod faults;
mod flash_content;
mod handover;
mod image;
mod life;
mod placement;
mod player;
mod power_cut;
mod purge;
mod purging;
mod recovery;
mod request;
mod sections;
#[allow(clippy::module_inception)] // the main type of the room
mod session;
mod settling;
mod snapshot;
mod status;
mod unit_faults;
mod zeros;
mod zones;

pub use extents::Extent;
pub(crate) use flash_content::{Found, MapView};
pub use handover::Kept;
pub use placement::PlacementFacts;
pub use player::{Asked, Played, Player, Recorded};
pub use power_cut::{Interrupted, MountReport};
pub use request::{Begun, Done, Pace, Refusal, Request};
pub use session::Session;
pub use snapshot::Snapshot;
pub use status::Vitals;

pub use crate::drive::{PurgeKind, PurgeOrder, Purged, Service, Totals};
pub use crate::host::activity::Activity;
