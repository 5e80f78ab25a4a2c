//! Writes of whole pages without time: lists of pages in any order, and runs of consecutive ones.
//! A crew writes them where the dies may work apart; else they are written in order.

use super::crew::{Crew, PageList};
use super::instant::Instant;
use crate::drive::Drive;
use crate::ftl::NoRoom;
use crate::op::{HostCommand, HostOp, Source};
use crate::units::SECTOR_BYTES;

/// Pages of a list that stay in the first caches of the machine.
const LIST_PAGES: u64 = 4096;

/// Pages of a list that goes to the dies apart: some milliseconds of work.
const CREW_PAGES: u64 = 1 << 17;

impl Drive {
    /// Sectors of a page, if writes of whole pages may come as a list of pages: in a drive without
    /// caches whose pages take turns on the dies.
    pub(crate) fn list_page_sectors(&self) -> Option<u32> {
        (self.is_plain() && self.ftl.traits().turns.is_some())
            .then_some((self.geometry.page_bytes / SECTOR_BYTES) as u32)
    }

    /// Largest number of pages of a list.
    pub(crate) fn list_pages_max(&self) -> u64 {
        if self.ftl.traits().is_separable {
            CREW_PAGES
        } else {
            LIST_PAGES
        }
    }

    /// Writes whole pages in order, without time; returns how many were written, and why not all.
    /// `meanwhile` is called if other threads write them.
    pub(crate) fn write_pages(
        &mut self,
        crew: &mut Crew,
        list: &PageList,
        meanwhile: impl FnOnce(),
    ) -> (usize, Result<(), NoRoom>) {
        let before = self.host_programs();
        let together =
            self.is_list_for_crew(list).then(|| self.write_list_together(crew, list, meanwhile));
        let (done, outcome) = match together {
            Some(outcome) => ((self.host_programs() - before) as usize, outcome),
            None => self.write_in_order(list.lpns()),
        };
        let mut front = self.split().0;
        front.count_singles(HostOp::Write, done as u64);
        if outcome.is_err() {
            front.count_refused_single();
        }
        (done, outcome)
    }

    #[inline(never)] // next to the work with threads its loop keeps less in registers
    fn write_in_order(&mut self, lpns: &[u32]) -> (usize, Result<(), NoRoom>) {
        let (front, media, errors) = self.split();
        front.ftl.write_list(&mut Instant { media, reader: errors }, lpns)
    }

    fn host_programs(&self) -> u64 {
        self.ftl.figures().counters().programs[Source::Host as usize]
    }

    /// The pages of commands that write whole pages, each behind the last but for one that may
    /// begin elsewhere, in a drive that takes lists of pages; `None` of others.
    pub(crate) fn pages_of_runs(&mut self, commands: &[HostCommand]) -> Option<u64> {
        if commands.is_empty() || self.ftl.traits().turns.is_none() {
            return None;
        }
        let front = self.split().0;
        let (mut pages, count) = front.run_length(commands);
        let (_, rest) = commands.split_at(count);
        let mut is_all = rest.is_empty();
        if count > 0 && !is_all {
            let (more, count) = front.run_length(rest);
            is_all = count == rest.len();
            pages += more;
        }
        is_all.then_some(u64::from(pages))
    }

    /// Carries out writes that [`Drive::pages_of_runs`] found to be runs.
    ///
    /// # Errors
    /// [`NoRoom::WornOut`] when a die found no room.
    pub(crate) fn write_runs(
        &mut self,
        crew: &mut Crew,
        commands: &[HostCommand],
    ) -> Result<(), NoRoom> {
        let front = self.split().0;
        let (mut runs, mut lens) = (Vec::new(), Vec::new());
        let mut rest = commands;
        while let Some(first) = rest.first() {
            let (pages, len) = front.run_length(rest);
            assert!(len > 0, "a command that is no run of whole pages");
            runs.push((front.first_page(first), pages));
            lens.push(len);
            rest = &rest[len..];
        }
        let pages = runs.iter().map(|&(_, pages)| u64::from(pages)).sum();
        if !self.are_runs_for_crew(pages) {
            let (mut front, media, errors) = self.split();
            let mut sink = Instant { media, reader: errors };
            let mut rest = commands;
            return runs.iter().zip(lens).try_for_each(|(&(_, pages), len)| {
                let (run, behind) = rest.split_at(len);
                rest = behind;
                front.apply_run(&mut sink, run, pages)
            });
        }
        let before = self.host_programs();
        let outcome = self.write_runs_together(crew, runs, pages);
        let written = self.host_programs() - before;
        self.split().0.count_run(commands.len() as u64, pages, written);
        outcome
    }
}
