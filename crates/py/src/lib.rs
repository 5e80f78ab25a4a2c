//! The PyO3 skin of opennandlab: `opennandlab._core`.
