//! The untimed executor: the FTL at memory speed.
//!
//! Its sink does nothing but store out-of-band areas and erase counts, and is inlined into the FTL.
//! Commands come in chunks, so that the L2P entries and live bits of coming overwrites can be
//! prefetched: the entry 48 commands ahead, then, when it has arrived, the live bits of the page
//! that it points to, 24 commands ahead. On a large drive this doubles the rate.

use crate::drive::{aim_trim, CommandSink, Drive, Front};
use crate::ftl::{FlashSink, MoveRun, MoveWay, NoRoom, Pending, Touched, ENTRY_AHEAD, PAGE_AHEAD};
use crate::nand::{CellMode, Media};
use crate::op::{HostCommand, HostOp, Source};
use crate::reads::{BlockRead, PageTypes, ReadErrors};
use crate::striping::DieRun;
use crate::units::{BlockId, DieId, Lpn, Ppn};

/// Counts the reads of an untimed executor.
pub(crate) trait Reader {
    /// Whether page contents are copied along when pages move.
    const CARRIES: bool = false;
    /// The page types that are distinguished.
    fn page_types(&self) -> &PageTypes;
    /// A page is read.
    fn page(&mut self, media: &Media, ppn: Ppn, source: Source);
    /// Pages of a block are read.
    fn block(&mut self, read: BlockRead);
}

/// Counts reads at once, with their errors.
impl Reader for &mut ReadErrors {
    #[inline]
    fn page_types(&self) -> &PageTypes {
        ReadErrors::page_types(self)
    }

    #[inline]
    fn page(&mut self, media: &Media, ppn: Ppn, source: Source) {
        self.note_page(media, ppn, source);
    }

    #[inline]
    fn block(&mut self, read: BlockRead) {
        self.record_block(&read);
    }
}

/// See the module.
pub(crate) struct Instant<'a, R> {
    pub(crate) media: &'a mut Media,
    pub(crate) reader: R,
}

impl<R: Reader> FlashSink for Instant<'_, R> {
    #[inline]
    fn media(&self) -> &Media {
        self.media
    }

    #[inline]
    fn read(&mut self, ppn: Ppn, source: Source) {
        self.reader.page(self.media, ppn, source);
    }

    #[inline]
    fn read_live(&mut self, block: BlockId, page_count: u32, source: Source) {
        let read = self.reader.page_types().live(self.media, block, page_count, source);
        self.reader.block(read);
    }

    fn tells_pages(&self) -> bool {
        self.reader.page_types().tells_pages()
    }

    fn read_pages(&mut self, block: BlockId, page_indices: &[u32], source: Source) {
        let read = self.reader.page_types().pages(self.media, block, page_indices, source);
        self.reader.block(read);
    }

    #[inline]
    fn program(&mut self, ppn: Ppn, lpn: Lpn, _source: Source) {
        self.media.program(ppn, lpn);
        if R::CARRIES {
            self.media.carry_program(ppn, lpn);
        }
    }

    #[cold]
    fn bring(&mut self, tag: u32, first: Lpn, page_count: u32) {
        self.media.bring(tag, first, page_count);
    }

    #[cold]
    fn discard(&mut self, first: Lpn, page_count: u32) {
        self.media.discard(first, page_count);
    }

    #[cold]
    fn program_part(&mut self, first: Ppn, next: Ppn) {
        self.media.note_part(first, next);
    }

    #[inline]
    fn program_pages(&mut self, first: Ppn, lpns: &[u32]) {
        self.media.program_run(first, lpns);
    }

    #[inline]
    fn program_die_run(&mut self, first: Ppn, run: DieRun) {
        self.media.program_die_run(first, run);
    }

    #[inline]
    fn move_run(&mut self, run: &MoveRun<'_>) {
        self.media.program_run(run.first, run.lpns);
        if R::CARRIES {
            self.media.carry_move(run.victim, run.page_indices, run.first);
        }
        if run.way == MoveWay::Inside {
            // The decoder does not see these pages.
            self.media.note_copyback(run.victim, self.media.block_of(run.first));
        }
    }

    fn erase(&mut self, block: BlockId, _source: Source) -> u32 {
        if R::CARRIES {
            self.media.carry_erase(block);
        }
        self.media.erase(block)
    }

    fn retire(&mut self, block: BlockId, failed: &[u32]) {
        self.media.retire(block, failed);
    }

    fn replace_member(&mut self, block: BlockId, member: u32, _fails_erase: bool) {
        self.media.replace_member(block, member);
    }

    fn set_mode(&mut self, block: BlockId, mode: CellMode) {
        self.media.set_mode(block, mode);
    }
}

