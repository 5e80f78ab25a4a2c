//! Blocks of one bit per cell in a drive of full density: they are a separate page type.
//!
//! A cell of full density that is used with one bit has two states, far apart. Its model has the
//! constants of the `slc` preset, each times the ratio of the device file's constant of the full
//! cell to that of the full cell's preset, so that a change in the file affects both. Retry steps
//! are made for the levels of full density: a page of one bit is read again with the same levels.

use super::gray::GrayCode;
use super::retry::RetryStep;
use super::state_presets::CellPreset;
use super::states::StateModel;
use super::{RberModel, Stress};

/// See the module.
pub struct BesideSlc {
    native: StateModel,
    slc: StateModel,
}

impl BesideSlc {
    /// The model of a drive that uses some of these cells with one bit.
    pub fn new(native: StateModel) -> Self {
        let (full, one) = (native.preset.constants(), CellPreset::Slc.constants());
        // A part that the full cell lacks is that of the preset.
        let like = |own: f64, full: f64, one: f64| if full > 0.0 { one * own / full } else { one };
        macro_rules! in_proportion {
            ($($key:ident),+) => {
                StateModel {
                    preset: CellPreset::Slc,
                    gray_code: GrayCode::Slc,
                    $($key: like(native.$key, full.$key, one.$key),)+
                    ..native.clone()
                }
            };
        }
        let slc = in_proportion!(
            sigma,
            wear_cycles,
            wear_exponent,
            retention_shift,
            retention_time_h,
            early_shift,
            early_time_h,
            retention_profile,
            read_shift,
            read_exponent,
            read_wear_exponent
        );
        Self { native, slc }
    }

    fn is_slc(&self, stress: &Stress) -> bool {
        stress.page_type.is_some() && stress.page_type == self.slc_type()
    }
}

impl RberModel for BesideSlc {
    fn rber(&self, stress: &Stress) -> f64 {
        if self.is_slc(stress) {
            self.slc.rber(&Stress { page_type: Some(0), ..*stress })
        } else {
            self.native.rber(stress)
        }
    }

    fn rber_retried(&self, stress: &Stress, step: &RetryStep) -> f64 {
        if self.is_slc(stress) {
            self.rber(stress)
        } else {
            self.native.rber_retried(stress, step)
        }
    }

    fn retry_table(&self, horizon: &Stress, steps: usize) -> Option<Vec<RetryStep>> {
        self.native.retry_table(horizon, steps)
    }

    fn rber_at_best(&self, stress: &Stress) -> f64 {
        if self.is_slc(stress) {
            self.rber(stress)
        } else {
            self.native.rber_at_best(stress)
        }
    }

    fn level_count(&self, page_type: usize) -> u32 {
        self.native.level_count(page_type).max(1)
    }

    fn page_types(&self) -> &'static [&'static str] {
        self.native.gray_code.page_types_beside_slc()
    }

    fn slc_type(&self) -> Option<u8> {
        Some(self.native.bits() as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_errs_as_the_preset_and_far_less_than_the_full_cell() {
        let is_same = |one: f64, other: f64| one.to_bits() == other.to_bits();
        for preset in [CellPreset::Mlc, CellPreset::Tlc, CellPreset::Qlc] {
            let native = StateModel::preset(preset);
            let both = BesideSlc::new(native.clone());
            let types = both.page_types();
            assert_eq!(types.len(), native.bits() + 1);
            assert_eq!(types.last(), Some(&"slc"));
            let alone = StateModel::preset(CellPreset::Slc);
            for (pe_cycles, retention_h) in [(0.0, 0.0), (1000.0, 24.0), (3000.0, 8760.0)] {
                let stress = Stress { pe_cycles, retention_h, ..Stress::default() };
                let of = |page_type| both.rber(&Stress { page_type: Some(page_type), ..stress });
                let slc = of(native.bits() as u8);
                assert!((slc / alone.rber(&stress) - 1.0).abs() < 1e-9, "{preset:?}: {slc:e}");
                for page_type in 0..native.bits() as u8 {
                    let full = native.rber(&Stress { page_type: Some(page_type), ..stress });
                    assert!(is_same(of(page_type), full), "{preset:?} {page_type}");
                    assert!(slc < 0.05 * full, "{preset:?} {stress:?}: {slc:e}, {full:e}");
                }
                assert!(is_same(both.rber(&stress), native.rber(&stress)), "of full density");
            }
        }
    }
}
