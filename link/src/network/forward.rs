//! Connections that end in the far namespace go on from this machine's own to the servers they are for.
//!
//! The thread that delivers the job's packets copies what they carry, the thread that takes up the far namespace's
//! packets copies what servers send ([`Backward`]): either is awake at that time.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::write;
use socket2::SockRef;
use tokio::runtime::Handle;
use tokio::task::yield_now;
use tokio::time::sleep;

use super::connection::{self, Connection, PIECE_BYTES, Passed, Way};
use super::flows::{Decision, Flows, Stage, Syn, Verdict};
use super::handover::Keeper;
use super::outlets::Door;
use super::packets::{Flow, refusal};
use crate::delay::{Outlet, Source};
use crate::relay::kernel::path_info;

/// A server that is nearer is of this machine: nothing is added for the way to it.
const MIN_DISTANCE: Duration = Duration::from_micros(100);
/// A thread sleeps until so long before a time and then watches the clock, as it wakes up late.
const MAX_SPIN: Duration = Duration::from_micros(200);
/// Handshakes that do not end are looked for as often as this.
const HANDSHAKE_CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// An accept fails where too many files are open, for instance, some of which will be closed.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// The most events that are read at once.
const MAX_EVENTS: usize = 64;
/// Connections are numbered above the ports, which are events' numbers, too.
const FIRST_CONNECTION: u64 = 1 << 16;

/// The far namespace as connections meet it.
pub struct Far {
    pub flows: Flows,
    keeper: Keeper,
    /// The ways into the namespace: the delayed and the direct.
    doors: [Door; 2],
    /// The ways to the job, for packets as if from the namespace: the delayed and the direct.
    answers: [Arc<OwnedFd>; 2],
    runtime: Handle,
    listeners: Mutex<HashMap<u16, Arc<TcpListener>>>,
    /// Held while a port is opened, which takes an answer of another process: threads of the link wait for none.
    opening: Mutex<()>,
    /// Ports whose next accept is scheduled, as the last one failed.
    accept_retries: Mutex<HashSet<u16>>,
    connections: Mutex<HashMap<u64, Arc<Connection>>>,
    next_connection: AtomicU64,
    /// An epoll instance for [`Backward`], whose events have the number of a port or a connection.
    events: OwnedFd,
}

impl Far {
    pub fn new(keeper: Keeper, doors: [Door; 2], answers: [Arc<OwnedFd>; 2], runtime: Handle) -> io::Result<Self> {
        Ok(Self {
            flows: Flows::default(),
            keeper,
            doors,
            answers,
            runtime,
            listeners: Mutex::default(),
            opening: Mutex::default(),
            accept_retries: Mutex::default(),
            connections: Mutex::default(),
            next_connection: AtomicU64::new(FIRST_CONNECTION),
            events: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        })
    }

    /// Begin the connection to the server, as a SYN for it is on its way.
    pub fn begin(self: &Arc<Self>, flow: Flow) {
        let server = match connection::begin(flow.server) {
            Ok(socket) if connection::is_decided(&socket) => connection::decided(socket),
            Ok(socket) => return drop(self.runtime.spawn(self.clone().reach(flow, socket))),
            refused => refused,
        };
        match server {
            Ok(server) if !self.is_listening(flow.server.port()) => {
                drop(self.runtime.spawn(self.clone().reach(flow, server)));
            }
            decided => self.decide(flow, decided, Duration::ZERO),
        }
    }

    async fn reach(self: Arc<Self>, flow: Flow, socket: TcpStream) {
        let begun = Instant::now();
        let server = accepted(socket).await;
        let took = begun.elapsed();
        let server = match server {
            Ok(server) => self.clone().listen(flow.server.port()).await.map(|()| server),
            refused => refused,
        };
        self.decide(flow, server, took);
    }

    fn decide(self: &Arc<Self>, flow: Flow, server: io::Result<TcpStream>, took: Duration) {
        let distance = match &server {
            Ok(server) => path_info(&SockRef::from(server)).rtt.unwrap_or(took),
            Err(_) => took,
        };
        if let Some((syn, verdict)) = self.flows.decide(flow, Decision { server, distance }) {
            self.follow(syn, verdict);
        }
    }

