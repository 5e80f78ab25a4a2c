//! `power`: the drive's measures against a loss of power, and its deliberate weaknesses.
//!
//! | key | strong | weak: what a cut may then do |
//! |---|---|---|
//! | `plp` | `{energy_mj, aged}` | `none`, `host_notified`: unflushed writes are lost |
//! | `flush` | `honest` | `ignored`, `{delayed_ms}`: flushed writes are lost |
//! | `lower_page_backup` | `backup_to_slc`, `skip_pair_after_flush` | `none`: data that was flushed
//! long ago |
//! | `journal_crc` | true | false: records of trims that were cut are believed |
//! | `root_pairs` | true | false: the drive does not come back |
//! | `map_order` | `data_before_map` | `map_before_data`: data of other addresses |
//! | `subpage_write` | `full_page` | `sub_page`: units half new, half old |
//! | `seq_reorder` | `in_order` | `per_die`: a later write without an earlier one |
//! | `trim_log` | `persistent` | `volatile`: trimmed data comes back |
//! | `suspect_pages` | `relocate` | `keep`: data of interrupted programs decays faster |
//! | `half_erased` | `erase_again` | `reuse`: data written there has more bit errors |
//!
//! `suspect_pages` has an effect only if the error model depends on retention or reads,
//! `half_erased` only on drives with an error model. The keys matter only when power is cut;
//! otherwise a drive behaves as if they were left out.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{json, Value};

use crate::config::{check_amount, is_default, ConfigError};
use crate::reads::ScarFactors;

/// Factors of marks, at most.
const FACTOR_MAX: f64 = 1000.0;

/// See the module. Left out: everything strong, and no capacitors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PowerLossConfig {
    /// Power loss protection: `none`; `host_notified`, which protects if the host announces that it
    /// will cut the power; or capacitors, `{energy_mj, aged}`; default `none`.
    #[serde(deserialize_with = "named")]
    pub plp: Plp,
    /// What a flush does: `honest`, `ignored`, or `{delayed_ms}`: done that much after it was
    /// acknowledged; default `honest`.
    #[serde(deserialize_with = "named")]
    pub flush: FlushBehaviour,
    /// How earlier programmed pages of a wordline are kept safe from later passes over it: `none`,
    /// `backup_to_slc`, `skip_pair_after_flush`; default `backup_to_slc`.
    pub lower_page_backup: LowerPageBackup,
    /// Whether pages of the journal carry a checksum; default true.
    pub journal_crc: bool,
    /// Whether two root pages are written in turn; default true.
    pub root_pairs: bool,
    /// Whether the journal may name a page before it is programmed; default `data_before_map`.
    pub map_order: MapOrder,
    /// Whether a page that was programmed in part counts; default `full_page`.
    pub subpage_write: SubpageWrite,
    /// Which writes that were not flushed may survive without earlier ones: `in_order` (writes
    /// complete when they are on the flash, unless capacitors save them) or `per_die`; default
    /// `per_die`.
    pub seq_reorder: SeqReorder,
    /// Whether a trim completes when it is recorded on the flash; default `persistent`.
    pub trim_log: TrimLog,
    /// How pages share wordlines: `none`, `mlc`, `tlc_multi`, `tlc_oneshot`; default `none`.
    pub paired_scheme: PairedScheme,
    /// Units that the host writes between two checkpoints of the map, 1 to 2^32 - 1; default 4096.
    pub checkpoint_interval_units: u32,
    /// Time that the supply voltage takes to fall, in which no operation begins and running
    /// operations become evenly slower, in microseconds, 0 to 1e6; default 0.
    pub ramp_us: f64,
    /// Treatment, at the next start, of readable pages whose program was interrupted: `relocate`
    /// their data, or `keep` it there; default `relocate`.
    #[serde(skip_serializing_if = "is_default")]
    pub suspect_pages: SuspectPages,
    /// Treatment, at the next start, of blocks whose erase was interrupted: `erase_again`, or
    /// `reuse` them as they are; default `erase_again`.
    #[serde(skip_serializing_if = "is_default")]
    pub half_erased: HalfErased,
    /// Factor by which charge loss is faster in pages whose program, or a later pass over their
    /// wordline, was interrupted: 1 to 1000; default 3 (assumed; that they decay faster: Tseng and
    /// others, DAC 2011).
    #[serde(skip_serializing_if = "is_3")]
    pub suspect_retention_factor: f64,
    /// Factor by which reads disturb these pages more than others: 1 to 1000; default 3 (assumed,
    /// as above).
    #[serde(skip_serializing_if = "is_3")]
    pub suspect_read_disturb_factor: f64,
    /// Factor by which the raw bit error rate is higher in pages of blocks that are written after
    /// an interrupted erase: 1 to 1000; default 10 (assumed; that they have more bit errors: Tseng
    /// and others).
    #[serde(skip_serializing_if = "is_10")]
    pub half_erased_rber_factor: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref, clippy::float_cmp)] // what serde asks for; a default
