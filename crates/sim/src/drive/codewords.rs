//! What the code of a device does to its codewords, without running the device.

use opennandlab_ecc::PageCode;
use serde_json::{json, Value};

use super::config::DeviceConfig;
use crate::config::ConfigError;
use crate::reads::Algorithm;

impl DeviceConfig {
    /// The code of what a read decodes, a map unit, whatever room its parity has.
    fn lab_code(&self) -> Result<PageCode, ConfigError> {
        let code = self.ecc.page_code(self.geometry().page_bytes);
        code.map_err(|error| error.under("ecc"))
    }

    /// The code of a page, or of the map unit if that is less: lengths in bits, and how many bits a
    /// codeword corrects (null: not a fixed number).
    ///
    /// # Errors
    /// [`ConfigError`] under `ecc`.
    pub fn codewords(&self) -> Result<Value, ConfigError> {
        let correctable = match self.ecc.algorithm {
            Algorithm::None => Some(0),
            Algorithm::Bch => Some(self.ecc.bch_t),
            Algorithm::Ldpc => None,
        };
        let page = self.lab_code()?;
        Ok(json!({
            "codewords": page.codewords_per_page(),
            "correctable": correctable,
            "data_bits": page.code().data_bits_max().min(page.page_bits()),
            "last_data_bits": page.last_data_bits(),
            "page_bits": page.page_bits(),
            "parity_bits": page.code().parity_bits(),
        }))
    }

    /// Failure probability of a codeword and data errors per bit at each raw bit error rate, with
    /// as many reads as the controller makes at most.
    ///
    /// # Errors
    /// [`ConfigError`] for rates outside 0 to 0.5, or under `ecc`.
    pub fn codeword_failures(&self, rates: &[f64]) -> Result<Vec<(f64, f64)>, ConfigError> {
        if let Some(rate) = rates.iter().find(|rate| !(0.0..=0.5).contains(*rate)) {
            let message = format!("{rate} is out of range; accepted: 0 to 0.5");
            return Err(ConfigError::new("rates", message));
        }
        let page = self.lab_code()?;
        let soft = self.controller.soft_read.as_ref();
        let reads = soft.and_then(|soft| soft.reads.last()).map_or(1, |&reads| u32::from(reads));
        let code = page.code();
        let outcome = |&rate: &f64| {
            let failure = if reads == 1 {
                code.failure_probability(code.data_bits_max(), rate)
            } else {
                code.soft_failure_probability(code.data_bits_max(), rate, reads).unwrap_or(1.0)
            };
            (failure, page.uber_after(rate, reads))
        };
        Ok(rates.iter().map(outcome).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codewords_of_the_default_device_fail_as_their_binomial_tail_says() {
        let device = DeviceConfig::resolve("{}").expect("the defaults");
        let lengths = device.codewords().expect("a code");
        assert_eq!(
            (lengths["correctable"].as_u64(), lengths["parity_bits"].as_u64()),
            (Some(4), Some(32))
        );
        let failures = device.codeword_failures(&[1e-3, 0.0]).expect("rates in range");
        let tail = opennandlab_ecc::binomial_tail(255, 4, 1e-3);
        assert!((failures[0].0 / tail - 1.0).abs() < 1e-9, "{} {tail}", failures[0].0);
        assert!(failures[1].0 < 1e-300);
        assert_eq!(device.codeword_failures(&[0.6]).unwrap_err().path, "rates");
    }
}
