//! Blocks of zones: a page is always the next one of its block, and a zone is erased as a whole.
//!
//! ```text
//! zone     [ 0 1 2 3 4 5 6 7 | 8 9 · · · · · · ]      pages take turns on the dies of the zone
//! die 0    block a [ 0 2 4 6 ]  block c [ 8 · · · ]   a block of each die, then the next
//! die 1    block b [ 1 3 5 7 ]  block d [ 9 · · · ]
//! ```
//! Which writes are in order is decided above, by the states of the zones (`ftl::zones`), and so is
//! where each page belongs (`ftl::zones::layout`).

use super::blocks::{Bench, DataBlocks};
use crate::ftl::sink::{FlashSink, NoRoom};
use crate::ftl::zones::{ZonePart, ZonePlace};
use crate::op::Source;
use crate::units::Lpn;

/// Writes the next page of its zone, for the host or as filling.
pub(super) fn write<S: FlashSink>(
    blocks: &mut DataBlocks,
    at: &mut Bench<'_, S>,
    (lpn, source): (Lpn, Source),
    ZonePlace { number, offset, .. }: ZonePlace,
) -> Result<(), NoRoom> {
    let block = match blocks.data(number) {
        Some(block) => block,
        None if at.log.erased.len() == 0 => return Err(NoRoom::WornOut),
        None => {
            let block = blocks.open(at);
            blocks.set_data(number, block);
            block
        }
    };
    let written = blocks.written(block);
    assert!(offset == written, "page {offset} of a block that is written up to {written}");
    blocks.append_for(at, block, lpn, source);
    Ok(())
}

/// Erases the blocks of a zone on this die.
pub(super) fn reset<S: FlashSink>(blocks: &mut DataBlocks, at: &mut Bench<'_, S>, part: &ZonePart) {
    for (row, number) in (0..).zip(part.numbers.clone()) {
        let Some(block) = blocks.data(number) else { continue };
        for offset in 0..blocks.written(block) {
            if let Some(ppn) = at.books.map.unbind(part.lpn(row * blocks.pages + offset)) {
                at.books.map.kill(ppn);
            }
        }
        blocks.forget(number);
        blocks.erase(at, block);
    }
}
