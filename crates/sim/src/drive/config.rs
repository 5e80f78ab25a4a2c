//! The keys of a device file, and what follows from them: the shape of the drive, its error model
//! and its code. `rules` reads and checks a file, `capacity` has capacity and spare area.

use std::borrow::Cow;

use opennandlab_ecc::PageCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

use super::power_loss::PowerLossConfig;
use crate::config::{name_or_mapping, ConfigError};
use crate::controller::ControllerConfig;
use crate::ftl::{BadBlock, FtlConfig, GroupDies, Layout};
use crate::geometry::Geometry;
use crate::host::HostConfig;
use crate::nand::NandConfig;
use crate::reads::bit_true::BitTrue;
use crate::reads::cells::CellReads;
use crate::reads::decoding::DecodeTimer;
use crate::reads::{split_warning, Algorithm, EccConfig, Fidelity, Ladder, ReadErrors};
use crate::reliability::{BesideSlc, RberConfig, RberModel, WearKeys, Weibull};
use crate::superblock::Superblocks;

/// A device file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceConfig {
    /// What the device is called in reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The flash.
    pub nand: NandConfig,
    /// The flash translation layer.
    pub ftl: FtlConfig,
    /// The flash controller.
    pub controller: ControllerConfig,
    /// Error correction.
    pub ecc: EccConfig,
    /// The host interface.
    pub host: HostConfig,
    /// Another model of raw bit errors than the Weibull curve of `nand.rber_floor` and `rber_ceil`.
    #[serde(default, deserialize_with = "optional_model", skip_serializing_if = "Option::is_none")]
    pub reliability: Option<RberConfig>,
    /// What the drive does against a loss of power; acts where power is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerLossConfig>,
}

fn optional_model<'de, D: serde::Deserializer<'de>>(de: D) -> Result<Option<RberConfig>, D::Error> {
    name_or_mapping(de).map(Some)
}

