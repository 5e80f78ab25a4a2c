//! Which faults of the contents of a served drive are to come, and which have struck.

use crate::config::ConfigError;
use crate::nand::{Fault, UnitFault};

/// Faults of the contents.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) waiting: Vec<UnitFault>,
    /// Units that faults have damaged, once for each fault.
    pub(super) struck: Vec<u32>,
}

impl Faults {
    pub(super) fn of(faults: &[Fault]) -> Self {
        let waiting = faults.iter().filter_map(Fault::of_unit).collect();
        Self { waiting, struck: Vec::new() }
    }

    /// # Errors
    /// [`ConfigError`] for units that a drive of `pages` pages does not have.
    pub(super) fn check(faults: &[Fault], pages: u32) -> Result<(), ConfigError> {
        let too_far = |unit: u32, place: usize, key: &str| {
            let message =
                format!("{unit} of a drive of {pages} units; accepted: 0 to {}", pages - 1);
            (unit >= pages)
                .then(|| ConfigError::new(format!("nand.faults[{place}].{key}"), message))
                .map_or(Ok(()), Err)
        };
        for (place, fault) in faults.iter().enumerate() {
            let Some(UnitFault { unit, to, .. }) = fault.of_unit() else { continue };
            too_far(unit, place, "unit")?;
            too_far(to.unwrap_or(0), place, "to")?;
        }
        Ok(())
    }
}
