//! When the write amplification no longer moves.
//!
//! WAF is measured in windows of equal host writes. It is steady when the last few windows agree:
//! their spread and the trend of a least-squares line across them stay within the rule's tolerance.
//! The shape of the SNIA steady-state rule (excursion and slope), applied to WAF, which has no
//! noise of timing. Until as many bytes as the drive's flash holds are programmed, the drive fills
//! its spare area or reclaims pages that were dead before, which keeps WAF flat: such windows do
//! not count.

use crate::workload::SteadyRule;

/// See the module.
pub(crate) struct SteadyWatch {
    rule: SteadyRule,
    window_start: (u64, u64),
    turned_bytes: u64,
    wafs: Vec<f64>,
}

impl SteadyWatch {
    /// A watch that starts at these totals of host bytes and NAND bytes written, of a drive whose
    /// flash holds `raw_bytes`.
    pub(crate) fn new(rule: SteadyRule, host_bytes: u64, nand_bytes: u64, raw_bytes: u64) -> Self {
        let turned_bytes = nand_bytes + raw_bytes;
        Self { rule, window_start: (host_bytes, nand_bytes), turned_bytes, wafs: Vec::new() }
    }

    /// Host bytes to be written before a window is full.
    pub(crate) fn bytes_left(&self, host_bytes: u64) -> u64 {
        let written = host_bytes.saturating_sub(self.window_start.0);
        self.rule.window_bytes.max(1).saturating_sub(written)
    }

    /// Host bytes of a window.
    pub(crate) fn window_bytes(&self) -> u64 {
        self.rule.window_bytes.max(1)
    }

    /// Notes new totals; when WAF is steady, its mean over the windows that agree.
    pub(crate) fn note(&mut self, host_bytes: u64, nand_bytes: u64) -> Option<f64> {
        let (host_start, nand_start) = self.window_start;
        // Fewer than at the start where writes that stalled were refused.
        if host_bytes.saturating_sub(host_start) < self.rule.window_bytes.max(1) {
            return None;
        }
        self.window_start = (host_bytes, nand_bytes);
        if nand_bytes < self.turned_bytes {
            return None;
        }
        self.wafs.push((nand_bytes - nand_start) as f64 / (host_bytes - host_start) as f64);
        self.steady_waf()
    }

    fn steady_waf(&self) -> Option<f64> {
        let count = self.rule.window_count.max(2) as usize;
        let first = self.wafs.len().checked_sub(count)?;
        let recent = &self.wafs[first..];
        let mean = recent.iter().sum::<f64>() / count as f64;
        let spread = recent.iter().fold(f64::MIN, |a, &b| a.max(b))
            - recent.iter().fold(f64::MAX, |a, &b| a.min(b));
        let middle = (count - 1) as f64 / 2.0;
        let (mut covariance, mut variance) = (0.0, 0.0);
        for (index, waf) in recent.iter().enumerate() {
            let distance = index as f64 - middle;
            covariance += distance * (waf - mean);
            variance += distance * distance;
        }
        let trend = (covariance / variance * (count - 1) as f64).abs();
        let is_steady = spread <= self.rule.tolerance_ratio * mean
            && trend <= 0.5 * self.rule.tolerance_ratio * mean;
        is_steady.then_some(mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows_until_steady(wafs: &[f64]) -> Option<usize> {
        windows_until_steady_of(wafs, 0)
    }

    /// As on a drive that holds `raw_bytes`; a window is 100 000 bytes of the host.
    fn windows_until_steady_of(wafs: &[f64], raw_bytes: u64) -> Option<usize> {
        let rule = SteadyRule { window_bytes: 100, window_count: 4, tolerance_ratio: 0.02 };
        let mut watch = SteadyWatch::new(rule, 1000, 5000, raw_bytes);
        let mut nand = 5000.0;
        (1..).zip(wafs).find_map(|(window, waf)| {
            nand += waf * 100_000.0;
            // In thousands, so that the WAF keeps its digits.
            watch.note(1000 + window as u64 * 100_000, nand as u64).map(|_| window)
        })
    }

    #[test]
    fn a_flat_series_is_steady_after_its_windows() {
        assert_eq!(windows_until_steady(&[7.60, 7.61, 7.60, 7.61]), Some(4));
        assert_eq!(windows_until_steady(&[7.60, 7.61, 7.60]), None);
    }

    #[test]
    fn a_drive_that_still_has_spare_area_to_fill_is_not_steady() {
        // Of 140 % over-provisioning: steady at a WAF of 1 after one drive write, then 1.17.
        let wafs = [1.0, 1.0, 1.0, 1.0, 1.0, 1.06, 1.16, 1.17, 1.17, 1.17];
        assert_eq!(windows_until_steady(&wafs), Some(4));
        assert_eq!(windows_until_steady_of(&wafs, 600_000), Some(10));
        assert_eq!(windows_until_steady_of(&wafs, 2_000_000), None);
    }

    #[test]
    fn a_slow_rise_is_not_steady() {
        // Inside 2 % altogether, but rising all the way: more than 1 % of trend.
        assert_eq!(windows_until_steady(&[7.50, 7.54, 7.58, 7.62]), None);
        assert_eq!(windows_until_steady(&[1.0, 4.0, 7.60, 7.61, 7.60, 7.61]), Some(6));
    }
}
