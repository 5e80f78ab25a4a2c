//! What happens to the whole firmware between two stages of work.
//!
//! It is saved and restored (`snapshot`), finds its pages again after a loss of power (`mounting`),
//! ages by years at once (`aging`), is divided by dies so that threads can work apart (`dies`), and
//! is checked against itself (`audit`). Nothing here runs while a host command is served.

mod aging;
mod audit;
mod dies;
mod mounting;
mod snapshot;

pub use dies::{Dealt, DieFtl, DieList};
pub use snapshot::{FtlSnapshot, PurgeScope, Volatile};
