//! Requests of a trace other than reads and writes: flushes, force unit access, one request at
//! several devices; its order and odd sizes.

use opennandlab_sim::units::Ns;
use opennandlab_sim::workload::trace::{FormatConfig, Order, Trace, TraceError, TraceOptions};

fn read(text: &str) -> Result<Trace, TraceError> {
    Trace::read(&mut text.as_bytes(), "t.trace", &TraceOptions::default())
}

/// Flushes and force unit access were dropped by every reader.
#[test]
fn flushes_and_force_unit_access_are_kept() {
    let iolog = "fio version 3 iolog\n0 d write 0 4096\n1 d sync 0 0\n2 d write 4096 4096\n\
                 3 d datasync 0 0\n";
    let blkparse = "8,0 1 1 0.0 1 Q WS 0 + 8 [db]\n8,0 1 2 0.1 1 Q FN [db]\n\
                    8,0 1 3 0.2 1 Q FWFS 8 + 8 [db]\n8,0 1 3 0.2 1 Q WFS 16 + 8 [db]\n";
    let served = "seq,conn,op,flags,off,len,t_arrive,t_target,t_reply\n\
                  0,0,write,1,0,4096,5,6,7\n1,0,flush,0,0,0,6,7,8\n";
    let mobile = "a,8388608,W,0,8,1.5\na,8388608,FF,0,0,1.6\na,8388608,WFS,0,8,1.7\n";
    let biosnoop = "1.0 a 7 sda W 0 4096 0.1\n2.0 a 7 sda F 18446744073709551615 0 0.1\n\
                    3.0 a 7 sda FWFS 8 4096 0.1\n";
    for (text, ops, fua) in [
        (iolog, "Write Flush Write Flush", 0),
        (blkparse, "Write Flush Flush Write Write", 2),
        (served, "Write Flush", 1),
        (mobile, "Write Flush Write", 1),
        (biosnoop, "Write Flush Flush Write", 1),
    ] {
        let trace = read(text).unwrap();
        let names = trace.records().iter().map(|record| format!("{:?}", record.op()));
        assert_eq!(names.collect::<Vec<_>>().join(" "), ops, "{text}");
        assert_eq!(trace.summary().fua_count, fua, "{text}");
        let flushes = ops.matches("Flush").count() as u64;
        assert_eq!(trace.summary().flush_count, flushes, "{text}");
        assert_eq!(trace.warnings(), [""; 0], "{text}");
    }
}

/// A request queued at a logical volume and again at its disk was replayed twice.
#[test]
fn requests_of_a_stack_count_once() {
    let text = "253,0 1 1 0.000000 1 Q WS 2048 + 16 [db]\n\
                8,0 1 1 0.000002 1 A WS 9048 + 16 <- (253,0) 2048\n\
                8,0 1 2 0.000003 1 Q WS 9048 + 16 [db]\n\
                253,0 0 1 0.001000 1 Q FWFSM 4096 + 8 [db]\n\
                8,0 0 1 0.001002 1 A FWFSM 11096 + 8 <- (253,0) 4096\n\
                8,0 0 2 0.001003 1 Q FWFSM 11096 + 8 [db]\n";
    for (layer, volumes, sectors) in [
        ("bottom", &["8,0"][..], &[9048, 0, 11096][..]),
        ("top", &["253,0"], &[2048, 0, 4096]),
        ("all", &["253,0", "8,0"], &[2048, 9048, 0, 4096, 0, 11096]),
    ] {
        let json = format!(r#"{{"kind": "blkparse", "layer": "{layer}"}}"#);
        let format: FormatConfig = serde_json::from_str(&json).unwrap();
        let options = TraceOptions { format, ..TraceOptions::default() };
        let trace = Trace::read(&mut text.as_bytes(), "t.trace", &options).unwrap();
        assert_eq!(trace.volumes(), volumes);
        let found: Vec<_> = trace.records().iter().map(|record| record.sector).collect();
        assert_eq!(found, sectors, "{layer}");
        assert!(trace.records().iter().all(|record| record.volume_index() < volumes.len()));
        assert_eq!(trace.records()[0].arrival, Ns(0));
        assert_eq!(trace.warnings().len(), 1);
        assert!(trace.warnings()[0].contains("device 253,0 lies on 8,0"));
    }
    // Of the volume alone nothing is left out.
    let upper: Vec<_> = text.lines().filter(|line| line.starts_with("253")).collect();
    assert_eq!(read(&upper.join("\n")).unwrap().records().len(), 3);
}

#[test]
fn records_out_of_order_are_sorted_stably_with_a_warning() {
    let trace = read("10 0 1 1 1\n30 0 2 1 1\n20 0 3 1 1\n30 0 4 1 1\n20 0 5 1 1\n").unwrap();
    let order: Vec<_> = trace.records().iter().map(|r| (r.arrival.0, r.sector)).collect();
    assert_eq!(order, [(0, 1), (10, 3), (10, 5), (20, 2), (20, 4)]);
    assert_eq!(
        trace.warnings(),
        ["t.trace: 2 of 5 requests were out of time order, so they were sorted"]
    );
    // A closed loop takes them as they stand in the file, counted from the earliest.
    let options = TraceOptions { order: Order::File, ..TraceOptions::default() };
    let trace = Trace::read(&mut &b"20 0 1 1 1\n10 0 2 1 1\n30 0 3 1 1\n"[..], "t.trace", &options)
        .unwrap();
    let order: Vec<_> = trace.records().iter().map(|r| (r.arrival.0, r.sector)).collect();
    assert_eq!(order, [(10, 1), (0, 2), (20, 3)]);
    let said = "t.trace: 1 of 3 requests was out of time order; the order is that of the file";
    assert_eq!(trace.warnings(), [said]);
}

#[test]
fn odd_bytes_are_rounded_outwards_with_a_warning() {
    let trace = read("1,W,1000,100,1\n1,R,511,2,2\n1,R,512,512,3\n").unwrap();
    let spans: Vec<_> = trace.records().iter().map(|r| (r.sector, r.sector_count)).collect();
    assert_eq!(spans, [(1, 2), (0, 2), (1, 1)]);
    assert_eq!(
        trace.warnings(),
        ["t.trace: 2 requests were not of whole sectors and were rounded outwards"]
    );
}
