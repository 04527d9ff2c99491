//! One relayed connection: what either side sends is handed to the other at once (or when the link that is made lets it
//! arrive), and recorded as it is handed on.
//!
//! ```text
//! application ── socket ── relay ── socket ── server
//!               way of Client ──►
//!            ◄── way of Server
//! ```
//!
//! **Acknowledgment numbers** tell what the sender of a packet had received, for that is how a pipeline is told from a
//! wait. What the application had received when it asked, its own system has acknowledged at the latest with that very
//! packet, so the relay asks after it has read. What comes later cannot be among it: before the relay hands an answer
//! on, it reads what the application sent until then.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use latpcap_core::side::Side;
use socket2::Socket;

use super::file::{Recording, now_ns};
use super::kernel;
use super::link::Link;
use super::packets::Packets;

/// What one read takes: enough for all that waits, mostly.
const READ: usize = 256 * 1024;
/// What the link that is made may hold of one direction of a connection: Linux's largest usual window, and some.
const MAX_HELD_BYTES: usize = 8 << 20;

/// What all connections share.
pub struct Common {
    pub link: Option<Link>,
    pub recording: Recording,
    buffers: [Vec<u8>; 2],
    /// What was handed to each side.
    pub bytes: [u64; 2],
}

impl Common {
    pub fn new(link: Option<Link>, recording: Recording) -> Self {
        Self { link, recording, buffers: [vec![0; READ], vec![0; READ]], bytes: [0, 0] }
    }

    /// The link that is made keeps what the application sends, so that is recorded before.
    fn is_recorded_when_handed_on(&self, side: Side) -> bool {
        side == Side::Server || self.link.is_none()
    }
}

/// Both ends are there.
pub struct Connection {
    /// By side.
    sockets: [Socket; 2],
    packets: Packets,
    /// By who sends.
    directions: [Direction; 2],
    /// What each side was given, its end counted as one.
    handed: [u64; 2],
    /// No more is read of a side while so much of what it sent waits.
    most_queued: usize,
    is_over: bool,
}

/// One direction.
#[derive(Default)]
struct Direction {
    /// What could not be handed on yet.
    queue: VecDeque<Piece>,
    queued: usize,
    /// Its sender sends no more.
    ended: bool,
    /// Its receiver was told so.
    closed: bool,
    /// Its receiver takes nothing at the moment.
    blocked: bool,
}

struct Piece {
    sent: Sent<Vec<u8>>,
    /// How much of it was handed on.
    done: usize,
    /// `None`: at once.
    due: Option<Instant>,
    /// What the sender had received of the other side.
    received: u64,
}

/// What a side sends.
enum Sent<Bytes> {
    Bytes(Bytes),
    End,
    Reset,
}

impl Sent<&[u8]> {
    fn bytes(&self) -> &[u8] {
        match self {
            Sent::Bytes(bytes) => bytes,
            Sent::End | Sent::Reset => &[],
        }
    }

    /// To be kept, without the first `done` bytes.
    fn kept(&self, done: usize) -> Sent<Vec<u8>> {
        match self {
            Sent::Bytes(bytes) => Sent::Bytes(bytes.get(done..).unwrap_or_default().to_vec()),
            Sent::End => Sent::End,
            Sent::Reset => Sent::Reset,
        }
    }
}

impl Piece {
    /// What was not handed on yet.
    fn rest(&self) -> Sent<&[u8]> {
        match &self.sent {
            Sent::Bytes(bytes) => Sent::Bytes(bytes.get(self.done..).unwrap_or_default()),
            Sent::End => Sent::End,
            Sent::Reset => Sent::Reset,
        }
    }
}

/// What a socket is to be watched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    pub readable: bool,
    pub writable: bool,
    /// Not even for errors, which would be told again and again.
    pub nothing: bool,
}

impl Connection {
    pub fn new(client: Socket, server: Socket, packets: Packets, common: &Common) -> Self {
        let most_queued = if common.link.is_some() { MAX_HELD_BYTES } else { 1 };
        let (directions, handed) = Default::default();
        Self { sockets: [client, server], packets, directions, handed, most_queued, is_over: false }
    }

