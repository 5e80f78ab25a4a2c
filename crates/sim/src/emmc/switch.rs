//! CMD6: writes a byte of the modes segment, and does what the byte commands.
//!
//! Source: JESD84-B51, 6.6 Command sets and extended settings, and 7.4 for each field. A refused
//! switch sets `SWITCH_ERROR` and changes nothing.

use super::ext_csd::{self as at, Access};
use super::parts::{Parts, What};
use super::protect::Kind;
use super::status;
use crate::units::Ns;

/// A switch that has nothing else to do; assumed, far below `GENERIC_CMD6_TIME`.
const SWITCH: Ns = Ns(50_000);
/// Another partition; assumed, far below `PARTITION_SWITCH_TIME`.
const PARTITION: Ns = Ns(200_000);

/// The value was refused.
struct Refused;

/// The effect of a switch, in addition to writing its byte.
enum Effect {
    None,
    Flush,
    Background,
    Sanitize,
    Partition,
}

/// Carries out CMD6; returns how long the card is busy.
pub(super) fn switch(parts: &mut Parts, argument: u32) -> Ns {
    let access = argument >> 24 & 3;
    let index = (argument >> 16 & 0xff) as usize;
    let value = (argument >> 8 & 0xff) as u8;
    if access == 0 {
        // The standard command set is the only one.
        if argument & 7 != 0 {
            parts.errors |= status::SWITCH_ERROR;
        }
        let ends = parts.now + SWITCH;
        return parts.begin(ends, What::Switch, Vec::new());
    }
    let old = parts.csd.get(index);
    let new = match access {
        1 => old | value,
        2 => old & !value,
        _ => value,
    };
    notice_life(parts, index, new);
    let effect = write(parts, index, old, new).unwrap_or_else(|Refused| {
        parts.errors |= status::SWITCH_ERROR;
        Effect::None
    });
    apply(parts, &effect)
}

/// Records that a command came after a power-off notice: the host continues after all.
pub(super) fn notice_life(parts: &mut Parts, index: usize, value: u8) {
    let is_notice = index == at::POWER_OFF_NOTIFICATION && value >= 2;
    if parts.csd.get(at::POWER_OFF_NOTIFICATION) >= 2 && !is_notice {
        parts.csd.set(at::POWER_OFF_NOTIFICATION, 1);
    }
}

fn apply(parts: &mut Parts, effect: &Effect) -> Ns {
    let now = parts.now;
    let mut changes = Vec::new();
    let (ends, what) = match effect {
        Effect::None => (now + SWITCH, What::Switch),
        Effect::Partition => (now + PARTITION, What::Switch),
        Effect::Background => (now + parts.background.time_left(), What::Background),
        Effect::Sanitize => {
            let bytes = parts.unmapped_bytes;
            (now + SWITCH + parts.storage.erase_time(bytes), What::Sanitize(bytes))
        }
        Effect::Flush => match parts.storage.flush(now, &mut changes) {
            Ok(ends) => (ends + SWITCH, What::Flush),
            Err(refusal) => {
                parts.errors |= Parts::refused(refusal);
                (now + SWITCH, What::Switch)
            }
        },
    };
    parts.begin(ends, what, changes)
}

/// Whether bits that are written once would be taken back.
fn keeps(old: u8, new: u8, once: u8) -> bool {
    old & once & !new == 0
}

fn require(is_allowed: bool) -> Result<(), Refused> {
    if is_allowed {
        Ok(())
    } else {
        Err(Refused)
    }
}

