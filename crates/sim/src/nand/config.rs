//! The `nand` section of a device file: topology, cells, timing, wear.
//!
//! Timing defaults depend on the cell type. If no measured source exists for a generation, the
//! value is marked "assumed"; `docs/validation.md` lists these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::energy::EnergyConfig;
use super::failures::FailuresConfig;
use super::faults::Fault;
use super::mechanisms::{
    check_disturb, check_time, CacheCommands, ProgramMode, Variation, WearTiming,
};
use super::page_times::PageTimes;
use crate::cells::CellsConfig;
use crate::config::{bytes_or_text, name_or_mapping, ConfigError};
use crate::geometry::Geometry;
use crate::reliability::conditions::StressConfig;
use crate::reliability::spread::SpreadConfig;
use crate::units::Ns;

/// Bits stored in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum CellType {
    /// One bit.
    Slc,
    /// Two bits.
    Mlc,
    /// Three bits.
    Tlc,
    /// Four bits.
    Qlc,
}

/// Defaults of a cell type, for keys that the device file leaves out.
struct CellDefaults {
    max_pe_cycles: u32,
    t_read_us: f64,
    t_program_us: f64,
    t_erase_us: f64,
    bus_mt_s: f64,
    timing_source: &'static str,
    endurance_source: &'static str,
}

impl CellType {
    /// Bits in a cell, so pages on a wordline.
    pub fn bits(self) -> u32 {
        match self {
            Self::Slc => 1,
            Self::Mlc => 2,
            Self::Tlc => 3,
            Self::Qlc => 4,
        }
    }

    fn defaults(self) -> CellDefaults {
        match self {
            Self::Slc => CellDefaults {
                max_pe_cycles: 100_000,
                t_read_us: 25.0,
                t_program_us: 200.0,
                t_erase_us: 3000.0,
                bus_mt_s: 400.0,
                timing_source:
                    "SNIA tutorial on NAND performance, 2009: 25/200/3000 us, 400 MB/s bus",
                endurance_source: "assumed: usual rating of SLC",
            },
            Self::Mlc => CellDefaults {
                max_pe_cycles: 10_000,
                t_read_us: 60.0,
                t_program_us: 600.0,
                t_erase_us: 10_000.0,
                bus_mt_s: 400.0,
                timing_source:
                    "SNIA tutorial on NAND performance, 2009: 60/600/10000 us, 400 MB/s bus",
                endurance_source: "OpenNANDLab 2.0 benchmark page: MLC-enterprise",
            },
            Self::Tlc => CellDefaults {
                max_pe_cycles: 3000,
                t_read_us: 60.0,
                t_program_us: 700.0,
                t_erase_us: 3500.0,
                bus_mt_s: 800.0,
                timing_source: "assumed: order of 3D TLC generations around 2017",
                endurance_source: "OpenNANDLab 2.0 benchmark page: TLC-standard",
            },
            Self::Qlc => CellDefaults {
                max_pe_cycles: 1000,
                t_read_us: 140.0,
                t_program_us: 2200.0,
                t_erase_us: 10_000.0,
                bus_mt_s: 800.0,
                timing_source: "assumed: order of 3D QLC generations around 2018",
                endurance_source: "assumed: usual rating of QLC",
            },
        }
    }
}

/// Times of the flash array and rate of its bus. Defaults depend on the cell type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimingConfig {
    /// tR: time to sense a page into the page register, in microseconds; one number or one per page
    /// type.
    pub t_read_us: Option<PageTimes>,
    /// tPROG: time to program a page from the register, in microseconds; one number or one per page
    /// type.
    pub t_program_us: Option<PageTimes>,
    /// tBERS: time to erase a block, in microseconds.
    pub t_erase_us: Option<f64>,
    /// Rate of the 8-bit channel bus in megatransfers (so megabytes) per second.
    pub bus_mt_s: Option<f64>,
    /// Bus time of the command and address cycles of an operation, in microseconds. Default 0: no
    /// such cycles. ONFI takes about seven cycles, 0.2 to 0.4 us at legacy rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_us: Option<f64>,
}

/// Handling of a block at its rated endurance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WearOut {
    /// It is taken out of use: spare area shrinks, until the drive cannot take writes.
    #[default]
    Retire,
    /// It stays in use, with the error rate of its wear.
    Ignore,
}

