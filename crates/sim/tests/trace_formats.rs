//! Reading traces: the published samples against their known counts, and hostile input, which must
//! end in a message with file and line and never in a panic.
//!
//! The samples are third-party data kept next to the checkout in `../shared/traces`; tests that
//! need them say so and pass when they are not there.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::Command;

use opennandlab_sim::op::HostOp;
use opennandlab_sim::units::Ns;
use opennandlab_sim::workload::trace::{
    BadLines, FormatConfig, Trace, TraceError, TraceOptions, TraceSummary,
};
use proptest::prelude::*;

fn read_with(bytes: &[u8], options: &TraceOptions) -> Result<Trace, TraceError> {
    // A tiny buffer crosses the line reader's edges.
    Trace::read(&mut BufReader::with_capacity(7, bytes), "t.trace", options)
}

fn read(text: &str) -> Result<Trace, TraceError> {
    read_with(text.as_bytes(), &TraceOptions::default())
}

fn refusal(text: &str) -> String {
    read(text).expect_err(text).to_string()
}

fn forced(format: &str) -> TraceOptions {
    let format: FormatConfig =
        serde_json::from_value(serde_json::json!({ "kind": format })).unwrap();
    TraceOptions { format, ..TraceOptions::default() }
}

/// The text of a published sample, or `None` with the reason printed.
fn sample(name: &str) -> Option<Vec<u8>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let path = root.join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    match Command::new("gzip").arg("-dc").arg(&path).output() {
        Ok(output) if output.status.success() => Some(output.stdout),
        _ => {
            println!("skipped: no gzip to read {}", path.display());
            None
        }
    }
}

/// Counts, span and largest address as stated next to the samples.
#[test]
fn published_samples_have_their_known_counts() {
    // file, format, volumes, reads, writes, span in ms, end of the last sector used
    let cases = [
        ("mqsim-tpcc-small.trace.gz", "mqsim", 16, 4_381, 2_618, 136, Some(454_518_380)),
        ("mqsim-wsrch-small.trace.gz", "mqsim", 6, 24_779, 4, 60_055, Some(34_966_256)),
        ("msr-cambridge-hm_0-1k.csv.gz", "msr", 1, 508, 492, 127_233, None),
        ("tencent-cbs-50k.csv.gz", "tencent", 2_038, 24_521, 25_479, 1_000, None),
        ("spc-financial1-10k.ascii.gz", "mqsim", 22, 4_077, 5_923, 259_601, Some(1_002_413)),
    ];
    for (file, format, volumes, reads, writes, span_ms, sector_end_max) in cases {
        let Some(text) = sample(file) else { continue };
        let trace = read_with(&text, &TraceOptions::default()).unwrap();
        let TraceSummary { read_count, write_count, trim_count, span, .. } = trace.summary();
        assert_eq!(trace.format(), format, "{file}");
        assert_eq!((read_count, write_count, trim_count), (reads, writes, 0), "{file}");
        assert_eq!(trace.volumes().len(), volumes, "{file}");
        assert_eq!(span.0 / 1_000_000, span_ms, "{file}");
        if let Some(sector_end_max) = sector_end_max {
            assert_eq!(trace.summary().sector_end_max, sector_end_max, "{file}");
        }
        assert!(trace.records().is_sorted_by_key(|record| record.arrival), "{file}");
        assert_eq!(
            trace.warnings().is_empty(),
            format != "tencent",
            "{file}: {:?}",
            trace.warnings()
        );
    }
    if let Some(text) = sample("spc-financial1-10k.ascii.gz") {
        let trace = read_with(&text, &forced("spc")).unwrap();
        assert_eq!(trace.records().len(), 10_000, "`spc` reads the SSDsim form of itself");
    }
    if let Some(text) = sample("msr-cambridge-hm_0-1k.csv.gz") {
        let trace = read_with(&text, &forced("msr")).unwrap();
        assert_eq!(trace.volumes(), ["hm_0"]);
        let sector_max = trace.records().iter().map(|record| record.sector).max();
        assert_eq!(sector_max, Some(13_575_025_152 / 512));
    }
}

