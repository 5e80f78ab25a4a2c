//! Sets the wear of a drive at once, for a step of preconditioning and for [`Simulation::warp`].
//!
//! [`Simulation::warp`]: super::Simulation::warp

use crate::drive::Drive;
use crate::ftl::PurgeScope;
use crate::nand::WearOut;
use crate::rng::Rng;
use crate::units::BlockId;
use crate::workload::Wear;

/// Gives the blocks of a drive this wear, each that of a draw from `seed`; blocks that fail on the
/// way are lost, or will be at their next use. Returns how many.
///
/// # Panics
/// If the drive holds data where not the log decides where pages go.
pub(super) fn set_age(drive: &mut Drive, wear: Wear, seed: u64) -> u32 {
    let base = Rng::stream(seed, "warp").next_u64();
    let target = |block: BlockId| {
        let place = u64::from(block.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut rng = Rng::from_seed(base ^ place);
        let cycles = wear.cycles * (1.0 + wear.spread * (2.0 * rng.unit() - 1.0));
        // The part of a cycle is the share of blocks that have one more.
        (cycles + rng.unit()) as u32
    };
    let lost = drive.ftl.age(&mut drive.media, target);
    if !drive.ftl.is_written() {
        // Pages that wait in the write buffer stay there.
        let setup = drive.config.pool_setup(drive.seed);
        drive.ftl.purge(&drive.config.ftl, &setup, &mut drive.media, PurgeScope::Written);
        drive.connect_choosers();
    }
    lost
}

/// A warning, if blocks have more wear than they are rated for.
pub(super) fn beyond_rating(drive: &Drive, label: &str, wear: Wear) -> Option<String> {
    let nand = &drive.config.nand;
    let rated = f64::from(nand.max_pe_cycles?);
    let most = wear.cycles * (1.0 + wear.spread);
    match nand.wear_out {
        WearOut::Retire if most >= rated => Some(format!(
            "{label}: blocks that reach nand.max_pe_cycles {rated} are taken out of use \
             (nand.wear_out retire), and the drive refuses writes as soon as it can spare no more; \
             nand.wear_out ignore keeps them"
        )),
        WearOut::Ignore if most > rated => Some(format!(
            "{label}: more than the nand.max_pe_cycles {rated} that the blocks are rated for: \
             error rates there are extrapolated"
        )),
        _ => None,
    }
}
