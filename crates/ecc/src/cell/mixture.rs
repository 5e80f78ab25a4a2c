//! Cells whose states are moved by their neighbours: a mixture of shifted states.
//!
//! ```text
//!   state i of one cell        its neighbour in E    P1   P2  ...  P7     weights 1/8 each
//!     width s_i                    moves it by c_0 <  c_1 < c_2 ... < c_7
//!   all cells of state i       sum over k of  weight_k  density((x - mean_i - c_k) / s_i)
//! ```
//!
//! The shifts are bounded, so a mixture has shorter tails than the normal state of the same
//! variance. Part of the variance may be drawn in each read (telegraph noise of single traps):
//! it takes [`NOISE_STEPS`] equally likely values. Tails may be heavier than normal ones.

use super::gaussian::q_inverse;
use super::page::{CellPage, PageBits, Voltages};
use super::states::{ReadLevels, States};
use super::table::LlrTable;
use super::tails::Tail;
use super::CellError;

/// Values that read noise takes.
pub const NOISE_STEPS: usize = 16;

/// A shift by neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// How far the cell is moved, in the unit of the states.
    pub by: f64,
    /// Share of the cells that are moved by it.
    pub weight: f64,
}

impl Shift {
    /// No shift.
    pub const NONE: Self = Self { by: 0.0, weight: 1.0 };
}

/// States of given widths, shifted.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    states: States,
    shifts: Vec<Shift>,
    tail: Tail,
    /// What a read adds, in widths of the state, equally likely.
    noise: Vec<f64>,
    /// Width of what stays from read to read, over the whole width.
    held: f64,
}

impl Mixture {
    /// These states with these shifts, whose weights sum to 1.
    ///
    /// # Panics
    /// Without shifts, or with more than 256.
    pub fn new(states: States, shifts: Vec<Shift>) -> Self {
        assert!((1..=256).contains(&shifts.len()), "{} shifts, not 1 to 256", shifts.len());
        Self { states, shifts, tail: Tail::Normal, noise: vec![0.0], held: 1.0 }
    }

    /// The same with other tails, and with a share (0 to 1, exclusive) of the variance as read
    /// noise.
    #[must_use]
    pub fn with(self, tail: Tail, read_noise: f64) -> Self {
        let mut noise = vec![0.0];
        if read_noise > 0.0 {
            let root = libm::sqrt(read_noise);
            noise = noise_steps().map(|step| root * step).to_vec();
        }
        Self { tail, noise, held: libm::sqrt(1.0 - read_noise), ..self }
    }

    /// The states without shifts.
    pub fn states(&self) -> &States {
        &self.states
    }

    /// The shifts.
    pub fn shifts(&self) -> &[Shift] {
        &self.shifts
    }

    /// What a read adds, in widths of the state, equally likely: 0 without read noise.
    pub(super) fn noise(&self) -> &[f64] {
        &self.noise
    }

    /// The rank, as a share of all, of a cell of this state and shift that has the voltage `x` when
    /// a read adds this noise.
    pub(super) fn rank(&self, state: usize, by: f64, noise: f64, x: f64) -> f64 {
        self.tail.above(-self.place(state, by + noise * self.states.sigma()[state], x))
    }

    /// `P(low < V < high)` of a cell in this state, moved by `by` and read many times.
    pub(super) fn shifted(&self, state: usize, by: f64, low: f64, high: f64) -> f64 {
        let sigma = self.states.sigma()[state];
        let one = |noise: &f64| {
            let by = by + noise * sigma;
            self.tail.between(self.place(state, by, low), self.place(state, by, high))
        };
        self.noise.iter().map(one).sum::<f64>() / self.noise.len() as f64
    }

    /// A voltage in widths of what stays, from the mean of a state that is moved.
    fn place(&self, state: usize, by: f64, x: f64) -> f64 {
        (x - self.states.mean()[state] - by) / (self.states.sigma()[state] * self.held)
    }

    /// Share of the bits of a page that is read wrong.
    pub fn rber(&self, bits: PageBits, levels: &ReadLevels) -> f64 {
        self.page(bits, levels).rber()
    }

    /// The LLR table of a page for reads at given offsets of the levels.
    ///
    /// # Errors
    /// As [`CellPage::table`].
    pub fn table(
        &self,
        bits: PageBits,
        levels: &ReadLevels,
        offsets: &[f64],
    ) -> Result<LlrTable, CellError> {
        self.page(bits, levels).table(offsets)
    }

    /// The LLR table for 1, 3 or 7 reads at the offsets that give the most information.
    ///
    /// # Errors
    /// For another number of reads.
    pub fn best_table(
        &self,
        bits: PageBits,
        levels: &ReadLevels,
        reads: usize,
    ) -> Result<LlrTable, CellError> {
        self.page(bits, levels).best_table(reads)
    }

    fn page<'a>(&'a self, bits: PageBits, levels: &'a ReadLevels) -> CellPage<'a, Self> {
        CellPage { states: self, bits, levels }
    }
}

impl Voltages for Mixture {
    fn states(&self) -> &States {
        &self.states
    }

    fn probability(&self, state: usize, low: f64, high: f64) -> f64 {
        let of = |shift: &Shift| shift.weight * self.shifted(state, shift.by, low, high);
        self.shifts.iter().filter(|shift| shift.weight > 0.0).map(of).sum()
    }
}

/// The middles of equally likely parts of a normal distribution, scaled to variance 1.
pub fn noise_steps() -> [f64; NOISE_STEPS] {
    let middle = |step: usize| {
        let share = (step as f64 + 0.5) / NOISE_STEPS as f64;
        if share < 0.5 {
            -q_inverse(share)
        } else {
            q_inverse(1.0 - share)
        }
    };
    let steps: [f64; NOISE_STEPS] = std::array::from_fn(middle);
    let variance = steps.iter().map(|step| step * step).sum::<f64>() / NOISE_STEPS as f64;
    steps.map(|step| step / libm::sqrt(variance))
}