impl DeviceConfig {
    /// The resolved file.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a device config is plain data")
    }

    /// The JSON schema of device files.
    pub fn schema() -> Value {
        schemars::schema_for!(DeviceConfig).into()
    }

    /// Dotted path and source of the constants that the device uses.
    pub fn sources(&self) -> Vec<(String, String)> {
        let pairs = self.nand.sources().into_iter();
        let pairs = pairs.chain(self.controller.sources()).chain(self.ecc.sources());
        let link = self.host.link.source().map(|source| ("host.link.mb_s", source));
        pairs.chain(link).map(|(path, source)| (path.to_owned(), source.to_owned())).collect()
    }

    /// The shape of the drive.
    pub fn geometry(&self) -> Geometry {
        self.superblocks().map_or_else(|| self.flash_geometry(), |it| it.geometry())
    }

    /// The flash: dies, blocks and pages as they are, whatever the FTL makes of them.
    pub fn flash_geometry(&self) -> Geometry {
        self.checked_flash().expect("resolve has checked the geometry")
    }

    pub(super) fn checked_flash(&self) -> Result<Geometry, ConfigError> {
        let geometry = self.flash().geometry().map_err(|error| error.under("nand"))?;
        let mut shape = self.ftl.shape(geometry).map_err(|error| error.under("ftl"))?;
        if !self.host.namespaces.is_empty() {
            shape.striping = shape.striping.overruled();
        }
        Ok(shape)
    }

    /// Blocks of the flash in a block of the FTL.
    pub(crate) fn blocks_per_superblock(&self) -> u32 {
        match self.ftl.allocation.superblock().map(|it| it.dies) {
            None => 1,
            Some(GroupDies::Count(dies)) => dies,
            Some(GroupDies::All(_)) => self.flash_geometry().die_count,
        }
    }

    /// The layout of superblocks over the dies; `None` for drives without them.
    pub fn superblocks(&self) -> Option<Superblocks> {
        let config = self.ftl.allocation.superblock()?;
        let flash = self.flash_geometry();
        let bits = self.nand.cell_type.bits();
        let row = flash.units_per_row();
        let passes = if self.nand.program.is_page() { 1 } else { bits };
        let slc_slots = self.nand.pages_per_block / bits * row;
        Some(Superblocks::new(
            flash,
            self.blocks_per_superblock(),
            [passes * row, row],
            [flash.pages_per_block, slc_slots],
            [self.ftl.has_die_parity(), config.bad_block == BadBlock::Remap],
            self.ftl.metadata_share,
        ))
    }

    /// The flash as the map units see it: a unit of several pages is a page of as many planes.
    pub fn flash(&self) -> Cow<'_, NandConfig> {
        match self.ftl.pages_per_unit(self.nand.page_size_bytes) {
            1 => Cow::Borrowed(&self.nand),
            pages => Cow::Owned(self.nand.joined(pages)),
        }
    }

    /// Which pages of a block take data.
    pub fn layout(&self) -> Layout {
        self.checked_layout().expect("resolve has checked the layout")
    }

    pub(super) fn checked_layout(&self) -> Result<Layout, ConfigError> {
        let bits_per_cell = self.nand.cell_type.bits();
        let layout = self.ftl.layout(&self.geometry(), bits_per_cell, self.superblocks());
        layout.map_err(|error| error.under("ftl"))
    }

    /// The model of the raw bit error rate; it includes blocks of one bit per cell if the drive has
    /// such blocks and the model has states.
    pub fn rber_model(&self) -> Box<dyn RberModel> {
        match self.rber_config() {
            RberConfig::States(model) if self.ftl.has_slc_cache() => {
                Box::new(BesideSlc::new(model))
            }
            config => config.build(),
        }
    }

    /// The error model that the device reads with, by its own section or by its wear keys.
    pub fn rber_config(&self) -> RberConfig {
        let mut model = self.reliability.clone().unwrap_or_else(|| {
            RberConfig::Weibull(Weibull::for_device(&WearKeys {
                rber_floor: Some(self.nand.rber_floor),
                rber_ceil: Some(self.nand.rber_ceil),
                max_pe_cycles: f64::from(self.nand.max_pe_cycles.unwrap_or(1)),
            }))
        });
        if let RberConfig::ReadDisturb(model) = &mut model {
            model.pages_per_block.get_or_insert(self.nand.pages_per_block);
        }
        model
    }

    /// What of the stress the error model does not know.
    pub(crate) fn stress_warnings(&self) -> Vec<String> {
        let Some(stress) = &self.nand.stress else { return Vec::new() };
        let rated = f64::from(self.nand.max_pe_cycles.unwrap_or(1));
        let ignored = stress.ignored_by(self.rber_model().as_ref(), rated);
        let say =
            |key: &str| format!("nand.stress.{key} had no effect: the error model ignores it");
        ignored.into_iter().map(say).collect()
    }

    pub(super) fn checked_code(&self) -> Result<PageCode, ConfigError> {
        // A map unit is what a read decodes.
        let geometry = self.geometry();
        let oob_bytes = self.flash().oob_size_bytes.unwrap_or_default();
        let code = self.ecc.page_code(geometry.page_bytes)?;
        self.ecc.check_parity(&code, geometry.units_per_page, oob_bytes)?;
        match self.ecc.fidelity {
            Fidelity::Table => {}
            Fidelity::BitTrue => BitTrue::check(&self.ecc, &code)?,
            Fidelity::Cells => CellReads::check(&self.ecc, &code)?,
        }
        Ok(code)
    }

    /// Read-error accounting for this device.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `ecc`, when there is no such code or its parity does not fit.
    pub fn read_errors(&self, seed: u64) -> Result<ReadErrors, ConfigError> {
        let code = self.checked_code()?;
        let controller = &self.controller;
        let (retry, soft) = (controller.read_retry.as_ref(), controller.soft_read.as_ref());
        let (model, rated) = (self.rber_model(), f64::from(self.nand.max_pe_cycles.unwrap_or(1)));
        let ladder = Ladder::for_device(retry, soft, model.as_ref(), rated);
        let bit_true = match self.ecc.fidelity {
            Fidelity::Table | Fidelity::Cells => None,
            Fidelity::BitTrue => Some(BitTrue::new(&self.ecc, &code)?),
        };
        let cells = self.cell_model(seed).map(|model| {
            let shape = (&self.geometry(), self.superblocks());
            let search = retry.and_then(|retry| retry.calibrate);
            CellReads::new(model, (&self.ecc, &code), (shape.0, shape.1.as_ref()), seed)
                .map(|cells| cells.with_search(search))
        });
        let cells = cells.transpose()?;
        let copybacks = self.ftl.copyback.as_ref().map_or(0, |copyback| copyback.limit);
        let row = self.superblocks().filter(Superblocks::has_parity).map(|it| it.dies());
        let stripe = row.unwrap_or_else(|| self.ftl.stripe());
        let mut errors = ReadErrors::new(model, code, &self.geometry(), seed);
        if let Some(stress) = &self.nand.stress {
            errors.set_stress(stress, &self.geometry());
        }
        let mut errors = errors.with(ladder, copybacks.into()).with_stripe(stripe);
        if let (Some(programs), Some(share)) =
            (self.nand.partial_programs, self.nand.program_disturb)
        {
            errors = errors.with_disturb(programs, share);
        }
        let timer =
            DecodeTimer::new(controller.ecc_decode_us, controller.ecc_decode.as_ref(), &self.ecc)?;
        let mut errors = errors.with_timer(timer);
        if retry.is_some_and(|retry| retry.remember) {
            errors = errors.with_remembered_steps(self.geometry().block_count());
        }
        let errors = errors.in_superblocks(self.superblocks().as_ref()).with_bit_true(bit_true);
        let errors = errors.with_cells(cells);
        let rate_max = self.ftl.refresh.as_ref().and_then(|refresh| refresh.at_rber);
        let errors = errors.with_watch(rate_max, self.geometry().block_count());
        let spread = self.nand.error_spread.as_ref().filter(|spread| spread.is_on());
        Ok(match spread {
            Some(spread) => errors.with_spread(spread, self.geometry().block_count(), seed),
            None => errors,
        })
    }

    /// The code of what a read decodes, a map unit, whatever room its parity has.
    fn lab_code(&self) -> Result<PageCode, ConfigError> {
        let code = self.ecc.page_code(self.geometry().page_bytes);
        code.map_err(|error| error.under("ecc"))
    }

    /// The code of a page, or of the map unit if that is less: lengths in bits, and how many bits a
    /// codeword corrects (null: not a fixed number).
    ///
    /// # Errors
    /// [`ConfigError`] under `ecc`.
    pub fn codewords(&self) -> Result<Value, ConfigError> {
        let correctable = match self.ecc.algorithm {
            Algorithm::None => Some(0),
            Algorithm::Bch => Some(self.ecc.correctable_bits()),
            Algorithm::Ldpc => None,
        };
        let page = self.lab_code()?;
        Ok(json!({
            "codewords": page.codewords_per_page(),
            "correctable": correctable,
            "data_bits": page.code().data_bits_max().min(page.page_bits()),
            "last_data_bits": page.last_data_bits(),
            "page_bits": page.page_bits(),
            "parity_bits": page.code().parity_bits(),
        }))
    }

    /// Failure probability of a codeword and data errors per bit at each raw bit error rate, with
    /// as many reads as the controller makes at most.
    ///
    /// # Errors
    /// [`ConfigError`] for rates outside 0 to 0.5, or under `ecc`.
    pub fn codeword_failures(&self, rates: &[f64]) -> Result<Vec<(f64, f64)>, ConfigError> {
        if let Some(rate) = rates.iter().find(|rate| !(0.0..=0.5).contains(*rate)) {
            let message = format!("{rate} is out of range; accepted: 0 to 0.5");
            return Err(ConfigError::new("rates", message));
        }
        let page = self.lab_code()?;
        let soft = self.controller.soft_read.as_ref();
        let reads = soft.and_then(|soft| soft.reads.last()).map_or(1, |&reads| u32::from(reads));
        let code = page.code();
        let outcome = |&rate: &f64| {
            let failure = if reads == 1 {
                code.failure_probability(code.data_bits_max(), rate)
            } else {
                code.soft_failure_probability(code.data_bits_max(), rate, reads).unwrap_or(1.0)
            };
            (failure, page.uber_after(rate, reads))
        };
        Ok(rates.iter().map(outcome).collect())
    }

    /// That the codewords of a page differ much in length.
    pub(crate) fn split_warning(&self) -> Option<String> {
        let is_bch = self.ecc.algorithm == Algorithm::Bch;
        self.lab_code().ok().filter(|_| is_bch).and_then(|page| split_warning(&page))
    }

    /// Whether the device has a mechanism that only the full back end carries out.
    pub fn needs_full(&self) -> bool {
        self.manages_as_drives_do() || self.controller.needs_full() || self.nand.needs_full()
    }

    /// Whether units and blocks are managed in a way that only the full back end carries out.
    fn manages_as_drives_do(&self) -> bool {
        self.geometry().units_per_page > 1 || self.ftl.needs_full()
    }

    /// That planes do nothing together in a drive that is otherwise managed as real ones are.
    pub(crate) fn plane_warning(&self) -> Option<String> {
        let nand = &self.nand;
        let is_apart = nand.planes_per_die > 1 && !nand.multi_plane && !nand.independent_planes;
        (is_apart && self.manages_as_drives_do()).then(|| {
            format!(
                "the {} planes of a die take turns, a page at a time; drives with such mechanisms \
                 join them: nand.multi_plane (programs, erases), nand.independent_planes (reads)",
                nand.planes_per_die
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str) -> ConfigError {
        DeviceConfig::resolve(json).expect_err(json)
    }

    #[test]
    fn impossible_devices_are_refused_with_path_and_numbers() {
        for (json, path, words) in [
            (r#"{"nand": {"pgae": 1}}"#, "nand.pgae", "unknown field"),
            (r#"{"nand": {"channels": 0}}"#, "nand.channels", "accepted: 1 to"),
            (r#"{"nand": {"channels": "eight"}}"#, "nand.channels", "eight"),
            (r#"{"nand": {"page_size_bytes": 5000}}"#, "nand.page_size_bytes", "power of two"),
            (r#"{"nand": {"page_size_bytes": "4 furlongs"}}"#, "nand.page_size_bytes", "furlongs"),
            (r#"{"nand": {"timing": {"t_read_us": -1}}}"#, "nand.timing.t_read_us", "above 0"),
            (
                r#"{"nand": {"timing": {"t_program_us": "fast"}}}"#,
                "nand.timing.t_program_us",
                "fast",
            ),
            (
                r#"{"nand": {"blocks_per_plane": 16777216, "dies_per_channel": 1024}}"#,
                "nand.blocks_per_plane",
                "32-bit",
            ),
            (r#"{"ftl": {"gc_policy": "gredy"}}"#, "ftl.gc_policy", "gredy"),
            (r#"{"ftl": {"gc_policy": {"kind": "greedy", "d": 3}}}"#, "ftl.gc_policy", "`d`"),
            (
                r#"{"ftl": {"gc_policy": {"kind": "d_choices", "d": 0}}}"#,
                "ftl.gc_policy.d",
                "1 to 10000",
            ),
            (r#"{"ftl": {"over_provisioning_pct": 0}}"#, "ftl.over_provisioning_pct", "above 0"),
            (
                r#"{"ftl": {"over_provisioning_pct": 0.0001}}"#,
                "ftl.over_provisioning_pct",
                "no spare block",
            ),
            (
                r#"{"ftl": {"gc_reserve_blocks": 100000}}"#,
                "ftl.over_provisioning_pct",
                "6250 reserve",
            ),
            (
                r#"{"nand": {"blocks_per_plane": 8, "channels": 1, "dies_per_channel": 1,
                             "planes_per_die": 1}}"#,
                "ftl.over_provisioning_pct",
                "8 good blocks",
            ),
            (r#"{"ecc": {"algorithm": "bch", "bch_m": 3}}"#, "ecc.bch_t", "5 to 16"),
            (r#"{"ecc": {"algorithm": "turbo"}}"#, "ecc.algorithm", "turbo"),
            (r#"{"host": {"queue_depth_max": 0}}"#, "host.queue_depth_max", "1 to"),
            (r#"{"nand": {"rber_floor": 0.6}}"#, "nand.rber_floor", "0.5"),
            (
                r#"{"ftl": {"write_buffer_pages": 8}, "host": {"write_cache": {"pages": 4}}}"#,
                "host.write_cache",
                "ftl.write_buffer_pages: 8",
            ),
            (
                r#"{"nand": {"multi_plane": true, "planes_per_die": 1}}"#,
                "nand.multi_plane",
                "needs two planes",
            ),
            (
                r#"{"nand": {"multi_plane": true, "pages_per_block": 40000}}"#,
                "nand.pages_per_block",
                "80000 pages in a wide block",
            ),
        ] {
            let error = refusal(json);
            assert_eq!(error.path, path, "{error}");
            assert!(error.message.contains(words), "{error}");
        }
    }

    /// Such a write never ended: its page stayed open in a log block.
    #[test]
    fn a_write_that_waits_for_its_program_needs_whole_pages_in_log_blocks() {
        let error = refusal(
            r#"{"ftl": {"compression": {"data": "file", "ratio": 0.9}, "fill_timeout_us": 500,
                "writes_complete": "programmed", "mapping": {"kind": "bast", "log_blocks": 3}}}"#,
        );
        assert_eq!(error.path, "ftl.writes_complete");
        assert!(error.message.contains("has not filled"), "{error}");
    }

    #[test]
    fn options_that_contradict_each_other_are_refused_with_the_reason() {
        for (ftl, path, words) in [
            (r#"{"allocation": "CCP"}"#, "ftl.allocation", "CCP"),
            (r#"{"collection": "step"}"#, "ftl.collection", "step"),
            (r#"{"collection": "steps"}"#, "ftl.write_frontiers", "host_gc"),
            (
                r#"{"collection": {"kind": "steps", "step_pages": 0}}"#,
                "ftl.collection.step_pages",
                "1 to 65535",
            ),
            (
                r#"{"collection": {"kind": "steps", "soft_spare_blocks": 2,
                                   "hard_spare_blocks": 3}, "write_frontiers": "host_gc"}"#,
                "ftl.collection.hard_spare_blocks",
                "soft_spare_blocks 2",
            ),
            (
                r#"{"collection": {"kind": "steps", "soft_spare_blocks": 200},
                    "write_frontiers": "host_gc"}"#,
                "ftl.collection.soft_spare_blocks",
                "accepted: less than",
            ),
            (
                r#"{"idle_collection": {"after_us": 100, "spare_blocks_goal": 3}}"#,
                "ftl.idle_collection",
                "ftl.collection steps",
            ),
            (
                r#"{"idle_collection": {"after_us": -1, "spare_blocks_goal": 3},
                    "collection": "steps", "write_frontiers": "host_gc"}"#,
                "ftl.idle_collection.after_us",
                "0 to 1e9",
            ),
            (r#"{"copyback": {"limit": 0}}"#, "ftl.copyback.limit", "1 to 255"),
            (r#"{"copyback": "always"}"#, "ftl.copyback", "always"),
            (
                r#"{"copyback": {"limit": 3}, "parity": {"stripe": 8}}"#,
                "ftl.copyback",
                "parity is computed",
            ),
            (
                // A drive with both broke the rules of the flash: slots of one page were copied to
                // separate pages inside the die.
                r#"{"copyback": {}, "compression": {"data": "file", "ratio": 0.5}}"#,
                "ftl.copyback",
                "moves a whole page",
            ),
            (
                r#"{"copyback": {}, "write_frontiers": {"kind": "hot_cold", "fraction": 0.5}}"#,
                "ftl.copyback",
                "hot_cold",
            ),
            (r#"{"parity": {"stripe": 1}}"#, "ftl.parity.stripe", "2 to 65535"),
            (r#"{"parity": {"stripe": 300}}"#, "ftl.parity.stripe", "2 to 256"),
            (
                r#"{"slc_cache": {"kind": "static", "blocks_per_die": 4}}"#,
                "ftl.write_frontiers",
                "fill the cache",
            ),
            (
                r#"{"slc_cache": {"kind": "static", "blocks_per_die": 1},
                    "write_frontiers": "host_gc"}"#,
                "ftl.slc_cache.blocks_per_die",
                "2 or more",
            ),
            (
                r#"{"slc_cache": {"kind": "static", "blocks_per_die": 500},
                    "write_frontiers": "host_gc"}"#,
                "ftl.slc_cache.blocks_per_die",
                "500 cache, which may have",
            ),
            (r#"{"compression": {"data": "file"}}"#, "ftl.compression.ratio", "missing"),
            (
                r#"{"compression": {"data": "random", "ratio": 0.5}}"#,
                "ftl.compression.ratio",
                "does not compress",
            ),
            (
                r#"{"compression": {"data": "file", "ratio": 1.5}}"#,
                "ftl.compression.ratio",
                "at most 1",
            ),
            (
                r#"{"compression": {"data": "file", "ratio": 0.001}}"#,
                "ftl.compression.ratio",
                "at most 65535",
            ),
            (
                r#"{"compression": {"data": "file", "ratio": 0.5}, "parity": {"stripe": 8}}"#,
                "ftl.compression",
                "whole pages",
            ),
        ] {
            let error = refusal(&format!(r#"{{"ftl": {ftl}}}"#));
            assert_eq!(error.path, path, "{error}");
            assert!(error.message.contains(words), "{error}");
        }
        let slc = r#"{"nand": {"cell_type": "SLC"},
                      "ftl": {"slc_cache": {"kind": "dynamic"}, "write_frontiers": "host_gc"}}"#;
        assert!(refusal(slc).message.contains("one bit per cell everywhere"));
    }

    #[test]
    fn bursts_that_never_end_and_moves_that_no_core_makes_are_refused() {
        for (ftl, path, words) in [
            (
                r#"{"collection": {"kind": "bursts", "superblocks": 0},
                    "write_frontiers": "host_gc"}"#,
                "ftl.collection.superblocks",
                "above 0",
            ),
            (
                r#"{"collection": {"kind": "bursts", "superblocks": 200},
                    "write_frontiers": "host_gc"}"#,
                "ftl.collection.superblocks",
                "accepted: less than",
            ),
            (
                r#"{"collection": "bursts", "slc_cache": "dynamic",
                    "write_frontiers": "host_gc"}"#,
                "ftl.collection",
                "a block at a time",
            ),
        ] {
            let error = refusal(&format!(r#"{{"ftl": {ftl}}}"#));
            assert_eq!(error.path, path, "{error}");
            assert!(error.message.contains(words), "{error}");
        }
        let moves = r#"{"host": {"command_cost_us": {"move": 1}}}"#;
        assert!(refusal(moves).message.contains("steps or bursts"));
    }

    #[test]
    fn a_resolved_file_resolves_to_itself() {
        let json = r#"{"nand": {"cell_type": "MLC", "factory_bad_block_ratio": 0.01,
                        "timing": {"t_program_us": [400, 900]}},
                       "ftl": {"gc_policy": {"kind": "d_choices", "d": 3},
                                "wear_leveling": "static", "allocation": "WCDP",
                                "collection": "steps", "write_frontiers": "host_gc",
                                "idle_collection": {"after_us": 50, "spare_blocks_goal": 4},
                                "copyback": {}, "slc_cache": {"kind": "dynamic"},
                                "parity": "none", "compression": {"data": "random"}}}"#;
        let config = DeviceConfig::resolve(json).expect("a device");
        let again = DeviceConfig::resolve(&config.to_json().to_string()).expect("a device");
        assert_eq!(config, again);
    }

    #[test]
    fn codewords_of_the_default_device_fail_as_their_binomial_tail_says() {
        let device = DeviceConfig::resolve("{}").expect("the defaults");
        let lengths = device.codewords().expect("a code");
        assert_eq!(
            (lengths["correctable"].as_u64(), lengths["parity_bits"].as_u64()),
            (Some(4), Some(32))
        );
        let failures = device.codeword_failures(&[1e-3, 0.0]).expect("rates in range");
        let tail = opennandlab_ecc::binomial_tail(255, 4, 1e-3);
        assert!((failures[0].0 / tail - 1.0).abs() < 1e-9, "{} {tail}", failures[0].0);
        assert!(failures[1].0 < 1e-300);
        assert_eq!(device.codeword_failures(&[0.6]).unwrap_err().path, "rates");
    }
}
