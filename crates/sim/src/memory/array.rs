//! Large arrays that can be taken apart and put together again.
//!
//! The tables of a drive are one array each, with the entries of a die side by side. Threads that
//! work on different dies need parts of them that are theirs alone. [`Array::split`] gives such
//! parts without a copy: they share one allocation, which goes when the last part goes, and no two
//! of them overlap.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use super::OutOfMemory;

/// The allocation that parts of an array live in.
struct Home<T> {
    start: NonNull<T>,
    capacity: usize,
}

// SAFETY: a home is touched only when its last part is dropped, by the thread that drops it.
unsafe impl<T: Send> Send for Home<T> {}
// SAFETY: as above; a shared home gives no access to its values.
unsafe impl<T: Send> Sync for Home<T> {}

impl<T> Drop for Home<T> {
    fn drop(&mut self) {
        // SAFETY: start and capacity are those of the vector that `Array::new` took apart, and no
        // part is left. The values are `Copy`: a length of 0 leaves nothing undone.
        drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), 0, self.capacity) });
    }
}

/// See the module. Dereferences to a slice.
pub struct Array<T: Copy> {
    start: NonNull<T>,
    len: usize,
    home: Arc<Home<T>>,
}

// SAFETY: an array is the only one that reaches the values between its start and its end.
unsafe impl<T: Copy + Send> Send for Array<T> {}
// SAFETY: a shared array gives shared access only, as a slice does.
unsafe impl<T: Copy + Sync> Sync for Array<T> {}

impl<T: Copy> Array<T> {
    /// An array of `len` copies of `value`, on huge pages where the system grants them.
    ///
    /// # Panics
    /// Unwinds with [`OutOfMemory`], without a message, when there is no memory for it.
    pub fn new(len: usize, value: T) -> Self {
        let mut vec = Vec::new();
        if vec.try_reserve_exact(len).is_err() {
            let bytes = len as u64 * size_of::<T>() as u64;
            std::panic::resume_unwind(Box::new(OutOfMemory { bytes }));
        }
        super::advise_huge(vec.as_ptr(), len * size_of::<T>());
        vec.resize(len, value);
        Self::from(vec)
    }

    /// Parts of these lengths, in order.
    ///
    /// # Panics
    /// When the lengths do not add up to that of the array.
    pub fn split(self, lens: &[usize]) -> Vec<Self> {
        let total = lens.iter().try_fold(0_usize, |sum, &len| sum.checked_add(len));
        assert_eq!(total, Some(self.len), "the parts are not the whole");
        let mut offset = 0;
        lens.iter()
            .map(|&len| {
                // SAFETY: offset + len <= self.len, so the part is inside this array, which is
                // consumed here; the parts follow each other and so do not overlap.
                let start = unsafe { self.start.add(offset) };
                offset += len;
                Self { start, len, home: Arc::clone(&self.home) }
            })
            .collect()
    }

    /// What [`Array::split`] took apart.
    ///
    /// # Panics
    /// When the parts are not neighbours of one array, in order.
    pub fn join(parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        let mut whole = parts.next().expect("an array has a part");
        for part in parts {
            // SAFETY: the end of a part is at most one past the end of its allocation.
            let end = unsafe { whole.start.add(whole.len) };
            let is_next = end == part.start && Arc::ptr_eq(&whole.home, &part.home);
            assert!(is_next, "a part of another array, or out of order");
            whole.len += part.len;
        }
        whole
    }
}

impl<T: Copy> From<Vec<T>> for Array<T> {
    fn from(vec: Vec<T>) -> Self {
        let mut vec = std::mem::ManuallyDrop::new(vec);
        let start = NonNull::new(vec.as_mut_ptr()).expect("a vector has an address");
        let home = Arc::new(Home { start, capacity: vec.capacity() });
        Self { start, len: vec.len(), home }
    }
}

impl<T: Copy> Default for Array<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T: Copy> Deref for Array<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: start and len are of initialised values in a live allocation (`home`), which only
        // this array reaches.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for Array<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and this array is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> Clone for Array<T> {
    fn clone(&self) -> Self {
        Self::from(self.to_vec())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_written_by_threads_and_joined_again() {
        let whole = Array::new(1000, 0_u32);
        let mut parts = whole.split(&[0, 300, 1, 699]);
        std::thread::scope(|scope| {
            for (number, part) in (1..).zip(&mut parts) {
                scope.spawn(move || part.fill(number));
            }
        });
        let whole = Array::join(parts);
        let expected = [(2, 300), (3, 1), (4, 699)];
        let expected: Vec<u32> =
            expected.iter().flat_map(|&(value, count)| vec![value; count]).collect();
        assert_eq!(whole[..], expected[..]);
    }

    #[test]
    fn a_part_outlives_the_others() {
        let mut parts = Array::from(vec![1_u8, 2, 3]).split(&[1, 2]);
        let last = parts.pop().expect("two parts");
        drop(parts);
        assert_eq!(last[..], [2, 3]);
        assert_eq!(last.clone()[..], [2, 3]);
    }

    #[test]
    #[should_panic(expected = "out of order")]
    fn parts_out_of_order_are_refused() {
        let mut parts = Array::from(vec![1_u8, 2, 3]).split(&[1, 2]);
        parts.reverse();
        Array::join(parts);
    }

    #[test]
    #[should_panic(expected = "not the whole")]
    fn parts_whose_lengths_wrap_around_are_refused() {
        Array::from(vec![0_u32; 4]).split(&[usize::MAX, 5]);
    }

    /// A drive that did not fit the memory ended the process instead of being refused.
    #[test]
    fn an_array_that_is_not_granted_unwinds_with_its_size() {
        let len = (isize::MAX as usize) / 4;
        let refused = std::panic::catch_unwind(|| Array::new(len, 0_u32)).unwrap_err();
        let payload = refused.downcast_ref::<OutOfMemory>();
        assert_eq!(payload, Some(&OutOfMemory { bytes: 4 * len as u64 }));
    }

    #[test]
    fn a_large_array_holds_what_was_asked_for() {
        let array = Array::new(3 << 20, 7_u32);
        assert!(array.len() == 3 << 20 && array.iter().all(|&value| value == 7));
        assert!(Array::new(0, 0_u8).is_empty());
    }
}
