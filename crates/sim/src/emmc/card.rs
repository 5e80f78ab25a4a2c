//! The card: power, time, states, and which command does what.
//!
//! A command comes at the card's time, which the host moves on ([`Card::wait`]). While the card is
//! busy it takes only what the table of states allows then: CMD13, CMD12 as an interrupt, CMD7.

use serde_json::{json, Value};

use super::background::Background;
use super::change::Cause;
use super::erase::Selection;
use super::ext_csd::{self as at, ExtCsd};
use super::options::{Hpi, Options, Standard};
use super::packed::{PACKED, RELIABLE};
use super::parts::{Count, Parts, Reply, Response, Transfer, WrittenOnce};
use super::protect::Protection;
use super::queue::{self, Queue};
use super::registers;
use super::rpmb::Rpmb;
use super::status::{self, State};
use super::storage::{Partition, Storage, SECTOR};
use super::switch;
use super::{erasing, transfer};
use crate::config::ConfigError;
use crate::drive::DeviceConfig;
use crate::run::Simulation;
use crate::session::{Pace, Session};
use crate::units::Ns;

/// From power to ready; assumed.
const POWER_UP: Ns = Ns(10_000_000);
/// To fall asleep or wake up; assumed, below `S_A_TIMEOUT`.
const SLEEP: Ns = Ns(1_000_000);
/// Argument of CMD0 that leads back before the boot.
const PRE_IDLE: u32 = 0xf0f0_f0f0;
/// Argument of CMD0 that begins a boot.
const BOOT: u32 = 0xffff_fffa;

/// See the module.
pub struct Card {
    parts: Parts,
}

impl Card {
    /// A new card of a drive, powered.
    ///
    /// # Errors
    /// [`ConfigError`] for drives that cannot be served, and those that are too small.
    pub fn new(config: DeviceConfig, seed: u64, options: Options) -> Result<Self, ConfigError> {
        let session = Session::new(Simulation::new(config.clone(), seed), Pace::Timed)?;
        let storage = Storage::new(session, config, &options)?;
        let layout = &storage.layout;
        let cache_kib = (storage.cache.capacity / 2) as u32;
        let csd = ExtCsd::new(&registers::ext_csd(&options, layout, cache_kib));
        let write_max = if options.standard == Standard::V51 { 32 } else { 2 };
        let sectors = layout.sectors(Partition::Rpmb);
        let parts = Parts {
            now: Ns(0),
            powered_at: Ns(0),
            state: State::Idle,
            rca: 1,
            cid: registers::cid(seed),
            errors: 0,
            csd,
            background: Background::new(options.bkops_kib, storage.move_ns_per_kib()),
            protection: Protection::default(),
            rpmb: Rpmb::new(sectors, options.rpmb_counter, write_max),
            queue: Queue::default(),
            count: None,
            transfer: None,
            packed_read: None,
            selection: Selection::None,
            marked: Vec::new(),
            unmapped_bytes: 0,
            work: None,
            written_once: WrittenOnce::default(),
            storage,
            options,
        };
        Ok(Self { parts })
    }

    /// The card's time.
    pub fn now(&self) -> Ns {
        self.parts.now
    }

    /// The state of the card.
    pub fn state(&self) -> State {
        self.parts.state
    }

    /// How long it is busy yet.
    pub fn busy(&self) -> Ns {
        let ends = self.parts.work.as_ref().map_or(Ns(0), |work| work.ends);
        Ns(ends.0.saturating_sub(self.parts.now.0))
    }

    /// Lets time pass.
    pub fn wait(&mut self, span: Ns) {
        self.parts.advance(Ns(self.parts.now.0.saturating_add(span.0)));
    }

    /// The supply fails, and comes back: data in the cache is lost, and running writes are cut.
    pub fn power_cycle(&mut self) {
        self.lose();
        self.parts.csd.reset_power();
        self.parts.protection.reset_power();
        self.parts.written_once = WrittenOnce::default();
        self.parts.powered_at = self.parts.now;
        self.parts.csd.set_u32(at::CORRECTLY_PRG_SECTORS_NUM, 0);
        self.before_boot();
    }

