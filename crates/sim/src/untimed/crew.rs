//! Writes without time on several threads, each of which works on one die after the other.
//!
//! ```text
//!             ┌─► helper: one die's firmware and flash, the next, … ─┐
//!  pages, ────┤                                                      ├─► put together
//!  by die     └─► own thread: draws the next pages; one die, …       ┘   reads counted, die by die
//! ```
//! The bytes that a run leaves do not depend on the number of threads: dies share nothing that
//! writes change but sums, and the chance of failing reads comes from streams of the die. With one
//! thread the dies take turns, which also keeps the tables of one at a time in the caches.

use std::collections::VecDeque;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::mpsc::{channel, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::instant::{Instant, Reader};
use crate::drive::Drive;
use crate::ftl::{Dealt, DieFtl, NoRoom};
use crate::nand::Media;
use crate::op::Source;
use crate::reads::{BlockRead, PageTypes};
use crate::striping::Turns;
use crate::units::{Lpn, Ppn};
use crate::workload::Generator;

/// Pages below which it is not worth taking the drive apart.
const PAGES_MIN: u64 = 4096;

/// Consecutive pages for which it is worth to ask another thread: some 30 us of work.
const RUN_PAGES_A_THREAD: u64 = 1 << 15;

/// Looks for news before a thread sleeps: some 50 us, as long as to wake one.
const LOOKS: u32 = 2000;

/// Pages that are written in order, one by one.
#[derive(Default)]
pub(crate) struct PageList {
    lpns: Vec<u32>,
    /// The same by die, if dies may work apart; else without any.
    dealt: Arc<Dealt>,
}

impl PageList {
    /// Draws `count` pages in place of those before, and deals them to the dies that take `turns`.
    pub(crate) fn draw(
        &mut self,
        generator: &mut dyn Generator,
        count: usize,
        page_sectors: u32,
        turns: Option<Turns>,
    ) {
        self.lpns.clear();
        generator.fill_pages(&mut self.lpns, count, page_sectors);
        if Arc::get_mut(&mut self.dealt).is_none() {
            self.dealt = Arc::default(); // a helper that woke late has not let go of the last one
        }
        let dealt = Arc::get_mut(&mut self.dealt).expect("it is new, or not shared");
        match turns.filter(|_| count as u64 >= PAGES_MIN) {
            Some(turns) => dealt.deal(&self.lpns, turns),
            None => dealt.clear(),
        }
    }

    /// Takes all pages out.
    pub(crate) fn clear(&mut self) {
        self.lpns.clear();
    }

    /// The pages.
    pub(crate) fn lpns(&self) -> &[u32] {
        &self.lpns
    }
}

/// Reads that are counted when the die is done.
struct Later {
    types: PageTypes,
    reads: Vec<BlockRead>,
}

impl Reader for &mut Later {
    #[inline]
    fn page_types(&self) -> &PageTypes {
        &self.types
    }

    fn page(&mut self, _: &Media, _: Ppn, _: Source) {
        unreachable!("writes of whole pages read no single page");
    }

    #[inline]
    fn block(&mut self, read: BlockRead) {
        self.reads.push(read);
    }
}

/// The pages to write.
enum Writes {
    /// Those of a list.
    List(Arc<Dealt>),
    /// Runs: a number of pages from the first on, and so on.
    Runs(Vec<(Lpn, u32)>),
}

/// A die in the hands of a thread.
struct Post {
    ftl: DieFtl,
    media: Media,
    later: Later,
    outcome: Result<(), NoRoom>,
}

impl Post {
    /// Lets the die write its pages.
    fn work(&mut self, writes: &Writes) {
        let mut sink = Instant { media: &mut self.media, reader: &mut self.later };
        self.outcome = match writes {
            Writes::List(dealt) => {
                let list = dealt.list(self.ftl.die());
                self.ftl.write_list(&mut sink, list)
            }
            Writes::Runs(runs) => {
                let mut before = 0;
                runs.iter().try_for_each(|&(first, count)| {
                    let outcome = self.ftl.write_run(&mut sink, before, first, count);
                    before += u64::from(count);
                    outcome
                })
            }
        };
    }
}

/// Work for a crew: the dies that wait, by the thread that they are for. Each list finds a die
/// where the last one left it in the caches, as far as possible.
struct Shift {
    writes: Writes,
    waiting: Mutex<Vec<VecDeque<Box<Post>>>>,
}

impl Shift {
    /// Work for `threads` threads, each with neighbouring dies.
    fn new(writes: Writes, posts: Vec<Post>, threads: usize) -> Self {
        let share = posts.len().div_ceil(threads).max(1);
        let mut posts = posts.into_iter().map(Box::new);
        let queues = (0..threads).map(|_| posts.by_ref().take(share).collect());
        Self { writes, waiting: Mutex::new(queues.collect()) }
    }

    /// The next die for a thread: its own, then the last of the thread that has most left.
    fn next(&self, thread: usize) -> Option<Box<Post>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let own = waiting[thread].pop_front();
        own.or_else(|| waiting.iter_mut().max_by_key(|queue| queue.len())?.pop_back())
    }
}

