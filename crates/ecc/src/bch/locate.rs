//! Where the locator polynomial is 0: the places of the errors.
//!
//! An error at place e (the power of x it belongs to) is a root alpha^-e. One and two errors have
//! closed forms. More errors are found with vectors by trying every place of the shortened word, as
//! Chien does: each term of the polynomial advances by a multiplication with a constant power. The
//! search stops when two roots are left, which have a closed form again. Without vectors,
//! [`super::trace`] finds the roots.
//!
//! The error pattern is accepted only when the number of roots within the word equals the degree of
//! the polynomial. That makes the decoder a bounded-distance one: roots outside the word, missing
//! roots or double roots mean that no codeword is within t errors.
//!
//! Source: R. T. Chien, IEEE Trans. Information Theory 10(4), 1964; Lin & Costello, "Error Control
//! Coding", 2nd edition, section 6.2.

use super::field::Field;
use super::multiplier::Multipliers;
use super::simd::{self, Path, Scan, SCAN_VECTORS};
use super::trace::Splitter;

/// Tables of the search for one code.
#[derive(Clone, Debug)]
pub(super) struct Locator {
    path: Path,
    code_bits: usize,
    /// The y with y^2 + y = c, for each c that has one; 0 otherwise.
    quadratic: Vec<u16>,
    /// For each term j from 1: the exponent that brings it to the first bit of the word.
    first: Vec<usize>,
    /// See [`Scan::powers`].
    powers: Vec<u8>,
    /// See [`Scan::steps`].
    steps: Vec<u64>,
}

impl Locator {
    /// Tables for words of `code_bits` bits with up to `t` errors.
    pub fn new(
        path: Path,
        field: &Field,
        multipliers: &Multipliers,
        t: usize,
        code_bits: usize,
    ) -> Self {
        let mut quadratic = vec![0; field.order() + 1];
        for y in (2..=field.order()).step_by(2) {
            quadratic[usize::from(field.square(y as u16)) ^ y] = y as u16;
        }
        let order = field.order();
        let lanes = path.lanes();
        let first = (1..=t).map(|j| (order - j * (code_bits - 1) % order) % order).collect();
        let mut powers = Vec::new();
        let mut steps = Vec::new();
        if path != Path::PORTABLE {
            for j in 1..=t {
                let plane = |byte: usize| {
                    (0..lanes).map(move |lane| field.alpha(j * lane).to_le_bytes()[byte])
                };
                powers.extend(plane(0).chain(plane(1)));
                for vector in 1..=SCAN_VECTORS {
                    steps.extend(multipliers.row(field.alpha(j * vector * lanes)));
                }
            }
        }
        Self { path, code_bits, quadratic, first, powers, steps }
    }

    /// Bytes that [`Locator::search`] needs.
    pub fn state_bytes(&self) -> usize {
        self.powers.len()
    }

    /// Writes the places of the errors, as indices into the word in ascending order; `false` when
    /// there are not as many as the degree of `locator`, whose coefficients come lowest first.
    pub fn search(
        &self,
        field: &Field,
        multipliers: &Multipliers,
        locator: &[u16],
        scratch: &mut Scratch,
        positions: &mut Vec<u32>,
    ) -> bool {
        positions.clear();
        match *locator {
            [] | [_] => {}
            [a, b] => self.push_root(field, field.div(a, b), positions),
            [a, b, c] => {
                self.solve_quadratic(field, [a, b, c], positions);
                positions.sort_unstable();
            }
            _ => self.scan(field, multipliers, locator, scratch, positions),
        }
        positions.len() + 1 == locator.len()
    }

    /// Appends the position of a root if it is inside the word.
    fn push_root(&self, field: &Field, root: u16, positions: &mut Vec<u32>) {
        // The root alpha^-e belongs to x^e, and x^0 to the last bit.
        let exponent = (field.order() - field.exponent(root)) % field.order();
        if exponent < self.code_bits {
            positions.push((self.code_bits - 1 - exponent) as u32);
        }
    }

    /// `a + b x + c x^2`: with x = (b / c) y it is y^2 + y = a c / b^2.
    fn solve_quadratic(&self, field: &Field, [a, b, c]: [u16; 3], positions: &mut Vec<u32>) {
        if b == 0 {
            return;
        }
        let y = self.quadratic[usize::from(field.div(field.mul(a, c), field.square(b)))];
        if y == 0 {
            return;
        }
        let scale = field.div(b, c);
        self.push_root(field, field.mul(scale, y), positions);
        self.push_root(field, field.mul(scale, y ^ 1), positions);
    }

    fn scan(
        &self,
        field: &Field,
        multipliers: &Multipliers,
        locator: &[u16],
        scratch: &mut Scratch,
        positions: &mut Vec<u32>,
    ) {
        scratch.coefficients.clear();
        scratch.coefficients.extend(
            locator[1..].iter().zip(&self.first).map(|(&l, &first)| field.mul_alpha(l, first)),
        );
        let mut job = Scan {
            constant: locator[0],
            coefficients: &scratch.coefficients,
            powers: &self.powers,
            steps: &self.steps,
            multipliers: multipliers.rows(),
            state: &mut scratch.state,
            positions_end: self.code_bits,
        };
        if simd::scan(self.path, &mut job, positions) {
            self.complete(field, locator, positions);
        } else {
            self.split(field, locator, &mut scratch.splitter, positions);
        }
    }

    /// Appends the last one or two roots, which follow from the sum and the product of all.
    ///
    /// In `l_0 (1 - X_1 x) ... (1 - X_e x)` the sum of the places is `l_1 / l_0` and their product
    /// `l_e / l_0`.
    fn complete(&self, field: &Field, locator: &[u16], positions: &mut Vec<u32>) {
        let degree = locator.len() - 1;
        if positions.len() >= degree || positions.len() + 2 < degree {
            return;
        }
        let mut sum = field.div(locator[1], locator[0]);
        let mut exponents = 0;
        for &position in &*positions {
            let exponent = self.code_bits - 1 - position as usize;
            sum ^= field.alpha(exponent);
            exponents += exponent;
        }
        if positions.len() + 1 == degree {
            if sum != 0 {
                self.push_root(field, field.div(1, sum), positions);
            }
        } else {
            let all = field.div(locator[degree], locator[0]);
            let product = field.div(all, field.alpha(exponents));
            self.solve_quadratic(field, [1, sum, product], positions);
        }
        positions.sort_unstable();
        // A root found twice is a double one.
        positions.dedup();
    }

    fn split(
        &self,
        field: &Field,
        locator: &[u16],
        splitter: &mut Splitter,
        positions: &mut Vec<u32>,
    ) {
        let mut found = 0;
        splitter.split(field, locator, &mut |factor| {
            found += factor.len() - 1;
            match *factor {
                [a, b] => self.push_root(field, field.div(a, b), positions),
                [a, b, c] => self.solve_quadratic(field, [a, b, c], positions),
                _ => {}
            }
            // A root that is not in the word ends the search.
            positions.len() == found
        });
        positions.sort_unstable();
    }
}

/// Working memory of a search.
#[derive(Clone, Debug)]
pub(super) struct Scratch {
    coefficients: Vec<u16>,
    splitter: Splitter,
    state: Vec<u8>,
}

impl Scratch {
    /// Room for the searches of a locator of up to `t` errors.
    pub fn new(t: usize, locator: &Locator) -> Self {
        Self {
            coefficients: Vec::with_capacity(t),
            splitter: Splitter::default(),
            state: vec![0; locator.state_bytes()],
        }
    }
}
