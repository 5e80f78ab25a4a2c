//! Senses: the bits of a page, from the states, shifts and ranks of its cells.
//!
//! ```text
//!   cell of state i, moved by shift k, rank u             page bit, by rising levels
//!   row (k, i) of the table: start, width     u  0 ... T_a ... T_b ... 2^32 - 1
//!                                            bit  1  |   0    |   1    from T_b round to T_a
//! ```
//!
//! A level at `x` has the threshold `T = 2^32 Phi((x - mean_i - shift_k) / s_i)`: the cell is above
//! it if and only if `u >= T`. The ranks of bit 1 are an interval round the end of the numbers, or
//! a few where states are so wide that they reach over three levels of a page. A sense takes one
//! hash, one look-up and one comparison for each cell, draws no normal number, and has the analytic
//! probability by construction.
//!
//! Read noise picks one of 16 tables by a second hash, of the cell and of the number of the read.

use super::mixture::Mixture;
use super::page::PageBits;
use super::ranks::RankKey;
use super::states::{ReadLevels, STATE_COUNT_MAX};

/// The ranks from `start` on, `width` of them, beyond the largest number from 0 again.
#[derive(Clone, Copy, Default)]
struct Interval {
    start: u32,
    /// Up to `2^32`: all of them.
    width: u64,
}

/// Rows by read noise, shift and state; all of them have as many intervals.
enum Rows {
    One(Vec<[Interval; 1]>),
    Four(Vec<[Interval; 4]>),
}

/// How many ranks there are.
const RANKS: u64 = 1 << 32;
/// Bits of a state in the number of a row.
const STATE_BITS: u32 = STATE_COUNT_MAX.trailing_zeros();
/// Rows for each value of read noise.
const CLASSES: usize = 256 << STATE_BITS;

/// The row of a cell, without read noise.
#[inline]
fn class(state: u8, shift: u8) -> usize {
    usize::from(shift) << STATE_BITS | usize::from(state) & (STATE_COUNT_MAX - 1)
}

/// Errors of cells, and their expected number given the states of the cells and their neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    /// Bits that were read.
    pub bits: u64,
    /// Errors found in them.
    pub errors: u64,
    /// The mean of that number.
    pub expected: f64,
    /// The variance of that number.
    pub variance: f64,
}

impl Counted {
    /// How many standard deviations the errors are from their mean, by roots, which are about
    /// normal also where few errors are expected (Anscombe, Biometrika 35, 1948).
    pub fn z(&self) -> f64 {
        let root = |count: f64| 2.0 * libm::sqrt(count + 0.375);
        let narrower = libm::sqrt(self.expected.max(1e-300) / self.variance.max(1e-300));
        (root(self.errors as f64) - root(self.expected)) * narrower
    }

    /// Adds other bits.
    pub fn add(&mut self, other: &Self) {
        self.bits += other.bits;
        self.errors += other.errors;
        self.expected += other.expected;
        self.variance += other.variance;
    }
}

/// How a page type is read at certain levels, cell by cell.
pub struct SenseTable {
    rows: Rows,
    has_noise: bool,
    /// Probability of an error by class.
    wrong: Vec<f64>,
}

impl SenseTable {
    /// The table of a page type of these cells, read at these levels.
    pub fn new(cells: &Mixture, bits: PageBits, levels: &ReadLevels) -> Self {
        let at: Vec<f64> = bits.levels().map(|level| levels.at()[level]).collect();
        let mut found = vec![Vec::new(); CLASSES * cells.noise().len()];
        let mut wrong = vec![0.0; CLASSES];
        for (index, shift) in cells.shifts().iter().enumerate() {
            for state in 0..cells.states().mean().len() {
                let class = class(state as u8, index as u8);
                let inside = |low, high| cells.shifted(state, shift.by, low, high);
                wrong[class] = bits.wrong(state, levels, inside);
                for (step, &noise) in cells.noise().iter().enumerate() {
                    let ranks = at.iter().map(|&x| cells.rank(state, shift.by, noise, x));
                    found[step * CLASSES + class] = intervals(ranks);
                }
            }
        }
        let rows = if found.iter().all(|one| one.len() <= 1) {
            Rows::One(found.iter().map(|one| row(one)).collect())
        } else {
            Rows::Four(found.iter().map(|one| row(one)).collect())
        };
        Self { rows, has_noise: cells.noise().len() > 1, wrong }
    }

