//! Large arrays and cache hints: the only file of the simulator with `unsafe`.
//!
//! An FTL at memory speed waits for memory, not for arithmetic. Two hints to the machine make the
//! difference and change no result: arrays of more than 2 MiB ask for huge pages (one TLB entry
//! then covers 512 times as much), and a batch of coming addresses is prefetched before it is used.
//! On other systems than Linux, and on other processors than x86-64, both do nothing.
#![allow(unsafe_code)]

/// Bytes of a huge page on x86-64 and most aarch64 Linux systems.
#[cfg(target_os = "linux")]
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A vector of `len` copies of `value`, on huge pages where the system grants them.
pub fn huge_vec<T: Copy>(len: usize, value: T) -> Vec<T> {
    let mut vec = Vec::with_capacity(len);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_change_no_contents() {
        let vec = huge_vec(3 << 20, 7_u32);
        prefetch(&vec, 5);
        prefetch(&vec, usize::MAX);
        assert!(vec.len() == 3 << 20 && vec.iter().all(|&value| value == 7));
        assert!(huge_vec(0, 0_u8).is_empty());
    }
}
