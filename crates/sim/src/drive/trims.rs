//! Trims that are to hit data, aimed before a drive carries them out.

use super::drive::Front;
use crate::op::HostCommand;

/// Addresses that a trim of mapped data may try before it counts as missed.
const TRIM_TRIES: u32 = 10_000;

/// Redraws a trim until it hits mapped data; false if none was found.
pub(crate) fn aim_trim(
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