/// The flash of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NandConfig {
    /// Bits per cell: SLC, MLC, TLC or QLC. Decides the defaults of timing and endurance.
    pub cell_type: CellType,
    /// Channels: independent buses.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
    /// Planes of each die. One pool of blocks per die; planes only multiply the blocks, unless
    /// `multi_plane` joins them.
    pub planes_per_die: u32,
    /// Whether the planes of a die work together: blocks of the same number join into one
    /// wide block, and one command carries a page of each plane. Needs 2 planes or more.
    pub multi_plane: bool,
    /// Whether the planes of a die read independently of each other: different blocks, pages and
    /// times. Programs, erases and reads of collections that span planes take the whole die. Left
    /// out: false. Needs 2 planes or more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub independent_planes: bool,
    /// Erase blocks of each plane.
    pub blocks_per_plane: u32,
    /// Pages of each block, 1 to 65535.
    pub pages_per_block: u32,
    /// Data bytes of a page: a power of two, 512 B to 1 MiB.
    #[serde(deserialize_with = "bytes_or_text")]
    pub page_size_bytes: u64,
    /// Out-of-band bytes of a page, for ECC parity. Default: 5/32 of the page (assumed).
    pub oob_size_bytes: Option<u64>,
    /// Rated program/erase cycles of a block. Default by cell type.
    pub max_pe_cycles: Option<u32>,
    /// Raw bit error rate of a fresh block.
    pub rber_floor: f64,
    /// Raw bit error rate that wear saturates at.
    pub rber_ceil: f64,
    /// Share of blocks that are bad from the factory, 0 to 0.2.
    pub factory_bad_block_ratio: f64,
    /// Handling of a block that reached `max_pe_cycles`.
    pub wear_out: WearOut,
    /// Times and bus rate. Defaults by cell type.
    pub timing: TimingConfig,
    /// Times of blocks that are used with one bit per cell. Defaults are those of SLC flash. Used
    /// with `ftl.slc_cache`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc_timing: Option<TimingConfig>,
    /// `page` (the default), `one_shot` or `multi_pass`.
    #[serde(deserialize_with = "name_or_mapping")]
    pub program: ProgramMode,
    /// NOP of the data sheets: programs that a page of SLC flash takes between two erases, 2 to its
    /// map units. Data that a flush, a write with force unit access or `ftl.fill_timeout_us` puts
    /// on the flash is then programmed without padding, and later units go to the same page. Needs
    /// `ftl.map_unit_bytes` below the page. Left out: a page is programmed once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_programs: Option<u32>,
    /// Relative increase of the error rate of data in a page with each further program of this
    /// page, 0 to 100: with 0.5, two programs double it. Needs `nand.partial_programs`. Left out:
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_disturb: Option<f64>,
    /// Cache read and cache program; left out: neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_commands: Option<CacheCommands>,
    /// Process variation; left out: all dies and blocks alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation: Option<Variation>,
    /// Probabilities that a program or an erase fails, which takes its block out of use; left out:
    /// none fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<FailuresConfig>,
    /// Times that move with wear; left out: they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear_timing: Option<WearTiming>,
    /// Conditions of pages when they are read, in addition to wear; left out: just programmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stress: Option<StressConfig>,
    /// Faults that strike in timed stages, such as `{kind: die_lost, die: 3, at_s: 1}`, or while a
    /// drive is served, such as `{kind: corrupt, unit: 7, at_s: 0}`; left out: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Cells of some blocks; only with `ecc.fidelity: cells`, which fills it in if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<CellsConfig>,
    /// How much blocks and layers differ in error rate; left out: they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_spread: Option<SpreadConfig>,
    /// Energy of operations and of idle dies, for `metrics.power`; left out: not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyConfig>,
}

impl Default for NandConfig {
    fn default() -> Self {
        Self {
            cell_type: CellType::Tlc,
            channels: 8,
            dies_per_channel: 2,
            planes_per_die: 2,
            multi_plane: false,
            independent_planes: false,
            blocks_per_plane: 1024,
            pages_per_block: 256,
            page_size_bytes: 4096,
            oob_size_bytes: None,
            max_pe_cycles: None,
            rber_floor: 1e-8,
            rber_ceil: 9.8786e-4,
            factory_bad_block_ratio: 0.0,
            wear_out: WearOut::Retire,
            timing: TimingConfig::default(),
            slc_timing: None,
            program: ProgramMode::default(),
            partial_programs: None,
            program_disturb: None,
            cache_commands: None,
            variation: None,
            failures: None,
            wear_timing: None,
            stress: None,
            faults: Vec::new(),
            cells: None,
            error_spread: None,
            energy: None,
        }
    }
}

