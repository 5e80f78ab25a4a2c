//! The cells of a device: what moves them, how wide their states then are, and what a read finds.
//!
//! ```text
//!   c = ratio (move of the aggressor - its mean)          a shift, from the aggressor's state
//!   s_i^2 = (w W_i)^2 - sum over aggressors of ratio^2 Var(move)
//! ```
//!
//! `W_i` is the width of state `i` in the model of error rates, `w` a factor of the block or layer.
//! Counted is the move after the cell's own last pass, by order of programming:
//!
//! | order | move |
//! |---|---|
//! | `one_shot` | from the erased state to its own |
//! | `two_step` | from where the first bit has put it: the erased state, or 0.9 gaps |
//! | `foggy_fine` | from the coarse pass to the fine one: normal, 16 equally likely values |
//!
//! Several aggressors are summed in about 250 bins, of which the probabilities are known, so that
//! sampled and analytic rates are of the same shifts. Cells at the end of a block, and those
//! next to wordlines that are not programmed, have aggressors that do not move.

use opennandlab_ecc::cell::{
    level_between, noise_steps, q, Mixture, RankKey, ReadLevels, SenseTable, Shift, States,
};

use super::config::{CellsConfig, Coupling, ProgramOrder};
use super::wordline::Wordline;
use crate::config::ConfigError;
use crate::reliability::gray::GrayCode;
use crate::reliability::{StateModel, Stress};

/// Where the first bit of MLC puts a cell, gaps; the third state is at 1. Assumed.
const FIRST_PASS_MEAN: f64 = 0.9;
/// Width of a state after the coarse pass, gaps, and how far it is below its place. Assumed.
const FOGGY_SIGMA: f64 = 0.45;
/// Draws of the ranks of a wordline, apart from the ranks themselves and from read noise.
const DRAW_MISREAD: u64 = 1 << 63;
const DRAW_FOGGY: u64 = DRAW_MISREAD + 1;

/// A wordline in a time of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The block.
    pub block: u32,
    /// Erases of the block.
    pub erases: u32,
    /// The wordline in the block.
    pub wordline: u32,
}

/// A cell that moves others.
#[derive(Clone, Debug)]
struct Aggressor {
    coupling: Coupling,
    /// Its part of the number of the shift, by its state, or by its value in a coarse pass.
    steps: Vec<u8>,
    /// The same if it does not move.
    unmoved: u8,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct CellModel {
    states: StateModel,
    config: CellsConfig,
    seed: u64,
    aggressors: Vec<Aggressor>,
    shifts: Vec<Shift>,
    variance: f64,
}

impl CellModel {
    /// Cells with these states.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `nand.cells`.
    pub fn new(states: StateModel, config: &CellsConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check(states.bits())?;
        let default = [Coupling { wordline: 1, bitline: 0, ratio: states.interference_ratio }];
        let coupling = config.coupling.as_deref().unwrap_or(&default);
        let moves = moves(config.program, &states);
        let (aggressors, shifts) = combine(coupling, &moves);
        let variance = shifts.iter().map(|shift| shift.weight * shift.by * shift.by).sum();
        let model = Self { states, config: config.clone(), seed, aggressors, shifts, variance };
        model.check_widths(coupling)?;
        Ok(model)
    }

    /// Refuses neighbours that move cells further than fresh states are wide.
    fn check_widths(&self, coupling: &[Coupling]) -> Result<(), ConfigError> {
        let fresh = self.states.states_at_rest(0.0);
        let narrowest = fresh.sigma().iter().copied().fold(f64::INFINITY, f64::min);
        if self.variance < narrowest * narrowest {
            return Ok(());
        }
        let largest = narrowest / libm::sqrt(self.variance);
        let message = match coupling {
            [one] => format!(
                "{} moves cells further than their states are wide; accepted: below {:.4}",
                one.ratio,
                largest * one.ratio
            ),
            _ => format!(
                "these ratios move cells further than their states are wide; accepted: below \
                 {largest:.4} times them"
            ),
        };
        Err(ConfigError::new("coupling", message))
    }

    /// The bits of the states.
    pub fn code(&self) -> GrayCode {
        self.states.gray_code
    }

    /// The model of error rates of which these are the cells.
    pub fn states(&self) -> &StateModel {
        &self.states
    }

    /// The configuration.
    pub fn config(&self) -> &CellsConfig {
        &self.config
    }

    /// Read levels of fresh flash.
    pub fn default_levels(&self) -> ReadLevels {
        self.states.default_levels()
    }

    /// The key of the ranks of a wordline.
    pub fn key(&self, place: Place) -> RankKey {
        let Place { block, erases, wordline } = place;
        RankKey::of(&[self.seed, block.into(), erases.into(), wordline.into()])
    }

