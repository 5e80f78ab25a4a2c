//! Roots of a polynomial by traces: the portable search, in place of trying every position.
//!
//! The trace `Tr(x) = x + x^2 + x^4 + ... + x^(2^(m-1))` is 0 for half of the elements of GF(2^m)
//! and 1 for the others. So `gcd(f, Tr(b x))` takes, for almost any b, some of the roots of f and
//! leaves the rest; with b = alpha^0, ..., alpha^(m-1) in turn any two roots are separated at last,
//! since these b are a basis. Factors of degree 1 and 2 have closed forms. The work grows with the
//! square of the number of roots and not with the length of the word.
//!
//! Source: E. R. Berlekamp, "Factoring polynomials over large finite fields", Mathematics of
//! Computation 24, 1970.

use super::field::Field;

/// Receives a factor of degree 1 or 2, lowest coefficient first; returns whether to continue.
pub(super) type Leaf<'a> = dyn FnMut(&[u16]) -> bool + 'a;

/// Splits polynomials over one field; polynomials come lowest coefficient first.
#[derive(Clone, Debug, Default)]
pub(super) struct Splitter {
    /// Factors in work, one behind the other: kept so that searches allocate nothing.
    stack: Vec<u16>,
    power: Vec<u16>,
    sum: Vec<u16>,
    rest: Vec<u16>,
    quotient: Vec<u16>,
    /// Logarithms of the coefficients of a divisor.
    logarithms: Vec<Option<u32>>,
}

impl Splitter {
    /// Passes all factors to `leaf`; `false` when it returned `false`, or when some factor has no
    /// roots.
    pub fn split(&mut self, field: &Field, polynomial: &[u16], leaf: &mut Leaf<'_>) -> bool {
        self.stack.clear();
        self.stack.extend(polynomial);
        self.split_top(field, 0, 0, leaf)
    }

    /// Splits the polynomial on the stack from `start` on, with traces from `basis` on.
    fn split_top(&mut self, field: &Field, start: usize, basis: u32, leaf: &mut Leaf<'_>) -> bool {
        let degree = self.stack.len() - start - 1;
        if degree <= 2 {
            return leaf(&self.stack[start..]);
        }
        for basis in basis..field.degree() {
            self.trace(field, start, basis);
            self.gcd(field, start);
            let common = self.rest.len() - 1;
            if common == 0 || common == degree {
                continue;
            }
            // The quotient takes the place of the polynomial, the divisor is pushed above it.
            self.divide(field, start);
            self.stack.truncate(start);
            self.stack.extend(&self.quotient);
            let above = self.stack.len();
            self.stack.extend(&self.rest);
            if !self.split_top(field, above, basis + 1, leaf) {
                return false;
            }
            self.stack.truncate(above);
            return self.split_top(field, start, basis + 1, leaf);
        }
        false
    }

    /// Sets `sum` to Tr(alpha^`basis` x) modulo the polynomial f at `start`.
    fn trace(&mut self, field: &Field, start: usize, basis: u32) {
        let divisor = &self.stack[start..];
        let degree = divisor.len() - 1;
        self.logarithms.clear();
        let leading = divisor[degree];
        self.logarithms.extend(divisor[..degree].iter().map(|&coefficient| {
            (coefficient != 0).then(|| field.exponent(field.div(coefficient, leading)) as u32)
        }));
        self.power.clear();
        self.power.resize(2 * degree, 0);
        self.power[1] = field.alpha(basis as usize);
        self.sum.clear();
        self.sum.extend(&self.power[..degree]);
        for _ in 1..field.degree() {
            for index in (0..degree).rev() {
                self.power[2 * index + 1] = 0;
                self.power[2 * index] = field.square(self.power[index]);
            }
            reduce(field, &mut self.power, &self.logarithms);
            for (sum, &power) in self.sum.iter_mut().zip(&self.power) {
                *sum ^= power;
            }
        }
    }

