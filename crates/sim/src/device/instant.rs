//! The untimed executor: the FTL at memory speed.
//!
//! Its sink does nothing but store out-of-band areas and erase counts, and is inlined into the FTL.
//! Commands come in chunks, so that the L2P entries and live bits of coming overwrites can be
//! prefetched: the entry 48 commands ahead, then, when it has arrived, what it points at 24 ahead.
//! On a large drive this doubles the rate.

use super::drive::{CommandSink, Drive, Front};
use crate::ftl::{FlashSink, MoveRun, MoveWay, NoRoom};
use crate::nand::{CellMode, Media};
use crate::op::{HostCommand, HostOp, Source};
use crate::reads::ReadErrors;
use crate::units::{BlockId, DieId, Lpn, Ppn};

/// Commands ahead at which the L2P entry is prefetched.
const ENTRY_AHEAD: usize = 48;
/// Commands ahead at which the page that the entry names is prefetched.
const PAGE_AHEAD: usize = 24;

/// Single-page writes in a row from which they are taken together.
const SINGLES_MIN: usize = 16;

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
    fn program_run(&mut self, first: Ppn, lpns: &[u32], _source: Source) {
        self.media.program_run(first, lpns);
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
        let mut lpns = Vec::with_capacity(commands.len());
        let mut index = 0;
        while index < commands.len() {
            front.single_pages(&commands[index..], &mut lpns);
            if lpns.len() >= SINGLES_MIN {
                index += lpns.len();
                write_singles(&mut front, &mut sink, &lpns)?;
                continue;
            }
            // Too few to gain by it: these and the command that ended them, one by one.
            let limit = (index + lpns.len() + 1).min(commands.len());
            while index < limit {
                let (page_count, run) = front.run_length(&commands[index..]);
                if page_count > 1 {
                    front.apply_run(&mut sink, &commands[index..index + run], page_count)?;
                    index += run;
                    continue;
                }
                let command = &mut commands[index];
                if command.op == HostOp::TrimMapped
                    && !super::aim_trim(&front, command, &mut retarget)
                {
                    front.host.missed_trims += 1;
                }
                front.apply(&mut sink, command)?;
                index += 1;
            }
        }
        Ok(())
    }
}

/// Writes single pages, with what they will touch prefetched.
#[inline]
fn write_singles(
    front: &mut Front<'_>,
    sink: &mut Instant<'_>,
    lpns: &[u32],
) -> Result<(), NoRoom> {
    for (index, &lpn) in lpns.iter().enumerate() {
        if let Some(&coming) = lpns.get(index + ENTRY_AHEAD) {
            front.ftl.prefetch_entry(Lpn(coming));
            front.ftl.prefetch_page(Lpn(lpns[index + PAGE_AHEAD]));
        }
        if let Err(error) = front.ftl.write(sink, Lpn(lpn)) {
            front.count_singles(index as u64);
            front.count_refused_single();
            return Err(error);
        }
    }
    front.count_singles(lpns.len() as u64);
    Ok(())
}