    /// The cells under stress, with states that are wider by a factor of their block and layer.
    pub fn mixture(&self, stress: &Stress, width_factor: f64) -> Mixture {
        let states = self.states.states(stress);
        let own = |width: &f64| {
            let square = width * width * width_factor * width_factor - self.variance;
            libm::sqrt(square.max(1e-12))
        };
        let sigma: Vec<f64> = states.sigma().iter().map(own).collect();
        Mixture::new(States::new(states.mean(), &sigma), self.shifts.clone())
            .with(self.config.tail.into(), self.config.read_noise)
    }

    /// How a page type of such cells is read at these levels.
    pub fn table(&self, cells: &Mixture, page_type: usize, levels: &ReadLevels) -> SenseTable {
        SenseTable::new(cells, self.code().page(page_type), levels)
    }

    /// Mean error rate over the page types at the default levels.
    pub fn mean_rber(&self, cells: &Mixture) -> f64 {
        let levels = self.default_levels();
        let of = |page_type| cells.rber(self.code().page(page_type), &levels);
        (0..self.code().bits()).map(of).sum::<f64>() / self.code().bits() as f64
    }

    /// The factor of all widths that gives `scale` times the mean error rate under this stress; the
    /// nearest one if none does.
    pub fn width_factor(&self, stress: &Stress, scale: f64) -> f64 {
        if (scale - 1.0).abs() < 1e-12 {
            return 1.0;
        }
        let rate = |w: f64| libm::log(self.mean_rber(&self.mixture(stress, w)).max(1e-300));
        let wanted = rate(1.0) + libm::log(scale);
        let narrowest = self.states.states(stress).sigma().iter().copied().fold(f64::MAX, f64::min);
        let (mut low, mut high) = (libm::sqrt(self.variance) / narrowest * 1.01 + 0.01, 10.0);
        let (mut below, mut above) = (rate(low) - wanted, rate(high) - wanted);
        if below >= 0.0 || above <= 0.0 {
            return if below >= 0.0 { low } else { high };
        }
        // False position on the logarithms; an end that stays counts half (Illinois).
        for _ in 0..60 {
            let w = low * libm::pow(high / low, below / (below - above));
            let off = rate(w) - wanted;
            if off.abs() < 1e-9 || high / low < 1.0 + 1e-12 {
                return w;
            }
            if off < 0.0 {
                (low, below, above) = (w, off, above / 2.0);
            } else {
                (high, above, below) = (w, off, below / 2.0);
            }
        }
        low
    }

    /// Which wordlines further on, and which bitlines aside, move a cell.
    pub fn aggressors(&self) -> impl ExactSizeIterator<Item = Coupling> + '_ {
        self.aggressors.iter().map(|aggressor| aggressor.coupling)
    }

    /// The number of the shift of each cell of a wordline, given the wordline of each of
    /// [`Self::aggressors`]: `None` if it is not programmed, or beyond the block.
    ///
    /// # Panics
    /// When there are not as many wordlines as aggressors, or not as many cells in them.
    pub fn shifts(&self, place: Place, cells: usize, neighbours: &[Option<&Wordline>]) -> Vec<u8> {
        assert_eq!(neighbours.len(), self.aggressors.len(), "a wordline for each aggressor");
        let mut shifts = vec![0; cells];
        for (aggressor, neighbour) in self.aggressors.iter().zip(neighbours) {
            let Some(neighbour) = neighbour else {
                for shift in &mut shifts {
                    *shift += aggressor.unmoved;
                }
                continue;
            };
            assert_eq!(neighbour.states.len(), cells, "wordlines of equally many cells");
            let Coupling { wordline, bitline, .. } = aggressor.coupling;
            let wordline = place.wordline + wordline;
            let coarse = self.key(Place { wordline, ..place }).draw(DRAW_FOGGY);
            for (cell, shift) in shifts.iter_mut().enumerate() {
                let other = cell.wrapping_add_signed(bitline as isize);
                *shift += match (neighbour.states.get(other), self.config.program) {
                    (None, _) => aggressor.unmoved,
                    (Some(_), ProgramOrder::FoggyFine) => {
                        aggressor.steps[(coarse.rank(other as u32) >> 28) as usize]
                    }
                    (Some(&state), _) => aggressor.steps[usize::from(state)],
                };
            }
        }
        shifts
    }

