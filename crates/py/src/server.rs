//! A served drive as Python holds it: options and status as JSON text, the rest is the server's.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use opennandlab_nbd::{Export, Nbd};
use opennandlab_nvme::{Nvme, Setup};
use opennandlab_serve::clock::Timing;
use opennandlab_serve::power::Supply;
use opennandlab_serve::protocol::Protocol;
use opennandlab_serve::server::{Door, Options, Server as Serving};
use opennandlab_sim::config::ConfigError;
use opennandlab_sim::drive::ImageError;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Pace, Session};
use pyo3::prelude::*;

use crate::doorway::{doorway, Failure};
use crate::drive::Drive;

/// Where a server is in its life.
enum Life {
    /// It answers.
    Serving(Arc<Serving>),
    /// It is at rest.
    Rested(Box<Session>),
    /// It cannot be used any more.
    Lost,
}

/// A drive that is served, and afterwards can be saved.
#[pyclass(frozen)]
pub(crate) struct Server {
    life: Mutex<Life>,
    tcp: Option<SocketAddr>,
    /// Address and name of the subsystem.
    nvme: Option<(SocketAddr, String)>,
}

impl Server {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Life) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        doorway(py, || {
            work(&mut self.life.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
        })
    }
}

/// A port for NVMe over TCP, as a dictionary of these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct NvmeDoor {
    address: String,
    nqn: Option<String>,
    serial: Option<String>,
    model: String,
    /// `None`: as it was formatted before, or 4096.
    block_bytes: Option<u32>,
    /// Shares of the namespaces.
    namespaces: Option<String>,
    multipath: bool,
    /// The text from which names are derived.
    seed: String,
}

impl NvmeDoor {
    fn setup(self, is_read_only: bool) -> Setup {
        let Self { nqn, serial, model, block_bytes, namespaces, seed, .. } = self;
        let is_multipath = self.multipath;
        let (is_block_given, block_bytes) = (block_bytes.is_some(), block_bytes.unwrap_or(4096));
        Setup {
            nqn,
            serial,
            model,
            block_bytes,
            namespaces,
            is_block_given,
            is_read_only,
            is_multipath,
            seed,
        }
    }
}

fn address(option: &str, text: &str, port: u16) -> Result<SocketAddr, Failure> {
    let message = format!("{option}: `{text}`; accepted: ADDRESS:PORT, such as 127.0.0.1:{port}");
    text.parse().map_err(|_| refused(message))
}

/// Refuses what a drive with zones has not: doors of NBD, and records, which have no words for it.
fn check_zones(
    simulation: &Simulation,
    [has_nbd, is_recorded]: [bool; 2],
) -> Result<(), ConfigError> {
    let message = if simulation.config().ftl.mapping.zoned().is_none() {
        return Ok(());
    } else if has_nbd {
        "a zoned drive cannot be served: NBD has no commands for zones; accepted: --nvme alone"
    } else if is_recorded {
        "requests to zones are not recorded; accepted: no --record and no --record-data"
    } else {
        return Ok(());
    };
    Err(ConfigError::new("ftl.mapping", message))
}

fn refused(message: impl Into<String>) -> Failure {
    Failure::Config(ConfigError::new("serve", message.into()))
}

