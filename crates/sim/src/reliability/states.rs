//! One object for wear, retention, temperature and reads: the threshold-voltage states of a cell.
//!
//! ```text
//!   density                                      voltages in gaps: the distance between
//!     E        P1    P2    P3   ...   P7         neighbouring programmed states; P1 is at 0
//!    __        _     _     _          _
//!   /  \      / \   / \   / \        / \         wear       widens all states
//!  /    \____/   \_/   \_/   \_ ... /   \_       retention  moves the high states down
//!         |->   |     |     |      <-|           reads      move the low states up
//!            read levels, set for fresh flash
//! ```
//!
//! A cell of `b` bits has `2^b` states, each normal with a mean and a width:
//!
//! ```text
//!   width_i  = w_i sqrt(sigma^2 + (interference sd)^2) sqrt(1 + (PE / C)^k)
//!   down_i   = h_i (A ln(1 + AF t / t0) + A' ln(1 + AF t / t0'))
//!                                                        h_i = ((i - d + 1) / (2^b - d))^profile
//!   up_i     = B 2^-i (1 + PE / C)^p (reads / 1000)^q    for the d lowest states, d = 2^b / 4
//! ```
//!
//! `w` is the erased ratio for the erased state and 1 for the others, `AF` the Arrhenius
//! acceleration, `sd` the standard deviation of a neighbour's programmed voltage. Charge is lost in
//! two parts, since cells of 3D flash lose some of it within hours: `A'` and `t0'` (`early_shift`,
//! `early_time_h`) are of the fast part, `A` and `t0` of the slow one. The low quarter
//! of the states only gains charge, the others only lose it: that keeps the error rates of the
//! presets from falling under any more stress, up to ten years at the reference temperature
//! (tested). Beyond, a state may have sunk past its read level, and wear that widens it brings some
//! cells back.
//!
//! Lifting ends when the first state has reached the read level above it, where half of it is read
//! wrong; sinking ends at a whole gap, widths at half a gap. No code reads such a page.
//!
//! Error rates and LLRs ([`opennandlab_ecc::cell`]) and read-retry offsets ([`super::retry`])
//! follow from these states. The constants come from [`super::state_presets`].
//!
//! Left out: tails heavier than a normal one, wear that moves means, loss that widens states,
//! temperature at the time of reading.

use super::arrhenius::acceleration;
use super::gray::GrayCode;
use super::retry::{retry_table, RetryStep};
use super::state_presets::{self as preset, CellPreset, StatesKeys};
use super::{require, RberModel, Stress, RBER_MAX};
use crate::config::ConfigError;
use opennandlab_ecc::cell::{CellPage, ReadLevels, States};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shift at which charge loss ends, gaps: the highest state is then at the place of its neighbour.
const DOWN_MAX: f64 = 1.0;

/// Width at which wear ends, gaps: states a gap apart then overlap by a third of their cells.
const SIGMA_MAX: f64 = 0.5;

/// Threshold-voltage states of a cell under wear, retention, temperature and reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "StatesKeys")]
pub struct StateModel {
    /// Constants that were not given come from this preset.
    pub preset: CellPreset,
    /// Bits of the states.
    pub gray_code: GrayCode,
    /// Mean of the erased state, gaps, below 0.
    pub erased_mean: f64,
    /// Width of the erased state over that of a programmed one, 1 to 10.
    pub erased_sigma_ratio: f64,
    /// Width of a programmed state without interference, gaps, above 0.
    pub sigma: f64,
    /// Share of a neighbour's programmed voltage that couples into a cell, 0 to 0.5.
    pub interference_ratio: f64,
    /// P/E cycles at which the variance has doubled, above 0.
    pub wear_cycles: f64,
    /// Power of the P/E cycles in the variance, above 0.
    pub wear_exponent: f64,
    /// Downward shift of the highest state per e-fold of time, gaps, 0 or more.
    pub retention_shift: f64,
    /// Time after which the shift goes with the logarithm, hours, above 0.
    pub retention_time_h: f64,
    /// The same shift by the fast part of charge loss, gaps, 0 or more.
    pub early_shift: f64,
    /// Time after which the fast part goes with the logarithm, hours, above 0.
    pub early_time_h: f64,
    /// How steeply the shift rises with the state, above 0; 1 is in proportion.
    pub retention_profile: f64,
    /// Activation energy of charge loss, eV, 0 or more.
    pub activation_energy_ev: f64,
    /// Temperature at which time runs as stated, degrees Celsius, -55 to 200.
    pub reference_c: f64,
    /// Upward shift of the erased state after 1000 reads per page of the block, gaps, 0 or more.
    pub read_shift: f64,
    /// Power of the reads, above 0.
    pub read_exponent: f64,
    /// Power of the wear `1 + PE / wear_cycles` in the shift by reads, 0 or more.
    pub read_wear_exponent: f64,
}

