//! The link between host and drive: wires that carry one transfer at a time, in order.
//!
//! ```text
//! half duplex   one wire    command + data in either direction, one after the other
//! full duplex   two wires   to the drive and to the host, each in its own order
//! ```
//! A rate is the payload after the line code (8b/10b: 8 of 10 bits; 128b/130b: 128 of 130) in MB/s
//! of 10^6 bytes, as the SNIA NAND performance tutorial (L. Smith, 2009) counts; headers of packets
//! are left to `efficiency`. The wire time of a command and its completion, without the data, is
//! one time per command, `command_us`.
//!
//! Left out: packets of several commands interleaved on the wire, retransmission, power states.

use schemars::generate::SchemaGenerator;
use schemars::{json_schema, JsonSchema, Schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{json, Value};

use super::interface::Interface;
use crate::config::ConfigError;
use crate::units::Ns;

/// Bytes of frames and handshakes of a command in addition to its data, assumed: a command frame,
/// its answer, the set-up of the data and the completion are 130 to 160 bytes with their headers on
/// SATA, SAS, PCI Express and UFS; the rest is ready and OK primitives, doorbells and interrupts.
const COMMAND_BYTES: f64 = 256.0;

/// Clocks of an eMMC command line for one transfer, assumed: two commands (count of blocks, then
/// read or write) of 48 bits with answers of 48 bits and 16 clocks between, at 200 MHz.
const EMMC_COMMAND_US: f64 = 2.0 * (48.0 + 48.0 + 16.0) / 200.0;

/// Whether both directions share one wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Duplex {
    /// One transfer at a time, whatever its direction.
    Half,
    /// One transfer at a time in each direction.
    Full,
}

/// Direction of the data of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Data of writes, and commands without data.
    ToDrive,
    /// Data of reads.
    ToHost,
}

/// A link that has a name.
struct Row {
    name: &'static str,
    /// Payload in MB/s of 10^6 bytes.
    mb_s: f64,
    duplex: Duplex,
    interface: Interface,
    source: &'static str,
}

macro_rules! links {
    ($($name:literal $mb_s:expr, $duplex:ident, $interface:ident, $source:literal;)+) => {
        const LINKS: &[Row] = &[$(Row {
            name: $name,
            mb_s: $mb_s,
            duplex: Duplex::$duplex,
            interface: Interface::$interface,
            source: $source,
        },)+];
    };
}

// Payload of one PCIe lane in MB/s: transfers per second, times the line code, over 8 bits.
const PCIE_1: f64 = 2500.0 * 0.8 / 8.0;
const PCIE_2: f64 = 5000.0 * 0.8 / 8.0;
const PCIE_3: f64 = 8000.0 * 128.0 / 130.0 / 8.0;
const PCIE_4: f64 = 16_000.0 * 128.0 / 130.0 / 8.0;
const PCIE_5: f64 = 32_000.0 * 128.0 / 130.0 / 8.0;

