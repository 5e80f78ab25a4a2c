//! The host side: queue depth, cost of commands, and latency.
//!
//! ```text
//! hosts ─► submission queues ─► arbitration ─► processor ─► throttle ─► link ─► caches ─► FTL
//! ```
//! Each box is a separate component without access to the event queue: it is called with the time
//! and returns a time. Components that are not configured are left out.

pub mod activity;
pub mod arbitration;
mod bins;
pub mod cache;
pub mod interface;
pub mod jitter;
pub mod latency;
pub mod latency_monitor;
pub mod link;
pub mod namespaces;
mod overhead;
pub mod path;
mod pause;
pub mod processor;
pub mod protocol;
pub mod read_ahead;
pub mod tenants;
pub mod throttle;
pub mod turnaround;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::config::{name_or_mapping, optional_bytes, size_schema, ConfigError};
use crate::nand::protection::Protection;
use arbitration::{Arbiter, ArbitrationConfig};
use cache::{
    CleanCaches, Policy, ReadCache, ReadCacheConfig, WriteCache, WriteCacheConfig, WriteMode,
};
use jitter::{Jitter, JitterConfig};
use link::{Link, LinkConfig};
use namespaces::NamespaceConfig;
use overhead::CommandOverhead;
use processor::{CommandCost, Processor};
use protocol::ProtocolConfig;
use throttle::{Throttle, ThrottleConfig};
use turnaround::TurnaroundConfig;

use crate::op::Priority;

/// Largest limit of a command: that of a request.
const TRANSFER_MAX: u64 = 1 << 30;
/// Bytes of the largest window of reading ahead.
pub(crate) const READ_AHEAD_MAX: u64 = 1 << 30;

/// The host interface of the drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// The link: a name such as `sata3`, `sas12`, `pcie4x4`, `emmc51_hs400` or `ufs31`, or a
    /// mapping `{kind: custom, mb_s: 500, duplex: half, command_us: 1}`; default `ideal`,
    /// infinitely fast.
    pub link: LinkConfig,
    /// The protocol: `ideal`, `nvme`, `sata_ncq`, `sas`, `emmc` or `ufs`, or a mapping with
    /// parameters such as `{kind: nvme, queues: 4}`; default: the protocol of the link.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_protocol")]
    #[schemars(schema_with = "protocol_schema")]
    pub protocol: Option<ProtocolConfig>,
    /// Commands that the drive accepts at once, 1 to 1048576 or the limit of the protocol; further
    /// ones wait outside, in order. Default the limit of the protocol, 65536 for `ideal`.
    pub queue_depth_max: Option<u32>,
    /// Time that each command spends in the controller before its first flash operation, in
    /// microseconds; commands pass it side by side. A number, or `{read, write, trim, flush,
    /// per_kib}`.
    pub command_overhead_us: CommandOverhead,
    /// Time for which a command takes one of the controller's cores, in microseconds: a number, or
    /// `{read, write, trim, flush, per_kib, move}`; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_cost_us: Option<CommandCost>,
    /// Cores of the controller, 1 to 1024; default 1. Needs `command_cost_us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// How the time of commands (`command_overhead_us` and `command_cost_us`) varies:
    /// `{kind: lognormal, sigma: 0.3}`, a factor of mean 1 for each command; left out: it does
    /// not. Only in simulated time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterConfig>,
    /// Time that the controller loses when commands change between reading and writing, in
    /// microseconds: a number for each change, or
    /// `{commands, fixed, per_unit, per_sqrt_unit, unit_bytes}`; default none. An empirical
    /// constant: no data sheet gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turnaround_us: Option<TurnaroundConfig>,
    /// Throttles that slow the drive down on purpose: a wear budget, heat; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<ThrottleConfig>,
    /// A cache of pages that were read, `{pages: 1024, policy: lru}`; default `none`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "none_or_mapping")]
    #[schemars(schema_with = "read_cache_schema")]
    pub read_cache: Option<ReadCacheConfig>,
    /// Bytes that the drive reads ahead, into its memory, behind two consecutive sequential reads
    /// of a tenant; a number or text such as `256KiB`, from a page of the flash to 1 GiB. Left
    /// out: none. Only in simulated time.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_bytes")]
    #[schemars(schema_with = "size_schema")]
    pub read_ahead_bytes: Option<u64>,
    /// Most bytes of a read or write that the host sends as one command, a multiple of 4096 up to
    /// 1 GiB, a number or text such as `512KiB`: larger ones reach the drive as several commands.
    /// Left out: no limit. Not with `ftl.mapping` zoned.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_bytes")]
    #[schemars(schema_with = "size_schema")]
    pub max_transfer_bytes: Option<u64>,
    /// A write cache with a policy, `{pages: 1024, policy: lru, mode: write_back}`, instead of
    /// `ftl.write_buffer_pages`; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<WriteCacheConfig>,
    /// Whether capacitors keep data in memory when power fails. Then a flush and force unit access
    /// program no padding, and a write cache stays on even if the host switches it off. Default
    /// false: they pad incomplete program units (`programs.pad`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub power_loss_protected: bool,
    /// Namespaces on some dies each, at most 64: parts of the drive's range, one after the
    /// other, each on some channels and dies, with its own blocks, reserve and collection. A
    /// workload's tenants name them. Default none: all data is on all dies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<NamespaceConfig>,
    /// Protection that detects wrong data of a served drive: `none`, `crc` for each map unit, or
    /// T10 protection information for each sector, `{kind: dif, type: 1}`; default `crc`. Without
    /// effect on times and on drives that are not served.
    #[serde(skip_serializing_if = "Protection::is_default", deserialize_with = "name_or_mapping")]
    #[schemars(schema_with = "protection_schema")]
    pub protection: Protection,
}