    /// The reset pin: acts as a power cycle if `RST_n_FUNCTION` has enabled it.
    pub fn hardware_reset(&mut self) {
        if self.parts.csd.get(at::RST_N_FUNCTION) & 3 == 1 {
            self.power_cycle();
        }
    }

    fn lose(&mut self) {
        let parts = &mut self.parts;
        parts.stop(Cause::Cut);
        parts.work = None;
        parts.storage.cache.lose();
        parts.csd.reset();
        parts.rpmb.forget();
        parts.queue = Queue::default();
        (parts.count, parts.transfer, parts.packed_read) = (None, None, None);
        (parts.selection, parts.errors, parts.rca) = (Selection::None, 0, 1);
        parts.marked.clear();
    }

    fn before_boot(&mut self) {
        let can_boot = self.boot_partition().is_some();
        self.parts.state = if can_boot { State::PreIdle } else { State::Idle };
    }

    /// The partition that a boot sends, if one is enabled.
    fn boot_partition(&self) -> Option<Partition> {
        match self.parts.csd.get(at::PARTITION_CONFIG) >> 3 & 7 {
            1 => Some(Partition::Boot(0)),
            2 => Some(Partition::Boot(1)),
            7 => Some(Partition::User),
            _ => None,
        }
    }

    /// A command with its argument; `data` are blocks that the host sends after it, `blocks` how
    /// many it takes of a read without end or of a boot.
    pub fn command(&mut self, index: u8, argument: u32, data: &[u8], blocks: u64) -> Reply {
        let parts = &mut self.parts;
        parts.advance(parts.now);
        let state = parts.state;
        if state == State::Ina || (state == State::Slp && !matches!(index, 0 | 5)) {
            return Reply::none();
        }
        let count = parts.count.take();
        if !matches!(index, 13 | 35 | 36 | 38) && parts.selection != Selection::None {
            parts.selection = Selection::None;
            parts.errors |= status::ERASE_RESET;
        }
        if !state.allows(index) || !self.is_there(index, argument) {
            self.parts.errors |= status::ILLEGAL_COMMAND;
            return Reply::none();
        }
        if matches!(index, 8 | 16..=18 | 23..=25 | 28..=31 | 35 | 36 | 38 | 44..=48) {
            switch::notice_life(&mut self.parts, 0, 0);
        }
        match index {
            0 => self.go_idle(argument, blocks),
            1 => self.send_op_cond(argument),
            2 => {
                self.parts.state = State::Ident;
                Reply::of(Response::R2(self.parts.cid))
            }
            3 => {
                let response = self.parts.r1();
                self.parts.rca = (argument >> 16) as u16;
                self.parts.state = State::Stby;
                Reply::of(response)
            }
            // The driver stage is not modelled, and the command has no response.
            4 => Reply::none(),
            7 => self.select(argument),
            5 | 9 | 10 | 13 | 15 => self.addressed(index, argument),
            12 => self.stop(argument),
            14 | 19 => self.bus_test(index, data),
            44 | 45 | 48 => self.queueing(index, argument),
            _ => self.transferring((index, argument), count, data, blocks),
        }
    }

    /// Whether the card has a command, as it is set up now.
    fn is_there(&self, index: u8, argument: u32) -> bool {
        let parts = &self.parts;
        if parts.partition() == Partition::Rpmb
            && matches!(index, 16 | 17 | 24 | 28..=31 | 35 | 36 | 38 | 44..=48)
        {
            return false;
        }
        match index {
            17 | 18 | 23 | 24 | 25 => !parts.is_queueing(),
            28..=31 => parts.partition() == Partition::User,
            44..=48 => parts.is_queueing(),
            // In the middle of programming it is an interrupt or nothing.
            12 => parts.state != State::Prg || self.is_interrupt(12, argument),
            3 => argument >> 16 != 0,
            _ => true,
        }
    }