links! {
    "sata1" 150.0, Half, SataNcq, "Serial ATA Gen1: 1.5 Gb/s, 8b/10b; data go one way at a time";
    "sata2" 300.0, Half, SataNcq, "Serial ATA Gen2: 3 Gb/s, 8b/10b; data go one way at a time";
    "sata3" 600.0, Half, SataNcq, "Serial ATA Gen3: 6 Gb/s, 8b/10b; data go one way at a time";
    "sas6" 600.0, Full, Sas, "SAS-2: 6 Gb/s, 8b/10b";
    "sas12" 1200.0, Full, Sas, "SAS-3: 12 Gb/s, 8b/10b";
    "pcie1x1" PCIE_1, Full, Nvme, "PCI Express 1.1: 2.5 GT/s a lane, 8b/10b";
    "pcie1x2" 2.0 * PCIE_1, Full, Nvme, "PCI Express 1.1: 2.5 GT/s a lane, 8b/10b";
    "pcie1x4" 4.0 * PCIE_1, Full, Nvme, "PCI Express 1.1: 2.5 GT/s a lane, 8b/10b";
    "pcie1x8" 8.0 * PCIE_1, Full, Nvme, "PCI Express 1.1: 2.5 GT/s a lane, 8b/10b";
    "pcie2x1" PCIE_2, Full, Nvme, "PCI Express 2.0: 5 GT/s a lane, 8b/10b";
    "pcie2x2" 2.0 * PCIE_2, Full, Nvme, "PCI Express 2.0: 5 GT/s a lane, 8b/10b";
    "pcie2x4" 4.0 * PCIE_2, Full, Nvme, "PCI Express 2.0: 5 GT/s a lane, 8b/10b";
    "pcie2x8" 8.0 * PCIE_2, Full, Nvme, "PCI Express 2.0: 5 GT/s a lane, 8b/10b";
    "pcie3x1" PCIE_3, Full, Nvme, "PCI Express 3.0: 8 GT/s a lane, 128b/130b";
    "pcie3x2" 2.0 * PCIE_3, Full, Nvme, "PCI Express 3.0: 8 GT/s a lane, 128b/130b";
    "pcie3x4" 4.0 * PCIE_3, Full, Nvme, "PCI Express 3.0: 8 GT/s a lane, 128b/130b";
    "pcie3x8" 8.0 * PCIE_3, Full, Nvme, "PCI Express 3.0: 8 GT/s a lane, 128b/130b";
    "pcie4x1" PCIE_4, Full, Nvme, "PCI Express 4.0: 16 GT/s a lane, 128b/130b";
    "pcie4x2" 2.0 * PCIE_4, Full, Nvme, "PCI Express 4.0: 16 GT/s a lane, 128b/130b";
    "pcie4x4" 4.0 * PCIE_4, Full, Nvme, "PCI Express 4.0: 16 GT/s a lane, 128b/130b";
    "pcie4x8" 8.0 * PCIE_4, Full, Nvme, "PCI Express 4.0: 16 GT/s a lane, 128b/130b";
    "pcie5x1" PCIE_5, Full, Nvme, "PCI Express 5.0: 32 GT/s a lane, 128b/130b";
    "pcie5x2" 2.0 * PCIE_5, Full, Nvme, "PCI Express 5.0: 32 GT/s a lane, 128b/130b";
    "pcie5x4" 4.0 * PCIE_5, Full, Nvme, "PCI Express 5.0: 32 GT/s a lane, 128b/130b";
    "pcie5x8" 8.0 * PCIE_5, Full, Nvme, "PCI Express 5.0: 32 GT/s a lane, 128b/130b";
    "emmc51_hs200" 200.0, Half, Emmc, "eMMC 5.1 (JESD84-B51): 8 bits x 200 MHz, single rate";
    "emmc51_hs400" 400.0, Half, Emmc, "eMMC 5.1 (JESD84-B51): 8 bits x 200 MHz, double rate";
    "ufs21" 2.0 * 5830.4 * 0.8 / 8.0, Full, Ufs,
        "UFS 2.1 (JESD220C): 2 lanes of M-PHY HS-G3 rate B, 5830.4 Mb/s each, 8b/10b";
    "ufs31" 2.0 * 11_660.8 * 0.8 / 8.0, Full, Ufs,
        "UFS 3.1 (JESD220E): 2 lanes of M-PHY HS-G4 rate B, 11660.8 Mb/s each, 8b/10b";
    "ufs40" 2.0 * 23_321.6 * 0.8 / 8.0, Full, Ufs,
        "UFS 4.0 (JESD220F): 2 lanes of M-PHY HS-G5 rate B, 23321.6 Mb/s each, 8b/10b";
}

/// Value of the key `host.link`: `ideal`, the name of a link, or a mapping
/// `{kind: pcie3x4, efficiency: 0.9}`; `{kind: custom, mb_s: 500}` is any other link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// `ideal`, `custom`, or the name of a link.
    kind: String,
    keys: LinkKeys,
}

