//! The three loops of the codec in vector instructions of x86-64: the only file of this crate with
//! `unsafe`.
//!
//! * [`residues`]: folding of the stream, carry-less products of 64 bits;
//! * [`key_equation`]: two scalars times a row of field elements, per step;
//! * [`scan`]: the error locator at 64 (32) neighbouring positions at once, per term.
//!
//! Each is written once, generic over a set of instructions ([`Lanes`], [`Carryless`]), and compiled
//! for AVX2 and for AVX-512 with the Galois-field instructions. Field elements lie in two planes of
//! bytes, low and high. A [`Path`] can only be had when the machine has its instructions, which is
//! what makes the calls sound; the functions say `false` or `None` on the portable path, whose loops
//! stand with the algorithms and give the same bits.
#![allow(unsafe_code)]
// Generic bodies must end up inside the function that enables the instructions.
#![allow(clippy::inline_always)]

use super::residue::Fold;

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
    pub fn all() -> Vec<Self> {
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
        Self::all().pop().unwrap_or(Self::PORTABLE)
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
            Kind::Avx2 => 32,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => 64,
        }
    }

    /// Words of a multiplier's row.
    pub(super) fn row_words(self) -> usize {
        match self.0 {
            Kind::Portable => 0,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => 16,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => 4,
        }
    }
}

/// Vectors of positions that [`scan`] takes together.
pub(super) const SCAN_VECTORS: usize = 4;

/// What [`scan`] looks through.
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
            x86::residues_avx2(stream, folds, residues);
            true
        },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe {
            x86::residues_avx512(stream, folds, residues);
            true
        },
    }
}

/// Runs `steps` steps of the key equation on four planes of `stride` bytes; the final balance, or
/// `None` when the path has no vectors. What it computes is said in `key_equation.rs`.
pub(super) fn key_equation(
    path: Path,
    planes: &mut [u8],
    cells: usize,
    steps: usize,
    multipliers: &[u64],
) -> Option<i32> {
    let stride = planes.len() / 4;
    assert!(planes.len().is_multiple_of(4) && stride >= cells.next_multiple_of(64) + 2);
    assert!(multipliers.len() == 64 * path.row_words());
    match path.0 {
        Kind::Portable => None,
        // SAFETY: a path is only made where its instructions are; a row of elements is read up to 2
        // bytes behind whole vectors of at most 64, and every constant has 4 rows, checked above.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { Some(x86::key_equation_avx2(planes, cells, steps, multipliers)) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe {
            Some(x86::key_equation_avx512(planes, cells, steps, multipliers))
        },
    }
}

/// Appends the positions at which the polynomial is 0, and stops when it has all its roots; `false`
/// when the path has no vectors.
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
            x86::scan_avx2(job, positions);
            true
        },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe {
            x86::scan_avx512(job, positions);
            true
        },
    }
}

