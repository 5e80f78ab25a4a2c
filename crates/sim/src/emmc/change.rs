//! The changes of a running command, and those that are undone when it ends in its middle.
//!
//! A command programs its sectors in order and at an even pace, so at any time it has reached a
//! share of them. The others get their previous contents again, from the border of a unit of the
//! flash on. After a cut, the sector that was being programmed may be half old, half new; a
//! reliable write is then undone as a whole unless all of it was reached.

use std::ops::Range;

use super::cache::SECTOR;
use crate::units::Ns;

/// How a change behaves when the power fails in its middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteKind {
    /// A sector may be half old, half new.
    Plain,
    /// All of it is old until all of it is new.
    Reliable,
    /// From the cache, of this epoch.
    Flushed(u32),
}

impl WriteKind {
    /// A write of the host.
    pub(super) fn of_host(is_reliable: bool) -> Self {
        if is_reliable {
            Self::Reliable
        } else {
            Self::Plain
        }
    }
}

/// Why a command ends in its middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The host asks for it; the card keeps order.
    Interrupt,
    /// The power fails.
    Cut,
}

/// Bytes from a sector on.
#[derive(Clone, Copy)]
pub(super) struct Extent<'a> {
    pub(super) first: u64,
    pub(super) bytes: &'a [u8],
}

impl Extent<'_> {
    pub(super) fn sectors(&self) -> u64 {
        (self.bytes.len() / SECTOR) as u64
    }
}

/// Sectors of the drive that a running command changes, and their previous contents.
pub(super) struct Change {
    pub(super) first: u64,
    pub(super) old: Vec<u8>,
    pub(super) kind: WriteKind,
}

impl Change {
    fn sectors(&self) -> u64 {
        (self.old.len() / SECTOR) as u64
    }
}

/// A change of which all sectors but the first `kept` are undone.
pub(super) struct Undo<'a> {
    pub(super) change: &'a Change,
    pub(super) kept: u64,
    /// Whether the first sector that is undone was being programmed, and is now half new.
    pub(super) is_torn: bool,
}

/// The result of a command that ended in its middle.
pub(super) struct Remainder<'a> {
    /// Sectors of the host that are done: whole units of the flash, in order.
    pub(super) host_sectors: u64,
    /// In the order of the changes.
    pub(super) undone: Vec<Undo<'a>>,
}

impl<'a> Remainder<'a> {
    /// Of changes that are made during `span`, and end at `now` with their first sectors reached;
    /// `unit` is the number of sectors of a unit of the flash.
    pub(super) fn of(
        changes: &'a [Change],
        span: &Range<Ns>,
        now: Ns,
        unit: u64,
        cause: Cause,
    ) -> Self {
        let reached = reached(changes, span, now);
        let mut it = Self { host_sectors: 0, undone: Vec::new() };
        let mut before = 0;
        for change in changes {
            let sectors = change.sectors();
            let here = reached.saturating_sub(before).min(sectors);
            let is_running = before <= reached && here < sectors;
            before += sectors;
            let is_whole = here == sectors;
            let is_reliable = change.kind == WriteKind::Reliable;
            let border = (change.first + here) / unit * unit;
            let kept = if is_whole {
                sectors
            } else if cause == Cause::Cut && is_reliable {
                0
            } else {
                border.saturating_sub(change.first)
            };
            if !matches!(change.kind, WriteKind::Flushed(_)) {
                it.host_sectors += kept;
            }
            if kept < sectors {
                let is_torn = cause == Cause::Cut && is_running && !is_reliable;
                it.undone.push(Undo { change, kept, is_torn });
            }
        }
        it
    }
}

/// Sectors of all changes that are programmed at `now`.
fn reached(changes: &[Change], span: &Range<Ns>, now: Ns) -> u64 {
    let total: u64 = changes.iter().map(Change::sectors).sum();
    let length = span.end.0.saturating_sub(span.start.0).max(1);
    let passed = now.0.saturating_sub(span.start.0).min(length);
    (u128::from(total) * u128::from(passed) / u128::from(length)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(first: u64, sectors: usize, kind: WriteKind) -> Change {
        Change { first, old: vec![0; sectors * SECTOR], kind }
    }

    /// Sectors of the host, then sectors kept and whether one is torn for each change undone; on
    /// flash with units of 8 sectors, in a command of 100 ns.
    fn remainder(changes: &[Change], now: u64, cause: Cause) -> (u64, Vec<(u64, bool)>) {
        let it = Remainder::of(changes, &(Ns(0)..Ns(100)), Ns(now), 8, cause);
        (it.host_sectors, it.undone.iter().map(|it| (it.kept, it.is_torn)).collect())
    }

    #[test]
    fn sectors_are_kept_up_to_the_unit_that_was_reached() {
        let changes = [change(16, 20, WriteKind::Plain)];
        // 10 of 20 sectors are reached: one unit is whole.
        assert_eq!(remainder(&changes, 50, Cause::Interrupt), (8, vec![(8, false)]));
        assert_eq!(remainder(&changes, 50, Cause::Cut), (8, vec![(8, true)]));
        assert_eq!(remainder(&changes, 100, Cause::Cut), (20, vec![]));
        // A change that begins inside a unit: the border before it keeps nothing.
        let changes = [change(20, 20, WriteKind::Plain)];
        assert_eq!(remainder(&changes, 10, Cause::Cut), (0, vec![(0, true)]));
    }

    #[test]
    fn a_cut_leaves_nothing_of_a_reliable_write_and_an_interrupt_whole_units() {
        let changes = [change(16, 20, WriteKind::Reliable)];
        assert_eq!(remainder(&changes, 50, Cause::Cut), (0, vec![(0, false)]));
        assert_eq!(remainder(&changes, 50, Cause::Interrupt), (8, vec![(8, false)]));
    }

    #[test]
    fn sectors_of_a_flush_are_not_the_host_s_and_later_changes_are_undone() {
        let changes = [change(0, 8, WriteKind::Flushed(1)), change(64, 8, WriteKind::Plain)];
        assert_eq!(remainder(&changes, 50, Cause::Cut), (0, vec![(0, true)]));
        assert_eq!(remainder(&changes, 25, Cause::Cut), (0, vec![(0, true), (0, false)]));
        assert_eq!(remainder(&changes, 100, Cause::Cut), (8, vec![]));
    }
}
