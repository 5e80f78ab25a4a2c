//! Traces written in another format.
//!
//! Formats have no words for some parts of a request; the losses are counted.

use std::collections::BTreeSet;
use std::io::{self, Write};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ops::{Flags, APPEND, OPS, RESET};
use super::{Trace, TraceRecord};
use crate::op::HostOp;
use crate::units::SECTOR_BYTES;

/// Formats that can be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// `time_ns,op,offset_bytes,size_bytes,volume,process,flags`.
    #[default]
    Csv,
    /// Version 3.
    FioIolog,
    /// Text of blkparse, events Q.
    Blkparse,
    /// `time_ns device sector sectors type`.
    Mqsim,
}

/// Losses of a conversion, because the format has no words for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Requests that were written.
    pub written: u64,
    /// Trims that were left out.
    pub trims: u64,
    /// Flushes that were left out.
    pub flushes: u64,
    /// Resets of zones that were left out.
    pub resets: u64,
    /// Appends to zones that were left out.
    pub appends: u64,
    /// Writes with force unit access that became writes.
    pub fua: u64,
    /// Requests that lost other flags.
    pub flags: u64,
    /// Times that were rounded down.
    pub times: u64,
    /// Requests whose process is not named, or in another way.
    pub processes: u64,
    /// Volumes that have another name.
    pub volumes: u64,
}

impl Trace {
    /// Writes the trace; `is_part` selects requests by the indices of volume and process.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(
        &self,
        target: Target,
        out: &mut dyn Write,
        is_part: &dyn Fn(usize, u32) -> bool,
    ) -> io::Result<Losses> {
        let mut losses = Losses::default();
        let volumes = target.volumes(&self.volumes);
        let renamed = |(new, old): &(&String, &String)| new != old;
        losses.volumes = volumes.iter().zip(&self.volumes).filter(renamed).count() as u64;
        target.head(&volumes, out)?;
        for (index, record) in self.records.iter().enumerate() {
            let process = self.processes.as_ref().map(|names| names.indices[index]);
            if !is_part(record.volume_index(), process.unwrap_or_default()) {
                continue;
            }
            let process = self.processes.as_ref().map_or("", |names| names.get(index));
            let volume = &volumes[record.volume_index()];
            target.line(index, record, volume, process, out, &mut losses)?;
        }
        Ok(losses)
    }
}