/// A die that has written its pages, or the panic of its thread.
type Done = std::thread::Result<Box<Post>>;

/// Threads that help with lists and runs until the crew is dropped: a thread for each
/// would cost a tenth of the work.
pub(crate) struct Crew {
    helpers: Vec<(Sender<Arc<Shift>>, JoinHandle<()>)>,
    to_done: Sender<Done>,
    done: Receiver<Done>,
}

impl Default for Crew {
    fn default() -> Self {
        let (to_done, done) = channel();
        Self { helpers: Vec::new(), to_done, done }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        let (shifts, threads): (Vec<_>, Vec<_>) = self.helpers.drain(..).unzip();
        drop(shifts);
        for thread in threads {
            thread.join().ok(); // its panics have come as results
        }
    }
}

impl Crew {
    /// Has at least `count` helpers, unless the system grants fewer threads.
    fn grow(&mut self, count: usize) {
        while self.helpers.len() < count {
            let (to_helper, shifts) = channel::<Arc<Shift>>();
            let to_done = self.to_done.clone();
            let number = self.helpers.len() + 1; // behind the own thread
            let help = move || {
                while let Some(shift) = receive(&shifts) {
                    while let Some(mut post) = shift.next(number) {
                        let writes = AssertUnwindSafe(|| post.work(&shift.writes));
                        let worked = catch_unwind(writes);
                        if to_done.send(worked.map(|()| post)).is_err() {
                            return;
                        }
                    }
                }
            };
            let Ok(thread) = Builder::new().name("dies".into()).spawn(help) else { return };
            self.helpers.push((to_helper, thread));
        }
    }

    /// Lets dies write, with at most `helper_count` helpers; `meanwhile` is called if there is one.
    /// `take` gets the dies in their order.
    fn write(
        &mut self,
        helper_count: usize,
        writes: Writes,
        posts: Vec<Post>,
        meanwhile: impl FnOnce(),
        mut take: impl FnMut(Box<Post>),
    ) {
        self.grow(helper_count);
        let mut arrived: Vec<Option<Box<Post>>> = posts.iter().map(|_| None).collect();
        let mut taken = 0;
        let mut arrive = |post: Box<Post>| {
            let die = post.ftl.die() as usize;
            arrived[die] = Some(post);
            while let Some(post) = arrived.get_mut(taken).and_then(Option::take) {
                take(post);
                taken += 1;
            }
            taken
        };
        let dies = posts.len();
        let helpers = &self.helpers[..helper_count.min(self.helpers.len())];
        let shift = Arc::new(Shift::new(writes, posts, helpers.len() + 1));
        for (to_helper, _) in helpers {
            to_helper.send(Arc::clone(&shift)).expect("a helper waits for work");
        }
        if !helpers.is_empty() {
            meanwhile();
        }
        let mut count = 0;
        while let Some(mut post) = shift.next(0) {
            post.work(&shift.writes);
            count = arrive(post);
            while let Ok(done) = self.done.try_recv() {
                count = arrive(done.unwrap_or_else(|panic| resume_unwind(panic)));
            }
        }
        while count < dies {
            let done = receive(&self.done).expect("its sender is here");
            count = arrive(done.unwrap_or_else(|panic| resume_unwind(panic)));
        }
    }
}

/// The next of what comes; `None` if nothing can come.
fn receive<T>(from: &Receiver<T>) -> Option<T> {
    for _ in 0..LOOKS {
        match from.try_recv() {
            Ok(it) => return Some(it),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
            Err(TryRecvError::Disconnected) => return None,
        }
    }
    from.recv().ok()
}

impl Drive {
    /// How dies take turns that may work apart on lists of pages.
    pub(crate) fn turns_apart(&self) -> Option<Turns> {
        let traits = self.ftl.traits();
        traits.turns.filter(|_| traits.is_separable)
    }

