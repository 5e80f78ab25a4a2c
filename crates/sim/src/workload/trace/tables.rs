//! Formats whose columns are fixed, a row for each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::is_header;
use super::rwbs::OTHER_COMMANDS;
use super::table::{Cell, Columns, Is, Reader, Row, Volume};
use super::{Format, LineReader};
use crate::op::HostOp::{Read, Write};
use crate::units::SECTOR_BYTES;

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident = $row:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {}

        impl $name {
            const ROW: Row = $row;
        }

        impl Format for $name {
            const LINE: &'static str = Self::ROW.line;

            fn reader(&self) -> Box<dyn LineReader> {
                Box::new(Reader::new(&Self::ROW))
            }
        }
    )+};
}

/// Windows FILETIME: ticks of 100 ns since 1601.
const TICK_NS: u64 = 100;

tables! {
    /// `mqsim` has no parameters.
    // ASCII traces of SSDsim and MQSim. The copies of the UMass Financial traces that circulate
    // have this form too.
    Mqsim = Row {
        line: "time_ns device sector sectors type, type 1 = read, 0 = write",
        columns: Columns::Blanks(5),
        volume: Volume::Column(1),
        cells: &[
            Cell(1, "device", Is::Whole),
            Cell(0, "time", Is::Time(1)),
            Cell(2, "sector", Is::Offset(SECTOR_BYTES)),
            Cell(3, "sectors", Is::Size(SECTOR_BYTES)),
            Cell(4, "type", Is::Code([Write, Read])),
        ],
        ..Row::DEFAULT
    };
    /// `msr` has no parameters.
    // MSR Cambridge: a volume is a host with a disk number, named `hm_0` as the files of the
    // collection are.
    Msr = Row {
        line: "timestamp,host,disk,Read|Write,offset_bytes,size_bytes,response_time",
        columns: Columns::Commas(7),
        is_header: |text| is_header(text, &["timestamp"]),
        volume: Volume::Columns(1, 2, "_"),
        cells: &[
            Cell(2, "disk", Is::Whole),
            Cell(6, "response time", Is::Whole),
            Cell(0, "timestamp", Is::Time(TICK_NS)),
            Cell(4, "offset", Is::Offset(1)),
            Cell(5, "size", Is::Size(1)),
            Cell(3, "type", Is::Word),
        ],
        ..Row::DEFAULT
    };
    /// `spc` has no parameters.
    // SPC Trace File Format Specification 1.0.1: the application-specific unit is a volume, the
    // LBA counts blocks of 512 B, the opcode is R or W in either case, and optional fields may
    // follow. The same traces circulate in SSDsim form, told by blanks.
    Spc = Row {
        line: "asu,lba,bytes,R|W,time_s (or, in SSDsim form, time_ns device sector sectors type)",
        columns: Columns::CommasOrMore,
        volume: Volume::Column(0),
        cells: &[
            Cell(0, "asu", Is::Whole),
            Cell(1, "lba", Is::Offset(SECTOR_BYTES)),
            Cell(2, "size", Is::Size(1)),
            Cell(3, "opcode", Is::Word),
            Cell(4, "time", Is::Seconds),
        ],
        without_commas: Some(&Mqsim::ROW),
        ..Row::DEFAULT
    };
    /// `tencent` has no parameters.
    // Tencent Cloud Block Storage, published without a header. The codes are the reverse of those
    // of `mqsim`. Requests of a second arrive together.
    Tencent = Row {
        line: "time_s,sector,sectors,type,volume, type 0 = read, 1 = write",
        columns: Columns::Commas(5),
        is_header: |text| is_header(text, &["timestamp"]),
        volume: Volume::Column(4),
        cells: &[
            Cell(4, "volume", Is::Whole),
            Cell(0, "time", Is::Seconds),
            Cell(1, "sector", Is::Offset(SECTOR_BYTES)),
            Cell(2, "sectors", Is::Size(SECTOR_BYTES)),
            Cell(3, "type", Is::Code([Read, Write])),
        ],
        ..Row::DEFAULT
    };
    /// `alibaba` has no parameters.
    Alibaba = Row {
        line: "device_id,R|W,offset_bytes,length_bytes,timestamp_us",
        columns: Columns::Commas(5),
        is_header: |text| is_header(text, &["device_id"]),
        volume: Volume::Column(0),
        cells: &[
            Cell(0, "device_id", Is::Whole),
            Cell(4, "timestamp", Is::Time(1_000)),
            Cell(2, "offset", Is::Offset(1)),
            Cell(3, "length", Is::Size(1)),
            Cell(1, "opcode", Is::Word),
        ],
        ..Row::DEFAULT
    };
    /// `systor17` has no parameters.
    // README of the distribution (Lee et al., "Understanding Storage Traffic Characteristics on
    // Enterprise Virtual Desktop Infrastructure", SYSTOR 2017): the timestamp is the issue, exact
    // to the microsecond. Response and type are blank if no response was captured: the kind of
    // such a request is unknown.
    Systor17 = Row {
        line: "timestamp_s,response_s,R|W,lun,offset_bytes,size_bytes",
        columns: Columns::Commas(6),
        is_header: |text| is_header(text, &["timestamp"]),
        volume: Volume::Column(3),
        cells: &[
            Cell(1, "response", Is::SecondsOrNothing),
            Cell(3, "lun", Is::Whole),
            Cell(0, "timestamp", Is::Seconds),
            Cell(4, "offset", Is::Offset(1)),
            Cell(5, "size", Is::Size(1)),
            Cell(2, "type", Is::WordOrNothing),
        ],
        passed_over: "without a type",
        ..Row::DEFAULT
    };
    /// `fiu` has no parameters.
    // Koller and Rangaswami, "I/O Deduplication: Utilizing Content Similarity to Improve I/O
    // Performance", FAST 2010. The MD5 of the content is not used. A process name may hold blanks.
    Fiu = Row {
        line: "time_ns pid process lba sectors R|W major minor md5",
        columns: Columns::BlanksAround { wide: 2, count: 9 },
        volume: Volume::Columns(6, 7, ","),
        process: Some(2),
        cells: &[
            Cell(1, "pid", Is::Whole),
            Cell(6, "major", Is::Whole),
            Cell(7, "minor", Is::Whole),
            Cell(0, "time", Is::Time(1)),
            Cell(3, "lba", Is::Offset(SECTOR_BYTES)),
            Cell(4, "size", Is::Size(SECTOR_BYTES)),
            Cell(5, "type", Is::Word),
        ],
        ..Row::DEFAULT
    };
    /// `mobile` has no parameters.
    // ACSL Technion, Pixel 6a. The first column is spelt `proces` in the data and `process` in
    // their description. The name of a process may be anything, such as `<...>`.
    Mobile = Row {
        line: "process,device,R|W,sector,sectors,time_s",
        columns: Columns::CommasAround { wide: 0, count: 6 },
        is_header: is_mobile_header,
        volume: Volume::Column(1),
        process: Some(0),
        cells: &[
            Cell(1, "device", Is::Whole),
            Cell(5, "timestamp", Is::Seconds),
            Cell(4, "size", Is::Size(SECTOR_BYTES)),
            Cell(2, "rw_flag", Is::Rwbs),
            Cell(3, "sector", Is::Offset(SECTOR_BYTES)),
        ],
        ..Row::DEFAULT
    };
    /// `served` has no parameters.
    // Times in nanoseconds since the server began, of the arrival. A record is of one drive.
    Served = Row {
        line: "seq,conn,op,flags,off,len,t_arrive,t_target,t_reply",
        columns: Columns::Commas(9),
        is_header: |text| text == Served::LINE,
        cells: &[
            Cell(0, "seq", Is::Whole),
            Cell(1, "conn", Is::Whole),
            Cell(3, "flags", Is::Flags),
            Cell(6, "t_arrive", Is::Time(1)),
            Cell(2, "op", Is::Served),
            Cell(4, "off", Is::Offset(1)),
            Cell(5, "len", Is::Size(1)),
        ],
        ..Row::DEFAULT
    };
    /// `libcachesim` has no parameters.
    // The CSV form of CloudPhysics traces in libCacheSim: commands of SCSI, hexadecimal; one disk.
    LibCacheSim = Row {
        line: "version,time,op,size,lbn, op = 28 (read), 2a (write), 35 (flush) and others of SCSI",
        columns: Columns::Commas(5),
        is_header: |text| text == "version,time,op,size,lbn",
        cells: &[
            Cell(0, "version", Is::Whole),
            Cell(1, "time", Is::Seconds),
            Cell(3, "size", Is::Size(1)),
            Cell(2, "op", Is::Scsi),
            Cell(4, "lbn", Is::Offset(SECTOR_BYTES)),
        ],
        passed_over: OTHER_COMMANDS,
        ..Row::DEFAULT
    };
    /// `csv` has no parameters.
    // The table that `trace convert` writes. The offset and size of a flush are not read.
    Csv = Row {
        line: "time_ns,op,offset_bytes,size_bytes,volume,process,flags",
        columns: Columns::Commas(7),
        is_header: |text| text == Csv::LINE,
        volume: Volume::Column(4),
        process: Some(5),
        cells: &[
            Cell(0, "time_ns", Is::Time(1)),
            Cell(6, "flags", Is::FlagWords),
            Cell(1, "op", Is::Own),
            Cell(2, "offset_bytes", Is::Offset(1)),
            Cell(3, "size_bytes", Is::Size(1)),
        ],
        ..Row::DEFAULT
    };
}

