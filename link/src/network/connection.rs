//! A connection of the job that ends in the far namespace, and the one of this machine's own that goes on to the server.

use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, SockRef, Socket, Type};

use super::packets::Flow;
use crate::delay::packet_socket::set_option;
use crate::delay::stamps::{age, receive};

/// The most bytes that are passed on at once.
pub const PIECE_BYTES: usize = 128 << 10;

/// More without a rest is a bulk transfer: the link's threads do not pass it on themselves, as they have packets to move.
const MAX_BURST_BYTES: usize = 256 << 10;
const MIN_REST: Duration = Duration::from_millis(1);

/// The result of passing bytes on.
#[derive(Debug, PartialEq, Eq)]
pub enum Passed {
    /// Nothing is there, or it cannot be written now.
    Nothing,
    /// Bytes, or their end, were passed on. They had waited so long.
    Piece(Duration),
}

/// The way that bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    There,
    Back,
}

pub struct Connection {
    pub id: u64,
    pub flow: Flow,
    pub job: TcpStream,
    pub server: TcpStream,
    opened: Instant,
    /// The way there, and the way back.
    directions: [Direction; 2],
}

impl Connection {
    pub fn new(id: u64, flow: Flow, job: TcpStream, server: TcpStream) -> io::Result<Self> {
        job.set_nonblocking(true)?;
        job.set_nodelay(true)?;
        Ok(Self { id, flow, job, server, opened: Instant::now(), directions: Default::default() })
    }

    /// Pass on a piece. What a server sent before this connection was open did not wait for latpcap.
    pub fn pass(&self, way: Way, buffer: &mut [u8]) -> io::Result<Passed> {
        let passed = self.pass_half(way, buffer)?;
        Ok(match passed {
            Passed::Piece(waited) => {
                // An answer, or the next question: no bulk transfer, however short the rests are.
                locked(&self.directions[1 - way as usize].half).burst = 0;
                Passed::Piece(waited.min(self.opened.elapsed()))
            }
            Passed::Nothing => Passed::Nothing,
        })
    }

    fn pass_half(&self, way: Way, buffer: &mut [u8]) -> io::Result<Passed> {
        let mut half = locked(&self.directions[way as usize].half);
        let passed = match way {
            Way::There => half.pass(&self.job, &self.server, buffer),
            Way::Back => half.pass(&self.server, &self.job, buffer),
        };
        if passed.is_err() {
            half.end();
        }
        passed
    }

    /// Tell the helper of this direction that something has come; return whether there is one, who passes it on.
    pub fn leave_to_helper(&self, way: Way) -> bool {
        let direction = &self.directions[way as usize];
        direction.has_come.store(true, Ordering::SeqCst);
        direction.is_helped.load(Ordering::SeqCst)
    }

    /// Whether it has become a bulk transfer that has no helper yet: the caller becomes or finds one.
    pub fn wants_help(&self, way: Way) -> bool {
        let direction = &self.directions[way as usize];
        locked(&direction.half).burst > MAX_BURST_BYTES && !direction.is_helped.swap(true, Ordering::SeqCst)
    }

    /// A helper begins to pass on all there is.
    pub fn begin_help(&self, way: Way) {
        self.directions[way as usize].has_come.store(false, Ordering::SeqCst);
    }

    /// A helper has found nothing more: whether it must begin again, as something has come meanwhile.
    pub fn end_help(&self, way: Way) -> bool {
        let direction = &self.directions[way as usize];
        direction.is_helped.store(false, Ordering::SeqCst);
        direction.has_come.load(Ordering::SeqCst) && !direction.is_helped.swap(true, Ordering::SeqCst)
    }

    /// Whether there are bytes that could not be written before.
    pub fn is_blocked(&self, way: Way) -> bool {
        !locked(&self.directions[way as usize].half).unsent.is_empty()
    }

    /// Both sides have sent all.
    pub fn is_over(&self) -> bool {
        self.directions.iter().all(|direction| locked(&direction.half).over)
    }

    /// Pass nothing any more, and reset both sides as soon as nobody has this connection.
    pub fn reset(&self) {
        for direction in &self.directions {
            locked(&direction.half).end();
        }
        for side in [&self.job, &self.server] {
            let _ = SockRef::from(side).set_linger(Some(Duration::ZERO));
        }
    }
}

#[derive(Default)]
struct Direction {
    half: Mutex<Half>,
    is_helped: AtomicBool,
    has_come: AtomicBool,
}

#[derive(Default)]
struct Half {
    unsent: Vec<u8>,
    over: bool,
    /// The number of bytes that came without a rest between them, and none the other way.
    burst: usize,
    last: Option<Instant>,
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
                self.count(length);
                let sent = write(to, &buffer[..length])?;
                self.unsent.extend_from_slice(&buffer[sent..length]);
                Ok(Passed::Piece(waited))
            }
            Err(why) if is_for_now(&why) => Ok(Passed::Nothing),
            Err(why) => Err(why),
        }
    }

    /// Pass nothing any more, not even an end: a dead socket reads like one that was shut down.
    fn end(&mut self) {
        self.over = true;
        self.unsent.clear();
    }

    fn count(&mut self, bytes: usize) {
        let now = Instant::now();
        let rested = self.last.replace(now).is_none_or(|last| now - last > MIN_REST);
        self.burst = if rested { bytes } else { self.burst.saturating_add(bytes) };
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

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