impl From<StatesKeys> for StateModel {
    fn from(keys: StatesKeys) -> Self {
        let cell = keys.preset.constants();
        Self {
            preset: keys.preset,
            gray_code: keys.gray_code.unwrap_or(keys.preset.code()),
            erased_mean: keys.erased_mean.unwrap_or(preset::ERASED_MEAN),
            erased_sigma_ratio: keys.erased_sigma_ratio.unwrap_or(preset::ERASED_SIGMA_RATIO),
            sigma: keys.sigma.unwrap_or(cell.sigma),
            interference_ratio: keys.interference_ratio.unwrap_or(preset::INTERFERENCE_RATIO),
            wear_cycles: keys.wear_cycles.unwrap_or(cell.wear_cycles),
            wear_exponent: keys.wear_exponent.unwrap_or(cell.wear_exponent),
            retention_shift: keys.retention_shift.unwrap_or(cell.retention_shift),
            retention_time_h: keys.retention_time_h.unwrap_or(cell.retention_time_h),
            early_shift: keys.early_shift.unwrap_or(cell.early_shift),
            early_time_h: keys.early_time_h.unwrap_or(cell.early_time_h),
            retention_profile: keys.retention_profile.unwrap_or(cell.retention_profile),
            activation_energy_ev: keys
                .activation_energy_ev
                .unwrap_or(super::arrhenius::JESD218_EA_EV),
            reference_c: keys.reference_c.unwrap_or(super::REFERENCE_C),
            read_shift: keys.read_shift.unwrap_or(cell.read_shift),
            read_exponent: keys.read_exponent.unwrap_or(cell.read_exponent),
            read_wear_exponent: keys.read_wear_exponent.unwrap_or(cell.read_wear_exponent),
        }
    }
}

impl Default for StateModel {
    fn default() -> Self {
        Self::preset(CellPreset::Tlc)
    }
}

impl StateModel {
    /// The model with the constants of a preset.
    pub fn preset(preset: CellPreset) -> Self {
        StatesKeys { preset, ..StatesKeys::default() }.into()
    }

    /// Bits of a cell.
    pub fn bits(&self) -> usize {
        self.gray_code.bits()
    }