/// A process may be called `process`, but no operation has more than four letters.
fn is_mobile_header(text: &str) -> bool {
    is_header(text, &["proces", "process"])
        && text.split(',').nth_back(5).is_some()
        && text.split(',').nth_back(3).is_some_and(|op| op.trim().len() > 4)
}

#[cfg(test)]
mod tests {
    use super::super::{Flags, FormatConfig, Line};

    fn reader(format: &str) -> Box<dyn super::LineReader> {
        let format = format!(r#"{{"kind": "{format}"}}"#);
        serde_json::from_str::<FormatConfig>(&format).unwrap().reader().unwrap().reader
    }

    /// Lines as the distributions have them, and below each operation, volume, time in
    /// nanoseconds, first byte and bytes.
    const LINES: &str = "\
mqsim: 938944000 13 93230992 32 1
  Read 13 938944000 47734267904 16384
mqsim: 0\t0  303567 7 0
  Write 0 0 155426304 3584
msr: 128166385295514663,hm,0,Write,9056014336,2048,2833
  Write hm_0 12816638529551466300 9056014336 2048
spc: 0,303574,3584,w,0.026214
  Write 0 26214000 155429888 3584
spc: 26214000 0 303574 7 0
  Write 0 26214000 155429888 3584
spc: 1, 55596, 3072, R, 0.078643, 17, note
  Read 1 78643000 28465152 3072
tencent: 1538323199,13896880,128,0,1063
  Read 1063 1538323199000000000 7115202560 65536
alibaba: 419,W,8792731648,16384,1577808144360767
  Write 419 1577808144360767000 8792731648 16384
systor17: 1456095145.133076000,0.000806000,R,4,899056122368,131072
  Read 4 1456095145133076000 899056122368 131072
systor17: 1456095145.133076000,,R,4,899056122368,131072
  Read 4 1456095145133076000 899056122368 131072
fiu: 89968195792462 20782 gzip 283193184 8 R 6 0 56f1
  Read 6,0 89968195792462 144994910208 4096
fiu: 89968195792462 20782 web server 1 283193184 8 R 6 0 56f1
  Read 6,0 89968195792462 144994910208 4096
mobile: <...>,8388608,W,128,8,5218128.1812390005
  Write 8388608 5218128181239000 65536 4096
mobile: a, b,8388608,WFS,128,8,5218128.1812390005
  Write FUA 8388608 5218128181239000 65536 4096
mobile: ,8388608,D,128,8,5218128.1812390005
  Trim 8388608 5218128181239000 65536 4096
mobile: x,8388608,FF,18446744073709551615,0,1.5
  Flush 8388608 1500000000 0 0
served: 7,0,read,1,8192,4096,1500,2500,2600
  Read 0 1500 8192 4096
served: 7,0,write,1,8192,4096,1500,2500,2600
  Write FUA 0 1500 8192 4096
served: 7,0,write_zeroes,1,8192,4096,1500,2500,2600
  Trim 0 1500 8192 4096
served: 7,0,write_zeroes,3,8192,4096,1500,2500,2600
  Write FUA 0 1500 8192 4096
served: 8,0,flush,0,0,0,1500,2500,2600
  Flush 0 1500 0 0
libcachesim: 1,33898,2a,6656,40409911
  Write 0 33898000000000 20689874432 6656
libcachesim: 1,33898,42,8192,8
  Trim 0 33898000000000 4096 8192
libcachesim: 1,33898,35,0,0
  Flush 0 33898000000000 0 0
csv: 100,write,512,4096,v0,fio 1,fua sync
  Write FUA v0 100 512 4096
csv: 100,append,0,4096,v0,,fua
  Zone(Append) FUA v0 100 0 4096
csv: 100,reset,524288,0,v0,,
  Zone(One(Reset)) v0 100 524288 0
csv: 100,flush,,,v0,,
  Flush v0 100 0 0
";

    #[test]
    fn lines_say_what_their_distributions_say() {
        let lines: Vec<_> = LINES.lines().collect();
        for pair in lines.chunks(2) {
            let (format, text) = pair[0].split_once(": ").unwrap();
            let mut reader = reader(format);
            let Ok(Line::Request(request)) = reader.line(text) else { panic!("{text}") };
            let found = format!(
                "  {:?}{} {} {} {} {}",
                request.op,
                if request.flags.has(Flags::FUA) { " FUA" } else { "" },
                reader.volume_name(request.volume),
                request.time.0,
                request.offset_bytes,
                request.size_bytes
            );
            assert_eq!(found, pair[1], "{text}");
        }
    }

    #[test]
    fn headers_and_requests_without_data_ask_nothing() {
        for (format, text, remark) in [
            ("tencent", "Timestamp,Offset,Size,IOType,VolumeID", None),
            ("alibaba", "device_id,opcode,offset,length,timestamp", None),
            ("systor17", "Timestamp,Response,IOType,LUN,Offset,Size", None),
            ("systor17", "1456135202.013118000,0.001,,0,4096,4096", Some("without a type")),
            ("mobile", "proces,device,rw_flag,sector,size,timestamp", None),
            ("mobile", "process,device,rw_flag,sector,size,timestamp", None),
            ("mobile", "x,8388608,W,0,0,1.5", Some("without data")),
            ("served", "seq,conn,op,flags,off,len,t_arrive,t_target,t_reply", None),
            ("served", "7,0,block_status,0,8192,4096,1,2,3", Some("without data")),
            ("libcachesim", "1,33898,42,24,0", Some(super::OTHER_COMMANDS)),
        ] {
            let mut reader = reader(format);
            assert_eq!(reader.line(text), Ok(Line::Other), "{text}");
            let remark = remark.map(|why| format!("1 request {why} was skipped"));
            assert_eq!(reader.remarks(), Vec::from_iter(remark), "{text}");
        }
    }

    const REFUSED: &str = "\
mqsim: 1 2 3 4
mqsim: 1 2 3 4 5
mqsim: 1 2 3 4 1 6
mqsim: 0.5 0 1 1 1
mqsim: 1 a 3 4 1
mqsim: 1 0 -3 4 1
msr: 999999999999999999,hm,0,Write,0,512,1
msr: 1,hm,0,Erase,0,512,1
msr: 1,hm,0,Read,0,512
spc: 1,55596,3072,R
spc: 1,55596,3072,X,0.1
tencent: 1,2,3,2,4
tencent: 1,2,3,R,4
tencent: 1,2,3,0
tencent: 1,2,3,0,
tencent: 1,2,3,0,4,5
alibaba: 419,X,0,512,1
alibaba: a,W,0,512,1
alibaba: 419,W,0,512,1.5
alibaba: 419,W,0,512
systor17: 1.0,x,R,0,0,512
systor17: 1.0,,X,0,0,512
systor17: 1.0,,R,a,0,512
systor17: 1.0,,R,0,0
systor17: ,,R,0,0,1
fiu: 1 2 p 3 8 R 6 0
fiu: 1 2 p 3 8 X 6 0 m
fiu: 1 x p 3 8 R 6 0 m
fiu: 1 2 p 3 8 R a 0 m
mobile: 8388608,W,128,8,1.5
mobile: x,8388608,Z,128,8,1.5
mobile: x,a,W,128,8,1.5
served: 7,0,erase,0,0,1,0,0,0
served: 7,0,read,0,0,1,0,0
libcachesim: 1,33898,W,512,0
libcachesim: 1,33898,128,512,0
csv: 100,open,0,512,v0,,
csv: 100,write,0,512,v0,,dirty
";

    #[test]
    fn a_line_that_does_not_fit_is_refused() {
        for line in REFUSED.lines() {
            let (format, text) = line.split_once(": ").unwrap();
            assert!(reader(format).line(text).is_err(), "{line}");
        }
        assert_eq!(reader("spc").line("1,8,9,R"), Err("there is no time field".to_owned()));
    }
}
