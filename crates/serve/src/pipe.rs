//! The bytes on their way to one client: no thread that sends a reply ever waits for the client.
//!
//! A reply goes to the socket at once if the socket takes it; the remaining bytes are written by a
//! thread of the connection. So the timer is never held up by a client that does not read. The
//! memory that such a client can make the server hold is bounded: before a request is begun its
//! reader acquires the bytes that the request and its reply take, and waits while there are too
//! many.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{recv, send, RecvFlags, SendFlags};

/// Most bytes of requests and replies of a connection that are kept at once; one request may be
/// larger.
const HELD_BYTES_MAX: usize = 80 << 20;

/// A connected socket.
pub enum Socket {
    /// Of a Unix socket.
    Unix(UnixStream),
    /// Of a port.
    Tcp(TcpStream),
}

impl Socket {
    /// Ends both directions; every thread that reads or writes returns.
    pub fn close(&self) {
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// Reads the bytes that have arrived, without waiting for more.
    ///
    /// # Errors
    /// Those of the socket; `WouldBlock` when none has arrived.
    pub fn read_now(&self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match recv(self.as_fd(), &mut *bytes, RecvFlags::DONTWAIT) {
                Err(Errno::INTR) => {}
                received => return Ok(received?.1),
            }
        }
    }

    /// How long a read may wait; `None` without end.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(patience),
            Self::Tcp(stream) => stream.set_read_timeout(patience),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match *self {
            Socket::Unix(stream) => { stream }.read(bytes),
            Socket::Tcp(stream) => { stream }.read(bytes),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.as_fd(), bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Default)]
struct Outbox {
    /// Bytes to write, and how many bytes are released then.
    queue: VecDeque<(Vec<u8>, usize)>,
    /// The writer has bytes in hand, which come before the queue.
    is_writing: bool,
    is_closed: bool,
    held_bytes: usize,
    /// A thread waits for bytes to be released.
    is_awaited: bool,
}

/// See the module.
pub struct Pipe {
    /// To read from; bytes to be sent go through the pipe.
    pub socket: Socket,
    outbox: Mutex<Outbox>,
    /// There is something for the writer.
    filled: Condvar,
    released: Condvar,
}

impl Pipe {
    /// A pipe that sends nothing yet.
    pub fn new(socket: Socket) -> Self {
        Self { socket, outbox: Mutex::default(), filled: Condvar::new(), released: Condvar::new() }
    }

    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `bytes` more bytes may be held, after `before`; false when the connection is
    /// closed.
    pub fn acquire(&self, bytes: usize, before: impl FnOnce()) -> bool {
        let is_full = |outbox: &mut Outbox| {
            outbox.is_awaited = outbox.held_bytes > 0
                && outbox.held_bytes + bytes > HELD_BYTES_MAX
                && !outbox.is_closed;
            outbox.is_awaited
        };
        let mut outbox = self.outbox();
        if is_full(&mut outbox) {
            drop(outbox);
            before();
            let waited = self.released.wait_while(self.outbox(), is_full);
            outbox = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if !outbox.is_closed {
            outbox.held_bytes += bytes;
        }
        !outbox.is_closed
    }

    /// Sends a reply, now or soon, and releases the bytes that were acquired for it.
    pub fn send(&self, mut bytes: Vec<u8>, held: usize) {
        let mut outbox = self.outbox();
        if outbox.queue.is_empty() && !outbox.is_writing && !outbox.is_closed {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let sent = send(self.socket.as_fd(), &bytes, flags).unwrap_or(0);
            if sent == bytes.len() {
                self.release(outbox, held);
                return;
            }
            bytes.drain(..sent);
        }
        if outbox.is_closed {
            self.release(outbox, held);
        } else {
            outbox.queue.push_back((bytes, held));
            drop(outbox);
            self.filled.notify_all();
        }
    }

    /// Wakes waiting threads only if there are any, since replies are many.
    fn release(&self, mut outbox: MutexGuard<'_, Outbox>, held: usize) {
        outbox.held_bytes -= held;
        let is_awaited = outbox.is_awaited;
        drop(outbox);
        if is_awaited {
            self.released.notify_all();
        }
    }

    /// Writes what the socket did not take at once, until the pipe is closed.
    pub fn write_on(&self) {
        loop {
            let mut outbox = self.outbox();
            while outbox.queue.is_empty() && !outbox.is_closed {
                outbox = self.filled.wait(outbox).unwrap_or_else(PoisonError::into_inner);
            }
            let Some((bytes, held)) = outbox.queue.pop_front() else { return };
            outbox.is_writing = true;
            drop(outbox);
            let outcome = (&self.socket).write_all(&bytes);
            let mut outbox = self.outbox();
            outbox.is_writing = false;
            self.release(outbox, held);
            if outcome.is_err() {
                self.close();
            }
        }
    }

    /// Waits until nothing is acquired any more, for a moment; true if nothing is.
    pub fn is_done(&self) -> bool {
        let patience = Duration::from_millis(20);
        let is_held = |outbox: &mut Outbox| {
            outbox.is_awaited = outbox.held_bytes > 0;
            outbox.is_awaited
        };
        let waited = self.released.wait_timeout_while(self.outbox(), patience, is_held);
        waited.unwrap_or_else(PoisonError::into_inner).0.held_bytes == 0
    }

    /// Sends nothing more, and wakes every waiting thread.
    pub fn close(&self) {
        self.socket.close();
        let mut outbox = self.outbox();
        outbox.is_closed = true;
        let unsent: usize = outbox.queue.drain(..).map(|(_, held)| held).sum();
        outbox.held_bytes -= unsent;
        drop(outbox);
        self.filled.notify_all();
        self.released.notify_all();
    }
}