    /// Do with a SYN what the verdict says, when it says.
    pub fn follow(self: &Arc<Self>, syn: Syn, verdict: Verdict) {
        let (Verdict::Pass(distance) | Verdict::Refuse(_, distance)) = &verdict else {
            return;
        };
        let due = syn.arrived + *distance;
        if *distance < MIN_DISTANCE || due <= Instant::now() {
            return self.finish(&syn, &verdict);
        }
        let far = self.clone();
        self.runtime.spawn_blocking(move || {
            thread::sleep(due.saturating_duration_since(Instant::now()).saturating_sub(MAX_SPIN));
            while Instant::now() < due {
                std::hint::spin_loop();
            }
            far.finish(&syn, &verdict);
        });
    }

    fn finish(&self, syn: &Syn, verdict: &Verdict) {
        let path = syn.path as usize;
        if let Verdict::Refuse(why, _) = verdict {
            if let Some(answer) = refusal(&syn.packet, why) {
                let _ = write(&*self.answers[path], &answer);
            }
            return;
        }
        let _ = self.doors[path].send(&syn.packet);
    }

    fn is_listening(&self, port: u16) -> bool {
        locked(&self.listeners).contains_key(&port)
    }

    /// One socket for each port, at whatever address.
    async fn listen(self: Arc<Self>, port: u16) -> io::Result<()> {
        let far = self.clone();
        let listen = move || {
            let _opening = locked(&far.opening);
            if !far.is_listening(port) {
                let listener = Arc::new(far.keeper.listen(port)?);
                // No SYN to this port is let through before it is in the map: no connection is missed.
                far.wait_for(&*listener, port.into(), epoll::EventFlags::IN)?;
                locked(&far.listeners).insert(port, listener);
            }
            Ok(())
        };
        if self.is_listening(port) {
            Ok(())
        } else {
            self.runtime.spawn_blocking(listen).await.map_err(io::Error::other)?
        }
    }

    fn wait_for(&self, file: impl AsFd, id: u64, what: epoll::EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.events, file, epoll::EventData::new_u64(id), what | epoll::EventFlags::ET)?)
    }

    /// Accept all connections of the job to this port whose handshake is over.
    fn accept(self: &Arc<Self>, port: u16) {
        let Some(listener) = locked(&self.listeners).get(&port).cloned() else {
            return;
        };
        loop {
            match listener.accept() {
                Ok((job, client)) => {
                    // What came before this connection was open, nobody else passes on.
                    if let Ok(Some(connection)) = self.join(job, client) {
                        self.pass_all_there(&connection, &mut vec![0; PIECE_BYTES]);
                    }
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.accept_later(port),
            }
        }
    }

    /// Accept again after a while, once for each port however many threads have failed to.
    fn accept_later(self: &Arc<Self>, port: u16) {
        if locked(&self.accept_retries).insert(port) {
            let far = self.clone();
            self.runtime.spawn(async move {
                sleep(ACCEPT_RETRY_INTERVAL).await;
                locked(&far.accept_retries).remove(&port);
                far.accept(port);
            });
        }
    }

    fn join(&self, job: TcpStream, client: SocketAddr) -> io::Result<Option<Arc<Connection>>> {
        let flow = Flow { client: plain(client), server: plain(job.local_addr()?) };
        let Some(server) = self.flows.take_server(flow) else {
            SockRef::from(&job).set_linger(Some(Duration::ZERO))?;
            return Ok(None);
        };
        let id = self.next_connection.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection::new(id, flow, job, server)?);
        locked(&self.connections).insert(id, connection.clone());
        self.flows.open(connection.clone());
        let both = epoll::EventFlags::IN | epoll::EventFlags::OUT;
        // What the job sends is passed on when it is delivered; but the loopback device delivers later.
        let job = if is_ipv6_loopback(flow) { both } else { epoll::EventFlags::OUT };
        let awaited =
            self.wait_for(&connection.job, id, job).and_then(|()| self.wait_for(&connection.server, id, both));
        Ok(self.go_on(&connection, awaited).map(|()| connection))
    }

    /// Pass on what the job has sent to this server, and accept its connection where that is not done yet.
    pub fn pass_there(self: &Arc<Self>, flow: Flow, buffer: &mut [u8]) {
        if matches!(self.flows.stage(flow), Stage::Handshake) {
            self.accept(flow.server.port());
        }
        if let Stage::Open(connection) = self.flows.stage(flow) {
            self.pass_all_there(&connection, buffer);
        }
    }

    fn pass_all_there(self: &Arc<Self>, connection: &Arc<Connection>, buffer: &mut [u8]) {
        while !connection.leave_to_helper(Way::There)
            && let Some(Passed::Piece(_)) = self.pass(connection, Way::There, buffer)
        {}
    }

    /// Pass on a piece, and what follows by a helper if it is a bulk transfer.
    fn pass(self: &Arc<Self>, connection: &Arc<Connection>, way: Way, buffer: &mut [u8]) -> Option<Passed> {
        let passed = self.go_on(connection, connection.pass(way, buffer));
        if connection.wants_help(way) {
            self.runtime.spawn(self.clone().help(connection.clone(), way));
        }
        passed
    }

    async fn help(self: Arc<Self>, connection: Arc<Connection>, way: Way) {
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            connection.begin_help(way);
            while let Some(Passed::Piece(_)) = self.go_on(&connection, connection.pass(way, &mut buffer)) {
                yield_now().await;
            }
            if !connection.end_help(way) {
                return;
            }
        }
    }

    /// Forget a connection that is over or broken.
    fn go_on<T>(&self, connection: &Arc<Connection>, passed: io::Result<T>) -> Option<T> {
        if passed.is_err() {
            connection.reset();
        }
        if (passed.is_err() || connection.is_over()) && locked(&self.connections).remove(&connection.id).is_some() {
            self.flows.forget(connection.flow);
        }
        passed.ok()
    }

    /// Give up handshakes that do not end, as long as the network is there.
    pub async fn give_up(self: Arc<Self>) {
        loop {
            sleep(HANDSHAKE_CHECK_INTERVAL).await;
            self.flows.give_up(Instant::now());
        }
    }
}