/// Adds a 64-bit multiple of `row` to `sum`, whose words come highest first: `sum[i..=i+1]` gets the
/// product by `row[i]`. `false` when the path has no vectors.
pub(super) fn add_multiple(path: Path, factor: u64, row: &[u64], sum: &mut [u64]) -> bool {
    assert!(sum.len() > row.len());
    match path.0 {
        Kind::Portable => false,
        // SAFETY: both vector paths are only made where carry-less multiplication is.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 | Kind::Avx512 => unsafe {
            x86::add_multiple(factor, row, sum);
            true
        },
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Fold, Scan, SCAN_VECTORS};

    /// Vectors of field elements in two planes.
    ///
    /// Every function needs the instructions of its set, and pointers to whole vectors.
    trait Lanes {
        /// Elements in a vector.
        const WIDTH: usize;
        /// Words of a multiplier's row.
        const ROW: usize;
        /// Bytes of as many elements.
        type Vector: Copy;
        /// Elements made ready for any number of multiplications.
        type Operand: Copy;

        unsafe fn splat(byte: u8) -> Self::Vector;
        unsafe fn load(from: *const u8) -> Self::Vector;
        unsafe fn store(to: *mut u8, vector: Self::Vector);
        unsafe fn xor(a: Self::Vector, b: Self::Vector) -> Self::Vector;
        unsafe fn operand(low: Self::Vector, high: Self::Vector) -> Self::Operand;
        /// The sums of `sum` and the products of an operand by the constant of a row.
        unsafe fn add_product(
            sum: [Self::Vector; 2],
            operand: Self::Operand,
            row: *const u64,
        ) -> [Self::Vector; 2];
        /// One bit for each element, set where both bytes are 0.
        unsafe fn zeros(low: Self::Vector, high: Self::Vector) -> u64;
    }

    struct Avx512;

    impl Lanes for Avx512 {
        const WIDTH: usize = 64;
        const ROW: usize = 4;
        type Vector = __m512i;
        type Operand = [__m512i; 2];

        #[inline(always)]
        unsafe fn splat(byte: u8) -> __m512i {
            _mm512_set1_epi8(byte as i8)
        }

        #[inline(always)]
        unsafe fn load(from: *const u8) -> __m512i {
            _mm512_loadu_si512(from.cast())
        }

        #[inline(always)]
        unsafe fn store(to: *mut u8, vector: __m512i) {
            _mm512_storeu_si512(to.cast(), vector);
        }

        #[inline(always)]
        unsafe fn xor(a: __m512i, b: __m512i) -> __m512i {
            _mm512_xor_si512(a, b)
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
            let part = |x, index: usize| {
                let matrix = _mm512_set1_epi64(*row.add(index) as i64);
                _mm512_gf2p8affine_epi64_epi8::<0>(x, matrix)
            };
            // 0x96: the XOR of three.
            [
                _mm512_ternarylogic_epi64::<0x96>(sum[0], part(low, 0), part(high, 1)),
                _mm512_ternarylogic_epi64::<0x96>(sum[1], part(low, 2), part(high, 3)),
            ]
        }

        #[inline(always)]
        unsafe fn zeros(low: __m512i, high: __m512i) -> u64 {
            _mm512_testn_epi8_mask(_mm512_or_si512(low, high), _mm512_set1_epi8(-1))
        }
    }

    struct Avx2;

    impl Lanes for Avx2 {
        const WIDTH: usize = 32;
        const ROW: usize = 16;
        type Vector = __m256i;
        /// Four vectors of nibbles.
        type Operand = [__m256i; 4];

        #[inline(always)]
        unsafe fn splat(byte: u8) -> __m256i {
            _mm256_set1_epi8(byte as i8)
        }

        #[inline(always)]
        unsafe fn load(from: *const u8) -> __m256i {
            _mm256_loadu_si256(from.cast())
        }

        #[inline(always)]
        unsafe fn store(to: *mut u8, vector: __m256i) {
            _mm256_storeu_si256(to.cast(), vector);
        }

        #[inline(always)]
        unsafe fn xor(a: __m256i, b: __m256i) -> __m256i {
            _mm256_xor_si256(a, b)
        }

        #[inline(always)]
        unsafe fn operand(low: __m256i, high: __m256i) -> [__m256i; 4] {
            let mask = _mm256_set1_epi8(15);
            let upper = |x| _mm256_and_si256(_mm256_srli_epi16::<4>(x), mask);
            [_mm256_and_si256(low, mask), upper(low), _mm256_and_si256(high, mask), upper(high)]
        }

        #[inline(always)]
        unsafe fn add_product(
            sum: [__m256i; 2],
            operand: [__m256i; 4],
            row: *const u64,
        ) -> [__m256i; 2] {
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

        #[inline(always)]
        unsafe fn zeros(low: __m256i, high: __m256i) -> u64 {
            let both = _mm256_or_si256(low, high);
            let zero = _mm256_cmpeq_epi8(both, _mm256_setzero_si256());
            u64::from(_mm256_movemask_epi8(zero) as u32)
        }
    }

    /// The row of any constant, on the stack.
    #[inline(always)]
    unsafe fn row_of<L: Lanes>(multipliers: *const u64, constant: u16) -> [u64; 16] {
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

    #[inline(always)]
    unsafe fn scan<L: Lanes>(job: &mut Scan<'_>, positions: &mut Vec<u32>) {
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
            if positions.len() >= terms {
                return;
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    pub unsafe fn scan_avx512(job: &mut Scan<'_>, positions: &mut Vec<u32>) {
        scan::<Avx512>(job, positions);
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn scan_avx2(job: &mut Scan<'_>, positions: &mut Vec<u32>) {
        scan::<Avx2>(job, positions);
    }

    #[inline(always)]
    unsafe fn key_equation<L: Lanes>(
        planes: &mut [u8],
        cells: usize,
        steps: usize,
        multipliers: &[u64],
    ) -> i32 {
        let stride = planes.len() / 4;
        let delta = [planes.as_mut_ptr(), planes.as_mut_ptr().add(stride)];
        let theta = delta.map(|plane| plane.add(2 * stride));
        let zero = [L::splat(0); 2];
        let mut balance = 0;
        let mut gamma = row_of::<L>(multipliers.as_ptr(), 1);
        for _ in 0..steps {
            let first = u16::from(*delta[0]) | u16::from(*delta[1]) << 8;
            let row = row_of::<L>(multipliers.as_ptr(), first);
            let exchange = first != 0 && balance >= 0;
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
                balance = -balance;
            } else {
                balance += 2;
            }
        }
        balance
    }

    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    pub unsafe fn key_equation_avx512(
        planes: &mut [u8],
        cells: usize,
        steps: usize,
        multipliers: &[u64],
    ) -> i32 {
        key_equation::<Avx512>(planes, cells, steps, multipliers)
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn key_equation_avx2(
        planes: &mut [u8],
        cells: usize,
        steps: usize,
        multipliers: &[u64],
    ) -> i32 {
        key_equation::<Avx2>(planes, cells, steps, multipliers)
    }

    /// Four lanes of 128 bits, each the polynomial of 16 bytes of a block, first byte highest.
    ///
    /// Every function needs the instructions of its set, and pointers to a whole block.
    trait Carryless {
        type Block: Copy;

        unsafe fn load(from: *const u8) -> Self::Block;
        /// `step[0]` (lower) and `step[1]` (upper) in every lane.
        unsafe fn splat(step: &[u64; 2]) -> Self::Block;
        /// The factors of the halves of the four lanes.
        unsafe fn factors(lanes: &[u64; 8]) -> Self::Block;
        /// In each lane: lower half by lower factor, and upper by upper, and `more`.
        unsafe fn fold(block: Self::Block, factors: Self::Block, more: Self::Block) -> Self::Block;
        unsafe fn zero() -> Self::Block;
        /// The sum of the lanes.
        unsafe fn sum(block: Self::Block) -> __m128i;
    }

    /// 512 bits at once.
    struct Wide;

    impl Carryless for Wide {
        type Block = __m512i;

        #[inline(always)]
        unsafe fn load(from: *const u8) -> __m512i {
            let reverse = _mm512_broadcast_i32x4(_mm_set_epi64x(
                0x0001_0203_0405_0607,
                0x0809_0a0b_0c0d_0e0f,
            ));
            _mm512_shuffle_epi8(_mm512_loadu_si512(from.cast()), reverse)
        }

        #[inline(always)]
        unsafe fn splat(step: &[u64; 2]) -> __m512i {
            _mm512_broadcast_i32x4(_mm_loadu_si128(step.as_ptr().cast()))
        }

        #[inline(always)]
        unsafe fn factors(lanes: &[u64; 8]) -> __m512i {
            _mm512_loadu_si512(lanes.as_ptr().cast())
        }

        #[inline(always)]
        unsafe fn fold(block: __m512i, factors: __m512i, more: __m512i) -> __m512i {
            _mm512_ternarylogic_epi64::<0x96>(
                _mm512_clmulepi64_epi128::<0x00>(block, factors),
                _mm512_clmulepi64_epi128::<0x11>(block, factors),
                more,
            )
        }

        #[inline(always)]
        unsafe fn zero() -> __m512i {
            _mm512_setzero_si512()
        }

        #[inline(always)]
        unsafe fn sum(block: __m512i) -> __m128i {
            let half = _mm256_xor_si256(
                _mm512_castsi512_si256(block),
                _mm512_extracti64x4_epi64::<1>(block),
            );
            _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half))
        }
    }

    /// Four times 128 bits.
    struct Narrow;

    impl Carryless for Narrow {
        type Block = [__m128i; 4];

        #[inline(always)]
        unsafe fn load(from: *const u8) -> [__m128i; 4] {
            let reverse = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
            [0, 16, 32, 48]
                .map(|at| _mm_shuffle_epi8(_mm_loadu_si128(from.add(at).cast()), reverse))
        }

        #[inline(always)]
        unsafe fn splat(step: &[u64; 2]) -> [__m128i; 4] {
            [_mm_loadu_si128(step.as_ptr().cast()); 4]
        }

        #[inline(always)]
        unsafe fn factors(lanes: &[u64; 8]) -> [__m128i; 4] {
            [0, 2, 4, 6].map(|at| _mm_loadu_si128(lanes.as_ptr().add(at).cast()))
        }

        #[inline(always)]
        unsafe fn fold(
            block: [__m128i; 4],
            factors: [__m128i; 4],
            more: [__m128i; 4],
        ) -> [__m128i; 4] {
            let mut sum = more;
            for lane in 0..4 {
                let lower = _mm_clmulepi64_si128::<0x00>(block[lane], factors[lane]);
                let upper = _mm_clmulepi64_si128::<0x11>(block[lane], factors[lane]);
                sum[lane] = _mm_xor_si128(sum[lane], _mm_xor_si128(lower, upper));
            }
            sum
        }

        #[inline(always)]
        unsafe fn zero() -> [__m128i; 4] {
            [_mm_setzero_si128(); 4]
        }

        #[inline(always)]
        unsafe fn sum([a, b, c, d]: [__m128i; 4]) -> __m128i {
            _mm_xor_si128(_mm_xor_si128(a, b), _mm_xor_si128(c, d))
        }
    }

    /// A residue from the four lanes.
    #[inline(always)]
    unsafe fn finish<C: Carryless>(block: C::Block, fold: &Fold) -> u64 {
        let value = C::sum(C::fold(block, C::factors(&fold.lanes), C::zero()));
        let barrett = _mm_loadu_si128(fold.barrett.as_ptr().cast());
        let high = _mm_xor_si128(_mm_clmulepi64_si128::<0x01>(value, barrett), value);
        let product = _mm_clmulepi64_si128::<0x11>(high, barrett);
        _mm_cvtsi128_si64(_mm_xor_si128(product, value)) as u64
    }

    /// Residues of `G` groups at a time, so that loaded blocks serve several.
    #[inline(always)]
    unsafe fn residues<C: Carryless, const G: usize>(
        stream: &[u8],
        folds: &[Fold],
        residues: &mut [u64],
    ) {
        let blocks = stream.len() / 64;
        let groups = folds.chunks_exact(G).zip(residues.chunks_exact_mut(G));
        for (folds, residues) in groups {
            let steps: [C::Block; G] = std::array::from_fn(|group| C::splat(&folds[group].step));
            let mut sums = [C::zero(); G];
            for block in 0..blocks {
                let more = C::load(stream.as_ptr().add(64 * block));
                for group in 0..G {
                    sums[group] = C::fold(sums[group], steps[group], more);
                }
            }
            for group in 0..G {
                residues[group] = finish::<C>(sums[group], &folds[group]);
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq,pclmulqdq")]
    pub unsafe fn residues_avx512(stream: &[u8], folds: &[Fold], out: &mut [u64]) {
        let whole = folds.len() / 4 * 4;
        residues::<Wide, 4>(stream, &folds[..whole], &mut out[..whole]);
        let pairs = folds.len() / 2 * 2;
        residues::<Wide, 2>(stream, &folds[whole..pairs], &mut out[whole..pairs]);
        residues::<Wide, 1>(stream, &folds[pairs..], &mut out[pairs..]);
    }

    #[target_feature(enable = "avx2,pclmulqdq")]
    pub unsafe fn residues_avx2(stream: &[u8], folds: &[Fold], out: &mut [u64]) {
        residues::<Narrow, 1>(stream, folds, out);
    }

    #[target_feature(enable = "pclmulqdq")]
    pub unsafe fn add_multiple(factor: u64, row: &[u64], sum: &mut [u64]) {
        let factor = _mm_cvtsi64_si128(factor as i64);
        let mut carry = 0;
        for (index, &word) in row.iter().enumerate().rev() {
            let product = _mm_clmulepi64_si128::<0x00>(_mm_cvtsi64_si128(word as i64), factor);
            sum[index + 1] ^= carry ^ _mm_cvtsi128_si64(product) as u64;
            carry = _mm_cvtsi128_si64(_mm_unpackhi_epi64(product, product)) as u64;
        }
        sum[0] ^= carry;
    }
}
