//! Where the bytes are: partitions on the drive, the cache before it, and time.
//!
//! ```text
//!   0 ────────────── user area ──────────────┬─ boot 1 ─┬─ boot 2 ─┬─ RPMB ─┐ sectors of the drive
//! ```
//! The changes of a command are written at once, and the previous contents are kept ([`Change`])
//! until the command ends: an interrupt or a cut in its middle restores the sectors that were not
//! reached. The clock of the drive is then ahead of the card's by [`Storage::skew`], time that the
//! card did not need.

use std::ops::Range;

pub(super) use super::cache::SECTOR;
use super::cache::{Cache, Run};
use super::change::{Cause, Change, Extent, Remainder, Undo, WriteKind};
use super::erase::Way;
use super::options::Options;
use crate::config::ConfigError;
use crate::drive::DeviceConfig;
use crate::op::HostOp;
use crate::session::{Begun, Done, Refusal, Request, Session};
use crate::units::{Lpn, Ns};

/// Sectors of an erase group, of both definitions: 512 KiB.
pub(super) const SECTORS_PER_GROUP: u64 = 1024;
/// Sectors of the unit in which boot and RPMB partitions are counted: 128 KiB (JESD84-B51, 7.4,
/// `BOOT_SIZE_MULT` and `RPMB_SIZE_MULT`).
const SECTORS_PER_MULT: u64 = 256;
/// Cards of more sectors are addressed by sectors, others by bytes: 2 GiB (JESD84-B51, 7.1 OCR
/// register).
const BYTE_ADDRESSED_MAX: u64 = 1 << 22;
/// A drive of at least a GiB is a large card.
const LARGE_MIN: u64 = 1 << 21;

/// Defaults that depend on the size of a card; assumed.
struct Defaults {
    /// Size of each boot partition and of the RPMB partition, in units of 128 KiB.
    size_mult: u8,
    /// Erase groups of a write protect group.
    groups_per_wp: u8,
}

/// 4 MiB partitions, and groups of 8 MiB.
const LARGE: Defaults = Defaults { size_mult: 32, groups_per_wp: 16 };
/// 128 KiB partitions, and groups of 512 KiB.
const SMALL: Defaults = Defaults { size_mult: 1, groups_per_wp: 1 };

/// A partition of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Partition {
    User,
    /// 0 or 1.
    Boot(u8),
    Rpmb,
}

/// Sizes of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) user_sectors: u64,
    pub(super) boot_size_mult: u8,
    pub(super) rpmb_size_mult: u8,
    /// Erase groups of a write protect group.
    pub(super) groups_per_wp: u8,
    /// Bytes of a mapped unit of the drive.
    pub(super) unit_bytes: u64,
}

impl Layout {
    pub(super) fn new(session: &Session, options: &Options) -> Result<Self, ConfigError> {
        let sectors = session.capacity_bytes() / SECTOR as u64;
        let defaults = if sectors >= LARGE_MIN { LARGE } else { SMALL };
        let boot_size_mult = options.boot_size_mult.unwrap_or(defaults.size_mult);
        let rpmb_size_mult = options.rpmb_size_mult.unwrap_or(defaults.size_mult);
        let reserved =
            (2 * u64::from(boot_size_mult) + u64::from(rpmb_size_mult)) * SECTORS_PER_MULT;
        let limit = options.user_bytes_max.map_or(u64::MAX, |bytes| bytes / SECTOR as u64);
        let room = sectors.saturating_sub(reserved).min(limit).min(u64::from(u32::MAX));
        let user_sectors = room / SECTORS_PER_GROUP * SECTORS_PER_GROUP;
        if user_sectors == 0 {
            let message = format!(
                "{sectors} sectors are too few for an eMMC: it has {reserved} of boot and RPMB \
                 partitions, and at least {SECTORS_PER_GROUP} of user area"
            );
            return Err(ConfigError::new("emmc", message));
        }
        Ok(Self {
            user_sectors,
            boot_size_mult,
            rpmb_size_mult,
            groups_per_wp: defaults.groups_per_wp,
            unit_bytes: session.unit_bytes(),
        })
    }

