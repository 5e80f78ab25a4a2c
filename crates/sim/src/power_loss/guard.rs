//! The cost of keeping earlier pages of a wordline safe from later passes.
//!
//! ```text
//! flush, or a write that is force unit access ─► open blocks: wordlines that lack a pass
//!    backup_to_slc           a copy of each page without one ─► then it is acknowledged
//!    skip_pair_after_flush   their other pages are left empty
//! ```
//! Copies go to blocks of one bit per cell of the die, one after another, in the time of the
//! shortest program, as the records of the firmware do. Pages that are left empty take no time but
//! room: they count as programmed. Neither keeps the dies of the model from other work, and the
//! blocks of the model are written to their end, so this is the least cost of the choice.

use std::collections::BTreeMap;

use super::wordlines::{passes_of_block, Pass};
use crate::drive::{LowerPageBackup, PowerLossConfig};
use crate::session::Session;
use crate::units::{BlockId, Ns};

/// The pages of a block that are safe.
#[derive(Clone, Debug, Default)]
struct Guarded {
    opening: u64,
    /// Pages up to this one are safe.
    limit: u32,
}

/// A row of a block: the pages that are programmed at once, of all dies of a group.
#[derive(Clone, Copy, Debug)]
struct Row {
    wordline: u32,
    /// The row of the last pass of this wordline.
    last_row: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    kind: LowerPageBackup,
    /// By row of a block.
    rows: Vec<Row>,
    blocks: BTreeMap<u32, Guarded>,
    program: Ns,
    /// Copies and pages left empty.
    pub(super) pages: u64,
}

impl Guard {
    /// For a drive whose shortest program takes `program`; `None` if nothing is kept safe.
    pub(super) fn new(session: &Session, config: &PowerLossConfig, program: Ns) -> Option<Self> {
        let passes = config.paired_scheme.passes();
        if passes == 1 || config.lower_page_backup == LowerPageBackup::None {
            return None;
        }
        let places = passes_of_block(session.rows_per_block(), passes);
        let last_row =
            |wordline| places.iter().rposition(|it| it.wordline == wordline).unwrap_or(0) as u32;
        let row = |it: &Pass| Row { wordline: it.wordline, last_row: last_row(it.wordline) };
        let rows = places.iter().map(row).collect();
        let (kind, blocks) = (config.lower_page_backup, BTreeMap::new());
        Some(Self { kind, rows, blocks, program, pages: 0 })
    }

    /// Makes the written pages safe; returns the delay of their acknowledgement.
    pub(super) fn keep(&mut self, session: &Session) -> Ns {
        let mut copies: BTreeMap<u32, u64> = BTreeMap::new();
        for (block, opening, written) in session.open_blocks() {
            let known = self.blocks.entry(block.0).or_default();
            if known.opening != opening {
                *known = Guarded { opening, limit: 0 };
            }
            let first = std::mem::replace(&mut known.limit, written);
            let pages = exposed(session, &self.rows, self.kind, (block, first, written));
            self.pages += pages;
            *copies.entry(session.die_of(block)).or_default() += pages;
        }
        match self.kind {
            LowerPageBackup::BackupToSlc => {
                Ns(self.program.0 * copies.values().max().copied().unwrap_or(0))
            }
            LowerPageBackup::SkipPairAfterFlush | LowerPageBackup::None => Ns(0),
        }
    }
}

/// Pages of the flash that are copied, or left empty, for the pages from `first` to `written` of a
/// block.
fn exposed(
    session: &Session,
    rows: &[Row],
    kind: LowerPageBackup,
    (block, first, written): (BlockId, u32, u32),
) -> u64 {
    let places: Vec<(u32, u32, u32)> =
        (0..session.pages_per_block()).map(|index| session.flash_page(block, index)).collect();
    // Wordlines of which a new page is written and a pass is missing, by die of the group.
    let mut open: Vec<(u32, u32)> = Vec::new();
    let mut copied: Vec<(u32, u32)> = Vec::new();
    for &(member, page, row) in &places[first as usize..written as usize] {
        let Row { wordline, last_row } = rows[row as usize];
        let is_last = |at: &(u32, u32, u32)| at.0 == member && at.2 == last_row;
        let is_whole = places[..written as usize].iter().any(is_last);
        if row < last_row && !is_whole {
            open.push((member, wordline));
            copied.push((member, page));
        }
    }
    if kind == LowerPageBackup::BackupToSlc {
        copied.dedup();
        return copied.len() as u64;
    }
    let behind = places[written as usize..].iter();
    let mut skipped: Vec<(u32, u32)> = behind
        .filter(|&&(member, _, row)| open.contains(&(member, rows[row as usize].wordline)))
        .map(|&(member, page, _)| (member, page))
        .collect();
    skipped.dedup();
    skipped.len() as u64
}
