//! Folding of streams by carry-less multiplication.
//!
//! [`Carryless`] is what differs between sets of instructions: four products of 64 bits at once, or
//! one after the other.

#[allow(clippy::wildcard_imports)] // names of instructions
use std::arch::x86_64::*;

use super::fold::Fold;

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
        // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
        unsafe {
            let reverse = _mm512_broadcast_i32x4(_mm_set_epi64x(
                0x0001_0203_0405_0607,
                0x0809_0a0b_0c0d_0e0f,
            ));
            _mm512_shuffle_epi8(_mm512_loadu_si512(from.cast()), reverse)
        }
    }

    #[inline(always)]
    unsafe fn splat(step: &[u64; 2]) -> __m512i {
        // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
        unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(step.as_ptr().cast())) }
    }

    #[inline(always)]
    unsafe fn factors(lanes: &[u64; 8]) -> __m512i {
        // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
        unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
    }

    #[inline(always)]
    unsafe fn fold(block: __m512i, factors: __m512i, more: __m512i) -> __m512i {
        // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
        unsafe {
            _mm512_ternarylogic_epi64::<0x96>(
                _mm512_clmulepi64_epi128::<0x00>(block, factors),
                _mm512_clmulepi64_epi128::<0x11>(block, factors),
                more,
            )
        }
    }

    #[inline(always)]
    unsafe fn zero() -> __m512i {
        // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    unsafe fn sum(block: __m512i) -> __m128i {
        // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
        unsafe {
            let half = _mm256_xor_si256(
                _mm512_castsi512_si256(block),
                _mm512_extracti64x4_epi64::<1>(block),
            );
            _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half))
        }
    }
}

/// Four times 128 bits.
struct Narrow;

impl Carryless for Narrow {
    type Block = [__m128i; 4];

    #[inline(always)]
    unsafe fn load(from: *const u8) -> [__m128i; 4] {
        // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
        unsafe {
            let reverse = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
            [0, 16, 32, 48]
                .map(|at| _mm_shuffle_epi8(_mm_loadu_si128(from.add(at).cast()), reverse))
        }
    }

    #[inline(always)]
    unsafe fn splat(step: &[u64; 2]) -> [__m128i; 4] {
        // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
        unsafe { [_mm_loadu_si128(step.as_ptr().cast()); 4] }
    }

    #[inline(always)]
    unsafe fn factors(lanes: &[u64; 8]) -> [__m128i; 4] {
        // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
        unsafe { [0, 2, 4, 6].map(|at| _mm_loadu_si128(lanes.as_ptr().add(at).cast())) }
    }

    #[inline(always)]
    unsafe fn fold(block: [__m128i; 4], factors: [__m128i; 4], more: [__m128i; 4]) -> [__m128i; 4] {
        // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
        unsafe {
            let mut sum = more;
            for lane in 0..4 {
                let lower = _mm_clmulepi64_si128::<0x00>(block[lane], factors[lane]);
                let upper = _mm_clmulepi64_si128::<0x11>(block[lane], factors[lane]);
                sum[lane] = _mm_xor_si128(sum[lane], _mm_xor_si128(lower, upper));
            }
            sum
        }
    }

    #[inline(always)]
    unsafe fn zero() -> [__m128i; 4] {
        // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
        unsafe { [_mm_setzero_si128(); 4] }
    }

    #[inline(always)]
    unsafe fn sum([a, b, c, d]: [__m128i; 4]) -> __m128i {
        // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
        unsafe { _mm_xor_si128(_mm_xor_si128(a, b), _mm_xor_si128(c, d)) }
    }
}

/// A residue from the four lanes.
#[inline(always)]
unsafe fn finish<C: Carryless>(block: C::Block, fold: &Fold) -> u64 {
    // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
    unsafe {
        let value = C::sum(C::fold(block, C::factors(&fold.lanes), C::zero()));
        let barrett = _mm_loadu_si128(fold.barrett.as_ptr().cast());
        let high = _mm_xor_si128(_mm_clmulepi64_si128::<0x01>(value, barrett), value);
        let product = _mm_clmulepi64_si128::<0x11>(high, barrett);
        _mm_cvtsi128_si64(_mm_xor_si128(product, value)).cast_unsigned()
    }
}

/// Residues of `G` groups at a time, so that loaded blocks serve several.
#[inline(always)]
unsafe fn residues<C: Carryless, const G: usize>(
    stream: &[u8],
    folds: &[Fold],
    residues: &mut [u64],
) {
    // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
    unsafe {
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
}

#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq,pclmulqdq")]
pub unsafe fn residues_avx512(stream: &[u8], folds: &[Fold], out: &mut [u64]) {
    // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
    unsafe {
        let whole = folds.len() / 4 * 4;
        residues::<Wide, 4>(stream, &folds[..whole], &mut out[..whole]);
        let pairs = folds.len() / 2 * 2;
        residues::<Wide, 2>(stream, &folds[whole..pairs], &mut out[whole..pairs]);
        residues::<Wide, 1>(stream, &folds[pairs..], &mut out[pairs..]);
    }
}

#[target_feature(enable = "avx2,pclmulqdq")]
pub unsafe fn residues_avx2(stream: &[u8], folds: &[Fold], out: &mut [u64]) {
    // SAFETY: the caller's: the instructions of the set, and whole vectors behind pointers.
    unsafe {
        residues::<Narrow, 1>(stream, folds, out);
    }
}

#[target_feature(enable = "pclmulqdq")]
pub unsafe fn add_multiple(factor: u64, row: &[u64], sum: &mut [u64]) {
    let factor = _mm_cvtsi64_si128(factor.cast_signed());
    let mut carry = 0;
    for (index, &word) in row.iter().enumerate().rev() {
        let product = _mm_clmulepi64_si128::<0x00>(_mm_cvtsi64_si128(word.cast_signed()), factor);
        sum[index + 1] ^= carry ^ _mm_cvtsi128_si64(product).cast_unsigned();
        carry = _mm_cvtsi128_si64(_mm_unpackhi_epi64(product, product)).cast_unsigned();
    }
    sum[0] ^= carry;
}
