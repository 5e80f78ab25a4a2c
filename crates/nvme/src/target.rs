//! The drive as hosts know it: its names and namespaces, and the controllers that it has.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opennandlab_sim::session::Session;
use serde_json::{json, Value};
use sha2::{Digest, Sha256};

use crate::controller::{Controller, Host};
use crate::failures::Failures;
use crate::namespaces::{self, Namespace, FORMATS};
use crate::placement::Placement;
use crate::status::Status;
use crate::zones::{self, Zoned};

/// The subsystem that lists others.
pub(crate) const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// What images keep of the subsystem, under this name.
pub(crate) const NOTE: &str = "nvme";
/// Controllers at once.
const CONTROLLERS_MAX: u16 = 16;
/// Most bytes of a name.
const NQN_BYTES_MAX: usize = 223;
const SERIAL_BYTES_MAX: usize = 20;

/// What the drive is called, and how it is laid out.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Qualified name; `None` for one made of `seed`.
    pub nqn: Option<String>,
    /// Serial number; `None` for one made of the name.
    pub serial: Option<String>,
    /// Model.
    pub model: String,
    /// Bytes of a logical block at first: 512 or 4096.
    pub block_bytes: u32,
    /// Shares of the namespaces, such as `25%,75%`; `None` for one, or those of the drive's own
    /// configuration.
    pub namespaces: Option<String>,
    /// `block_bytes` also holds for a drive that was formatted otherwise before.
    pub is_block_given: bool,
    /// Writes are refused.
    pub is_read_only: bool,
    /// Hosts may reach its namespaces over several controllers.
    pub is_multipath: bool,
    /// Differs between servers: a digest of the configuration.
    pub seed: String,
}

/// See the module.
pub(crate) struct Target {
    pub(crate) nqn: String,
    pub(crate) serial: String,
    pub(crate) model: String,
    pub(crate) address: SocketAddr,
    /// By number, from 1 on.
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) capacity_bytes: u64,
    pub(crate) unit_bytes: u64,
    pub(crate) is_read_only: bool,
    pub(crate) is_multipath: bool,
    /// Whether there is a cache that hosts may switch off.
    pub(crate) has_cache: bool,
    /// Whether writes may end there.
    pub(crate) uses_cache: AtomicBool,
    /// Losses of power before a controller was enabled last.
    cuts: AtomicU64,
    /// Writes that begin or end inside a map unit.
    pub(crate) unaligned: AtomicU64,
    controllers: Mutex<BTreeMap<u16, Arc<Controller>>>,
    pub(crate) failures: Arc<Failures>,
    pub(crate) zones: Option<Zoned>,
    pub(crate) placement: Option<Placement>,
}

fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

