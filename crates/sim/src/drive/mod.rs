//! The drive at rest: the state that survives between two pieces of work, and what one host command
//! does to it, page by page.
//!
//! ```text
//! DeviceConfig ─► Drive { media, ftl, buffer, counters } ─► Image, checkpoint, Remains
//!                   ▲
//!                 Front ◄─ command, and a sink for the flash operations that follow
//! ```
//! Nothing here knows time: [`Front`] is generic over the [`CommandSink`], and each of the two
//! executors (`untimed`, `timed`) brings its own.

mod buffered_writes;
mod capacity;
mod cells;
pub(crate) mod checkpoint;
mod config;
mod counts;
mod data_commands;
#[allow(clippy::module_inception)] // the main type of the room
mod drive;
mod front_shape;
pub(crate) mod health;
mod host_counters;
pub(crate) mod image;
mod life;
mod logs;
mod lookup;
mod namespaces;
mod patrol;
mod placement;
mod placement_ids;
mod power_loss;
mod reconfigure;
mod remains;
mod rules;
mod superblocks;
mod trims;
pub(crate) mod zones;

pub use config::DeviceConfig;
pub(crate) use counts::Counts;
pub use drive::Drive;
pub(crate) use drive::{total, CommandSink, Front};
pub(crate) use front_shape::{moves_data, FrontShape};
pub use health::Wellness;
pub(crate) use health::{block_figures, emmc_estimates, wellness};
pub use host_counters::{Asides, HostCounters};
pub use image::ImageError;
pub(crate) use life::{Life, Unfinished};
pub use life::{PurgeKind, PurgeOrder, Purged, Service, Totals};
pub(crate) use logs::logs;
pub(crate) use placement_ids::Placed;
pub use placement_ids::Placer;
pub use power_loss::{
    FlushBehaviour, HalfErased, LowerPageBackup, MapOrder, PairedScheme, Plp, PowerLossConfig,
    SeqReorder, SubpageWrite, SuspectPages, TrimLog,
};
pub use remains::{Checkpoint, Mounting, Remains};
pub(crate) use trims::aim_trim;
