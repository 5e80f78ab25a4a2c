//! Writes without time on several threads, each of which works on its own dies.
//!
//! ```text
//!  pages ─► by die ─┬─► thread: its dies' firmware and flash ─┬─► put together
//!                   └─► thread: …                             ┘   reads counted, die by die
//! ```
//! The bytes that a run leaves do not depend on the number of threads: dies share nothing that
//! writes change but sums, and the chance of failing reads comes from streams of the die. With one
//! thread the dies take turns, which also keeps the tables of one at a time in the caches.

use std::sync::{Mutex, PoisonError};

use super::instant::{Instant, Reader};
use crate::drive::Drive;
use crate::ftl::{Dealt, DieFtl, NoRoom};
use crate::nand::Media;
use crate::op::Source;
use crate::reads::{BlockRead, PageTypes};
use crate::striping::Turns;
use crate::units::{Lpn, Ppn};

/// Pages below which it is not worth taking the drive apart.
const PAGES_MIN: u64 = 4096;

/// Consecutive pages for which it is worth to begin another thread: some 100 us of work.
const RUN_PAGES_A_THREAD: u64 = 1 << 16;

/// Reads that are counted when the threads are done.
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
#[derive(Clone, Copy)]
enum Writes<'a> {
    /// These pages, in order, on dies that take turns.
    List(&'a [u32], Turns),
    /// A number of pages from the first on.
    Run(Lpn, u32),
}

/// A die in the hands of a thread.
struct Post {
    ftl: DieFtl,
    media: Media,
    later: Later,
    outcome: Result<(), NoRoom>,
}

impl Post {
    fn write(
        &mut self,
        writes: impl FnOnce(&mut DieFtl, &mut Instant<'_, &mut Later>) -> Result<(), NoRoom>,
    ) {
        let mut sink = Instant { media: &mut self.media, reader: &mut self.later };
        self.outcome = writes(&mut self.ftl, &mut sink);
    }
}

/// Lets neighbouring dies, from `first` on, write their pages.
fn work(posts: &mut [Post], first: u32, writes: Writes<'_>) {
    match writes {
        Writes::List(lpns, turns) => {
            let dealt = Dealt::new(first..first + posts.len() as u32, lpns, turns);
            for (post, list) in posts.iter_mut().zip(dealt.lists()) {
                post.write(|ftl, sink| ftl.write_list(sink, list));
            }
        }
        Writes::Run(first, count) => {
            for post in posts {
                post.write(|ftl, sink| ftl.write_run(sink, first, count));
            }
        }
    }
}

impl Drive {
    /// Whether there are enough of these pages for several threads, and the dies may work apart.
    /// The number of threads does not matter: the result of a run must not depend on it.
    pub(crate) fn is_list_for_crew(&self, lpns: &[u32]) -> bool {
        lpns.len() as u64 >= PAGES_MIN && self.ftl.may_split(&self.media, Some(lpns))
    }

    /// The same for `pages` consecutive pages.
    pub(crate) fn is_run_for_crew(&self, pages: u64) -> bool {
        pages >= PAGES_MIN && self.ftl.may_split(&self.media, None)
    }

    /// Writes pages in order, as [`Drive::is_list_for_crew`] allows.
    ///
    /// # Errors
    /// [`NoRoom`] when a die has no room left; the other dies have written their pages
    /// nevertheless.
    pub(crate) fn write_list_together(&mut self, lpns: &[u32]) -> Result<(), NoRoom> {
        let turns = self.ftl.traits().turns.expect("the dies of lists take turns");
        self.write_together(Writes::List(lpns, turns), lpns.len() as u64)
    }

    /// Writes consecutive pages, as [`Drive::is_run_for_crew`] allows.
    ///
    /// # Errors
    /// As [`Drive::write_list_together`].
    pub(crate) fn write_run_together(&mut self, first: Lpn, count: u32) -> Result<(), NoRoom> {
        self.write_together(Writes::Run(first, count), u64::from(count))
    }

    fn write_together(&mut self, writes: Writes<'_>, count: u64) -> Result<(), NoRoom> {
        let types = self.errors.page_types();
        let parts = self.ftl.split().into_iter().zip(self.media.take().split());
        let mut posts: Vec<Post> = parts
            .map(|(ftl, media)| {
                let later = Later { types: types.clone(), reads: Vec::new() };
                Post { ftl, media, later, outcome: Ok(()) }
            })
            .collect();
        let dies = posts.len();
        let threads = match writes {
            Writes::List(..) => self.threads.max(1),
            Writes::Run(..) => self.threads.min((count / RUN_PAGES_A_THREAD) as usize).max(1),
        };
        let share = dies.div_ceil(threads);
        let firsts = (0..).step_by(share);
        let shares = Mutex::new(posts.chunks_mut(share).zip(firsts).collect::<Vec<_>>());
        let task = || {
            let take = || shares.lock().unwrap_or_else(PoisonError::into_inner).pop();
            while let Some((posts, first)) = take() {
                work(posts, first, writes);
            }
        };
        std::thread::scope(|scope| {
            // If the system grants no thread, this one does the work.
            let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, task).ok();
            let others: Vec<_> = (1..threads.min(dies)).map_while(spawn).collect();
            task();
            for other in others {
                if let Err(panic) = other.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        });
        let mut outcome = Ok(());
        let (mut dies, mut media) = (Vec::new(), Vec::new());
        for post in posts {
            post.later.reads.iter().for_each(|read| {
                self.errors.record_block(read);
            });
            outcome = outcome.and(post.outcome);
            dies.push(post.ftl);
            media.push(post.media);
        }
        self.media = Media::join(media);
        self.ftl.join(dies, count);
        outcome
    }
}
