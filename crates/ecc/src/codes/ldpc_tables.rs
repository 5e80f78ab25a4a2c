//! Frame error rates of the package's LDPC codes, measured with its own Monte Carlo engine.
//!
//! Decoder: layered normalised min-sum in 8 bits, factor 0.75, 20 iterations, stopping at a zero
//! syndrome; reads at the thresholds that keep the most information. Measured on 2026-11-21, seed
//! 42, to 100 frame errors or the frames given; points with less than 10 errors were left out. A
//! point of 100 errors is known to about 20 % (95 %). For each code and number of reads:
//!
//! ```text
//! opennandlab ecc curve --code nand-4k-r090 --channel sensing:3 --method monte_carlo
//!     --points 1.45e-2,1.52e-2,1.6e-2,1.7e-2,1.85e-2 --errors 100 --max-frames 12000
//! ```
//! (`--max-frames 40000` for the code of 1 KiB, and the points below.)

/// RBER, frames tried, frame errors.
pub(super) type MeasuredPoint = (f64, u64, u64);

/// Name of a code, then its points after 1, 3 and 7 reads.
pub(super) type CodeTable = (&'static str, [&'static [MeasuredPoint]; 3]);

/// The codes that were measured.
pub(super) const TABLES: &[CodeTable] = &[
    (
        "nand-1k-r0889",
        [
            &[
                (6.2e-3, 40_000, 32),
                (7e-3, 11_712, 100),
                (7.8e-3, 1856, 104),
                (8.8e-3, 384, 105),
                (1.05e-2, 128, 103),
            ],
            &[(1.5e-2, 40_000, 56), (1.6e-2, 7296, 101), (1.75e-2, 832, 107), (2e-2, 192, 128)],
            &[(1.72e-2, 40_000, 19), (1.84e-2, 11_776, 100), (2e-2, 896, 104), (2.25e-2, 192, 139)],
        ],
    ),
    (
        "nand-4k-r090",
        [
            &[(6.8e-3, 12_000, 63), (7.2e-3, 3072, 102), (7.8e-3, 384, 103), (9e-3, 128, 120)],
            &[(1.52e-2, 11_392, 100), (1.6e-2, 1088, 108), (1.7e-2, 192, 105), (1.85e-2, 128, 124)],
            &[(1.72e-2, 12_000, 20), (1.8e-2, 1984, 100), (1.9e-2, 256, 116), (2.05e-2, 128, 125)],
        ],
    ),
];
