//! A raw NAND chip: pages with OOB, the rules of the flash, ECC, faults, ageing.
//!
//! ```text
//!   Python ─┐                   program ─► rules ─► parity ─► AND ─► image (pages that are not FF)
//!   C ABI ──┼─► RawNand ─┬─►    read    ─► image ─► noise ─► decoder ─► status, data, OOB
//!   socket ─┘            └─►    erase   ─► rules ─► all ones
//! ```
//!
//! There is no FTL and no time: file systems and translation layers of others run on it, as on the
//! MTD layer of a kernel. [`RawNand`] (`chip`) has the operations; `options` what a chip is,
//! `page_code` where the words of a page are, [`Noise`] what a read gets wrong, `dump` the file of
//! an image. `server` and `c_abi` are its two other faces; Python's is in `crates/py`.
//!
//! Left out: time, planes, read-retry, an order of page types, copy-back.

mod c_abi;
mod cells;
mod chip;
mod dump;
mod faults;
mod noise;
mod options;
mod page_code;
mod server;

pub use chip::{Access, At, Erasure, Geometry, RawNand, Reading, Stats, Status};
pub use faults::{Fault, Scope};
pub use noise::{MeanRber, Noise, Pages, Place};
pub use options::{Ecc, Options};
pub use server::Server;
