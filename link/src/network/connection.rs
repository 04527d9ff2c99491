//! A connection of the job that ends in the far namespace, and the one of this machine's own that goes on to the server.

use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, SockRef, Socket, Type};

use super::packets::Flow;
use crate::delay::packet_socket::set_option;
use crate::delay::stamps::{age, receive};

/// What is passed on at once.
pub const PIECE_BYTES: usize = 128 << 10;

/// What came of passing bytes on.
#[derive(Debug, PartialEq, Eq)]
pub enum Passed {
    /// Nothing is there, or it cannot be written now.
    Nothing,
    /// Bytes, or their end. They were there so long before.
    Piece(Duration),
}

pub struct Connection {
    pub id: u64,
    pub flow: Flow,
    pub job: TcpStream,
    pub server: TcpStream,
    opened: Instant,
    there: Mutex<Half>,
    back: Mutex<Half>,
}

impl Connection {
    pub fn new(id: u64, flow: Flow, job: TcpStream, server: TcpStream) -> io::Result<Self> {
        job.set_nonblocking(true)?;
        job.set_nodelay(true)?;
        Ok(Self { id, flow, job, server, opened: Instant::now(), there: Mutex::default(), back: Mutex::default() })
    }

    /// Pass on all that the job has sent.
    pub fn pass_there(&self, buffer: &mut [u8]) -> io::Result<()> {
        let mut half = locked(&self.there);
        while half.pass(&self.job, &self.server, buffer)? != Passed::Nothing {}
        Ok(())
    }

    /// Pass on what could not be written to the server before.
    pub fn pass_waiting_there(&self, buffer: &mut [u8]) -> io::Result<()> {
        let waits = !locked(&self.there).unsent.is_empty();
        if waits { self.pass_there(buffer) } else { Ok(()) }
    }

    /// Pass on a piece of what the server has sent. What it sent before this connection was open did not wait for latpcap.
    pub fn pass_back(&self, buffer: &mut [u8]) -> io::Result<Passed> {
        Ok(match locked(&self.back).pass(&self.server, &self.job, buffer)? {
            Passed::Piece(waited) => Passed::Piece(waited.min(self.opened.elapsed())),
            Passed::Nothing => Passed::Nothing,
        })
    }

    /// Both sides have sent all.
    pub fn is_over(&self) -> bool {
        [&self.there, &self.back].into_iter().all(|half| locked(half).over)
    }

    /// Reset both sides as soon as nobody has this connection any more.
    pub fn reset(&self) {
        for side in [&self.job, &self.server] {
            let _ = SockRef::from(side).set_linger(Some(Duration::ZERO));
        }
    }
}

/// One direction.
#[derive(Default)]
struct Half {
    unsent: Vec<u8>,
    over: bool,
}

impl Half {
    fn pass(&mut self, from: &TcpStream, to: &TcpStream, buffer: &mut [u8]) -> io::Result<Passed> {
        if !self.unsent.is_empty() {
            let sent = write(to, &self.unsent)?;
            self.unsent.drain(..sent);
            return Ok(if sent == 0 { Passed::Nothing } else { Passed::Piece(Duration::ZERO) });
        }
        if self.over {
            return Ok(Passed::Nothing);
        }
        match receive(from, buffer, 0) {
            Ok((0, _)) => {
                self.over = true;
                // The other side may be gone already: then nobody waits for the end.
                let _ = to.shutdown(Shutdown::Write);
                Ok(Passed::Piece(Duration::ZERO))
            }
            Ok((length, received)) => {
                let waited = received.and_then(age).unwrap_or_default();
                let sent = write(to, &buffer[..length])?;
                self.unsent.extend_from_slice(&buffer[sent..length]);
                Ok(Passed::Piece(waited))
            }
            Err(why) if is_for_now(&why) => Ok(Passed::Nothing),
            Err(why) => Err(why),
        }
    }
}

fn locked(half: &Mutex<Half>) -> MutexGuard<'_, Half> {
    half.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(mut to: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match to.write(bytes) {
        Err(why) if is_for_now(&why) => Ok(0),
        written => written,
    }
}

fn is_for_now(why: &io::Error) -> bool {
    matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Begin to connect to a server, without waiting for it; its bytes will have the kernel's times.
pub fn begin(server: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(server), Type::STREAM.nonblocking().cloexec(), None)?;
    set_option(&socket, libc::SO_TIMESTAMPNS, &1)?;
    socket.set_tcp_nodelay(true)?;
    match socket.connect(&server.into()) {
        Err(why) if why.raw_os_error() != Some(libc::EINPROGRESS) => Err(why),
        _ => Ok(socket.into()),
    }
}

/// Whether the server has accepted or refused by now: one of this machine has at once.
pub fn is_decided(socket: &TcpStream) -> bool {
    let mut writable = [PollFd::new(socket, PollFlags::OUT)];
    poll(&mut writable, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// The socket if the server has accepted, its refusal otherwise.
pub fn decided(socket: TcpStream) -> io::Result<TcpStream> {
    match socket.take_error()? {
        None => Ok(socket),
        Some(why) => Err(why),
    }
}
