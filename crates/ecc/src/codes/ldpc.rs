//! LDPC codes in the drive: frame error rates by table.
//!
//! Iterative decoders have no closed form, so the failure probability of a codeword comes from a
//! table of the frame error rate against the raw bit error rate, for 1 read (hard decisions) and
//! for soft decisions of 3 and 7 reads. Between points the curve is a straight line in logarithms
//! of both; below the first point the line through the first two is extended:
//!
//! ```text
//!   ln FER │            ●──●  measured
//!          │        ●
//!          │      ●      between: straight
//!          │   ⋰         below: extrapolated and reported; an error floor would not show
//!          └───────────────── ln RBER
//! ```
//!
//! The tables of `ldpc_tables` were measured with this crate's own engine; a device may bring its
//! own. Codewords are not shortened: a page is a whole number of them, or one spans whole pages.

use super::ldpc_tables::{MeasuredPoint, TABLES};
use super::{Code, CodeError};
use crate::ldpc::LdpcCode;

/// Numbers of reads that a table has columns for.
pub const TABLE_READS: [u32; 3] = [1, 3, 7];

/// An RBER, and the frame error rates after 1, 3 and 7 reads, if known.
pub type FerRates = (f64, [Option<f64>; 3]);

/// The frame error rate of a decoder against the raw bit error rate.
#[derive(Clone, Debug, PartialEq)]
pub struct FerCurve {
    /// Natural logarithms of RBER and FER, both rising.
    points: Vec<(f64, f64)>,
}

impl FerCurve {
    /// A curve through points of RBER and FER.
    ///
    /// # Errors
    /// [`CodeError::FerTable`] for less than two points, rates out of range, and points that do
    /// not rise.
    pub fn new(points: &[(f64, f64)]) -> Result<Self, CodeError> {
        let refuse = |problem: String| Err(CodeError::FerTable { problem });
        if points.len() < 2 {
            return refuse(format!(
                "{} points make no curve; accepted: 2 or more with a rate",
                points.len()
            ));
        }
        for &(rber, fer) in points {
            if !(rber > 0.0 && rber <= 0.5 && fer > 0.0 && fer <= 1.0) {
                return refuse(format!(
                    "rber {rber:e} with a frame error rate of {fer:e}; accepted: above 0, to 0.5 \
                     and to 1"
                ));
            }
        }
        for pair in points.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            let is_flat_end = before.1.to_bits() == 1.0_f64.to_bits() && after.1 >= before.1;
            if after.0 <= before.0 || (after.1 <= before.1 && !is_flat_end) {
                return refuse(format!(
                    "({:e}, {:e}) does not lie above ({:e}, {:e}); accepted: rber and frame error \
                     rate both rising",
                    after.0, after.1, before.0, before.1
                ));
            }
        }
        if points[1].1 <= points[0].1 {
            return refuse("the first two rates are both 1; accepted: a rate below 1".into());
        }
        let logs = points.iter().map(|&(rber, fer)| (libm::log(rber), libm::log(fer)));
        Ok(Self { points: logs.collect() })
    }

    /// Frame error rate at an RBER.
    pub fn at(&self, rber: f64) -> f64 {
        if rber <= 0.0 {
            return 0.0;
        }
        let x = libm::log(rber);
        let after = self.points.partition_point(|point| point.0 < x);
        let first = after.saturating_sub(1).min(self.points.len() - 2);
        let ((x0, y0), (x1, y1)) = (self.points[first], self.points[first + 1]);
        libm::exp(y0 + (x - x0) * (y1 - y0) / (x1 - x0)).min(1.0)
    }

    /// Whether an RBER is below all points.
    pub fn is_extrapolated(&self, rber: f64) -> bool {
        rber > 0.0 && libm::log(rber) < self.points[0].0
    }
}

/// An LDPC code by the table of its frame error rate.
#[derive(Clone, Debug, PartialEq)]
pub struct LdpcByTable {
    info_bits: u32,
    parity_bits: u32,
    /// One curve for each of [`TABLE_READS`]; none if the table has no rates for it.
    curves: [Option<FerCurve>; 3],
}