/// Timing in the simulator's own unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// tR by page type.
    pub read: Vec<Ns>,
    /// tPROG by page type; the same number of them as of `read`.
    pub program: Vec<Ns>,
    /// tBERS.
    pub erase: Ns,
    /// Transfer of one page over the channel.
    pub transfer: Ns,
}

impl NandConfig {
    /// Fills in the defaults of the cell type for missing keys, so that the resolved file shows
    /// every value.
    pub(crate) fn fill_defaults(&mut self) {
        let cell = self.cell_type.defaults();
        let timing = &mut self.timing;
        timing.t_read_us.get_or_insert(PageTimes(vec![cell.t_read_us]));
        timing.t_program_us.get_or_insert(PageTimes(vec![cell.t_program_us]));
        timing.t_erase_us.get_or_insert(cell.t_erase_us);
        timing.bus_mt_s.get_or_insert(cell.bus_mt_s);
        if let Some(slc) = &mut self.slc_timing {
            let cell = CellType::Slc.defaults();
            slc.t_read_us.get_or_insert(PageTimes(vec![cell.t_read_us]));
            slc.t_program_us.get_or_insert(PageTimes(vec![cell.t_program_us]));
            slc.t_erase_us.get_or_insert(cell.t_erase_us);
            slc.bus_mt_s = timing.bus_mt_s;
        }
        self.max_pe_cycles.get_or_insert(cell.max_pe_cycles);
        self.oob_size_bytes.get_or_insert(self.page_size_bytes / 32 * 5);
    }

    /// Dotted path and source of each default that a resolved device can hold.
    pub(crate) fn sources(&self) -> Vec<(&'static str, &'static str)> {
        let cell = self.cell_type.defaults();
        let mut rows = vec![
            ("nand.timing", cell.timing_source),
            ("nand.max_pe_cycles", cell.endurance_source),
            ("nand.oob_size_bytes", "assumed: 5/32 of the page, room for BCH (255,223) parity"),
            ("nand.rber_floor", "OpenNANDLab 2.0 benchmark page: RBER table at 0 cycles"),
            (
                "nand.rber_ceil",
                "fitted exactly to the RBER table of the OpenNANDLab 2.0 benchmark page",
            ),
        ];
        if self.stress.is_some() {
            let none = "none: data is fresh unless it is given";
            rows.push(("nand.stress.retention_h", none));
            rows.push(("nand.stress.reads", none));
            let storage = "JEDEC JESD218: storage of enterprise drives (recalled, unverified)";
            rows.push(("nand.stress.temperature_c", storage));
        }
        if self.error_spread.is_some() {
            let alike = "none: blocks and layers err alike unless it is given";
            rows.push(("nand.error_spread", alike));
        }
        rows
    }

