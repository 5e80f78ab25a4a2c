//! Power loss: a host that writes and keeps a log, a cut, a mount, and a judge.
//!
//! ```text
//! workload ─► Rig: host log ◄─► session of the drive, records of its firmware       rig, records
//!                │ cut at a time
//!                ▼
//!             Remains ─ physics of cut operations ───────► mount ─► Readings        physics,
//!             recovery                                                         │
//!             host log, claims of the drive ───────────────────────► check: faults  check
//!
//! life, aged    series of cuts: of a new drive, of one that ages
//! trial         one cut: traffic, mount, judge ─► tally of many
//! guard         earlier pages of wordlines that are kept safe; their order: wordlines
//! mutation      whether the judge finds faults that are put into sound answers
//! ```
//! The log is outside the drive: the requests, their times and their acknowledgements. The judge
//! knows the log and the answers of the drive, and nothing of its state. Guarantees G1 to G10 are
//! listed in `docs/power-loss.md`; the classes of faults are those of Zheng, Tucek, Qin and
//! Lillibridge, "Understanding the robustness of SSDs under power fault", FAST 2013, with some of
//! our own.
//!
//! A drive lives through a series of cuts ([`Life`]); a campaign is many lives, each with its own
//! seed, so any cut is found again without the others. A drive that ages is cut in the course of it
//! ([`cut_aged`]).

mod aged;
mod check;
mod guard;
mod host_log;
mod life;
mod mutation;
mod physics;
mod records;
mod recovery;
mod rig;
mod tally;
mod target;
mod trial;
mod wordlines;
mod workload;

pub use aged::{cut_aged, AgedCut};
pub use check::{check, check_drive, Claims, Class, Fault, MountOutcome, Reading};
pub use host_log::{HostLog, KnownPage, LoggedWrite, PageVersion};
pub use life::{Campaign, Life};
pub use mutation::{self_test, SelfTest};
pub use physics::brown_out;
pub use recovery::{interrupt_operations, CutEffects, FlashAfterCut};
pub use rig::pages_saved;
pub use tally::{ClassCuts, Latency, MountTimes, Pages, Tally};
pub use target::Target;
pub use workload::Pattern;
