//! How the layers of a 3D stack differ: a factor of the error rate for each, of mean 1.
//!
//! `factor = 1 + swing (12 x^2 / (1 - 1/N^2) - 1) / 2`, `x` from -1/2 at the bottom to 1/2 at the
//! top: a bowl that is highest at both ends of the stack. That layers differ, and the outer ones
//! most, is measured (Y. Luo et al., SIGMETRICS 2018); the parabola and its size are assumed.

use crate::config::ConfigError;

/// Layers that a stack has at most: several times those of real stacks.
const LAYERS_MAX: u32 = 10_000;

/// Layers of a 3D stack, as factors of the mean error rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerProfile {
    layers: u32,
    swing: f64,
}

impl LayerProfile {
    /// A stack whose outermost layers have about `1 + swing` times the mean error rate.
    ///
    /// # Errors
    /// [`ConfigError`] for no layers, or a swing that would make the middle one negative.
    pub fn new(layers: u32, swing: f64) -> Result<Self, ConfigError> {
        if !(1..=LAYERS_MAX).contains(&layers) {
            let message = format!("{layers} is not usable; accepted: 1 to {LAYERS_MAX}");
            return Err(ConfigError::new("layers", message));
        }
        super::require((0.0..=2.0).contains(&swing), "swing", swing, "0 to 2")?;
        Ok(Self { layers, swing })
    }

    /// The factors, bottom layer first; their mean is 1.
    pub fn factors(&self) -> Vec<f64> {
        let count = f64::from(self.layers);
        if self.layers == 1 {
            return vec![1.0];
        }
        let norm = 1.0 - 1.0 / (count * count);
        (0..self.layers)
            .map(|layer| {
                let x = (f64::from(layer) + 0.5) / count - 0.5;
                1.0 + self.swing * (12.0 * x * x / norm - 1.0) / 2.0
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn factors_have_mean_one_and_are_never_negative(
            layers in 1_u32..300,
            swing in 0.0_f64..=2.0,
        ) {
            let factors = LayerProfile::new(layers, swing).expect("in range").factors();
            let mean = factors.iter().sum::<f64>() / f64::from(layers);
            prop_assert!((mean - 1.0).abs() < 1e-12);
            prop_assert!(factors.iter().all(|&factor| factor >= -1e-12));
            prop_assert!(factors[0] >= factors[factors.len() / 2] - 1e-12);
        }
    }

    #[test]
    fn what_is_no_stack_is_refused() {
        assert_eq!(LayerProfile::new(0, 0.1).unwrap_err().path, "layers");
        assert_eq!(LayerProfile::new(20_000, 0.1).unwrap_err().path, "layers");
        assert_eq!(LayerProfile::new(64, 2.5).unwrap_err().path, "swing");
    }
}
