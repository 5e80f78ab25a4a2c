//! Interfaces of host and drive: the protocols by name, without their parameters.
//!
//! Links name the interface that they carry, protocols the one that they are; both look here, and
//! neither at the other.

/// A protocol without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// No limits.
    Ideal,
    /// NVM Express.
    Nvme,
    /// Serial ATA with native command queueing.
    SataNcq,
    /// Serial attached SCSI.
    Sas,
    /// Embedded multimedia card.
    Emmc,
    /// Universal flash storage.
    Ufs,
}

impl Interface {
    /// The name of the protocol in a device file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ideal => "ideal",
            Self::Nvme => "nvme",
            Self::SataNcq => "sata_ncq",
            Self::Sas => "sas",
            Self::Emmc => "emmc",
            Self::Ufs => "ufs",
        }
    }
}