/// One small trace in every format: write 4 KiB at 1 MiB, 1 ms later read 512 B at 0, then trim 1
/// MiB.
const SAME_TRACE: [(&str, &str, usize); 18] = [
    ("mqsim", "5000000 1 2048 8 0\n6000000 1 0 1 1", 2),
    ("msr", "50000,h,1,Write,1048576,4096,9\r\n60000,h,1,Read,0,512,9\r\n", 2),
    ("spc", "1,2048,4096,W,0.005\n1,0,512,r,0.006\n", 2),
    ("tencent", "Timestamp,Offset,Size,IOType,VolumeID\n1,2048,8,1,1\n2,0,1,0,1\n", 2),
    ("alibaba", "1,W,1048576,4096,5000\n1,R,0,512,6000\n", 2),
    (
        "fio_iolog",
        "fio version 2 iolog\nf add\nf open\nf write 1048576 4096\nf wait 1\nf read 0 512\n\
                   f trim 0 1048576\nf close\n",
        3,
    ),
    (
        "fio_iolog",
        "fio version 3 iolog\n0 f add\n5000 f write 1048576 4096\n6000 f read 0 512\n\
                   6000 f trim 0 1048576\n",
        3,
    ),
    (
        "blkparse",
        "8,0 1 1 0.005000000 7 Q W 2048 + 8 [x]\n8,0 1 2 0.005100000 7 C W 2048 + 8 [0]\n\
                  8,0 1 3 0.006000000 7 Q R 0 + 1 [x]\n8,0 1 4 0.006000000 7 Q D 0 + 2048 [x]\n\
                  CPU0 (8,0):\n Reads Queued: 1, 1KiB\n\nTotal (8,0):\n",
        3,
    ),
    (
        "vscsi",
        "#Vscsi Cmd Trace. (Trace Format Version 1)\n#Serial Number,IO Data Length,Num SG Entries,\
                   Command Type,LBN,Time Stamp (microseconds)\n7,4096,1,write,2048,5000\n\
                   8,512,1,read,0,6000\n",
        2,
    ),
    (
        "systor17",
        "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.005000000,0.001,W,0,1048576,4096\n\
                  1456095145.006000000,,R,0,0,512\n",
        2,
    ),
    ("fiu", "5000000 7 a 2048 8 W 6 0 56f1\r\n6000000 8 a b 0 1 R 6 0 56f2", 2),
    (
        "mobile",
        "proces,device,rw_flag,sector,size,timestamp\n<...>,8388608,W,2048,8,1.005\n\
                 a,8388608,R,0,1,1.006\na,8388608,D,0,2048,1.006\n",
        3,
    ),
    (
        "biosnoop",
        "TIME(s)  COMM  PID  DISK  T  SECTOR  BYTES  LAT(ms)\n1.006 a b 7 sda W 2048 4096 1.00\n\
                 1.007 a 7 sda R 0 512 1.00\n",
        2,
    ),
    ("biosnoop", "1.006 a 7 sda W 2048 4096 1.00\n1.007 a 7 sda R 0 512 1.00\n", 2),
    (
        "tracepoint",
        "a-7 [0] 1.005000: block_rq_issue: 8,0 WS 4096 () 2048 + 8 [a]\n\
                  a 7 [0] 1.006: block:block_rq_issue: 8,0 R 512 () 0 + 1 none,0,0 [a]\n",
        2,
    ),
    (
        "xperf",
        "DiskWrite, 5100, a (7), 1, 0xe1, 0x100000, 0x1000, 100, 0\n\
                  DiskRead, 6100, a (7), 1, 0xe1, 0x0, 0x200, 100, 0\n",
        2,
    ),
    ("libcachesim", "version,time,op,size,lbn\n1,1.005,2a,4096,2048\n1,1.006,28,512,0\n", 2),
    (
        "csv",
        "time_ns,op,offset_bytes,size_bytes,volume,process,flags\n\
                  5000000,write,1048576,4096,a,7,\n6000000,read,0,512,a,7,\n\
                  6000000,trim,0,1048576,a,7,\n",
        3,
    ),
];

