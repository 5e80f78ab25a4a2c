//! The untimed executor: commands take effect at once, in order, at the speed of memory.
//!
//! It is for preconditioning, endurance and WAF. The sink of `instant` only stores out-of-band
//! areas and counts reads; `crew` lets the dies of a drive work apart, on several threads; `lists`
//! takes writes of whole pages to either.

mod crew;
mod instant;
mod lists;

pub(crate) use crew::{Crew, PageList};
pub(crate) use instant::{Instant, Reader};