    /// Sets `rest` to the greatest common divisor of f at `start` and `sum`.
    fn gcd(&mut self, field: &Field, start: usize) {
        self.rest.clear();
        self.rest.extend(&self.stack[start..]);
        trim(&mut self.sum);
        while !self.sum.is_empty() {
            // (rest, sum) becomes (sum, rest modulo sum).
            let degree = self.sum.len() - 1;
            let leading = self.sum[degree];
            self.logarithms.clear();
            self.logarithms.extend(self.sum[..degree].iter().map(|&coefficient| {
                (coefficient != 0).then(|| field.exponent(field.div(coefficient, leading)) as u32)
            }));
            reduce(field, &mut self.rest, &self.logarithms);
            self.rest.truncate(degree);
            trim(&mut self.rest);
            std::mem::swap(&mut self.rest, &mut self.sum);
        }
    }

    /// Sets `quotient` to f at `start` by `rest`, which divides it.
    fn divide(&mut self, field: &Field, start: usize) {
        let divisor = &self.rest;
        let degree = divisor.len() - 1;
        let dividend = &mut self.stack[start..];
        self.quotient.clear();
        self.quotient.resize(dividend.len() - degree, 0);
        for place in (0..self.quotient.len()).rev() {
            let factor = field.div(dividend[place + degree], divisor[degree]);
            self.quotient[place] = factor;
            for (term, &coefficient) in dividend[place..].iter_mut().zip(divisor) {
                *term ^= field.mul(factor, coefficient);
            }
        }
    }
}

/// Reduces a polynomial modulo the monic one whose other coefficients have these logarithms; terms
/// of its degree and above become 0.
fn reduce(field: &Field, polynomial: &mut [u16], logarithms: &[Option<u32>]) {
    let degree = logarithms.len();
    for place in (degree..polynomial.len()).rev() {
        let leading = std::mem::take(&mut polynomial[place]);
        if leading == 0 {
            continue;
        }
        let leading = field.exponent(leading);
        let terms = polynomial[place - degree..place].iter_mut().zip(logarithms);
        for (term, &logarithm) in terms {
            if let Some(logarithm) = logarithm {
                *term ^= field.alpha_sum(leading, logarithm as usize);
            }
        }
    }
}

/// Drops leading zeros.
fn trim(polynomial: &mut Vec<u16>) {
    while polynomial.last() == Some(&0) {
        polynomial.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_linear_factors_come_apart() {
        for (m, count) in [(5, 3), (5, 9), (8, 20), (13, 33)] {
            let field = Field::new(m);
            // (x - alpha^e) for exponents in arithmetic progression, all different.
            let mut polynomial = vec![7];
            for root in 0..count {
                let root = field.alpha(3 * root + 1);
                polynomial.insert(0, 0);
                for index in 1..polynomial.len() {
                    polynomial[index - 1] ^= field.mul(polynomial[index], root);
                }
            }
            let mut degrees = 0;
            let mut leaf = |factor: &[u16]| {
                degrees += factor.len() - 1;
                let roots = (1..=field.order() as u16).filter(|&x| {
                    factor.iter().rev().fold(0, |value, &c| field.mul(value, x) ^ c) == 0
                });
                assert_eq!(roots.count(), factor.len() - 1);
                true
            };
            assert!(Splitter::default().split(&field, &polynomial, &mut leaf));
            assert_eq!(degrees, count);
            // A leaf that returns `false` ends the search.
            assert!(!Splitter::default().split(&field, &polynomial, &mut |_| false));
        }
    }

    #[test]
    fn what_has_no_roots_is_refused() {
        // x^3 + x + 1 is irreducible over GF(2), and over GF(2^5) too, since 3 does not divide 5.
        let field = Field::new(5);
        assert!(!Splitter::default().split(&field, &[1, 1, 0, 1], &mut |_| true));
        // A double root, (x + 1)^2 (x + alpha) = x^3 + alpha x^2 + x + alpha, has no two roots.
        let alpha = field.alpha(1);
        let mut found = Vec::new();
        Splitter::default().split(&field, &[alpha, 1, alpha, 1], &mut |factor| {
            found.push(factor.to_vec());
            true
        });
        assert!(found.iter().all(|factor| factor.len() == 2 || factor[1] == 0), "{found:?}");
    }
}
