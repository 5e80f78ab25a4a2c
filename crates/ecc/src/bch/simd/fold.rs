//! The constants by which a stream of bits is folded, see [`super::super::residue`].

/// The constants of one group for the fast way.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::bch) struct Fold {
    /// x^512 and x^576 modulo the group, for the lower and the upper half of a lane.
    pub step: [u64; 2],
    /// Factors of the halves (lower, upper) of lanes 0 to 3 at the end.
    pub lanes: [u64; 8],
    /// The constants of Barrett's reduction: the quotient's and the modulus without its top.
    pub barrett: [u64; 2],
}
