//! The state of the dies' queues when the power fails: how far the flash is with each block.

use super::{FlashOp, OpKind};
use crate::geometry::Geometry;
use crate::nand::{BlockRest, Running};
use crate::op::Source;
use crate::units::Ns;

/// See the module.
#[derive(Clone, Debug)]
pub struct Cut {
    /// By block.
    pub rests: Vec<BlockRest>,
    /// Operations that are running.
    pub running: Vec<Running>,
}

/// What the dies are doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Working {
    /// A page is programmed for a collection.
    pub moves: bool,
    /// A block is erased.
    pub erases: bool,
    /// A page is programmed whose wordline holds data of an earlier pass.
    pub later_pass: bool,
}

impl Cut {
    /// The flash has done everything.
    pub fn new(geometry: &Geometry) -> Self {
        let done = BlockRest { erases_waiting: 0, programmed: geometry.pages_per_block };
        Self { rests: vec![done; geometry.block_count() as usize], running: Vec::new() }
    }

    /// An operation that waits: it never begins. To be called in the order of the queue.
    pub fn wait(&mut self, geometry: &Geometry, op: FlashOp) {
        let rest = &mut self.rests[geometry.block_of(op.first()).0 as usize];
        match op.kind() {
            OpKind::Erase => rest.erases_waiting += 1,
            // What comes behind an erase that waits is gone with it.
            OpKind::Program | OpKind::Copyback if rest.erases_waiting == 0 => {
                rest.programmed = rest.programmed.min(geometry.page_index(op.first()));
            }
            OpKind::Read | OpKind::Program | OpKind::Copyback => {}
        }
    }

    /// An operation whose first page, or whose block, is in progress: it still takes `left` of its
    /// `time`.
    pub fn interrupt(&mut self, geometry: &Geometry, op: FlashOp, left: Ns, time: Ns) {
        self.wait(geometry, op);
        let first = geometry.page_index(op.first());
        self.running.push(Running {
            block: geometry.block_of(op.first()),
            pages: (op.kind() != OpKind::Erase).then_some((first, first + 1)),
            page_type: op.page_type(),
            is_moved: op.source() != Source::Host,
            fraction: (1.0 - left.0 as f64 / time.0.max(1) as f64).clamp(0.0, 1.0),
            left,
        });
    }
}