    /// Reads a page into `out`: the bit of cell `j` is bit `7 - j % 8` of byte `j / 8`. `read`
    /// numbers the reads of the wordline, which differ by read noise only.
    ///
    /// # Panics
    /// When there are not eight states and eight shifts for each byte.
    pub fn sense(&self, key: RankKey, read: u64, states: &[u8], shifts: &[u8], out: &mut [u8]) {
        let cells = Cells { key, states, shifts };
        let draw = key.draw(read);
        let noise = |cell| draw.rank(cell) as usize / (1 << 28) * CLASSES;
        match (&self.rows, self.has_noise) {
            (Rows::One(rows), false) => cells.sense(&rows[..CLASSES], |_| 0, out),
            (Rows::Four(rows), false) => cells.sense(&rows[..CLASSES], |_| 0, out),
            (Rows::One(rows), true) => cells.sense(rows, noise, out),
            (Rows::Four(rows), true) => cells.sense(rows, noise, out),
        }
    }

    /// The errors that cells are expected to have: how many, and the variance. Found errors are
    /// the caller's to add.
    pub fn expected(&self, states: &[u8], shifts: &[u8]) -> Counted {
        let mut seen = vec![0_u32; CLASSES];
        for (&state, &shift) in states.iter().zip(shifts) {
            seen[class(state, shift)] += 1;
        }
        let mut counted = Counted { bits: states.len() as u64, ..Counted::default() };
        for (&count, &p) in seen.iter().zip(&self.wrong) {
            counted.expected += f64::from(count) * p;
            counted.variance += f64::from(count) * p * (1.0 - p);
        }
        counted
    }
}

/// The cells of a wordline.
struct Cells<'a> {
    key: RankKey,
    states: &'a [u8],
    shifts: &'a [u8],
}

impl Cells<'_> {
    fn sense<const N: usize>(
        &self,
        rows: &[[Interval; N]],
        noise: impl Fn(u32) -> usize,
        out: &mut [u8],
    ) {
        let Self { key, states, shifts } = *self;
        let bytes = out.len();
        assert!(
            states.len() == 8 * bytes && shifts.len() == 8 * bytes,
            "{} states and {} shifts for {bytes} bytes",
            states.len(),
            shifts.len()
        );
        let (states, shifts) = (states.as_chunks::<8>().0, shifts.as_chunks::<8>().0);
        let mut cell = 0;
        for (index, byte) in out.iter_mut().enumerate() {
            let (states, shifts) = (&states[index], &shifts[index]);
            let mut bits = 0;
            for place in 0..8 {
                let row = &rows[class(states[place], shifts[place]) + noise(cell)];
                let rank = key.rank(cell);
                let is_in = |one: &Interval| u64::from(rank.wrapping_sub(one.start)) < one.width;
                bits = bits << 1 | row.iter().fold(0, |any, one| any | u32::from(is_in(one)));
                cell += 1;
            }
            *byte = bits as u8;
        }
    }
}

/// Where the bit is 1, of levels given as shares of all ranks: 1 below the first, and so on.
fn intervals(levels: impl Iterator<Item = f64>) -> Vec<Interval> {
    let (mut bit, mut at) = (true, Vec::new());
    for share in levels {
        match (share * RANKS as f64).round() as u64 {
            0 => bit = !bit,
            RANKS => {}
            inside => at.push(inside),
        }
    }
    // Pairs of a rank at which the bit becomes 1 and one at which it is 0 again.
    match (bit, at.len() % 2) {
        (true, 0) if at.is_empty() => at = vec![0, RANKS],
        (true, 0) => at.rotate_left(1),
        (true, _) => at.insert(0, 0),
        (false, 0) => {}
        (false, _) => at.push(RANKS),
    }
    let width = |from: u64, to: u64| if from < to { to - from } else { to + RANKS - from };
    at.chunks(2)
        .map(|ends| Interval { start: ends[0] as u32, width: width(ends[0], ends[1]) })
        .collect()
}

