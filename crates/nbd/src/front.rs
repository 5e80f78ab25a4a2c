//! The protocol as the server has it: a connection from its greeting to its end, and its replies.

use opennandlab_serve::answer::{Answer, End, Fault};
use opennandlab_serve::line::Line;
use opennandlab_serve::protocol::Protocol;
use opennandlab_serve::request::{Command, Errno, Request};
use opennandlab_sim::session::Extent;

use crate::handshake::Export;
use crate::reading::{negotiate, receive};
use crate::wire::{self, Replies};

/// A drive as an export of NBD.
pub struct Nbd(pub Export);

impl Protocol for Nbd {
    fn serve(&self, line: &mut Line<'_>) -> Result<(), End> {
        let socket = line.socket();
        let Some(handshake) = negotiate(&self.0, &mut line.reader, socket)? else {
            return Ok(());
        };
        line.set_patience(None)?;
        line.begin_requests(true);
        let mut data = Vec::new();
        while let Some((request, errno)) =
            receive(&self.0, &handshake, &mut line.reader, &mut data)?
        {
            let reply = Reply { replies: handshake.replies, request };
            match line.submit((&request, &data), errno, reply) {
                Err(End::Closed) => return Ok(()),
                outcome => outcome?,
            }
        }
        Ok(())
    }
}

/// The reply to a request.
struct Reply {
    replies: Replies,
    request: Request,
}

impl Answer for Reply {
    fn head(&mut self, reply: &mut Vec<u8>) {
        wire::read_head(self.replies, &self.request, reply);
    }

    fn extents(&mut self, extents: &[Extent], reply: &mut Vec<u8>) {
        wire::block_status(&self.request, extents, reply);
    }

    fn end(&mut self, outcome: Result<(), Fault>, reply: &mut Vec<u8>, _start: usize) {
        let errno = outcome.map_or_else(Fault::errno, |()| Errno::Ok);
        let has_data = matches!(self.request.command, Command::Read | Command::BlockStatus);
        if errno != Errno::Ok || !has_data {
            wire::reply(self.replies, &self.request, errno, reply);
        }
    }
}