    /// Whether a command is the high priority interrupt, and the card takes it.
    fn is_interrupt(&self, index: u8, argument: u32) -> bool {
        let by = if self.parts.options.hpi == Hpi::Cmd12 { 12 } else { 13 };
        index == by
            && argument & 1 == 1
            && (argument >> 16) as u16 == self.parts.rca
            && self.parts.csd.get(at::HPI_MGMT) & 1 == 1
            && self.parts.state == State::Prg
    }

    /// Blocks that the host sends while the card takes data.
    pub fn send(&mut self, data: &[u8]) -> Ns {
        if self.parts.state == State::Rcv {
            transfer::take(&mut self.parts, data)
        } else {
            Ns(0)
        }
    }

    /// More blocks of a read without end.
    pub fn receive(&mut self, blocks: u64) -> Vec<u8> {
        transfer::go_on_reading(&mut self.parts, blocks)
    }

    /// CMD0: reset, back before the boot, or boot.
    fn go_idle(&mut self, argument: u32, blocks: u64) -> Reply {
        if argument == BOOT && self.parts.state == State::PreIdle {
            let Some(partition) = self.boot_partition() else { return Reply::none() };
            self.parts.state = State::Boot;
            let layout = &self.parts.storage.layout;
            let (first, limit) = (layout.first(partition), layout.sectors(partition));
            let data = transfer::read(&mut self.parts, first, blocks.min(limit));
            return Reply { data, ..Reply::none() };
        }
        let may_boot = argument == PRE_IDLE;
        self.lose();
        if may_boot {
            self.before_boot();
        } else {
            self.parts.state = State::Idle;
        }
        Reply::none()
    }

    /// CMD1: the card answers with its voltages, and is ready once its power-up has ended.
    fn send_op_cond(&mut self, argument: u32) -> Reply {
        let parts = &mut self.parts;
        let mode = if parts.storage.layout.is_by_sector() { registers::OCR_SECTORS } else { 0 };
        let mut ocr = registers::OCR_WINDOWS | mode;
        let is_question = argument << 8 == 0;
        if !is_question && argument & registers::OCR_WINDOWS == 0 {
            parts.state = State::Ina;
            return Reply::none();
        }
        parts.state = State::Idle;
        if parts.now >= parts.powered_at + POWER_UP {
            ocr |= registers::OCR_READY;
            if !is_question {
                parts.state = State::Ready;
            }
        }
        Reply::of(Response::R3(ocr))
    }

    /// CMD7: to this card, or to another.
    fn select(&mut self, argument: u32) -> Reply {
        let parts = &mut self.parts;
        let is_ours = (argument >> 16) as u16 == parts.rca;
        let next = match (parts.state, is_ours) {
            (State::Stby, true) => State::Tran,
            (State::Dis, true) => State::Prg,
            (State::Tran | State::Data, false) => State::Stby,
            (State::Prg, false) => State::Dis,
            (_, false) => return Reply::none(),
            (_, true) => {
                parts.errors |= status::ILLEGAL_COMMAND;
                return Reply::none();
            }
        };
        let response = if is_ours { parts.r1() } else { Response::None };
        if next == State::Stby {
            parts.transfer = None;
        }
        parts.state = next;
        Reply { busy: self.busy(), ..Reply::of(response) }
    }

    /// Commands that name a card by its address; those of others are not answered.
    fn addressed(&mut self, index: u8, argument: u32) -> Reply {
        if (argument >> 16) as u16 != self.parts.rca {
            return Reply::none();
        }
        let parts = &mut self.parts;
        match index {
            5 => self.sleep(argument >> 15 & 1 == 1),
            9 => Reply::of(Response::R2(registers::csd(&parts.storage.layout))),
            10 => Reply::of(Response::R2(parts.cid)),
            15 => {
                self.lose();
                self.parts.state = State::Ina;
                Reply::none()
            }
            _ if argument >> 15 & 1 == 1 && parts.is_queueing() => {
                // Bit 15 asks for the queue instead of the status.
                Reply::of(Response::R1(parts.queue.status()))
            }
            _ => {
                let response = parts.r1();
                if self.is_interrupt(13, argument) {
                    self.interrupt();
                }
                Reply { busy: self.busy(), ..Reply::of(response) }
            }
        }
    }

