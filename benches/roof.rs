//! The roof of this machine for untimed writes: the memory accesses of a map of pages, and no more.
//!
//! `roof PAGES FILL WRITES THREADS` prints a line for writes in order and one for writes at random:
//! seconds of the clock and of the processors, and the write amplification. `benches/roof.py`
//! compiles it and holds the simulator against it.
//!
//! ```text
//! host write   map[logical] = next page       one random line
//! collection   of the oldest block, in order:  page -> logical -> map[logical]: still here?
//!              256 random lines, of which those that are still here are written
//! ```
//!
//! A page is alive if the map names it, so that nothing is counted and no page is marked: a drive
//! that collects the emptiest block needs both. With blocks in the order of their age the
//! amplification is that of the closed form for cyclic collection, close to the greedy one at 256
//! pages a block. Random lines are asked for ahead. Each thread has a drive of its own.

use std::time::Instant;

const BLOCK: usize = 256;
/// Logical pages of 107 physical ones: over-provisioning of 7 %, as in the benches.
const LOGICAL: usize = 100;
const PHYSICAL: usize = 107;
/// Blocks that hold nothing when a collection begins.
const SPARE: usize = 2;
/// No page: of a page that was not written.
const NONE: u32 = u32::MAX;

struct Drive {
    map: Vec<u32>,
    back: Vec<u32>,
    logical: usize,
    /// The page that is written next, and the block that is collected next: blocks in a ring.
    next: usize,
    oldest: usize,
    free: usize,
    state: u64,
    programs: u64,
}

#[inline(always)]
fn fetch(map: &[u32], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing; the address is computed without being followed.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch(map.as_ptr().wrapping_add(at).cast(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (map, at);
}

/// A table of no pages, in huge pages where the system has them: as the simulator's.
fn table(entries: usize) -> Vec<u32> {
    const MADV_HUGEPAGE: i32 = 14;
    let mut it: Vec<u32> = Vec::with_capacity(entries);
    let first = (it.as_ptr() as usize).next_multiple_of(4096);
    let limit = (it.as_ptr() as usize + entries * 4) / 4096 * 4096;
    // SAFETY: whole pages inside of one allocation; the advice changes no content.
    unsafe { madvise(first as *mut u8, limit.saturating_sub(first), MADV_HUGEPAGE) };
    it.resize(entries, NONE);
    it
}

impl Drive {
    fn new(pages: usize, seed: u64) -> Self {
        let pages = pages / BLOCK * BLOCK;
        let logical = pages * LOGICAL / PHYSICAL;
        let mut it = Self {
            map: table(logical),
            back: table(pages),
            logical,
            next: 0,
            oldest: 0,
            free: pages / BLOCK,
            state: seed,
            programs: 0,
        };
        for at in 0..logical {
            it.program(at as u32);
        }
        it
    }

    /// A logical page at random: SplitMix64, and the upper half of a product.
    #[inline(always)]
    fn draw(&mut self) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) as u128 * self.logical as u128) >> 64) as usize
    }

    #[inline(always)]
    fn program(&mut self, logical: u32) {
        if self.next % BLOCK == 0 {
            self.free -= 1;
        }
        self.map[logical as usize] = self.next as u32;
        self.back[self.next] = logical;
        self.programs += 1;
        self.next += 1;
        if self.next == self.back.len() {
            self.next = 0;
        }
    }

    /// Moves what is alive in the oldest block.
    fn collect(&mut self) {
        let from = self.oldest * BLOCK;
        let mut held = [0; BLOCK];
        held.copy_from_slice(&self.back[from..from + BLOCK]);
        let after = (from + BLOCK) % self.back.len();
        for at in 0..BLOCK {
            // The lines of the block after this one, a whole block ahead of their use.
            fetch(&self.map, self.back[after + at] as usize);
            if self.map.get(held[at] as usize) == Some(&((from + at) as u32)) {
                self.program(held[at]);
            }
        }
        self.free += 1;
        self.oldest = (self.oldest + 1) % (self.back.len() / BLOCK);
    }

    /// Overwrites the logical pages in their order, over and over.
    fn fill(&mut self, count: u64) {
        let mut logical = 0;
        for _ in 0..count {
            while self.next % BLOCK == 0 && self.free <= SPARE {
                self.collect();
            }
            self.program(logical as u32);
            logical = if logical + 1 == self.logical { 0 } else { logical + 1 };
        }
    }

    fn write(&mut self, count: u64) {
        const AHEAD: usize = 32;
        let mut ring = [0; AHEAD];
        for it in &mut ring {
            *it = self.draw();
        }
        for turn in 0..count as usize {
            let logical = std::mem::replace(&mut ring[turn % AHEAD], self.draw());
            fetch(&self.map, ring[turn % AHEAD]);
            while self.next % BLOCK == 0 && self.free <= SPARE {
                self.collect();
            }
            self.program(logical as u32);
        }
    }
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    fn madvise(address: *mut u8, bytes: usize, advice: i32) -> i32;
}

/// Processor time of this process, in seconds.
fn processor_s() -> f64 {
    const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the form of the time is that of 64-bit Linux, which it is written into.
    let failed = unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "the clock of this process");
    time.seconds as f64 + time.nanoseconds as f64 * 1e-9
}

/// Lets each drive write on a thread; prints what that took for this many `writes`.
fn measure(drives: &mut [Drive], writes: usize, work: impl Fn(&mut Drive) + Copy + Send) {
    let before: u64 = drives.iter().map(|it| it.programs).sum();
    let (began, began_s) = (Instant::now(), processor_s());
    std::thread::scope(|scope| {
        for drive in &mut *drives {
            scope.spawn(move || work(drive));
        }
    });
    let (clock_s, used_s) = (began.elapsed().as_secs_f64(), processor_s() - began_s);
    let programs = drives.iter().map(|it| it.programs).sum::<u64>() - before;
    println!("{clock_s} {used_s} {}", programs as f64 / writes as f64);
}

fn main() {
    let words: Vec<usize> =
        std::env::args().skip(1).map(|it| it.parse().expect("a number")).collect();
    let [pages, fill, writes, threads] = words[..] else { panic!("PAGES FILL WRITES THREADS") };
    let share = pages / threads;
    let mut drives: Vec<_> = (0..threads).map(|at| Drive::new(share, at as u64)).collect();
    measure(&mut drives, fill, |drive| drive.fill((fill / threads) as u64));
    std::thread::scope(|scope| {
        for drive in &mut drives {
            scope.spawn(move || drive.write(share as u64 * 3 / 2));
        }
    });
    measure(&mut drives, writes, |drive| drive.write((writes / threads) as u64));
    for drive in &drives {
        let alive = drive.back.iter().enumerate();
        let alive = alive.filter(|(at, it)| drive.map.get(**it as usize) == Some(&(*at as u32)));
        assert_eq!(alive.count(), drive.logical, "each logical page is in one place");
    }
}
