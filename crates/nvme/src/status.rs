//! Status codes of completions: type << 8 | code, and bit 14 for "do not retry", as in the status
//! field without its phase bit.

use opennandlab_sim::ftl::zones::ZoneStatus;

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u16);

/// Do not retry.
const DNR: u16 = 1 << 14;

impl Status {
    pub(crate) const OK: Self = Self(0);
    pub(crate) const OPCODE: Self = Self(DNR | 0x01);
    pub(crate) const FIELD: Self = Self(DNR | 0x02);
    pub(crate) const NAMESPACE: Self = Self(DNR | 0x0b);
    pub(crate) const SEQUENCE: Self = Self(DNR | 0x0c);
    pub(crate) const SGL_LENGTH: Self = Self(DNR | 0x0f);
    pub(crate) const SGL_TYPE: Self = Self(DNR | 0x11);
    pub(crate) const SGL_OFFSET: Self = Self(DNR | 0x16);
    /// These two end by themselves: the host may send the command again.
    pub(crate) const SANITIZING: Self = Self(0x1d);
    pub(crate) const FORMATTING: Self = Self(0x84);
    pub(crate) const WRITE_PROTECTED: Self = Self(DNR | 0x20);
    /// The data digest does not fit: the host may send it again.
    pub(crate) const TRANSPORT: Self = Self(0x22);
    pub(crate) const LBA_RANGE: Self = Self(DNR | 0x80);

    pub(crate) const EVENT_LIMIT: Self = Self(DNR | 0x105);
    pub(crate) const LOG_PAGE: Self = Self(DNR | 0x109);
    pub(crate) const INVALID_FORMAT: Self = Self(DNR | 0x10a);
    pub(crate) const NOT_SAVEABLE: Self = Self(DNR | 0x10d);
    pub(crate) const NOT_CHANGEABLE: Self = Self(DNR | 0x10e);
    pub(crate) const CONNECT_FORMAT: Self = Self(DNR | 0x180);
    pub(crate) const CONNECT_BUSY: Self = Self(0x181);
    pub(crate) const CONNECT_PARAMETER: Self = Self(DNR | 0x182);

    /// More ranges or blocks than a copy takes.
    pub(crate) const COPY_SIZE: Self = Self(DNR | 0x183);
    /// Blocks of the source of a copy are not those of its destination.
    pub(crate) const INCOMPATIBLE: Self = Self(DNR | 0x185);
    pub(crate) const OVERLAP: Self = Self(DNR | 0x187);
    /// A combination of command sets that does not exist.
    pub(crate) const COMBINATION: Self = Self(DNR | 0x12b);

    pub(crate) const UNRECOVERED: Self = Self(DNR | 0x281);
    pub(crate) const GUARD: Self = Self(DNR | 0x282);
    pub(crate) const APPLICATION_TAG: Self = Self(DNR | 0x283);
    pub(crate) const REFERENCE_TAG: Self = Self(DNR | 0x284);
    pub(crate) const COMPARE: Self = Self(DNR | 0x285);

    /// Of commands that a purge keeps from the drive; a sanitize has a mark.
    pub(crate) fn of_purge(mark: u32) -> Self {
        if mark == 0 {
            Self::FORMATTING
        } else {
            Self::SANITIZING
        }
    }

    /// Why a zone does not take a command.
    pub(crate) fn of_zone(status: ZoneStatus) -> Self {
        let (kind, code) = status.code();
        Self(DNR | u16::from(kind) << 8 | u16::from(code))
    }

    /// The last two bytes of a completion: the phase bit is 0.
    pub(crate) fn field(self) -> u16 {
        self.0 << 1
    }
}

/// A completion: its status, and its first two dwords as a number.
pub(crate) type Outcome = Result<u64, Status>;