    /// Nothing more can pass.
    pub fn is_over(&self) -> bool {
        self.is_over || self.directions.iter().all(|direction| direction.closed)
    }

    pub fn socket(&self, side: Side) -> &Socket {
        &self.sockets[side as usize]
    }

    pub fn interest(&self, side: Side) -> Interest {
        let (sends, takes) = (&self.directions[side as usize], &self.directions[side.other() as usize]);
        let readable = self.may_read(side);
        let writable = takes.blocked;
        let is_done = sends.ended && takes.closed;
        Interest { readable, writable, nothing: is_done || !(readable || writable || sends.ended) }
    }

    /// When the next piece is due that the link holds.
    pub fn next_due(&self) -> Option<Instant> {
        let fronts = self
            .directions
            .iter()
            .filter(|direction| !direction.blocked)
            .filter_map(|direction| direction.queue.front());
        fronts.filter_map(|piece| piece.due).min()
    }

    /// The socket of `side` can be read from or written to, or has failed.
    pub fn ready(&mut self, side: Side, readable: bool, writable: bool, common: &mut Common) {
        if writable {
            self.release(side.other(), common);
        }
        if readable && self.directions[side as usize].ended {
            self.look_for_failure(side, common);
        } else if readable {
            self.read(side, common);
        }
    }

    /// Hands on what is due.
    pub fn release_all(&mut self, common: &mut Common) {
        self.release(Side::Client, common);
        self.release(Side::Server, common);
    }

    fn may_read(&self, side: Side) -> bool {
        let direction = &self.directions[side as usize];
        !self.is_over && !direction.ended && direction.queued < self.most_queued
    }

    fn read(&mut self, side: Side, common: &mut Common) {
        if !self.may_read(side) {
            return;
        }
        let mut buffer = std::mem::take(&mut common.buffers[side as usize]);
        let came = receive(self.socket(side), &mut buffer);
        if let Some(sent) = came {
            let received = self.received(side);
            self.pass(side, sent, received, common);
        }
        common.buffers[side as usize] = buffer;
    }

    /// Who sends no more can still reset the connection.
    fn look_for_failure(&mut self, side: Side, common: &mut Common) {
        if let Ok(Some(_)) = self.socket(side).take_error() {
            self.reset(side, common);
        }
    }

    /// How many of the other side's bytes this one had received when it sent what was read last.
    fn received(&self, side: Side) -> u64 {
        kernel::acknowledged(self.socket(side), self.handed[side as usize])
    }

    fn pass(&mut self, side: Side, sent: Sent<&[u8]>, received: u64, common: &mut Common) {
        if matches!(sent, Sent::Reset) && common.link.is_none() {
            return self.reset(side, common);
        }
        self.directions[side as usize].ended |= !matches!(sent, Sent::Bytes(_));
        if !common.is_recorded_when_handed_on(side) {
            self.record(side, &sent, received, common);
        }
        let due = self.due(side, sent.bytes().len(), common);
        let done = match due {
            None => self.hand_on(side, &sent, received, common),
            Some(_) => Some(0),
        };
        let Some(done) = done else { return };
        let direction = &mut self.directions[side as usize];
        direction.queued += sent.bytes().len() - done;
        direction.queue.push_back(Piece { sent: sent.kept(done), done: 0, due, received });
    }

    /// When what `side` sends now arrives, where a link is made.
    fn due(&self, side: Side, bytes: usize, common: &mut Common) -> Option<Instant> {
        let link = common.link.as_mut()?;
        // A server that speaks first does so when the handshake's last packet has reached it.
        let handshake = match side {
            Side::Server if self.handed[Side::Server as usize] == 0 => link.rtt() / 2,
            _ => Duration::ZERO,
        };
        Some(link.due(side, bytes) + handshake)
    }

    /// Hands on what is due of what `side` sent.
    fn release(&mut self, side: Side, common: &mut Common) {
        self.directions[side as usize].blocked = false;
        while let Some(mut piece) = self.next_piece(side) {
            let left = piece.rest().bytes().len();
            let done = self.hand_on(side, &piece.rest(), piece.received, common);
            let direction = &mut self.directions[side as usize];
            direction.queued -= done.unwrap_or(left);
            if let Some(done) = done {
                piece.done += done;
                direction.queue.push_front(piece);
                return;
            }
        }
    }

