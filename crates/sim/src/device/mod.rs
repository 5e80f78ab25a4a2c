//! The device as users meet it: configuration, a simulation that runs in slices, its outcome and
//! its image.

mod account;
mod aiming;
mod backend;
mod balance;
mod buffered;
mod capacity;
mod cell;
mod checkpoint;
mod codewords;
mod collector;
mod command_ids;
mod config;
mod counts;
mod crew;
mod cutting;
mod drive;
mod feed;
mod fill;
mod health;
mod host_counters;
mod image;
mod instant;
mod losses;
mod mapping;
mod members;
mod meter;
mod newest;
mod observation;
mod outcome;
mod patrol;
mod placer;
mod placing;
mod player;
mod power;
mod power_loss;
mod reclaim_units;
mod reconfigure;
mod refresher;
mod refreshing;
mod remains;
mod request;
mod run;
mod runner;
mod series;
mod session;
mod session_faults;
mod session_image;
mod session_status;
mod settling;
mod shortcuts;
mod simulation;
mod sink;
mod steady;
mod stepping;
mod superblocks;
mod timed;
mod unit_faults;
mod used;
mod waiting;
mod warp;
mod window;
mod zoned;

pub use config::DeviceConfig;
pub use cutting::{Interrupted, MountReport};
pub use drive::Drive;
pub use host_counters::HostCounters;
pub use image::ImageError;
pub(crate) use newest::{Found, Look};
pub use observation::Observation;
pub use placer::Placer;
pub use player::{Asked, Played, Player, Recorded};
pub use power_loss::{
    FlushBehaviour, HalfErased, LowerPageBackup, MapOrder, PairedScheme, Plp, PowerLossConfig,
    SeqReorder, SubpageWrite, SuspectPages, TrimLog,
};
pub use remains::{Checkpoint, Mounting, Remains};
pub use request::{Begun, Done, Pace, Refusal, Request};
pub use run::Progress;
pub use session::Session;
pub use simulation::Simulation;
pub use used::Kept;

use crate::op::HostCommand;
use drive::Front;

/// Addresses that a trim of mapped data may try before it counts as missed.
const TRIM_TRIES: u32 = 10_000;

/// Redraws a trim until it hits mapped data; false if none was found.
fn aim_trim(
    front: &Front,
    command: &mut HostCommand,
    retarget: &mut dyn FnMut(&mut HostCommand),
) -> bool {
    for _ in 0..TRIM_TRIES {
        if front.hits_mapped(command) {
            return true;
        }
        retarget(command);
    }
    front.hits_mapped(command)
}