    /// Whether addresses count sectors, not bytes.
    pub(super) fn is_by_sector(&self) -> bool {
        self.user_sectors > BYTE_ADDRESSED_MAX
    }

    pub(super) fn sectors(&self, partition: Partition) -> u64 {
        match partition {
            Partition::User => self.user_sectors,
            Partition::Boot(_) => u64::from(self.boot_size_mult) * SECTORS_PER_MULT,
            Partition::Rpmb => u64::from(self.rpmb_size_mult) * SECTORS_PER_MULT,
        }
    }

    /// The first sector of a partition on the drive.
    pub(super) fn first(&self, partition: Partition) -> u64 {
        let boot = self.sectors(Partition::Boot(0));
        match partition {
            Partition::User => 0,
            Partition::Boot(number) => self.user_sectors + u64::from(number) * boot,
            Partition::Rpmb => self.user_sectors + 2 * boot,
        }
    }

    /// Sectors of a write protect group.
    pub(super) fn wp_sectors(&self) -> u64 {
        u64::from(self.groups_per_wp) * SECTORS_PER_GROUP
    }
}

/// See the module.
pub(super) struct Storage {
    session: Session,
    pub(super) layout: Layout,
    pub(super) cache: Cache,
    /// The drive's clock less the card's.
    skew: Ns,
    /// The drive's clock.
    clock: Ns,
    token: u64,
    config: DeviceConfig,
}

impl Storage {
    pub(super) fn new(
        session: Session,
        config: DeviceConfig,
        options: &Options,
    ) -> Result<Self, ConfigError> {
        let layout = Layout::new(&session, options)?;
        let buffer_kib = u64::from(config.ftl.write_buffer_pages) * layout.unit_bytes / 1024;
        let kib = options.cache_kib.map_or(buffer_kib.min(65536), u64::from);
        Ok(Self {
            session,
            layout,
            cache: Cache::new(kib * 2),
            skew: Ns(0),
            clock: Ns(0),
            token: 0,
            config,
        })
    }

    /// Lets one request of the drive happen; returns when it is done, by the card's clock.
    fn run(&mut self, now: Ns, request: Request<'_>) -> Result<Ns, Refusal> {
        let mut done: Vec<Done> = Vec::new();
        self.clock = (now + self.skew).max(self.clock);
        self.token += 1;
        if self.session.begin(self.clock, self.token, request, &mut done)? == Begun::Running {
            while !done.iter().any(|it| it.token == self.token) {
                let next = self.session.next_at().expect("a running request has an event");
                self.session.advance(next, &mut done);
            }
            let last = done.iter().find(|it| it.token == self.token).expect("it is done");
            self.clock = self.clock.max(last.at);
            if let Some(refusal) = last.refusal {
                return Err(refusal);
            }
        }
        Ok(self.clock - self.skew)
    }

    /// Lets time pass for the drive, which may use it.
    pub(super) fn pass(&mut self, now: Ns) {
        let until = now + self.skew;
        if until > self.clock {
            self.clock = until;
            self.session.advance(until, &mut Vec::new());
        }
    }

    /// Time of a command whose data goes to or comes from memory alone.
    fn memory_time(&self, op: HostOp, bytes: u64) -> Ns {
        let host = &self.config.host;
        let link = host.build_link().map_or(Ns(0), |link| link.transfer(bytes));
        let mut processor = host.build_processor();
        let cost = processor.as_mut().map_or(Ns(0), |it| it.reserve(Ns(0), op, bytes, None));
        host.command_overhead_us.build().of(op, bytes) + cost + link
    }