impl<R: Reader> CommandSink for Instant<'_, R> {
    #[inline]
    fn buffered(&mut self, _waiting: usize) {}

    fn stalled(&mut self, _die: DieId, _lpn: Lpn) {
        unreachable!("without time, a collection is one piece");
    }

    #[inline]
    fn takes_ahead(&mut self, _: Lpn) -> bool {
        false
    }

    #[inline]
    fn fence(&mut self) {}
}

impl Front<'_> {
    /// Pages of the whole-page writes at the head of `commands` that follow each other without a
    /// gap, and the number of these commands; `(0, 0)` when one of the buffer, the first command or
    /// its alignment forbids it.
    #[inline]
    pub(crate) fn run_length(&self, commands: &[HostCommand]) -> (u32, usize) {
        if self.is_plain {
            self.whole_run(commands)
        } else {
            (0, 0)
        }
    }

    /// The same whatever buffers there are.
    #[inline]
    pub(crate) fn whole_run(&self, commands: &[HostCommand]) -> (u32, usize) {
        let (mut sectors, mut count) = (0, 0);
        let mask = self.sectors_per_page() - 1;
        let first = commands[0].sector;
        for command in commands {
            let fits = command.op == HostOp::Write
                && command.sector == first + sectors
                && (command.sector | u64::from(command.sector_count)) & mask == 0
                && !command.is_fua;
            if !fits {
                break;
            }
            sectors += u64::from(command.sector_count);
            count += 1;
        }
        // A chunk of commands is far below 2^32 pages.
        ((sectors >> self.page_shift) as u32, count)
    }
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
        let mut sink = Instant { media, reader: errors };
        let mut singles = Singles::default();
        let mut index = 0;
        let mut outcome = Ok(());
        // Where the next run through the write buffer may begin.
        let mut run_from = if front.passes_runs() { 0 } else { usize::MAX };
        while index < commands.len() && outcome.is_ok() {
            let limit = commands[index].sector + u64::from(commands[index].sector_count);
            let goes_on = |next: &HostCommand| next.sector == limit;
            if index >= run_from && commands.get(index + 1).is_some_and(goes_on) {
                let (page_count, run) = front.whole_run(&commands[index..]);
                run_from = index + run.max(1);
                let passed = (page_count > 0)
                    .then(|| front.pass_run(&mut sink, &commands[index..run_from], page_count));
                if let Some(passed) = passed.flatten() {
                    (outcome, index) = (passed, run_from);
                    continue;
                }
            }
            if let Some(coming) = commands.get(index + ENTRY_AHEAD) {
                front.ftl.prefetch(front.first_page(coming), Touched::Entry);
            }
            if let Some(coming) = commands.get(index + PAGE_AHEAD) {
                front.ftl.prefetch(front.first_page(coming), Touched::Page);
            }
            // Most commands of most workloads: a page, in a drive without caches.
            if let Some(lpn) = front.single_page(&commands[index]) {
                if commands[index].op == HostOp::Read {
                    singles.reads += 1;
                    front.read_page(&mut sink, lpn, front.whole());
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
            if command.op == HostOp::TrimMapped && !aim_trim(&front, command, &mut retarget) {
                front.host.missed_trims += 1;
            }
            outcome = front.apply(&mut sink, command);
            index += 1;
        }
        front.count_singles(HostOp::Read, singles.reads);
        front.count_singles(HostOp::Write, singles.writes);
        outcome
    }

    /// Lets the firmware complete, in no time, the work that waits for the next command: required
    /// at the end of a stage, since no command comes.
    pub(crate) fn rest(&mut self) {
        let (front, media, reader) = self.split();
        front.ftl.complete(&mut Instant { media, reader }, Pending::Merges);
    }

    /// Brings superblocks whose collections run in steps to the state that timed writes would have
    /// left: without a running victim there is a spare block. Else the host would stall at first
    /// until a whole victim has moved.
    pub(crate) fn catch_up(&mut self) {
        if !self.config.ftl.collects_in_steps() || self.media.superblocks().is_none() {
            return;
        }
        let (front, media, errors) = self.split();
        front.ftl.complete(&mut Instant { media, reader: errors }, Pending::Room);
    }
}

/// Commands of one page each that were carried out, and are counted together.
#[derive(Default)]
struct Singles {
    reads: u64,
    writes: u64,
}
