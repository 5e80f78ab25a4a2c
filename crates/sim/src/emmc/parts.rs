//! The state of a card between commands: addresses, status, running work.
//!
//! ```text
//! command ─► sector, partition, is_protected: the target, or an error bit of the status
//!        ─► begin ─► Work (busy until `ends`) ─► advance: completed, or stop: interrupted, cut
//!        ─► r1: state of the card and the error bits that wait to be reported
//! ```

use super::background::Background;
use super::change::{Cause, Change};
use super::erase::Selection;
use super::ext_csd::{self as at, ExtCsd};
use super::options::Options;
use super::packed::Packed;
use super::protect::Protection;
use super::queue::Queue;
use super::rpmb::Rpmb;
use super::status::{self, State};
use super::storage::{Partition, Storage, SECTOR};
use crate::session::Refusal;
use crate::units::Ns;

/// How long a card stays busy after an interrupt, at most; assumed, a hundredth of what
/// `OUT_OF_INTERRUPT_TIME` allows.
const INTERRUPTED: Ns = Ns(500_000);

/// The response of a card on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// Nothing: the command has no response, was not for this card, or was illegal.
    None,
    /// R1 or R1b: the status.
    R1(u32),
    /// R2: CID or CSD, the most significant byte first.
    R2([u8; 16]),
    /// R3: OCR.
    R3(u32),
}

/// The whole answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// On the command line.
    pub response: Response,
    /// On the data lines.
    pub data: Vec<u8>,
    /// From the command until the card is ready again.
    pub busy: Ns,
}

impl Reply {
    pub(super) fn none() -> Self {
        Self::of(Response::None)
    }

    pub(super) fn of(response: Response) -> Self {
        Self { response, data: Vec::new(), busy: Ns(0) }
    }
}

/// Block count that CMD23 has set for the next command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) blocks: u64,
    pub(super) is_reliable: bool,
    pub(super) is_packed: bool,
}

/// Data transfer that a command has begun.
#[derive(Debug)]
pub(super) enum Transfer {
    /// To the host, until CMD12: the next sector of the drive, and the first beyond the partition.
    Read { next: u64, limit: u64 },
    /// From the host.
    Write(Incoming),
    /// Of a bus test.
    Bus(Vec<u8>),
}

/// Blocks of a write that has not begun to be programmed.
#[derive(Debug)]
pub(super) struct Incoming {
    /// The first sector of the partition.
    pub(super) sector: u64,
    /// As the command named it.
    pub(super) address: u32,
    /// Blocks that will come; `None` until CMD12.
    pub(super) expected: Option<u64>,
    pub(super) bytes: Vec<u8>,
    pub(super) is_reliable: bool,
    pub(super) is_packed: bool,
}

/// The work that a card is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Blocks of the host.
    Write,
    /// A flush of the cache.
    Flush,
    /// Manual background operations.
    Background,
    /// A sanitize, with the number of unmapped bytes.
    Sanitize(u64),
    /// An erase, trim or discard.
    Erase,
    /// A request of the RPMB.
    Rpmb,
    /// A change of a register, or the time after an interrupt; neither can be interrupted.
    Switch,
}

/// Running work, and the sectors that it changes, with their previous contents.
pub(super) struct Work {
    pub(super) started: Ns,
    pub(super) ends: Ns,
    pub(super) what: What,
    pub(super) changes: Vec<Change>,
}

/// Registers whose write-once bits were written since power-up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WrittenOnce {
    /// `BOOT_WP`.
    pub(super) boot_wp: bool,
    /// `BOOT_CONFIG_PROT`.
    pub(super) boot_config: bool,
}

