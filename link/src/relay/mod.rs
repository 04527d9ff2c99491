//! A TCP relay that records what passes: it needs no rights, where a capture of packets does.
//!
//! ```text
//! application ──► 127.0.0.1:15432 (relay) ──► db:5432
//! ```
//!
//! One thread forwards everything (`forwarding`), connection by connection (`opening`, `connection`); another one writes
//! the file (`file`), whose packets are those that would have passed between the application and the server (`packets`).

mod connection;
mod file;
mod forwarding;
pub(crate) mod kernel;
mod link;
mod opening;
mod packets;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

pub use file::Recorded;

use file::{Recording, Watcher};
use forwarding::{Control, Forwarding};
use link::Link;
use opening::Server;

use crate::delay::Settings;

/// From where to where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The address and the port that the relay listens on; port 0: any that is free.
    pub listen: (String, u16),
    pub server: (String, u16),
}

/// What a relay is asked to do.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub routes: Vec<Route>,
    /// The file; `None`: nothing is recorded.
    pub path: Option<PathBuf>,
    /// What is kept of each packet; 0: all.
    pub snap_length: u32,
    /// What is added to the way to the servers; loss is none of it.
    pub delay: Option<Settings>,
}

/// Why a relay cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    #[error("{server} cannot be found: {reason}")]
    Unknown { server: String, reason: io::Error },
    #[error("{address} is in use: another program listens there; choose another port")]
    InUse { address: String },
    #[error("the relay cannot listen on {address}: {reason}")]
    CannotListen { address: String, reason: io::Error },
    #[error("{} cannot be written: {reason}", path.display())]
    CannotWrite { path: PathBuf, reason: io::Error },
    #[error("the relay cannot start: {0}")]
    CannotStart(io::Error),
}

/// What a relay did.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub connections: u64,
    /// Handed to the applications, and to the servers.
    pub bytes: [u64; 2],
    /// What went wrong, and how often.
    pub problems: Vec<(String, u64)>,
    pub recorded: Recorded,
}

/// A relay that runs until it is stopped or dropped.
pub struct Relay {
    addresses: Vec<SocketAddr>,
    control: Arc<Control>,
    file: Watcher,
    thread: Option<JoinHandle<Summary>>,
}

impl Relay {
    /// Listens from now on.
    pub fn start(options: &Options) -> Result<Self, RelayError> {
        let control = Arc::new(Control::new().map_err(RelayError::CannotStart)?);
        let listeners = options.routes.iter().map(listen).collect::<Result<Vec<_>, _>>()?;
        let addresses = listeners.iter().filter_map(|(listener, _)| listener.local_addr().ok()?.as_socket()).collect();
        let recording = match &options.path {
            Some(path) => Recording::begin(path, options.snap_length)
                .map_err(|reason| RelayError::CannotWrite { path: path.clone(), reason })?,
            None => Recording::nothing(),
        };
        let file = recording.watcher();
        let link = options.delay.map(Link::new);
        let forwarding =
            Forwarding::new(Arc::clone(&control), listeners, link, recording).map_err(RelayError::CannotStart)?;
        let thread = thread::Builder::new()
            .name("relay".into())
            .spawn(move || forwarding.run())
            .map_err(RelayError::CannotStart)?;
        Ok(Self { addresses, control, file, thread: Some(thread) })
    }

    /// Where it listens, route by route.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns when all that passed so far is in the file.
    pub fn flush(&self) {
        self.file.flush();
    }

    /// What was recorded so far.
    pub fn recorded(&self) -> Recorded {
        self.file.recorded()
    }

    /// Lets in nobody else, ends when all is quiet (or at once), and says what happened.
    pub fn stop(mut self, at_once: bool) -> Summary {
        self.end(at_once).unwrap_or_default()
    }

    fn end(&mut self, at_once: bool) -> Option<Summary> {
        self.control.stop(at_once);
        self.thread.take()?.join().ok()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.end(true);
    }
}

fn listen(route: &Route) -> Result<(socket2::Socket, Server), RelayError> {
    let (host, port) = &route.server;
    let server = format!("{}:{port}", bracketed(host));
    let addresses = (host.as_str(), *port)
        .to_socket_addrs()
        .map_err(|reason| RelayError::Unknown { server: server.clone(), reason })?;
    let (host, port) = &route.listen;
    let address = format!("{}:{port}", bracketed(host));
    let listener = forwarding::listener(host, *port).map_err(|reason| match reason.kind() {
        io::ErrorKind::AddrInUse => RelayError::InUse { address },
        _ => RelayError::CannotListen { address, reason },
    })?;
    Ok((listener, Server::new(server, addresses)))
}

/// An IPv6 address beside a port.
fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

#[cfg(test)]
mod tests;
