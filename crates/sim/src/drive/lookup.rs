//! The entries of the map that a command needs, where the map is kept in the flash.
//!
//! ```text
//! arrived ─► entries of all its pages in the cache ─ yes ─► the FTL decides
//!                     │ no: map pages are read, changed ones written
//!                     └────────────── all of them over ────────────┘
//! ```
//! With a clock, reads and trims wait for that, and writes that go to the flash at once. A write
//! that a buffer takes does not: its entry is looked up when it leaves, and what that takes delays
//! other operations of the dies only.

use super::drive::{CommandSink, Front};
use crate::ftl::mapping::Use;
use crate::op::{HostCommand, HostOp};
use crate::units::Lpn;

impl Front<'_> {
    /// Whether the entries of a command's pages are looked up before it continues.
    fn looks_up_first(&self, op: HostOp) -> bool {
        self.ftl.traits().looks_up
            && match op {
                HostOp::Read | HostOp::Trim | HostOp::TrimMapped => true,
                HostOp::Write => self.is_plain,
                HostOp::Flush | HostOp::Zone(_) => false,
            }
    }

    /// A command begins that goes to a map other than one of pages in RAM.
    pub(super) fn begin_mapped<S: CommandSink>(&mut self, sink: &mut S, command: &HostCommand) {
        // Data that leaves a write buffer no longer has a request.
        let pages = if self.is_plain { self.pages(command).len() as u32 } else { 1 };
        self.ftl.begin_request(pages);
        if !sink.looks_up_itself() {
            self.look_up(sink, command);
        }
        self.ftl.set_translated(self.looks_up_first(command.op));
    }

    /// Brings the entries of all pages of a command into the cache of the map.
    pub(crate) fn look_up<S: CommandSink>(&mut self, sink: &mut S, command: &HostCommand) {
        if !self.looks_up_first(command.op) {
            return;
        }
        let how = if command.op == HostOp::Read { Use::Find } else { Use::Change };
        for lpn in self.pages(command).map(Lpn) {
            let is_here = command.op == HostOp::Read && self.holds_in_memory(lpn);
            if !is_here {
                self.ftl.look_up(sink, lpn, how);
            }
        }
    }
}
