//! The socket and the files of a server: made for their owner.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

/// What went wrong with a file or a socket.
pub fn say(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// A file that is written in large pieces.
///
/// # Errors
/// When it cannot be made.
pub fn file(path: &Path) -> io::Result<Box<dyn Write + Send>> {
    Ok(Box::new(io::BufWriter::with_capacity(1 << 20, fs::File::create(path)?)))
}

/// Makes a socket that only its owner may use. A socket that no server answers is a remnant of a
/// killed server, and is replaced.
///
/// # Errors
/// A sentence, also when another server answers there.
pub fn bind(path: &Path) -> Result<UnixListener, String> {
    if let Ok(found) = fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            return Err(format!("{} exists and is not a socket", path.display()));
        }
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(|error| say(path, &error))?;
            }
            _ => return Err(format!("{}: another server answers there", path.display())),
        }
    }
    let made = || -> io::Result<UnixListener> {
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        // Before anybody can connect.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        rustix::net::listen(&socket, 1024)?;
        Ok(UnixListener::from(socket))
    };
    made().map_err(|error| say(path, &error))
}
