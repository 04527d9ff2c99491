//! UDP (DNS above all): each flow of the job has a socket of its own on this machine, until it rests.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

use super::outlets::Door;
use super::packets::{Flow, datagram, unreachable};
use crate::delay::Outlet;

/// Without a datagram in either direction.
const REST: Duration = Duration::from_secs(120);
const MAX_FLOWS: usize = 2048;
/// What waits for a socket; what comes beyond is lost, as datagrams are.
const MAX_WAITING: usize = 64;
const MAX_DATAGRAM_BYTES: usize = 65_536;

/// A datagram, and the packet that it came in, for the errors.
struct Asked {
    payload: Vec<u8>,
    packet: Vec<u8>,
}

pub struct Datagrams {
    flows: Mutex<HashMap<Flow, Sender<Asked>>>,
    job: Door,
    runtime: Handle,
}

impl Datagrams {
    pub fn new(job: Door, runtime: Handle) -> Arc<Self> {
        Arc::new(Self { flows: Mutex::default(), job, runtime })
    }

    pub fn take(self: &Arc<Self>, flow: Flow, payload: &[u8], packet: &[u8]) {
        let mut flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        if !flows.contains_key(&flow) {
            if flows.len() == MAX_FLOWS {
                return;
            }
            let (sender, receiver) = channel(MAX_WAITING);
            flows.insert(flow, sender);
            self.runtime.spawn(self.clone().serve(flow, receiver));
        }
        if let Some(sender) = flows.get(&flow) {
            let _ = sender.try_send(Asked { payload: payload.to_vec(), packet: packet.to_vec() });
        }
    }

    async fn serve(self: Arc<Self>, flow: Flow, mut asked: Receiver<Asked>) {
        let mut last = Vec::new();
        if let Err(why) = self.exchange(flow, &mut asked, &mut last).await
            && let Some(answer) = unreachable(&last, why.kind())
        {
            let _ = self.job.send(&answer);
        }
        self.flows.lock().unwrap_or_else(PoisonError::into_inner).remove(&flow);
    }

    /// Until the flow rests, or nobody is there.
    async fn exchange(&self, flow: Flow, asked: &mut Receiver<Asked>, last: &mut Vec<u8>) -> io::Result<()> {
        let Some(first) = asked.recv().await else {
            return Ok(());
        };
        *last = first.packet;
        let socket = connected(flow.server).await?;
        socket.send(&first.payload).await?;
        let mut buffer = vec![0; MAX_DATAGRAM_BYTES];
        loop {
            tokio::select! {
                next = timeout(REST, asked.recv()) => match next {
                    Ok(Some(next)) => {
                        *last = next.packet;
                        socket.send(&next.payload).await?;
                    }
                    _ => return Ok(()),
                },
                length = socket.recv(&mut buffer) => {
                    if let Some(packet) = datagram(flow.server, flow.client, &buffer[..length?]) {
                        let _ = self.job.send(&packet);
                    }
                }
            }
        }
    }
}

async fn connected(server: SocketAddr) -> io::Result<UdpSocket> {
    let any = match server {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(server).await.map_err(|why| match why.kind() {
        // A broadcast, which a socket may not send unasked: nobody is there.
        ErrorKind::PermissionDenied => ErrorKind::HostUnreachable.into(),
        _ => why,
    })?;
    Ok(socket)
}
