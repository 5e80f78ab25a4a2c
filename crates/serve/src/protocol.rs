//! What a protocol is to the server: a function that serves a connection, and replies to requests.
//!
//! ```text
//! Server ─ a client came ─► Protocol::serve(line) ─ bytes ─► line.submit(request, answer) ─► drive
//!                                                    bytes ◄─ answer.end(outcome)  ◄───────── done
//! ```
//! A protocol turns bytes into requests and outcomes into bytes. It is called by a thread of each
//! connection; an [`Answer`] is called under the lock of the drive by who advances it, so it
//! must not wait for anything.

use opennandlab_sim::session::Session;

use crate::answer::End;
use crate::line::Line;

/// See the module.
pub trait Protocol: Send + Sync {
    /// Serves a connection from its first byte to its end.
    ///
    /// # Errors
    /// What ended it before its time.
    fn serve(&self, line: &mut Line<'_>) -> Result<(), End>;

    /// Notes in the drive what its image is to keep.
    fn keep(&self, _session: &mut Session) {}
}
