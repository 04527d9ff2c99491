//! Datagram sockets stand for the devices: each read is a packet, too, and no right is needed.

use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::time::{Duration, Instant};

use super::super::packet_socket::set_option;
use super::*;

fn device() -> (UnixDatagram, Tun) {
    let (host, device) = UnixDatagram::pair().expect("a pair of sockets");
    host.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    (host, Tun::try_from(OwnedFd::from(device)).expect("a device"))
}

fn link(settings: Settings) -> (UnixDatagram, UnixDatagram, Link) {
    let (client, first) = device();
    let (server, second) = device();
    (client, server, Link::start(first, second, settings).expect("a link"))
}

fn receive(host: &UnixDatagram) -> Vec<u8> {
    let mut buffer = vec![0; 65_536];
    let length = host.recv(&mut buffer).expect("a packet");
    buffer.truncate(length);
    buffer
}

fn wait_until(what: impl Fn() -> bool) {
    let started = Instant::now();
    while !what() {
        assert!(started.elapsed() < Duration::from_secs(20), "it never came to that");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn each_direction_takes_half_of_the_rtt() {
    let (client, server, link) = link(Settings { rtt: Duration::from_millis(40), ..Settings::default() });
    let started = Instant::now();
    client.send(b"question").expect("sent");
    assert_eq!(receive(&server), b"question");
    assert!(started.elapsed() >= Duration::from_millis(20));
    server.send(b"answer").expect("sent");
    assert_eq!(receive(&client), b"answer");
    assert!(started.elapsed() >= Duration::from_millis(40));
    wait_until(|| link.counts().iter().all(|counts| counts.sent == 1));
    assert_eq!(link.counts().map(|counts| (counts.received, counts.bytes, counts.lost)), [(1, 8, 0), (1, 6, 0)]);
}

#[test]
fn packets_arrive_whole_and_in_order_whatever_their_size() {
    let settings = Settings { rtt: Duration::from_millis(2), jitter: Duration::from_millis(2), ..Settings::default() };
    let (client, server, _link) = link(settings);
    for round in 0..20 {
        let packets: Vec<Vec<u8>> = [20, 1500, 9000, 65_535].iter().map(|&size| vec![round; size]).collect();
        packets.iter().for_each(|packet| assert_eq!(client.send(packet).expect("sent"), packet.len()));
        packets.iter().for_each(|packet| assert_eq!(receive(&server), *packet));
    }
}

#[test]
fn what_is_set_is_for_packets_to_come() {
    let (client, server, link) = link(Settings::default());
    client.send(b"one").expect("sent");
    assert_eq!(receive(&server), b"one");
    link.set(Settings { loss: 1.0, ..link.settings() });
    client.send(b"two").expect("sent");
    wait_until(|| link.counts()[0].lost == 1);
    link.set(Settings { loss: 0.0, ..link.settings() });
    client.send(b"three").expect("sent");
    assert_eq!(receive(&server), b"three");
    wait_until(|| link.counts()[0].sent == 2);
    link.reset_counts();
    assert_eq!(link.counts(), [Counts::default(); 2]);
}

#[test]
fn a_link_of_hours_ends_when_it_is_dropped() {
    let (client, _server, link) = link(Settings { rtt: Duration::from_secs(36_000), ..Settings::default() });
    client.send(b"late").expect("sent");
    wait_until(|| link.counts()[0].most_in_flight == 1);
    let dropping = std::thread::spawn(move || drop(link));
    wait_until(|| dropping.is_finished());
}

#[test]
fn a_packet_counts_from_when_the_kernel_had_it() {
    let (client, first) = device();
    let (server, second) = device();
    let (kernel, copies) = UnixDatagram::pair().expect("a pair of sockets");
    set_option(&copies, libc::SO_TIMESTAMPNS, &1).expect("times");
    let settings = Settings { rtt: Duration::from_millis(100), ..Settings::default() };
    let link = Link::start(first.with_copies(copies.into()), second, settings).expect("a link");
    client.send(b"the link runs").expect("sent");
    receive(&server);
    wait_until(|| link.counts()[0].sent == 1);
    link.reset_counts();
    kernel.send(b"packet").expect("sent");
    std::thread::sleep(Duration::from_secs(1));
    client.send(b"packet").expect("sent");
    assert_eq!(receive(&server), b"packet");
    wait_until(|| link.counts()[0].sent == 1);
    assert!(link.counts()[0].latest >= Duration::from_millis(500), "it was due before it was read");
}

#[test]
fn copies_do_not_pile_up_without_a_delay() {
    let (client, first) = device();
    let (server, second) = device();
    let (kernel, copies) = UnixDatagram::pair().expect("a pair of sockets");
    let left = copies.try_clone().expect("another file descriptor");
    left.set_nonblocking(true).expect("set");
    let _link = Link::start(first.with_copies(copies.into()), second, Settings::default()).expect("a link");
    for packet in [b"one", b"two"] {
        kernel.send(packet).expect("sent");
        client.send(packet).expect("sent");
        assert_eq!(receive(&server), packet);
    }
    assert_eq!(left.recv(&mut [0; 8]).expect_err("nothing").kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn what_a_device_refuses_is_counted() {
    let (client, server, link) = link(Settings::default());
    drop(client);
    server.send(b"nobody is there").expect("sent");
    wait_until(|| link.counts()[1].refused == 1);
    assert_eq!((link.counts()[1].sent, link.failure()), (0, None));
}

#[test]
fn a_device_that_is_gone_ends_both_directions_and_is_told() {
    let (client, first) = UnixStream::pair().expect("a pair of sockets");
    let (_server, second) = device();
    let first = Tun::try_from(OwnedFd::from(first)).expect("a device");
    let link = Link::start(first, second, Settings::default()).expect("a link");
    assert_eq!(link.failure(), None);
    drop(client);
    wait_until(|| link.threads.iter().all(|thread| thread.is_finished()));
    let failure = link.failure().expect("a failure");
    assert!(failure.starts_with("a device of the link is gone: "), "{failure}");
}

#[test]
fn processors_are_kept_awake_no_longer_than_the_link_is_there() {
    let (_client, _server, mut link) = link(Settings::default());
    link.keep_awake().expect("threads");
    assert!(link.threads.len() > 2);
    let dropping = std::thread::spawn(move || drop(link));
    wait_until(|| dropping.is_finished());
}