    /// Ranges of single keys.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let counts = [
            ("channels", self.channels, 1024),
            ("dies_per_channel", self.dies_per_channel, 1024),
            ("planes_per_die", self.planes_per_die, 64),
            ("blocks_per_plane", self.blocks_per_plane, 1 << 24),
            ("pages_per_block", self.pages_per_block, 65_535),
            ("max_pe_cycles", self.max_pe_cycles.unwrap_or(1), 1_000_000_000),
        ];
        for (key, value, limit) in counts {
            if value == 0 || value > limit {
                let message = format!("{value} is out of range; accepted: 1 to {limit}");
                return Err(ConfigError::new(key, message));
            }
        }
        if !self.page_size_bytes.is_power_of_two()
            || !(512..=1 << 20).contains(&self.page_size_bytes)
        {
            return Err(ConfigError::new(
                "page_size_bytes",
                format!(
                    "{} is not a valid page size; accepted: a power of two from 512 to 1048576",
                    self.page_size_bytes
                ),
            ));
        }
        let rates = [
            ("rber_floor", self.rber_floor, 0.0, 0.5),
            ("rber_ceil", self.rber_ceil, self.rber_floor, 0.5),
            ("factory_bad_block_ratio", self.factory_bad_block_ratio, 0.0, 0.2),
        ];
        for (key, value, first, last) in rates {
            if !(first..=last).contains(&value) {
                let message = format!("{value} is out of range; accepted: {first} to {last}");
                return Err(ConfigError::new(key, message));
            }
        }
        check_timing(&self.timing).map_err(|error| error.under("timing"))?;
        if let Some(slc) = &self.slc_timing {
            check_timing(slc).map_err(|error| error.under("slc_timing"))?;
        }
        if let Some(stress) = &self.stress {
            stress.check().map_err(|error| error.under("stress"))?;
        }
        let dies = self.channels * self.dies_per_channel;
        for (place, fault) in self.faults.iter().enumerate() {
            fault.check(dies).map_err(|error| error.under(&format!("faults[{place}]")))?;
        }
        if let Some(spread) = &self.error_spread {
            spread.check().map_err(|error| error.under("error_spread"))?;
        }
        if let Some(energy) = &self.energy {
            energy.check().map_err(|error| error.under("energy"))?;
        }
        self.check_mechanisms()
    }

    /// Ranges and relations of the keys that need the full back end.
    fn check_mechanisms(&self) -> Result<(), ConfigError> {
        self.program.check().map_err(|error| error.under("program"))?;
        if !self.program.is_page() && self.cell_type == CellType::Slc {
            let message = "a wordline of SLC flash is one page; accepted: page";
            return Err(ConfigError::new("program", message));
        }
        check_disturb(self.program_disturb, self.partial_programs)?;
        if let Some(failures) = &self.failures {
            failures.check(self.max_pe_cycles)?;
        }
        if let Some(variation) = &self.variation {
            variation.check().map_err(|error| error.under("variation"))?;
        }
        if let Some(wear) = &self.wear_timing {
            wear.check().map_err(|error| error.under("wear_timing"))?;
        }
        Ok(())
    }

    /// Whether the configuration needs features that the plain back end does not have.
    pub(crate) fn needs_full(&self) -> bool {
        let cache = self.cache_commands.as_ref();
        self.multi_plane
            || self.independent_planes
            || self.timing.command_us.unwrap_or(0.0) > 0.0
            || !self.program.is_page()
            || cache.is_some_and(|cache| cache.read || cache.program)
            || self.variation.is_some()
            || self.wear_timing.is_some()
            || self.faults.iter().any(|fault| fault.lost_die().is_some())
    }

    /// The shape of the drive.
    ///
    /// # Errors
    /// When page numbers do not fit 32 bits.
    pub fn geometry(&self) -> Result<Geometry, ConfigError> {
        let plane_count = if self.multi_plane { self.planes_per_die } else { 1 };
        if self.multi_plane && plane_count == 1 {
            return Err(ConfigError::new(
                "multi_plane",
                "true with planes_per_die 1: a multi-plane command needs two planes; accepted: \
                 false, or planes_per_die from 2 on",
            ));
        }
        if self.independent_planes && self.planes_per_die == 1 {
            return Err(ConfigError::new(
                "independent_planes",
                "true with planes_per_die 1: one plane has no other to be independent of; \
                 accepted: false, or planes_per_die from 2 on",
            ));
        }
        let pages_per_block = self.pages_per_block * plane_count;
        if pages_per_block > 65_535 {
            return Err(ConfigError::new(
                "pages_per_block",
                format!(
                    "{} pages in each of {plane_count} planes are {pages_per_block} pages in a \
                     wide block; accepted: at most 65535",
                    self.pages_per_block
                ),
            ));
        }
        let dies = u64::from(self.channels) * u64::from(self.dies_per_channel);
        let planes_apart = u64::from(self.planes_per_die / plane_count);
        let blocks_per_die = planes_apart * u64::from(self.blocks_per_plane);
        check_page_numbers(dies * blocks_per_die, pages_per_block)?;
        let counts = [self.channels, dies as u32];
        let block = [blocks_per_die as u32, pages_per_block];
        let geometry = Geometry::new(counts, block, self.page_size_bytes);
        Ok(Geometry { planes_per_die: self.planes_per_die, plane_count, ..geometry })
    }

    /// Factory bad blocks of each die: the ratio of all blocks, spread evenly, rounded down in
    /// total. A superblock is bad if any of its blocks is: `1 - (1 - ratio)^planes` of them are.
    pub fn bad_blocks_per_die(&self, geometry: &Geometry) -> Vec<u32> {
        let good = (0..geometry.plane_count)
            .fold(1.0, |good, _| good * (1.0 - self.factory_bad_block_ratio));
        let ratio =
            if geometry.plane_count == 1 { self.factory_bad_block_ratio } else { 1.0 - good };
        let total = (f64::from(geometry.block_count()) * ratio) as u32;
        (0..geometry.die_count)
            .map(|die| total / geometry.die_count + u32::from(die < total % geometry.die_count))
            .collect()
    }

    /// Timing of the resolved section; a transfer moves the page's data bytes.
    pub fn timing(&self) -> Timing {
        self.timing_of(&self.timing)
    }

    /// Timing of blocks in single-bit mode: that of SLC flash unless the file gives other values.
    pub fn slc_timing(&self) -> Timing {
        let mut slc = Self {
            cell_type: CellType::Slc,
            timing: self.slc_timing.clone().unwrap_or_default(),
            slc_timing: None,
            ..self.clone()
        };
        slc.timing.bus_mt_s = self.timing.bus_mt_s;
        slc.fill_defaults();
        slc.timing_of(&slc.timing)
    }

    fn timing_of(&self, timing: &TimingConfig) -> Timing {
        let pages = |times: &Option<PageTimes>| {
            let times = times.as_ref().expect("resolved configs have every time");
            times.0.iter().map(|&time| Ns::from_us(time)).collect::<Vec<_>>()
        };
        let (mut read, mut program) = (pages(&timing.t_read_us), pages(&timing.t_program_us));
        // Both lists as long as the longer one; `check_timing` has seen that this is exact.
        let types = read.len().max(program.len());
        read = read.iter().copied().cycle().take(types).collect();
        program = program.iter().copied().cycle().take(types).collect();
        Timing {
            read,
            program,
            erase: Ns::from_us(timing.t_erase_us.expect("resolved configs have every time")),
            transfer: Ns::from_us(self.page_size_bytes as f64 / self.bus_mt_s()),
        }
    }

    /// Rate of the channel bus, in bytes per microsecond.
    pub fn bus_mt_s(&self) -> f64 {
        self.timing.bus_mt_s.expect("resolved configs have the bus rate")
    }

    /// Bus time of command and address cycles.
    pub fn command_time(&self) -> Ns {
        Ns::from_us(self.timing.command_us.unwrap_or(0.0))
    }
}