impl Target {
    /// The names of volumes in this format: their own if it can have them, and as many.
    fn volumes(self, names: &[String]) -> Vec<String> {
        let is_number = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|it| it.is_ascii_digit())
                && text.parse::<u64>().is_ok()
        };
        let is_device = |name: &str| {
            let parts = name.split_once(',');
            parts.is_some_and(|(major, minor)| is_number(major) && is_number(minor))
        };
        let is_name = |name: &str| match self {
            Self::Csv => !name.contains(','),
            Self::FioIolog => !name.is_empty() && !name.contains(char::is_whitespace),
            Self::Blkparse => is_device(name),
            Self::Mqsim => is_number(name),
        };
        let mut taken: BTreeSet<String> = names.iter().filter(|it| is_name(it)).cloned().collect();
        let mut renamed = |at: usize, name: &str| {
            let base = name.replace(',', ":").replace(char::is_whitespace, "_");
            // As `csv` has those of a kernel.
            let device = base.replace(':', ",");
            let wanted = |more: usize| match self {
                Self::Blkparse if more == 0 && is_device(&device) => device.clone(),
                Self::Csv | Self::FioIolog if more == 0 && !base.is_empty() => base.clone(),
                Self::Csv | Self::FioIolog => format!("{base}_{more}"),
                Self::Blkparse => format!("8,{}", (at + more) * 16),
                Self::Mqsim => (at + more).to_string(),
            };
            let free = (0..=taken.len()).map(wanted).find(|wanted| taken.insert(wanted.clone()));
            free.unwrap_or_default()
        };
        let all = names.iter().enumerate();
        all.map(|(at, name)| if is_name(name) { name.clone() } else { renamed(at, name) }).collect()
    }

    fn head(self, volumes: &[String], out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Csv => writeln!(out, "time_ns,op,offset_bytes,size_bytes,volume,process,flags"),
            Self::FioIolog => {
                writeln!(out, "fio version 3 iolog")?;
                volumes.iter().try_for_each(|name| writeln!(out, "0 {name} add\n0 {name} open"))
            }
            Self::Blkparse | Self::Mqsim => Ok(()),
        }
    }

    fn line(
        self,
        index: usize,
        record: &TraceRecord,
        volume: &str,
        process: &str,
        out: &mut dyn Write,
        losses: &mut Losses,
    ) -> io::Result<()> {
        let (op, ns) = (record.op(), record.arrival.0);
        let (sector, count) = (record.sector, record.sector_count);
        let (offset, size) = (sector * SECTOR_BYTES, u64::from(count) * SECTOR_BYTES);
        let is_process_lost = match self {
            Self::Csv => process.contains(','),
            Self::Blkparse => process.parse::<u64>().is_err() && !process.is_empty(),
            Self::FioIolog | Self::Mqsim => !process.is_empty(),
        };
        let is_kernel = matches!(self, Self::Csv | Self::Blkparse);
        let left_out = match op {
            RESET if !is_kernel => Some(&mut losses.resets),
            APPEND if !is_kernel => Some(&mut losses.appends),
            HostOp::Trim if self == Self::Mqsim => Some(&mut losses.trims),
            HostOp::Flush if self == Self::Mqsim => Some(&mut losses.flushes),
            _ => None,
        };
        if let Some(count) = left_out {
            *count += 1;
            return Ok(());
        }
        let flags = Flags::KEPT.iter().filter(|(flag, ..)| record.flags().has(*flag));
        if !is_kernel {
            losses.fua += u64::from(record.is_fua());
            losses.flags += u64::from(flags.clone().any(|(flag, ..)| *flag != Flags::FUA));
        }
        // Behind ZR an A would be of all zones.
        let is_no_letter =
            |flag: Flags| self == Self::Blkparse && op == RESET && flag == Flags::AHEAD;
        losses.flags += u64::from(flags.clone().any(|(flag, ..)| is_no_letter(*flag)));
        losses.written += 1;
        losses.processes += u64::from(is_process_lost);
        let word = OPS[record.op_index()].1;
        match self {
            Self::Csv => {
                let process = process.replace(',', " ");
                write!(out, "{ns},{word},{offset},{size},{volume},{process},")?;
                let mut before = "";
                for (_, name, _) in flags {
                    write!(out, "{before}{name}")?;
                    before = " ";
                }
                writeln!(out)
            }
            Self::FioIolog => {
                losses.times += u64::from(!ns.is_multiple_of(1_000));
                let word = if op == HostOp::Flush { "sync" } else { word };
                writeln!(out, "{} {volume} {word} {offset} {size}", ns / 1_000)
            }
            Self::Blkparse => {
                let pid = if is_process_lost || process.is_empty() { "0" } else { process };
                let (s, rest, number) = (ns / 1_000_000_000, ns % 1_000_000_000, index + 1);
                let letters = match op {
                    HostOp::Read => "R",
                    HostOp::Write => "W",
                    HostOp::Flush => "FN",
                    RESET => "ZR",
                    APPEND => "ZA",
                    _ => "D",
                };
                write!(out, "{volume} 0 {number} {s}.{rest:09} {pid} Q {letters}")?;
                for (.., letter) in flags.filter(|(flag, ..)| !is_no_letter(*flag)) {
                    write!(out, "{letter}")?;
                }
                match op {
                    HostOp::Flush => writeln!(out, " [0]"),
                    _ => writeln!(out, " {sector} + {count} [0]"),
                }
            }
            Self::Mqsim => {
                writeln!(out, "{ns} {volume} {sector} {count} {}", u8::from(op == HostOp::Read))
            }
        }
    }
}
