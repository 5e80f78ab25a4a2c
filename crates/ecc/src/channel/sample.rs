//! One point of a channel, and draws from it.
//!
//! A discrete channel draws a bin by 12 random bits from a table of 4096 cells; a cell that the
//! border of two bins cuts is marked, and then 64 more bits decide, so that probabilities are exact
//! to 2^-53. One 64-bit number serves five code bits.
//!
//! Stratified draws fix the *number of wrong hard decisions* `w` of a codeword: `w` positions are
//! chosen evenly, and every bit is drawn from the channel given that its hard decision is wrong
//! there and right elsewhere. With `w` binomial that is the channel itself, since cells are
//! independent; it needs equal error rates of both bits.

use super::rng::{Normal, Rng};
use super::ChannelError;
use crate::cell::{bin_llrs, LlrTable, Thresholds, TwoStates};
use std::cmp::Ordering;

const CELL_BITS: u32 = 12;
/// Cells of the unit interval.
pub(crate) const CELLS: usize = 1 << CELL_BITS;
const DRAWS_PER_WORD: u32 = 64 / CELL_BITS;
const CUT: u8 = u8::MAX;

/// How many hard decisions of a codeword are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitErrors {
    /// As the channel has it.
    Natural,
    /// Exactly this number, at random positions.
    Exactly(u32),
}

/// One point of a channel.
#[derive(Clone, Debug)]
pub struct Channel {
    kind: Kind,
    /// Probability of a wrong hard decision, for bit 0 and bit 1.
    error_rates: [f64; 2],
}

#[derive(Clone, Debug)]
enum Kind {
    Discrete(Box<Discrete>),
    Gaussian { states: TwoStates, believed: TwoStates, normal: Box<Normal> },
}

