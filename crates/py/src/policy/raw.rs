//! The two things that the compiler cannot check: writing into the memory of arrays that Python
//! holds, and calling a function by its address.
#![allow(unsafe_code)]

use opennandlab_sim::ftl::gc::PoolView;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// Plain numbers without padding, which may be copied byte by byte.
pub(super) trait Plain: Copy {}

impl Plain for u8 {}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for i64 {}

/// Copies numbers to the beginning of a byte array, as many as it holds.
pub(super) fn fill<T: Plain>(array: &Bound<'_, PyByteArray>, numbers: &[T]) {
    let bytes = std::mem::size_of_val(numbers).min(array.len());
    // SAFETY: the GIL is held and nothing runs in Python meanwhile, so no other code reads the
    // bytes; arrays that were made of them keep them in place. `T` has no padding.
    unsafe {
        std::ptr::copy_nonoverlapping(numbers.as_ptr().cast::<u8>(), array.data(), bytes);
    }
}

/// A policy that is called without the interpreter; `docs/policies.md` has it in the words of C.
type Choose = unsafe extern "C" fn(
    now: u64,
    die: u32,
    pages_per_block: u32,
    block_count: u32,
    live: *const u32,
    erase_counts: *const u32,
    closed_at: *const u64,
    rank: *const i64,
    states: *const u8,
) -> i64;

/// Calls the function at an address, which is not 0.
pub(super) fn call(address: usize, view: &PoolView<'_>) -> i64 {
    // SAFETY: Python has checked that this is the address of a function of this signature, and
    // keeps it alive; the arrays have `block_count` entries each and outlive the call, and what the
    // function does with them is up to its author. A state is one byte.
    unsafe {
        let choose = std::mem::transmute::<usize, Choose>(address);
        choose(
            view.now,
            view.shape.die,
            view.shape.pages_per_block,
            view.shape.block_count,
            view.live_counts.as_ptr(),
            view.erase_counts.as_ptr(),
            view.closed_at.as_ptr(),
            view.ranks.as_ptr(),
            view.states.as_ptr().cast::<u8>(),
        )
    }
}
