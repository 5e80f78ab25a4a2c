//! What arrives on a connection: the options of a client, then its requests.

use std::io::{Read, Write};

use crate::handshake::{greeting, Export, Handshake, Next};
use crate::wire::{self, REQUEST_BYTES};
use opennandlab_serve::answer::End;
use opennandlab_serve::pipe::Socket;
use opennandlab_serve::request::{Command, Errno, Request};

/// Options of one client.
const OPTIONS_MAX: usize = 1000;

/// The options of a client, until it begins to ask or leaves.
pub(crate) fn negotiate(
    export: &Export,
    reader: &mut impl Read,
    mut to: &Socket,
) -> Result<Option<Handshake>, End> {
    to.write_all(&greeting())?;
    let mut flags = [0; 4];
    reader.read_exact(&mut flags)?;
    let mut handshake = Handshake::new(flags).ok_or(End::Garbage)?;
    for _ in 0..OPTIONS_MAX {
        let mut head = [0; 16];
        reader.read_exact(&mut head)?;
        let (option, length) = Handshake::option_head(&head).ok_or(End::Garbage)?;
        let mut data = vec![0; length as usize];
        reader.read_exact(&mut data)?;
        let mut answer = Vec::new();
        let next = handshake.answer(option, &data, export, &mut answer);
        to.write_all(&answer)?;
        match next {
            Next::Option => {}
            Next::Transmission => return Ok(Some(handshake)),
            Next::Close => return Ok(None),
        }
    }
    Err(End::Garbage)
}

/// The next request and its data, which goes to `data`; `None` at the end.
pub(crate) fn receive(
    export: &Export,
    handshake: &Handshake,
    reader: &mut impl Read,
    data: &mut Vec<u8>,
) -> Result<Option<(Request, Errno)>, End> {
    let mut head = [0; REQUEST_BYTES];
    // A client that vanishes between two requests just ends.
    if reader.read(&mut head[..1])? == 0 {
        return Ok(None);
    }
    reader.read_exact(&mut head[1..])?;
    let request = wire::request(&head).ok_or(End::Garbage)?;
    let errno = if request.command == Command::BlockStatus && !handshake.has_extents {
        Errno::Inval
    } else {
        wire::check(&request, export.bytes, export.is_read_only)
    };
    data.clear();
    if request.command == Command::Write {
        // Data of a request that is refused comes all the same.
        if request.length > 2 * wire::DATA_BYTES_MAX {
            return Err(End::Garbage);
        }
        data.resize(request.length as usize, 0);
        reader.read_exact(data)?;
    }
    Ok((request.command != Command::Disconnect).then_some((request, errno)))
}
