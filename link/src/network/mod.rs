//! The network of a job that is rehearsed: the way to its database is slow, all else is as ever.
//!
//! ```text
//! namespace of the job                    latpcap                     namespace `far`
//!   TCP ── delayed (TUN) ──► link: half of the RTT, gate ──► delayed (TUN) ── TCP ─┐ accepts whatever
//!   TCP ── direct (TUN) ───────────────────────────── gate ──► direct (TUN) ── TCP ─┤ the packets are for
//!   UDP ── direct (TUN) ── datagrams ─► this machine's own network                  │
//!                                       this machine's own network ◄── forwarder ───┘
//! ```
//!
//! The job's TCP is real from its own end to the far one, across the link. From there to the server a connection of
//! this machine's own goes on, so that the server sees the client it knows, and a server of 127.0.0.1 is reached like
//! any other. The link's threads copy what they have just delivered, and what servers send, so that nobody else has to
//! wake up. A server that is d away adds d to the link's round trip, in the handshake, too: the gate holds the job's SYN
//! until the server has accepted, and for d.
//!
//! Nothing of this machine's own network is changed, and nothing has a name or a file: kept by a process of its own
//! ([`keep`]) and by this one, the namespaces go when both end.

mod connection;
mod datagrams;
mod flows;
mod forward;
mod gate;
mod handover;
mod inside;
mod leftover;
mod machine;
mod outlets;
mod packets;
mod routes;
mod spaces;
mod direct;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::runtime;
use tokio::sync::oneshot;

pub use inside::enter;
pub use routes::DELAYED;
pub use spaces::keep;

use self::datagrams::Datagrams;
use self::direct::{Outside, pump};
use self::flows::Path;
use self::forward::{Backward, Far};
use self::gate::Gate;
use self::handover::Keeper;
use self::leftover::end_processes_in;
use self::outlets::Door;
use crate::delay::{Counts, Link, Settings, Tun};

/// It runs until it is dropped.
pub struct Network {
    link: Option<Link>,
    /// The job's.
    namespace: File,
    user: Option<File>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the keeper hands over.
struct Spaces {
    job: (File, Door, Door),
    far: (Door, Door),
    answers: [Arc<OwnedFd>; 2],
    user: Option<File>,
}

impl Network {
    /// `keeper`: the other end of the socket that the process has that keeps the namespaces.
    pub fn start(keeper: OwnedFd) -> io::Result<Self> {
        let keeper = Keeper::new(keeper);
        let spaces = Spaces::of(keeper.files()?)?;
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (namespace, delayed, direct) = spaces.job;
        let (far_delayed, far_direct) = spaces.far;
        let doors = [far_delayed.clone(), far_direct.clone()];
        let far = Arc::new(Far::new(keeper, doors, spaces.answers, runtime.handle().clone())?);
        let gate = |door: &Door, path| Gate::new(far.clone(), door.clone(), path);
        let link = Link::between(
            [delayed.device.clone(), far_delayed.device.clone()],
            [Box::new(gate(&far_delayed, Path::Delayed)), Box::new(delayed)],
            Some(Box::new(Backward::new(far.clone()))),
            Settings::default(),
        )
        .map_err(io::Error::other)?;
        let outside = Outside {
            datagrams: Datagrams::new(direct.clone(), runtime.handle().clone()),
            gate: gate(&far_direct, Path::Direct),
        };
        let (there, back) = (pump(direct.device.clone(), outside), pump(far_direct.device.clone(), direct));
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("job-network".into()).spawn(move || {
            runtime.spawn(there);
            runtime.spawn(back);
            runtime.spawn(far.give_up());
            let _ = runtime.block_on(stopped);
            runtime.shutdown_background();
        })?;
        Ok(Self { link: Some(link), namespace, user: spaces.user, stop: Some(stop), thread: Some(thread) })
    }

    /// What crossed the link from the job to its servers, and back.
    pub fn counts(&self) -> [Counts; 2] {
        self.link.as_ref().map(Link::counts).unwrap_or_default()
    }

    /// Set the link's conditions anew, for packets to come.
    pub fn set(&self, settings: Settings) {
        if let Some(link) = &self.link {
            link.set(settings);
        }
    }

    pub fn failure(&self) -> Option<String> {
        self.link.as_ref().and_then(Link::failure)
    }

    /// The job's network namespace, and its user namespace where one was needed.
    pub fn namespaces(&self) -> (&File, Option<&File>) {
        (&self.namespace, self.user.as_ref())
    }

    /// End those processes that are still in the job's namespace, then the network. How many there were.
    pub fn end(&mut self) -> usize {
        let processes = end_processes_in(&self.namespace);
        self.link = None;
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        processes
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.end();
    }
}

impl Spaces {
    fn of(files: Vec<OwnedFd>) -> io::Result<Self> {
        let mut files = files.into_iter();
        let mut next = || files.next().ok_or(io::ErrorKind::UnexpectedEof);
        let mut space = || -> io::Result<(File, Door, Door)> {
            let (namespace, delayed, direct) = (next()?, Tun::try_from(next()?)?, Tun::try_from(next()?)?);
            let loopback = Arc::new(next()?);
            let delayed = delayed.with_copies(next()?);
            let door = |device| Door { device: Arc::new(device), loopback: loopback.clone() };
            Ok((namespace.into(), door(delayed), door(direct)))
        };
        let (job, far) = (space()?, space()?);
        let answers = [Arc::new(next()?), Arc::new(next()?)];
        Ok(Self { job, far: (far.1, far.2), answers, user: files.next().map(File::from) })
    }
}
