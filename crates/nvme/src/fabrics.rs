//! Fabrics commands: connect, and the properties of a controller.

use std::sync::Arc;

use opennandlab_serve::pipe::Pipe;

use crate::bytes::get;
use crate::command::{Entry, FABRICS};
use crate::controller::{Controller, Host};
use crate::features::QUEUES_MAX;
use crate::status::{Outcome, Status};
use crate::target::{Target, DISCOVERY};

const PROPERTY_SET: u8 = 0x00;
const CONNECT: u8 = 0x01;
const PROPERTY_GET: u8 = 0x04;

/// Bytes of the data of a connect.
pub(crate) const CONNECT_BYTES: usize = 1024;
/// Entries of a queue, less one.
pub(crate) const ENTRIES_MAX: u16 = 127;
/// A controller that is to be made.
const DYNAMIC: u16 = 0xffff;
const NQN_BYTES: usize = 256;

const CAPABILITIES: u32 = 0x00;
const VERSION: u32 = 0x08;
const CONFIGURATION: u32 = 0x14;
const STATUS: u32 = 0x1c;

/// NVMe 2.0.0.
pub(crate) const VERSION_VALUE: u32 = 0x0002_0000;
/// Entries; contiguous queues; 15 s to be ready; the NVM command set.
const CAPABILITIES_VALUE: u64 = ENTRIES_MAX as u64 | 1 << 16 | 30 << 24 | 1 << 37;

/// Command sets are identified one by one.
const COMMAND_SETS: u64 = 1 << 43;

/// A queue that is connected. Dropped, its place is free; that of queue 0 ends its controller.
pub(crate) struct Queue {
    pub(crate) target: Arc<Target>,
    pub(crate) controller: Arc<Controller>,
    pub(crate) id: u16,
    pipe: Arc<Pipe>,
    /// Its entries.
    pub(crate) entries: u16,
    /// The host leaves the head of the queue alone.
    pub(crate) is_without_flow: bool,
    /// Milliseconds after which silence ends it; 0 never.
    pub(crate) keep_alive_ms: u32,
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.controller.state().give_back(self.id, &self.pipe);
        if self.id == 0 {
            self.target.remove(&self.controller);
        }
    }
}

/// Why a host was not connected, and the first dword of the completion.
pub(crate) type Refused = (Status, u64);

/// A parameter is no good, at this offset of the entry.
fn bad_entry(offset: u64) -> Refused {
    (Status::CONNECT_PARAMETER, offset)
}

/// The same, of the data.
fn bad_data(offset: u64) -> Refused {
    (Status::CONNECT_PARAMETER, offset | 1 << 16)
}

/// The text of a field that zeros end.
fn text(data: &[u8], offset: usize) -> &[u8] {
    let field = &data[offset..offset + NQN_BYTES];
    &field[..field.iter().position(|&byte| byte == 0).unwrap_or(NQN_BYTES)]
}

/// Connects a queue.
pub(crate) fn connect(
    target: &Arc<Target>,
    entry: &Entry,
    data: &[u8],
    pipe: Arc<Pipe>,
) -> Result<Queue, Refused> {
    if entry.opcode() != FABRICS || entry.0[4] != CONNECT {
        return Err((Status::SEQUENCE, 0));
    }
    if get(&entry.0, 40, 2) != 0 {
        return Err((Status::CONNECT_FORMAT, 0));
    }
    if data.len() != CONNECT_BYTES {
        return Err((Status::SGL_LENGTH, 0));
    }
    let (id, size) = (get(&entry.0, 42, 2) as u16, get(&entry.0, 44, 2) as u16);
    if size == 0 || size > ENTRIES_MAX {
        return Err(bad_entry(44));
    }
    let subsystem = text(data, 256);
    let is_discovery = subsystem == DISCOVERY.as_bytes();
    if !is_discovery && subsystem != target.nqn.as_bytes() {
        return Err(bad_data(256));
    }
    let mut host = Host { id: [0; 16], nqn: text(data, 512).to_vec() };
    host.id.copy_from_slice(&data[..16]);
    if !host.nqn.starts_with(b"nqn.") {
        return Err(bad_data(512));
    }
    let asked = get(data, 16, 2) as u16;
    let controller = match id {
        0 if asked != DYNAMIC => return Err(bad_data(16)),
        0 => target.add(host, is_discovery).ok_or((Status::CONNECT_BUSY, 0))?,
        _ => with_queue(target, asked, &host, id)?,
    };
    let mut state = controller.state();
    if !state.take(id, Arc::clone(&pipe)) {
        return Err((Status::SEQUENCE, 0));
    }
    let keep_alive_ms = if id == 0 { get(&entry.0, 48, 4) as u32 } else { 0 };
    if id == 0 {
        state.features.keep_alive_ms = keep_alive_ms;
    }
    drop(state);
    Ok(Queue {
        target: Arc::clone(target),
        controller,
        id,
        pipe,
        entries: size + 1,
        is_without_flow: entry.0[46] & 1 << 2 != 0,
        keep_alive_ms,
    })
}

/// The controller that an I/O queue names, if it is ready for one.
fn with_queue(
    target: &Target,
    controller: u16,
    host: &Host,
    queue: u16,
) -> Result<Arc<Controller>, Refused> {
    let found = target.find(controller).filter(|it| it.host == *host && !it.is_discovery);
    let controller = found.ok_or(bad_data(16))?;
    let state = controller.state();
    if !state.is_ready() || u32::from(queue) > state.features.queue_count().min(QUEUES_MAX) {
        return Err(bad_entry(42));
    }
    drop(state);
    Ok(controller)
}

/// What a fabrics command to a connected queue does besides its completion.
pub(crate) enum Effect {
    Completed(Outcome),
    /// The controller begins to take commands.
    Enabled,
    /// The host shuts down: memory goes to the flash, and then it is completed.
    ShutDown,
}

/// Carries out a fabrics command of a queue that is connected.
pub(crate) fn execute(queue: &Queue, entry: &Entry) -> Effect {
    if queue.id > 0 || entry.0[4] == CONNECT {
        return Effect::Completed(Err(Status::SEQUENCE));
    }
    let is_wide = entry.0[40] & 7 == 1;
    let offset = entry.dword(11);
    let mut state = queue.controller.state();
    Effect::Completed(match (entry.0[4], offset) {
        (PROPERTY_GET, CAPABILITIES) if is_wide => {
            let of_zones = if queue.target.zones.is_some() { COMMAND_SETS } else { 0 };
            Ok(CAPABILITIES_VALUE | of_zones)
        }
        (PROPERTY_GET, VERSION) if !is_wide => Ok(u64::from(VERSION_VALUE)),
        (PROPERTY_GET, CONFIGURATION) if !is_wide => Ok(u64::from(state.configuration)),
        (PROPERTY_GET, STATUS) if !is_wide => Ok(u64::from(state.status)),
        (PROPERTY_SET, CONFIGURATION) if !is_wide => {
            let was_enabled = state.is_enabled();
            if state.configure(entry.dword(12)) {
                return Effect::ShutDown;
            }
            if !was_enabled && state.is_enabled() {
                return Effect::Enabled;
            }
            Ok(0)
        }
        (PROPERTY_GET | PROPERTY_SET, _) => Err(Status::FIELD),
        _ => Err(Status::OPCODE),
    })
}
