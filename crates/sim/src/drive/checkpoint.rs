//! The exact state of a drive at rest as bytes: a restored drive behaves as the saved one would
//! have.
//!
//! ```text
//! offset  bytes  field
//!      0      8  "ONLSTATE"
//!      8      4  format version, little endian
//!     12      8  length of the body, little endian
//!     20      4  CRC-32 of the body, little endian
//!     24      …  body: State (postcard), then the out-of-band areas, 4 bytes each, little endian
//! ```
//! An image (`image`) is the drive after a power cut; a checkpoint is the drive in its present
//! state, between two cells: media and FTL tables, and also the volatile state that affects later
//! results: the pages in the write buffer and in the caches, in their order, the throttles, the
//! seeds of the drive, its clock, the refresh times of its blocks, and the state of its read error
//! model, including random streams. Not stored: the counters of the firmware, of which only
//! differences are used. The map is rebuilt and audited.

use serde::{Deserialize, Serialize};

use super::config::DeviceConfig;
use super::drive::Drive;
use super::host_counters::HostCounters;
use super::image::{open, seal, ImageError, Magic};
use crate::ftl::{Ftl, FtlSnapshot, Volatile};
use crate::nand::{BlockTables, Media};
use crate::reads::ReadMemory;
use crate::units::Ns;

const MAGIC: Magic = Magic { word: *b"ONLSTATE", version: 10, flags: 0 };

#[derive(Serialize, Deserialize)]
struct State {
    config: String,
    seed: u64,
    blocks: BlockTables,
    ftl: FtlSnapshot,
    begun_in_vain: Vec<u32>,
    /// Pages that are programmed in parts, of each open block.
    partial_pages: Vec<Vec<[u32; 3]>>,
    /// Write buffer, pages written through, pages read, pages of the write buffer in part.
    memory: [Vec<u64>; 4],
    throttle: Option<(f64, f64, bool, u64)>,
    is_worn_out: bool,
    /// Host counters, which the health report of a restored drive continues.
    host: HostCounters,
    /// Simulated time up to now, and the refresh times of blocks.
    clock: u64,
    refresh: Vec<Vec<u64>>,
    patrol: Option<[u64; 4]>,
    reads: ReadMemory,
    /// The seed of the following random draws.
    draw_seed: u64,
}

/// The drive, which is at rest.
pub(crate) fn save(drive: &Drive) -> Vec<u8> {
    let (ftl, volatile) = drive.ftl.save();
    let Volatile { begun_in_vain, partial_pages, refresh } = volatile;
    let state = State {
        config: drive.config.to_json().to_string(),
        seed: drive.seed,
        blocks: drive.media.tables(),
        ftl,
        begun_in_vain,
        partial_pages,
        memory: drive.save_memory(),
        throttle: drive.throttle.as_ref().map(crate::host::throttle::Throttle::save),
        is_worn_out: drive.is_worn_out,
        host: drive.host,
        clock: drive.clock.0,
        refresh,
        patrol: drive.patrol.as_ref().map(|patrol| patrol.save()),
        reads: drive.errors.save(),
        draw_seed: drive.draw_seed,
    };
    // Last and not in the body: a copy of a terabyte's out-of-band areas would take a gigabyte.
    seal(&MAGIC, &state, &drive.media.oob)
}

/// The drive of a checkpoint.
pub(crate) fn load(bytes: &[u8]) -> Result<Drive, ImageError> {
    let (state, oob, _): (State, _, _) = open(&MAGIC, bytes)?;
    assemble(state, oob).map_err(ImageError::Content)
}

fn assemble(state: State, oob: &[u8]) -> Result<Drive, String> {
    let config = DeviceConfig::resolve(&state.config).map_err(|error| error.to_string())?;
    let setup = config.pool_setup(state.seed);
    let media = Media::restore(setup.geometry, config.superblocks(), state.blocks);
    let fits = media.filter(|media| 4 * media.oob.len() == oob.len());
    let mut media = fits.ok_or("the media tables are of another geometry")?;
    for (lpn, bytes) in media.oob.iter_mut().zip(oob.chunks_exact(4)) {
        *lpn = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let State { begun_in_vain, partial_pages, refresh, .. } = state;
    let volatile = Volatile { begun_in_vain, partial_pages, refresh };
    let ftl = Ftl::restore(&config.ftl, &setup, &media, (&state.ftl, &volatile))?;
    let mut drive = Drive::assemble(config, media, ftl, state.seed);
    drive.restore_memory(&state.memory)?;
    drive.throttle = drive.config.host.build_throttle().filter(|_| state.throttle.is_some());
    if let (Some(throttle), Some(saved)) = (&mut drive.throttle, state.throttle) {
        throttle.restore(saved);
    }
    if !drive.errors.restore(&state.reads) {
        return Err("the state of its reads belongs to another drive".into());
    }
    drive.draw_seed = state.draw_seed;
    drive.is_worn_out = state.is_worn_out;
    drive.host = state.host;
    drive.clock = Ns(state.clock);
    if let (Some(patrol), Some(saved)) = (&mut drive.patrol, state.patrol) {
        patrol.restore(saved);
    }
    Ok(drive)
}