    fn interrupt(&mut self) {
        if self.parts.is_interruptible() {
            self.parts.stop(Cause::Interrupt);
            switch::notice_life(&mut self.parts, 0, 0);
        }
    }

    /// CMD5.
    fn sleep(&mut self, falls_asleep: bool) -> Reply {
        let parts = &mut self.parts;
        let next = match (parts.state, falls_asleep) {
            (State::Stby, true) => State::Slp,
            (State::Slp, false) => State::Stby,
            _ => {
                parts.errors |= status::ILLEGAL_COMMAND;
                return Reply::none();
            }
        };
        let response = parts.r1();
        if next == State::Stby {
            switch::notice_life(parts, 0, 0);
        }
        parts.advance(parts.now + SLEEP);
        parts.state = next;
        Reply { busy: SLEEP, ..Reply::of(response) }
    }

    /// CMD12: the end of a transfer, or an interrupt.
    fn stop(&mut self, argument: u32) -> Reply {
        let response = self.parts.r1();
        match self.parts.state {
            State::Rcv => {
                let busy = transfer::program(&mut self.parts);
                return Reply { busy, ..Reply::of(response) };
            }
            State::Prg if self.is_interrupt(12, argument) => self.interrupt(),
            State::Prg => {}
            _ => {
                self.parts.transfer = None;
                self.parts.state = State::Tran;
            }
        }
        Reply { busy: self.busy(), ..Reply::of(response) }
    }

    /// CMD19 takes a pattern, CMD14 sends it back with its bits reversed.
    fn bus_test(&mut self, index: u8, data: &[u8]) -> Reply {
        let parts = &mut self.parts;
        let response = parts.r1();
        if index == 19 {
            parts.transfer = Some(Transfer::Bus(data.to_vec()));
            parts.state = State::Btst;
            return Reply::of(response);
        }
        parts.state = State::Tran;
        let data = match parts.transfer.take() {
            Some(Transfer::Bus(pattern)) => pattern.iter().map(|byte| !byte).collect(),
            _ => Vec::new(),
        };
        Reply { data, ..Reply::of(response) }
    }

    /// CMD44, CMD45 and CMD48: tasks of the queue.
    fn queueing(&mut self, index: u8, argument: u32) -> Reply {
        let parts = &mut self.parts;
        let is_done = match index {
            44 => parts.queue.begin(argument),
            48 => parts.queue.discard(argument),
            _ => match parts.queue.begun() {
                None => false,
                Some((id, task)) => {
                    let limit = parts.storage.layout.sectors(parts.partition());
                    match parts.sector(argument) {
                        Ok(sector) if sector + task.blocks <= limit => {
                            parts.queue.add(id, queue::Task { sector, ..task });
                        }
                        Ok(_) => parts.errors |= status::ADDRESS_OUT_OF_RANGE,
                        Err(bit) => parts.errors |= bit,
                    }
                    true
                }
            },
        };
        if !is_done {
            parts.errors |= status::ILLEGAL_COMMAND;
            return Reply::none();
        }
        Reply::of(parts.r1())
    }

    /// Commands of a selected card: switches, registers, blocks, erases, protection.
    fn transferring(
        &mut self,
        (index, argument): (u8, u32),
        count: Option<Count>,
        data: &[u8],
        blocks: u64,
    ) -> Reply {
        let parts = &mut self.parts;
        let started = parts.now;
        match index {
            6 => {
                let response = parts.r1();
                let busy = switch::switch(parts, argument);
                Reply { busy, ..Reply::of(response) }
            }
            8 => Reply { data: parts.ext_csd().to_vec(), ..Reply::of(parts.r1()) },
            16 => {
                if argument != SECTOR as u32 {
                    parts.errors |= status::BLOCK_LEN_ERROR;
                }
                Reply::of(parts.r1())
            }
            23 => {
                parts.count = Some(Count {
                    blocks: u64::from(argument & 0xffff),
                    is_reliable: argument & RELIABLE != 0,
                    is_packed: argument & PACKED != 0,
                });
                Reply::of(parts.r1())
            }
            17 | 18 => {
                // A wrong address is reported at once, later errors by the next R1.
                let wrong = match parts.partition() {
                    Partition::Rpmb => 0,
                    _ => parts.sector(argument).err().unwrap_or(0),
                };
                parts.errors |= wrong;
                let response = parts.r1();
                if wrong != 0 {
                    return Reply::of(response);
                }
                let data = transfer::begin_read(parts, (argument, index == 17), count, blocks);
                Reply { data, busy: parts.now - started, ..Reply::of(response) }
            }
            24 | 25 => {
                let state = parts.state;
                transfer::begin_write(parts, (argument, index == 24), count);
                let next = std::mem::replace(&mut parts.state, state);
                let response = parts.r1();
                parts.state = next;
                let busy = self.send(data);
                Reply { busy, ..Reply::of(response) }
            }
            35 | 36 => {
                erasing::select(parts, argument, index == 36);
                Reply::of(parts.r1())
            }
            46 | 47 => self.execute(index, argument, data),
            _ => self.erasing(index, argument),
        }
    }

