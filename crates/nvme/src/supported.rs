//! Which logs and features a controller has: those that it answers, and that logs 00h and 12h list.
//!
//! Sources: NVM Express Base Specification 2.0, 5.16.1.1 Supported Log Pages, 5.16.1.18 Feature
//! Identifiers Supported and Effects; 2.3, 3.1.3.5 and 3.1.3.6 for what each kind of controller may
//! have, and 5.2.26 for scopes of features.

use crate::behavior::BEHAVIOR;
use crate::bytes::put_number;
use crate::fabrics::Queue;
use crate::features::{
    self, COMMAND_SETS, ERROR_RECOVERY, EVENTS, HOST_ID, KEEP_ALIVE, QUEUES, TIMESTAMP, WRITE_CACHE,
};
use crate::purge::SANITIZED;
use crate::{latency_log, placement, zones};

/// The two lists.
pub(crate) const LOGS: u8 = 0x00;
pub(crate) const FEATURES: u8 = 0x12;
/// Commands of the management interface, of which there are none.
pub(crate) const MANAGEMENT: u8 = 0x13;
/// Logs of every drive, and of the controller that lists subsystems.
const OF_DRIVES: [u8; 12] =
    [LOGS, 0x01, 0x02, 0x03, 0x04, 0x05, 0x09, FEATURES, MANAGEMENT, SANITIZED, 0xc0, 0xc3];
const OF_DISCOVERY: [u8; 4] = [LOGS, 0x05, FEATURES, 0x70];

/// Scopes of commands and features.
pub(crate) const NAMESPACE_SCOPE: u64 = 1 << 20;
pub(crate) const CONTROLLER_SCOPE: u64 = 1 << 21;
const GROUP_SCOPE: u64 = 1 << 23;
pub(crate) const SUBSYSTEM_SCOPE: u64 = 1 << 25;

/// Whether a controller has a log.
pub(crate) fn has_log(queue: &Queue, log: u8) -> bool {
    let target = &queue.target;
    if queue.controller.is_discovery {
        return OF_DISCOVERY.contains(&log);
    }
    match log {
        0x20..=0x23 => target.placement.is_some(),
        zones::CHANGED_LOG => target.zones.is_some(),
        _ => OF_DRIVES.contains(&log),
    }
}

/// Whether a controller has a feature.
pub(crate) fn has_feature(queue: &Queue, id: u8) -> bool {
    let target = &queue.target;
    if queue.controller.is_discovery {
        return matches!(id, EVENTS | KEEP_ALIVE);
    }
    match id {
        WRITE_CACHE => target.has_cache,
        COMMAND_SETS => target.zones.is_some(),
        // It is that of copies, which zones do not have.
        BEHAVIOR => target.zones.is_none(),
        placement::FEATURE | placement::EVENTS_FEATURE => target.placement.is_some(),
        QUEUES | TIMESTAMP | KEEP_ALIVE | HOST_ID | latency_log::FEATURE => true,
        _ => features::is_stored(id),
    }
}

/// A dword for each number.
fn listed(of: impl Fn(u8) -> u64) -> Vec<u8> {
    let mut page = vec![0; 1024];
    (0..=u8::MAX).for_each(|id| put_number(&mut page, 4 * usize::from(id), 4, of(id)));
    page
}

/// The list of logs.
pub(crate) fn logs(queue: &Queue) -> Vec<u8> {
    listed(|id| u64::from(has_log(queue, id)))
}

/// The list of features, each with its scope.
pub(crate) fn features(queue: &Queue) -> Vec<u8> {
    let scope = |id| match id {
        ERROR_RECOVERY => NAMESPACE_SCOPE,
        placement::FEATURE | placement::EVENTS_FEATURE => GROUP_SCOPE,
        latency_log::FEATURE => SUBSYSTEM_SCOPE,
        _ => CONTROLLER_SCOPE,
    };
    listed(|id| u64::from(has_feature(queue, id)) * (1 | scope(id)))
}