/// The state of a card.
pub(super) struct Parts {
    pub(super) options: Options,
    pub(super) now: Ns,
    /// The last power-up.
    pub(super) powered_at: Ns,
    pub(super) state: State,
    /// Relative card address.
    pub(super) rca: u16,
    pub(super) cid: [u8; 16],
    /// Bits that the next R1 reports.
    pub(super) errors: u32,
    pub(super) csd: ExtCsd,
    pub(super) storage: Storage,
    pub(super) background: Background,
    pub(super) protection: Protection,
    pub(super) rpmb: Rpmb,
    pub(super) queue: Queue,
    pub(super) count: Option<Count>,
    pub(super) transfer: Option<Transfer>,
    pub(super) packed_read: Option<Packed>,
    pub(super) selection: Selection,
    /// Sectors of the drive that secure trim has marked.
    pub(super) marked: Vec<std::ops::Range<u64>>,
    pub(super) unmapped_bytes: u64,
    pub(super) work: Option<Work>,
    /// Write-once registers that were written since power-up.
    pub(super) written_once: WrittenOnce,
}

impl Parts {
    /// R1 as it is now: the state in which the command came, and all bits that wait to be reported.
    pub(super) fn r1(&mut self) -> Response {
        let mut word = self.errors | self.state.code() << 9;
        self.errors = 0;
        if self.work.is_none() && !matches!(self.state, State::Data | State::Btst) {
            word |= status::READY_FOR_DATA;
        }
        if self.events() != 0 {
            word |= status::EXCEPTION_EVENT;
        }
        Response::R1(word)
    }

    /// Events that R1 reports to the host: urgent background operations if the host starts them
    /// (`BKOPS_EN`), the others as `EXCEPTION_EVENTS_CTRL` selects.
    fn events(&self) -> u16 {
        let manual = u16::from(self.csd.get(at::BKOPS_EN) & 1);
        let wanted = self.csd.get_u16(at::EXCEPTION_EVENTS_CTRL) & 0x1e | manual;
        self.exceptions() & wanted
    }

    /// `EXCEPTION_EVENTS_STATUS`.
    fn exceptions(&self) -> u16 {
        let urgent = u16::from(self.background.level() >= 2);
        self.csd.get_u16(at::EXCEPTION_EVENTS_STATUS) & !1 | urgent
    }

    /// The extended CSD as CMD8 sends it now.
    pub(super) fn ext_csd(&self) -> [u8; SECTOR] {
        let mut image = self.csd.image();
        // Cards before 5.0 have no estimates, and none has one of type A.
        if image[at::PRE_EOL_INFO] != 0 {
            let [life, pre_eol] = self.storage.estimates();
            image[at::DEVICE_LIFE_TIME_EST_TYP_B] = life as u8;
            image[at::PRE_EOL_INFO] = pre_eol as u8;
        }
        image[at::BKOPS_STATUS] = self.background.level();
        image[at::BOOT_WP_STATUS] = self.protection.boot_status();
        let exceptions = self.exceptions().to_le_bytes();
        image[at::EXCEPTION_EVENTS_STATUS..at::EXCEPTION_EVENTS_STATUS + 2]
            .copy_from_slice(&exceptions);
        image
    }

    /// The partition that commands go to.
    pub(super) fn partition(&self) -> Partition {
        match self.csd.get(at::PARTITION_CONFIG) & 7 {
            1 => Partition::Boot(0),
            2 => Partition::Boot(1),
            3 => Partition::Rpmb,
            _ => Partition::User,
        }
    }

    /// Whether the command queue is enabled.
    pub(super) fn is_queueing(&self) -> bool {
        self.csd.get(at::CMDQ_MODE_EN) & 1 == 1
    }

    /// The sector of the partition that an address names.
    ///
    /// # Errors
    /// The bit of the status for an address that is misaligned or out of range.
    pub(super) fn sector(&self, address: u32) -> Result<u64, u32> {
        let address = u64::from(address);
        let sector = if self.storage.layout.is_by_sector() {
            address
        } else if address % SECTOR as u64 == 0 {
            address / SECTOR as u64
        } else {
            return Err(status::ADDRESS_MISALIGN);
        };
        if sector >= self.storage.layout.sectors(self.partition()) {
            return Err(status::ADDRESS_OUT_OF_RANGE);
        }
        Ok(sector)
    }