fn row<const N: usize>(found: &[Interval]) -> [Interval; N] {
    let mut row = [Interval::default(); N];
    row[..found.len()].copy_from_slice(found);
    row
}

#[cfg(test)]
mod tests {
    use super::super::mixture::Shift;
    use super::super::tails::Tail;
    use super::super::{CellPage, States};
    use super::*;
    use proptest::prelude::*;

    const CELLS: usize = 1 << 16;

    /// Codes of 1, 2, 4 and 8 levels.
    fn codes() -> Vec<PageBits> {
        let reflected = |width: usize, count: usize| {
            PageBits::new(
                (0..count).map(move |i| u8::from(((i + width) / (2 * width)).is_multiple_of(2))),
            )
        };
        vec![reflected(4, 8), reflected(2, 8), reflected(1, 8), reflected(1, 16)]
    }

    fn cells(count: usize, sigma: f64, shifts: usize) -> Mixture {
        let mean: Vec<f64> = (0..count).map(|i| i as f64).collect();
        let weight = 1.0 / shifts as f64;
        let shift = |k: usize| Shift { by: 0.05 * (k as f64 - 0.5 * (shifts - 1) as f64), weight };
        Mixture::new(States::new(&mean, &vec![sigma; count]), (0..shifts).map(shift).collect())
    }

    fn levels(count: usize, offset: f64) -> ReadLevels {
        ReadLevels::new(&(1..count).map(|i| i as f64 - 0.5 + offset).collect::<Vec<_>>())
    }

    /// States or shifts: equally likely.
    fn drawn(key: u64, kinds: usize) -> Vec<u8> {
        let key = RankKey::of(&[key]);
        (0..CELLS as u32)
            .map(|cell| ((u64::from(key.rank(cell)) * kinds as u64) >> 32) as u8)
            .collect()
    }

    fn errors(bits: PageBits, states: &[u8], out: &[u8]) -> u64 {
        let wrong = |(cell, &state): (usize, &u8)| {
            bits.bit(usize::from(state)) != out[cell / 8] >> (7 - cell % 8) & 1
        };
        states.iter().enumerate().filter(|&one| wrong(one)).count() as u64
    }

    #[test]
    fn rows_have_the_bits_of_their_levels() {
        for count in 0..9 {
            for shares in [vec![0.0; count], (1..=count).map(|k| k as f64 / 9.0).collect()] {
                let found = intervals(shares.iter().copied());
                assert!(found.len() <= 4, "{count}");
                for rank in [0, 77, 1 << 30, 3 << 30, u32::MAX] {
                    let above =
                        shares.iter().filter(|&share| f64::from(rank) / 4_294_967_296.0 >= *share);
                    let is_in =
                        |one: &Interval| u64::from(rank.wrapping_sub(one.start)) < one.width;
                    let is_one = found.iter().any(is_in);
                    assert_eq!(is_one, above.count() % 2 == 0, "{count} levels, rank {rank}");
                }
            }
        }
    }