/// The keys next to `kind`; defaults of absent keys are those of the link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct LinkKeys {
    /// Payload after the line code, in MB/s of 10^6 bytes; above 0, at most 1e6. `custom` needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mb_s: Option<f64>,
    /// `half`: both directions share one wire; `full`: each has its own. Default that of the link,
    /// of `custom` `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplex: Option<Duplex>,
    /// Time on the wire that a command takes in addition to its data, in microseconds; 0 to 1e6.
    /// Default that of the link (assumed: 256 bytes of frames; two commands of an eMMC), 0 of
    /// `custom`.
    #[serde(skip_serializing_if = "Option::is_none")]
    command_us: Option<f64>,
    /// Share of the rate that headers of packets leave to the data; above 0, at most 1; default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    efficiency: Option<f64>,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self { kind: "ideal".to_owned(), keys: LinkKeys::default() }
    }
}

impl LinkConfig {
    /// Whether the link takes no time.
    pub fn is_ideal(&self) -> bool {
        self.kind == "ideal"
    }

    /// The interface that is spoken over this link.
    pub(super) fn interface(&self) -> Interface {
        self.row().map_or(Interface::Ideal, |row| row.interface)
    }

    /// Whether it is that of an eMMC.
    pub fn is_emmc(&self) -> bool {
        self.interface() == Interface::Emmc
    }

    /// Path and source of the rate of a link that has a name.
    pub fn source(&self) -> Option<&'static str> {
        self.row().map(|row| row.source)
    }

    fn row(&self) -> Option<&'static Row> {
        LINKS.iter().find(|row| row.name == self.kind)
    }

    /// Fills in the values of a named link, and refuses impossible ones.
    pub(super) fn resolve(&mut self) -> Result<(), ConfigError> {
        let row = self.row();
        let keys = &mut self.keys;
        if self.kind == "ideal" {
            let is_given = *keys != LinkKeys::default();
            let message = "an `ideal` link has no keys; accepted: {kind: custom, mb_s: 500}";
            return if is_given { Err(ConfigError::new("link", message)) } else { Ok(()) };
        }
        let Some(mb_s) = keys.mb_s.or(row.map(|row| row.mb_s)) else {
            let message = "a `custom` link needs its rate; accepted: above 0, at most 1e6 MB/s";
            return Err(ConfigError::new("link.mb_s", message));
        };
        let efficiency = *keys.efficiency.get_or_insert(1.0);
        let command_us = *keys.command_us.get_or_insert(match row.map(|row| row.interface) {
            None => 0.0,
            Some(Interface::Emmc) => EMMC_COMMAND_US,
            // Bytes over MB/s are microseconds.
            Some(_) => COMMAND_BYTES / mb_s,
        });
        keys.duplex.get_or_insert(row.map_or(Duplex::Full, |row| row.duplex));
        keys.mb_s = Some(mb_s);
        let check = |key: &str, value: f64, holds: bool, accepted: &str| {
            let message = format!("{value} is out of range; accepted: {accepted}");
            if holds {
                Ok(())
            } else {
                Err(ConfigError::new(format!("link.{key}"), message))
            }
        };
        check("mb_s", mb_s, mb_s > 0.0 && mb_s <= 1e6, "above 0, at most 1e6 MB/s")?;
        check("efficiency", efficiency, efficiency > 0.0 && efficiency <= 1.0, "above 0 to 1")?;
        check("command_us", command_us, (0.0..=1e6).contains(&command_us), "0 to 1e6")
    }

    /// The wires of a resolved link; `None` when it takes no time.
    pub fn build(&self) -> Option<Link> {
        let mb_s = self.keys.mb_s.filter(|_| !self.is_ideal())?;
        Some(Link {
            // MB/s are bytes per microsecond, of a thousand nanoseconds each.
            ns_per_byte: 1e3 / (mb_s * self.keys.efficiency.unwrap_or(1.0)),
            command: Ns::from_us(self.keys.command_us.unwrap_or(0.0)),
            is_shared: self.keys.duplex == Some(Duplex::Half),
            free_at: [Ns(0); 2],
            busy: [Ns(0); 2],
            last: (0, Ns(0)),
        })
    }
}