#[test]
fn every_format_is_recognised_and_says_the_same() {
    for (format, text, count) in SAME_TRACE {
        let trace = read(text).unwrap_or_else(|error| panic!("{format}: {error}"));
        assert_eq!(trace.format(), format);
        assert_eq!(trace, read_with(text.as_bytes(), &forced(format)).unwrap());
        // Line ends of other systems, blank lines and a missing last line feed change nothing.
        for variant in [
            text.trim_end().to_owned(),
            text.replace('\r', "").replace('\n', "\r\n"),
            text.replace('\r', "").replace('\n', "\n\n \t\n"),
            format!("\u{feff}{text}"),
        ] {
            assert_eq!(read(&variant).unwrap(), trace, "{format}: {variant:?}");
        }
        let records = trace.records();
        assert_eq!(records.len(), count, "{format}");
        assert_eq!(
            (records[0].sector, records[0].sector_count, records[0].arrival),
            (2048, 8, Ns(0))
        );
        let gap = if format == "tencent" { 1_000_000_000 } else { 1_000_000 };
        assert_eq!(
            (records[1].sector, records[1].sector_count, records[1].arrival),
            (0, 1, Ns(gap))
        );
        let ops: Vec<String> = records.iter().map(|record| format!("{:?}", record.op())).collect();
        assert_eq!(ops.join(" "), ["Write Read", "Write Read Trim"][count - 2], "{format}");
        // Version 2 of fio says what its waits are.
        let remarks = usize::from(text.contains("wait"));
        assert_eq!(trace.warnings().len(), remarks, "{format}: {:?}", trace.warnings());
    }
}

/// A binary record of a virtual disk in both versions; the command is a SCSI operation code.
fn vscsi(version: u8, command: u8, len: u32, lbn: u64, ts: u64) -> Vec<u8> {
    let (len, lbn, ts) = (len.to_le_bytes(), lbn.to_le_bytes(), ts.to_le_bytes());
    let one = [1, 0, 0, 0];
    if version == 1 {
        [&one[..], &len, &one, &[command, 0, 0, 1], &lbn, &ts].concat()
    } else {
        [&[command, 0, 0, 2][..], &one, &len, &one, &lbn, &ts, &[0; 8]].concat()
    }
}

/// A record of blktrace: a queued request of this category.
fn blktrace(ns: u64, sector: u64, bytes: u32, category: u32) -> Vec<u8> {
    let mut record = vec![7, 0x74, 0x61, 0x65, 1, 0, 0, 0];
    record.extend(ns.to_le_bytes());
    record.extend(sector.to_le_bytes());
    for value in [bytes, category << 16 | 1, 7, 8 << 20, 0, 0] {
        record.extend(value.to_le_bytes());
    }
    record
}

#[test]
fn binary_records_are_recognised_by_their_version() {
    for version in [1, 2] {
        let mut bytes = vscsi(version, 0x2a, 4096, 2048, 5000);
        bytes.extend(vscsi(version, 0x35, 0, 0, 5500));
        bytes.extend(vscsi(version, 0xa0, 16, 0, 5600));
        bytes.extend(vscsi(version, 0x28, 512, 0, 6000));
        let trace = read_with(&bytes, &TraceOptions::default()).unwrap();
        assert_eq!(trace, read_with(&bytes, &forced("vscsi")).unwrap());
        assert_eq!((trace.format(), trace.records().len()), ("vscsi", 3));
        assert_eq!((trace.records()[0].sector, trace.records()[0].sector_count), (2048, 8));
        assert_eq!(trace.records()[1].op(), HostOp::Flush);
        assert_eq!((trace.records()[2].sector, trace.records()[2].arrival), (0, Ns(1_000_000)));
        let remark = "t.trace: 1 request other than reads, writes, flushes, and unmaps (42h) with \
                      their range was skipped";
        assert_eq!(trace.warnings(), [remark]);
        let size = bytes.len() / 4;
        // Each file that ends early says where its last record starts.
        for length in 2 * size + 1..4 * size {
            let result = read_with(&bytes[..length], &TraceOptions::default());
            if length % size == 0 {
                assert_eq!(result.unwrap().records().len(), 2);
                continue;
            }
            let error = result.unwrap_err().to_string();
            let (start, rest) = (length / size * size, length % size);
            let words =
                format!("t.trace: byte {start}: the file ends after {rest} bytes of a record");
            assert!(error.starts_with(&words), "{error}");
        }
        // A record of another version in the middle is refused, or skipped and counted.
        let mut mixed = bytes.repeat(1000);
        let place = 3000 * size + if version == 1 { 15 } else { 3 };
        mixed[place] = 7;
        let error = read_with(&mixed, &TraceOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("t.trace: byte {}: ", 3000 * size)), "{error}");
        let options = TraceOptions { bad_lines: BadLines::Skip, ..TraceOptions::default() };
        assert_eq!(read_with(&mixed, &options).unwrap().skipped_lines(), 1);
    }
}

