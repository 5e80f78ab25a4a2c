//! Commands that read or write data and ask for nothing else: most of those that a drive gets.
//!
//! What each of them would ask of the drive again is known as long as its caches stay: it is the
//! [`FrontShape`]. In simulated time such commands take a shorter way past everything that they
//! cannot need; those of one whole page, the shortest.

use super::drive::{CommandSink, Drive, Front};
use super::front_shape::FrontShape;
use crate::ftl::NoRoom;
use crate::op::{HostCommand, HostOp};
use crate::units::{Lpn, SECTOR_BYTES};

impl Drive {
    /// Sectors of a page, as a power of two.
    #[inline]
    pub(super) fn page_shift(&self) -> u32 {
        self.geometry.page_bytes.trailing_zeros() - SECTOR_BYTES.trailing_zeros()
    }

    /// What its front is like.
    #[inline]
    pub(crate) fn front_shape(&self) -> FrontShape {
        let is_plain = self.is_plain();
        let page_bits = self.geometry.page_bytes.trailing_zeros();
        let stretch = self.config.ftl.coalesce_bytes.unwrap_or(0) >> page_bits;
        FrontShape {
            is_plain,
            takes_singles: is_plain && !self.ftl.traits().merges,
            pads: !self.config.host.power_loss_protected,
            stretch: stretch.max(1) as u32,
            page_shift: self.page_shift(),
            ends_with_program: stretch <= 1 && self.ftl.traits().ends_with_program,
        }
    }

    /// Whether commands that [move data](moves_data) may take the way of [`Front::move_data`].
    pub(crate) fn lets_data_pass(&self) -> bool {
        self.clean.is_none()
            && self.ids.is_none()
            && self.ftl.zones().is_none()
            && !self.ftl.traits().tells_requests()
    }
}

impl Front<'_> {
    /// The page of a command that reads or writes exactly one, in a drive without caches.
    #[inline]
    pub(crate) fn single_page(&self, command: &HostCommand) -> Option<Lpn> {
        let is_single = self.takes_singles
            && matches!(command.op, HostOp::Read | HostOp::Write)
            && u64::from(command.sector_count) == self.sectors_per_page()
            && command.sector & (self.sectors_per_page() - 1) == 0
            && !command.is_fua;
        is_single.then(|| self.first_page(command))
    }

    /// As [`Front::apply`] for a command that [moves data](moves_data), of a drive that
    /// [lets it pass](Drive::lets_data_pass).
    pub(crate) fn move_data<S: CommandSink>(
        &mut self,
        sink: &mut S,
        command: &HostCommand,
    ) -> Result<(), NoRoom> {
        let kind = usize::from(command.op == HostOp::Write);
        self.host.commands[kind] += 1;
        self.host.sectors[kind] += u64::from(command.sector_count);
        for page in self.pages(command) {
            if kind == 0 {
                self.read_page(sink, Lpn(page), self.part(command, page));
            } else if let Err(no_room) = self.write_page(sink, command, page) {
                self.refuse(command, page);
                return Err(no_room);
            }
        }
        Ok(())
    }

    /// The same for a command of a [single page](FrontShape::single_page).
    #[inline]
    pub(crate) fn move_page<S: CommandSink>(
        &mut self,
        sink: &mut S,
        op: HostOp,
        lpn: Lpn,
    ) -> Result<(), NoRoom> {
        let kind = usize::from(op == HostOp::Write);
        self.host.commands[kind] += 1;
        self.host.sectors[kind] += self.sectors_per_page();
        if kind == 0 {
            self.read_page(sink, lpn, self.whole());
            return Ok(());
        }
        self.host.page_writes += 1;
        let written = if self.is_plain {
            self.program_page(sink, lpn)
        } else {
            self.write_cached_page(sink, lpn, self.whole(), false)
        };
        if written.is_err() {
            self.host.refused_page_writes += 1;
            self.host.sectors[kind] -= self.sectors_per_page();
        }
        written
    }

    /// Counts commands of one page each that were carried out.
    pub(crate) fn count_singles(&mut self, op: HostOp, count: u64) {
        self.host.commands[op.index()] += count;
        self.host.sectors[op.index()] += count << self.page_shift;
        self.host.page_writes += if op == HostOp::Write { count } else { 0 };
    }

    /// Counts a single-page write that was refused.
    #[cold]
    pub(crate) fn count_refused_single(&mut self) {
        self.host.commands[1] += 1;
        self.host.page_writes += 1;
        self.host.rejected_pages += 1;
        self.host.refused_page_writes += 1;
    }
}