fn is_3(value: &f64) -> bool {
    *value == 3.0
}

#[allow(clippy::trivially_copy_pass_by_ref, clippy::float_cmp)]
fn is_10(value: &f64) -> bool {
    *value == 10.0
}

impl Default for PowerLossConfig {
    fn default() -> Self {
        Self {
            plp: Plp::None,
            flush: FlushBehaviour::Honest,
            lower_page_backup: LowerPageBackup::BackupToSlc,
            journal_crc: true,
            root_pairs: true,
            map_order: MapOrder::DataBeforeMap,
            subpage_write: SubpageWrite::FullPage,
            seq_reorder: SeqReorder::PerDie,
            trim_log: TrimLog::Persistent,
            paired_scheme: PairedScheme::None,
            checkpoint_interval_units: 4096,
            ramp_us: 0.0,
            suspect_pages: SuspectPages::Relocate,
            half_erased: HalfErased::EraseAgain,
            suspect_retention_factor: 3.0,
            suspect_read_disturb_factor: 3.0,
            half_erased_rber_factor: 10.0,
        }
    }
}

/// Power loss protection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Plp {
    /// Data in memory is lost.
    None,
    /// An announced shutdown saves all data; a power cut is not announced.
    HostNotified,
    /// Capacitors last for a while.
    Capacitor {
        /// Energy of new capacitors, in millijoules, 0 to 1e6.
        energy_mj: f64,
        /// Share of it that is left, 0 to 1; default 1.
        #[serde(default = "whole")]
        aged: f64,
        /// Power that programs one page, in milliwatts, more than 0, at most 1e6; default 80: 25 mA
        /// at 3.3 V, as data sheets of NAND state for the current while programming.
        #[serde(default = "program_power_mw")]
        program_mw: f64,
        /// How long they charge after power is there, evenly, in milliseconds, 0 to 1e6; default 0.
        #[serde(default)]
        charge_ms: f64,
        /// Whether writes complete in memory while they charge; default false: until then, when
        /// they are on the flash.
        #[serde(default)]
        early_ack: bool,
    },
}

fn whole() -> f64 {
    1.0
}

fn program_power_mw() -> f64 {
    80.0
}

/// What a flush does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FlushBehaviour {
    /// It completes when the flash has everything.
    Honest,
    /// It completes at once, and nothing is done.
    Ignored,
    /// It completes at once, and is done later.
    Delayed {
        /// How much later, in milliseconds, 0 to 1e6.
        delayed_ms: f64,
    },
}

/// What keeps earlier pages of a wordline safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LowerPageBackup {
    /// Nothing.
    None,
    /// A copy in a block of one bit per cell, until the wordline is complete.
    BackupToSlc,
    /// After a flush the rest of the wordline is left empty.
    SkipPairAfterFlush,
}

/// Order of map and data on the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MapOrder {
    /// The journal names pages that are programmed.
    DataBeforeMap,
    /// The journal names pages before they are programmed, and recovery trusts it.
    MapBeforeData,
}

/// What becomes of a page that was programmed in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubpageWrite {
    /// It counts as a whole or not at all.
    FullPage,
    /// Its sectors are programmed one after another, and missing ones are taken from the old page.
    SubPage,
}

