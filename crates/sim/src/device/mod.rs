//! The device as other crates use it: the public names of the rooms `drive`, `timed`, `run` and
//! `session`. Nothing is defined here.

pub use crate::drive::{
    Checkpoint, DeviceConfig, Drive, FlushBehaviour, HalfErased, HostCounters, ImageError,
    LowerPageBackup, MapOrder, Mounting, PairedScheme, Placer, Plp, PowerLossConfig, Remains,
    SeqReorder, SubpageWrite, SuspectPages, TrimLog,
};
pub use crate::run::{Progress, Simulation};
pub use crate::session::{
    Asked, Begun, Done, Extent, Interrupted, Kept, MountReport, Pace, Played, Player, Recorded,
    Refusal, Request, Session,
};
pub use crate::timed::Observation;
