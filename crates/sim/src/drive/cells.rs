//! Drives whose reads sense cells: their requirements, and their cells.

use super::config::DeviceConfig;
use crate::cells::{CellModel, CellsConfig};
use crate::config::{check_rules, ConfigError, Rule};
use crate::reads::Fidelity;
use crate::reliability::RberConfig;

/// What the cells of a drive cannot have, if it has any.
const BY_CELLS: &[Rule<DeviceConfig>] = &[
    ("controller.read_retry.rber_factor", |it| {
        let factor = it.controller.read_retry.as_ref()?.rber_factor?;
        Some(format!("{factor} with ecc.fidelity cells, which reads at levels; accepted: omitted"))
    }),
    ("ftl.compression", |it| {
        it.ftl.compression.as_ref()?;
        Some("with ecc.fidelity cells, whose pages have one size; accepted: none".into())
    }),
    ("nand.partial_programs", |it| {
        let programs = it.nand.partial_programs?;
        let accepted = "accepted: omitted, or another ecc.fidelity";
        Some(format!("{programs} with ecc.fidelity cells, which is not modelled; {accepted}"))
    }),
];

impl DeviceConfig {
    /// Fills `nand.cells` in, if reads sense cells.
    pub(super) fn fill_cells(&mut self) {
        if self.ecc.fidelity == Fidelity::Cells {
            self.nand.cells.get_or_insert_with(CellsConfig::default);
        }
    }

    /// Refuses cells that the drive cannot have.
    ///
    /// # Errors
    /// [`ConfigError`] with the dotted path of the key.
    pub(super) fn check_cells(&self) -> Result<(), ConfigError> {
        let Some(config) = &self.nand.cells else { return Ok(()) };
        if self.ecc.fidelity != Fidelity::Cells {
            let message = "has no effect; accepted: only with ecc.fidelity cells";
            return Err(ConfigError::new("nand.cells", message));
        }
        let RberConfig::States(states) = self.rber_config() else {
            let message = "cells needs voltages; accepted: cells with reliability states";
            return Err(ConfigError::new("ecc.fidelity", message));
        };
        if self.nand.cell_type.bits() as usize != states.bits() {
            let (own, theirs) = (self.nand.cell_type.bits(), states.bits());
            let message = format!(
                "cells of {own} bits with states of {theirs}; accepted: the preset or gray_code of \
                 nand.cell_type"
            );
            return Err(ConfigError::new("reliability", message));
        }
        let blocks = config.check_blocks(self.geometry().block_count().into());
        blocks
            .and_then(|()| CellModel::new(states, config, 0))
            .map_err(|error| error.under("nand.cells"))?;
        check_rules(self, BY_CELLS)
    }

    /// The cells of the flash, in drives that read them.
    pub(super) fn cell_model(&self, seed: u64) -> Option<CellModel> {
        let config = self.nand.cells.as_ref()?;
        let RberConfig::States(states) = self.rber_config() else { return None };
        Some(CellModel::new(states, config, seed).expect("resolve has checked the cells"))
    }

    /// That only the blocks with cells have the cells of `nand.cells`, if these are not plain.
    pub(crate) fn cell_warning(&self) -> Option<String> {
        let config = self.nand.cells.as_ref()?;
        let plain = CellsConfig::default();
        let is_plain = (&config.coupling, config.read_noise, config.tail)
            == (&plain.coupling, plain.read_noise, plain.tail);
        (!is_plain).then(|| {
            "nand.cells: tail, read_noise and coupling are of the blocks with cells alone: other \
             reads, uber and ecc_margin follow from normal states of the same width"
                .into()
        })
    }
}
