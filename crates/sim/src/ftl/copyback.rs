//! Moving pages inside the die: read into the register and programmed from there.
//!
//! That needs source and target in one plane, since each plane has its own register, and it skips
//! the decoder: errors of the source become data of the target. So a block remembers how many such
//! moves its data has made in a row (`Media::copyback_depth`), and from a limit on its pages pass
//! the controller once, which corrects them. Pages of a victim may be placed in any order; they are
//! taken so that as many as possible find their own plane.

use super::{FlashSink, Ftl};
use crate::op::Source;
use crate::units::{BlockId, Lpn, Ppn};

/// A live page of a victim: its index and its logical page.
type Page = (u32, u32);

impl Ftl {
    /// As `evacuate`, moving inside the die what can be.
    #[cold]
    pub(super) fn evacuate_inside<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        victim: BlockId,
        source: Source,
    ) {
        let mut pages = std::mem::take(&mut self.moving_from);
        pages.clear();
        self.map.take_live(victim, 0, u32::MAX, &mut pages);
        let oob = sink.media().oob_of_block(victim);
        let mut lpns = std::mem::take(&mut self.moving);
        lpns.clear();
        lpns.extend(pages.iter().map(|&page| oob[page as usize]));
        self.counters.reads[source as usize] += lpns.len() as u64;
        self.counters.programs[source as usize] += lpns.len() as u64;
        self.place_inside(sink, die, victim, &pages, &lpns, source);
        (self.moving, self.moving_from) = (lpns, pages);
    }

    /// Programs moved pages of a victim into the open block of their stream, inside the die where
    /// planes and history allow.
    pub(super) fn place_inside<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        victim: BlockId,
        pages: &[u32],
        lpns: &[u32],
        source: Source,
    ) {
        let limit = self.copyback_limit.unwrap_or(0);
        let may_copy = source != Source::Fold && sink.media().copyback_depth(victim) < limit;
        let first_page = self.geometry.first_page(victim).0;
        let mut by_plane = vec![Vec::new(); self.geometry.planes_per_die as usize];
        for (&page, &lpn) in pages.iter().zip(lpns).rev() {
            let plane = self.geometry.plane_of(Ppn(first_page + page));
            by_plane[plane as usize].push((page, lpn));
        }
        let mut left = pages.len();
        let mut run: Vec<Page> = Vec::new();
        while left > 0 {
            let (_, lpn) = *by_plane.iter().find_map(|queue| queue.last()).expect("pages are left");
            let stream = self.placement.stream(Lpn(lpn), source);
            if self.pools[die].frontiers[stream].is_full() {
                self.wanted_plane = may_copy
                    .then(|| by_plane.iter().position(|queue| !queue.is_empty()))
                    .flatten()
                    .map(|plane| plane as u32);
                self.open_for_moves(sink, die, stream, source);
                self.wanted_plane = None;
            }
            let frontier = self.pools[die].frontiers[stream];
            let is_copy = may_copy && !by_plane[self.plane_at(frontier.next)].is_empty();
            run.clear();
            let mut next = frontier.next;
            while next < frontier.limit && run.len() < left {
                let plane = self.plane_at(next);
                let fits = may_copy && !by_plane[plane].is_empty();
                if fits != is_copy {
                    break;
                }
                let queue = if fits {
                    &mut by_plane[plane]
                } else {
                    // The longest queue: the others may still find their plane.
                    by_plane.iter_mut().max_by_key(|queue| queue.len()).expect("a die has planes")
                };
                run.push(queue.pop().expect("pages are left"));
                next += 1;
            }
            left -= run.len();
            self.pools[die].frontiers[stream].next = next;
            self.emit_run(sink, victim, Ppn(frontier.next), &run, is_copy, source);
        }
    }

    fn plane_at(&self, ppn: u32) -> usize {
        self.geometry.plane_of(Ppn(ppn)) as usize
    }

    /// Moves pages to consecutive places, inside the die or over the bus.
    fn emit_run<S: FlashSink>(
        &mut self,
        sink: &mut S,
        victim: BlockId,
        first: Ppn,
        run: &[Page],
        is_copy: bool,
        source: Source,
    ) {
        let lpns: Vec<u32> = run.iter().map(|&(_, lpn)| lpn).collect();
        for (ppn, &lpn) in (first.0..).zip(&lpns) {
            self.map.l2p[lpn as usize] = ppn;
        }
        if is_copy {
            self.counters.copyback_pages += lpns.len() as u64;
            sink.copy_run(victim, first, &lpns, source);
        } else {
            let pages: Vec<u32> = run.iter().map(|&(page, _)| page).collect();
            sink.read_pages(victim, &pages, source);
            sink.program_run(first, &lpns, source);
        }
    }
}