/// The tables of a discrete channel, those of bit 0 before those of bit 1.
pub(crate) struct BinTables<'a> {
    /// The bin of each cell; 255 if a border is inside.
    pub cells: [&'a [u8; CELLS]; 2],
    /// Upper borders of the bins.
    pub borders: [&'a [f64]; 2],
    /// The bit that each bin speaks for.
    pub decided: &'a [u8],
    /// LLRs of the bins.
    pub llrs: &'a [f32],
}

impl Channel {
    /// Bits that flip with probability `rber`.
    ///
    /// # Errors
    /// When the RBER is not inside (0, 0.5).
    pub fn bsc(rber: f64) -> Result<Self, ChannelError> {
        let states = TwoStates::symmetric(rber)?;
        Ok(Self::discrete(&states, &Thresholds::Best(1).table(&states)?))
    }

    /// Cells in these states, read with the thresholds and LLRs of the table.
    pub fn discrete(states: &TwoStates, table: &LlrTable) -> Self {
        let discrete = Discrete::new(states, table);
        Self { error_rates: discrete.error_rates, kind: Kind::Discrete(Box::new(discrete)) }
    }

    /// BPSK over white Gaussian noise, at an Eb/N0 in dB per information bit of a code of `rate`.
    ///
    /// `sigma^2 = 1 / (2 R Eb/N0)` for symbols at +1 and -1.
    ///
    /// # Errors
    /// When the Eb/N0 is not within -20 and 40 dB, or the rate not above 0 and at most 1.
    pub fn awgn(ebn0_db: f64, rate: f64) -> Result<Self, ChannelError> {
        if !(-20.0..=40.0).contains(&ebn0_db) {
            return Err(ChannelError::Ebn0 { ebn0_db });
        }
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(ChannelError::Rate { rate });
        }
        let sigma = (1.0 / (2.0 * rate * libm::pow(10.0, ebn0_db / 10.0))).sqrt();
        let states = TwoStates::with_sigma(sigma);
        Ok(Self::gaussian(states, states))
    }

    /// Cells whose voltage is known; LLRs are those of the assumed states.
    pub fn gaussian(states: TwoStates, believed: TwoStates) -> Self {
        let kind = Kind::Gaussian { states, believed, normal: Box::new(Normal::new()) };
        Self { kind, error_rates: states.error_rates() }
    }

    /// Probabilities that the hard decision (the sign of the true LLR) is wrong, for bit 0 and 1.
    pub fn error_rates(&self) -> [f64; 2] {
        self.error_rates
    }

    /// Probability of a wrong hard decision, for bits of equal frequency.
    pub fn rber(&self) -> f64 {
        0.5 * (self.error_rates[0] + self.error_rates[1])
    }

    /// Whether both bits are equally often wrong: hard decisions are then a binary symmetric
    /// channel.
    pub fn is_symmetric(&self) -> bool {
        let [zero, one] = self.error_rates;
        (zero - one).abs() <= 1e-12 * zero.max(one)
    }

    /// The tables that bits are drawn from, if the channel is discrete.
    pub(crate) fn bins(&self) -> Option<BinTables<'_>> {
        let Kind::Discrete(discrete) = &self.kind else { return None };
        let Discrete { llrs, natural: [zero, one], decided, .. } = discrete.as_ref();
        let (cells, borders) = ([&*zero.cells, &*one.cells], [&*zero.borders, &*one.borders]);
        Some(BinTables { cells, borders, decided, llrs })
    }

    /// Draws the LLRs of a codeword (one bit per byte); returns how many hard decisions are wrong.
    ///
    /// # Panics
    /// When the lengths differ, or more errors are asked for than there are bits.
    pub fn draw(&self, code: &[u8], errors: BitErrors, rng: &mut Rng, llrs: &mut [f32]) -> u32 {
        assert_eq!(code.len(), llrs.len(), "an LLR for each bit");
        match errors {
            BitErrors::Natural => match &self.kind {
                Kind::Discrete(discrete) => discrete.draw(code, rng, llrs),
                Kind::Gaussian { states, believed, normal } => {
                    let point = states.decision_point();
                    let mut wrong = 0;
                    for (llr, &bit) in llrs.iter_mut().zip(code) {
                        let y = centre(bit) + states.sigma()[usize::from(bit)] * normal.draw(rng);
                        wrong += u32::from((y < point) != (bit == 1));
                        *llr = believed.llr(y) as f32;
                    }
                    wrong
                }
            },
            BitErrors::Exactly(count) => {
                self.draw_exactly(code, count, rng, llrs);
                count
            }
        }
    }

    fn draw_exactly(&self, code: &[u8], count: u32, rng: &mut Rng, llrs: &mut [f32]) {
        assert!(count as usize <= code.len(), "{count} errors in {} bits", code.len());
        // A NaN marks the chosen positions until they are drawn.
        llrs.fill(0.0);
        choose(code.len(), count, rng, |position| {
            let is_new = !llrs[position].is_nan();
            llrs[position] = f32::NAN;
            is_new
        });
        for (llr, &bit) in llrs.iter_mut().zip(code) {
            *llr = self.draw_given(bit, llr.is_nan(), rng);
        }
    }

    /// The LLR of one bit, given whether its hard decision is wrong.
    fn draw_given(&self, bit: u8, wrong: bool, rng: &mut Rng) -> f32 {
        match &self.kind {
            Kind::Discrete(discrete) => discrete.draw_given(bit, wrong, rng),
            Kind::Gaussian { states, believed, normal } => {
                let sigma = states.sigma()[usize::from(bit)];
                // Distance of the decision point from the centre, towards the other state.
                let away = (1.0 - centre(bit) * states.decision_point()) / sigma;
                let z = if wrong {
                    Normal::beyond(away, rng)
                } else {
                    loop {
                        let z = normal.draw(rng);
                        if z <= away {
                            break z;
                        }
                    }
                };
                believed.llr(centre(bit) * (1.0 - sigma * z)) as f32
            }
        }
    }

    /// Draws which of `bit_count` hard decisions are wrong; `positions` is replaced.
    ///
    /// `bit_at` returns the bit that was sent, for states that are not equally wide.
    pub fn wrong_positions(
        &self,
        bit_count: usize,
        errors: BitErrors,
        rng: &mut Rng,
        bit_at: impl Fn(usize) -> u8,
        positions: &mut Vec<u32>,
    ) {
        positions.clear();
        if let BitErrors::Exactly(count) = errors {
            choose(bit_count, count, rng, |position| {
                let position = position as u32;
                let place = positions.binary_search(&position);
                if let Err(place) = place {
                    positions.insert(place, position);
                }
                place.is_err()
            });
            return;
        }
        let highest = self.error_rates[0].max(self.error_rates[1]);
        // Distances between errors are geometric; the rarer kind is thinned out.
        let scale = 1.0 / libm::log1p(-highest);
        let mut position = 0_usize;
        while position < bit_count {
            let gap = libm::log(rng.unit()) * scale;
            // A NaN (a rate of 0 at u = 1) ends it too.
            if !matches!(gap.partial_cmp(&((bit_count - position) as f64)), Some(Ordering::Less)) {
                return;
            }
            position += gap as usize;
            let rate = self.error_rates[usize::from(bit_at(position))];
            if rate >= highest || rng.unit() * highest <= rate {
                positions.push(position as u32);
            }
            position += 1;
        }
    }
}

