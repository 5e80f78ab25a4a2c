//! Drives whose reads sense cells: bytes of a host through scrambler, code and cells and back.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Pace, Refusal, Request, Session};
use opennandlab_sim::testing::merge;
use opennandlab_sim::units::{Lpn, Ns};
use serde_json::{json, Value};

fn resolved(options: &Value) -> Result<DeviceConfig, String> {
    let mut document = json!({
        "nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 24,
            "pages_per_block": 18, "page_size_bytes": 2048, "cell_type": "SLC"},
        "ftl": {"over_provisioning_pct": 0.4},
        "ecc": {"step_bytes": 512, "strength": 8, "fidelity": "cells"},
        "reliability": {"kind": "states", "preset": "slc"},
    });
    merge(&mut document, options);
    DeviceConfig::resolve(&document.to_string()).map_err(|error| error.to_string())
}

fn session(options: &Value) -> Session {
    let config = resolved(options).expect("a device");
    Session::new(Simulation::new(config, 7), Pace::Untimed).expect("a plain disk")
}

fn write(session: &mut Session, page: u64, bytes: &[u8]) {
    let request = Request::Write { offset: 2048 * page, bytes, is_fua: false, placement: 0 };
    session.begin(Ns(0), page, request, &mut Vec::new()).expect("the drive takes it");
}

fn read(session: &mut Session, page: u64) -> Result<Vec<u8>, Refusal> {
    let request = Request::Read { offset: 2048 * page, length: 2048 };
    session.begin(Ns(0), page, request, &mut Vec::new())?;
    let mut found = vec![0; 2048];
    session.read(2048 * page, &mut found).expect("the medium is sound");
    Ok(found)
}

/// Slc cells have hardly an error of their own, so that a step corrects as many flips as it can.
#[test]
fn as_many_flipped_bits_as_the_code_corrects_are_mended_and_one_more_is_reported() {
    let mut session = session(&json!({"nand": {"cell_type": "SLC", "cells": {"blocks": "all"}}}));
    let mut rng = Rng::from_seed(5);
    let pages: Vec<Vec<u8>> =
        (0..40).map(|_| (0..2048).map(|_| rng.next_u64() as u8).collect()).collect();
    for (page, bytes) in (0..).zip(&pages) {
        write(&mut session, page, bytes);
    }
    for flips in 0..8 {
        assert_eq!(read(&mut session, 11).as_deref(), Ok(&pages[11][..]), "{flips} flips");
        assert!(session.corrupt(Lpn(11)));
    }
    assert_eq!(read(&mut session, 11).as_deref(), Ok(&pages[11][..]), "8 flips");
    assert!(session.corrupt(Lpn(11)));
    assert_eq!(read(&mut session, 11), Err(Refusal::Uncorrectable));
    assert_eq!(read(&mut session, 12).as_deref(), Ok(&pages[12][..]));
    // Written again, the page is at another place.
    write(&mut session, 11, &pages[0]);
    assert_eq!(read(&mut session, 11).as_deref(), Ok(&pages[0][..]));
}

/// Random numbers of the other reads are the same, and so is all that a drive does.
#[test]
fn reads_of_other_blocks_draw_as_without_cells() {
    let chances = |options: &Value| {
        let wear = json!({"nand": {"cell_type": "TLC", "stress": {"retention_h": 2000}},
            "reliability": {"kind": "states", "preset": "tlc"}});
        let mut all = wear;
        merge(&mut all, options);
        let mut session = session(&all);
        let pages = session.capacity_bytes() / 2048;
        for page in 0..2 * pages {
            write(&mut session, page % pages, &[page as u8; 2048]);
        }
        let lost = (0..pages).filter(|&page| read(&mut session, page).is_err()).count();
        let memory = serde_json::to_value(session.read_memory()).expect("plain data");
        (memory["chances"].clone(), lost)
    };
    let (table, lost) = chances(&json!({"ecc": {"fidelity": "table"}}));
    assert!(lost > 50, "{lost} lost pages");
    for blocks in [json!(1), json!(9), json!("all")] {
        let (cells, _) = chances(&json!({"nand": {"cells": {"blocks": blocks}}}));
        assert_eq!(cells, table, "{blocks} blocks");
    }
}

#[test]
fn cells_that_a_drive_cannot_have_are_refused_by_key() {
    for (options, path, words) in [
        (json!({"ecc": {"fidelity": "table"}, "nand": {"cells": {}}}), "nand.cells", "no effect"),
        (json!({"nand": {"cells": {"blocks": 49}}}), "nand.cells.blocks", "1 to 48"),
        (json!({"nand": {"cells": {"blocks": 0}}}), "nand.cells", "1 or more, or all"),
        (
            json!({"nand": {"cell_type": "TLC", "cells": {"coupling": [0.4]}},
                "reliability": {"preset": "tlc"}}),
            "nand.cells.coupling",
            "below",
        ),
        (json!({"nand": {"cell_type": "QLC"}}), "reliability", "4 bits"),
        (
            json!({"controller": {"read_retry": {"rber_factor": 0.5}}}),
            "controller.read_retry.rber_factor",
            "omitted",
        ),
        (
            json!({"ecc": {"algorithm": "none", "step_bytes": null, "strength": null}}),
            "ecc",
            "bch or ldpc",
        ),
        (
            json!({"controller": {"read_retry": {"calibrate": {"step": 0.001}}}}),
            "controller.read_retry.calibrate.step",
            "0.01 to 0.5",
        ),
    ] {
        let error = resolved(&options).expect_err(words);
        assert!(error.starts_with(path) && error.contains(words), "{options}: {error}");
    }
}
