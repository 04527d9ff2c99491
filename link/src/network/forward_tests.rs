use std::io::{Read, Write};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::runtime::{Builder, Runtime};

use super::super::handover::{READY, hear, tell};
use super::*;
use crate::delay::Tun;

fn pair() -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a pair of sockets")
}

/// A far namespace whose ports are this machine's own, and the socket of its keeper.
fn far() -> (Arc<Far>, OwnedFd, Runtime) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (ours, theirs) = pair();
    let device = Arc::new(Tun::try_from(pair().0).expect("a device"));
    let socket = Arc::new(pair().0);
    let door = Door { device, loopback: socket.clone() };
    let far = Far::new(Keeper::new(ours), [door.clone(), door], [socket.clone(), socket], runtime.handle().clone());
    (Arc::new(far.expect("a far namespace")), theirs, runtime)
}

fn listener() -> TcpListener {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a listener");
    listener.set_nonblocking(true).expect("set");
    listener
}

fn address(listener: &TcpListener) -> SocketAddr {
    listener.local_addr().expect("its address")
}

#[test]
fn what_comes_before_the_connection_is_open_is_passed_on_by_who_accepts() {
    let (far, _keeper, _runtime) = far();
    let (own, of_server) = (listener(), listener());
    let (server, port) = (address(&own), address(&own).port());
    of_server.set_nonblocking(false).expect("set");
    let ours = TcpStream::connect(address(&of_server)).expect("a connection");
    let mut served = of_server.accept().expect("a connection").0;
    let mut job = TcpStream::connect(server).expect("a connection");
    job.write_all(b"question").expect("sent");
    let flow = Flow { client: job.local_addr().expect("an address"), server };
    far.flows.enter(flow);
    far.flows.decide(flow, Decision { server: Ok(ours), distance: Duration::ZERO });
    locked(&far.listeners).insert(port, Arc::new(own));
    far.accept(port);
    let mut read = [0; 8];
    served.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    served.read_exact(&mut read).expect("the question");
    assert_eq!(&read, b"question");
}

#[test]
fn a_port_has_one_retry_however_often_its_accept_fails() {
    let (far, _keeper, runtime) = far();
    for port in [1, 1, 2] {
        far.accept_later(port);
    }
    assert_eq!(runtime.metrics().num_alive_tasks(), 2);
    runtime.block_on(async {
        while !locked(&far.accept_retries).is_empty() {
            sleep(Duration::from_millis(1)).await;
        }
    });
}

#[test]
fn nobody_waits_for_the_keeper_but_who_opens_a_port() {
    let (far, keeper, runtime) = far();
    let own = listener();
    let (port, opening) = (address(&own).port(), far.clone());
    let opened = thread::spawn(move || runtime.block_on(opening.listen(port)));
    assert_eq!(hear(&keeper).expect("a question").0, format!("listen {port}"));
    assert!(!far.is_listening(port));
    far.accept(port);
    tell(&keeper, READY, &[own.as_fd()]).expect("told");
    opened.join().expect("no panic").expect("opened");
    assert!(far.is_listening(port));
}
