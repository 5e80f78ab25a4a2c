//! Sequential writes in bulk, for sinks without time.
//!
//! Long runs of logical pages (fills, large requests) are the common preconditioning, and one page
//! at a time they wait for arithmetic that is the same for every page. Here each die takes its
//! share of the run in one loop: L2P entries and out-of-band areas are filled, and old pages that
//! lie side by side die together. The mapping that results is the one that as many calls of
//! [`Ftl::write`] leave, since pools share nothing; a test holds it to that.

use super::{FlashSink, Ftl, WornOut};
use crate::geometry::UNMAPPED;
use crate::op::Source;
use crate::units::{Lpn, Ppn};

impl Ftl {
    /// Writes `count` whole logical pages from `first` on.
    ///
    /// # Errors
    /// [`WornOut`] when a pool has no room left; which pages of the run were written is then open.
    pub fn write_run<S: FlashSink>(
        &mut self,
        sink: &mut S,
        first: Lpn,
        count: u32,
    ) -> Result<(), WornOut> {
        if self.placement.splits(Source::Host) {
            return (first.0..first.0 + count).try_for_each(|lpn| self.write(sink, Lpn(lpn)));
        }
        let start_clock = self.host_clock;
        let outcome = (0..count.min(self.geometry.die_count))
            .try_for_each(|offset| self.write_share(sink, first.0, offset..count, start_clock));
        self.host_clock = start_clock + u64::from(count);
        outcome
    }

    /// Writes every page of a run that falls to one die: `first + offsets.start`, and from there in
    /// steps of the number of dies.
    fn write_share<S: FlashSink>(
        &mut self,
        sink: &mut S,
        first: u32,
        offsets: std::ops::Range<u32>,
        start_clock: u64,
    ) -> Result<(), WornOut> {
        let step = self.geometry.die_count;
        let die = self.geometry.die_of(Lpn(first + offsets.start)).0 as usize;
        let stream = self.placement.stream(Lpn(first + offsets.start), Source::Host);
        let mut offset = offsets.start;
        while offset < offsets.end {
            self.host_clock = start_clock + u64::from(offset);
            if self.pools[die].frontiers[stream].is_full() {
                self.make_room(sink, die, stream)?;
            }
            let frontier = &mut self.pools[die].frontiers[stream];
            let target = frontier.next;
            let count = (offsets.end - offset).div_ceil(step).min(frontier.limit - target);
            frontier.next += count;
            let mut lpns = std::mem::take(&mut self.moving);
            lpns.clear();
            lpns.extend((0..count).map(|index| first + offset + index * step));
            self.bind_run(die, &lpns, target);
            self.counters.programs[Source::Host as usize] += u64::from(count);
            sink.program_run(Ppn(target), &lpns, Source::Host);
            self.moving = lpns;
            offset += count * step;
        }
        Ok(())
    }

    /// Points logical pages at consecutive pages of a block, and lets their old pages die.
    fn bind_run(&mut self, die: usize, lpns: &[u32], target: u32) {
        let clock = self.host_clock;
        let step = u64::from(self.geometry.die_count);
        let in_block = (1 << self.geometry.page_bits) - 1;
        // Old pages side by side: the first, and how many. They die at the clock of the last one's
        // new page.
        let (mut dead, mut dead_count) = (UNMAPPED, 0);
        for (index, (&lpn, ppn)) in lpns.iter().zip(target..).enumerate() {
            let old = std::mem::replace(&mut self.map.l2p[lpn as usize], ppn);
            if old == dead.wrapping_add(dead_count) && old & in_block != 0 && dead_count > 0 {
                dead_count += 1;
            } else {
                if dead_count > 0 {
                    self.host_clock = clock + (index as u64 - 1) * step + 1;
                    self.kill_run(die, dead, dead_count);
                }
                let is_mapped = old != UNMAPPED;
                (dead, dead_count) = (old, u32::from(is_mapped));
                self.map.mapped_count += u32::from(!is_mapped);
            }
        }
        if dead_count > 0 {
            self.host_clock = clock + (lpns.len() as u64 - 1) * step + 1;
            self.kill_run(die, dead, dead_count);
        }
    }

    /// Lets consecutive pages of one block die.
    fn kill_run(&mut self, die: usize, first: u32, count: u32) {
        let (block, live_count) = self.map.kill_run(Ppn(first), count);
        let pool = &mut self.pools[die];
        pool.policy.invalidated(
            block.0 - pool.first_block,
            live_count,
            count as u16,
            self.host_clock,
        );
    }
}
