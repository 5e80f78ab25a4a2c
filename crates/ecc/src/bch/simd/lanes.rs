//! Loops over field elements: the key equation and the search for roots.
//!
//! Elements are stored in two planes, low and high bytes. [`Lanes`] holds the differences between
//! sets of instructions: the number of elements of a vector, and the multiplication by a constant,
//! whose row has the form of `multiplier.rs`.

#[allow(clippy::wildcard_imports)] // names of instructions
use std::arch::x86_64::*;

use super::{Scan, SCAN_VECTORS};

/// Vectors of field elements in two planes.
///
/// Safety: the caller of any function has enabled the instructions of its set; functions that take
/// a pointer state the memory that they touch.
pub(super) trait Lanes {
    /// Elements in a vector: positions that [`scan`] covers with one.
    const WIDTH: usize;
    /// Words of a multiplier's row.
    const ROW: usize;
    /// Bytes of as many elements.
    type Vector: Copy;
    /// Elements made ready for any number of multiplications.
    type Operand: Copy;

    unsafe fn splat(byte: u8) -> Self::Vector;
    /// Safety: [`Lanes::WIDTH`] bytes can be read at `from`, at any alignment.
    unsafe fn load(from: *const u8) -> Self::Vector;
    /// Safety: [`Lanes::WIDTH`] bytes can be written at `to`, at any alignment.
    unsafe fn store(to: *mut u8, vector: Self::Vector);
    unsafe fn xor(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn operand(low: Self::Vector, high: Self::Vector) -> Self::Operand;
    /// The sums of `sum` and the products of an operand by the constant of a row.
    ///
    /// Safety: [`Lanes::ROW`] words can be read at `row`.
    unsafe fn add_product(
        sum: [Self::Vector; 2],
        operand: Self::Operand,
        row: *const u64,
    ) -> [Self::Vector; 2];
    /// One bit for each element, set where both bytes are 0.
    unsafe fn zeros(low: Self::Vector, high: Self::Vector) -> u64;
}

pub(super) struct Avx512;

impl Lanes for Avx512 {
    const WIDTH: usize = 64;
    const ROW: usize = 4;
    type Vector = __m512i;
    type Operand = [__m512i; 2];