#[test]
fn each_format_refuses_the_lines_of_the_others() {
    for (format, text, _) in SAME_TRACE {
        for (other, other_text, count) in SAME_TRACE {
            let is_kin = format == other || (format, other) == ("spc", "mqsim");
            if is_kin || (format, other) == ("spc", "vscsi") {
                continue;
            }
            let result = read_with(other_text.as_bytes(), &forced(format));
            let Ok(trace) = result else { continue };
            panic!(
                "{format} reads {} of {count} requests of {other}: {text}",
                trace.records().len()
            );
        }
    }
}

#[test]
fn blkparse_takes_the_best_event_that_a_trace_has() {
    let lines = |actions: &str| {
        let lines = actions.chars().enumerate().map(|(index, action)| {
            format!("8,0 1 {index} {index}.5 7 {action} W {} + 8 [x]\n", 8 * index)
        });
        let trace = read(&lines.collect::<String>()).unwrap();
        let sectors: Vec<_> = trace.records().iter().map(|record| record.sector / 8).collect();
        (sectors, trace.warnings().to_vec())
    };
    assert_eq!(lines("QDCQDC"), (vec![0, 3], vec![]));
    assert_eq!(lines("CCDDQCDQ"), (vec![4, 7], vec![]));
    let (sectors, warnings) = lines("CDCD");
    assert_eq!(sectors, [1, 3]);
    assert!(warnings[0].starts_with("t.trace: no events Q"), "{warnings:?}");
    let (sectors, warnings) = lines("CCC");
    assert_eq!(sectors, [0, 1, 2]);
    assert!(warnings[0].contains("its events C"), "{warnings:?}");
}

#[test]
fn bad_lines_are_refused_by_number_or_counted() {
    let text = "# recorded by hand\n\n0 0 8 8 1\n0 0 8 x 1\n\n5 0 8 8 0\n1 2 3\n";
    let message = refusal(text);
    let start = "t.trace:4: sectors `x` is not a whole number; accepted (mqsim): ";
    assert!(message.starts_with(start), "{message}");
    assert!(message.contains("type 1 = read"), "{message}");
    let options = TraceOptions { bad_lines: BadLines::Skip, ..TraceOptions::default() };
    let trace = read_with(text.as_bytes(), &options).unwrap();
    assert_eq!((trace.records().len(), trace.skipped_lines()), (2, 2));
    assert!(trace.warnings()[0].starts_with("2 lines skipped; the first: t.trace:4: sectors `x`"));
}

