//! The protocol as the server has it.

use std::net::SocketAddr;
use std::sync::Arc;

use opennandlab_serve::answer::End;
use opennandlab_serve::line::Line;
use opennandlab_serve::protocol::Protocol;
use opennandlab_sim::session::Session;

use crate::link;
use crate::target::{Setup, Target, NOTE};

/// A drive as an NVMe subsystem.
pub struct Nvme(Arc<Target>);

impl Nvme {
    /// The subsystem of a drive, at an address that was bound.
    ///
    /// # Errors
    /// A sentence for names and formats that are invalid.
    pub fn new(session: &Session, setup: &Setup, address: SocketAddr) -> Result<Self, String> {
        Target::new(session, setup, address).map(|target| Self(Arc::new(target)))
    }

    /// Its qualified name.
    pub fn nqn(&self) -> &str {
        &self.0.nqn
    }
}

impl Protocol for Nvme {
    fn serve(&self, line: &mut Line<'_>) -> Result<(), End> {
        link::serve(&self.0, line)
    }

    fn keep(&self, session: &mut Session) {
        session.set_note(NOTE, self.0.note());
    }
}