    #[inline(always)]
    unsafe fn splat(byte: u8) -> __m512i {
        // SAFETY: the caller has the instructions; no memory is touched.
        unsafe { _mm512_set1_epi8(byte.cast_signed()) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> __m512i {
        // SAFETY: the caller has the instructions, and a vector to read at `from`.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, vector: __m512i) {
        // SAFETY: the caller has the instructions, and a vector to write at `to`.
        unsafe {
            _mm512_storeu_si512(to.cast(), vector);
        }
    }

    #[inline(always)]
    unsafe fn xor(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the caller has the instructions; no memory is touched.
        unsafe { _mm512_xor_si512(a, b) }
    }

    #[inline(always)]
    unsafe fn operand(low: __m512i, high: __m512i) -> [__m512i; 2] {
        [low, high]
    }

    #[inline(always)]
    unsafe fn add_product(
        sum: [__m512i; 2],
        [low, high]: [__m512i; 2],
        row: *const u64,
    ) -> [__m512i; 2] {
        // SAFETY: the caller has the instructions, and a whole row at `row`.
        unsafe {
            let part = |x, index: usize| {
                let matrix = _mm512_set1_epi64((*row.add(index)).cast_signed());
                _mm512_gf2p8affine_epi64_epi8::<0>(x, matrix)
            };
            // 0x96: the XOR of three.
            [
                _mm512_ternarylogic_epi64::<0x96>(sum[0], part(low, 0), part(high, 1)),
                _mm512_ternarylogic_epi64::<0x96>(sum[1], part(low, 2), part(high, 3)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn zeros(low: __m512i, high: __m512i) -> u64 {
        // SAFETY: the caller has the instructions; no memory is touched.
        unsafe { _mm512_testn_epi8_mask(_mm512_or_si512(low, high), _mm512_set1_epi8(-1)) }
    }
}

pub(super) struct Avx2;

impl Lanes for Avx2 {
    const WIDTH: usize = 32;
    const ROW: usize = 16;
    type Vector = __m256i;
    /// Four vectors of nibbles.
    type Operand = [__m256i; 4];

    #[inline(always)]
    unsafe fn splat(byte: u8) -> __m256i {
        // SAFETY: the caller has the instructions; no memory is touched.
        unsafe { _mm256_set1_epi8(byte.cast_signed()) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> __m256i {
        // SAFETY: the caller has the instructions, and a vector to read at `from`.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, vector: __m256i) {
        // SAFETY: the caller has the instructions, and a vector to write at `to`.
        unsafe {
            _mm256_storeu_si256(to.cast(), vector);
        }
    }

    #[inline(always)]
    unsafe fn xor(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller has the instructions; no memory is touched.
        unsafe { _mm256_xor_si256(a, b) }
    }

    #[inline(always)]
    unsafe fn operand(low: __m256i, high: __m256i) -> [__m256i; 4] {
        // SAFETY: the caller has the instructions; no memory is touched.
        unsafe {
            let mask = _mm256_set1_epi8(15);
            let upper = |x| _mm256_and_si256(_mm256_srli_epi16::<4>(x), mask);
            [_mm256_and_si256(low, mask), upper(low), _mm256_and_si256(high, mask), upper(high)]
        }
    }

    #[inline(always)]
    unsafe fn add_product(
        sum: [__m256i; 2],
        operand: [__m256i; 4],
        row: *const u64,
    ) -> [__m256i; 2] {
        // SAFETY: the caller has the instructions, and a whole row at `row`.
        unsafe {
            let mut sum = sum;
            for (plane, total) in sum.iter_mut().enumerate() {
                for (nibble, &index) in operand.iter().enumerate() {
                    let table = _mm_loadu_si128(row.add(8 * plane + 2 * nibble).cast());
                    let table = _mm256_broadcastsi128_si256(table);
                    *total = _mm256_xor_si256(*total, _mm256_shuffle_epi8(table, index));
                }
            }
            sum
        }
    }

    #[inline(always)]
    unsafe fn zeros(low: __m256i, high: __m256i) -> u64 {
        // SAFETY: the caller has the instructions; no memory is touched.
        unsafe {
            let both = _mm256_or_si256(low, high);
            let zero = _mm256_cmpeq_epi8(both, _mm256_setzero_si256());
            u64::from(_mm256_movemask_epi8(zero) as u32)
        }
    }
}

/// The row of any constant, on the stack: the sum of the rows of its four nibbles.
///
/// Safety: 64 rows can be read at `multipliers`.
#[inline(always)]
unsafe fn row_of<L: Lanes>(multipliers: *const u64, constant: u16) -> [u64; 16] {
    // SAFETY: the caller's table: the four rows read are among its 64.
    unsafe {
        let mut row = [0; 16];
        for nibble in 0..4 {
            let value = usize::from(constant >> (4 * nibble) & 15);
            let stored = multipliers.add((16 * nibble + value) * L::ROW);
            for (index, word) in row.iter_mut().enumerate().take(L::ROW) {
                *word ^= *stored.add(index);
            }
        }
        row
    }
}

/// Chien search: the locator at the positions of [`SCAN_VECTORS`] vectors, then at the next.
///
/// `state` holds, for each term j, its value at the positions of the first vector; `steps` takes it
/// to the other vectors and, the last of them, to the next round.
///
/// Safety: the lengths are those that [`super::scan`] checks.
#[inline(always)]
unsafe fn scan<L: Lanes>(job: &mut Scan<'_>, positions: &mut Vec<u32>) {
    // SAFETY: the caller has the instructions; `super::scan` has checked the lengths.
    unsafe {
        let (width, terms) = (L::WIDTH, job.coefficients.len());
        let state = job.state.as_mut_ptr();
        let zero = [L::splat(0); 2];
        for (term, &coefficient) in job.coefficients.iter().enumerate() {
            let powers = job.powers.as_ptr().add(2 * width * term);
            let operand = L::operand(L::load(powers), L::load(powers.add(width)));
            let row = row_of::<L>(job.multipliers.as_ptr(), coefficient);
            let [low, high] = L::add_product(zero, operand, row.as_ptr());
            L::store(state.add(2 * width * term), low);
            L::store(state.add(2 * width * term + width), high);
        }
        let constant = [L::splat(job.constant as u8), L::splat((job.constant >> 8) as u8)];
        for start in (0..job.positions_end).step_by(SCAN_VECTORS * width) {
            let mut sums = [constant; SCAN_VECTORS];
            for term in 0..terms {
                let here = state.add(2 * width * term);
                let (low, high) = (L::load(here), L::load(here.add(width)));
                let operand = L::operand(low, high);
                let mut row = job.steps.as_ptr().add(SCAN_VECTORS * L::ROW * term);
                sums[0] = [L::xor(sums[0][0], low), L::xor(sums[0][1], high)];
                for sum in &mut sums[1..] {
                    *sum = L::add_product(*sum, operand, row);
                    row = row.add(L::ROW);
                }
                let [low, high] = L::add_product(zero, operand, row);
                L::store(here, low);
                L::store(here.add(width), high);
            }
            for (vector, &[low, high]) in sums.iter().enumerate() {
                let mut found = L::zeros(low, high);
                while found != 0 {
                    let position = start + vector * width + found.trailing_zeros() as usize;
                    found &= found - 1;
                    if position < job.positions_end {
                        positions.push(position as u32);
                    }
                }
            }
            // The last two roots follow from a quadratic equation.
            if positions.len() + 2 >= terms {
                return;
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub unsafe fn scan_avx512(job: &mut Scan<'_>, positions: &mut Vec<u32>) {
    // SAFETY: the instructions are enabled here; the rest is the caller's.
    unsafe {
        scan::<Avx512>(job, positions);
    }
}

#[target_feature(enable = "avx2")]
pub unsafe fn scan_avx2(job: &mut Scan<'_>, positions: &mut Vec<u32>) {
    // SAFETY: the instructions are enabled here; the rest is the caller's.
    unsafe {
        scan::<Avx2>(job, positions);
    }
}

/// The algorithm riBM, see `key_equation.rs`: `planes` are the low and high bytes of delta, then
/// those of theta; `gamma` is the row of the last exchanged discrepancy, and `length` the
/// degree of the locator up to now.
///
/// Safety: the lengths are those that [`super::key_equation`] checks.
#[inline(always)]
unsafe fn key_equation<L: Lanes>(
    planes: &mut [u8],
    cells: usize,
    steps: usize,
    multipliers: &[u64],
) -> usize {
    // SAFETY: the caller has the instructions, and lengths that `super::key_equation` checks.
    unsafe {
        let stride = planes.len() / 4;
        let delta = [planes.as_mut_ptr(), planes.as_mut_ptr().add(stride)];
        let theta = delta.map(|plane| plane.add(2 * stride));
        let zero = [L::splat(0); 2];
        let mut length = 0;
        let mut gamma = row_of::<L>(multipliers.as_ptr(), 1);
        for step in 0..steps {
            let first = u16::from(*delta[0]) | u16::from(*delta[1]) << 8;
            let row = row_of::<L>(multipliers.as_ptr(), first);
            let exchange = first != 0 && length <= step;
            for cell in (0..cells).step_by(L::WIDTH) {
                let twice = delta.map(|plane| L::load(plane.add(cell + 2)));
                let once = delta.map(|plane| L::load(plane.add(cell + 1)));
                let other = theta.map(|plane| L::load(plane.add(cell + 1)));
                let sum = L::add_product(zero, L::operand(twice[0], twice[1]), gamma.as_ptr());
                let sum = L::add_product(sum, L::operand(other[0], other[1]), row.as_ptr());
                for plane in 0..2 {
                    L::store(delta[plane].add(cell), sum[plane]);
                    if exchange {
                        L::store(theta[plane].add(cell), once[plane]);
                    }
                }
            }
            if exchange {
                gamma = row;
                length = 2 * step + 1 - length;
            }
        }
        length
    }
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub unsafe fn key_equation_avx512(
    planes: &mut [u8],
    cells: usize,
    steps: usize,
    multipliers: &[u64],
) -> usize {
    // SAFETY: the instructions are enabled here; the rest is the caller's.
    unsafe { key_equation::<Avx512>(planes, cells, steps, multipliers) }
}

#[target_feature(enable = "avx2")]
pub unsafe fn key_equation_avx2(
    planes: &mut [u8],
    cells: usize,
    steps: usize,
    multipliers: &[u64],
) -> usize {
    // SAFETY: the instructions are enabled here; the rest is the caller's.
    unsafe { key_equation::<Avx2>(planes, cells, steps, multipliers) }
}