/// Which of the writes that were not flushed survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeqReorder {
    /// None that was issued after the acknowledgement of one that is missing.
    InOrder,
    /// Those that happen to be on the flash.
    PerDie,
}

/// Where trims are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrimLog {
    /// On the flash, before they complete.
    Persistent,
    /// In memory.
    Volatile,
}

/// What becomes of readable pages whose program was interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuspectPages {
    /// Their data is moved.
    #[default]
    Relocate,
    /// Their data stays.
    Keep,
}

/// What becomes of blocks whose erase was interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HalfErased {
    /// They are erased again.
    #[default]
    EraseAgain,
    /// They are taken for erased.
    Reuse,
}

/// How pages share wordlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairedScheme {
    /// Each page has separate cells.
    None,
    /// Two passes.
    Mlc,
    /// Three passes.
    TlcMulti,
    /// Three pages in one pass: nothing is there to be damaged.
    TlcOneshot,
}

impl PairedScheme {
    /// Passes over a wordline that may damage what earlier ones have stored.
    pub fn passes(self) -> u32 {
        match self {
            Self::None | Self::TlcOneshot => 1,
            Self::Mlc => 2,
            Self::TlcMulti => 3,
        }
    }
}

impl PowerLossConfig {
    /// Checks the amounts.
    ///
    /// # Errors
    /// The key whose value cannot be.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Plp::Capacitor { energy_mj, aged, program_mw, charge_ms, .. } = self.plp {
            check_amount("plp.charge_ms", charge_ms)?;
            check_amount("plp.energy_mj", energy_mj)?;
            if !(0.0..=1.0).contains(&aged) {
                let message = format!("is {aged}, accepted: a share from 0 to 1");
                return Err(ConfigError::new("plp.aged", message));
            }
            check_amount("plp.program_mw", program_mw)?;
            if program_mw <= 0.0 {
                let message = "is 0 milliwatts, accepted is more than 0".to_owned();
                return Err(ConfigError::new("plp.program_mw", message));
            }
        }
        if let FlushBehaviour::Delayed { delayed_ms } = self.flush {
            check_amount("flush.delayed_ms", delayed_ms)?;
        }
        if self.checkpoint_interval_units == 0 {
            let message = "is 0 units, accepted is at least 1".to_owned();
            return Err(ConfigError::new("checkpoint_interval_units", message));
        }
        for (key, factor) in [
            ("suspect_retention_factor", self.suspect_retention_factor),
            ("suspect_read_disturb_factor", self.suspect_read_disturb_factor),
            ("half_erased_rber_factor", self.half_erased_rber_factor),
        ] {
            if !(1.0..=FACTOR_MAX).contains(&factor) {
                let message = format!("is {factor}, accepted: 1 to {FACTOR_MAX}");
                return Err(ConfigError::new(key, message));
            }
        }
        check_amount("ramp_us", self.ramp_us)
    }

    /// The factors by which cuts impair stored data.
    pub(crate) fn scars(&self) -> ScarFactors {
        ScarFactors {
            retention: self.suspect_retention_factor,
            reads: self.suspect_read_disturb_factor,
            half_erased: self.half_erased_rber_factor,
        }
    }

    /// The same for a drive whose file leaves them out.
    pub(crate) fn default_scars() -> ScarFactors {
        Self::default().scars()
    }

    /// Whether capacitors save the data in memory.
    pub fn has_capacitors(&self) -> bool {
        matches!(self.plp, Plp::Capacitor { .. })
    }
}

/// Reads a name as the kind; a mapping without a kind gets it from its keys.
fn named<'de, D, T>(de: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let value = match Value::deserialize(de)? {
        Value::String(name) => json!({ "kind": name }),
        Value::Object(mut map) if !map.contains_key("kind") => {
            let kind = if map.contains_key("delayed_ms") { "delayed" } else { "capacitor" };
            map.insert("kind".to_owned(), kind.into());
            Value::Object(map)
        }
        other => other,
    };
    serde_json::from_value(value).map_err(serde::de::Error::custom)
}