fn optional_protocol<'de, D>(deserializer: D) -> Result<Option<ProtocolConfig>, D::Error>
where
    D: Deserializer<'de>,
{
    let value: Option<Value> = Option::deserialize(deserializer)?;
    value.map(name_or_mapping).transpose().map_err(serde::de::Error::custom)
}

fn none_or_mapping<'de, D>(deserializer: D) -> Result<Option<ReadCacheConfig>, D::Error>
where
    D: Deserializer<'de>,
{
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::String(name) if name == "none" => Ok(None),
        value @ Value::Object(_) => {
            serde_json::from_value(value).map(Some).map_err(serde::de::Error::custom)
        }
        other => Err(serde::de::Error::custom(format!(
            "`{other}` is not a valid read cache; accepted: none, or {{pages: 1024, policy: lru}}"
        ))),
    }
}

fn protocol_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    crate::config::name_or_mapping_schema::<ProtocolConfig>(generator)
}

fn protection_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mapping = Protection::json_schema(generator);
    schemars::json_schema!({ "anyOf": [{ "enum": ["none", "crc"] }, mapping] })
}

fn read_cache_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mapping = ReadCacheConfig::json_schema(generator);
    schemars::json_schema!({ "anyOf": [{ "const": "none" }, mapping] })
}

impl HostConfig {
    /// Fills in values that follow from other keys, and refuses invalid ones.
    pub(crate) fn check(&mut self) -> Result<(), ConfigError> {
        self.link.resolve()?;
        self.protection.check().map_err(|error| error.under("protection"))?;
        if !self.link.is_ideal() && self.protocol.is_none() {
            self.protocol = Some(ProtocolConfig::of(&self.link));
        }
        let protocol = self.protocol();
        protocol.check(&self.link, self.queue_depth_max)?;
        self.queue_depth_max.get_or_insert(protocol.depth_default());
        self.command_overhead_us.check("command_overhead_us")?;
        self.check_cores()?;
        if let Some(jitter) = &self.jitter {
            let cost = self.command_cost_us.unwrap_or_default();
            jitter.check(!self.command_overhead_us.is_free() || !cost.is_free())?;
        }
        if let Some(turnaround) = &self.turnaround_us {
            turnaround.check("turnaround_us")?;
        }
        if let Some(throttle) = &self.throttle {
            throttle.check().map_err(|error| error.under("throttle"))?;
        }
        if let Some(bytes) = self.max_transfer_bytes {
            let accepted = 4096..=TRANSFER_MAX;
            if !accepted.contains(&bytes) || !bytes.is_multiple_of(4096) {
                let message = format!("{bytes}; accepted: a multiple of 4096 up to {TRANSFER_MAX}");
                return Err(ConfigError::new("max_transfer_bytes", message));
            }
        }
        namespaces::check(&self.namespaces)?;
        if let Some(cache) = &self.read_cache {
            cache::check_pages("read_cache", cache.pages)?;
        }
        if let Some(cache) = &self.write_cache {
            cache::check_pages("write_cache", cache.pages)?;
        }
        Ok(())
    }

