//! What commands would ask of a drive again and again, and commands that ask for nothing else.

use crate::op::{HostCommand, HostOp, Purpose};
use crate::units::Lpn;

/// What the front of a drive is like, as long as its caches and placement ids stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each is independent of the others
pub(crate) struct FrontShape {
    /// See [`Drive::is_plain`].
    pub(super) is_plain: bool,
    /// Whether commands of one page may take the short path without time.
    pub(super) takes_singles: bool,
    /// Whether flushed data is padded to whole program units.
    pub(super) pads: bool,
    /// Pages of a stretch that leaves the write buffer together.
    pub(super) stretch: u32,
    /// Sectors of a page, as a power of two.
    pub(super) page_shift: u32,
    /// Whether a write of one page programs one page of the host, and no operation follows it.
    pub(crate) ends_with_program: bool,
}

impl FrontShape {
    /// The page of a command that [moves data](moves_data), if that is one whole page.
    #[inline]
    pub(crate) fn single_page(self, command: &HostCommand) -> Option<Lpn> {
        let sectors = 1 << self.page_shift;
        let is_single =
            u64::from(command.sector_count) == sectors && command.sector & (sectors - 1) == 0;
        is_single.then(|| Lpn((command.sector >> self.page_shift) as u32))
    }
}

/// Whether a command reads or writes data and asks for nothing else.
#[inline]
pub(crate) fn moves_data(command: &HostCommand) -> bool {
    matches!(command.op, HostOp::Read | HostOp::Write)
        && !command.is_fua
        && command.purpose == Purpose::Data
}
