//! Moving pages inside the die: read into the register and programmed from there.
//!
//! That needs source and target in one plane, since each plane has its own register, and it skips
//! the decoder: errors of the source become data of the target. So a block remembers how many such
//! moves its data has made in a row (`Media::copyback_depth`), and from a limit on its pages pass
//! the controller once, which corrects them. Pages of a victim may be placed in any order; they are
//! taken so that as many as possible find their own plane.

use super::log::Log;
use crate::ftl::books::Books;
use crate::ftl::map::Moving;
use crate::ftl::sink::{FlashSink, MoveRun, MoveWay};
use crate::op::Source;
use crate::units::{BlockId, Lpn, Ppn};

/// Live pages of a victim by their plane, the first of each plane last.
struct ByPlane {
    queues: Vec<Vec<(u32, u32)>>,
    left: usize,
}

impl ByPlane {
    fn new(log: &Log, victim: BlockId, moving: &Moving) -> Self {
        let first_page = log.geometry.first_page(victim).0;
        let mut queues = vec![Vec::new(); log.geometry.planes_per_die as usize];
        for (&page, &lpn) in moving.page_indices().iter().zip(moving.lpns()).rev() {
            let plane = log.geometry.plane_of(Ppn(first_page + page));
            queues[plane as usize].push((page, lpn));
        }
        Self { queues, left: moving.lpns().len() }
    }

    fn has(&self, plane: usize) -> bool {
        !self.queues[plane].is_empty()
    }

    /// The next page of a plane, or of the longest queue: the others may still find their plane.
    fn take(&mut self, plane: Option<usize>) -> (u32, u32) {
        let queue = match plane {
            Some(plane) => &mut self.queues[plane],
            None => self.queues.iter_mut().max_by_key(|queue| queue.len()).expect("planes"),
        };
        self.left -= 1;
        queue.pop().expect("pages are left")
    }
}

/// Programs moved pages of a victim into the open block of their stream, inside the die where
/// planes allow and the data has made fewer than `limit` such moves in a row.
pub(crate) fn place_inside<S: FlashSink>(
    log: &mut Log,
    books: &mut Books,
    sink: &mut S,
    (victim, moving): (BlockId, &Moving),
    (source, limit): (Source, u8),
) {
    let may_copy = source != Source::Fold && sink.media().copyback_depth(victim) < limit;
    let mut pages = ByPlane::new(log, victim, moving);
    let (mut page_indices, mut lpns) = (Vec::new(), Vec::new());
    while pages.left > 0 {
        let first = pages.queues.iter().position(|queue| !queue.is_empty());
        let (_, lpn) = first.and_then(|plane| pages.queues[plane].last()).expect("pages are left");
        let stream = log.moved_stream(Lpn(*lpn), source, victim);
        log.wanted_plane = first.filter(|_| may_copy).map(|plane| plane as u32);
        log.make_ready(books, sink, stream, source);
        log.wanted_plane = None;
        let frontier = log.frontiers[stream];
        let plane_at = |ppn: u32| log.geometry.plane_of(Ppn(ppn)) as usize;
        let is_inside = may_copy && pages.has(plane_at(frontier.next));
        page_indices.clear();
        lpns.clear();
        let mut next = frontier.next;
        while next < frontier.limit && pages.left > 0 {
            let plane = plane_at(next);
            let fits = may_copy && pages.has(plane);
            if fits != is_inside {
                break;
            }
            let (page, lpn) = pages.take(fits.then_some(plane));
            page_indices.push(page);
            lpns.push(lpn);
            next += 1;
        }
        log.frontiers[stream].next = next;
        books.map.rebind_run(&lpns, Ppn(frontier.next));
        if is_inside {
            books.counters.copyback_pages += lpns.len() as u64;
        } else {
            sink.read_pages(victim, &page_indices, source);
        }
        sink.move_run(&MoveRun {
            victim,
            page_indices: &page_indices,
            first: Ppn(frontier.next),
            lpns: &lpns,
            source,
            way: if is_inside { MoveWay::Inside } else { MoveWay::Bus },
        });
    }
}