impl<'de> Deserialize<'de> for LinkConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let (kind, rest) = match value {
            Value::String(kind) => (kind, json!({})),
            Value::Object(mut keys) => match keys.remove("kind") {
                Some(Value::String(kind)) => (kind, Value::Object(keys)),
                _ => return Err(D::Error::custom(format!("no `kind`; accepted: {}", names()))),
            },
            other => {
                let message = format!("`{other}` is not a valid link; accepted: {}", names());
                return Err(D::Error::custom(message));
            }
        };
        let is_known = ["ideal", "custom"].contains(&kind.as_str());
        if !is_known && !LINKS.iter().any(|row| row.name == kind) {
            let message = format!("`{kind}` is not a valid link; accepted: {}", names());
            return Err(D::Error::custom(message));
        }
        let keys = serde_json::from_value(rest).map_err(D::Error::custom)?;
        Ok(Self { kind, keys })
    }
}

impl Serialize for LinkConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_ideal() {
            return serializer.serialize_str(&self.kind);
        }
        let mut value = json!(self.keys);
        value["kind"] = json!(self.kind);
        value.serialize(serializer)
    }
}

impl JsonSchema for LinkConfig {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LinkConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds: Vec<&str> = kinds().collect();
        let mut mapping = LinkKeys::json_schema(generator).to_value();
        mapping["properties"]["kind"] = json!({
            "type": "string",
            "enum": kinds,
            "description": "The name of a link, or `custom`.",
        });
        mapping["required"] = json!(["kind"]);
        json_schema!({ "anyOf": [{ "type": "string", "enum": kinds }, mapping] })
    }
}

fn kinds() -> impl Iterator<Item = &'static str> {
    ["ideal", "custom"].into_iter().chain(LINKS.iter().map(|row| row.name))
}

fn names() -> String {
    kinds().collect::<Vec<_>>().join(", ")
}

/// The wires, and until when each is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    ns_per_byte: f64,
    command: Ns,
    is_shared: bool,
    free_at: [Ns; 2],
    busy: [Ns; 2],
    /// Bytes of the last transfer and its time: most that follow are as long.
    last: (u64, Ns),
}

impl Link {
    /// Takes the wire for a command and its `bytes` (0 for one without data) as soon as it is free;
    /// returns when the last byte has passed. Callers come in order of time.
    #[inline]
    pub fn reserve(&mut self, now: Ns, direction: Direction, bytes: u64) -> Ns {
        let wire = if self.is_shared { 0 } else { direction as usize };
        if bytes != self.last.0 {
            self.last = (bytes, self.transfer(bytes));
        }
        let span = self.command + self.last.1;
        let start = now.max(self.free_at[wire]);
        self.free_at[wire] = start + span;
        self.busy[wire] = self.busy[wire] + span;
        start + span
    }

    /// Time of `bytes` alone on a free wire, rounded to the nanosecond.
    #[inline]
    pub fn transfer(&self, bytes: u64) -> Ns {
        Ns::rounded(bytes as f64 * self.ns_per_byte)
    }

