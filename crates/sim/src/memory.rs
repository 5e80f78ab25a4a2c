//! Large arrays, cache hints and picking values by their bits: the only file of the simulator with
//! `unsafe`.
//!
//! An FTL at memory speed waits for memory, not for arithmetic. Two hints to the machine make the
//! difference and change no result: arrays of more than 2 MiB ask for huge pages (one TLB entry
//! then covers 512 times as much), and a batch of coming addresses is prefetched before it is used.
//! On other systems than Linux, and on other processors than x86-64, both do nothing.
//!
//! These arrays are nearly all of a drive's memory. One that the system does not grant unwinds with
//! [`OutOfMemory`], so that whoever asked for the drive can refuse it; the standard library would
//! end the process.
#![allow(unsafe_code)]

/// Bytes of a huge page on x86-64 and most aarch64 Linux systems.
#[cfg(target_os = "linux")]
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The payload of an unwinding that is not a defect: the system did not grant an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Size of the array.
    pub bytes: u64,
}

/// A vector of `len` copies of `value`, on huge pages where the system grants them.
///
/// # Panics
/// Unwinds with [`OutOfMemory`], without a message, when there is no memory for it.
pub fn huge_vec<T: Copy>(len: usize, value: T) -> Vec<T> {
    let mut vec = Vec::new();
    if vec.try_reserve_exact(len).is_err() {
        let bytes = len as u64 * size_of::<T>() as u64;
        std::panic::resume_unwind(Box::new(OutOfMemory { bytes }));
    }
    advise_huge(vec.as_ptr(), len * size_of::<T>());
    vec.resize(len, value);
    vec
}

#[cfg(target_os = "linux")]
fn advise_huge<T>(start: *const T, bytes: usize) {
    let first = (start as usize).next_multiple_of(HUGE_PAGE_BYTES);
    let limit = start as usize + bytes;
    if limit > first + HUGE_PAGE_BYTES {
        // SAFETY: the range lies inside one live allocation that the caller owns; MADV_HUGEPAGE
        // changes neither contents nor access rights, and a refusal (old kernel, feature off) is
        // harmless.
        unsafe {
            libc::madvise(first as *mut libc::c_void, limit - first, libc::MADV_HUGEPAGE);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn advise_huge<T>(_start: *const T, _bytes: usize) {}

/// Asks for the cache line of `slice[index]`; an index outside the slice asks for nothing.
#[inline(always)]
#[allow(clippy::inline_always)] // a call would cost more than the hint saves
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index < slice.len() {
        // SAFETY: the address lies inside `slice`; a prefetch reads no value and cannot fault.
        unsafe {
            use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
            _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().add(index).cast::<i8>());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// Copies those of up to 64 values whose bit is set to the front of `values_out`, and their
/// positions, counted from `first`, to the front of `positions_out`; returns how many.
///
/// # Panics
/// When there are more than 64 values, or one of the outputs has room for fewer than 64.
#[inline]
pub fn compress(
    bits: u64,
    values: &[u32],
    first: u32,
    values_out: &mut [u32],
    positions_out: &mut [u32],
) -> usize {
    assert!(values.len() <= WORD && values_out.len() >= WORD && positions_out.len() >= WORD);
    #[cfg(target_arch = "x86_64")]
    if values.len() == WORD && is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has AVX-512F, and all three slices hold 64 values or more.
        return unsafe { compress_avx512(bits, values, first, values_out, positions_out) };
    }
    compress_portable(bits, values, first, values_out, positions_out)
}

/// Values of a word.
const WORD: usize = 64;

/// Every value is stored and the place moves on only if its bit is set: no branch to mispredict.
fn compress_portable(
    bits: u64,
    values: &[u32],
    first: u32,
    values_out: &mut [u32],
    positions_out: &mut [u32],
) -> usize {
    let mut count = 0;
    for (bit, &value) in values.iter().enumerate() {
        values_out[count] = value;
        positions_out[count] = first + bit as u32;
        count += (bits >> bit & 1) as usize;
    }
    count
}

/// As [`compress`], sixteen values at a time.
///
/// # Safety
/// The processor has AVX-512F, and each slice holds 64 values or more.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn compress_avx512(
    bits: u64,
    values: &[u32],
    first: u32,
    values_out: &mut [u32],
    positions_out: &mut [u32],
) -> usize {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_set1_epi32,
        _mm512_setr_epi32, _mm512_storeu_si512,
    };
    let steps = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut count = 0;
    for lane in 0..WORD / 16 {
        let mask = (bits >> (16 * lane)) as u16;
        let base = first.wrapping_add(16 * lane as u32);
        let positions = _mm512_add_epi32(_mm512_set1_epi32(base.cast_signed()), steps);
        // SAFETY: lane < 4 and count <= 16 * lane, so that all sixteen values of each access lie
        // inside slices of at least 64 values.
        unsafe {
            let lanes = _mm512_loadu_si512(values.as_ptr().add(16 * lane).cast());
            let live = _mm512_maskz_compress_epi32(mask, lanes);
            _mm512_storeu_si512(values_out.as_mut_ptr().add(count).cast(), live);
            let places = _mm512_maskz_compress_epi32(mask, positions);
            _mm512_storeu_si512(positions_out.as_mut_ptr().add(count).cast(), places);
        }
        count += mask.count_ones() as usize;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_compress_pick_the_values_whose_bits_are_set() {
        let mut rng = crate::rng::Rng::stream(1, "compress");
        for case in 0..2000 {
            let values: Vec<u32> = (0..WORD).map(|_| rng.below(1 << 32) as u32).collect();
            let rare = rng.below(1 << 32) | rng.below(1 << 32) << 32;
            let bits = [rare, !0, 0, rare | rng.below(1 << 32) << 16][case % 4];
            let count = if case % 5 == 0 { rng.below(64) as usize } else { WORD };
            let bits = if count == WORD { bits } else { bits & ((1 << count) - 1) };
            let picked: Vec<usize> = (0..count).filter(|bit| bits >> bit & 1 == 1).collect();
            for compress in [compress, compress_portable] {
                let (mut out, mut places) = ([0; WORD], [0; WORD]);
                let found = compress(bits, &values[..count], 128, &mut out, &mut places);
                assert_eq!(found, picked.len());
                for (index, &bit) in picked.iter().enumerate() {
                    assert_eq!((out[index], places[index]), (values[bit], 128 + bit as u32));
                }
            }
        }
    }

    #[test]
    fn hints_change_no_contents() {
        let vec = huge_vec(3 << 20, 7_u32);
        prefetch(&vec, 5);
        prefetch(&vec, usize::MAX);
        assert!(vec.len() == 3 << 20 && vec.iter().all(|&value| value == 7));
        assert!(huge_vec(0, 0_u8).is_empty());
    }

    /// A drive that did not fit the memory ended the process instead of being refused.
    #[test]
    fn an_array_that_is_not_granted_unwinds_with_its_size() {
        let len = (isize::MAX as usize) / 4;
        let refused = std::panic::catch_unwind(|| huge_vec(len, 0_u32)).unwrap_err();
        let payload = refused.downcast_ref::<OutOfMemory>();
        assert_eq!(payload, Some(&OutOfMemory { bytes: 4 * len as u64 }));
    }
}
