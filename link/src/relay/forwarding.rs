//! The relay's one thread: waits until a socket is ready or a piece is due, and serves that connection.
//!
//! Readiness is told as long as it lasts (level-triggered), so that a connection that has much to say is served a read
//! at a time, in turn with the others.

#![expect(unsafe_code, reason = "a socket that is watched must outlive that")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind};
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use latpcap_core::side::Side;
use polling::{Event, Events, PollMode, Poller};
use slab::Slab;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::Summary;
use super::connection::{Common, Connection, Interest};
use super::file::Recording;
use super::kernel;
use super::link::Link;
use super::opening::{Opening, Progress, Server};

/// After a stop, silence of this long ends connections that are still open.
const QUIET: Duration = Duration::from_millis(200);
/// So long after a stop those that never fall silent end, too.
const PATIENCE: Duration = Duration::from_secs(2);
/// When no further connection can be let in, it is tried again after so long.
const PAUSE: Duration = Duration::from_millis(100);
/// Connections that the system keeps for the relay until they are let in.
const BACKLOG: i32 = 4096;
/// Kinds of problems that are told.
const MAX_PROBLEMS: usize = 16;

/// How the thread is told to stop.
pub struct Control {
    poller: Poller,
    stops: AtomicBool,
    at_once: AtomicBool,
}

impl Control {
    pub fn new() -> io::Result<Self> {
        Ok(Self { poller: Poller::new()?, stops: AtomicBool::new(false), at_once: AtomicBool::new(false) })
    }

    /// Lets in nobody else, and ends when all is quiet, or `at_once`.
    pub fn stop(&self, at_once: bool) {
        self.at_once.store(at_once, Ordering::Release);
        self.stops.store(true, Ordering::Release);
        // It fails only where the poller is gone, and with it the thread.
        let _ = self.poller.notify();
    }
}

