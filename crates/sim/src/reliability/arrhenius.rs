//! Temperature as time: the Arrhenius acceleration of charge loss, and the figures of JESD218.
//!
//! `AF = exp(Ea / k (1 / T_from - 1 / T_to))`, temperatures in kelvin: an hour at `T_to` does what
//! `AF` hours at `T_from` do. One energy for all temperatures is itself a model; measured energies
//! differ by mechanism.

/// Boltzmann's constant, eV/K. Source: CODATA 2018 (exact in the SI of 2019).
pub const BOLTZMANN_EV_K: f64 = 8.617_333_262e-5;

/// 0 degrees Celsius in kelvin.
pub const ZERO_CELSIUS_K: f64 = 273.15;

/// Activation energy of retention in JESD218, eV. Recalled from the standard, unverified.
pub const JESD218_EA_EV: f64 = 1.1;

/// Activation energy of retention and dwell in 3D MLC, eV. Source: Y. Luo et al., HPCA 2018;
/// recalled, unverified.
pub const LUO_EA_EV: f64 = 1.04;

/// Temperatures at which the model is asked, degrees Celsius.
pub const TEMPERATURE_C_RANGE: std::ops::RangeInclusive<f64> = -55.0..=200.0;

/// The hours at `from_c` that have the effect of one hour at `to_c`, at an activation energy in eV.
///
/// ```
/// use opennandlab_sim::reliability::arrhenius::acceleration;
/// assert!((acceleration(1.1, 40.0, 85.0) - 167.6).abs() < 0.1);
/// ```
pub fn acceleration(ea_ev: f64, from_c: f64, to_c: f64) -> f64 {
    let (from_k, to_k) = (from_c + ZERO_CELSIUS_K, to_c + ZERO_CELSIUS_K);
    libm::exp(ea_ev / BOLTZMANN_EV_K * (1.0 / from_k - 1.0 / to_k))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factors_of_the_jedec_energy_are_met() {
        // Computed by hand from the formula, four digits, at 1.1 eV; then at 1.04 eV.
        for (ea, from, to, expected, tolerance) in [
            (JESD218_EA_EV, 30.0, 40.0, 3.84, 0.005),
            (JESD218_EA_EV, 40.0, 55.0, 6.45, 0.005),
            (JESD218_EA_EV, 40.0, 66.0, 22.8, 0.05),
            (JESD218_EA_EV, 40.0, 85.0, 167.6, 0.05),
            (JESD218_EA_EV, 30.0, 85.0, 643.0, 0.5),
            (JESD218_EA_EV, 25.0, 85.0, 1303.0, 0.5),
            (LUO_EA_EV, 40.0, 55.0, 5.82, 0.005),
            (LUO_EA_EV, 40.0, 85.0, 126.8, 0.05),
        ] {
            let ours = acceleration(ea, from, to);
            assert!((ours - expected).abs() <= tolerance, "{ea} eV, {from} to {to} C: {ours}");
        }
    }

    #[test]
    fn a_power_off_year_is_the_bake_of_practice() {
        // One year at 30 C, and three months at 40 C, are close to the 96 h at 66 C in use.
        let year = 8760.0 / acceleration(JESD218_EA_EV, 30.0, 66.0);
        let quarter = 8760.0 / 4.0 / acceleration(JESD218_EA_EV, 40.0, 66.0);
        assert!((year - 100.3).abs() < 0.2, "{year}");
        assert!((quarter - 96.2).abs() < 0.2, "{quarter}");
    }

    #[test]
    fn cooling_undoes_heating() {
        let there = acceleration(1.1, 25.0, 70.0);
        assert!((there * acceleration(1.1, 70.0, 25.0) - 1.0).abs() < 1e-12);
        assert!((acceleration(1.1, 40.0, 40.0) - 1.0).abs() < 1e-15);
    }
}
