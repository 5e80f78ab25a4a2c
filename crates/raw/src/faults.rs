//! Faults that are injected: wrong bits, operations that fail, power cuts.

use opennandlab_sim::config::ConfigError;

use crate::chip::{At, Block, RawNand};
use crate::options::within;

/// Pages and steps; none for all. Of pages, all are those that are not all ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Erase block.
    pub block: Option<u32>,
    /// Page in the block.
    pub page: Option<u32>,
    /// Step of the page.
    pub step: Option<u32>,
}

/// A fault to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This number of different bits of each step is inverted, until the next erase.
    Flip(Scope, u32),
    /// Programs of a block return `EIO` and are done in part.
    FailProgram(u32),
    /// Erases of a block return `EIO` and are done in part.
    FailErase(u32),
    /// The power fails in the middle of a program or erase: the next one for 1. It is torn, and
    /// everything returns `ENODEV` until the power is back. Reads are not counted, since a cut
    /// changes nothing in them.
    Cut(u32),
    /// The power is back. A cut that is still to come is called off.
    PowerOn,
}

/// All blocks, pages or steps, in C and on the socket.
const ALL: u32 = u32::MAX;

impl Fault {
    /// The fault of numbers, as C and the socket have them; kinds are those of the header.
    ///
    /// # Errors
    /// [`ConfigError`] for a kind that does not exist.
    pub(crate) fn of(
        kind: u32,
        block: u32,
        page: u32,
        step: u32,
        n: u32,
    ) -> Result<Self, ConfigError> {
        let one = |value| (value != ALL).then_some(value);
        let scope = Scope { block: one(block), page: one(page), step: one(step) };
        match kind {
            1 => Ok(Self::Flip(scope, n)),
            2 => Ok(Self::FailProgram(block)),
            3 => Ok(Self::FailErase(block)),
            4 => Ok(Self::Cut(n)),
            5 => Ok(Self::PowerOn),
            _ => Err(ConfigError::new("kind", format!("{kind} is unknown; accepted: 1 to 5"))),
        }
    }
}

impl RawNand {
    /// Injects a fault.
    ///
    /// # Errors
    /// [`ConfigError`] for blocks, pages, steps and counts that does not exist.
    pub fn inject(&mut self, fault: Fault) -> Result<(), ConfigError> {
        match fault {
            Fault::Flip(scope, count) => self.flip(scope, count)?,
            Fault::FailProgram(block) => self.block_at(block)?.fails_program = true,
            Fault::FailErase(block) => self.block_at(block)?.fails_erase = true,
            Fault::Cut(after) => {
                within("after_ops", after, 1..=u32::MAX)?;
                self.cut = Some(after);
            }
            Fault::PowerOn => (self.is_off, self.cut) = (false, None),
        }
        Ok(())
    }

    fn block_at(&mut self, block: u32) -> Result<&mut Block, ConfigError> {
        self.check(At { block, page: 0 })?;
        Ok(&mut self.blocks[block as usize])
    }

    fn flip(&mut self, scope: Scope, count: u32) -> Result<(), ConfigError> {
        let (block, page) = (scope.block.unwrap_or(0), scope.page.unwrap_or(0));
        self.check(At { block, page })?;
        let steps = self.code.steps;
        within("step", scope.step.unwrap_or(0), 0..=steps.count as u32 - 1)?;
        within("n", count, 0..=steps.bits() as u32)?;
        let of_block = |block: u32| {
            let pages = match scope.page {
                Some(page) => vec![page],
                None => self.blocks[block as usize].pages.keys().copied().collect(),
            };
            pages.into_iter().map(move |page| At { block, page })
        };
        let places: Vec<At> = match scope.block {
            Some(block) => of_block(block).collect(),
            None => (0..self.blocks.len() as u32).flat_map(of_block).collect(),
        };
        let mut rng = self.rng.clone();
        for at in places {
            let page = self.stored(at);
            for step in scope.step.map_or(0..steps.count, |step| step as usize..step as usize + 1) {
                steps.flip(page, step, count as usize, &mut rng);
            }
        }
        self.rng = rng;
        Ok(())
    }
}
