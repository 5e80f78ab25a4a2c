//! The chip: against a plain map, by rules, faults and statistics.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use opennandlab_raw::{Access, At, Erasure, Fault, Options, RawNand, Scope, Status};
use opennandlab_sim::reliability::{questions, Stress};
use proptest::prelude::*;

fn chip(json: &str) -> RawNand {
    RawNand::new(Options::resolve(json).expect("valid"), None).expect("fits")
}

fn refusal(json: &str) -> String {
    let made = Options::resolve(json).and_then(|options| RawNand::new(options, None));
    made.err().expect("refused").to_string()
}

fn at(block: u32, page: u32) -> At {
    At { block, page }
}

fn pattern(seed: u32, bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|i| (i.wrapping_mul(i ^ seed).wrapping_add(seed) >> 3) as u8).collect()
}

fn step(block: u32, page: u32, step: u32) -> Scope {
    Scope { block: Some(block), page: Some(page), step: Some(step) }
}

const SMALL: &str = r#"{"page_bytes": 512, "oob_bytes": 16, "pages_per_block": 8, "blocks": 4"#;

#[test]
fn t_bits_of_a_step_are_corrected_and_one_more_is_told() {
    // Strength 4 has 52 bits of parity, 3 has 39: their last byte is filled up.
    for (page, oob, step_bytes, t) in [
        (2048, 64, 512, 8),
        (2048, 64, 512, 4),
        (512, 16, 512, 3),
        (4096, 224, 1024, 24),
        (256, 17, 128, 5),
    ] {
        let json = format!(
            r#"{{"page_bytes": {page}, "oob_bytes": {oob}, "blocks": 2,
            "ecc": {{"step_bytes": {step_bytes}, "strength": {t}}}}}"#
        );
        let mut chip = chip(&json);
        let threshold = chip.geometry().bitflip_threshold;
        assert_eq!(threshold, (3_u32 * t).div_ceil(4));
        let data = pattern(t, page);
        let last = (page / step_bytes) as u32 - 1;
        for flips in 0..=t + 1 {
            chip.program(at(0, flips), &data, &[0xff, 0x5a], Access::Coded).expect("in order");
            chip.inject(Fault::Flip(step(0, flips, last), flips)).expect("there");
            let found = chip.read(at(0, flips), Access::Coded).expect("there");
            let wanted = match flips {
                _ if flips > t => Status::Uncorrectable,
                _ if flips >= threshold => Status::Corrected,
                _ => Status::Ok,
            };
            assert_eq!(found.status, wanted, "{flips} of {t}");
            if flips <= t {
                assert_eq!(found.bytes[..page], data);
                assert_eq!((found.corrected_max, found.corrected_sum), (flips, flips));
                assert_eq!(found.bytes[page..page + 2], [0xff, 0x5a]);
            }
            // An erased page with as many flips.
            chip.inject(Fault::Flip(step(1, flips, 0), flips)).expect("there");
            let found = chip.read(at(1, flips), Access::Coded).expect("there");
            assert_eq!(found.status, wanted, "{flips} of {t}, erased");
            assert_eq!(found.bytes.iter().all(|&byte| byte == 0xff), flips <= t);
        }
    }
}

