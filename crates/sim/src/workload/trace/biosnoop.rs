//! Text as `biosnoop` of the BPF tools prints it:
//! `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`.
//!
//! A header names the columns (options add some); without one they are those above, without QUE. A
//! command may hold blanks, so the columns behind it are counted from the end. TIME is the
//! *completion*, after the manual page of bcc's `biosnoop(8)`, and LAT the time from the issue to
//! the device to that: a request arrives at TIME − LAT. If there is no LAT, it arrives at TIME.
//! Requests complete in another order than they were issued in, so such a trace is sorted.
//!
//! SECTOR counts 512 B. T is R or W, in newer versions the letters of RWBS. A flush has no bytes,
//! and either the letters of a flush or no sector, which is printed as 2^64 - 1 or -1. A request
//! whose issue was not seen has the command `?`, no disk and no address; it is skipped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{number, quote, seconds, time};
use super::rwbs::{PassedOver, Rwbs};
use super::{Format, Line, LineReader, Request};
use crate::units::Ns;

/// The sector of a request that has none, as programs print it.
const NO_SECTOR: [&str; 2] = ["18446744073709551615", "-1"];

/// Later than any latency that a kernel waits for, so that no arrival is before zero.
const START_NS: u64 = DAY_NS;
const DAY_NS: u64 = 86_400_000_000_000;
const MILLISECOND_NS: u64 = 1_000_000;
/// Words of a line, at most.
const WORDS_MAX: usize = 32;

/// `biosnoop` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Biosnoop {}

impl Format for Biosnoop {
    const LINE: &'static str = "TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader {
            columns: Columns::default(),
            clock: Clock::default(),
            without_address: PassedOver::new("without an address"),
            without_data: PassedOver::new("without data"),
        })
    }
}

/// Positions of the columns in a line whose command is one word.
struct Columns {
    count: usize,
    command: usize,
    time: usize,
    disk: usize,
    kind: usize,
    sector: usize,
    bytes: usize,
    latency: Option<usize>,
}

impl Default for Columns {
    fn default() -> Self {
        Self {
            count: 8,
            time: 0,
            command: 1,
            disk: 3,
            kind: 4,
            sector: 5,
            bytes: 6,
            latency: Some(7),
        }
    }
}

impl Columns {
    /// The columns that a header names.
    fn of(header: &str) -> Result<Self, String> {
        let names: Vec<_> = header.split_ascii_whitespace().collect();
        let find = |name: &str| names.iter().position(|&column| column == name);
        let get = |name: &str| find(name).ok_or_else(|| format!("the header has no {name} column"));
        Ok(Self {
            count: names.len(),
            command: get("COMM")?,
            time: find("TIME").map_or_else(|| get("TIME(s)"), Ok)?,
            disk: get("DISK")?,
            kind: get("T")?,
            sector: get("SECTOR")?,
            bytes: get("BYTES")?,
            latency: find("LAT(ms)"),
        })
    }
}

/// Seconds, or a clock such as `23:59:59.5`, which restarts at midnight.
#[derive(Default)]
struct Clock {
    last: Ns,
    days: u64,
}

impl Clock {
    fn time(&mut self, text: &str) -> Result<Ns, String> {
        if !text.contains(':') {
            return seconds("time", text);
        }
        let wrong = || format!("time {} is not a clock such as 23:59:59.5", quote(text));
        let mut parts = text.splitn(3, ':');
        let mut part = || parts.next().ok_or_else(wrong);
        let (hours, minutes) = (number("hours", part()?)?, number("minutes", part()?)?);
        let rest = seconds("seconds", part()?)?;
        if hours > 23 || minutes > 59 || rest.0 >= 61_000_000_000 {
            return Err(wrong());
        }
        let time = Ns((hours * 3600 + minutes * 60) * 1_000_000_000 + rest.0);
        // Completions of the second before may come late, but not half a day.
        self.days += u64::from(time.0 + DAY_NS / 2 < self.last.0);
        self.last = time;
        Ok(Ns(self.days * DAY_NS + time.0))
    }
}

