//! Error-correcting codes for NAND flash: bits in, bits out. Knows no SSD and no time.
//!
//! ```text
//!   raw bit error rate ──► Code ──► PageCode ──► page failure, corrected bits, UBER
//!                      a codeword   a page of codewords
//!
//!   data ──► bch, ldpc: encode ──► channel ──► decode ──► monte_carlo: counted failures
//! ```
//!
//! Two halves. [`codes`] and the files at the top are arithmetic on the *parameters* of a code:
//! lengths, parity, and the exact probability that a bounded-distance decoder fails; a new code is
//! one file in [`codes`] and one row in its `mod.rs`. [`bch`] and [`ldpc`] encode and decode bits,
//! [`channel`] adds errors as flash does, and [`monte_carlo`] counts the failures. [`cell`] is the
//! physics of both halves: threshold-voltage states and the information that reads give about them.

pub mod bch;
mod beta;
mod beta_binomial;
pub mod bits;
pub mod cell;
pub mod channel;
pub mod codes;
pub mod ldpc;
pub mod monte_carlo;
mod page;
mod tail;
pub mod xoshiro;

pub use beta_binomial::{BetaBinomial, SpreadError};
pub use codes::{Bch, Code, CodeError, FerCurve, LdpcByTable, Uncoded, TABLE_READS};
pub use page::PageCode;
pub use tail::binomial_tail;
