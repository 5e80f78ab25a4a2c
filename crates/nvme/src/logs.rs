//! Log pages. Their numbers are those of the drive's own status, from the moment it was served.
//!
//! Which commands count: NVM Express NVM Command Set Specification 1.2, 1.4.2.7, 1.4.2.8 and
//! 1.4.2.10. Data units read are those of Compare, Read and Verify, read commands Compare, Copy and
//! Read; data units written and write commands are those of Copy and Write (of zones also Append),
//! so not of Write Zeroes. Of an endurance group all bytes count that the host had read or written,
//! and Verify is a read command (1.4.2.1).
//!
//! Scopes of commands: NVM Express Base Specification 2.0, 5.16.1.6.

use opennandlab_sim::op::Purpose;
use opennandlab_sim::session::{Activity, Totals, Vitals};
use opennandlab_sim::units::Ns;

use crate::bytes::{put, put_number, put_text};
use crate::command::Entry;
use crate::fabrics::Queue;
use crate::failures::{FAILURES_MAX, FAILURE_BYTES};
use crate::latency_log;
use crate::placement;
use crate::purge::{FORMAT, SANITIZE};
use crate::status::Status;
use crate::supported::{self, CONTROLLER_SCOPE, NAMESPACE_SCOPE, SUBSYSTEM_SCOPE};
use crate::target::Target;
use crate::zones;

pub(crate) const HEALTH: u8 = 0x02;
const CHANGES: u8 = 0x04;
const EFFECTS: u8 = 0x05;
const DISCOVERED: u8 = 0x70;
/// A data unit is a thousand times 512 bytes.
const DATA_UNIT_BYTES: u64 = 512_000;
/// Units of the log of an endurance group: 10^9 bytes.
const GIGABYTE: u64 = 1_000_000_000;
/// 0 degrees Celsius in kelvins, as controllers round it.
const ZERO_C_IN_K: f64 = 273.0;
const NS_PER_MINUTE: u64 = 60_000_000_000;
const NS_PER_HOUR: u64 = 3_600_000_000_000;
/// Name of log C0h, as it is stored.
const OCP_NAME: [u8; 16] = [
    0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf,
];
const OCP_VERSION: u64 = 3;
/// Supported, and whether it changes the contents of a namespace.
const READS: u64 = 1 | NAMESPACE_SCOPE;
const WRITES: u64 = 3 | NAMESPACE_SCOPE;
/// Supported, and of its controller.
const OWN: u64 = 1 | CONTROLLER_SCOPE;
/// No other command may run meanwhile.
const ALONE: u64 = 2 << 16;
const FORMATS_ALONE: u64 = WRITES | 1 << 2 | ALONE;
/// Commands of the controller that lists subsystems: logs, identify, features, keep alive.
pub(crate) const DISCOVERY_COMMANDS: [u8; 5] = [0x02, 0x06, 0x09, 0x0a, 0x18];
/// Commands of the admin queue and of I/O queues.
const ADMIN_COMMANDS: [(u8, u64); 9] = [
    (0x02, OWN),
    (0x06, OWN),
    (0x08, OWN),
    (0x09, OWN | SUBSYSTEM_SCOPE),
    (0x0a, OWN),
    (0x0c, OWN),
    (0x18, OWN),
    (FORMAT, FORMATS_ALONE),
    (SANITIZE, 3 | ALONE | SUBSYSTEM_SCOPE),
];
const IO_COMMANDS: [(u8, u64); 8] = [
    (0x00, READS),
    (0x01, WRITES),
    (0x02, READS),
    (0x05, READS),
    (0x08, WRITES),
    (0x09, WRITES),
    (0x0c, READS),
    (0x19, WRITES),
];

/// The same of drives with zones, in addition.
const ZONE_COMMANDS: [(u8, u64); 3] =
    [(zones::SEND, WRITES), (zones::RECEIVE, READS), (zones::APPEND, WRITES)];

/// The same of drives that place data.
const PLACEMENT_COMMANDS: [(u8, u64); 2] = [(placement::RECEIVE, READS), (placement::SEND, READS)];

/// What logs are made of.
pub(crate) struct Facts {
    pub(crate) vitals: Vitals,
    pub(crate) activity: Activity,
    /// Losses of power.
    pub(crate) cuts: u64,
    /// Nanoseconds of the model since it was served.
    pub(crate) age_ns: u64,
    /// Blocks of all namespaces that hold data.
    pub(crate) used_blocks: u64,
}

impl Facts {
    /// How long the drive has had power in its life.
    fn powered_ns(&self) -> u64 {
        self.vitals.service.age_ns + self.age_ns
    }
}