#[test]
fn hostile_files_get_a_clear_message() {
    for (text, words) in [
        ("", "t.trace: no line with a request; accepted formats: mqsim, msr, vscsi, spc"),
        ("\n\n# nothing\n", "t.trace: no line with a request"),
        ("hello world\n", "t.trace:1: no known trace format reads `hello world`"),
        ("fio version 2 iolog\nf add\n", "t.trace: no request in it; accepted (fio_iolog)"),
        ("0 0 0 0 1\n", "t.trace:1: the request has no size"),
        ("1,W,0,0,5\n", "t.trace:1: the request has no size"),
        ("0 0 36028797018963967 1 1\n", "t.trace:1: the request ends beyond 2^64 bytes"),
        ("0 0 36028797018963968 1 1\n", "t.trace:1: "),
        ("0 0 0 4294967296 1\n", "more than 2 TiB"),
        ("99999999999999999999 0 0 1 1\n", "t.trace:1: "),
        ("1,W,18446744073709551615,1,5\n", "beyond 2^64 bytes"),
        ("9e9,0,8,1,3\n", "t.trace:1: "),
    ] {
        let message = refusal(text);
        assert!(message.contains(words), "{text}: {message}");
    }
    let refused =
        |bytes: &[u8]| read_with(bytes, &TraceOptions::default()).unwrap_err().to_string();
    assert!(refused(&[0x1f, 0x8b, 8, 0]).starts_with("t.trace:1: still compressed"));
    assert!(refused(&[0x28, 0xb5, 0x2f, 0xfd, 1]).contains("Zstandard"));
    assert!(refused(b"BZh91AY").contains("still compressed"));
    assert!(refused(b"\xfd7zXZ\0\0\x04").contains("still compressed"));
    let little: Vec<u8> = "0 0 0 8 1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = "0 0 0 8 1\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = [&[0xff, 0xfe][..], &little].concat();
    assert!(refused(&marked).contains("t.trace:1: not text: UTF-16, by its byte-order mark"));
    let tar = [&[b'a'; 257][..], b"ustar\0", &[0; 200], b"\n0 0 0 8 1\n"].concat();
    for (bytes, words) in [
        (&little[..], "UTF-16, by its zero bytes; accepted: UTF-8, as of `iconv -f UTF-16LE"),
        (&big, "`iconv -f UTF-16BE -t UTF-8 t.trace`"),
        (&tar, "t.trace:1: a tar archive; accepted: one file of it, after `tar -xf t.trace`"),
        (b"PK\x03\x04\n0 0 0 8 1\n", "a zip archive; accepted: what `unzip t.trace` unpacks"),
        (b"\x04\x22\x4d\x18\n0 0 0 8 1\n", "compressed by lz4; accepted: what `lz4 -d t.trace`"),
        (b"7z\xbc\xaf\x27\x1c\n", "a 7z archive; accepted: what `7z x t.trace`"),
    ] {
        assert!(refused(bytes).contains(words), "{}", refused(bytes));
        // Text behind the head of an archive was replayed where bad lines were skipped.
        let options = TraceOptions { bad_lines: BadLines::Skip, ..TraceOptions::default() };
        assert!(read_with(bytes, &options).unwrap_err().to_string().contains(words));
    }
    let cut = refused(b"0 0 0 8 1\n5 0 8");
    assert!(cut.starts_with("t.trace:2: ") && cut.contains("cut off: --skip-bad-lines"), "{cut}");
    assert!(!refused(b"0 0 0 8 1\n5 0 8\n").contains("cut off"));
    assert!(refused(b"0 0 1 1 1\n0 0 1\0 1 1\n").contains("t.trace:2: not text: it holds zero"));
    assert!(refused(&vec![0; 5000]).contains("zero bytes"));
    assert!(refused(&vec![b'x'; 200_000]).contains("t.trace:1: longer than 65536 bytes"));
    assert!(refused(b"0 0 1 1 1\n\xff\xfe\n").contains("t.trace:2: not text: "));
    let marked = "\u{feff}0 0 1 1 1";
    assert_eq!(read(marked).unwrap().records().len(), 1, "a byte-order mark is skipped");
}

/// A file without an end of line, such as `/dev/zero`, was read for ever when bad lines were to be
/// skipped.
#[test]
fn a_line_without_an_end_is_refused_even_where_bad_lines_are_skipped() {
    for bad_lines in [BadLines::Refuse, BadLines::Skip] {
        let options = TraceOptions { bad_lines, ..TraceOptions::default() };
        let mut reader = std::io::BufReader::new(std::io::repeat(b'1'));
        let error = Trace::read(&mut reader, "t.trace", &options).unwrap_err().to_string();
        assert!(error.starts_with("t.trace:1: longer than 65536 bytes"), "{error}");
    }
}

