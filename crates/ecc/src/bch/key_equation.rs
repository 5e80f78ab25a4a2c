//! The key equation: from the syndromes to the error locator polynomial.
//!
//! The locator `L(x) = l_0 (1 - X_1 x) ... (1 - X_e x)` of e errors at the places `X_i` is the
//! shortest linear recurrence of the syndromes. Berlekamp and Massey find it in 2t steps, in each
//! of which a discrepancy (a sum of products) decides what to do. Here the discrepancies are
//! carried along with the polynomial, as hardware does it: one row of 3t + 1 cells holds both, and
//! a step multiplies whole rows by scalars only, without any division:
//!
//! ```text
//!   delta = S_1 ... S_2t 0 ... 0 1      theta = delta     gamma = 1     length = 0
//!   step r  delta' = gamma (delta shifted by 1) + delta_0 theta
//!           if delta_0 != 0 and 2 length <= r:  theta' = delta shifted by 1, gamma' = delta_0,
//!                                               length' = r + 1 - length
//!   end     l_i = delta_(t+i)           degree = length
//! ```
//!
//! For a binary code every second discrepancy is 0, and then a step is a mere shift: so two steps
//! are made as one, without the factor gamma of the second, which scales only.
//!
//! Source: D. V. Sarwate and N. R. Shanbhag, "High-speed architectures for Reed-Solomon decoders",
//! IEEE Trans. VLSI Systems 9(5), 2001 (algorithm riBM).

use super::field::Field;
use super::multiplier::Multipliers;
use super::simd::{self, Path};

/// Room for the rows of a code: planes of low and high bytes of delta, then of theta.
#[derive(Clone, Debug)]
pub(super) struct KeyEquation {
    t: usize,
    cells: usize,
    planes: Vec<u8>,
}

impl KeyEquation {
    /// Room for a code that corrects `t` errors.
    pub fn new(t: usize) -> Self {
        let cells = 3 * t + 1;
        // A vector loaded two cells further on must stay inside.
        Self { t, cells, planes: vec![0; 4 * (cells.next_multiple_of(64) + 64)] }
    }

    /// Writes the coefficients of the locator, lowest first, and returns its degree; `None` when it
    /// is larger than t or than it claims. `syndromes` are `S_1` to `S_2t`.
    pub fn solve(
        &mut self,
        path: Path,
        field: &Field,
        multipliers: &Multipliers,
        syndromes: &[u16],
        locator: &mut [u16],
    ) -> Option<usize> {
        self.fill(syndromes);
        let rows = multipliers.rows();
        let degree = simd::key_equation(path, &mut self.planes, self.cells, self.t, rows)
            .unwrap_or_else(|| self.run(field));
        let stride = self.planes.len() / 4;
        for (index, coefficient) in locator.iter_mut().enumerate() {
            *coefficient = self.delta(stride, self.t + index);
        }
        (degree <= self.t && locator[degree] != 0).then_some(degree)
    }

    fn fill(&mut self, syndromes: &[u16]) {
        let stride = self.planes.len() / 4;
        self.planes.fill(0);
        let (low, high) = self.planes[..2 * stride].split_at_mut(stride);
        for ((low, high), &syndrome) in low.iter_mut().zip(high).zip(syndromes) {
            [*low, *high] = syndrome.to_le_bytes();
        }
        self.planes[self.cells - 1] = 1;
        self.planes.copy_within(..2 * stride, 2 * stride);
    }

    fn delta(&self, stride: usize, cell: usize) -> u16 {
        u16::from_le_bytes([self.planes[cell], self.planes[stride + cell]])
    }

    /// All steps, on the portable path; the length.
    fn run(&mut self, field: &Field) -> usize {
        let stride = self.planes.len() / 4;
        let logarithm = |a: u16| (a != 0).then(|| field.exponent(a));
        let product = |a: Option<usize>, b: u16| match a {
            Some(exponent) => field.mul_alpha(b, exponent),
            None => 0,
        };
        let mut gamma = logarithm(1);
        let mut length = 0;
        for step in 0..self.t {
            let first = logarithm(self.delta(stride, 0));
            let exchange = first.is_some() && length <= step;
            for cell in 0..self.cells {
                let theta = self.delta(stride, 2 * stride + cell + 1);
                let twice = self.delta(stride, cell + 2);
                let sum = product(gamma, twice) ^ product(first, theta);
                let once = self.delta(stride, cell + 1);
                [self.planes[cell], self.planes[stride + cell]] = sum.to_le_bytes();
                if exchange {
                    let theta = once.to_le_bytes();
                    [self.planes[2 * stride + cell], self.planes[3 * stride + cell]] = theta;
                }
            }
            if exchange {
                gamma = first;
                length = 2 * step + 1 - length;
            }
        }
        length
    }
}
