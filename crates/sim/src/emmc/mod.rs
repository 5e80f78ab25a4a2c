//! An eMMC at the level of its commands: what a host controller sends, and what the card answers.
//!
//! ```text
//! command(index, argument) ─► Card: states, R1 ─┬─► switch    EXT_CSD            [ext_csd]
//!                                               ├─► transfer  blocks, packed     [packed, queue]
//!                                               ├─► erasing, protect             [erase]
//!                                               └─► rpmb                         frames, keys
//!                      parts: all that it knows ─► storage: cache ─► Session (real bytes, time)
//! ```
//! The standard is JESD84-B51 (5.1), and JESD84-B451 for a card of revision 4.51. The flash below
//! is a [`crate::session::Session`]: data goes through its map, and times are its own. What takes
//! time is worked out when the command comes, and takes effect piece by piece until it ends, so a
//! host may interrupt it (HPI) or cut the power in the middle.
//!
//! Left out: bus training and the electrical side, lock and unlock (class 7), general purpose and
//! enhanced areas, context and data tags, field firmware updates, secure write protection.

mod background;
mod cache;
mod card;
mod change;
mod erase;
mod erasing;
mod ext_csd;
mod options;
mod packed;
mod parts;
mod protect;
mod queue;
mod registers;
mod rpmb;
mod status;
mod storage;
mod switch;
mod transfer;

pub use card::Card;
pub use ext_csd::{Access, Field, FIELDS};
pub use options::{Hpi, Options, Standard};
pub use parts::{Reply, Response};
pub use status::State;