    #[test]
    fn senses_have_the_analytic_rate_whatever_the_states_and_levels() {
        let mut whole = Counted::default();
        for (number, &bits) in codes().iter().enumerate() {
            let count = [8, 8, 8, 16][number];
            for (sigma, noise, tail) in [
                (0.2, 0.0, Tail::Normal),
                (0.9, 0.0, Tail::Normal),
                (0.25, 0.2, Tail::Normal),
                (0.3, 0.1, Tail::Student(6.0)),
            ] {
                let cells = cells(count, sigma, 5).with(tail, noise);
                let levels = levels(count, 0.1);
                let table = SenseTable::new(&cells, bits, &levels);
                let (states, shifts) = (drawn(1, count), drawn(2, 5));
                let mut out = vec![0; CELLS / 8];
                for wordline in 0..8 {
                    let key = RankKey::of(&[number as u64, wordline]);
                    table.sense(key, wordline, &states, &shifts, &mut out);
                    let found = errors(bits, &states, &out);
                    let counted = Counted { errors: found, ..table.expected(&states, &shifts) };
                    assert!(counted.z().abs() < 4.5, "{number} {sigma}: {counted:?}");
                    whole.add(&counted);
                }
                // The rate of these cells is near that of all.
                let rate = whole.expected / whole.bits as f64;
                assert!(rate > 0.0 && table.wrong.iter().all(|p| (0.0..=1.0).contains(p)));
            }
        }
        assert!(whole.z().abs() < 4.5, "{whole:?}");
    }

    #[test]
    fn without_shifts_a_mixture_is_the_page_of_its_states() {
        let mixture = cells(8, 0.21, 1);
        let levels = levels(8, -0.07);
        for bits in codes().into_iter().take(3) {
            let page = CellPage { states: mixture.states(), bits, levels: &levels };
            assert_eq!(mixture.rber(bits, &levels).to_bits(), page.rber().to_bits());
            let at = [-0.1, 0.0, 0.1];
            assert_eq!(mixture.table(bits, &levels, &at), page.table(&at));
            assert_eq!(mixture.best_table(bits, &levels, 3), page.best_table(3));
        }
    }

    #[test]
    fn errors_repeat_as_much_as_cells_stay() {
        // Cells of one state whose level is 2.5 widths away, read twice: BVN(-z, -z; rho) / Q(z).
        let states = States::new(&[0.0, 5.0], &[1.0, 1.0]);
        let levels = ReadLevels::new(&[2.5]);
        for (noise, repeated) in [(0.1, 0.518), (0.01, 0.841), (0.0, 1.0)] {
            let cells = Mixture::new(states, vec![Shift::NONE]).with(Tail::Normal, noise);
            let table = SenseTable::new(&cells, PageBits::TWO_STATES, &levels);
            let (low, none) = (vec![0; CELLS], vec![0; CELLS]);
            let (mut first, mut second) = (vec![0; CELLS / 8], vec![0; CELLS / 8]);
            let (mut errors, mut again) = (0_u32, 0_u32);
            for wordline in 0..64 {
                let key = RankKey::of(&[wordline]);
                table.sense(key, 0, &low, &none, &mut first);
                table.sense(key, 1, &low, &none, &mut second);
                errors += first.iter().map(|byte| byte.count_zeros()).sum::<u32>();
                again += first.iter().zip(&second).map(|(a, b)| (a | b).count_zeros()).sum::<u32>();
            }
            let share = f64::from(again) / f64::from(errors);
            let sd = libm::sqrt(repeated * (1.0 - repeated) / f64::from(errors));
            // 16 values of noise are a little less than a normal one.
            assert!((share - repeated).abs() < 4.5 * sd + 0.01, "{noise}: {share} {repeated}");
        }
    }

    proptest! {
        #[test]
        fn a_cell_above_a_level_is_above_lower_ones(
            seed: u64,
            a in -0.4_f64..0.4,
            b in -0.4_f64..0.4,
        ) {
            let cells = cells(8, 0.25, 5);
            let (states, shifts) = (drawn(seed, 8), drawn(!seed, 5));
            let read = |offset: f64| {
                let mut out = vec![0; CELLS / 8];
                SenseTable::new(&cells, codes()[0], &levels(8, offset))
                    .sense(RankKey::of(&[seed]), 0, &states, &shifts, &mut out);
                out
            };
            // The page has one level, below which it is 1.
            let (low, high) = (read(a.min(b)), read(a.max(b)));
            prop_assert!(low.iter().zip(&high).all(|(low, high)| low & !high == 0));
        }
    }
}