pub fn listener(host: &str, port: u16) -> io::Result<Socket> {
    let mut failure = io::Error::new(ErrorKind::NotFound, "it has no address");
    for address in (host, port).to_socket_addrs()? {
        let bound = || {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
            #[cfg(unix)]
            socket.set_reuse_address(true)?; // what listened there before may leave connections that are closing
            socket.bind(&SockAddr::from(address))?;
            socket.listen(BACKLOG)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        match bound() {
            Ok(socket) => return Ok(socket),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

pub struct Forwarding {
    control: Arc<Control>,
    listeners: Vec<(Socket, Server)>,
    relayed: Slab<Relayed>,
    /// When connections have something due, earliest first.
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    common: Common,
    connections: u32,
    /// Nobody is let in until then.
    paused_until: Option<Instant>,
    problems: Problems,
}

struct Relayed {
    state: State,
    /// What each socket is watched for; `None`: it is not.
    watched: [Option<Interest>; 2],
    /// Its earliest place among those that are due.
    due: Option<Instant>,
}

enum State {
    Opening(Opening),
    Open(Connection),
    Over,
}

impl Forwarding {
    pub fn new(
        control: Arc<Control>,
        listeners: Vec<(Socket, Server)>,
        link: Option<Link>,
        recording: Recording,
    ) -> io::Result<Self> {
        let forwarding = Self {
            control,
            listeners,
            relayed: Slab::new(),
            due: BinaryHeap::new(),
            common: Common::new(link, recording),
            connections: 0,
            paused_until: None,
            problems: Problems::default(),
        };
        forwarding.watch_listeners()?;
        Ok(forwarding)
    }

    /// Forwards until it is told to stop and all is quiet.
    pub fn run(mut self) -> Summary {
        let mut events = Events::new();
        let (mut quiet_since, mut latest) = (Instant::now(), None);
        loop {
            if latest.is_none() && self.control.stops.load(Ordering::Acquire) {
                self.unwatch_listeners();
                quiet_since = Instant::now();
                latest = Some(quiet_since + PATIENCE);
            }
            let ends = latest.map(|latest| latest.min(quiet_since + self.quiet()));
            if ends.is_some_and(|ends| self.relayed.is_empty() || ends <= Instant::now()) {
                break;
            }
            events.clear();
            if let Err(error) = self.control.poller.wait(&mut events, self.timeout(ends)) {
                if error.kind() == ErrorKind::Interrupted {
                    continue;
                }
                self.problems.add(format!("the relay cannot wait for its connections: {error}"));
                break;
            }
            if self.serve(&events) {
                quiet_since = Instant::now();
            }
        }
        if latest.is_some_and(|latest| latest <= Instant::now()) {
            self.problems
                .add(format!("connections that were still in use {} s after the end were cut", PATIENCE.as_secs()));
        }
        self.end()
    }

    /// Serves whoever is ready, and lets newcomers in last, as these take the places of those that went.
    fn serve(&mut self, events: &Events) -> bool {
        let mut moved = false;
        for event in events.iter() {
            if let Some((number, side)) = self.socket_of(event.key) {
                self.serve_one(number, Some((side, event)));
                moved = true;
            }
        }
        moved |= self.serve_due();
        for event in events.iter() {
            if event.key < self.listeners.len() {
                self.let_in(event.key);
            }
        }
        if self.paused_until.is_some_and(|until| until <= Instant::now()) {
            self.paused_until = None;
            if self.watch_listeners().is_err() {
                self.pause();
            }
        }
        moved
    }

    fn serve_due(&mut self) -> bool {
        let mut moved = false;
        let now = Instant::now();
        while let Some(&Reverse((due, number))) = self.due.peek() {
            if due > now {
                break;
            }
            self.due.pop();
            if let Some(relayed) = self.relayed.get_mut(number).filter(|relayed| relayed.due == Some(due)) {
                relayed.due = None;
                self.serve_one(number, None);
                moved = true;
            }
        }
        moved
    }

    fn serve_one(&mut self, number: usize, ready: Option<(Side, Event)>) {
        let Some(relayed) = self.relayed.get_mut(number) else { return };
        relayed.state = match std::mem::replace(&mut relayed.state, State::Over) {
            State::Opening(opening) => match opening.go_on(&mut self.common) {
                Progress::Waits(opening) => State::Opening(opening),
                Progress::Asks(opening) => {
                    relayed.watched[Side::Server as usize] = None; // a new socket
                    State::Opening(opening)
                }
                Progress::Open(connection) => State::Open(connection),
                Progress::Failed(why) => {
                    self.problems.add(why);
                    State::Over
                }
            },
            State::Open(mut connection) => {
                match ready {
                    Some((side, event)) => connection.ready(side, event.readable, event.writable, &mut self.common),
                    None => connection.release_all(&mut self.common),
                }
                if connection.is_over() { State::Over } else { State::Open(connection) }
            }
            State::Over => State::Over,
        };
        self.settle(number);
    }

    /// Watches the sockets of a connection for what it needs next, and remembers when something is due.
    fn settle(&mut self, number: usize) {
        let Some(relayed) = self.relayed.get_mut(number) else { return };
        if matches!(relayed.state, State::Over) {
            // Its sockets are closed, and so no longer watched.
            self.relayed.remove(number);
            return;
        }
        for side in [Side::Client, Side::Server] {
            let key = self.listeners.len() + 2 * number + side as usize;
            if let Err(error) = relayed.watch(&self.control.poller, side, key) {
                self.problems.add(format!("the relay cannot watch a connection: {error}"));
                self.relayed.remove(number);
                return;
            }
        }
        let next = relayed.next_due();
        if let Some(next) = next.filter(|next| relayed.due.is_none_or(|due| *next < due)) {
            relayed.due = Some(next);
            self.due.push(Reverse((next, number)));
        }
    }

    fn socket_of(&self, key: usize) -> Option<(usize, Side)> {
        let number = key.checked_sub(self.listeners.len())?;
        Some((number / 2, if number % 2 == 0 { Side::Client } else { Side::Server }))
    }

    /// Lets in all who wait.
    fn let_in(&mut self, listener: usize) {
        while let Some((socket, server)) = self.listeners.get(listener).filter(|_| self.paused_until.is_none()) {
            match socket.accept() {
                Ok((client, peer)) => {
                    let rtt = self.common.link.as_ref().map(Link::rtt);
                    let ready = client.set_nonblocking(true).and_then(|()| client.set_tcp_nodelay(true));
                    let Some(peer) = peer.as_socket().filter(|_| ready.is_ok()) else { continue };
                    let opening = Opening::new(client, peer, server, self.connections, rtt);
                    self.connections = self.connections.wrapping_add(1);
                    let relayed = Relayed { state: State::Opening(opening), watched: [None, None], due: None };
                    let number = self.relayed.insert(relayed);
                    self.serve_one(number, None);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) if kernel::opens_more(&error) => {}
                Err(error) => {
                    self.problems.add(format!("the relay cannot let in another connection: {error}"));
                    self.unwatch_listeners();
                    self.pause();
                }
            }
        }
    }

    fn pause(&mut self) {
        self.paused_until = Some(Instant::now() + PAUSE);
    }

    fn watch_listeners(&self) -> io::Result<()> {
        for (key, (listener, _)) in self.listeners.iter().enumerate() {
            // SAFETY: the listener is closed after it was taken out of the poller, or the poller with it.
            unsafe { self.control.poller.add_with_mode(listener, Event::readable(key), PollMode::Level)? };
        }
        Ok(())
    }

    fn unwatch_listeners(&self) {
        for (listener, _) in &self.listeners {
            // It may not be watched at the moment.
            let _ = self.control.poller.delete(listener);
        }
    }

    /// How long nothing must have moved at the end.
    fn quiet(&self) -> Duration {
        if self.control.at_once.load(Ordering::Acquire) {
            return Duration::ZERO;
        }
        QUIET + self.common.link.as_ref().map_or(Duration::ZERO, Link::rtt)
    }

    /// How long nothing can be due.
    fn timeout(&self, ends: Option<Instant>) -> Option<Duration> {
        let due = self.due.peek().map(|Reverse((due, _))| *due);
        let next = [due, ends, self.paused_until].into_iter().flatten().min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn end(mut self) -> Summary {
        self.unwatch_listeners();
        self.relayed.clear();
        Summary {
            connections: self.connections.into(),
            bytes: self.common.bytes,
            problems: self.problems.0,
            recorded: self.common.recording.end(),
        }
    }
}

/// What went wrong, and how often.
#[derive(Default)]
struct Problems(Vec<(String, u64)>);

impl Problems {
    /// One more; an empty one is none.
    fn add(&mut self, what: String) {
        let has_room = self.0.len() < MAX_PROBLEMS;
        match self.0.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None if has_room && !what.is_empty() => self.0.push((what, 1)),
            None => {}
        }
    }
}

/// The application hung up before it was let in.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted)
}

impl Relayed {
    fn next_due(&self) -> Option<Instant> {
        match &self.state {
            State::Opening(opening) => opening.next_due(),
            State::Open(connection) => connection.next_due(),
            State::Over => None,
        }
    }

    fn interest(&self, side: Side) -> Interest {
        match (&self.state, side) {
            (State::Open(connection), _) => connection.interest(side),
            // Whether the application gives up.
            (State::Opening(_), Side::Client) => Interest::default(),
            (State::Opening(_), Side::Server) => Interest { writable: true, ..Interest::default() },
            (State::Over, _) => Interest { nothing: true, ..Interest::default() },
        }
    }

    fn watch(&mut self, poller: &Poller, side: Side, key: usize) -> io::Result<()> {
        let socket = match &self.state {
            State::Opening(opening) => opening.socket(side),
            State::Open(connection) => Some(connection.socket(side)),
            State::Over => None,
        };
        let Some(socket) = socket else {
            self.watched[side as usize] = None;
            return Ok(());
        };
        let wanted = self.interest(side);
        let watched = &mut self.watched[side as usize];
        if watched.map_or(wanted.nothing, |watched| watched == wanted) {
            return Ok(());
        }
        let event = Event::new(key, wanted.readable, wanted.writable);
        match (watched.is_some(), wanted.nothing) {
            (true, true) => poller.delete(socket)?,
            (true, false) => poller.modify_with_mode(socket, event, PollMode::Level)?,
            // SAFETY: closing the socket takes it out of the poller; it is owned by this connection alone.
            (false, _) => unsafe { poller.add_with_mode(socket, event, PollMode::Level)? },
        }
        *watched = (!wanted.nothing).then_some(wanted);
        Ok(())
    }
}
