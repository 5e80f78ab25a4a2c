//! 64 lanes as one register of 512 bits, masks in mask registers.
//!
//! Every intrinsic here needs AVX-512; `super::run` is the only way in, and asks the processor
//! first.

use super::{Bytes, Hidden, Kernel, Row, LANES};
use core::arch::x86_64::{
    __m512i, __mmask64, _mm512_add_epi16, _mm512_adds_epi8, _mm512_and_si512, _mm512_avg_epu8,
    _mm512_castsi128_si512, _mm512_cmpeq_epi8_mask, _mm512_cmpgt_epi8_mask, _mm512_inserti32x4,
    _mm512_load_si512, _mm512_mask_blend_epi8, _mm512_mask_sub_epi8, _mm512_maskz_set1_epi8,
    _mm512_max_epu8, _mm512_min_epu8, _mm512_mullo_epi16, _mm512_or_si512, _mm512_set1_epi16,
    _mm512_set1_epi8, _mm512_setzero_si512, _mm512_slli_epi16, _mm512_srli_epi16,
    _mm512_store_si512, _mm512_storeu_si512, _mm512_sub_epi8, _mm512_subs_epi8, _mm512_subs_epu8,
    _mm512_unpackhi_epi8, _mm512_unpacklo_epi8, _mm512_xor_si512, _mm_loadu_si128, _mm_prefetch,
    _MM_HINT_T0,
};

/// Compiles a kernel for AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
pub fn run(kernel: impl Kernel) {
    kernel.run::<Lanes>();
}

/// Made only inside kernels that `super::run` has started on a processor with AVX-512, so
/// every intrinsic below may be executed.
#[derive(Clone, Copy)]
pub struct Lanes(__m512i);

impl Bytes for Lanes {
    type Mask = __mmask64;

    #[inline(always)]
    fn load(row: &Row) -> Self {
        // SAFETY: see `Lanes`; a row is 64 bytes, aligned to 64.
        unsafe { Self(_mm512_load_si512((&raw const row.0).cast())) }
    }
    #[inline(always)]
    fn prefetch_for_write(row: &Row) {
        // SAFETY: see `Lanes`; a prefetch reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(row.0.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store(self, row: &mut Row) {
        // SAFETY: see `Lanes`; a row is 64 bytes, aligned to 64.
        unsafe { _mm512_store_si512((&raw mut row.0).cast(), self.0) }
    }
    #[inline(always)]
    fn splat(value: i8) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { Self(_mm512_set1_epi8(value)) }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { Self(_mm512_adds_epi8(self.0, other.0)) }
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { Self(_mm512_subs_epi8(self.0, other.0)) }
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { Self(_mm512_xor_si512(self.0, other.0)) }
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { Self(_mm512_min_epu8(self.0, other.0)) }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { Self(_mm512_max_epu8(self.0, other.0)) }
    }
    #[inline(always)]
    fn negative(self, hidden: Hidden<Self>) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm512_cmpgt_epi8_mask(hidden.zero.0, self.0) }
    }
    #[inline(always)]
    fn magnitude(self, negative: Self::Mask, hidden: Hidden<Self>) -> Self {
        // -1 - x is the complement of x.
        // SAFETY: see `Lanes`.
        unsafe { Self(_mm512_mask_sub_epi8(self.0, negative, hidden.minus_one.0, self.0)) }
    }
    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm512_cmpeq_epi8_mask(self.0, other.0) }
    }
    #[inline(always)]
    fn select(self, mask: Self::Mask, other: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { Self(_mm512_mask_blend_epi8(mask, other.0, self.0)) }
    }
    #[inline(always)]
    fn negate_if(self, mask: Self::Mask) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { Self(_mm512_mask_sub_epi8(self.0, mask, _mm512_setzero_si512(), self.0)) }
    }
    #[inline(always)]
    fn rounded_mean(self, other: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { Self(_mm512_avg_epu8(self.0, other.0)) }
    }
    #[inline(always)]
    fn wrapping_sub(self, other: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { Self(_mm512_sub_epi8(self.0, other.0)) }
    }
    #[inline(always)]
    fn sub_offset(self, offset: u8) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { Self(_mm512_subs_epu8(self.0, _mm512_set1_epi8(offset as i8))) }
    }
    #[inline(always)]
    fn scale(self, factor: u16) -> Self {
        // SAFETY: see `Lanes`.
        unsafe {
            let twice = _mm512_set1_epi16((2 * factor) as i16);
            let round = _mm512_set1_epi16((factor + 255) as i16);
            let even = _mm512_and_si512(self.0, _mm512_set1_epi16(0xff));
            let odd = _mm512_srli_epi16::<8>(self.0);
            let even = _mm512_add_epi16(_mm512_mullo_epi16(even, twice), round);
            let odd = _mm512_add_epi16(_mm512_mullo_epi16(odd, twice), round);
            let odd = _mm512_slli_epi16::<8>(_mm512_srli_epi16::<9>(odd));
            Self(_mm512_or_si512(_mm512_srli_epi16::<9>(even), odd))
        }
    }
    #[inline(always)]
    fn from_quarters(chunks: [&[i8; 16]; 4]) -> Self {
        // SAFETY: see `Lanes`; a chunk is 16 bytes.
        unsafe {
            let chunk = |index: usize| _mm_loadu_si128(chunks[index].as_ptr().cast());
            let lanes = _mm512_castsi128_si512(chunk(0));
            let lanes = _mm512_inserti32x4::<1>(lanes, chunk(1));
            let lanes = _mm512_inserti32x4::<2>(lanes, chunk(2));
            Self(_mm512_inserti32x4::<3>(lanes, chunk(3)))
        }
    }
    #[inline(always)]
    fn interleave(self, other: Self) -> (Self, Self) {
        // SAFETY: see `Lanes`.
        unsafe {
            let low = _mm512_unpacklo_epi8(self.0, other.0);
            (Self(low), Self(_mm512_unpackhi_epi8(self.0, other.0)))
        }
    }
    #[inline(always)]
    fn write_bits(word: u64, bytes: &mut [u8; LANES]) {
        // SAFETY: see `Lanes`; there is room for 64 bytes.
        unsafe {
            let ones = _mm512_maskz_set1_epi8(word, 1);
            _mm512_storeu_si512(bytes.as_mut_ptr().cast(), ones);
        }
    }
    #[inline(always)]
    fn word(mask: Self::Mask) -> u64 {
        mask
    }
    #[inline(always)]
    fn mask(word: u64) -> Self::Mask {
        word
    }
}
