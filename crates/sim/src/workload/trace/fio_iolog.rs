//! fio iolog, versions 2 and 3, as `write_iolog` records them and `read_iolog` replays them.
//!
//! ```text
//!  version 2:  file action            or  file action offset length
//!  version 3:  time_us file action    or  time_us file action offset length
//! ```
//!
//! Actions read, write and trim become requests, sync and datasync flushes; add, open, close,
//! unlink and `sync_file_range` ask nothing of the drive. Files are volumes; force unit access has
//! no word.
//!
//! Version 2 has no times, only `wait` actions. fio sleeps until that many *milliseconds* have
//! passed since it began (`read_iolog_get()` in its `iolog.c`, and measured with fio 3.33: writes
//! behind waits of 3000 and 4000 came at 3 and 4 s), so this is their meaning here; its manual
//! states microseconds after the previous wait. Without them all requests arrive at 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{number, quote, scaled};
use super::{Flags, Format, Line, LineReader, Request};
use crate::config::is_default;
use crate::op::HostOp;
use crate::units::Ns;

/// Parameters of `fio_iolog`; the first line states the version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FioIolog {
    /// Meaning of the waits of version 2: `ms_since_start`, as fio runs them, or `us_between`, as
    /// its manual has them; default `ms_since_start`.
    #[serde(skip_serializing_if = "is_default")]
    pub wait: Wait,
}

/// Meaning of waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// Until that many milliseconds after the start.
    #[default]
    MsSinceStart,
    /// That many microseconds after the previous wait.
    UsBetween,
}

impl Format for FioIolog {
    const LINE: &'static str =
        "`fio version 2 iolog` (or 3), then file action [offset length], in 3 after time_us";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader { version: None, wait: self.wait, clock: Ns(0), waits: 0 })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

struct Reader {
    version: Option<Version>,
    wait: Wait,
    /// The latest time that was waited for; version 2 only.
    clock: Ns,
    waits: u64,
}

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        let Some(version) = self.version else {
            self.version = Some(header(text)?);
            return Ok(Line::Other);
        };
        let mut fields = text.split_ascii_whitespace();
        let mut next =
            |name: &str| fields.next().ok_or_else(|| format!("there is no {name} field"));
        let time = match version {
            Version::Two => self.clock,
            Version::Three => Ns(scaled("time", next("time")?, 1_000)?),
        };
        let volume = next("file")?;
        let op = match next("action")? {
            "read" => HostOp::Read,
            "write" => HostOp::Write,
            "trim" => HostOp::Trim,
            "wait" if version == Version::Two => {
                let text = next("offset")?;
                self.clock = match self.wait {
                    Wait::MsSinceStart => self.clock.max(Ns(scaled("wait", text, 1_000_000)?)),
                    Wait::UsBetween => {
                        let time = self.clock.0.checked_add(scaled("wait", text, 1_000)?);
                        time.map(Ns).ok_or("the waits add up to more than 2^64 ns")?
                    }
                };
                self.waits += 1;
                return Ok(Line::Other);
            }
            "sync" | "datasync" => return Ok(Line::Request(Request::flush(time, volume))),
            "add" | "open" | "close" | "unlink" | "sync_file_range" => return Ok(Line::Other),
            action => return Err(format!("action {} is unknown", quote(action))),
        };
        let request = Request {
            time,
            volume,
            offset_bytes: number("offset", next("offset")?)?,
            size_bytes: number("length", next("length")?)?,
            op,
            flags: Flags::default(),
            process: "",
        };
        match fields.next() {
            None => Ok(Line::Request(request)),
            Some(extra) => Err(format!("{} follows the length", quote(extra))),
        }
    }

    fn remarks(&self) -> Vec<String> {
        let text = "waits of version 2 are milliseconds since the start, as fio runs them (its \
                    manual says microseconds after the previous wait)";
        (self.waits > 0 && self.wait == Wait::default())
            .then(|| text.to_owned())
            .into_iter()
            .collect()
    }
}

fn header(text: &str) -> Result<Version, String> {
    match text.trim() {
        "fio version 2 iolog" => Ok(Version::Two),
        "fio version 3 iolog" => Ok(Version::Three),
        other => Err(format!("the first line is {}", quote(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Result<(Ns, HostOp, u64, u64), ()>> {
        read_as(text, Wait::default())
    }

    fn read_as(text: &str, wait: Wait) -> Vec<Result<(Ns, HostOp, u64, u64), ()>> {
        let mut reader = FioIolog { wait }.reader();
        let lines = text.lines().map(|line| reader.line(line).map_err(|_| ()));
        let requests = lines.filter_map(|line| match line {
            Ok(Line::Request(r)) => Some(Ok((r.time, r.op, r.offset_bytes, r.size_bytes))),
            Ok(Line::Restart(_)) => panic!("a log has one kind of requests"),
            Ok(Line::Other) => None,
            Err(()) => Some(Err(())),
        });
        requests.collect()
    }

    #[test]
    fn waits_of_version_2_are_milliseconds_since_the_start() {
        // They were microseconds that add up, so that 4 s of fio 3.33 took 7 ms.
        let text = "fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x read 0 4096\n\
                    /dev/x wait 3000 0\n/dev/x write 4096 8192\n/dev/x wait 4000 0\n\
                    /dev/x trim 0 512\n/dev/x wait 1000 0\n/dev/x sync_file_range 0 0\n\
                    /dev/x datasync 0 0\n/dev/x sync 0 0\n/dev/x close\n";
        let expected = [
            Ok((Ns(0), HostOp::Read, 0, 4096)),
            Ok((Ns(3_000_000_000), HostOp::Write, 4096, 8192)),
            Ok((Ns(4_000_000_000), HostOp::Trim, 0, 512)),
            Ok((Ns(4_000_000_000), HostOp::Flush, 0, 0)),
            Ok((Ns(4_000_000_000), HostOp::Flush, 0, 0)),
        ];
        assert_eq!(read(text), expected);
        let Ok((time, ..)) = read_as(text, Wait::UsBetween)[2] else { panic!("a trim") };
        assert_eq!(time, Ns(7_000_000));
    }

    #[test]
    fn version_3_has_its_own_times_and_no_waits() {
        let text =
            "fio version 3 iolog\n2 d add\n878 d write 0 16384\n888 d wait 1 0\n891 d read 7";
        assert_eq!(read(text), [Ok((Ns(878_000), HostOp::Write, 0, 16_384)), Err(()), Err(())]);
    }

    #[test]
    fn other_first_lines_are_refused() {
        assert_eq!(read("fio version 1 iolog"), [Err(())]);
        assert_eq!(read("d read 0 4096"), [Err(())]);
    }
}
