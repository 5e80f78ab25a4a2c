//! The untimed executor: commands take effect at once, in order, at the speed of memory.
//!
//! It is for preconditioning, endurance and WAF. The sink of `instant` only stores out-of-band
//! areas and counts reads; `crew` lets the dies of a drive work apart, on several threads.

mod crew;
mod instant;

pub(crate) use instant::{Instant, Reader};
