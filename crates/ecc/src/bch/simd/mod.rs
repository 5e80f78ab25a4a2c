//! The loops of the codec in vector instructions of x86-64: all the `unsafe` code of the codec.
//!
//! * [`residues`]: folding of the stream, carry-less products of 64 bits;
//! * [`key_equation`]: two scalars times a row of field elements, per step;
//! * [`scan`]: the error locator at 64 (32) neighbouring positions at once, per term.
//!
//! Each is written once, generic over a set of instructions ([`Lanes`], [`Carryless`]), and
//! compiled for AVX2 and for AVX-512 with the Galois-field instructions. Field elements are stored
//! in two planes of bytes, low and high. A [`Path`] exists only when the machine has its
//! instructions, which makes the calls sound. On the portable path the functions return `false` or
//! `None`; its loops are in the files of the algorithms and give the same bits.
#![allow(unsafe_code)]
// Generic bodies must end up inside the function that enables the instructions.
#![allow(clippy::inline_always)]

#[cfg(target_arch = "x86_64")]
mod carryless;
mod fold;
#[cfg(target_arch = "x86_64")]
mod lanes;

pub(super) use fold::Fold;
#[cfg(target_arch = "x86_64")]
use lanes::Lanes;

/// A way to compute: which vector instructions are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Path {
    /// No vector instructions: runs everywhere.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// The paths of this machine, slowest first. All give the same results.
    pub fn available() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut paths = vec![Self::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("pclmulqdq");
            if avx2 {
                paths.push(Self(Kind::Avx2));
            }
            if avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("gfni")
                && is_x86_feature_detected!("vpclmulqdq")
            {
                paths.push(Self(Kind::Avx512));
            }
        }
        paths
    }

    /// The fastest path of this machine.
    pub fn best() -> Self {
        Self::available().pop().unwrap_or(Self::PORTABLE)
    }

    /// `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
        }
    }

    /// Positions that a vector covers; 0 without vectors.
    pub(super) fn lanes(self) -> usize {
        match self.0 {
            Kind::Portable => 0,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => lanes::Avx2::WIDTH,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => lanes::Avx512::WIDTH,
        }
    }

    /// Words of a multiplier's row.
    pub(super) fn row_words(self) -> usize {
        match self.0 {
            Kind::Portable => 0,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => lanes::Avx2::ROW,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => lanes::Avx512::ROW,
        }
    }
}

/// Vectors of positions that [`scan`] takes together.
pub(super) const SCAN_VECTORS: usize = 4;

/// A polynomial whose roots [`scan`] searches, and the tables for it.
pub(super) struct Scan<'a> {
    /// The coefficient of degree 0.
    pub constant: u16,
    /// The others, each times the power that belongs to the first position.
    pub coefficients: &'a [u16],
    /// For each term j, the planes of alpha^(j c) for the lanes c.
    pub powers: &'a [u8],
    /// For each term j, the rows of alpha^(j v lanes) for v = 1, ..., [`SCAN_VECTORS`].
    pub steps: &'a [u64],
    /// The rows of all constants.
    pub multipliers: &'a [u64],
    /// As long as the powers of the terms in use.
    pub state: &'a mut [u8],
    /// Positions are looked through from 0 to here.
    pub positions_end: usize,
}

/// Residues of a stream; `false` when the path has no vectors.
pub(super) fn residues(path: Path, stream: &[u8], folds: &[Fold], residues: &mut [u64]) -> bool {
    assert!(stream.len().is_multiple_of(64) && folds.len() == residues.len());
    match path.0 {
        Kind::Portable => false,
        // SAFETY: a path is only made where its instructions are; lengths were checked above.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe {
            carryless::residues_avx2(stream, folds, residues);
            true
        },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe {
            carryless::residues_avx512(stream, folds, residues);
            true
        },
    }
}

/// Runs `steps` steps of the key equation on four planes of `stride` bytes; returns the degree that
/// the locator should have, or `None` when the path has no vectors. The algorithm is described in
/// `key_equation.rs`.
pub(super) fn key_equation(
    path: Path,
    planes: &mut [u8],
    cells: usize,
    steps: usize,
    multipliers: &[u64],
) -> Option<usize> {
    let stride = planes.len() / 4;
    assert!(planes.len().is_multiple_of(4) && stride >= cells.next_multiple_of(64) + 2);
    assert!(multipliers.len() == 64 * path.row_words());
    match path.0 {
        Kind::Portable => None,
        // SAFETY: a path is only made where its instructions are; a row of elements is read up to 2
        // bytes behind whole vectors of at most 64, and every constant has 4 rows, checked above.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { Some(lanes::key_equation_avx2(planes, cells, steps, multipliers)) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe {
            Some(lanes::key_equation_avx512(planes, cells, steps, multipliers))
        },
    }
}

/// Appends the positions at which the polynomial is 0, in ascending order, and stops when it lacks
/// no more than two roots; `false` when the path has no vectors.
pub(super) fn scan(path: Path, job: &mut Scan<'_>, positions: &mut Vec<u32>) -> bool {
    let terms = job.coefficients.len();
    assert!(job.powers.len() >= 2 * terms * path.lanes());
    assert!(job.state.len() >= 2 * terms * path.lanes());
    assert!(job.steps.len() >= SCAN_VECTORS * terms * path.row_words());
    assert!(job.multipliers.len() == 64 * path.row_words());
    match path.0 {
        Kind::Portable => false,
        // SAFETY: a path is only made where its instructions are; lengths were checked above.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe {
            lanes::scan_avx2(job, positions);
            true
        },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe {
            lanes::scan_avx512(job, positions);
            true
        },
    }
}

/// Adds a 64-bit multiple of `row` to `sum`, whose words come highest first: `sum[i..=i+1]` gets
/// the product by `row[i]`. `false` when the path has no vectors.
pub(super) fn add_multiple(path: Path, factor: u64, row: &[u64], sum: &mut [u64]) -> bool {
    assert!(sum.len() > row.len());
    match path.0 {
        Kind::Portable => false,
        // SAFETY: both vector paths are only made where carry-less multiplication is.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 | Kind::Avx512 => unsafe {
            carryless::add_multiple(factor, row, sum);
            true
        },
    }
}