/// A compressed trace of 3 MB filled the memory with its records, and the process was ended.
#[test]
fn a_trace_larger_than_the_memory_for_it_is_refused() {
    let limited = |text: &[u8], bytes: u64| {
        let options = TraceOptions { memory_bytes_max: Some(bytes), ..TraceOptions::default() };
        read_with(text, &options).map(|trace| trace.records().len())
    };
    let lines = b"5 0 0 8 1\n".repeat(3000);
    // Next to the records there is the name of a volume.
    let name = 200;
    assert_eq!(limited(&lines, 24 * 3000 + name), Ok(3000));
    let error = limited(&lines, 24 * 2999).unwrap_err().to_string();
    assert!(error.starts_with("t.trace: out of memory after 29"), "{error}");
    // Sorting needs the room a second time.
    let unsorted = [lines.as_slice(), b"1 0 0 8 1\n"].concat();
    assert_eq!(limited(&unsorted, 2 * 24 * 3001 + name), Ok(3001));
    assert!(limited(&unsorted, 2 * 24 * 2990).is_err());
    // Names of volumes count as well.
    let volumes = (0..3000).fold(String::new(), |text, index| text + &format!("5 {index} 0 8 1\n"));
    assert!(limited(volumes.as_bytes(), 24 * 3000 + name).is_err());
    assert_eq!(limited(volumes.as_bytes(), 1 << 20), Ok(3000));
}

#[test]
fn a_failing_reader_is_reported() {
    struct Failing;
    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is on fire"))
        }
    }
    let mut reader = BufReader::new(Failing);
    let error = Trace::read(&mut reader, "t.trace", &TraceOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "t.trace: cannot be read: the disk is on fire");
    // Behind what the format is told by, with the line that was not read to its end.
    let lines = "0 0 0 8 1\n".repeat(10_000) + "0 0 0";
    let mut reader = BufReader::new(std::io::Read::chain(lines.as_bytes(), Failing));
    let error = Trace::read(&mut reader, "t.trace", &TraceOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "t.trace:10001: cannot be read: the disk is on fire");
}

fn formats() -> impl Strategy<Value = TraceOptions> {
    let names = FormatConfig::names().iter().copied().chain(["auto"]).collect::<Vec<_>>();
    (prop::sample::select(names), any::<bool>()).prop_map(|(name, skips)| {
        let bad_lines = if skips { BadLines::Skip } else { BadLines::Refuse };
        TraceOptions { bad_lines, ..forced(name) }
    })
}

/// What must hold of whatever was read.
fn check(result: Result<Trace, TraceError>) -> Result<(), TestCaseError> {
    match result {
        Ok(trace) => {
            prop_assert!(!trace.records().is_empty());
            prop_assert_eq!(trace.records()[0].arrival, Ns(0));
            prop_assert!(trace.records().is_sorted_by_key(|record| record.arrival));
            for record in trace.records() {
                prop_assert!(record.sector_count > 0);
                prop_assert!(record.volume_index() < trace.volumes().len());
                prop_assert!(record.sector.checked_add(u64::from(record.sector_count)).is_some());
            }
            let _ = trace.summary();
        }
        Err(error) => prop_assert!(error.to_string().starts_with("t.trace"), "{error}"),
    }
    Ok(())
}

/// Nothing is written next to the sources: a failure prints its case.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// The requests of a round trip: time in microseconds, write, sector, sectors.
type Requests = Vec<(u64, bool, u64, u32)>;