    /// The cells of a wordline after programming: with `two_step`, the chip has taken some first
    /// bits for the other ones.
    pub fn program(&self, place: Place, mut wordline: Wordline) -> Wordline {
        if self.config.program == ProgramOrder::TwoStep {
            let key = self.key(place).draw(DRAW_MISREAD);
            let chances = self.misreads(f64::from(place.erases));
            let limits = chances.map(|chance| (chance * 4_294_967_296.0) as u32);
            for (cell, state) in (0..).zip(&mut wordline.states) {
                let first = self.code().bit(usize::from(*state), 0);
                if key.rank(cell) < limits[usize::from(first)] {
                    // States 0 to 3 hold 11, 10, 00 and 01 (first bit, second bit).
                    *state = 3 - *state;
                }
            }
        }
        wordline
    }

    /// Share of the first bits of 0, and of 1, that the chip takes for the other one when it
    /// programs the second bit; 0 in other orders.
    pub fn misreads(&self, pe_cycles: f64) -> [f64; 2] {
        if self.config.program != ProgramOrder::TwoStep {
            return [0.0; 2];
        }
        let states = self.states.states_at_rest(pe_cycles);
        misreads((states.mean()[0], states.sigma()[0]), (FIRST_PASS_MEAN, states.sigma()[1]))
    }
}

/// Errors of reading the first bit at the best level between the erased state and that of the first
/// pass, given as (mean, width): of bits 0 and 1.
pub(super) fn misreads(erased: (f64, f64), first: (f64, f64)) -> [f64; 2] {
    let level = level_between(erased, first);
    [q((first.0 - level) / first.1), q((level - erased.0) / erased.1)]
}

/// Moves of an aggressor that are equally likely, and that of one that is not programmed.
fn moves(order: ProgramOrder, model: &StateModel) -> (Vec<f64>, f64) {
    let code = model.gray_code;
    let target = |state| model.target(state) - model.target(0);
    match order {
        ProgramOrder::OneShot => ((0..code.states()).map(target).collect(), 0.0),
        ProgramOrder::TwoStep => {
            let from = FIRST_PASS_MEAN - model.target(0);
            let of = |state| target(state) - if code.bit(state, 0) == 1 { 0.0 } else { from };
            ((0..code.states()).map(of).collect(), 0.0)
        }
        ProgramOrder::FoggyFine => {
            let sigma = libm::sqrt(FOGGY_SIGMA * FOGGY_SIGMA + model.sigma * model.sigma);
            (noise_steps().map(|step| FOGGY_SIGMA + sigma * step).to_vec(), 0.0)
        }
    }
}

/// The aggressors and all sums of their shifts.
fn combine(coupling: &[Coupling], moves: &(Vec<f64>, f64)) -> (Vec<Aggressor>, Vec<Shift>) {
    let (moves, unmoved) = moves;
    let count = moves.len();
    let mean = moves.iter().sum::<f64>() / count as f64;
    let numbered = |one: &Coupling, steps: Vec<u8>| {
        let unmoved = steps[count];
        Aggressor { coupling: *one, steps: steps[..count].to_vec(), unmoved }
    };
    let by = |one: &Coupling| -> Vec<f64> {
        moves.iter().chain([unmoved]).map(|to| one.ratio * (to - mean)).collect()
    };
    if let [one] = coupling {
        // As they are; the last is of cells that do not move.
        let weight = |step| if step < count { 1.0 / count as f64 } else { 0.0 };
        let shifts = by(one).into_iter().enumerate();
        let shifts = shifts.map(|(step, by)| Shift { by, weight: weight(step) }).collect();
        return (vec![numbered(one, (0..=count as u8).collect())], shifts);
    }
    let ends = |one: &Coupling| {
        let fold = |pick: fn(f64, f64) -> f64, from| by(one).into_iter().fold(from, pick);
        (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY))
    };
    let reach: f64 = coupling.iter().map(|one| ends(one).1 - ends(one).0).sum();
    // As many bins as a byte numbers, less those that rounding may add.
    let bin = (reach / (255.0 - coupling.len() as f64)).max(1e-9);
    let (mut aggressors, mut start, mut weights) = (Vec::new(), 0.0, vec![1.0]);
    for one in coupling {
        let (low, high) = ends(one);
        let number = |by: f64| ((by - low) / bin).round() as usize;
        let mut next = vec![0.0; weights.len() + number(high)];
        for (at, weight) in weights.iter().enumerate() {
            for &to in &by(one)[..count] {
                next[at + number(to)] += weight / count as f64;
            }
        }
        (weights, start) = (next, start + low);
        let steps = by(one).into_iter().map(|by| number(by) as u8).collect();
        aggressors.push(numbered(one, steps));
    }
    let places =
        || weights.iter().enumerate().map(|(at, &weight)| (start + bin * at as f64, weight));
    // Rounding has moved the mean a little.
    let centre: f64 = places().map(|(by, weight)| by * weight).sum();
    let shifts = places().map(|(by, weight)| Shift { by: by - centre, weight }).collect();
    (aggressors, shifts)
}