    /// Whether the parameters make a model.
    ///
    /// # Errors
    /// [`ConfigError`] with the key, the value and the accepted range.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.bits() != self.preset.bits() {
            let message = format!(
                "a code of {} bits does not fit the preset of {} bits per cell; accepted: {}",
                self.bits(),
                self.preset.bits(),
                self.preset.codes()
            );
            return Err(ConfigError::new("gray_code", message));
        }
        let within = |path: &str, value: f64, low: f64, high: f64| {
            let accepted = format!("{low} to {high}");
            require((low..=high).contains(&value), path, value, &accepted)
        };
        let positive = |path: &str, value: f64| {
            require(value > 0.0 && value.is_finite(), path, value, "a number above 0")
        };
        within("erased_mean", self.erased_mean, -100.0, -0.1)?;
        within("erased_sigma_ratio", self.erased_sigma_ratio, 1.0, 10.0)?;
        within("sigma", self.sigma, 1e-3, 10.0)?;
        within("interference_ratio", self.interference_ratio, 0.0, 0.5)?;
        positive("wear_cycles", self.wear_cycles)?;
        within("wear_exponent", self.wear_exponent, 0.01, 10.0)?;
        within("retention_shift", self.retention_shift, 0.0, 10.0)?;
        positive("retention_time_h", self.retention_time_h)?;
        within("early_shift", self.early_shift, 0.0, 10.0)?;
        positive("early_time_h", self.early_time_h)?;
        within("retention_profile", self.retention_profile, 0.0, 10.0)?;
        within("activation_energy_ev", self.activation_energy_ev, 0.0, 3.0)?;
        within("reference_c", self.reference_c, -55.0, 200.0)?;
        within("read_shift", self.read_shift, 0.0, 10.0)?;
        within("read_exponent", self.read_exponent, 0.01, 10.0)?;
        within("read_wear_exponent", self.read_wear_exponent, 0.0, 10.0)?;
        // The crossing of two states must be between them, also next to the wide erased one.
        let fresh = self.states_at_rest(0.0);
        let between = fresh
            .best_levels()
            .at()
            .iter()
            .enumerate()
            .all(|(level, &at)| fresh.mean()[level] < at && at < fresh.mean()[level + 1]);
        require(between, "sigma", self.sigma, "a width at which the states stand apart")
    }

    /// Means and widths of the states under stress.
    pub fn states(&self, stress: &Stress) -> States {
        self.states_behind(stress, &self.default_levels())
    }

    /// Read levels set for fresh flash: the ones that a read without retry uses.
    pub fn default_levels(&self) -> ReadLevels {
        self.states_at_rest(0.0).best_levels()
    }

    /// Error rate of a page type at given read levels.
    pub fn rber_at(&self, stress: &Stress, page_type: usize, levels: &ReadLevels) -> f64 {
        self.rber_of(&self.states(stress), page_type, levels).min(RBER_MAX)
    }

    /// Read-retry steps in equal shares of the shift at `horizon`, smallest first.
    ///
    /// # Errors
    /// [`ConfigError`] for no steps or more than 64.
    pub fn retry_steps(
        &self,
        horizon: &Stress,
        steps: usize,
    ) -> Result<Vec<RetryStep>, ConfigError> {
        let best = |stress: &Stress| self.states(stress).best_levels();
        retry_table(&self.default_levels(), best, |stress| self.down(stress), horizon, steps)
    }

    /// Error rate of a page type of cells in these states.
    fn rber_of(&self, states: &States, page_type: usize, levels: &ReadLevels) -> f64 {
        CellPage { states, bits: self.gray_code.page(page_type), levels }.rber()
    }

    /// States under stress, read at `levels` unless retried.
    fn states_behind(&self, stress: &Stress, levels: &ReadLevels) -> States {
        let states = self.states_at_rest(stress.pe_cycles);
        let at = levels.at();
        let (count, disturbed) = (self.gray_code.states(), self.disturbed());
        let down = self.down(stress).min(DOWN_MAX);
        // The shifts by reads end together, when the first state has reached its level.
        let room = |state: usize| (at[state] - states.mean()[state]) / read_weight(state);
        let up = self.up(stress).min((0..disturbed).map(room).fold(f64::INFINITY, f64::min));
        states.shifted(|state| {
            if state < disturbed {
                up * read_weight(state)
            } else {
                let height = (state - disturbed + 1) as f64 / (count - disturbed) as f64;
                -down * libm::pow(height, self.retention_profile)
            }
        })
    }

    /// Error rate of the page type asked for, or the mean over all, read at `moved` levels.
    fn rber_behind(&self, stress: &Stress, levels: &ReadLevels, moved: &ReadLevels) -> f64 {
        let states = self.states_behind(stress, levels);
        let of = |page_type| self.rber_of(&states, page_type, moved);
        let rber = match stress.page_type {
            Some(page_type) if usize::from(page_type) < self.bits() => of(usize::from(page_type)),
            _ => (0..self.bits()).map(of).sum::<f64>() / self.bits() as f64,
        };
        rber.min(RBER_MAX)
    }

    /// States widened by wear, at their programmed voltages.
    pub fn states_at_rest(&self, pe_cycles: f64) -> States {
        let count = self.gray_code.states();
        let wear = libm::pow(pe_cycles / self.wear_cycles, self.wear_exponent);
        let fresh = self.fresh_sigma();
        let sigma = (fresh * libm::sqrt(1.0 + wear)).min(fresh.max(SIGMA_MAX));
        let mean: Vec<f64> = (0..count).map(|state| self.target(state)).collect();
        let mut widths = vec![sigma; count];
        widths[0] = sigma * self.erased_sigma_ratio;
        States::new(&mean, &widths)
    }

    /// Where a state is programmed to.
    pub fn target(&self, state: usize) -> f64 {
        if state == 0 {
            self.erased_mean
        } else {
            (state - 1) as f64
        }
    }

    /// How many states gain charge by reads; the others lose it by time.
    fn disturbed(&self) -> usize {
        (self.gray_code.states() / 4).max(1)
    }

    /// How far reads have lifted the erased state.
    fn up(&self, stress: &Stress) -> f64 {
        let wear = libm::pow(1.0 + stress.pe_cycles / self.wear_cycles, self.read_wear_exponent);
        self.read_shift * wear * libm::pow(stress.reads * 1e-3, self.read_exponent)
    }

    /// How far the highest state has sunk.
    fn down(&self, stress: &Stress) -> f64 {
        let hours = stress.retention_h
            * acceleration(self.activation_energy_ev, self.reference_c, stress.temperature_c);
        self.retention_shift * libm::log1p(hours / self.retention_time_h)
            + self.early_shift * libm::log1p(hours / self.early_time_h)
    }

    /// Width of a programmed state of fresh flash: the programming step and the coupling of a
    /// neighbour whose states are equally likely, as independent contributions.
    fn fresh_sigma(&self) -> f64 {
        let count = self.gray_code.states();
        let means = (0..count).map(|state| self.target(state));
        let centre = means.clone().sum::<f64>() / count as f64;
        let variance =
            means.map(|mean| (mean - centre) * (mean - centre)).sum::<f64>() / count as f64;
        let coupled = self.interference_ratio * self.interference_ratio * variance;
        libm::sqrt(self.sigma * self.sigma + coupled)
    }
}

/// How far a state is lifted by reads, over the erased one: by halves. Assumed; a weaker field
/// programs less the more charge a cell already holds.
fn read_weight(state: usize) -> f64 {
    1.0 / f64::from(1_u32 << state)
}

impl RberModel for StateModel {
    fn rber(&self, stress: &Stress) -> f64 {
        let levels = self.default_levels();
        self.rber_behind(stress, &levels, &levels)
    }

    fn rber_retried(&self, stress: &Stress, step: &RetryStep) -> f64 {
        let levels = self.default_levels();
        self.rber_behind(stress, &levels, &levels.moved(&step.offsets))
    }

    fn retry_table(&self, horizon: &Stress, steps: usize) -> Option<Vec<RetryStep>> {
        self.retry_steps(horizon, steps).ok()
    }

    fn rber_at_best(&self, stress: &Stress) -> f64 {
        let best = self.states(stress).best_levels();
        self.rber_behind(stress, &self.default_levels(), &best)
    }

    fn level_count(&self, page_type: usize) -> u32 {
        let levels = self.gray_code.page_of_level().iter();
        levels.filter(|&&of| usize::from(of) == page_type).count() as u32
    }

    fn page_types(&self) -> &'static [&'static str] {
        self.gray_code.page_types()
    }
}