/// The same requests in a format that has its text or records, in whole microseconds.
fn written(format: &str, requests: &Requests) -> Vec<u8> {
    let mut bytes = Vec::new();
    if format == "fio_iolog" {
        bytes.extend_from_slice(b"fio version 3 iolog\n");
    }
    for &(us, is_write, sector, count) in requests {
        let word = if is_write { "Write" } else { "Read" };
        let letter = &word[..1];
        let (offset, size, ns) = (sector * 512, u64::from(count) * 512, us * 1000);
        let seconds = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
        let code = u8::from(is_write);
        let line = match format {
            "mqsim" => format!("{ns} 3 {sector} {count} {}", 1 - code),
            "msr" => format!("{},h,0,{word},{offset},{size},5", us * 10),
            "spc" => format!("3,{sector},{size},{letter},{seconds}"),
            "tencent" => format!("{seconds},{sector},{count},{code},3"),
            "alibaba" => format!("3,{letter},{offset},{size},{us}"),
            "systor17" => format!("{seconds},,{letter},3,{offset},{size}"),
            "fiu" => format!("{ns} 1 p {sector} {count} {letter} 8 0 abc"),
            "mobile" => format!("<...>,3,{letter},{sector},{count},{seconds}"),
            "fio_iolog" => format!("{us} f {} {offset} {size}", word.to_lowercase()),
            "blkparse" => format!("8,0 1 1 {seconds} 7 Q {letter} {sector} + {count} [x]"),
            "biosnoop" => format!("{seconds} a 1 sda {letter} {sector} {size} 0.00"),
            "vscsi" => format!("1,{size},1,{},{sector},{us}", word.to_lowercase()),
            "csv" => format!("{ns},{},{offset},{size},v,7,", word.to_lowercase()),
            "libcachesim" => {
                format!("1,{seconds},2{},{size},{sector}", ['8', 'a'][usize::from(code)])
            }
            "tracepoint" => {
                format!(
                    "a-7 [0] {seconds}: block_rq_issue: 8,0 {letter} 0 () {sector} + {count} [a]"
                )
            }
            "xperf" => format!("Disk{word}, {us}, a (7), 1, 0xe1, {offset:#x}, {size:#x}, 0, 0"),
            "blkparse raw" => {
                bytes.extend(blktrace(ns, sector, size as u32, 0x11 + u32::from(code)));
                continue;
            }
            "vscsi 1" | "vscsi 2" => {
                let version = if format == "vscsi 1" { 1 } else { 2 };
                let command = if is_write { 0x8a } else { 0x88 };
                bytes.extend(vscsi(version, command, size as u32, sector, us));
                continue;
            }
            _ => unreachable!("{format}"),
        };
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

proptest! {
    #![proptest_config(cases(200))]

    /// What is written in a format is read back exactly, and the format is recognised.
    #[test]
    fn every_format_survives_a_round_trip(
        mut requests in prop::collection::vec(
            (0..1_u64 << 40, any::<bool>(), 0..1_u64 << 40, 1..1_u32 << 20),
            1..40,
        ),
    ) {
        requests.sort_by_key(|request| request.0);
        let start = requests[0].0;
        let names = [
            "mqsim", "msr", "spc", "tencent", "alibaba", "systor17", "fiu", "mobile", "fio_iolog",
            "blkparse", "biosnoop", "vscsi", "vscsi 1", "vscsi 2", "csv", "libcachesim",
            "tracepoint", "xperf", "blkparse raw",
        ];
        for name in names {
            let bytes = written(name, &requests);
            let trace = read_with(&bytes, &TraceOptions::default()).unwrap();
            prop_assert_eq!(trace.format(), name.split(' ').next().unwrap());
            prop_assert_eq!(trace.warnings().len(), 0, "{:?}", trace.warnings());
            let read: Requests = trace
                .records()
                .iter()
                .map(|record| {
                    let is_write = format!("{:?}", record.op()) == "Write";
                    let us = record.arrival.0 / 1000 + start;
                    (us, is_write, record.sector, record.sector_count)
                })
                .collect();
            prop_assert_eq!(&read, &requests, "{}", name);
        }
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn random_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        options in formats(),
    ) {
        check(read_with(&bytes, &options))?;
    }

    /// Characters that numbers, separators and words are made of reach deeper than random bytes.
    #[test]
    fn random_lines_never_panic(
        text in concat!(
            "([0-9]{1,21}|[RWDFQNC+.,-]|Read|Write| |\t|\r|\n|\\[x\\]|",
            "fio version [0-9] iolog\n){0,60}"
        ),
        options in formats(),
    ) {
        check(read_with(text.as_bytes(), &options))?;
    }

    /// A valid trace with some bytes changed, removed or repeated.
    #[test]
    fn mutated_lines_never_panic(
        index in 0..SAME_TRACE.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..6),
        options in formats(),
    ) {
        let mut bytes = SAME_TRACE[index].1.as_bytes().to_vec();
        for (place, byte, edit) in edits {
            if bytes.is_empty() {
                break;
            }
            let place = place.index(bytes.len());
            match edit {
                0 => bytes[place] = byte,
                1 => { bytes.remove(place); }
                2 => bytes.insert(place, bytes[place]),
                _ => bytes[place] = b"0123456789,. \nRW"[usize::from(byte) % 16],
            }
        }
        check(read_with(&bytes, &options))?;
    }
}
