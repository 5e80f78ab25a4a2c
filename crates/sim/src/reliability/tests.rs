//! What holds for every model of the raw bit error rate: files, bounds, order, no jump at time 0.

use super::arrhenius::acceleration;
use super::gray::GrayCode;
use super::read_disturb::PUBLISHED_SLOPES;
use super::state_presets::CellPreset;
use super::*;
use crate::config::parse;
use proptest::prelude::*;

fn defaults() -> Vec<RberConfig> {
    let mut models = vec![
        RberConfig::default(),
        RberConfig::PowerLaw(PowerLaw::default()),
        RberConfig::Exponential(Exponential::default()),
        RberConfig::Kim(Kim::default()),
        RberConfig::ReadDisturb(ReadDisturb::default()),
    ];
    models.extend(CellPreset::ALL.map(|preset| RberConfig::States(StateModel::preset(preset))));
    models
}

#[test]
fn a_bare_kind_means_its_defaults() {
    let config: RberConfig = parse(r#"{"kind": "weibull"}"#).unwrap();
    assert_eq!(config, RberConfig::default());
    let config: RberConfig = parse(r#"{"kind": "power_law", "exponent": 1.5}"#).unwrap();
    let expected = PowerLaw { exponent: 1.5, ..PowerLaw::default() };
    assert_eq!(config, RberConfig::PowerLaw(expected));
    let config: RberConfig = parse(r#"{"kind": "states"}"#).unwrap();
    assert_eq!(config, RberConfig::States(StateModel::default()));
    let config: RberConfig =
        parse(r#"{"kind": "states", "preset": "qlc", "gray_code": "1-2-4-8", "sigma": 0.2}"#)
            .unwrap();
    let expected = StateModel {
        gray_code: GrayCode::Qlc1248,
        sigma: 0.2,
        ..StateModel::preset(CellPreset::Qlc)
    };
    assert_eq!(config, RberConfig::States(expected));
}

#[test]
fn unknown_kinds_and_keys_are_refused() {
    for (text, named) in [
        (r#"{"kind": "wiebull"}"#, "wiebull"),
        (r#"{"kind": "weibull", "flor": 1e-8}"#, "flor"),
        (r#"{"kind": "power_law", "scale_cycles": 1}"#, "scale_cycles"),
        (r#"{"kind": "states", "sigmas": 1}"#, "sigmas"),
        (r#"{"kind": "states", "preset": "plc"}"#, "plc"),
        (r#"{"kind": "states", "gray_code": "3-3-1"}"#, "3-3-1"),
        (r#"{"kind": "kim", "flor": 1e-8}"#, "flor"),
        (r#"{"floor": 1e-8}"#, "kind"),
    ] {
        let error = parse::<RberConfig>(text).unwrap_err();
        assert!(error.message.contains(named), "{text}: {error}");
    }
}

#[test]
fn impossible_states_are_refused_by_name() {
    for (text, path) in [
        (r#"{"kind": "states", "gray_code": "1-2"}"#, "gray_code"),
        (r#"{"kind": "states", "sigma": 0}"#, "sigma"),
        (r#"{"kind": "states", "wear_cycles": -1}"#, "wear_cycles"),
        (r#"{"kind": "states", "erased_mean": 1}"#, "erased_mean"),
        (r#"{"kind": "states", "erased_sigma_ratio": 0.5}"#, "erased_sigma_ratio"),
        (r#"{"kind": "states", "interference_ratio": 0.9}"#, "interference_ratio"),
        (r#"{"kind": "states", "reference_c": -300}"#, "reference_c"),
        (r#"{"kind": "states", "activation_energy_ev": 30}"#, "activation_energy_ev"),
    ] {
        let config: RberConfig = parse(text).unwrap();
        assert_eq!(config.check().unwrap_err().path, path, "{text}");
    }
}

#[test]
fn what_is_resolved_can_be_read_again() {
    for config in defaults() {
        assert_eq!(config.check(), Ok(()));
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(parse::<RberConfig>(&text).unwrap(), config, "{text}");
    }
}

/// Cycles, hours at 40 degrees, reads per page: the points of Kim, Choi and Min that reach from
/// fresh to worn flash, a year and 1000 reads, and their formula in the first day.
const PUBLISHED: [(f64, f64, f64, f64); 15] = [
    (0.0, 0.0, 0.0, 1.480e-3),
    (500.0, 0.0, 0.0, 1.613e-3),
    (1000.0, 0.0, 0.0, 2.031e-3),
    (1500.0, 0.0, 0.0, 2.745e-3),
    (3000.0, 0.0, 0.0, 6.718e-3),
    (5000.0, 0.0, 0.0, 1.641e-2),
    (3000.0, 720.0, 0.0, 1.344e-2),
    (3000.0, 8760.0, 0.0, 3.264e-2),
    (3000.0, 0.0, 1000.0, 1.378e-2),
    (1000.0, 1.0, 0.0, 2.196e-3),
    (1000.0, 3.0, 0.0, 2.330e-3),
    (1000.0, 24.0, 0.0, 2.949e-3),
    (3000.0, 1.0, 0.0, 6.911e-3),
    (3000.0, 3.0, 0.0, 7.067e-3),
    (3000.0, 24.0, 0.0, 7.790e-3),
];

#[test]
fn the_states_of_tlc_meet_the_published_points_within_five_percent() {
    let (model, kim) = (StateModel::default(), Kim::default());
    for (pe_cycles, retention_h, reads, expected) in PUBLISHED {
        let stress = Stress { pe_cycles, retention_h, reads, ..Stress::default() };
        let ours = model.rber(&stress);
        assert!((ours / expected - 1.0).abs() < 0.05, "{stress:?}: {ours:e} {expected:e}");
        assert!((kim.rber(&stress) / expected - 1.0).abs() < 1e-3, "{stress:?}");
    }
}

#[test]
fn the_states_of_tlc_lose_in_hours_what_is_published() {
    // What time alone adds: b PE^m t^n. Wear hides it in the whole rate.
    let (model, cycles) = (StateModel::default(), 1000.0_f64);
    let rest = model.rber(&Stress { pe_cycles: cycles, ..Stress::default() });
    for hours in [1.0_f64, 3.0, 24.0] {
        let aged = Stress { pe_cycles: cycles, retention_h: hours, ..Stress::default() };
        let expected = 6.28e-5 * cycles.powf(0.14) * hours.powf(0.54);
        let ours = model.rber(&aged) - rest;
        assert!((ours / expected - 1.0).abs() < 0.10, "{hours} h: {ours:e} {expected:e}");
    }
}

#[test]
fn the_states_of_tlc_stay_within_ten_percent_of_the_published_model() {
    let (ours, published) = (StateModel::default(), Kim::default());
    for pe_cycles in [500.0, 1000.0, 1500.0, 3000.0, 5000.0] {
        let hours = [1.0, 3.0, 8.0, 24.0, 72.0, 168.0, 720.0, 2160.0, 8760.0];
        let aged = hours.map(|retention_h| Stress { pe_cycles, retention_h, ..Stress::default() });
        let read = [100.0, 200.0, 300.0, 500.0, 700.0, 1000.0].map(|reads| Stress {
            pe_cycles,
            reads,
            ..Stress::default()
        });
        for stress in aged.iter().chain(&read) {
            let (value, target) = (ours.rber(stress), published.rber(stress));
            assert!((value / target - 1.0).abs() < 0.10, "{stress:?}: {value:e} {target:e}");
        }
    }
}

#[test]
fn reads_add_to_mlc_what_is_published_of_it_and_nearly_in_proportion() {
    // 256 pages of a block: assumed.
    let model = StateModel::preset(CellPreset::Mlc);
    for (pe_cycles, slope) in PUBLISHED_SLOPES {
        let rest = model.rber(&Stress { pe_cycles, ..Stress::default() });
        for reads in [100.0, 200.0, 500.0, 1000.0] {
            let read = model.rber(&Stress { pe_cycles, reads, ..Stress::default() });
            let ratio = (read - rest) / (slope * 256.0 * reads);
            assert!((1.0 / 1.5..1.5).contains(&ratio), "{pe_cycles} {reads}: {ratio}");
        }
    }
}

#[test]
fn planar_mlc_at_the_end_of_its_life_is_within_the_code_of_its_data_sheet() {
    // 40 of 8752 bits: an UBER of 1e-15 is reached at 1.3e-3 (binomial tail).
    let model = StateModel::preset(CellPreset::Mlc);
    let worn = Stress {
        pe_cycles: 3000.0,
        retention_h: 8760.0,
        temperature_c: 30.0,
        page_type: Some(1),
        ..Stress::default()
    };
    let ours = model.rber(&worn);
    assert!((0.5e-3..1.0e-3).contains(&ours), "{ours:e}");
    let code = opennandlab_ecc::Bch::new(14, 40, None).expect("a code");
    let page = opennandlab_ecc::PageCode::new(Box::new(code), 1024).expect("a page");
    assert!(page.uber(ours) < 1e-17 && page.uber(1.3e-3) < 1.1e-15 && page.uber(1.35e-3) > 1e-15);
}

#[test]
fn qlc_is_read_at_once_when_fresh_and_with_soft_decisions_when_worn() {
    let model = StateModel::preset(CellPreset::Qlc);
    let code = opennandlab_ecc::LdpcByTable::new("nand-4k-r090", None).expect("a code");
    let page = opennandlab_ecc::PageCode::new(Box::new(code), 4096).expect("a page");
    let worn =
        Stress { pe_cycles: 1000.0, retention_h: 8760.0, temperature_c: 30.0, ..Stress::default() };
    let best = model.states(&worn).best_levels();
    for page_type in 0..4 {
        let fresh = model.rber(&Stress { page_type: Some(page_type), ..Stress::default() });
        assert!(page.page_failure_after(fresh, 1) < 1e-9, "{page_type}: {fresh:e}");
        let rber = model.rber_at(&worn, usize::from(page_type), &best);
        assert!(page.uber_after(rber, 7) < 1e-15, "{page_type}: {rber:e}");
        assert!(page.uber_after(rber, 1) > 1e-15, "{page_type}: hard decisions do not do");
    }
}

#[test]
fn more_bits_per_cell_mean_more_errors() {
    let stress = Stress { pe_cycles: 500.0, retention_h: 720.0, ..Stress::default() };
    let rates = CellPreset::ALL.map(|preset| StateModel::preset(preset).rber(&stress));
    assert!(rates.windows(2).all(|pair| pair[0] < pair[1]), "{rates:?}");
}

#[test]
fn page_types_average_to_the_cell_and_follow_their_levels() {
    let model = StateModel::default();
    let stress = Stress { pe_cycles: 1000.0, ..Stress::default() };
    let of = |page| model.rber(&Stress { page_type: Some(page), ..stress });
    let mean = (of(0) + of(1) + of(2)) / 3.0;
    assert!((model.rber(&stress) / mean - 1.0).abs() < 1e-12);
    assert!((of(1) / of(0) - 2.0).abs() < 1e-3 && of(2) > 3.0 * of(0));
    // A page type that the cell does not have is the mean of those it has.
    assert!((of(3) / mean - 1.0).abs() < 1e-12);
    assert_eq!(model.page_types(), ["lower", "middle", "upper"]);
}

fn stress() -> impl Strategy<Value = Stress> {
    (0.0_f64..2e5, 0.0_f64..5.0, -40.0_f64..125.0, 0.0_f64..1e5, 0_u8..6).prop_map(
        |(pe_cycles, decades, temperature_c, reads, page)| Stress {
            pe_cycles,
            retention_h: libm::expm1(decades * 2.303),
            temperature_c,
            reads,
            page_type: (page > 0).then(|| page - 1),
        },
    )
}

proptest! {
    #[test]
    fn models_are_bounded_and_never_improve_with_stress(
        now in stress(),
        which in 0_usize..4,
        share in 0.0_f64..1.0,
    ) {
        let later = match which {
            0 => Stress { pe_cycles: now.pe_cycles * (1.0 + share) + share, ..now },
            1 => Stress { retention_h: now.retention_h * (1.0 + share) + share, ..now },
            2 => Stress { temperature_c: now.temperature_c + 60.0 * share, ..now },
            _ => Stress { reads: now.reads * (1.0 + share) + share, ..now },
        };
        for config in defaults() {
            let model = config.build();
            let (before, after) = (model.rber(&now), model.rber(&later));
            prop_assert!((0.0..=RBER_MAX).contains(&before), "{:?}: {}", config, before);
            // The promise of the states ends after ten years at the reference temperature.
            let hours = later.retention_h
                * acceleration(arrhenius::JESD218_EA_EV, REFERENCE_C, later.temperature_c);
            if matches!(config, RberConfig::States(_)) && hours > 87_600.0 {
                continue;
            }
            // Sums of tails round in their last digits.
            prop_assert!(
                after >= before * (1.0 - 1e-12),
                "{:?}: {:e} after {:e}, {:?}", config, after, before, later
            );
        }
    }

    #[test]
    fn curves_of_other_parameters_are_bounded_too(
        pe_cycles in 0.0_f64..1e7,
        more in 0.0_f64..1e5,
        floor in 0.0_f64..0.01,
        span in 0.0_f64..0.4,
        exponent in 0.1_f64..6.0,
    ) {
        let ceiling = floor + span;
        let models = [
            RberConfig::Weibull(Weibull { floor, ceiling, shape: exponent, ..Weibull::default() }),
            RberConfig::PowerLaw(PowerLaw { floor, exponent, ..PowerLaw::default() }),
        ];
        for config in models {
            prop_assert_eq!(config.check(), Ok(()));
            let model = config.build();
            let at = |pe_cycles| model.rber(&Stress { pe_cycles, ..Stress::default() });
            let (now, later) = (at(pe_cycles), at(pe_cycles + more));
            prop_assert!(now >= floor && now <= RBER_MAX);
            prop_assert!(later >= now);
        }
    }

    #[test]
    fn the_first_moment_and_the_first_read_make_no_jump(
        now in stress(),
        hours in 1e-9_f64..1e-6,
        reads in 1e-9_f64..1e-6,
    ) {
        let fresh = Stress { retention_h: 0.0, reads: 0.0, temperature_c: 40.0, ..now };
        for config in defaults() {
            let model = config.build();
            let before = model.rber(&fresh);
            let after = model.rber(&Stress { retention_h: hours, reads, ..fresh });
            // The published power of time, 0.54, and that of reads of MLC, 0.4, start steepest.
            prop_assert!(
                after - before < 1e-5 + 1e-3 * before,
                "{:?}: {:e} {:e}", config, before, after
            );
        }
    }

    #[test]
    fn only_the_product_of_time_and_acceleration_counts(
        now in stress(),
        temperature_c in 0.0_f64..100.0,
    ) {
        let model = StateModel::default();
        let speed = acceleration(model.activation_energy_ev, 40.0, temperature_c);
        let hot = Stress { temperature_c, ..now };
        let long = Stress { temperature_c: 40.0, retention_h: now.retention_h * speed, ..now };
        let (hot, long) = (model.rber(&hot), model.rber(&long));
        prop_assert!((hot - long).abs() <= 1e-9 * long);
    }
}
