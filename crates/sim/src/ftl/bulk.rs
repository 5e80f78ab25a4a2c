//! Sequential writes in bulk, for sinks without time.
//!
//! Long runs of logical pages (fills, large requests) are the common preconditioning, and one page
//! at a time they wait for arithmetic that is the same for every page. Here each die takes its
//! share of the run in one loop: L2P entries and out-of-band areas are filled, and old pages that
//! lie side by side die together. The mapping that results is the one that as many calls of
//! [`Ftl::write`] leave, since pools share nothing; a test holds it to that.

use super::{FlashSink, Ftl, NoRoom};
use crate::geometry::UNMAPPED;
use crate::op::Source;
use crate::units::{Lpn, Ppn};

impl Ftl {
    /// Writes `count` whole logical pages from `first` on.
    ///
    /// # Errors
    /// [`NoRoom`] when a pool has no room left; which pages of the run were written is then open.
    pub fn write_run<S: FlashSink>(
        &mut self,
        sink: &mut S,
        first: Lpn,
        count: u32,
    ) -> Result<(), NoRoom> {
        let is_plain = self.geometry.die_count == 1 || self.geometry.striping.is_plain();
        if self.placement.splits(Source::Host) || !is_plain {
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
    ) -> Result<(), NoRoom> {
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
        let step = self.geometry.die_count as usize;
        let in_block = (1 << self.geometry.page_bits) - 1;
        let first = lpns[0] as usize;
        let limit = first + (lpns.len() - 1) * step + 1;
        // Old pages side by side: the first, how many, and how far the run was after the last.
        let mut dead: Vec<(u32, u32, u64)> = Vec::new();
        let (mut run_first, mut run_count) = (UNMAPPED, 0);
        let entries = self.map.l2p[first..limit].iter_mut().step_by(step);
        for (index, (entry, ppn)) in entries.zip(target..).enumerate() {
            let old = std::mem::replace(entry, ppn);
            if run_count > 0 && old == run_first + run_count && old & in_block != 0 {
                run_count += 1;
                continue;
            }
            if run_count > 0 {
                dead.push((run_first, run_count, index as u64));
            }
            (run_first, run_count) = (old, u32::from(old != UNMAPPED));
            self.map.mapped_count += u32::from(old == UNMAPPED);
        }
        if run_count > 0 {
            dead.push((run_first, run_count, lpns.len() as u64));
        }
        let clock = self.host_clock;
        for (run_first, run_count, after) in dead {
            // The clock of the host write that let the last of them die.
            self.host_clock = clock + (after - 1) * step as u64 + 1;
            self.kill_run(die, run_first, run_count);
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