    /// Total time for which each wire was taken: towards the drive (with half duplex: both
    /// directions) and towards the host.
    pub fn busy(&self) -> [Ns; 2] {
        self.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(json: &str) -> Link {
        let mut config: LinkConfig = serde_json::from_str(json).expect("a link");
        config.resolve().expect("a link that can be");
        config.build().expect("not ideal")
    }

    #[test]
    fn named_links_carry_what_their_standards_say() {
        // The caps of the SNIA NAND performance tutorial: SATA-II 300 MB/s, PCIe x4 1000 MB/s.
        let rate = |name: &str| {
            let row = LINKS.iter().find(|row| row.name == name).expect("a row");
            row.mb_s
        };
        assert!((rate("sata2") - 300.0).abs() < 1e-9);
        assert!((rate("pcie1x4") - 1000.0).abs() < 1e-9);
        assert!((rate("pcie3x4") - 3_938.461_538).abs() < 1e-6);
        assert!((rate("pcie5x8") - 31_507.692_308).abs() < 1e-6);
        assert!((rate("ufs31") - 2332.16).abs() < 1e-9);
        assert_eq!(LINKS.len(), 5 + 20 + 5);
    }

    #[test]
    fn half_duplex_shares_the_wire_and_full_duplex_does_not() {
        let run = |duplex: &str| {
            let json = format!(r#"{{"kind": "custom", "mb_s": 1000, "duplex": "{duplex}"}}"#);
            let mut link = link(&json);
            let there = link.reserve(Ns(0), Direction::ToDrive, 4096);
            let back = link.reserve(Ns(100), Direction::ToHost, 4096);
            let again = link.reserve(Ns(20_000), Direction::ToDrive, 1000);
            (there, back, again, link.busy())
        };
        let (there, back, again, busy) = run("half");
        assert_eq!((there, back, again), (Ns(4096), Ns(8192), Ns(21_000)));
        assert_eq!(busy, [Ns(9192), Ns(0)]);
        let (there, back, again, busy) = run("full");
        assert_eq!((there, back, again), (Ns(4096), Ns(4196), Ns(21_000)));
        assert_eq!(busy, [Ns(5096), Ns(4096)]);
    }

    #[test]
    fn commands_cost_their_frames_and_headers_their_share() {
        let mut link =
            link(r#"{"kind": "sata2", "efficiency": 0.5, "command_us": 2, "duplex": "full"}"#);
        // 1500 B at 150 MB/s are 10 us.
        assert_eq!(link.reserve(Ns(0), Direction::ToHost, 1500), Ns(12_000));
        assert_eq!(link.reserve(Ns(0), Direction::ToHost, 0), Ns(14_000));
    }

    #[test]
    fn impossible_links_are_refused() {
        for (json, words) in [
            (r#""sata9""#, "sata3"),
            (r#"{"mb_s": 3}"#, "no `kind`"),
            ("7", "is not a valid link"),
            (r#"{"kind": "sata2", "speed": 1}"#, "speed"),
        ] {
            let error = serde_json::from_str::<LinkConfig>(json).expect_err(json);
            assert!(error.to_string().contains(words), "{error}");
        }
        for (json, path) in [
            (r#"{"kind": "custom"}"#, "link.mb_s"),
            (r#"{"kind": "custom", "mb_s": 0}"#, "link.mb_s"),
            (r#"{"kind": "sata2", "efficiency": 1.5}"#, "link.efficiency"),
            (r#"{"kind": "sata2", "command_us": -1}"#, "link.command_us"),
            (r#"{"kind": "ideal", "mb_s": 5}"#, "link"),
        ] {
            let mut config: LinkConfig = serde_json::from_str(json).expect("well formed");
            assert_eq!(config.resolve().expect_err(json).path, path);
        }
    }

    #[test]
    fn a_resolved_link_resolves_to_itself() {
        for json in [r#""ideal""#, r#""pcie4x4""#, r#"{"kind": "emmc51_hs400", "mb_s": 380}"#] {
            let mut config: LinkConfig = serde_json::from_str(json).expect("a link");
            config.resolve().expect("a link that can be");
            let text = serde_json::to_string(&config).expect("plain data");
            let mut again: LinkConfig = serde_json::from_str(&text).expect("a link");
            again.resolve().expect("resolved before");
            assert_eq!(config, again);
        }
    }
}