    /// Whether a list was dealt, and the dies may work apart. The number of threads does not
    /// matter: the result of a run must not depend on it.
    pub(crate) fn is_list_for_crew(&self, list: &PageList) -> bool {
        list.dealt.count() > 0 && self.ftl.may_split(&self.media, Some(&list.dealt))
    }

    /// Whether runs of `pages` pages in all are enough for several threads, and the dies may work
    /// apart.
    pub(crate) fn are_runs_for_crew(&self, pages: u64) -> bool {
        pages >= PAGES_MIN && self.ftl.may_split(&self.media, None)
    }

    /// Writes a list, as [`Drive::is_list_for_crew`] allows; `meanwhile` is called if there are
    /// several threads.
    ///
    /// # Errors
    /// [`NoRoom`] when a die has no room left; the other dies have written their pages
    /// nevertheless.
    pub(crate) fn write_list_together(
        &mut self,
        crew: &mut Crew,
        list: &PageList,
        meanwhile: impl FnOnce(),
    ) -> Result<(), NoRoom> {
        let (writes, count) = (Writes::List(Arc::clone(&list.dealt)), list.lpns.len() as u64);
        self.write_together(crew, self.threads, writes, count, meanwhile)
    }

    /// Writes runs of `count` pages in all, as [`Drive::are_runs_for_crew`] allows.
    ///
    /// # Errors
    /// As [`Drive::write_list_together`].
    pub(crate) fn write_runs_together(
        &mut self,
        crew: &mut Crew,
        runs: Vec<(Lpn, u32)>,
        count: u64,
    ) -> Result<(), NoRoom> {
        let threads = self.threads.min((count / RUN_PAGES_A_THREAD) as usize);
        self.write_together(crew, threads, Writes::Runs(runs), count, || {})
    }

    fn take_apart(&mut self) -> Vec<Post> {
        let types = self.errors.page_types();
        let parts = self.ftl.split().into_iter().zip(self.media.take().split());
        parts
            .map(|(ftl, media)| {
                let later = Later { types: types.clone(), reads: Vec::new() };
                Post { ftl, media, later, outcome: Ok(()) }
            })
            .collect()
    }

    fn write_together(
        &mut self,
        crew: &mut Crew,
        threads: usize,
        writes: Writes,
        count: u64,
        meanwhile: impl FnOnce(),
    ) -> Result<(), NoRoom> {
        let posts = self.take_apart();
        let mut outcome = Ok(());
        let (mut dies, mut media) = (Vec::new(), Vec::new());
        let helper_count = threads.min(posts.len()).saturating_sub(1);
        crew.write(helper_count, writes, posts, meanwhile, |post| {
            let Post { ftl, media: flash, later, outcome: own } = *post;
            later.reads.iter().for_each(|read| {
                self.errors.record_block(read);
            });
            outcome = outcome.and(own);
            dies.push(ftl);
            media.push(flash);
        });
        self.media = Media::join(media);
        self.ftl.join(dies, count);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::DeviceConfig;

    fn drive() -> Drive {
        let nand = r#"{"nand": {"channels": 4, "dies_per_channel": 2, "blocks_per_plane": 64}}"#;
        Drive::new(DeviceConfig::resolve(nand).expect("a device"), 1)
    }

    #[test]
    fn dies_come_back_in_order_whoever_had_them() {
        let mut crew = Crew::default();
        for threads in [1, 2, 3, 20] {
            let posts = drive().take_apart();
            let (mut dies, mut called) = (Vec::new(), false);
            let writes = Writes::Runs(vec![(Lpn(0), 5000), (Lpn(100), 3000)]);
            let take = |post: Box<Post>| dies.push(post.ftl.die());
            crew.write(threads - 1, writes, posts, || called = true, take);
            assert_eq!(dies, (0..8).collect::<Vec<_>>(), "{threads} threads");
            assert_eq!(called, threads > 1, "{threads} threads");
        }
    }

    #[test]
    fn a_panic_of_a_helper_is_that_of_the_write() {
        let posts = drive().take_apart();
        let mut crew = Crew::default();
        // A list that was dealt to no die.
        let writes = Writes::List(Arc::default());
        // While which the helper takes them.
        let wait = || (0..10_000).for_each(|_| std::thread::yield_now());
        let write = AssertUnwindSafe(|| crew.write(1, writes, posts, wait, |_| {}));
        assert!(catch_unwind(write).is_err());
        drop(crew); // its thread ends
    }
}