    /// The next piece that is due.
    fn next_piece(&mut self, side: Side) -> Option<Piece> {
        let queue = &mut self.directions[side as usize].queue;
        let is_due = !self.is_over && queue.front()?.due.is_none_or(|due| due <= Instant::now());
        if is_due { queue.pop_front() } else { None }
    }

    /// Gives the other side what this one sent: all of it is `None`, else how much.
    fn hand_on(&mut self, side: Side, sent: &Sent<&[u8]>, received: u64, common: &mut Common) -> Option<usize> {
        if side == Side::Server {
            self.read(Side::Client, common);
        }
        if self.is_over {
            return None;
        }
        match sent {
            Sent::Bytes(bytes) => self.hand_on_bytes(side, bytes, received, common),
            Sent::End => {
                self.end(side, received, common);
                None
            }
            Sent::Reset => {
                self.reset(side, common);
                None
            }
        }
    }

    fn hand_on_bytes(&mut self, side: Side, bytes: &[u8], received: u64, common: &mut Common) -> Option<usize> {
        let to = side.other();
        let time_ns = now_ns();
        let watcher = common.recording.watcher();
        let _unrecorded = watcher.hold();
        let done = match give(self.socket(to), bytes) {
            Ok(done) => done,
            Err(_) => {
                self.reset(to, common);
                return None;
            }
        };
        let (given, rest) = bytes.split_at(done);
        if common.is_recorded_when_handed_on(side) && !given.is_empty() {
            self.packets.data(&mut common.recording, time_ns, side, received, given);
        }
        self.handed[to as usize] += done as u64;
        common.bytes[to as usize] += done as u64;
        self.directions[side as usize].blocked = !rest.is_empty();
        (!rest.is_empty()).then_some(done)
    }

    /// `side` sends no more; it may still receive.
    fn end(&mut self, side: Side, received: u64, common: &mut Common) {
        let to = side.other();
        if common.is_recorded_when_handed_on(side) {
            self.packets.fin(&mut common.recording, now_ns(), side, received);
        }
        // A socket that is no longer connected needs no end.
        let _ = self.socket(to).shutdown(Shutdown::Write);
        self.handed[to as usize] += 1;
        self.directions[side as usize].closed = true;
    }

    /// `side` has broken the connection off: the other one sees the same.
    fn reset(&mut self, side: Side, common: &mut Common) {
        let received = self.received(side);
        if common.is_recorded_when_handed_on(side) || !self.directions[side as usize].ended {
            self.packets.reset(&mut common.recording, now_ns(), side, received);
        }
        break_off(self.socket(side.other()));
        self.is_over = true;
    }

    fn record(&mut self, side: Side, sent: &Sent<&[u8]>, received: u64, common: &mut Common) {
        let (packets, recording, time_ns) = (&mut self.packets, &mut common.recording, now_ns());
        match sent {
            Sent::Bytes(bytes) => packets.data(recording, time_ns, side, received, bytes),
            Sent::End => packets.fin(recording, time_ns, side, received),
            Sent::Reset => packets.reset(recording, time_ns, side, received),
        }
    }
}

/// What came, if anything did.
fn receive<'a>(mut socket: &Socket, buffer: &'a mut [u8]) -> Option<Sent<&'a [u8]>> {
    match again(|| socket.read(buffer)) {
        Ok(0) => Some(Sent::End),
        Ok(length) => Some(Sent::Bytes(buffer.get(..length)?)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(_) => Some(Sent::Reset),
    }
}

/// How much was taken.
fn give(mut socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    match again(|| socket.write(bytes)) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        done => done,
    }
}

fn again(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Whoever is at the other end of the socket sees its connection reset when it is closed.
pub fn break_off(socket: &Socket) {
    // Where that cannot be, it is closed as usual.
    let _ = socket.set_linger(Some(Duration::ZERO));
}