fn centre(bit: u8) -> f64 {
    if bit == 0 {
        1.0
    } else {
        -1.0
    }
}

/// Chooses `count` of `len` positions evenly; `take` returns whether a position was still free.
fn choose(len: usize, count: u32, rng: &mut Rng, mut take: impl FnMut(usize) -> bool) {
    // Floyd's algorithm: each of the last `count` numbers adds one of those up to it.
    let count = count as usize;
    for last in len - count..len {
        let position = rng.below(last as u64 + 1) as usize;
        if !take(position) {
            let was_free = take(last);
            debug_assert!(was_free, "nothing up to here was above {last}");
        }
    }
}

/// A discrete channel: bins, ready for drawing.
#[derive(Clone, Debug)]
struct Discrete {
    llrs: Vec<f32>,
    /// Per bit: all bins.
    natural: [Bins; 2],
    /// Per bit: the bins of a right, and of a wrong hard decision.
    given: [[Bins; 2]; 2],
    /// The bit that each bin speaks for.
    decided: Vec<u8>,
    error_rates: [f64; 2],
}

impl Discrete {
    fn new(states: &TwoStates, table: &LlrTable) -> Self {
        // The hard decision is that of the true LLRs, not of those believed in.
        let true_llrs = bin_llrs(&states.log_bins(&table.reads));
        let decided: Vec<u8> = true_llrs.iter().map(|&llr| u8::from(llr < 0.0)).collect();
        let part = |bit: usize, is_wrong: Option<bool>| -> Vec<f64> {
            table
                .probabilities(bit)
                .zip(&decided)
                .map(|(p, &says)| {
                    let wrong = usize::from(says) != bit;
                    if is_wrong.is_none_or(|wanted| wanted == wrong) {
                        p
                    } else {
                        0.0
                    }
                })
                .collect()
        };
        Self {
            llrs: table.llrs().map(|llr| llr.clamp(-1e4, 1e4) as f32).collect(),
            natural: [0, 1].map(|bit| Bins::new(&part(bit, None))),
            given: [0, 1].map(|bit| [false, true].map(|wrong| Bins::new(&part(bit, Some(wrong))))),
            error_rates: [0, 1].map(|bit| part(bit, Some(true)).iter().sum()),
            decided,
        }
    }

    fn draw(&self, code: &[u8], rng: &mut Rng, llrs: &mut [f32]) -> u32 {
        let mut wrong = 0;
        for (llrs, bits) in
            llrs.chunks_mut(DRAWS_PER_WORD as usize).zip(code.chunks(DRAWS_PER_WORD as usize))
        {
            let mut word = rng.next_u64();
            for (llr, &bit) in llrs.iter_mut().zip(bits) {
                let cell = (word as usize) & (CELLS - 1);
                word >>= CELL_BITS;
                let bin = self.natural[usize::from(bit)].at(cell, rng);
                *llr = self.llrs[bin];
                wrong += u32::from(self.decided[bin] ^ bit);
            }
        }
        wrong
    }

    fn draw_given(&self, bit: u8, wrong: bool, rng: &mut Rng) -> f32 {
        let bins = &self.given[usize::from(bit)][usize::from(wrong)];
        let cell = (rng.next_u64() >> (64 - CELL_BITS)) as usize;
        self.llrs[bins.at(cell, rng)]
    }
}

/// Probabilities, ready for drawing.
#[derive(Clone, Debug)]
struct Bins {
    /// The bin of each cell of the unit interval; [`CUT`] if a border is inside.
    cells: Box<[u8; CELLS]>,
    /// Upper borders of the bins in the unit interval; the last is 1.
    borders: Vec<f64>,
}

