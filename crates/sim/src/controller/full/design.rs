//! What the full back end is built of: the shape of the flash, its times, and which mechanisms are
//! on. Nothing of it changes in a run.

use super::die::{Class, Queued, Transaction};
use super::is_host;
use super::times::PhaseTimes;
use crate::controller::config::{ControllerConfig, SchedulerConfig, SuspendConfig};
use crate::controller::{FlashOp, OpKind};
use crate::geometry::Geometry;
use crate::nand::{Fault, NandConfig, ProgramUnits};
use crate::units::{BlockId, DieId, Ns};

/// What the back end is built of.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// The shape of the flash.
    pub geometry: Geometry,
    /// Dies that the FTL takes for one.
    pub dies_per_pool: u32,
    /// The flash.
    pub nand: &'a NandConfig,
    /// The controller.
    pub controller: &'a ControllerConfig,
    /// Whether collection goes in steps, and so has its own queue.
    pub splits_collection: bool,
    /// Whether writes complete when they are programmed, rather than in memory.
    pub stages_writes: bool,
    /// The run's seed.
    pub seed: u64,
}

/// Who goes first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    WholeDrive,
    PerDie,
    Priority { write_starvation: Ns, gc_starvation: Ns },
}

impl Order {
    fn of(config: &SchedulerConfig) -> Self {
        match config {
            SchedulerConfig::InOrder(_) => Self::WholeDrive,
            SchedulerConfig::OutOfOrder(_) => Self::PerDie,
            SchedulerConfig::Priority(priority) => Self::Priority {
                write_starvation: Ns::from_us(priority.write_starvation_us),
                gc_starvation: Ns::from_us(priority.gc_starvation_us),
            },
        }
    }
}

/// How programs and erases are suspended.
pub(super) struct Suspending {
    pub(super) config: SuspendConfig,
    /// Time that it takes, and that resuming takes.
    pub(super) suspend: Ns,
    pub(super) resume: Ns,
    /// What must be left of an operation that is worth it.
    pub(super) worth: Ns,
}

impl Suspending {
    fn new(config: &SuspendConfig) -> Self {
        let us = Ns::from_us;
        let (suspend, resume) = (us(config.suspend_us), us(config.resume_us));
        let worth = us(config.suspend_us + config.resume_us);
        Self { config: config.clone(), suspend, resume, worth }
    }
}

/// See the module.
pub(super) struct Design {
    pub(super) geometry: Geometry,
    /// Dies that the FTL takes for one.
    pub(super) dies_per_pool: u32,
    pub(super) times: PhaseTimes,
    pub(super) units: ProgramUnits,
    /// Dies that are lost, and when.
    lost: Vec<(u32, Ns)>,
    pub(super) order: Order,
    pub(super) suspend: Option<Suspending>,
    pub(super) reads_in_cache: bool,
    pub(super) programs_in_cache: bool,
    /// Whether collection has its own queue: only when it works in steps.
    pub(super) splits_collection: bool,
    /// Microseconds for each block that is examined for a victim.
    pub(super) victim_us: f64,
}

impl Design {
    pub(super) fn new(setup: &Setup) -> Self {
        let &Setup { geometry, nand, controller, .. } = setup;
        let retry_setup =
            controller.read_retry.as_ref().map_or(Ns(0), |retry| Ns::from_us(retry.setup_us));
        let mut times = PhaseTimes::new(nand, &geometry, retry_setup, setup.seed);
        if let Some(soft) = &controller.soft_read {
            times.soft_setup = Ns::from_us(soft.setup_us);
        }
        let cache = nand.cache_commands.clone().unwrap_or_default();
        Self {
            geometry,
            dies_per_pool: setup.dies_per_pool,
            times,
            units: ProgramUnits::new(geometry, nand),
            lost: nand.faults.iter().filter_map(Fault::lost_die).collect(),
            order: Order::of(&controller.scheduler),
            suspend: controller.suspend.as_ref().map(Suspending::new),
            reads_in_cache: cache.read,
            programs_in_cache: cache.program,
            splits_collection: setup.splits_collection,
            victim_us: controller.victim_us_per_block.unwrap_or(0.0),
        }
    }

    /// Whether dies may be lost.
    #[inline]
    pub(super) fn may_lose_dies(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Whether a die is lost at a time.
    #[inline]
    pub(super) fn is_lost(&self, die: DieId, now: Ns) -> bool {
        self.lost.iter().any(|&(lost, since)| lost == die.0 && now >= since)
    }

    /// Whether host reads go before other work.
    pub(super) fn puts_reads_first(&self) -> bool {
        matches!(self.order, Order::Priority { .. })
    }

    /// Whether an operation of a queue counts as one of a collection.
    #[inline]
    pub(super) fn is_move(&self, class: Class, op: FlashOp) -> bool {
        // In the other orders there is one queue for all classes.
        if self.puts_reads_first() {
            class == Class::Collect
        } else {
            !is_host(op.source())
        }
    }

    /// The block that an operation goes to.
    #[inline]
    pub(super) fn block_of(&self, op: FlashOp) -> BlockId {
        self.geometry.block_of(op.first())
    }

    /// The first page of an operation, by its index in the block.
    #[inline]
    pub(super) fn index_of(&self, op: FlashOp) -> u32 {
        self.geometry.page_index(op.first())
    }

    /// Whether a page is not the last of its program unit, and such units wait in memory.
    #[inline]
    pub(super) fn leaves_unit_open(&self, op: FlashOp) -> bool {
        let (page, is_slc) = (self.index_of(op), op.is_slc());
        self.units.stages(is_slc) && self.units.span(page, is_slc).1 > page + 1
    }

    /// How long a read takes in the array, with all that it needs after the first sense.
    #[inline]
    pub(super) fn read_time(&self, read: &mut Transaction) -> Ns {
        let sense = self.times.sense(BlockId(read.block), read.is_slc, read.page_type);
        let soft = (sense + self.times.soft_setup).0 * u64::from(read.rereads.soft_reads);
        // The die keeps its levels until the decoder has answered.
        let decode = u64::from(read.rereads.failed_ns);
        let retries = self.times.retry(sense).0 * u64::from(read.rereads.retries);
        let begin = if read.rereads.begins_at_step { self.times.retry(Ns(0)).0 } else { 0 };
        read.spent.retry_time = Ns(begin + retries + soft + decode);
        sense + read.spent.retry_time
    }

    /// How long a transaction takes in the array.
    #[inline]
    pub(super) fn array_time(&self, transaction: &mut Transaction) -> Ns {
        let (block, cycles) = (BlockId(transaction.block), transaction.cycles);
        let (is_slc, page_type) = (transaction.is_slc, transaction.page_type);
        match transaction.kind {
            OpKind::Read => self.read_time(transaction),
            OpKind::Program => self.times.program(block, is_slc, page_type, cycles),
            OpKind::Erase => self.times.erase(block, is_slc, cycles),
            OpKind::Copyback => {
                self.times.sense(block, is_slc, page_type)
                    + self.times.program(block, is_slc, page_type, cycles)
            }
        }
    }

    /// Whether a read senses pages of several planes: reads that joined name theirs.
    pub(super) fn is_multi_plane(&self, read: &Transaction) -> bool {
        let page = |queued: &Queued| self.geometry.physical_index(self.index_of(queued.op));
        let joined = read.ops.windows(2).any(|pair| page(&pair[0]) != page(&pair[1]));
        joined || read.slots > self.geometry.units_per_page
    }
}