    /// Reads sectors of the drive; returns their bytes and when they are there.
    pub(super) fn read(
        &mut self,
        now: Ns,
        first: u64,
        sectors: u64,
    ) -> Result<(Vec<u8>, Ns), Refusal> {
        let mut bytes = vec![0; sectors as usize * SECTOR];
        if sectors == 0 {
            return Ok((bytes, now));
        }
        let length = bytes.len() as u64;
        if self.cache.missing(first, sectors) == 0 {
            self.cache.overlay(first, &mut bytes);
            return Ok((bytes, now + self.memory_time(HostOp::Read, length)));
        }
        let offset = first * SECTOR as u64;
        self.session.read(offset, &mut bytes)?;
        let end = self.run(now, Request::Read { offset, length })?;
        self.cache.overlay(first, &mut bytes);
        Ok((bytes, end))
    }

    /// Programs sectors to the flash; their previous contents are added to `changes`.
    fn program(
        &mut self,
        now: Ns,
        Extent { first, bytes }: Extent<'_>,
        kind: WriteKind,
        changes: &mut Vec<Change>,
    ) -> Result<Ns, Refusal> {
        let offset = first * SECTOR as u64;
        let mut old = vec![0; bytes.len()];
        // Sectors that were already damaged are restored as zeros.
        if self.session.read(offset, &mut old).is_err() {
            old.fill(0);
        }
        let end = self.run(now, Request::Write { offset, bytes, is_fua: true, placement: 0 })?;
        changes.push(Change { first, old, kind });
        Ok(end)
    }

    /// Writes everything in the cache to the flash.
    pub(super) fn flush(&mut self, now: Ns, changes: &mut Vec<Change>) -> Result<Ns, Refusal> {
        let mut end = now;
        for Run { epoch, first, bytes } in self.cache.take() {
            let extent = Extent { first, bytes: &bytes };
            end = self.program(end, extent, WriteKind::Flushed(epoch), changes)?;
        }
        Ok(end)
    }

    /// A write of the host that need not be on the flash when it ends.
    pub(super) fn write_cached(
        &mut self,
        now: Ns,
        extent: Extent<'_>,
        changes: &mut Vec<Change>,
    ) -> Result<Ns, Refusal> {
        let (first, sectors) = (extent.first, extent.sectors());
        if sectors > self.cache.capacity {
            return self.write_through(now, extent, WriteKind::Plain, changes);
        }
        let mut end = now;
        // An interrupted flush returns its sectors to the cache, in addition to the write that
        // needed the room.
        let room = self.cache.capacity.saturating_sub(self.cache.sectors());
        let missing = self.cache.missing(first, sectors);
        if missing > room || self.cache.has_earlier(first, sectors) {
            end = self.flush(end, changes)?;
        }
        self.cache.insert(first, extent.bytes);
        Ok(end + self.memory_time(HostOp::Write, extent.bytes.len() as u64))
    }

    /// A write of the host that is on the flash when it ends. The cache is flushed first if it
    /// holds any of these sectors, since the write may be interrupted, and then they keep their
    /// earlier contents; or if a barrier came after the sectors that it holds.
    pub(super) fn write_through(
        &mut self,
        now: Ns,
        extent: Extent<'_>,
        kind: WriteKind,
        changes: &mut Vec<Change>,
    ) -> Result<Ns, Refusal> {
        let mut end = now;
        let sectors = extent.sectors();
        if self.cache.missing(extent.first, sectors) < sectors || self.cache.is_barred() {
            end = self.flush(end, changes)?;
        }
        self.program(end, extent, kind, changes)
    }

    /// Erases sectors: they become zeros, and whole units are unmapped. A discard only unmaps the
    /// whole units.
    pub(super) fn unmap(&mut self, now: Ns, sectors: &Range<u64>, way: Way) -> Result<Ns, Refusal> {
        if sectors.is_empty() {
            return Ok(now);
        }
        let count = sectors.end - sectors.start;
        self.cache.forget(sectors.start, count);
        let (offset, length) = (sectors.start * SECTOR as u64, count * SECTOR as u64);
        let request = if way == Way::Discard {
            Request::Trim { offset, length }
        } else {
            Request::Zero { offset, length, is_fua: true, is_allocated: false }
        };
        self.run(now, request)
    }

