//! Large arrays, cache hints and picking values by their bits: the only room of the simulator with
//! `unsafe`.
//!
//! An FTL at memory speed waits for memory, not for arithmetic. Two hints to the machine make the
//! difference and change no result: arrays of more than 2 MiB ask for huge pages (one TLB entry
//! then covers 512 times as much), and a batch of coming addresses is prefetched before it is used.
//! On other systems than Linux, and on other processors than x86-64, both do nothing.
//!
//! These arrays are nearly all of a drive's memory. If the system does not grant one, the
//! allocation unwinds with [`OutOfMemory`], so that the code that builds the drive can report an
//! error; the standard library would end the process.
#![allow(unsafe_code)]

mod array;
mod gather;

pub use array::Array;
pub use gather::{gather, WORD};

/// Bytes of a huge page on x86-64 and most aarch64 Linux systems.
#[cfg(target_os = "linux")]
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The payload of an unwinding that is not a defect: the system did not grant an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Size of the array.
    pub bytes: u64,
}

#[cfg(target_os = "linux")]
fn advise_huge<T>(start: *const T, bytes: usize) {
    let first = (start as usize).next_multiple_of(HUGE_PAGE_BYTES);
    let limit = start as usize + bytes;
    if limit > first + HUGE_PAGE_BYTES {
        // SAFETY: the range is inside one live allocation that the caller owns; MADV_HUGEPAGE
        // changes neither contents nor access rights, and a refusal (old kernel, feature off) is
        // harmless.
        unsafe {
            libc::madvise(first as *mut libc::c_void, limit - first, libc::MADV_HUGEPAGE);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn advise_huge<T>(_start: *const T, _bytes: usize) {}

/// Prefetches the cache line of `slice[index]`; an index beyond the slice is harmless, and useless.
#[inline(always)]
#[allow(clippy::inline_always)] // a call would cost more than the hint saves
pub fn prefetch_at<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads no value and faults at no address, and a wrapping sum is one.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(index).cast::<i8>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_change_no_contents() {
        let array = Array::new(1 << 10, 7_u32);
        prefetch_at(&array, 5);
        prefetch_at(&array, usize::MAX);
        assert!(array.iter().all(|&value| value == 7));
    }
}
