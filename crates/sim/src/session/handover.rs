//! Turns a drive that was used without a clock into one whose power may fail, and back.
//!
//! ```text
//! Simulation ── of_used ──► Session, timed ── cut ──► Remains ── mount ──► Session ── into_used ─┐
//!      ▲         Kept: clock, threads, random seed, reads of blocks                              │
//!      └─────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//! Bytes are added while power may fail, and dropped afterwards: a drive that ages by billions of
//! programs carries none.

use std::sync::Arc;

use super::power_cut::settled_since;
use super::request::Pace;
use super::session::{Carrying, Session};
use crate::config::ConfigError;
use crate::drive::{Checkpoint, Drive};
use crate::ftl::{BlockState, End, Pending, Setting};
use crate::nand::{Latest, WearOut};
use crate::op::{HostCommand, HostOp};
use crate::reads::ReadMemory;
use crate::run::Simulation;
use crate::units::{BlockId, Ns};
use crate::untimed::Instant;

/// State that is not part of the flash, and continues after a cut.
#[derive(Clone, Debug)]
pub struct Kept {
    clock: Ns,
    threads: usize,
    draw_seed: u64,
    wear_out: WearOut,
}

impl Session {
    /// Whether the power of a drive may fail; [`Session::of_used`] checks this first.
    ///
    /// # Errors
    /// [`ConfigError`] under `ftl`, `nand` or `power` for drives whose recovery is not modelled
    /// (see [`DeviceConfig::check_cuts`](crate::drive::DeviceConfig::check_cuts)), and for those
    /// that [`Session::new`] refuses.
    pub fn check_used(simulation: &Simulation) -> Result<(), ConfigError> {
        simulation.config().check_cuts()?;
        Self::check(simulation)
    }

    /// A timed session of a used drive, with all data on the flash, whose power may fail.
    ///
    /// # Errors
    /// As [`Session::check_used`].
    pub fn of_used(simulation: Simulation) -> Result<(Self, Kept), ConfigError> {
        simulation.config().check_cuts()?;
        let mut drive = Self::new(simulation, Pace::Untimed)?.drive;
        let kept = Kept {
            clock: drive.clock,
            threads: drive.threads,
            draw_seed: drive.draw_seed,
            wear_out: drive.config.nand.wear_out,
        };
        bring_to_rest(&mut drive);
        let latest = adopt_contents(&mut drive);
        // The undo of taking a block out of use is not modelled: blocks stay until `into_used`.
        drive.config.nand.wear_out = WearOut::Ignore;
        drive.ftl.set(Setting::WearLimits(&drive.config.pool_setup(drive.seed)));
        let mounted = Checkpoint { latest: Arc::new(latest), since: settled_since(&drive) };
        let mut session = Self::of_drive(drive, Pace::Timed);
        session.mounted = mounted;
        Ok((session, kept))
    }

    /// The drive of an idle session, without bytes, for further use. `powered` is the time for
    /// which it had power; `reads` were made before it was cut.
    pub fn into_used(mut self, kept: &Kept, powered: Ns, reads: &ReadMemory) -> Simulation {
        self.settle();
        let drive = &mut self.drive;
        drive.media.disown();
        // Without cuts, erases do not have to wait for programs.
        drive.ftl.set(Setting::Cuts(false));
        drive.config.nand.wear_out = kept.wear_out;
        drive.ftl.set(Setting::WearLimits(&drive.config.pool_setup(drive.seed)));
        drive.clock = Ns(kept.clock.0.saturating_add(powered.0));
        drive.threads = kept.threads;
        drive.draw_seed = kept.draw_seed;
        drive.errors.restore(reads);
        self.into_simulation()
    }
}

/// Writes everything that is in memory or half done, without time.
fn bring_to_rest(drive: &mut Drive) {
    let (mut front, media, errors) = drive.split();
    let mut sink = Instant { media, reader: Carrying(errors) };
    // A worn-out drive keeps data that it could not write in memory, and loses it.
    let _ = front.apply(&mut sink, &HostCommand::new(HostOp::Flush, 0, 0));
    front.ftl.complete(&mut sink, Pending::Merges);
    // As at a mount: pools get an erased block now, while an erase need not wait for programs.
    front.ftl.complete(&mut sink, Pending::Room);
    front.ftl.complete(&mut sink, Pending::AllUnits);
    drive.ftl.finish(End::Stage);
}

/// Gives bytes and a history to the pages that a drive has programmed without them; returns the
/// newest copy of each page.
fn adopt_contents(drive: &mut Drive) -> Vec<Latest> {
    let bits_per_cell = drive.config.nand.cell_type.bits();
    let written = |block: BlockId| {
        let holds = match drive.ftl.block(block).state() {
            BlockState::Erased | BlockState::Erasing | BlockState::Bad => false,
            _ => drive.ftl.block(block).written_pages() > 0,
        };
        let slots = drive.media.slots_of(block, bits_per_cell);
        holds.then(|| (block, drive.ftl.block(block).written_pages().min(slots)))
    };
    let blocks: Vec<_> =
        drive.ftl.figures().blocks_by_age().into_iter().filter_map(written).collect();
    let places: Vec<u32> = drive.ftl.figures().places().collect();
    drive.media.adopt(&blocks, &places);
    drive.ftl.set(Setting::Cuts(true));
    let mut latest = vec![Latest::default(); places.len()];
    if let Some(contents) = &mut drive.media.contents {
        contents.latest(&mut latest, |_| true);
        let versions_given = vec![0; latest.len()];
        contents.remember(&latest, &versions_given, &drive.geometry);
    }
    latest
}