    /// The sector of the drive at a sector of the partition.
    pub(super) fn on_drive(&self, sector: u64) -> u64 {
        self.storage.layout.first(self.partition()) + sector
    }

    /// Whether any of these sectors of the partition is write protected.
    pub(super) fn is_protected(&self, sector: u64, sectors: u64) -> bool {
        let group = self.storage.layout.wp_sectors();
        match self.partition() {
            Partition::User => {
                let last = (sector + sectors.max(1) - 1) / group;
                self.protection.has_any(sector / group..=last)
            }
            Partition::Boot(number) => self.protection.boot(number).is_some(),
            Partition::Rpmb => false,
        }
    }

    /// The status bits that report a refusal of the drive.
    pub(super) fn refused(refusal: Refusal) -> u32 {
        match refusal {
            Refusal::Media(_) | Refusal::Uncorrectable => status::DEVICE_ECC_FAILED,
            Refusal::WornOut | Refusal::Purging { .. } | Refusal::Zone(_) => status::ERROR,
        }
    }

    /// Starts work that ends at `ends`; returns for how long the card is busy.
    pub(super) fn begin(&mut self, ends: Ns, what: What, changes: Vec<Change>) -> Ns {
        let started = self.now;
        if ends > started {
            self.state = State::Prg;
            self.work = Some(Work { started, ends, what, changes });
        } else {
            self.done(what);
            self.state = State::Tran;
        }
        Ns(ends.0.saturating_sub(started.0))
    }

    /// Completes work outside of the storage.
    fn done(&mut self, what: What) {
        match what {
            What::Background => self.background.work(Ns(u64::MAX)),
            What::Sanitize(bytes) => {
                self.unmapped_bytes = self.unmapped_bytes.saturating_sub(bytes);
            }
            What::Rpmb => self.rpmb.settle(),
            _ => {}
        }
    }

    /// Advances time to `until`; work whose end is reached by then is completed.
    pub(super) fn advance(&mut self, until: Ns) {
        let until = until.max(self.now);
        if let Some(work) = self.work.take_if(|work| work.ends <= until) {
            self.now = self.now.max(work.ends);
            self.done(work.what);
            self.leave();
        }
        if self.work.is_none() && until > self.now {
            let idle = until - self.now;
            if self.csd.get(at::BKOPS_EN) & 2 != 0 && self.state != State::Slp {
                self.background.work(idle);
            }
            self.storage.pass(until);
        }
        self.now = until;
    }

    /// From busy to not busy.
    fn leave(&mut self) {
        match self.state {
            State::Prg => self.state = State::Tran,
            State::Dis => self.state = State::Stby,
            _ => {}
        }
    }

    /// Whether the running work may be interrupted.
    pub(super) fn is_interruptible(&self) -> bool {
        self.work.as_ref().is_some_and(|work| !matches!(work.what, What::Switch | What::Rpmb))
    }

    /// The running work ends now; the card leaves its state soon after, and at once when the power
    /// is cut.
    pub(super) fn stop(&mut self, cause: Cause) {
        let Some(work) = self.work.take() else { return };
        let span = work.started..work.ends;
        let done = self.storage.interrupt(self.now, &span, &work.changes, cause);
        match work.what {
            What::Write => self.csd.set_u32(at::CORRECTLY_PRG_SECTORS_NUM, done as u32),
            What::Background => self.background.work(self.now - work.started),
            _ => {}
        }
        if cause == Cause::Interrupt {
            let ends = Ns((self.now + INTERRUPTED).0.min(work.ends.0));
            self.work =
                Some(Work { started: self.now, ends, what: What::Switch, changes: Vec::new() });
        }
    }
}