#[pymethods]
impl Server {
    /// Serves a copy of a drive, with the data of `image` in its pages if it is given.
    ///
    /// `scale`: how many times slower than the model; `None` as fast as this machine. `socket`,
    /// `tcp`: where clients connect. `record`: the file that requests are written to, `capture`:
    /// the one that keeps the bytes of writes. `supply`: the seed of a power supply that may fail.
    /// `nvme`: a port for NVMe over TCP, and what the drive is there.
    #[new]
    #[pyo3(signature = (drive, image, scale, socket, tcp, *, any_address=false, read_only=false,
        record=None, capture=None, supply=None, nvme=None))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // Python names them
    fn new(
        py: Python<'_>,
        drive: &Drive,
        image: Option<&[u8]>,
        scale: Option<f64>,
        socket: Option<PathBuf>,
        tcp: Option<&str>,
        any_address: bool,
        read_only: bool,
        record: Option<PathBuf>,
        capture: Option<PathBuf>,
        supply: Option<u64>,
        nvme: Option<NvmeDoor>,
    ) -> PyResult<Self> {
        let checkpoint = drive.with(py, |drive| Ok(drive.checkpoint()))?;
        doorway(py, || {
            let simulation = Simulation::from_checkpoint(&checkpoint)?;
            drop(checkpoint);
            let image = image.unwrap_or(&[]);
            let (session, supply) = if let Some(seed) = supply {
                let (session, supply) = Supply::new(simulation, image, seed)?;
                (session, Some(supply))
            } else {
                let pace = if scale.is_some() { Pace::Timed } else { Pace::Untimed };
                check_zones(
                    &simulation,
                    [socket.is_some() || tcp.is_some(), record.is_some() || capture.is_some()],
                )?;
                let mut session = Session::with_zones(simulation, pace)?;
                session.load_contents(image).map_err(ImageError::Content)?;
                (session, None)
            };
            let tcp = tcp.map(|text| address("--tcp", text, 10809)).transpose()?;
            let options =
                Options { timing: scale.map_or(Timing::Off, Timing::Scaled), record, capture };
            let bytes = session.capacity_bytes();
            let export = Export { name: "drive".to_owned(), bytes, is_read_only: read_only };
            let nbd: Arc<dyn Protocol> = Arc::new(Nbd(export));
            let mut doors = Vec::new();
            if let Some(address) = tcp {
                let protocol = Arc::clone(&nbd);
                doors.push(Door::tcp(address, any_address, |_| Ok(protocol)).map_err(refused)?);
            }
            let tcp = doors.first().and_then(Door::address);
            if let Some(path) = socket {
                doors.push(Door::unix(&path, nbd).map_err(refused)?);
            }
            let nvme = match nvme {
                Some(door) => {
                    let at = address("--nvme", &door.address, 4420)?;
                    let setup = door.setup(read_only);
                    let mut found = None;
                    let door = Door::tcp(at, any_address, |bound| {
                        let made = Nvme::new(&session, &setup, bound)?;
                        found = Some((bound, made.nqn().to_owned()));
                        Ok(Arc::new(made) as Arc<dyn Protocol>)
                    });
                    doors.push(door.map_err(refused)?);
                    found
                }
                None => None,
            };
            let server = Serving::start(session, supply, &options, doors).map_err(refused)?;
            Ok(Self { life: Mutex::new(Life::Serving(Arc::new(server))), tcp, nvme })
        })
    }

    /// The address and port that were bound, if any.
    fn tcp(&self) -> Option<String> {
        self.tcp.map(|address| address.to_string())
    }

    /// The same for NVMe, and the name of its subsystem.
    fn nvme(&self) -> Option<(String, String)> {
        self.nvme.as_ref().map(|(address, nqn)| (address.to_string(), nqn.clone()))
    }

    /// The counts since the start, as JSON.
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |life| match life {
            Life::Serving(server) => Ok(server.status().to_string()),
            _ => Err(refused("the server was stopped")),
        })
    }

    /// The power fails; nanoseconds from power to ready.
    fn power_off(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |life| match life {
            Life::Serving(server) => server.power_off().map_err(refused),
            _ => Err(refused("the server was stopped")),
        })
    }

    /// The power is back, and the drive ready.
    fn power_on(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |life| match life {
            Life::Serving(server) => server.power_on().map_err(refused),
            _ => Err(refused("the server was stopped")),
        })
    }

    /// Ends all connections and brings the drive to rest; the last status as JSON, and why the
    /// record could not be written.
    fn stop(&self, py: Python<'_>) -> PyResult<(String, Option<String>)> {
        self.with(py, |life| {
            let Life::Serving(server) = std::mem::replace(life, Life::Lost) else {
                return Err(refused("the server was stopped"));
            };
            let Some(server) = Arc::into_inner(server) else {
                return Err(refused("the drive is being saved"));
            };
            let (session, status, recorded) = server.stop();
            if let Some(session) = session {
                *life = Life::Rested(Box::new(session));
            }
            Ok((status.to_string(), recorded.err()))
        })
    }

    /// Writes an image of the drive as it is now to a file, while it is served; bytes of the image,
    /// those that clients had to wait for, and why it could not be written.
    fn save_now(&self, py: Python<'_>, path: &str) -> PyResult<(u64, u64, Option<String>)> {
        let serving = self.with(py, |life| match life {
            Life::Serving(server) => Ok(Arc::clone(server)),
            _ => Err(refused("the server was stopped")),
        })?;
        doorway(py, move || {
            let write = || {
                let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
                let saved = serving.save(&mut file)?;
                file.flush()?;
                file.get_ref().sync_all()?;
                Ok::<_, std::io::Error>(saved)
            };
            Ok(match write() {
                Ok(saved) => (saved.bytes, saved.looked_at_bytes, None),
                Err(error) => (0, 0, Some(error.to_string())),
            })
        })
    }

    /// The first contradiction between the tables of the drive and what its pages hold.
    fn audit(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |life| match life {
            Life::Rested(session) => Ok(session.audit().err()),
            _ => Err(refused("stop the server first")),
        })
    }

    /// Writes the image of the drive and what its pages hold to a file; why it could not be.
    fn save(&self, py: Python<'_>, path: &str) -> PyResult<Option<String>> {
        self.with(py, |life| {
            let Life::Rested(session) = life else { return Err(refused("stop the server first")) };
            let write = || {
                let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
                session.save(&mut file)?;
                file.flush()?;
                file.get_ref().sync_all()
            };
            Ok(write().err().map(|error| error.to_string()))
        })
    }
}