fn check_timing(timing: &TimingConfig) -> Result<(), ConfigError> {
    check_time("t_erase_us", timing.t_erase_us.unwrap_or(1.0))?;
    let mut counts = Vec::new();
    for (key, times) in [("t_read_us", &timing.t_read_us), ("t_program_us", &timing.t_program_us)] {
        let times = times.as_ref().map_or(&[1.0][..], |times| &times.0);
        if times.is_empty() || times.len() > 16 {
            let message = "accepted: one number, or 1 to 16 numbers, one per page type";
            return Err(ConfigError::new(key, message));
        }
        times.iter().try_for_each(|&us| check_time(key, us))?;
        counts.push(times.len());
    }
    if counts[0] != counts[1] && !counts.contains(&1) {
        let message = format!(
            "{} page types, but t_read_us has {}; accepted: equally many, or one number for all",
            counts[1], counts[0]
        );
        return Err(ConfigError::new("t_program_us", message));
    }
    let rate = timing.bus_mt_s.unwrap_or(1.0);
    if !(rate > 0.0 && rate <= 1e6) {
        let message = format!("{rate} is out of range; accepted: above 0, at most 1e6");
        return Err(ConfigError::new("bus_mt_s", message));
    }
    let command = timing.command_us.unwrap_or(0.0);
    if !(0.0..=1e3).contains(&command) {
        let message = format!("{command} us is out of range; accepted: 0 to 1000");
        return Err(ConfigError::new("command_us", message));
    }
    Ok(())
}

/// Whether every page has a number: one of 32 bits is kept back for "unmapped".
///
/// # Errors
/// [`ConfigError`] relative to `nand`, with the numbers.
fn check_page_numbers(blocks: u64, pages_per_block: u32) -> Result<(), ConfigError> {
    let page_bits = pages_per_block.next_power_of_two().trailing_zeros();
    let limit = u64::from(u32::MAX) >> page_bits;
    if blocks <= limit {
        return Ok(());
    }
    Err(ConfigError::new(
        "blocks_per_plane",
        format!(
            "{blocks} blocks of {pages_per_block} pages do not fit 32-bit page numbers; accepted: \
             at most {limit} blocks"
        ),
    ))
}