struct Reader {
    columns: Columns,
    clock: Clock,
    without_address: PassedOver,
    without_data: PassedOver,
}

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        if ["TIME(s)", "TIME "].iter().any(|time| text.trim_start().starts_with(time)) {
            self.columns = Columns::of(text)?;
            return Ok(Line::Other);
        }
        let mut words = [""; WORDS_MAX];
        let mut count = 0;
        for word in text.split_ascii_whitespace() {
            *words.get_mut(count).ok_or_else(|| format!("more than {WORDS_MAX} words"))? = word;
            count += 1;
        }
        let columns = &self.columns;
        let Some(blanks) = count.checked_sub(columns.count) else {
            if count + 1 == columns.count && words[columns.command] == "?" {
                return Ok(self.without_address.pass_over());
            }
            return Err(format!("{count} columns instead of {}", columns.count));
        };
        let word =
            |column: usize| words[column + if column > columns.command { blanks } else { 0 }];
        let end = self.clock.time(word(columns.time))?;
        let latency = match columns.latency {
            Some(column) => time(word(column), MILLISECOND_NS)
                .ok_or_else(|| format!("latency {} is not a time in ms", quote(word(column))))?,
            None => Ns(0),
        };
        let (volume, sector) = (word(columns.disk), word(columns.sector));
        let process = word(columns.command);
        let size_bytes = number("bytes", word(columns.bytes))?;
        let arrival = end.0.checked_add(START_NS).and_then(|time| time.checked_sub(latency.0));
        let time = arrival.map(Ns).ok_or("time or latency is too large")?;
        if size_bytes == 0 && NO_SECTOR.contains(&sector) {
            return Ok(Line::Request(Request::flush(time, volume).by(process)));
        }
        let rwbs = match Rwbs::of(word(columns.kind)) {
            Err(_) if size_bytes == 0 => return Ok(self.without_data.pass_over()),
            other => other?,
        };
        let request = rwbs.request(time, volume, process, (sector, size_bytes))?;
        Ok(request.map_or_else(|| self.without_data.pass_over(), Line::Request))
    }

    fn remarks(&self) -> Vec<String> {
        self.without_address.remark().into_iter().chain(self.without_data.remark()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::HostOp;

    fn requests(text: &str) -> Vec<(u64, String, HostOp, u64, u64)> {
        let mut reader = Biosnoop {}.reader();
        let requests = text.lines().filter_map(|line| match reader.line(line) {
            Ok(Line::Request(r)) => {
                let time = r.time.0 - START_NS;
                Some((time, r.volume.to_owned(), r.op, r.offset_bytes / 512, r.size_bytes))
            }
            Ok(_) => None,
            Err(error) => panic!("{line}: {error}"),
        });
        requests.collect()
    }

    #[test]
    fn arrivals_are_completions_less_latencies() {
        let line = "1.022346   supervise      1950   xvda1   W 13115272   4096      0.98";
        let expected = [(1_021_366_000, "xvda1".to_owned(), HostOp::Write, 13_115_272, 4096)];
        assert_eq!(requests(line), expected);
        let header = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n";
        assert_eq!(requests(&(header.to_owned() + line)), expected);
        let text = "TIME(s)  COMM  PID  DISK  T  SECTOR  BYTES  QUE(ms) LAT(ms)\n\
                    1.022346 Web Content x 1950 xvda1 WS 13115272 4096 0.01 0.98";
        assert_eq!(requests(text), expected);
        let text = "TIME(s) COMM PID DISK T SECTOR BYTES\n1.021366 a 1 xvda1 W 13115272 4096";
        assert_eq!(requests(text), expected);
    }

    #[test]
    fn a_clock_restarts_at_midnight() {
        let text = "TIME COMM PID DISK T SECTOR BYTES PATTERN LAT(ms)\n\
                    23:59:59.5 a 1 sda R 8 512 Seq 0.5\n00:00:00.25 b c 1 sda R 9 512 Rand 0.25";
        let times: Vec<_> = requests(text).iter().map(|request| request.0).collect();
        assert_eq!(times, [86_399_499_500_000, 86_400_249_750_000]);
        assert!(Clock::default().time("24:00:00").is_err());
    }

    #[test]
    fn what_has_no_address_or_data_is_passed_over_but_for_flushes() {
        let mut reader = Biosnoop {}.reader();
        assert_eq!(reader.line("1.000000 ? 0         R 0 4096 0.50"), Ok(Line::Other));
        assert_eq!(reader.line("1.000000 jbd2 7 sda W 0 0 0.50"), Ok(Line::Other));
        assert_eq!(reader.remarks().len(), 2);
        // The sector was refused as a number above 2^55, and the trace with it.
        let flush = Request::flush(Ns(START_NS + 999_500_000), "sda");
        let flush = Line::Request(flush.by("jbd2"));
        for (kind, sector) in [("F", "0"), ("FN", "0"), ("FF", NO_SECTOR[0]), ("R", NO_SECTOR[1])] {
            let text = format!("1.000000 jbd2 7 sda {kind} {sector} 0 0.50");
            assert_eq!(reader.line(&text), Ok(flush), "{text}");
        }
        assert!(reader.line("1.0 a 1 sda W 18446744073709551615 4096 0.5").is_err());
        for bad in ["1.0 a 1 sda W 8 4096", "1.0 a 1 sda X 8 4096 0.1", "1.0 a 1 sda W 8 4096 x"] {
            assert!(reader.line(bad).is_err(), "{bad}");
        }
        assert!(reader.line("TIME(s) COMM PID DISK").is_err());
    }
}
