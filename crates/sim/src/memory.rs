//! Large arrays and cache hints: the only file of the simulator with `unsafe`.
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

/// The payload of an unwinding that is no defect: the system did not grant an array.
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

    /// A drive that did not fit the memory ended the process instead of being refused.
    #[test]
    fn an_array_that_is_not_granted_unwinds_with_its_size() {
        let len = (isize::MAX as usize) / 4;
        let refused = std::panic::catch_unwind(|| huge_vec(len, 0_u32)).unwrap_err();
        let payload = refused.downcast_ref::<OutOfMemory>();
        assert_eq!(payload, Some(&OutOfMemory { bytes: 4 * len as u64 }));
    }
}