    fn check_cores(&self) -> Result<(), ConfigError> {
        let Some(cost) = &self.command_cost_us else {
            let message = "has no effect without command_cost_us; accepted: both or neither";
            return if self.cores.is_some() {
                Err(ConfigError::new("cores", message))
            } else {
                Ok(())
            };
        };
        cost.check("command_cost_us")?;
        match self.cores {
            Some(cores) if !(1..=1024).contains(&cores) => {
                let message = format!("{cores} is out of range; accepted: 1 to 1024");
                Err(ConfigError::new("cores", message))
            }
            _ => Ok(()),
        }
    }

    fn protocol(&self) -> ProtocolConfig {
        self.protocol.clone().unwrap_or_else(|| ProtocolConfig::of(&self.link))
    }

    /// Commands that the drive accepts at once.
    pub fn depth_max(&self) -> u32 {
        self.queue_depth_max.unwrap_or_else(|| self.protocol().depth_default())
    }

    /// The wires, unless the link is ideal.
    pub fn build_link(&self) -> Option<Link> {
        self.link.build()
    }

    /// The cores of the controller, unless commands and turnarounds cost nothing.
    pub fn build_processor(&self) -> Option<Processor> {
        let cost = self.command_cost_us.unwrap_or_default();
        if cost.is_free() && self.turnaround_us.is_none() {
            return None;
        }
        Some(Processor::new(&cost, self.cores.unwrap_or(1), self.turnaround_us.as_ref()))
    }

    /// The factors on the time of commands, unless it is constant.
    pub fn build_jitter(&self, seed: u64) -> Option<Jitter> {
        Some(Jitter::new(self.jitter.as_ref()?, seed))
    }

    /// The throttles, if there are any.
    pub fn build_throttle(&self) -> Option<Throttle> {
        Throttle::new(self.throttle.as_ref()?)
    }

    /// Submission queues with arbitration for these hosts (priority and weight), if the protocol
    /// has them; otherwise commands are taken in order of arrival. With fewer queues than hosts,
    /// some share one, which then has the priority and weight of its first host.
    pub fn build_arbiter<T>(&self, hosts: &[(Priority, u32)]) -> Option<Arbiter<T>> {
        let ProtocolConfig::Nvme(nvme) = self.protocol.as_ref()? else { return None };
        let queues = hosts.len().min(nvme.queues as usize);
        (queues > 1).then(|| Arbiter::new(&nvme.arbitration, &hosts[..queues]))
    }

    /// How submission queues take turns, if the protocol has them.
    pub fn arbitration(&self) -> Option<&ArbitrationConfig> {
        match self.protocol.as_ref()? {
            ProtocolConfig::Nvme(nvme) => Some(&nvme.arbitration),
            _ => None,
        }
    }

    /// Whether a write cache is on: with capacitors it stays on even if the host disables it.
    fn is_on(&self, cache: &WriteCacheConfig) -> bool {
        cache.enabled || self.power_loss_protected
    }

    /// The cache in which writes wait, if there is one. Of the FTL's keys: the pages of the write
    /// buffer, and whether it absorbs rewrites.
    pub fn build_write_cache(&self, buffer_pages: u32, absorbs: bool) -> Option<WriteCache> {
        match &self.write_cache {
            Some(cache) if self.is_on(cache) && cache.mode == WriteMode::WriteBack => {
                Some(WriteCache::new(cache.pages, cache.policy))
            }
            None if buffer_pages > 0 => {
                let buffer = WriteCache::new(buffer_pages, Policy::Fifo);
                Some(if absorbs { buffer } else { buffer.in_order() })
            }
            Some(_) | None => None,
        }
    }