    /// Ends a command at `now`, in the middle of `span`: the changes that it has not reached are
    /// undone. Returns the number of the host's sectors that are done.
    pub(super) fn interrupt(
        &mut self,
        now: Ns,
        span: &Range<Ns>,
        changes: &[Change],
        cause: Cause,
    ) -> u64 {
        let unit = (self.layout.unit_bytes / SECTOR as u64).max(1);
        let remainder = Remainder::of(changes, span, now, unit, cause);
        // The last first: of a sector that was changed twice the oldest data comes back.
        for undo in remainder.undone.iter().rev() {
            self.restore(now, undo, cause);
        }
        // The drive's work for this took none of the card's time.
        self.skew = Ns(self.clock.0.saturating_sub(now.0)).max(self.skew);
        remainder.host_sectors
    }

    /// Writes the previous contents of sectors that are undone.
    fn restore(&mut self, now: Ns, &Undo { change, kept, is_torn }: &Undo, cause: Cause) {
        let first = change.first + kept;
        let offset = first * SECTOR as u64;
        let mut old = change.old[kept as usize * SECTOR..].to_vec();
        let mut new = vec![0; old.len()];
        let is_readable = self.session.read(offset, &mut new).is_ok();
        if let (WriteKind::Flushed(epoch), Cause::Interrupt, true) =
            (change.kind, cause, is_readable)
        {
            self.cache.give_back(first, &new, epoch);
        }
        if is_torn {
            old[..SECTOR / 2].copy_from_slice(&new[..SECTOR / 2]);
        }
        let length = old.len() as u64;
        let request = if old.iter().all(|&byte| byte == 0) {
            Request::Zero { offset, length, is_fua: true, is_allocated: false }
        } else {
            Request::Write { offset, bytes: &old, is_fua: true, placement: 0 }
        };
        // A worn-out drive refuses: then the new data stays.
        let _ = self.run(now, request);
    }

    /// Damages the data of a sector on the flash; false if the flash holds none.
    pub(super) fn corrupt(&mut self, sector: u64) -> bool {
        let unit = sector * SECTOR as u64 / self.layout.unit_bytes;
        self.session.corrupt(Lpn(unit as u32))
    }

    /// Time to erase the blocks that `bytes` bytes fill, by all dies in parallel.
    pub(super) fn erase_time(&self, bytes: u64) -> Ns {
        let geometry = self.config.geometry();
        let block = geometry.page_bytes * u64::from(geometry.pages_per_block);
        let rounds = bytes.div_ceil(block).div_ceil(u64::from(geometry.die_count));
        Ns(self.config.flash().timing().erase.0 * rounds)
    }

    /// Time to move a KiB inside the drive: a read and a program, on all dies side by side.
    pub(super) fn move_ns_per_kib(&self) -> u64 {
        let (timing, geometry) = (self.config.flash().timing(), self.config.geometry());
        let mean = |times: &[Ns]| times.iter().map(|it| it.0).sum::<u64>() / times.len() as u64;
        let page = mean(&timing.read) + mean(&timing.program);
        let kib = (geometry.page_bytes / 1024).max(1) * u64::from(geometry.die_count);
        (page / kib).max(1)
    }

    /// The estimates of its life; see [`Session::emmc_estimates`].
    pub(super) fn estimates(&self) -> [u32; 2] {
        self.session.emmc_estimates()
    }

    /// The activity of the drive, as [`Session::status`].
    pub(super) fn status(&self) -> serde_json::Value {
        self.session.status()
    }

    /// Checks the drive's tables and bytes.
    pub(super) fn audit(&mut self) -> Result<(), String> {
        self.session.audit()
    }
}