/// 16 bytes as a UUID whose bits are the maker's own: version 8, variant 1.
fn uuid(hash: &[u8]) -> [u8; 16] {
    let mut bytes: [u8; 16] = std::array::from_fn(|place| hash[place]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value| char::from_digit(u32::from(value), 16).expect("four bits");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The name of a server that was given none.
fn default_nqn(seed: &str, port: u16) -> String {
    let text = hexadecimal(&uuid(&hash(&[seed.as_bytes(), &port.to_be_bytes()])));
    let parts = [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]];
    format!("nqn.2014-08.org.nvmexpress:uuid:{}", parts.join("-"))
}

fn check(setup: &Setup) -> Result<(), String> {
    let is_printable = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if let Some(nqn) = &setup.nqn {
        if !nqn.starts_with("nqn.") || nqn.len() > NQN_BYTES_MAX || nqn == DISCOVERY {
            return Err(format!(
                "nqn: `{nqn}`; accepted: `nqn.` and more, at most {NQN_BYTES_MAX} bytes, not the \
                 name of discovery"
            ));
        }
    }
    if let Some(serial) = &setup.serial {
        let is_sound = (1..=SERIAL_BYTES_MAX).contains(&serial.len()) && is_printable(serial);
        if !is_sound {
            return Err(format!(
                "serial: `{serial}`; accepted: 1 to {SERIAL_BYTES_MAX} printable ASCII characters"
            ));
        }
    }
    Ok(())
}

impl Target {
    pub(crate) fn new(
        session: &Session,
        setup: &Setup,
        address: SocketAddr,
    ) -> Result<Self, String> {
        check(setup)?;
        let note = session.note(NOTE);
        let kept = |key: &str| note.and_then(|note| note.get(key));
        let kept_nqn = || kept("nqn").and_then(Value::as_str).map(str::to_owned);
        let nqn = setup.nqn.clone().or_else(kept_nqn);
        let nqn = nqn.unwrap_or_else(|| default_nqn(&setup.seed, address.port()));
        let own = hash(&[nqn.as_bytes()]);
        let serial = setup.serial.clone().unwrap_or(format!("ONL{}", hexadecimal(&own[..8])));
        let names = |id: u32| {
            let own = hash(&[nqn.as_bytes(), &id.to_le_bytes()]);
            [uuid(&own[16..]), uuid(&own)]
        };
        let shares = setup.namespaces.as_deref();
        let parts = kept("namespaces").map(namespaces::kept);
        let namespaces = namespaces::divide(session, (shares, parts), setup.block_bytes, names)?;
        let formats = kept("block_bytes").and_then(Value::as_array);
        if let Some(formats) = formats.filter(|it| it.len() == namespaces.len()) {
            for (namespace, bytes) in namespaces.iter().zip(formats) {
                let format = FORMATS.iter().position(|&it| bytes.as_u64() == Some(it.into()));
                if let (Some(format), false) = (format, setup.is_block_given) {
                    namespace.set_format(format as u32);
                }
            }
        }
        let counted = |key: &str| kept(key).and_then(Value::as_u64).unwrap_or(0);
        Ok(Self {
            serial,
            model: setup.model.clone(),
            address,
            namespaces,
            capacity_bytes: session.capacity_bytes(),
            unit_bytes: session.unit_bytes(),
            is_read_only: setup.is_read_only,
            is_multipath: setup.is_multipath,
            has_cache: session.has_volatile_cache(),
            uses_cache: AtomicBool::new(true),
            cuts: AtomicU64::new(0),
            unaligned: AtomicU64::new(counted("unaligned")),
            controllers: Mutex::default(),
            failures: Arc::new(Failures::after(counted("failures"))),
            placement: Placement::of(session),
            zones: Zoned::of(session, setup.block_bytes, shares)?,
            nqn,
        })
    }

    /// A controller is enabled. All share the cache, so it is as at first behind a loss of power,
    /// and for a controller that is alone.
    pub(crate) fn begin(&self, cuts: u64) {
        let count = self.controllers().values().filter(|it| !it.is_discovery).count();
        if self.cuts.swap(cuts, Ordering::SeqCst) != cuts || count == 1 {
            self.uses_cache.store(true, Ordering::SeqCst);
        }
    }

    fn controllers(&self) -> MutexGuard<'_, BTreeMap<u16, Arc<Controller>>> {
        self.controllers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A controller for a host; `None` when there are too many.
    pub(crate) fn add(&self, host: Host, is_discovery: bool) -> Option<Arc<Controller>> {
        let mut controllers = self.controllers();
        let free = (1..=CONTROLLERS_MAX).find(|id| !controllers.contains_key(id))?;
        let controller = Arc::new(Controller::new(free, host, is_discovery));
        controllers.insert(free, Arc::clone(&controller));
        Some(controller)
    }

    pub(crate) fn find(&self, id: u16) -> Option<Arc<Controller>> {
        self.controllers().get(&id).cloned()
    }

    /// A namespace has another format: hosts learn it, but not by the controller that did it.
    pub(crate) fn note_change(&self, namespace: u32, by: &Controller) {
        for controller in self.controllers().values().filter(|it| it.id != by.id) {
            controller.state().news.changed(namespace);
        }
    }

    /// What the image of the drive keeps of its names and counts.
    pub(crate) fn note(&self) -> Value {
        json!({
            "nqn": self.nqn,
            "block_bytes": self.namespaces.iter().map(Namespace::block_bytes).collect::<Vec<_>>(),
            "namespaces": namespaces::note(&self.namespaces),
            "failures": self.failures.all().0,
            "unaligned": self.unaligned.load(Ordering::Relaxed),
        })
    }

    /// The controllers of the drive that one of them names: all of them where hosts may have
    /// several paths, and itself alone elsewhere.
    pub(crate) fn known_to(&self, controller: u16) -> Vec<u16> {
        let controllers = self.controllers();
        let known = controllers.values().filter(|it| !it.is_discovery).map(|it| it.id);
        known.filter(|&id| self.is_multipath || id == controller).collect()
    }

    /// A controller ends, and its queues with it.
    pub(crate) fn remove(&self, controller: &Controller) {
        self.controllers().remove(&controller.id);
        controller.close();
    }

    /// Counts a write that begins or ends inside a map unit.
    pub(crate) fn note_alignment(&self, offset: u64, length: u32) {
        let unit = self.unit_bytes;
        if offset % unit + u64::from(length) % unit > 0 {
            self.unaligned.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The command set of the namespaces.
    pub(crate) fn command_set(&self) -> u32 {
        self.zones.map_or(0, |_| zones::COMMAND_SET)
    }

    /// The namespace of this number.
    pub(crate) fn namespace(&self, id: u32) -> Result<&Namespace, Status> {
        let place = (id as usize).checked_sub(1);
        place.and_then(|place| self.namespaces.get(place)).ok_or(Status::NAMESPACE)
    }
}