#[test]
fn uncorrectable_data_come_as_they_were_read() {
    let mut chip = chip(r#"{"blocks": 1}"#);
    let data = pattern(3, 2048);
    chip.program(at(0, 0), &data, &[], Access::Coded).expect("fits");
    chip.inject(Fault::Flip(step(0, 0, 1), 9)).expect("there");
    chip.inject(Fault::Flip(step(0, 0, 2), 3)).expect("there");
    let stored = chip.read(at(0, 0), Access::Raw).expect("there");
    let found = chip.read(at(0, 0), Access::Coded).expect("there");
    assert_eq!((stored.status, found.status), (Status::Ok, Status::Uncorrectable));
    assert_eq!(found.bytes[512..1024], stored.bytes[512..1024]);
    assert_eq!(found.bytes[1024..2048], data[1024..]);
    assert_eq!((found.corrected_max, found.corrected_sum), (3, 3));
    let stats = chip.stats();
    assert_eq!((stats.reads, stats.corrected_bits, stats.uncorrectable_reads), (2, 3, 1));
}

#[test]
fn rules_of_the_flash_are_kept() {
    let mut chip = chip(&format!("{SMALL}, \"nop\": 2}}"));
    let mut program = |block, page| {
        let done = chip.program(at(block, page), &[0x0f; 512], &[], Access::Coded);
        done.map_err(|error| error.to_string())
    };
    assert_eq!(program(0, 2), Ok(Status::Ok));
    assert_eq!(program(0, 2), Ok(Status::Ok));
    let twice = program(0, 2).expect_err("nop is 2");
    assert!(twice.contains("was programmed 2 times"), "{twice}");
    let back = program(0, 1).expect_err("2 comes before");
    assert!(back.contains("comes after page 2"), "{back}");
    assert_eq!(program(0, 4), Ok(Status::Ok));
    assert!(program(4, 0).is_err() && program(0, 8).is_err());
    chip.erase(0, Erasure::Careful).expect("there");
    assert_eq!(chip.program(at(0, 1), &[0; 512], &[], Access::Coded), Ok(Status::Ok));
}

#[test]
fn a_chip_that_is_not_strict_combines_bits() {
    let mut chip = chip(&format!("{SMALL}, \"strict\": false, \"ecc\": null}}"));
    for byte in [0xf0, 0x3c] {
        let oob = [0xff, byte];
        chip.program(at(0, 5), &[byte; 512], &oob, Access::Coded).expect("no rule");
    }
    chip.program(at(0, 1), &[1; 512], &[], Access::Coded).expect("no rule");
    let found = chip.read(at(0, 5), Access::Coded).expect("there");
    assert_eq!(found.bytes[..512], [0x30; 512]);
    assert_eq!(found.bytes[512..515], [0xff, 0x30, 0xff]);
}

#[test]
fn bad_blocks_keep_their_marker_until_they_are_forced() {
    let mut chip = chip(r#"{"blocks": 200, "bad_share": 0.05, "pages_per_block": 2}"#);
    let bad: Vec<u32> = (0..200).filter(|&block| chip.is_bad(block) == Ok(Ok(true))).collect();
    assert_eq!((bad.len(), chip.stats().bad_blocks), (10, 10));
    assert!(bad[0] > 0);
    let first = chip.read(at(bad[0], 0), Access::Coded).expect("there");
    assert_eq!((first.status, first.bytes[2048]), (Status::Ok, 0));
    let program = chip.program(at(bad[0], 0), &[0; 2048], &[], Access::Coded);
    assert_eq!(program, Ok(Status::Failed));
    assert_eq!(chip.erase(bad[0], Erasure::Careful), Ok(Status::Failed));
    assert_eq!(chip.erase(bad[0], Erasure::Forced), Ok(Status::Ok));
    assert_eq!(chip.is_bad(bad[0]), Ok(Ok(false)));
    assert_eq!(chip.mark_bad(3), Ok(Status::Ok));
    assert_eq!(chip.is_bad(3), Ok(Ok(true)));
    let stats = chip.stats();
    assert_eq!((stats.failed_programs, stats.failed_erases, stats.bad_blocks), (1, 1, 10));
}

#[test]
fn blocks_that_fail_say_so_and_are_torn() {
    let mut chip = chip(r#"{"blocks": 2, "ecc": null}"#);
    chip.program(at(0, 0), &[0; 2048], &[], Access::Coded).expect("fits");
    chip.inject(Fault::FailProgram(0)).expect("there");
    chip.inject(Fault::FailErase(0)).expect("there");
    assert_eq!(chip.program(at(0, 1), &[0; 2048], &[], Access::Coded), Ok(Status::Failed));
    let torn = chip.read(at(0, 1), Access::Raw).expect("there").bytes;
    let ones = torn[..2048].iter().map(|byte| byte.count_ones()).sum::<u32>();
    assert!((1..8 * 2048).contains(&ones), "{ones}");
    assert_eq!(chip.erase(0, Erasure::Careful), Ok(Status::Failed));
    let half = chip.program(at(0, 5), &[0; 2048], &[], Access::Coded).expect_err("half erased");
    assert!(half.to_string().contains("erase that was not finished"), "{half}");
    assert_eq!(chip.program(at(1, 0), &[0; 2048], &[], Access::Coded), Ok(Status::Ok));
}

#[test]
fn a_cut_tears_one_operation_and_ends_all_later_ones() {
    for seed in 0..20 {
        let mut chip = chip(&format!(r#"{{"blocks": 2, "ecc": null, "seed": {seed}}}"#));
        chip.inject(Fault::Cut(3)).expect("later");
        let (old, new) = (pattern(seed, 2048), pattern(seed + 100, 2048));
        assert_eq!(chip.program(at(0, 0), &old, &[], Access::Coded), Ok(Status::Ok));
        chip.read(at(0, 0), Access::Coded).expect("is not counted");
        assert_eq!(chip.erase(1, Erasure::Careful), Ok(Status::Ok));
        assert_eq!(chip.program(at(0, 1), &new, &[], Access::Coded), Ok(Status::NoPower));
        let off = chip.read(at(0, 0), Access::Coded).expect("there");
        assert_eq!((off.status, off.bytes), (Status::NoPower, vec![0xff; 2112]));
        assert_eq!(chip.program(at(0, 2), &new, &[], Access::Coded), Ok(Status::NoPower));
        assert_eq!(chip.erase(0, Erasure::Forced), Ok(Status::NoPower));
        assert_eq!(chip.mark_bad(0), Ok(Status::NoPower));
        assert_eq!(chip.is_bad(0), Ok(Err(Status::NoPower)));
        chip.inject(Fault::PowerOn).expect("always");
        assert_eq!(chip.read(at(0, 0), Access::Coded).expect("there").bytes[..2048], old);
        let torn = chip.read(at(0, 1), Access::Coded).expect("there").bytes;
        assert!(torn.iter().zip(&new).all(|(torn, new)| torn & new == *new), "only zeros are late");
        // A torn erase leaves some of the zeros.
        chip.inject(Fault::Cut(1)).expect("now");
        assert_eq!(chip.erase(0, Erasure::Careful), Ok(Status::NoPower));
        chip.inject(Fault::PowerOn).expect("always");
        let torn = chip.read(at(0, 0), Access::Coded).expect("there").bytes;
        assert!(torn.iter().zip(&old).all(|(torn, old)| torn & old == *old), "only ones are new");
        assert!(chip.program(at(0, 5), &new, &[], Access::Coded).is_err());
        assert_eq!(chip.erase(0, Erasure::Careful), Ok(Status::Ok));
        assert_eq!(chip.program(at(0, 0), &new, &[], Access::Coded), Ok(Status::Ok));
        assert_eq!(chip.stats().cuts, 2);
    }
}

/// The bits of all pages of a block that are read wrong.
fn wrong(chip: &mut RawNand, data: &[u8]) -> Vec<Vec<u8>> {
    let page = |page| {
        let found = chip.read(at(0, page), Access::Raw).expect("there").bytes;
        found.iter().zip(data).map(|(found, data)| found ^ data).collect()
    };
    (0..64).map(page).collect()
}

fn ones(pages: &[Vec<u8>]) -> u32 {
    pages.iter().flatten().map(|byte| byte.count_ones()).sum()
}

#[test]
fn ageing_brings_errors_at_the_rate_of_the_model_and_keeps_them() {
    let model = r#"{"kind": "kim"}"#;
    let mut chip = chip(&format!(r#"{{"blocks": 1, "ecc": null, "reliability": {model}}}"#));
    let data = pattern(9, 2048);
    for page in 0..64 {
        chip.program(at(0, page), &data, &[], Access::Coded).expect("in order");
    }
    let mut before = vec![vec![0; 2048]; 64];
    for (pe, hours) in [(500.0, 0.0), (1000.0, 100.0), (1500.0, 3000.0)] {
        chip.age(pe, hours, 40.0).expect("fits");
        let found = wrong(&mut chip, &data);
        let kept = before.iter().flatten().zip(found.iter().flatten());
        assert!(kept.clone().all(|(old, new)| old & new == *old), "errors stay");
        before = found;
    }
    let rate = questions::parsed(model).expect("a model").build();
    let stress = Stress { pe_cycles: 3000.0, retention_h: 3100.0, ..Stress::default() };
    let bits = f64::from(64 * 8 * 2048);
    let expected = bits * rate.rber(&Stress { reads: 2.5, ..stress });
    let deviation = (f64::from(ones(&before)) - expected) / expected.sqrt();
    assert!(deviation.abs() < 4.5, "{deviation} sigma: {} of {expected}", ones(&before));
    // An erase ends the retention, and other cells are the weak ones.
    chip.erase(0, Erasure::Careful).expect("there");
    for page in 0..64 {
        chip.program(at(0, page), &data, &[], Access::Coded).expect("in order");
    }
    let after = wrong(&mut chip, &data);
    assert!(ones(&after) < ones(&before) / 2);
    let shared = before.iter().flatten().zip(after.iter().flatten()).map(|(a, b)| a & b);
    assert!(shared.map(u8::count_ones).sum::<u32>() < ones(&after) / 4);
}

#[test]
fn the_same_seed_gives_the_same_chip() {
    let image = |seed: u32| {
        let mut chip = chip(&format!(
            r#"{{"blocks": 8, "bad_share": 0.3, "seed": {seed}, "reliability": "states"}}"#
        ));
        chip.inject(Fault::Cut(2)).expect("later");
        let data = pattern(1, 2048);
        let _ = chip.program(at(0, 0), &data, &[], Access::Coded);
        let _ = chip.program(at(0, 1), &data, &[], Access::Coded);
        chip.inject(Fault::PowerOn).expect("always");
        chip.inject(Fault::Flip(Scope::default(), 3)).expect("all");
        let mut read =
            |page: u32| chip.read(at(page / 2, page % 2), Access::Raw).expect("there").bytes;
        (0..16).flat_map(&mut read).collect::<Vec<u8>>()
    };
    assert_eq!(image(1), image(1));
    assert_ne!(image(1), image(2));
}

#[test]
fn a_saved_image_is_loaded_again_and_a_wrong_size_is_told() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("chip-{}.bin", std::process::id()));
    let json = format!("{SMALL}}}");
    let mut first = chip(&json);
    let data = pattern(5, 512);
    first.program(at(1, 3), &data, &[0xff, 7], Access::Coded).expect("fits");
    first.mark_bad(2).expect("there");
    first.save(&path).expect("written");
    assert_eq!(fs::metadata(&path).expect("there").len(), 4 * 8 * 528);
    let open = |json: &str| {
        let options = Options::resolve(json).expect("valid");
        RawNand::new(options, Some(&path)).map_err(|error| error.to_string())
    };
    let mut second = open(&json.replace(", \"blocks\": 4", "")).expect("four blocks");
    assert_eq!(second.geometry().blocks, 4);
    assert_eq!(second.is_bad(2), Ok(Ok(true)));
    assert_eq!(second.read(at(1, 3), Access::Coded).expect("there").bytes[..512], data);
    assert!(second.program(at(1, 3), &data, &[], Access::Coded).is_err());
    assert_eq!(second.program(at(1, 4), &data, &[], Access::Coded), Ok(Status::Ok));
    let refused = |json: &str| open(json).err().expect("refused");
    assert!(refused(&json.replace('8', "9")).contains("leave a remainder of 2640 bytes"));
    assert!(refused(&json.replace("4}", "5}")).contains("has 4 blocks; accepted: 5"));
    assert!(first.save(&folder.join("none").join("chip.bin")).is_err());
    fs::remove_file(path).expect("it is there");
}

#[test]
fn options_that_cannot_be_are_refused_with_the_value() {
    for (json, reason) in [
        (r#"{"blocks": 0}"#, "blocks: 0 is out of range; accepted: 1 to 1048576"),
        (r#"{"page_bytes": 0}"#, "page_bytes: 0 is out of range"),
        (r#"{"nop": 0}"#, "nop: 0"),
        (r#"{"oob_bytes": 52}"#, "4 steps need 52 of parity and 1 for the marker, 53 in all"),
        (r#"{"ecc": {"step_bytes": 600, "strength": 8}}"#, "a remainder of 248 bytes"),
        (r#"{"ecc": {"step_bytes": 0, "strength": 8}}"#, "ecc.step_bytes: 0"),
        (r#"{"ecc": {"step_bytes": 512, "strength": 0}}"#, "ecc.strength: 0 is out of range"),
        (r#"{"ecc": {"step_bytes": 512}}"#, "missing field `strength`"),
        (r#"{"bitflip_threshold": 9}"#, "bitflip_threshold: 9 is out of range; accepted: 1 to 8"),
        (r#"{"bad_share": 1}"#, "bad_share: 1 is out of range"),
        (r#"{"reliability": "moon"}"#, "reliability: unknown variant `moon`"),
        (r#"{"read_flips": 4201}"#, "read_flips: 4201 is out of range; accepted: 0 to 4200"),
        (r#"{"pages": 64}"#, "unknown field `pages`"),
    ] {
        let found = refusal(json);
        assert!(found.contains(reason), "{json}: {found}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_chip_agrees_with_a_plain_map(
        ops in prop::collection::vec((0_u8..3, 0_u32..4, 0_u32..8, any::<u32>()), 1..120),
    ) {
        let ecc = r#"{"step_bytes": 256, "strength": 2}"#;
        let mut chip = chip(&format!(r#"{SMALL}, "read_flips": 2, "ecc": {ecc}}}"#));
        let mut pages: BTreeMap<(u32, u32), Vec<u8>> = BTreeMap::new();
        for (op, block, page, seed) in ops {
            let newest = pages.range((block, 0)..=(block, 7)).next_back().map(|(place, _)| place.1);
            if op == 0 {
                prop_assert_eq!(chip.erase(block, Erasure::Careful), Ok(Status::Ok));
                pages.retain(|place, _| place.0 != block);
            } else if op == 1 {
                let data = pattern(seed, 512);
                let done = chip.program(at(block, page), &data, &[], Access::Coded);
                let may = newest.is_none_or(|newest| page > newest);
                prop_assert_eq!(done.is_ok(), may);
                if may {
                    pages.insert((block, page), data);
                }
            }
            let found = chip.read(at(block, page), Access::Coded).expect("there");
            let wanted = pages.get(&(block, page)).cloned().unwrap_or(vec![0xff; 512]);
            prop_assert_eq!((found.status, found.corrected_max), (Status::Corrected, 2));
            prop_assert_eq!(&found.bytes[..512], &wanted[..]);
        }
    }
}