/// Writes a byte if it may be written.
fn write(parts: &mut Parts, index: usize, old: u8, new: u8) -> Result<Effect, Refused> {
    let field = parts.csd.field(index).filter(|it| it.is_writable).ok_or(Refused)?;
    let mut effect = Effect::None;
    match index {
        at::CMDQ_MODE_EN => {
            let is_rpmb = parts.csd.get(at::PARTITION_CONFIG) & 7 == 3;
            require(new <= 1 && parts.queue.is_empty() && !(new == 1 && is_rpmb))?;
        }
        at::BARRIER_CTRL => require(new <= 1 && keeps(old, new, 1))?,
        at::FLUSH_CACHE => effect = flush_or_barrier(parts, new)?,
        at::CACHE_CTRL => {
            require(new <= 1 && (new == 0 || parts.storage.cache.capacity > 0))?;
            if new == 0 && old == 1 {
                effect = Effect::Flush;
            }
        }
        at::POWER_OFF_NOTIFICATION => {
            let last = if parts.options.standard.revision() >= 7 { 4 } else { 3 };
            require(new <= last)?;
            if new >= 2 {
                effect = Effect::Flush;
            }
        }
        at::EXCEPTION_EVENTS_CTRL => require(new & !0x1e == 0)?,
        // Dynamic capacity is not there, nor are bits of the second byte.
        at::CLASS_6_CTRL | 57 => require(new == 0)?,
        at::HPI_MGMT | at::ERASE_GROUP_DEF => require(new <= 1)?,
        at::RST_N_FUNCTION => require(new <= 2 && (old == 0 || old == new))?,
        at::BKOPS_EN => {
            let known = if parts.options.standard.revision() >= 8 { 3 } else { 1 };
            require(new & !known == 0 && keeps(old, new, 1))?;
        }
        at::BKOPS_START if parts.csd.get(at::BKOPS_EN) & 1 == 1 && new != 0 => {
            effect = Effect::Background;
        }
        at::SANITIZE_START => effect = Effect::Sanitize,
        at::USER_WP => {
            // US_PWR_WP_DIS and US_PERM_WP_DIS forbid power-on and permanent protection.
            let is_forbidden =
                (old & 0x08 != 0 && new & 0x01 != 0) || (old & 0x10 != 0 && new & 0x04 != 0);
            require(new & 0x22 == 0 && !is_forbidden && keeps(old, new, 0xd8))?;
        }
        at::BOOT_WP => boot_protection(parts, old, new)?,
        at::BOOT_BUS_CONDITIONS => require(new & !0x1f == 0 && new & 3 < 3 && new >> 3 < 3)?,
        at::BOOT_CONFIG_PROT => {
            require(new & !0x11 == 0 && keeps(old, new, 0x10))?;
            require(!(parts.written_once.boot_config && old & 1 != new & 1))?;
            parts.written_once.boot_config |= new & 1 == 1;
        }
        at::PARTITION_CONFIG => {
            partition(parts, old, new)?;
            if old & 7 != new & 7 {
                effect = Effect::Partition;
            }
        }
        at::BUS_WIDTH => require(matches!(new & 0x7f, 0..=2 | 5 | 6) && new & 0x80 == 0)?,
        at::HS_TIMING => {
            let last = if parts.options.standard.revision() >= 7 { 3 } else { 2 };
            require(new & 0xf <= last && new >> 4 <= 4)?;
        }
        _ => {}
    }
    if field.access != Access::Write {
        parts.csd.set(index, new);
    }
    Ok(effect)
}

/// `FLUSH_CACHE`: bit 0 flushes, bit 1 is a barrier, which needs `BARRIER_CTRL`.
fn flush_or_barrier(parts: &mut Parts, value: u8) -> Result<Effect, Refused> {
    let is_on = parts.csd.get(at::CACHE_CTRL) == 1;
    match value {
        0 => Ok(Effect::None),
        1 => Ok(Effect::Flush),
        2 | 3 => {
            require(parts.csd.get(at::BARRIER_CTRL) == 1 && is_on)?;
            if value == 3 {
                return Ok(Effect::Flush);
            }
            parts.storage.cache.barrier();
            Ok(Effect::None)
        }
        _ => Err(Refused),
    }
}

/// `PARTITION_CONFIG`: access, and from which partition the card boots.
fn partition(parts: &Parts, old: u8, new: u8) -> Result<(), Refused> {
    let is_boot_changed = (old ^ new) & 0x78 != 0;
    let is_frozen = parts.csd.get(at::BOOT_CONFIG_PROT) & 0x11 != 0;
    // There are no general purpose partitions.
    require(new & 0x80 == 0 && new & 7 <= 3)?;
    require(matches!(new >> 3 & 7, 0 | 1 | 2 | 7))?;
    require(!(is_boot_changed && is_frozen))?;
    // Tasks belong to the partition that they were queued for, and the RPMB has no queue.
    require(parts.queue.is_empty() || old & 7 == new & 7)?;
    require(!(parts.is_queueing() && new & 7 == 3))
}

/// `BOOT_WP`: both boot partitions, or with a selection bit one of them.
fn boot_protection(parts: &mut Parts, old: u8, new: u8) -> Result<(), Refused> {
    const POWER: u8 = 0x01;
    const PERMANENT: u8 = 0x04;
    const NO_PERMANENT: u8 = 0x10;
    const NO_POWER: u8 = 0x40;
    // Bit 5 is reserved; permanent bits stay set.
    require(new & 0x20 == 0 && keeps(old, new, PERMANENT | NO_PERMANENT))?;
    require(!(new & PERMANENT != 0 && (old | new) & NO_PERMANENT != 0))?;
    require(!(new & POWER != 0 && (old | new) & NO_POWER != 0))?;
    // Bits of a power cycle are written once in it.
    let once = POWER | NO_POWER;
    require(keeps(old, new, once) && !(parts.written_once.boot_wp && old & once != new & once))?;
    parts.written_once.boot_wp |= new & once != 0;
    let is_selective = new & 0x80 != 0;
    for (bit, selected, kind) in [(POWER, 0x02, Kind::PowerOn), (PERMANENT, 0x08, Kind::Permanent)]
    {
        if new & bit == 0 {
            continue;
        }
        for number in 0..2 {
            if !is_selective || (new & selected != 0) == (number == 1) {
                parts.protection.set_boot(number, kind);
            }
        }
    }
    Ok(())
}