impl LdpcByTable {
    /// One of the package's own codes, with its measured table or with given rows of
    /// `(RBER, FER after 1, 3 and 7 reads)`.
    ///
    /// # Errors
    /// [`CodeError`] for a name without a code or without a table, and for rows that make no
    /// curve; there must be one of 1 read.
    ///
    /// ```
    /// use opennandlab_ecc::{Code, LdpcByTable};
    /// let code = LdpcByTable::new("nand-4k-r090", None)?;
    /// let hard = code.failure_probability(32768, 7e-3);
    /// let soft = code.soft_failure_probability(32768, 7e-3, 3).unwrap();
    /// assert!(hard > 1e-3 && soft < 1e-6);
    /// # Ok::<(), opennandlab_ecc::CodeError>(())
    /// ```
    pub fn new(name: &str, rows: Option<&[FerRates]>) -> Result<Self, CodeError> {
        let lengths = LdpcCode::nand_lengths(name);
        let (info_bits, code_bits) =
            lengths.map_err(|error| CodeError::Ldpc { problem: error.to_string() })?;
        let curves = match rows {
            Some(rows) => Self::curves_of(rows)?,
            None => Self::measured(name)?,
        };
        Self::with_curves(info_bits as u32, code_bits as u32, curves)
    }

    /// A code of these lengths with given rows, whatever its matrix.
    ///
    /// # Errors
    /// [`CodeError`] for lengths that no code has, and as [`LdpcByTable::new`].
    pub fn of_lengths(
        info_bits: u32,
        code_bits: u32,
        rows: &[FerRates],
    ) -> Result<Self, CodeError> {
        if info_bits == 0 || code_bits <= info_bits {
            let problem = format!(
                "{info_bits} data bits in codewords of {code_bits}; accepted: 1 or more, and less \
                 than the codeword has"
            );
            return Err(CodeError::Ldpc { problem });
        }
        Self::with_curves(info_bits, code_bits, Self::curves_of(rows)?)
    }

    fn with_curves(
        info_bits: u32,
        code_bits: u32,
        curves: [Option<FerCurve>; 3],
    ) -> Result<Self, CodeError> {
        if curves[0].is_none() {
            let problem = "no rates after 1 read; accepted: 2 or more points with them".into();
            return Err(CodeError::FerTable { problem });
        }
        Ok(Self { info_bits, parity_bits: code_bits - info_bits, curves })
    }

    /// Names of the codes whose tables the package has.
    pub fn names_with_table() -> Vec<&'static str> {
        TABLES.iter().map(|table| table.0).collect()
    }

    fn curves_of(rows: &[FerRates]) -> Result<[Option<FerCurve>; 3], CodeError> {
        let mut curves = [None, None, None];
        for (column, curve) in curves.iter_mut().enumerate() {
            let points: Vec<(f64, f64)> =
                rows.iter().filter_map(|(rber, rates)| Some((*rber, rates[column]?))).collect();
            if !points.is_empty() {
                *curve = Some(FerCurve::new(&points)?);
            }
        }
        Ok(curves)
    }

    fn measured(name: &str) -> Result<[Option<FerCurve>; 3], CodeError> {
        let Some((_, columns)) = TABLES.iter().find(|table| table.0 == name) else {
            let accepted = Self::names_with_table().join(", ");
            return Err(CodeError::Ldpc {
                problem: format!(
                    "no frame error rates of `{name}` were measured; accepted: {accepted}, or a \
                     table of your own, ecc.fer_table"
                ),
            });
        };
        let curve = |points: &[MeasuredPoint]| {
            let rates: Vec<(f64, f64)> = points
                .iter()
                .map(|&(rber, frames, errors)| (rber, errors as f64 / frames as f64))
                .collect();
            FerCurve::new(&rates).map(Some)
        };
        Ok([curve(columns[0])?, curve(columns[1])?, curve(columns[2])?])
    }

    fn curve(&self, reads: u32) -> Option<&FerCurve> {
        let column = TABLE_READS.iter().position(|&known| known == reads)?;
        self.curves[column].as_ref()
    }
}

impl Code for LdpcByTable {
    fn data_bits_max(&self) -> u32 {
        self.info_bits
    }

    fn parity_bits(&self) -> u32 {
        self.parity_bits
    }

