//! A connection that is being opened: the application is there, the server is not yet.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use latpcap_core::side::Side;
use socket2::{Domain, Protocol, Socket, Type};

use super::connection::{Common, Connection, break_off};
use super::file::now_ns;
use super::kernel;
use super::packets::Packets;

/// Where connections go.
#[derive(Clone, Debug)]
pub struct Server {
    /// As it was asked for: `db:5432`.
    pub name: String,
    /// The server's addresses, and this machine's on the way there.
    addresses: Vec<(SocketAddr, Option<IpAddr>)>,
}

impl Server {
    pub fn new(name: String, addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self { name, addresses: addresses.into_iter().map(|address| (address, own_address(address))).collect() }
    }
}

pub struct Opening {
    client: Socket,
    peer: SocketAddr,
    server: Server,
    /// Which of its addresses is tried next.
    next: usize,
    number: u32,
    attempt: Option<Attempt>,
    /// The handshake takes until then on the link that is made.
    held_until: Option<Instant>,
    accepted_ns: u64,
}

/// One try to reach the server.
struct Attempt {
    socket: Socket,
    packets: Packets,
    address: SocketAddr,
    began_ns: u64,
}

/// How far the opening is.
pub enum Progress {
    /// The server has not answered yet, or is not to be asked yet.
    Waits(Opening),
    /// It is being asked, through a new socket.
    Asks(Opening),
    Open(Connection),
    /// Nobody lets the application in: why.
    Failed(String),
}

impl Opening {
    /// `number`: how many connections there were before.
    pub fn new(client: Socket, peer: SocketAddr, server: &Server, number: u32, rtt: Option<Duration>) -> Self {
        Self {
            client,
            peer,
            server: server.clone(),
            next: 0,
            number,
            attempt: None,
            held_until: rtt.map(|rtt| Instant::now() + rtt),
            accepted_ns: now_ns(),
        }
    }

    pub fn socket(&self, side: Side) -> Option<&Socket> {
        match side {
            Side::Client => Some(&self.client),
            Side::Server => self.attempt.as_ref().map(|attempt| &attempt.socket),
        }
    }

    /// When the server is to be asked.
    pub fn next_due(&self) -> Option<Instant> {
        self.held_until
    }

    /// Something may have happened.
    pub fn go_on(mut self, common: &mut Common) -> Progress {
        if self.client.take_error().is_ok_and(|error| error.is_some()) {
            return Progress::Failed(String::new());
        }
        match self.attempt.take() {
            Some(attempt) => self.look(attempt, common),
            None if self.held_until.is_some_and(|until| until > Instant::now()) => Progress::Waits(self),
            None => {
                self.held_until = None;
                self.ask(common, None)
            }
        }
    }

    /// Asks the next address; `failure`: of the one before.
    fn ask(mut self, common: &mut Common, mut failure: Option<String>) -> Progress {
        while let Some(&(address, own)) = self.server.addresses.get(self.next) {
            self.next += 1;
            let began_ns = now_ns();
            match connect(address) {
                Ok(socket) => {
                    let client = shown(self.peer, address, own);
                    let mut packets = Packets::new(self.number, client, address);
                    let seen_ns = if common.link.is_some() { self.accepted_ns } else { began_ns };
                    packets.syn(&mut common.recording, seen_ns, kernel::path_info(&socket).own_mss);
                    self.attempt = Some(Attempt { socket, packets, address, began_ns });
                    return Progress::Asks(self);
                }
                Err(error) => failure = Some(self.failed(address, &error)),
            }
        }
        break_off(&self.client);
        Progress::Failed(failure.unwrap_or_else(|| format!("{} has no address", self.server.name)))
    }

    /// Has the server answered?
    fn look(mut self, mut attempt: Attempt, common: &mut Common) -> Progress {
        let error = match attempt.socket.take_error() {
            Ok(None) if attempt.socket.peer_addr().is_ok() => return self.established(attempt, common),
            Ok(None) => {
                self.attempt = Some(attempt);
                return Progress::Waits(self);
            }
            Ok(Some(error)) | Err(error) => error,
        };
        if error.kind() == ErrorKind::ConnectionRefused {
            attempt.packets.refused(&mut common.recording, now_ns());
        }
        let failure = self.failed(attempt.address, &error);
        self.ask(common, Some(failure))
    }

    fn established(self, attempt: Attempt, common: &mut Common) -> Progress {
        let Attempt { socket, mut packets, began_ns, .. } = attempt;
        let path_info = kernel::path_info(&socket);
        let now_ns = now_ns();
        if path_info.sent_again {
            packets.syn(&mut common.recording, now_ns, path_info.own_mss);
        }
        let answered_ns = path_info.rtt.map_or(now_ns, |rtt| now_ns.min(began_ns + rtt.as_nanos() as u64));
        packets.established(&mut common.recording, answered_ns, path_info.other_mss, path_info.segment);
        kernel::take_what_can_be_sent(&socket);
        Progress::Open(Connection::new(self.client, socket, packets, common))
    }

    fn failed(&self, address: SocketAddr, error: &io::Error) -> String {
        let name = &self.server.name;
        let where_to = if *name == address.to_string() { name.clone() } else { format!("{name} ({address})") };
        match error.kind() {
            ErrorKind::ConnectionRefused => format!("{where_to} refused the connection"),
            _ => format!("{where_to} cannot be reached: {error}"),
        }
    }
}

fn connect(address: SocketAddr) -> io::Result<Socket> {
    let new = || Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP));
    let socket = new().or_else(|error| if kernel::opens_more(&error) { new() } else { Err(error) })?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    match socket.connect(&address.into()) {
        Err(error) if !is_under_way(&error) => Err(error),
        _ => Ok(socket),
    }
}

fn is_under_way(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(libc::EINPROGRESS) {
        return true;
    }
    error.kind() == ErrorKind::WouldBlock
}

/// The address that the application is recorded with: its own; on this machine, where the server is elsewhere, the one
/// that it would have had without the relay.
fn shown(peer: SocketAddr, server: SocketAddr, own: Option<IpAddr>) -> SocketAddr {
    let ip = peer.ip().to_canonical();
    let is_fitting = ip.is_ipv4() == server.is_ipv4() && (!ip.is_loopback() || server.ip().is_loopback());
    SocketAddr::new(if is_fitting { ip } else { own.unwrap_or(ip) }, peer.port())
}

/// This machine's address on the way to the server; nothing is sent.
fn own_address(server: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = if server.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(server).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_on_this_machine_is_shown_with_the_address_it_has_on_the_way_to_the_server() {
        let own = Some("10.0.0.1".parse().unwrap());
        let shown = |peer: &str, server: &str| shown(peer.parse().unwrap(), server.parse().unwrap(), own).to_string();
        assert_eq!(shown("127.0.0.1:40000", "10.0.0.5:5432"), "10.0.0.1:40000");
        assert_eq!(shown("[::1]:40000", "10.0.0.5:5432"), "10.0.0.1:40000");
        assert_eq!(shown("[::ffff:127.0.0.1]:40000", "127.0.0.1:5432"), "127.0.0.1:40000");
        assert_eq!(shown("10.0.0.9:40000", "10.0.0.5:5432"), "10.0.0.9:40000");
    }
}
