//! Zones of a served drive, with bytes.
//!
//! ```text
//! request ─► command with a tag ─► the zone takes it ─► its first page ─► bytes, programs
//!                │                  └ or not: status ─┐       │
//!                └ bytes wait, by tag                 └─► answer, by tag ─► Done
//! ```
//! The state of a zone is decided when the drive carries a command out, not when it arrives: an
//! append learns its place then, and a write whether it is at the write pointer. Bytes are of a
//! page from then on. A write that a die has no erased block for fails with its zone, which can be
//! read only from then on; others take writes still.

use super::request::{Begun, Refusal, Request};
use super::session::{Part, Session};
use crate::ftl::zones::{ZoneStatus, Zones};
use crate::op::{HostCommand, HostOp, ZoneOp};
use crate::units::{Lpn, SECTOR_BYTES};

impl Session {
    /// The zones of a drive that has some.
    pub fn zones(&self) -> Option<&Zones> {
        self.drive.ftl.zones()
    }

    /// The command for a request to a drive with zones; its data waits by its tag.
    pub(super) fn zone_part(&mut self, request: Request<'_>) -> Part {
        let append = HostOp::Zone(ZoneOp::Append);
        let (op, offset, length, data, is_fua) = match request {
            Request::Flush => return Part::flush(),
            Request::Read { offset, length } | Request::Check { offset, length, .. } => {
                (HostOp::Read, offset, length, &[][..], false)
            }
            // No protocol copies to zones: it would be a write, after reads that are left out.
            Request::Write { offset, bytes, is_fua, .. }
            | Request::Copy { offset, bytes, is_fua, .. } => {
                (HostOp::Write, offset, bytes.len() as u64, bytes, is_fua)
            }
            Request::Zero { offset, length, is_fua, .. } => {
                (HostOp::Write, offset, length, &[][..], is_fua)
            }
            Request::Append { offset, bytes, is_fua } => {
                (append, offset, bytes.len() as u64, bytes, is_fua)
            }
            Request::Trim { offset, length } => (HostOp::Trim, offset, length, &[][..], false),
            Request::Zone(action, start) => {
                let op = start.map_or(ZoneOp::All(action), |_| ZoneOp::One(action));
                (HostOp::Zone(op), start.unwrap_or(0), 0, &[][..], false)
            }
        };
        let (first, limit) = (offset / SECTOR_BYTES, (offset + length).div_ceil(SECTOR_BYTES));
        let mut command = HostCommand::new(op, first, (limit - first) as u32);
        self.next_tag = self.next_tag.checked_add(1).unwrap_or(1);
        (command.tag, command.is_fua) = (self.next_tag, is_fua);
        if !data.is_empty() {
            self.contents().expect(command.tag, data);
        }
        Part::of(command)
    }

    /// What became of a tagged command; `is_short` if not all of its pages found room.
    pub(super) fn zone_answer(
        &mut self,
        command: &HostCommand,
        is_short: bool,
    ) -> Result<Begun, Refusal> {
        self.contents().forget_arrival(command.tag);
        let first = self.drive.ftl.take_answer(command.tag)?;
        let (Some(first), unit) = (first, self.unit_bytes()) else { return Ok(Begun::Done) };
        if is_short {
            for lpn in (first.0..).take((command.bytes() / unit) as usize).map(Lpn) {
                let place = self.place(lpn);
                self.contents().abandon(lpn, place);
            }
            return Err(ZoneStatus::ZoneIsReadOnly.into());
        }
        Ok(match command.op {
            HostOp::Zone(_) => Begun::Placed(u64::from(first.0) * unit),
            _ => Begun::Done,
        })
    }
}