/// Passes on what servers send, back to the job.
pub struct Backward {
    far: Arc<Far>,
    /// Connections that may have more to pass on.
    ready: VecDeque<Arc<Connection>>,
    buffer: Vec<u8>,
    /// The last time at which nothing was there.
    last_idle: Instant,
}

impl Backward {
    pub fn new(far: Arc<Far>) -> Self {
        Self { far, ready: VecDeque::new(), buffer: vec![0; PIECE_BYTES], last_idle: Instant::now() }
    }

    /// Learn which connections have something to pass on.
    fn look(&mut self) {
        let looked = Instant::now();
        let mut events = Vec::with_capacity(MAX_EVENTS);
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let _ = epoll::wait(&self.far.events, spare_capacity(&mut events), Some(&at_once));
        for id in events.iter().map(|event| event.data.u64()) {
            match u16::try_from(id) {
                Ok(port) => self.far.accept(port),
                Err(_) => self.ready.extend(locked(&self.far.connections).get(&id).cloned()),
            }
        }
        if events.is_empty() {
            self.last_idle = looked;
        }
    }

    fn pass(&mut self, connection: &Arc<Connection>) -> Option<Duration> {
        if is_ipv6_loopback(connection.flow) || connection.is_blocked(Way::There) {
            self.far.pass_all_there(connection, &mut self.buffer);
        }
        if connection.leave_to_helper(Way::Back) {
            return None;
        }
        match self.far.pass(connection, Way::Back, &mut self.buffer) {
            Some(Passed::Piece(waited)) => Some(waited.min(self.last_idle.elapsed())),
            _ => None,
        }
    }
}

impl Source for Backward {
    fn awaited(&self) -> BorrowedFd<'_> {
        self.far.events.as_fd()
    }

    fn write(&mut self) -> Option<Duration> {
        if self.ready.is_empty() {
            self.look();
        }
        while let Some(connection) = self.ready.pop_front() {
            if let Some(waited) = self.pass(&connection) {
                self.ready.push_back(connection);
                return Some(waited);
            }
        }
        None
    }

    fn has_more(&self) -> bool {
        !self.ready.is_empty()
    }
}

/// The socket, once the server has accepted.
async fn accepted(socket: TcpStream) -> io::Result<TcpStream> {
    let socket = tokio::net::TcpStream::from_std(socket)?;
    socket.writable().await?;
    connection::decided(socket.into_std()?)
}

/// An IPv4 address as such, where a socket of both families calls it `::ffff:…`.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn is_ipv6_loopback(flow: Flow) -> bool {
    flow.server.is_ipv6() && flow.server.ip().is_loopback()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "forward_tests.rs"]
mod tests;