/// Which part of which log a host wants.
pub(crate) struct Wanted {
    pub(crate) log: u8,
    /// The log stays as if it had not been read.
    pub(crate) retains_event: bool,
    pub(crate) bytes: u64,
    offset: u64,
    group: u32,
    command_set: u32,
}

impl Wanted {
    pub(crate) fn of(entry: &Entry) -> Self {
        let (first, second) = (entry.dword(10), entry.dword(11));
        Self {
            log: first as u8,
            retains_event: first & 1 << 15 != 0,
            bytes: 4 * (u64::from(first >> 16 | (second & 0xffff) << 16) + 1),
            offset: u64::from(entry.dword(12)) | u64::from(entry.dword(13)) << 32,
            group: second >> 16,
            command_set: entry.dword(14) >> 24,
        }
    }

    /// This part of a log; zeros behind its end.
    pub(crate) fn cut(&self, mut page: Vec<u8>) -> Result<Vec<u8>, Status> {
        if !self.offset.is_multiple_of(4) || self.offset >= page.len() as u64 {
            return Err(Status::FIELD);
        }
        page.drain(..self.offset as usize);
        page.resize(self.bytes as usize, 0);
        Ok(page)
    }
}

/// The part of a log that a host wants; `facts` are made for the logs that need them.
pub(crate) fn page(
    queue: &Queue,
    wanted: &Wanted,
    facts: impl FnOnce() -> Facts,
) -> Result<Vec<u8>, Status> {
    let target = &queue.target;
    wanted.cut(match wanted.log {
        supported::LOGS => supported::logs(queue),
        0x01 => {
            let mut page = target.failures.all().1;
            page.resize(FAILURES_MAX * FAILURE_BYTES, 0);
            page
        }
        HEALTH => health(target, &facts()),
        0x03 => {
            let mut page = vec![0; 512];
            page[0] = 1;
            put_text(&mut page, 8, 8, env!("CARGO_PKG_VERSION"));
            page
        }
        CHANGES => changed(queue),
        EFFECTS if queue.controller.is_discovery => discovery_effects(),
        EFFECTS if [0, target.command_set()].contains(&wanted.command_set) => {
            effects(target, wanted.command_set)
        }
        supported::FEATURES => supported::features(queue),
        supported::MANAGEMENT => vec![0; 4096],
        0x09 if wanted.group == 1 => endurance(target, &facts()),
        EFFECTS | 0x09 => return Err(Status::FIELD),
        DISCOVERED => discovered(target),
        0xc0 => ocp(target, &facts()),
        0xc3 => {
            let facts = facts();
            latency_log::page(facts.activity.slow.clone(), Ns(facts.powered_ns()))
        }
        _ => return Err(Status::LOG_PAGE),
    })
}

/// Bytes that count as read and written by hosts.
fn data_bytes(totals: &Totals) -> [u64; 2] {
    let [read, written] = totals.host_bytes;
    let [(_, copied), (_, zeroes)] =
        [Purpose::CopySource, Purpose::Zeroes].map(|purpose| totals.of(purpose).into());
    [read.saturating_sub(copied), written.saturating_sub(zeroes)]
}

/// Commands that read, Verify among them, and those that write. A copy is one of each.
fn commands(totals: &Totals) -> [u64; 2] {
    let [reads, writes] = totals.host_commands;
    let [sources, targets, zeroes] = [Purpose::CopySource, Purpose::CopyTarget, Purpose::Zeroes]
        .map(|purpose| totals.of(purpose)[0]);
    [(reads + targets).saturating_sub(sources), writes.saturating_sub(zeroes)]
}

fn health(target: &Target, facts: &Facts) -> Vec<u8> {
    let (it, mut page) = (&facts.vitals, vec![0; 512]);
    let kelvin = (it.temperature_c + ZERO_C_IN_K).round().max(0.0) as u64;
    let wellness = &it.wellness;
    page[0] = warnings(it);
    put_number(&mut page, 1, 2, kelvin);
    put(&mut page, 3, &[wellness.spare_pct, wellness.spare_threshold_pct, wellness.used_pct]);
    let [read, written] = data_bytes(&it.totals).map(|bytes| bytes.div_ceil(DATA_UNIT_BYTES));
    let [reads, writes] = commands(&it.totals);
    let reads = reads.saturating_sub(it.totals.of(Purpose::Verify)[0]);
    for (offset, number) in [
        (32, read),
        (48, written),
        (64, reads),
        (80, writes),
        (96, facts.activity.busy(Ns(facts.powered_ns())).0 / NS_PER_MINUTE),
        (112, it.service.power_cycles + facts.cuts + 1),
        (128, facts.powered_ns() / NS_PER_HOUR),
        (144, it.service.unsafe_shutdowns + facts.cuts),
        (160, it.totals.media_errors),
        (176, target.failures.all().0),
    ] {
        put_number(&mut page, offset, 8, number);
    }
    page
}