    /// The caches of pages that were written through and that were read, if there is one.
    pub fn build_clean_caches(&self) -> Option<Box<CleanCaches>> {
        let through = self.write_cache.as_ref().filter(|cache| self.is_on(cache));
        let through = through.filter(|cache| cache.mode == WriteMode::WriteThrough);
        let written = through.map(|cache| ReadCache::new(cache.pages, cache.policy));
        let read = self.read_cache.as_ref();
        CleanCaches::new(written, read.map(|cache| ReadCache::new(cache.pages, cache.policy)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(json: &str) -> Result<HostConfig, ConfigError> {
        let mut config: HostConfig = crate::config::parse(json)?;
        config.check().map(|()| config)
    }

    #[test]
    fn the_default_interface_is_ideal_and_says_no_more_than_before() {
        let config = resolve("{}").expect("defaults are an interface");
        let text = serde_json::to_string(&config).expect("plain data");
        assert_eq!(text, r#"{"link":"ideal","queue_depth_max":65536,"command_overhead_us":0.0}"#);
        assert!(config.build_link().is_none() && config.build_arbiter::<u32>(&[]).is_none());
    }

    #[test]
    fn the_protocol_follows_the_link_and_the_depth_the_protocol() {
        for (json, depth) in [
            (r#"{"link": "sata2"}"#, 32),
            (r#"{"link": "sas12"}"#, 254),
            (r#"{"link": "pcie3x4"}"#, 16 * 65_535),
            (r#"{"link": "pcie3x4", "protocol": {"kind": "nvme", "queues": 1}}"#, 65_535),
            (r#"{"link": "emmc51_hs400"}"#, 1),
            (r#"{"protocol": {"kind": "emmc", "command_queue": true}}"#, 32),
            (r#"{"link": "ufs31", "queue_depth_max": 8}"#, 8),
            (r#"{"protocol": "nvme", "queue_depth_max": 64}"#, 64),
            (r#"{"link": "sata2", "protocol": "ideal"}"#, 65_536),
        ] {
            let config = resolve(json).expect(json);
            assert_eq!(config.depth_max(), depth, "{json}");
            let again = resolve(&serde_json::to_string(&config).expect("plain data"));
            assert_eq!(again.as_ref(), Ok(&config), "{json}");
        }
    }

    #[test]
    fn contradictions_are_refused_with_path_and_reason() {
        for (json, path, words) in [
            (r#"{"link": "sata9"}"#, "link", "sata3"),
            (r#"{"link": "sata2", "queue_depth_max": 64}"#, "queue_depth_max", "32 tags"),
            (r#"{"protocol": "emmc", "queue_depth_max": 2}"#, "queue_depth_max", "one command"),
            (r#"{"link": "sata2", "protocol": "nvme"}"#, "protocol", "sata_ncq"),
            (r#"{"protocol": {"kind": "nvme", "queues": 0}}"#, "protocol.queues", "1 to 65535"),
            (
                r#"{"protocol": {"kind": "nvme", "arbitration": {"kind": "round_robin",
                    "burst": 0}}}"#,
                "protocol.arbitration.burst",
                "1 to 65536",
            ),
            (r#"{"protocol": {"kind": "ufs", "queues": 2}}"#, "protocol", "queues"),
            (r#"{"protocol": "scsi"}"#, "protocol", "scsi"),
            (r#"{"cores": 2}"#, "cores", "command_cost_us"),
            (r#"{"jitter": {"kind": "lognormal", "sigma": 0.3}}"#, "jitter", "command_overhead_us"),
            (
                r#"{"jitter": {"kind": "lognormal", "sigma": 2.5}, "command_cost_us": 1}"#,
                "jitter.sigma",
                "above 0, at most 2",
            ),
            (r#"{"jitter": {"kind": "lognormal"}, "command_cost_us": 1}"#, "jitter", "sigma"),
            (r#"{"cores": 0, "command_cost_us": 1}"#, "cores", "1 to 1024"),
            (r#"{"command_cost_us": {"read": -1}}"#, "command_cost_us.read", "0 to 1e6"),
            (r#"{"read_cache": {"pages": 0}}"#, "read_cache.pages", "1 to"),
            (r#"{"read_cache": "big"}"#, "read_cache", "accepted: none"),
            (r#"{"write_cache": {"pages": 4, "policy": "mru"}}"#, "write_cache.policy", "mru"),
            (r#"{"write_cache": {"policy": "lru"}}"#, "write_cache", "pages"),
            (r#"{"max_transfer_bytes": 0}"#, "max_transfer_bytes", "multiple of 4096"),
            (r#"{"max_transfer_bytes": "513KiB"}"#, "max_transfer_bytes", "multiple of 4096"),
            (r#"{"max_transfer_bytes": "2GiB"}"#, "max_transfer_bytes", "1073741824"),
            (r#"{"throttle": {"wear": {"tbw_tb": 1, "years": 0}}}"#, "throttle.wear.years", "0"),
        ] {
            let error = resolve(json).expect_err(json);
            assert_eq!(error.path, path, "{error}");
            assert!(error.message.contains(words), "{error}");
        }
        assert!(resolve(r#"{"write_cache": {"pages": 4}}"#).is_ok());
    }
}
