//! A device file, resolved: every default filled in, every relation between keys checked. What
//! follows for capacity and spare area is in `capacity`.

use std::borrow::Cow;

use opennandlab_ecc::PageCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::power_loss::PowerLossConfig;
use crate::config::{name_or_mapping, parse, ConfigError};
use crate::controller::ControllerConfig;
use crate::ftl::{FtlConfig, Layout, WritesComplete};
use crate::geometry::Geometry;
use crate::host::HostConfig;
use crate::nand::{CellType, NandConfig, ProgramMode};
use crate::reads::bit_true::BitTrue;
use crate::reads::decoding::DecodeTimer;
use crate::reads::{Algorithm, EccConfig, Fidelity, Ladder, ReadErrors};
use crate::reliability::{BesideSlc, RberConfig, RberModel, WearKeys, Weibull};
use crate::superblock::Superblocks;
use crate::units::SECTOR_BYTES;

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
    /// Reads a device file given as JSON, fills defaults and checks it.
    ///
    /// # Errors
    /// [`ConfigError`] with the dotted path of the first key that cannot be used.
    pub fn resolve(json: &str) -> Result<Self, ConfigError> {
        let mut config: Self = parse(json)?;
        config.nand.check().map_err(|error| error.under("nand"))?;
        config.nand.fill_defaults();
        config.ftl.check().map_err(|error| error.under("ftl"))?;
        config.controller.check().map_err(|error| error.under("controller"))?;
        config.host.check().map_err(|error| error.under("host"))?;
        config.host.check_beside(config.ftl.write_buffer_pages)?;
        config.host.check_read_ahead(config.nand.page_size_bytes)?;
        if let Some(model) = &config.reliability {
            model.check().map_err(|error| error.under("reliability"))?;
        }
        config.power.iter().try_for_each(|it| it.check().map_err(|error| error.under("power")))?;
        let has_levels = matches!(config.reliability, Some(RberConfig::States(_)));
        let filled = config.controller.fill_defaults(has_levels);
        filled.map_err(|error| error.under("controller"))?;
        config.checked_geometry()?;
        config.check_writes()?;
        config.check_partial_programs()?;
        config.checked_layout()?;
        config.checked_code().map_err(|error| error.under("ecc"))?;
        config.check_copyback()?;
        config.check_soft_reads().map_err(|error| error.under("controller.soft_read"))?;
        config.check_remembered().map_err(|error| error.under("controller.read_retry"))?;
        let (ecc, controller) = (&config.ecc, &mut config.controller);
        let filled = controller.fill_decode(ecc);
        filled.map_err(|error| error.under("controller"))?;
        config.check_superblocks()?;
        config.check_mapping()?;
        config.check_zoned()?;
        config.check_spare()?;
        Ok(config)
    }

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
        self.checked_geometry().expect("resolve has checked the geometry")
    }

    fn checked_geometry(&self) -> Result<Geometry, ConfigError> {
        let superblocks = self.checked_superblocks()?;
        superblocks.map_or_else(|| self.checked_flash(), |it| Ok(it.geometry()))
    }

    /// The flash as the map units see it: a unit of several pages is a page of as many planes.
    pub fn flash(&self) -> Cow<'_, NandConfig> {
        match self.ftl.pages_per_unit(self.nand.page_size_bytes) {
            1 => Cow::Borrowed(&self.nand),
            pages => Cow::Owned(self.nand.joined(pages)),
        }
    }

    /// Whether the planes of a die take a map unit of several pages.
    fn check_large_units(&self) -> Result<(), ConfigError> {
        let (nand, page_bytes) = (&self.nand, self.nand.page_size_bytes);
        let pages = self.ftl.pages_per_unit(page_bytes);
        let planes = if nand.multi_plane { nand.planes_per_die } else { 1 };
        if planes.is_multiple_of(pages) {
            return Ok(());
        }
        let joined = if nand.multi_plane { "that nand.multi_plane joins" } else { "at a time" };
        let largest = page_bytes << planes.trailing_zeros();
        let message = format!(
            "{} bytes are {pages} pages of {page_bytes}, one in each of as many planes, and a die \
             writes {planes} {joined}, which {pages} does not divide; accepted: a power of two \
             from {SECTOR_BYTES} to {largest}",
            u64::from(pages) * page_bytes
        );
        Err(ConfigError::new("ftl.map_unit_bytes", message))
    }

    /// The shape of the flash, in map units.
    pub(super) fn checked_flash(&self) -> Result<Geometry, ConfigError> {
        self.check_large_units()?;
        let geometry = self.flash().geometry().map_err(|error| error.under("nand"))?;
        self.ftl.shape(geometry).map_err(|error| error.under("ftl"))
    }

    /// Which pages of a block take data.
    pub fn layout(&self) -> Layout {
        self.checked_layout().expect("resolve has checked the layout")
    }

    fn checked_layout(&self) -> Result<Layout, ConfigError> {
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

    /// Whether the device has a mechanism that only the full back end carries out.
    pub fn needs_full(&self) -> bool {
        self.manages_as_drives_do() || self.controller.needs_full() || self.nand.needs_full()
    }

    /// Whether units and blocks are managed in a way that only the full back end carries out.
    fn manages_as_drives_do(&self) -> bool {
        self.geometry().units_per_page > 1 || self.ftl.needs_full()
    }

    /// Whether writes that wait for their program ever get one, and stretches hold several.
    fn check_writes(&self) -> Result<(), ConfigError> {
        let unit = self.geometry().page_bytes;
        if let Some(bytes) = self.ftl.coalesce_bytes.filter(|&bytes| bytes <= unit) {
            let message = format!(
                "{bytes} holds no two map units of {unit} bytes; accepted: left out, or a power \
                 of two from {}",
                2 * unit
            );
            return Err(ConfigError::new("ftl.coalesce_bytes", message));
        }
        let is_late = self.ftl.writes_complete == WritesComplete::Programmed;
        if is_late && self.host.power_loss_protected {
            let message = "programmed with host.power_loss_protected, whose memory needs no \
                           padding; accepted: in_memory, or host.power_loss_protected false";
            return Err(ConfigError::new("ftl.writes_complete", message));
        }
        Ok(())
    }

    /// Whether the way to map goes with the flash.
    fn check_mapping(&self) -> Result<(), ConfigError> {
        let mapping = &self.ftl.mapping;
        mapping.check_sizes(&self.geometry()).map_err(|error| error.under("ftl"))?;
        if !mapping.merges() {
            return Ok(());
        }
        let name = mapping.name();
        if self.nand.failures.is_some() {
            let message = format!(
                "failures with ftl.mapping {name}, whose blocks are merged and not collected; \
                 accepted: left out"
            );
            return Err(ConfigError::new("nand.failures", message));
        }
        if !matches!(self.nand.program, ProgramMode::Page(_)) {
            let message = format!(
                "pages of a wordline together with ftl.mapping {name}, which erases log blocks \
                 that end in the middle of one; accepted: page"
            );
            return Err(ConfigError::new("nand.program", message));
        }
        Ok(())
    }

    /// Whether the pages of the flash can be programmed in parts.
    fn check_partial_programs(&self) -> Result<(), ConfigError> {
        let Some(programs) = self.nand.partial_programs else { return Ok(()) };
        let units = self.flash_geometry().units_per_page;
        let refusal = if self.nand.cell_type != CellType::Slc {
            let cells = format!("{:?}", self.nand.cell_type).to_uppercase();
            Some(format!(
                "{programs} with nand.cell_type {cells}, whose pages are programmed once; \
                 accepted: left out, or nand.cell_type SLC"
            ))
        } else if units == 1 {
            Some(format!(
                "{programs} where map units are whole pages; accepted: left out, or \
                 ftl.map_unit_bytes below the {} of nand.page_size_bytes",
                self.nand.page_size_bytes
            ))
        } else if !(2..=units).contains(&programs) {
            Some(format!(
                "{programs} with {units} map units in a page; accepted: left out, or 2 to {units}"
            ))
        } else if self.nand.multi_plane {
            Some(format!(
                "{programs} with nand.multi_plane true, which joins pages; accepted: left out, or \
                 nand.multi_plane false"
            ))
        } else if self.ftl.compression.as_ref().is_some_and(|it| it.ratio() < 1.0) {
            Some(format!(
                "{programs} with ftl.compression, whose data does not end with a page; accepted: \
                 left out, or ftl.compression none"
            ))
        } else if self.ftl.allocation.superblock().is_some() {
            Some(format!(
                "{programs} with superblocks, which is not modelled; accepted: left out, or \
                 another ftl.allocation"
            ))
        } else {
            None
        };
        refusal.map_or(Ok(()), |text| Err(ConfigError::new("nand.partial_programs", text)))
    }

    /// Whether reads can begin with a step that is remembered.
    fn check_remembered(&self) -> Result<(), ConfigError> {
        let remembers = self.controller.read_retry.as_ref().is_some_and(|retry| retry.remember);
        if remembers && self.ecc.fidelity == Fidelity::BitTrue {
            let message = "true with ecc.fidelity bit_true, where pages are decoded later than \
                           they are read; accepted: false, or ecc.fidelity table";
            return Err(ConfigError::new("remember", message));
        }
        Ok(())
    }

    /// Checks that copies inside the die are possible: such a copy programs a single page.
    fn check_copyback(&self) -> Result<(), ConfigError> {
        if self.ftl.copyback.is_none() || matches!(self.nand.program, ProgramMode::Page(_)) {
            return Ok(());
        }
        let message = "a copy inside the die programs one page, and nand.program takes the pages \
                       of a wordline together; accepted: none, or nand.program page";
        Err(ConfigError::new("ftl.copyback", message))
    }

    /// Whether the code can be decoded from the reads that the controller makes.
    fn check_soft_reads(&self) -> Result<(), ConfigError> {
        let Some(soft) = &self.controller.soft_read else { return Ok(()) };
        if self.ecc.algorithm != Algorithm::Ldpc {
            let message = "only LDPC codes decode soft reads; accepted: ecc.algorithm = ldpc";
            return Err(ConfigError::new("reads", message));
        }
        let column = |row: &crate::reads::FerRow, reads: u8| match reads {
            3 => row.2.is_some(),
            _ => row.3.is_some(),
        };
        for &reads in &soft.reads {
            let rows = self.ecc.fer_table.iter().flatten();
            if self.ecc.fer_table.is_some() && !rows.clone().any(|row| column(row, reads)) {
                let message = format!(
                    "ecc.fer_table has no rates after {reads} reads; accepted: reads that it has"
                );
                return Err(ConfigError::new("reads", message));
            }
        }
        Ok(())
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

    fn checked_code(&self) -> Result<PageCode, ConfigError> {
        // A map unit is what a read decodes.
        let geometry = self.geometry();
        let oob_bytes = self.flash().oob_size_bytes.unwrap_or_default();
        let code = self.ecc.page_code(geometry.page_bytes)?;
        self.ecc.check_parity(&code, geometry.units_per_page, oob_bytes)?;
        if self.ecc.fidelity == Fidelity::BitTrue {
            BitTrue::check(&self.ecc, &code)?;
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
            Fidelity::Table => None,
            Fidelity::BitTrue => Some(BitTrue::new(&self.ecc, &code)?),
        };
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
        let rate_max = self.ftl.refresh.as_ref().and_then(|refresh| refresh.at_rber);
        let errors = errors.with_watch(rate_max, self.geometry().block_count());
        let spread = self.nand.error_spread.as_ref().filter(|spread| spread.is_on());
        Ok(match spread {
            Some(spread) => errors.with_spread(spread, self.geometry().block_count(), seed),
            None => errors,
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
}