/// Bits of the critical warning: those of the flash, and the media errors of the drive.
pub(crate) fn warnings(vitals: &Vitals) -> u8 {
    vitals.wellness.warning | u8::from(vitals.totals.media_errors > 0) << 2
}

/// Namespaces that have changed.
fn changed(queue: &Queue) -> Vec<u8> {
    let mut page = vec![0; 4096];
    for (place, id) in queue.controller.state().news.changes().enumerate() {
        put_number(&mut page, 4 * place, 4, u64::from(id));
    }
    page
}

/// Commands of the controller that lists subsystems.
fn discovery_effects() -> Vec<u8> {
    let mut page = vec![0; 4096];
    for opcode in DISCOVERY_COMMANDS {
        put_number(&mut page, 4 * usize::from(opcode), 4, OWN);
    }
    page
}

/// Commands that are supported, and their effects.
fn effects(target: &Target, command_set: u32) -> Vec<u8> {
    let mut page = vec![0; 4096];
    for (opcode, effect) in ADMIN_COMMANDS {
        put_number(&mut page, 4 * usize::from(opcode), 4, effect);
    }
    let is_of_zones = command_set == zones::COMMAND_SET;
    let of_zones = ZONE_COMMANDS.into_iter().filter(|_| is_of_zones);
    let places = target.placement.is_some();
    let of_placement = PLACEMENT_COMMANDS.into_iter().filter(|_| places);
    for opcode in [placement::DIRECTIVE_SEND, placement::DIRECTIVE_RECEIVE] {
        put_number(&mut page, 4 * usize::from(opcode), 4, u64::from(places) * OWN);
    }
    let has_copy = target.zones.is_none();
    let plain = IO_COMMANDS.into_iter().filter(|&(opcode, _)| has_copy || opcode != 0x19);
    for (opcode, effect) in plain.chain(of_zones).chain(of_placement) {
        put_number(&mut page, 1024 + 4 * usize::from(opcode), 4, effect);
    }
    page
}

fn endurance(target: &Target, facts: &Facts) -> Vec<u8> {
    let (it, mut page) = (&facts.vitals, vec![0; 512]);
    let wellness = &it.wellness;
    page[0] = warnings(it) & (1 | 1 << 2 | 1 << 3);
    put(&mut page, 3, &[wellness.spare_pct, wellness.spare_threshold_pct, wellness.used_pct]);
    let [read, written] = it.totals.host_bytes.map(|bytes| bytes.div_ceil(GIGABYTE));
    let [reads, writes] = commands(&it.totals);
    for (offset, number) in [
        (48, read),
        (64, written),
        (80, it.totals.flash_bytes[1].div_ceil(GIGABYTE)),
        (96, reads),
        (112, writes),
        (128, it.totals.media_errors),
        (144, target.failures.all().0),
    ] {
        put_number(&mut page, offset, 8, number);
    }
    page
}

/// SMART / Health Information Extended, of the Open Compute Project.
fn ocp(target: &Target, facts: &Facts) -> Vec<u8> {
    let (it, mut page) = (&facts.vitals, vec![0; 512]);
    let [least, mean, most] = it.erase_counts;
    for (offset, count, number) in [
        (0, 8, it.totals.flash_bytes[1]),
        (16, 8, it.totals.flash_bytes[0]),
        (32, 6, it.bad_blocks),
        (38, 2, it.wellness.spare_pct.into()),
        (56, 8, it.totals.media_errors),
        (64, 8, it.totals.recovered_reads),
        (81, 7, it.totals.refreshed_blocks),
        (88, 4, most),
        (92, 4, least),
        (120, 1, u64::from(it.free_pct)),
        (136, 8, target.unaligned.load(std::sync::atomic::Ordering::Relaxed)),
        (152, 8, facts.used_blocks),
        (224, 8, mean),
        (494, 2, OCP_VERSION),
    ] {
        put_number(&mut page, offset, count, number);
    }
    put(&mut page, 496, &OCP_NAME);
    page
}

/// The one subsystem at this address.
fn discovered(target: &Target) -> Vec<u8> {
    let mut page = vec![0; 2048];
    put_number(&mut page, 8, 8, 1);
    let entry = &mut page[1024..];
    let family = if target.address.is_ipv4() { 1 } else { 2 };
    // TCP; an NVM subsystem; flow control may be switched off.
    put(entry, 0, &[3, family, 2, 4]);
    put_number(entry, 4, 2, 1);
    put_number(entry, 6, 2, 0xffff);
    put_number(entry, 8, 2, 32);
    put_text(entry, 32, 32, &target.address.port().to_string());
    put(entry, 256, target.nqn.as_bytes());
    put_text(entry, 512, 256, &target.address.ip().to_string());
    page
}