    fn failure_probability(&self, _data_bits: u32, rber: f64) -> f64 {
        self.curve(1).map_or(1.0, |curve| curve.at(rber))
    }

    fn corrected_bits_mean(&self, data_bits: u32, rber: f64) -> f64 {
        // The share of the codeword that a page reads; failed words have hardly more errors.
        let share = f64::from(data_bits) / f64::from(self.info_bits);
        let code_bits = f64::from(self.info_bits + self.parity_bits);
        share * code_bits * rber * (1.0 - self.failure_probability(data_bits, rber))
    }

    fn soft_failure_probability(&self, _data_bits: u32, rber: f64, reads: u32) -> Option<f64> {
        Some(self.curve(reads)?.at(rber))
    }

    fn is_extrapolated(&self, rber: f64, reads: u32) -> bool {
        self.curve(reads).is_some_and(|curve| curve.is_extrapolated(rber))
    }

    fn is_shortened(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageCode;

    #[test]
    fn a_curve_is_straight_in_logarithms_and_goes_on_below() {
        let curve = FerCurve::new(&[(1e-3, 1e-4), (1e-2, 1e-1), (2e-2, 1.0)]).unwrap();
        for (rber, fer) in [(1e-3, 1e-4), (1e-2, 1e-1), (1e-4, 1e-7), (0.1, 1.0), (0.0, 0.0)] {
            assert!((curve.at(rber) - fer).abs() <= 1e-9 * fer, "{rber}: {}", curve.at(rber));
        }
        // Halfway in the logarithm.
        let middle = libm::sqrt(1e-5);
        assert!((curve.at(middle) / libm::sqrt(1e-5) - 1.0).abs() < 1e-9);
        assert!(curve.is_extrapolated(9e-4) && !curve.is_extrapolated(1.1e-3));
    }

    #[test]
    fn what_is_no_curve_is_refused_with_the_numbers() {
        for (points, words) in [
            (&[(1e-3, 1e-4)][..], "1 points"),
            (&[(1e-3, 1e-4), (1e-3, 1e-3)], "both rising"),
            (&[(1e-3, 1e-2), (2e-3, 1e-3)], "both rising"),
            (&[(0.0, 1e-2), (2e-3, 1e-1)], "above 0"),
            (&[(1e-3, 1e-2), (2e-3, 1.5)], "to 1"),
            (&[(1e-3, 1.0), (2e-3, 1.0)], "both 1"),
        ] {
            let error = FerCurve::new(points).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn every_measured_table_makes_curves_and_more_reads_help() {
        for name in LdpcByTable::names_with_table() {
            let code = LdpcByTable::new(name, None).unwrap();
            let bits = code.data_bits_max();
            for rber in [1e-3, 5e-3, 7e-3, 1e-2] {
                let rates = TABLE_READS.map(|reads| {
                    code.soft_failure_probability(bits, rber, reads).expect("a column")
                });
                assert!(rates[0] >= rates[1] && rates[1] >= rates[2], "{name} {rber}: {rates:?}");
            }
            assert!(code.is_extrapolated(1e-4, 1));
        }
    }

    #[test]
    fn names_and_pages_that_do_not_fit_are_refused() {
        let message = |name| LdpcByTable::new(name, None).unwrap_err().to_string();
        assert!(message("nand-9k").contains("nand-4k-r090"));
        assert!(message("nand-2k-r080").contains("fer_table"));
        let code = || Box::new(LdpcByTable::new("nand-4k-r090", None).unwrap());
        let error = PageCode::new(code(), 6144).unwrap_err().to_string();
        assert!(error.contains("49152") && error.contains("32768"), "{error}");
        let whole = PageCode::new(code(), 16384).unwrap();
        assert_eq!((whole.codewords_per_page(), whole.parity_bytes_per_page()), (4, 4 * 448));
        // Two pages share a codeword: each reads all of it, and carries half of its parity.
        let part = PageCode::new(code(), 2048).unwrap();
        assert_eq!((part.codewords_per_page(), part.parity_bytes_per_page()), (1, 224));
        let (one, all) = (part.uber(7e-3), whole.uber(7e-3));
        assert!((one / all - 1.0).abs() < 1e-12, "{one:e} {all:e}");
    }
}
