//! The codes, one file each.
//!
//! A [`Code`] answers two questions of the drive, per codeword: how likely does decoding fail, and
//! how many bits are corrected on the way. Both are asked for a *shortened* codeword, because the
//! last one of a page seldom carries as many data bits as the code could.
//!
//! To add a code: write `codes/<name>.rs` with a struct that holds its parameters, a constructor
//! that refuses impossible ones with a [`CodeError`], and `impl Code`; then add the `mod` and
//! `pub use` lines below and in `lib.rs`. [`Uncoded`] is the smallest member and serves as a
//! skeleton. A code without a closed form for its failure probability ([`LdpcByTable`])
//! interpolates a measured curve and documents this in the first lines of its file.

mod bch;
mod ldpc;
mod ldpc_tables;
mod uncoded;

pub use bch::Bch;
pub use ldpc::{FerCurve, LdpcByTable, TABLE_READS};
pub use uncoded::Uncoded;

/// Why there is no such code. Nothing was computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// The field degree is outside the range that is supported.
    #[error("field degree m = {m} is not supported; accepted: 5 to 16")]
    FieldDegree {
        /// The refused degree.
        m: u32,
    },
    /// No field has this polynomial.
    #[error(
        "polynomial {polynomial:#x} is not primitive; accepted: primitive ones of degree 5 to 16, \
         such as 0x201b and 0x402b"
    )]
    Polynomial {
        /// The refused polynomial, bit k being the coefficient of x^k.
        polynomial: u32,
    },
    /// A code that corrects nothing is not a code.
    #[error("t = 0 corrects nothing; accepted: 1 to {t_max} for m = {m}")]
    CorrectsNothing {
        /// The field degree asked for.
        m: u32,
        /// The most errors that a code of this field corrects.
        t_max: u32,
    },
    /// The parity would fill the whole codeword.
    #[error("t = {t} leaves no data bits in {code_bits} bits; accepted: 1 to {t_max} for m = {m}")]
    NoDataBits {
        /// The field degree asked for.
        m: u32,
        /// The refused number of errors.
        t: u32,
        /// Length of the codeword.
        code_bits: u32,
        /// The most errors that a code of this field corrects.
        t_max: u32,
    },
    /// More data bits than the code has room for, or none.
    #[error("{data_bits} data bits do not fit; accepted: 1 to {data_bits_max}")]
    DataBits {
        /// The refused number of data bits.
        data_bits: u64,
        /// The most that fits.
        data_bits_max: u64,
    },
    /// A page without data.
    #[error("a page of {page_bytes} bytes is not supported; accepted: 1 to 536870911")]
    PageBytes {
        /// The refused page size.
        page_bytes: u64,
    },
    /// A page that is not a whole number of codewords, nor they of it.
    #[error(
        "a page of {page_bits} bits does not fit codewords of {data_bits} data bits; accepted: \
         one a whole multiple of the other"
    )]
    PageShape {
        /// Data bits of the page.
        page_bits: u32,
        /// Data bits of a codeword.
        data_bits: u32,
    },
    /// No such LDPC code, or nothing known of it.
    #[error("{problem}")]
    Ldpc {
        /// The fault and the accepted values.
        problem: String,
    },
    /// Frame error rates that make no curve.
    #[error("{problem}")]
    FerTable {
        /// The fault and the accepted values.
        problem: String,
    },
}

/// One codeword: lengths and the outcome of decoding at a given raw bit error rate.
///
/// Who calls: [`crate::PageCode`], once per shape of codeword and error rate. Bit errors are taken
/// as independent; `data_bits` is at least 1 and at most [`Code::data_bits_max`], `rber` is in
/// `0.0..=1.0`.
pub trait Code: Send + Sync + std::fmt::Debug {
    /// The most data bits a codeword carries.
    fn data_bits_max(&self) -> u32;

    /// Bits of every codeword beyond its data, shortened or not.
    fn parity_bits(&self) -> u32;

    /// The room that they take in the out-of-band area, in bits.
    fn spare_bits(&self) -> u32 {
        self.parity_bits()
    }

    /// Probability that a codeword with `data_bits` data bits is not decoded.
    fn failure_probability(&self, data_bits: u32, rber: f64) -> f64;

    /// Mean number of bits corrected per codeword; those of codewords that fail do not count.
    fn corrected_bits_mean(&self, data_bits: u32, rber: f64) -> f64;

    /// The failure probability with soft decisions from `reads` reads; none if there are none.
    fn soft_failure_probability(&self, _data_bits: u32, _rber: f64, _reads: u32) -> Option<f64> {
        None
    }

    /// Whether a failure probability is outside the measured range; 1 read: hard decisions.
    fn is_extrapolated(&self, _rber: f64, _reads: u32) -> bool {
        false
    }

    /// Errors that are corrected in any codeword; none if no such number exists.
    fn errors_max(&self) -> Option<u32> {
        None
    }

    /// Probability that a codeword with `data_bits` data bits has more than `count` errors; none if
    /// [`Code::errors_max`] is none.
    fn more_errors_than(&self, _count: u32, _data_bits: u32, _rber: f64) -> Option<f64> {
        None
    }

    /// Whether codewords are shortened to fill a page; if not, page and codeword must be multiples.
    fn is_shortened(&self) -> bool {
        true
    }
}
