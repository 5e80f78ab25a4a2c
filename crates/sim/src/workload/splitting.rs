//! Requests that are larger than the host transfers at once reach the drive as several commands.
//!
//! ```text
//! drawn     R 0..1300                    limit 512
//! issued    R 0..512  R 512..1024  R 1024..1300        the same arrival, one after the other
//! ```
//! A block layer does this (`max_sectors_kb` of Linux, MDTS of NVMe). Each piece is a command like
//! any other: it is counted, timed and takes a place of the queue. Trims carry no data and stay
//! whole.

use std::collections::VecDeque;

use super::{Generator, MergedPages};
use crate::op::{HostCommand, HostOp};

/// The commands of a generator, in pieces.
pub(crate) struct Split {
    inner: Box<dyn Generator>,
    sectors_max: u32,
    /// Drawn, and not yet issued.
    pieces: VecDeque<HostCommand>,
    drawn: Vec<HostCommand>,
}

impl Split {
    /// These commands in pieces of at most this number of sectors.
    pub fn new(inner: Box<dyn Generator>, sectors_max: u32) -> Self {
        Self { inner, sectors_max, pieces: VecDeque::new(), drawn: Vec::new() }
    }

    fn cut(&mut self, command: HostCommand) {
        let limit = match command.op {
            HostOp::Read | HostOp::Write => self.sectors_max,
            _ => u32::MAX,
        };
        let mut rest = command;
        while rest.sector_count > limit {
            self.pieces.push_back(HostCommand { sector_count: limit, ..rest });
            rest.sector += u64::from(limit);
            rest.sector_count -= limit;
        }
        self.pieces.push_back(rest);
    }
}

impl Generator for Split {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        if self.pieces.len() < count {
            let mut drawn = std::mem::take(&mut self.drawn);
            self.inner.fill(&mut drawn, count - self.pieces.len());
            drawn.drain(..).for_each(|command| self.cut(command));
            self.drawn = drawn;
        }
        let count = count.min(self.pieces.len());
        batch.extend(self.pieces.drain(..count));
    }

    fn writes_whole_pages(&self, page_sectors: u32) -> bool {
        page_sectors <= self.sectors_max && self.inner.writes_whole_pages(page_sectors)
    }

    fn fill_pages(&mut self, lpns: &mut Vec<u32>, count: usize, page_sectors: u32) {
        self.inner.fill_pages(lpns, count, page_sectors);
    }

    fn retarget(&mut self, command: &mut HostCommand) {
        self.inner.retarget(command);
    }

    fn merged_pages(&self) -> Option<MergedPages> {
        self.inner.merged_pages()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(VecDeque<HostCommand>);

    impl Generator for List {
        fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
            let count = count.min(self.0.len());
            batch.extend(self.0.drain(..count));
        }

        fn retarget(&mut self, _: &mut HostCommand) {}
    }

    #[test]
    fn pieces_are_the_request_however_calls_are_cut() {
        let requests = || {
            let of = |op, sector, count| HostCommand::new(op, sector, count);
            VecDeque::from([
                of(HostOp::Read, 10, 1300),
                of(HostOp::Write, 0, 512),
                of(HostOp::Trim, 0, 4096),
                of(HostOp::Write, 8, 513),
            ])
        };
        let drawn = |calls: &[usize]| {
            let mut split = Split::new(Box::new(List(requests())), 512);
            let mut batch = Vec::new();
            for &count in calls {
                split.fill(&mut batch, count);
            }
            batch.iter().map(|it| (it.op, it.sector, it.sector_count)).collect::<Vec<_>>()
        };
        let whole = drawn(&[100, 100]);
        let expected = [
            (HostOp::Read, 10, 512),
            (HostOp::Read, 522, 512),
            (HostOp::Read, 1034, 276),
            (HostOp::Write, 0, 512),
            (HostOp::Trim, 0, 4096),
            (HostOp::Write, 8, 512),
            (HostOp::Write, 520, 1),
        ];
        assert_eq!(whole, expected);
        assert_eq!(whole, drawn(&[1; 12]));
        assert_eq!(whole, drawn(&[2, 3, 1, 5]));
    }
}
