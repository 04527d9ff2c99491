//! Connections that end in the far namespace go on from this machine's own to the servers they are for.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::write;
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep;

use super::gate::{Flows, Opening, Path};
use super::handover::Keeper;
use super::outlets::Door;
use super::packets::{Flow, refusal};
use crate::delay::Outlet;

/// Of each direction of a connection.
const BUFFER: usize = 128 << 10;
/// The job's handshake takes its round trip; after a lost packet TCP tries for two minutes.
const HANDSHAKE: Duration = Duration::from_secs(150);

/// The far namespace as connections meet it.
pub struct Far {
    pub flows: Arc<Flows>,
    pub keeper: Arc<Keeper>,
    /// Into the namespace, by either way.
    pub delayed: Door,
    pub direct: Door,
    /// Towards the job: what is written here leaves the namespace, by the delayed way or by the direct.
    pub answers: [Arc<OwnedFd>; 2],
    listening: Mutex<HashSet<u16>>,
}

impl Far {
    pub fn new(
        flows: Arc<Flows>,
        keeper: Arc<Keeper>,
        [delayed, direct]: [Door; 2],
        answers: [Arc<OwnedFd>; 2],
    ) -> Arc<Self> {
        Arc::new(Self { flows, keeper, delayed, direct, answers, listening: Mutex::default() })
    }

    /// Serve all openings that the gates hold.
    pub async fn serve(self: Arc<Self>, mut openings: UnboundedReceiver<Opening>) {
        while let Some(opening) = openings.recv().await {
            tokio::spawn(self.clone().open(opening));
        }
    }

    async fn open(self: Arc<Self>, opening: Opening) {
        let flow = opening.flow;
        match self.reach(flow).await {
            Ok(server) => {
                let since = self.flows.connected(flow, server);
                let _ = self.door(opening.path).send(&opening.packet);
                sleep(HANDSHAKE).await;
                self.flows.give_up(flow, since);
            }
            Err(why) => {
                self.flows.forget(flow);
                if let Some(answer) = refusal(&opening.packet, &why) {
                    let _ = write(&*self.answers[opening.path as usize], &answer);
                }
            }
        }
    }

    async fn reach(self: &Arc<Self>, flow: Flow) -> io::Result<TcpStream> {
        let server = TcpStream::connect(flow.server).await?;
        server.set_nodelay(true)?;
        self.listen(flow.server.port()).await?;
        Ok(server)
    }

    fn door(&self, path: Path) -> &Door {
        match path {
            Path::Delayed => &self.delayed,
            Path::Direct => &self.direct,
        }
    }

    /// One socket for each port, at whatever address.
    async fn listen(self: &Arc<Self>, port: u16) -> io::Result<()> {
        let mut listening = self.listening.lock().await;
        if listening.contains(&port) {
            return Ok(());
        }
        let keeper = self.keeper.clone();
        let socket = tokio::task::spawn_blocking(move || keeper.listen(port)).await.map_err(io::Error::other)??;
        tokio::spawn(self.clone().accept(TcpListener::from_std(socket)?));
        listening.insert(port);
        Ok(())
    }

    async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((job, client)) => {
                    let _ = self.join(job, client);
                }
                // Too many files are open, for instance: the others go on, and some of them will end.
                Err(_) => sleep(Duration::from_millis(10)).await,
            }
        }
    }

    fn join(self: &Arc<Self>, job: TcpStream, client: SocketAddr) -> io::Result<()> {
        let flow = Flow { client: plain(client), server: plain(job.local_addr()?) };
        job.set_nodelay(true)?;
        match self.flows.open(flow) {
            Some(server) => {
                let flows = self.flows.clone();
                tokio::spawn(async move {
                    copy(job, server).await;
                    flows.forget(flow);
                });
            }
            None => {
                self.flows.forget(flow);
                job.set_zero_linger()?;
            }
        }
        Ok(())
    }
}

/// Bytes at once, ends as ends, resets as resets.
async fn copy(mut job: TcpStream, mut server: TcpStream) {
    if copy_bidirectional_with_sizes(&mut job, &mut server, BUFFER, BUFFER).await.is_err() {
        let _ = job.set_zero_linger();
        let _ = server.set_zero_linger();
    }
}

/// An IPv4 address as such, where a socket of both families calls it `::ffff:…`.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
