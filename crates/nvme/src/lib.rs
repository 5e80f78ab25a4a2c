//! A simulated drive as an NVMe controller that any Linux host connects to, over TCP.
//!
//! ```text
//! bytes ─► pdu ─► link: capsules and their data ─┬─► fabrics: connect, properties
//!                                                ├─► admin ─► identify, features, logs ─► target
//!   ◄───── reply: completions, data ◄────────────┴─► io ─► request ─► the drive of crate serve
//! ```
//! A connection is a queue. The first one of a host connects queue 0 and makes a controller
//! (`controller`); others name that controller. A link is a reader of PDUs: it asks for the data of
//! a command that came without (R2T), takes other capsules meanwhile, and gives the command with
//! its data to the room that knows it. All work of the drive goes to the same core as the requests
//! of NBD, so both leave the same drive, and the model alone decides when a command is done. Logs
//! are made when they are asked for, of the counters of the model (`Session::vitals`).
//!
//! | module | holds |
//! |---|---|
//! | `bytes` `digest` `pdu` `status` `command` | numbers of the protocol, as functions of bytes |
//! | `target` `namespaces` `failures` | the drive as hosts know it: parts, controllers, failures |
//! | `controller` `news` | properties, features, events and queues of one association |
//! | `front` `link` | a connection from its first byte to its end |
//! | `logs` `latency_log` `supported` | work and wear of the drive, lists of logs and features |
//! | `fabrics` `admin` `identify` `features` `behavior` `purge` `io` `copy` | commands |
//! | `zones` `placement` | those of drives with zones or placement handles |
//! | `reply` | completions |
//!
//! Sources: NVM Express Base Specification 2.0, NVM Command Set Specification 1.0, NVMe over TCP
//! Transport Specification 1.0, OCP Datacenter NVMe SSD Specification 2.0 (logs C0h and C3h). A
//! command that is not built is answered as the specification demands, and no bit announces it.

mod admin;
mod behavior;
mod bytes;
mod command;
mod controller;
mod copy;
mod digest;
mod fabrics;
mod failures;
mod features;
mod front;
mod identify;
mod io;
mod latency_log;
mod link;
mod logs;
mod namespaces;
mod news;
mod pdu;
mod placement;
mod purge;
mod reply;
mod status;
mod supported;
mod target;
mod zones;

pub use digest::crc32c;
pub use front::Nvme;
pub use target::Setup;
