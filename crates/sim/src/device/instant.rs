//! The untimed executor: the FTL at memory speed.
//!
//! Its sink does nothing but store out-of-band areas and erase counts, and is inlined into the FTL.
//! Commands come in chunks, so that the L2P entries and live bits of coming overwrites can be
//! prefetched: the entry 48 commands ahead, then, when it has arrived, what it points at 24 ahead.
//! On a large drive this doubles the rate.

use super::drive::{CommandSink, Drive};
use crate::ftl::{FlashSink, MoveRun, MoveWay, NoRoom};
use crate::nand::{CellMode, Media};
use crate::op::{HostCommand, HostOp, Source};
use crate::reads::ReadErrors;
use crate::units::{BlockId, DieId, Lpn, Ppn};

/// Commands ahead at which the L2P entry is prefetched.
const ENTRY_AHEAD: usize = 48;
/// Commands ahead at which the page that the entry names is prefetched.
const PAGE_AHEAD: usize = 24;

/// See the module.
pub(crate) struct Instant<'a> {
    media: &'a mut Media,
    errors: &'a mut ReadErrors,
}

impl FlashSink for Instant<'_> {
    #[inline]
    fn media(&self) -> &Media {
        self.media
    }

    #[inline]
    fn read(&mut self, ppn: Ppn, source: Source) {
        self.errors.note_page(self.media, ppn, source);
    }

    #[inline]
    fn read_live(&mut self, block: BlockId, page_count: u32, source: Source) {
        self.errors.record_in(self.media, block, page_count, source);
    }

    fn tells_pages(&self) -> bool {
        self.errors.tells_pages()
    }

    fn read_pages(&mut self, block: BlockId, page_indices: &[u32], source: Source) {
        self.errors.record_pages(self.media, block, page_indices, source);
    }

    #[inline]
    fn program(&mut self, ppn: Ppn, lpn: Lpn, _source: Source) {
        self.media.program(ppn, lpn);
    }

    #[inline]
    fn program_every(&mut self, first: Ppn, lpn: Lpn, step: u32, count: u32) {
        self.media.program_every(first, lpn, step, count);
    }

    #[inline]
    fn move_run(&mut self, run: &MoveRun<'_>) {
        self.media.program_run(run.first, run.lpns);
        if run.way == MoveWay::Inside {
            // The decoder does not see these pages.
            self.media.note_copyback(run.victim, self.media.block_of(run.first));
        }
    }

    fn erase(&mut self, block: BlockId, _source: Source) -> u32 {
        self.media.erase(block)
    }

    fn retire(&mut self, block: BlockId) {
        self.media.retire(block);
    }

    fn set_mode(&mut self, block: BlockId, mode: CellMode) {
        self.media.set_mode(block, mode);
    }
}

impl CommandSink for Instant<'_> {
    #[inline]
    fn flush_next(&mut self) {}

    #[inline]
    fn buffered(&mut self, _waiting: usize) {}

    fn stalled(&mut self, _die: DieId, _lpn: Lpn) {
        unreachable!("without time, a collection is one piece");
    }

    #[inline]
    fn fence(&mut self) {}
}

impl Drive {
    /// Carries out commands in order, without time; `retarget` redraws trims that hit nothing.
    ///
    /// # Errors
    /// [`NoRoom::WornOut`] at the first write without room.
    pub(crate) fn run_instant(
        &mut self,
        commands: &mut [HostCommand],
        mut retarget: impl FnMut(&mut HostCommand),
    ) -> Result<(), NoRoom> {
        let (mut front, media, errors) = self.split();
        let mut sink = Instant { media, errors };
        let mut singles = Singles::default();
        let mut index = 0;
        let mut outcome = Ok(());
        while index < commands.len() && outcome.is_ok() {
            if let Some(coming) = commands.get(index + ENTRY_AHEAD) {
                front.ftl.prefetch_entry(front.first_page(coming));
            }
            if let Some(coming) = commands.get(index + PAGE_AHEAD) {
                front.ftl.prefetch_page(front.first_page(coming));
            }
            // Most commands of most workloads: a page, in a drive without caches.
            if let Some(lpn) = front.single_page(&commands[index]) {
                if commands[index].op == HostOp::Read {
                    singles.reads += 1;
                    front.read_page(&mut sink, lpn);
                    index += 1;
                    continue;
                }
                if !commands.get(index + 1).is_some_and(|next| front.follows(next, lpn)) {
                    outcome = front.ftl.write(&mut sink, lpn);
                    if outcome.is_ok() {
                        singles.writes += 1;
                    } else {
                        front.count_refused_single();
                    }
                    index += 1;
                    continue;
                }
            }
            let (page_count, run) = front.run_length(&commands[index..]);
            if page_count > 1 {
                outcome = front.apply_run(&mut sink, &commands[index..index + run], page_count);
                index += run;
                continue;
            }
            let command = &mut commands[index];
            if command.op == HostOp::TrimMapped && !super::aim_trim(&front, command, &mut retarget)
            {
                front.host.missed_trims += 1;
            }
            outcome = front.apply(&mut sink, command);
            index += 1;
        }
        front.count_singles(HostOp::Read, singles.reads);
        front.count_singles(HostOp::Write, singles.writes);
        outcome
    }
}

/// Commands of one page each that were carried out, and are counted together.
#[derive(Default)]
struct Singles {
    reads: u64,
    writes: u64,
}