impl Bins {
    /// Of weights that need not sum to 1; an event without weight is never drawn.
    fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let mut borders: Vec<f64> = weights
            .iter()
            .map(|weight| {
                sum += weight;
                if total > 0.0 {
                    sum / total
                } else {
                    1.0
                }
            })
            .collect();
        // Bins above the last with a weight stay empty in spite of rounding.
        let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
        borders[last..].fill(1.0);
        let bin_at = |u: f64| borders.iter().position(|&border| u < border).unwrap_or(last);
        let cells = std::array::from_fn(|cell| {
            let first = bin_at(cell as f64 / CELLS as f64);
            // The next lower float: the upper end of a cell belongs to the next one.
            let end = (cell + 1) as f64 / CELLS as f64;
            let after = bin_at(f64::from_bits(end.to_bits() - 1));
            if first == after {
                first as u8
            } else {
                CUT
            }
        });
        Self { cells: Box::new(cells), borders }
    }

    #[inline]
    fn at(&self, cell: usize, rng: &mut Rng) -> usize {
        let bin = self.cells[cell];
        if bin == CUT {
            self.refined(cell, rng)
        } else {
            usize::from(bin)
        }
    }

    #[cold]
    fn refined(&self, cell: usize, rng: &mut Rng) -> usize {
        let share = (rng.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0);
        let u = (cell as f64 + share) / CELLS as f64;
        self.borders.iter().position(|&border| u < border).unwrap_or(self.borders.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::q;

    /// Deviation of a count from its expectation, in standard deviations.
    fn deviation(count: u64, trials: u64, p: f64) -> f64 {
        let n = trials as f64;
        (count as f64 - n * p).abs() / (n * p * (1.0 - p)).sqrt()
    }

    fn channels() -> Vec<(Channel, Option<LlrTable>)> {
        let mut all = Vec::new();
        for (reads, ratio) in [(1, 1.0), (3, 1.0), (7, 1.0), (3, 1.5)] {
            let states = TwoStates::with_ratio(0.02, ratio).unwrap();
            let table = Thresholds::Best(reads).table(&states).unwrap();
            all.push((Channel::discrete(&states, &table), Some(table)));
        }
        let states = TwoStates::symmetric(0.02).unwrap();
        all.push((Channel::gaussian(states, states), None));
        all
    }

    #[test]
    fn bins_occur_as_often_as_the_table_says() {
        const FRAMES: u64 = 300;
        let code: Vec<u8> = (0..4001).map(|place| u8::from(place % 3 == 0)).collect();
        let counts = [2667_u64, 1334];
        let mut llrs = vec![0.0; code.len()];
        for (channel, table) in channels() {
            let Some(table) = table else { continue };
            let mut seen = [vec![0_u64; table.bins.len()], vec![0; table.bins.len()]];
            for frame in 0..FRAMES {
                let mut rng = Rng::frame(7, 1, frame);
                channel.draw(&code, BitErrors::Natural, &mut rng, &mut llrs);
                for (llr, &bit) in llrs.iter().zip(&code) {
                    let bin = table
                        .llrs()
                        .position(|value| (value as f32).to_bits() == llr.to_bits())
                        .unwrap();
                    seen[usize::from(bit)][bin] += 1;
                }
            }
            for bit in [0, 1] {
                for (bin, p) in table.probabilities(bit).enumerate() {
                    let off = deviation(seen[bit][bin], FRAMES * counts[bit], p);
                    assert!(off < 5.0, "bit {bit} bin {bin}: {off} standard deviations");
                }
            }
        }
    }

    #[test]
    fn hard_decisions_are_wrong_at_the_raw_bit_error_rate() {
        let code: Vec<u8> = (0..10_000).map(|place| u8::from(place % 2 == 0)).collect();
        let mut llrs = vec![0.0; code.len()];
        for (channel, _) in channels() {
            let mut wrong = 0;
            for frame in 0..200 {
                let mut rng = Rng::frame(9, 1, frame);
                let said = channel.draw(&code, BitErrors::Natural, &mut rng, &mut llrs);
                let signs = llrs
                    .iter()
                    .zip(&code)
                    .filter(|(llr, &bit)| (**llr < 0.0) != (bit == 1))
                    .count();
                assert_eq!(said as usize, signs);
                wrong += u64::from(said);
            }
            assert!(deviation(wrong, 2_000_000, channel.rber()) < 5.0);
        }
        assert!((Channel::bsc(1e-3).unwrap().rber() / 1e-3 - 1.0).abs() < 1e-9);
        // 6 dB at rate 223/255: Q(sqrt(2 R Eb/N0)).
        let rate = 223.0 / 255.0;
        let expected = q((2.0 * rate * libm::pow(10.0, 0.6)).sqrt());
        assert!((Channel::awgn(6.0, rate).unwrap().rber() / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_stratum_has_its_errors_and_mixes_to_the_channel() {
        let code: Vec<u8> = (0..500).map(|place| u8::from(place % 2 == 0)).collect();
        let mut llrs = vec![0.0; code.len()];
        for (channel, table) in channels() {
            if !channel.is_symmetric() {
                continue;
            }
            let (mut sums, mut wrongs) = (0.0, 0.0);
            for frame in 0..400 {
                for count in [0, 3, 11, 500] {
                    let mut rng = Rng::frame(3, 1, frame);
                    channel.draw(&code, BitErrors::Exactly(count), &mut rng, &mut llrs);
                    let wrong = llrs.iter().zip(&code).filter(|(llr, &bit)| {
                        assert!(!llr.is_nan());
                        (**llr < 0.0) != (bit == 1)
                    });
                    assert_eq!(wrong.count() as u32, count);
                    if count == 11 {
                        for (llr, &bit) in llrs.iter().zip(&code) {
                            if (*llr < 0.0) != (bit == 1) {
                                sums += f64::from(llr.abs());
                                wrongs += 1.0;
                            }
                        }
                    }
                }
            }
            // Mean magnitude of the LLR of a wrong decision.
            let expected = if let Some(table) = &table {
                let wrong = &table.bins[..table.bins.len() / 2];
                let rate: f64 = wrong.iter().map(|bin| bin.if_zero).sum();
                wrong.iter().map(|bin| -bin.if_zero * bin.llr).sum::<f64>() / rate
            } else {
                // E[-2y/s^2 | y < 0] by the mean of a truncated normal.
                let sigma = TwoStates::symmetric(0.02).unwrap().sigma()[0];
                let a = 1.0 / sigma;
                let hazard = libm::exp(-0.5 * a * a) / (std::f64::consts::TAU.sqrt() * q(a));
                2.0 * (sigma * hazard - 1.0) / (sigma * sigma)
            };
            assert!((sums / wrongs / expected - 1.0).abs() < 0.08, "{} {expected}", sums / wrongs);
        }
    }

    #[test]
    fn wrong_positions_occur_at_the_raw_bit_error_rate() {
        let mut positions = Vec::new();
        for rber in [1e-3, 0.1, 0.49] {
            let channel = Channel::bsc(rber).unwrap();
            let mut wrong = 0;
            for frame in 0..2000 {
                let mut rng = Rng::frame(1, 2, frame);
                channel.wrong_positions(1003, BitErrors::Natural, &mut rng, |_| 0, &mut positions);
                assert!(positions.windows(2).all(|pair| pair[0] < pair[1]));
                assert!(positions.iter().all(|&position| position < 1003));
                wrong += positions.len() as u64;
            }
            assert!(deviation(wrong, 2_006_000, rber) < 5.0, "{rber}");
        }
        let channel = Channel::bsc(1e-3).unwrap();
        for count in [0, 1, 9, 1003] {
            let mut rng = Rng::frame(1, 2, u64::from(count));
            let errors = BitErrors::Exactly(count);
            channel.wrong_positions(1003, errors, &mut rng, |_| 0, &mut positions);
            assert_eq!(positions.len() as u32, count);
            assert!(positions.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn chosen_positions_are_even() {
        let channel = Channel::bsc(1e-3).unwrap();
        let (mut positions, mut seen) = (Vec::new(), [0_u64; 10]);
        for frame in 0..20_000 {
            let mut rng = Rng::frame(5, 2, frame);
            let errors = BitErrors::Exactly(3);
            channel.wrong_positions(10, errors, &mut rng, |_| 0, &mut positions);
            for &position in &positions {
                seen[position as usize] += 1;
            }
        }
        for count in seen {
            assert!(deviation(count, 20_000, 0.3) < 5.0, "{seen:?}");
        }
    }

    #[test]
    fn unequal_states_are_wrong_each_at_its_own_rate() {
        let states = TwoStates::with_ratio(0.05, 2.0).unwrap();
        let table = Thresholds::Best(1).table(&states).unwrap();
        let channel = Channel::discrete(&states, &table);
        let [zero, one] = channel.error_rates();
        assert!((zero - states.error_rates()[0]).abs() < 1e-12 && one > zero);
        let (mut counts, mut positions) = ([0_u64; 2], Vec::new());
        for frame in 0..2000 {
            let bit_at = |position: usize| u8::from(position < 800);
            let mut rng = Rng::frame(1, 2, frame);
            channel.wrong_positions(1600, BitErrors::Natural, &mut rng, bit_at, &mut positions);
            for &position in &positions {
                counts[usize::from(bit_at(position as usize))] += 1;
            }
        }
        assert!(deviation(counts[0], 1_600_000, zero) < 5.0);
        assert!(deviation(counts[1], 1_600_000, one) < 5.0);
    }

    #[test]
    fn impossible_channels_are_refused() {
        assert!(Channel::bsc(0.5).is_err() && Channel::bsc(f64::NAN).is_err());
        assert!(Channel::awgn(f64::NAN, 0.5).is_err() && Channel::awgn(99.0, 0.5).is_err());
        assert!(Channel::awgn(3.0, 0.0).is_err() && Channel::awgn(3.0, f64::NAN).is_err());
    }
}