    /// CMD46 and CMD47: a task is executed.
    fn execute(&mut self, index: u8, argument: u32, data: &[u8]) -> Reply {
        let parts = &mut self.parts;
        let started = parts.now;
        let Some(task) = parts.queue.take(queue::id_of(argument), index == 46) else {
            parts.errors |= status::ILLEGAL_COMMAND;
            return Reply::none();
        };
        let response = parts.r1();
        if index == 46 {
            let data = transfer::read_task(parts, &task);
            return Reply { data, busy: parts.now - started, ..Reply::of(response) };
        }
        transfer::write_task(parts, &task);
        let busy = self.send(data);
        Reply { busy, ..Reply::of(response) }
    }

    /// CMD28 to CMD31, and CMD38.
    fn erasing(&mut self, index: u8, argument: u32) -> Reply {
        let parts = &mut self.parts;
        if matches!(index, 30 | 31) {
            let data = erasing::protected(parts, argument, index == 31).unwrap_or_default();
            return Reply { data, ..Reply::of(parts.r1()) };
        }
        let response_state = parts.state;
        let busy = match index {
            28 | 29 => erasing::protect(parts, argument, index == 28),
            _ => erasing::erase(parts, argument),
        };
        let next = std::mem::replace(&mut parts.state, response_state);
        let work = parts.work.take();
        let response = parts.r1();
        (parts.state, parts.work) = (next, work);
        Reply { busy: busy.unwrap_or(Ns(0)), ..Reply::of(response) }
    }

    /// Damages the page of the flash that holds a sector of the user area; false if no page holds
    /// it.
    pub fn corrupt(&mut self, sector: u64) -> bool {
        sector < self.parts.storage.layout.user_sectors && self.parts.storage.corrupt(sector)
    }

    /// Sizes of the card, its cache, and the activity of the drive below it.
    pub fn status(&self) -> Value {
        let parts = &self.parts;
        json!({
            "state": parts.state.name(),
            "now_ns": parts.now.0,
            "busy_ns": self.busy().0,
            "user_sectors": parts.storage.layout.user_sectors,
            "boot_sectors": parts.storage.layout.sectors(Partition::Boot(0)),
            "rpmb_sectors": parts.storage.layout.sectors(Partition::Rpmb),
            "is_by_sector": parts.storage.layout.is_by_sector(),
            "cached_sectors": parts.storage.cache.sectors(),
            "cache_sectors": parts.storage.cache.capacity,
            "bkops_level": parts.background.level(),
            "drive": parts.storage.status(),
        })
    }

    /// Checks that all tables of the drive agree, and that every page holds the data that was
    /// written.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&mut self) -> Result<(), String> {
        if let Some(work) = &self.parts.work {
            if self.parts.state != State::Prg && self.parts.state != State::Dis {
                return Err(format!("busy with {:?} in {}", work.what, self.parts.state.name()));
            }
        } else if matches!(self.parts.state, State::Prg | State::Dis) {
            return Err(format!("nothing to do in {}", self.parts.state.name()));
        }
        self.parts.storage.audit()
    }
}
