//! What passes, byte by byte, through a relay on this machine; what is recorded is read with `etherparse`.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use etherparse::{SlicedPacket, TransportSlice};
use tempfile::TempDir;

use super::*;

struct Lab {
    folder: TempDir,
    server: TcpListener,
}

impl Lab {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), server: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("relayed.pcapng")
    }

    fn port(&self) -> u16 {
        self.server.local_addr().unwrap().port()
    }

    fn relay(&self, delay: Option<Settings>) -> Relay {
        let routes = vec![Route { listen: ("127.0.0.1".into(), 0), server: ("127.0.0.1".into(), self.port()) }];
        Relay::start(&Options { routes, path: Some(self.path()), snap_length: 0, delay }).unwrap()
    }

    /// A client's connection and the server's end of it.
    fn connect(&self, relay: &Relay) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(relay.addresses()[0]).unwrap();
        let (server, _) = self.server.accept().unwrap();
        client.set_nodelay(true).unwrap();
        server.set_nodelay(true).unwrap();
        (client, server)
    }

    /// The packets of the file, when the relay has ended.
    fn packets(&self, relay: Relay) -> Vec<Seen> {
        relay.stop(false);
        packets(&self.path(), self.port())
    }
}

/// A packet, its numbers from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    from_client: bool,
    /// `S`, `SA`, `A`, `FA`, `RA`.
    flags: String,
    sequence: u32,
    acknowledged: u32,
    payload: Vec<u8>,
}

fn packets(path: &Path, server: u16) -> Vec<Seen> {
    let bytes = std::fs::read(path).unwrap();
    let (mut start, mut found) = (0, Vec::new());
    let mut first: [Option<u32>; 2] = [None, None];
    while let Some(end) = latpcap_core::capture::writing::block_end(&bytes, start) {
        let block = &bytes[start..end];
        start = end;
        if block[0] != 6 {
            continue;
        }
        let captured = u32::from_le_bytes(block[20..24].try_into().unwrap()) as usize;
        let packet = SlicedPacket::from_ip(&block[28..28 + captured]).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = packet.transport else { panic!("no TCP") };
        let from_client = tcp.destination_port() == server;
        if tcp.syn() {
            first[usize::from(from_client)] = Some(tcp.sequence_number());
        }
        let own = first[usize::from(from_client)].unwrap_or_default();
        let other = first[usize::from(!from_client)].unwrap_or_default();
        let flags = [(tcp.syn(), 'S'), (tcp.fin(), 'F'), (tcp.rst(), 'R'), (tcp.ack(), 'A')];
        found.push(Seen {
            from_client,
            flags: flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name).collect(),
            sequence: tcp.sequence_number().wrapping_sub(own),
            acknowledged: if tcp.ack() { tcp.acknowledgment_number().wrapping_sub(other) } else { 0 },
            payload: tcp.payload().to_vec(),
        });
    }
    found
}

fn read(mut from: &TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).unwrap();
    bytes
}

fn ask(mut client: &TcpStream, mut server: &TcpStream, question: &[u8], answer: &[u8]) {
    client.write_all(question).unwrap();
    assert_eq!(read(server, question.len()), question);
    server.write_all(answer).unwrap();
    assert_eq!(read(client, answer.len()), answer);
}

#[test]
fn bytes_and_ends_pass_and_are_recorded_with_the_numbers_of_a_dialogue() {
    let lab = Lab::new();
    let relay = lab.relay(None);
    let (client, server) = lab.connect(&relay);
    ask(&client, &server, b"question", b"answer");
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!((&server).read(&mut [0; 1]).unwrap(), 0);
    drop(server);
    assert_eq!((&client).read(&mut [0; 1]).unwrap(), 0);
    let row = |from_client, flags: &str, sequence, acknowledged, payload: &[u8]| Seen {
        from_client,
        flags: flags.into(),
        sequence,
        acknowledged,
        payload: payload.to_vec(),
    };
    let expected = [
        row(true, "S", 0, 0, b""),
        row(false, "SA", 0, 1, b""),
        row(true, "A", 1, 1, b""),
        row(true, "A", 1, 1, b"question"),
        row(false, "A", 1, 9, b"answer"),
        row(true, "FA", 9, 7, b""),
        row(false, "FA", 7, 10, b""),
    ];
    assert_eq!(lab.packets(relay), expected);
}

#[test]
fn a_client_that_sends_no_more_still_receives() {
    let lab = Lab::new();
    let relay = lab.relay(None);
    let (client, server) = lab.connect(&relay);
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!((&server).read(&mut [0; 1]).unwrap(), 0);
    (&server).write_all(b"late").unwrap();
    assert_eq!(read(&client, 4), b"late");
}

#[test]
fn a_reset_is_handed_on_and_recorded() {
    for client_resets in [true, false] {
        let lab = Lab::new();
        let relay = lab.relay(None);
        let (client, server) = lab.connect(&relay);
        ask(&client, &server, b"question", b"answer");
        let (resets, sees) = if client_resets { (client, server) } else { (server, client) };
        socket2::SockRef::from(&resets).set_linger(Some(Duration::ZERO)).unwrap();
        drop(resets);
        assert_eq!((&sees).read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        let last = lab.packets(relay).pop().unwrap();
        assert_eq!((last.from_client, last.flags.as_str()), (client_resets, "RA"));
    }
}

#[test]
fn a_server_that_refuses_is_told_and_the_client_is_cut_off() {
    let lab = Lab::new();
    let relay = lab.relay(None);
    let path = lab.path();
    let port = lab.port();
    let Lab { folder, server } = lab;
    drop(server);
    let client = TcpStream::connect(relay.addresses()[0]).unwrap();
    assert_eq!((&client).read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let summary = relay.stop(false);
    assert_eq!(summary.problems, [(format!("127.0.0.1:{port} refused the connection"), 1)]);
    let flags: Vec<_> = packets(&path, port).into_iter().map(|packet| packet.flags).collect();
    assert_eq!(flags, ["S", "RA"]);
    drop(folder);
}

/// What a request acknowledges proves whether its sender had the answer before.
#[test]
fn a_request_that_was_sent_before_the_answer_does_not_acknowledge_it() {
    let lab = Lab::new();
    let relay = lab.relay(None);
    let (mut client, mut server) = lab.connect(&relay);
    client.write_all(b"one").unwrap();
    assert_eq!(read(&server, 3), b"one");
    client.write_all(b"two").unwrap();
    assert_eq!(read(&server, 3), b"two");
    server.write_all(b"answer one").unwrap();
    assert_eq!(read(&client, 10), b"answer one");
    client.write_all(b"three").unwrap();
    assert_eq!(read(&server, 5), b"three");
    let packets = lab.packets(relay);
    let acknowledged = |payload: &[u8]| packets.iter().find(|packet| packet.payload == payload).unwrap().acknowledged;
    assert_eq!([acknowledged(b"two"), acknowledged(b"three")], [1, 11]);
}

/// Both sockets are ready when the relay looks: what the client sent, it sent before the answer was handed on.
#[test]
fn the_client_is_read_before_it_is_answered() {
    let lab = Lab::new();
    let relay = lab.relay(None);
    let (mut client, mut server) = lab.connect(&relay);
    for number in 0..500_u32 {
        server.write_all(&number.to_be_bytes()).unwrap();
        client.write_all(&number.to_be_bytes()).unwrap();
        read(&server, 4);
        read(&client, 4);
    }
    let packets = lab.packets(relay);
    let mut handed_on = 0;
    for packet in packets.iter().filter(|packet| !packet.payload.is_empty()) {
        match packet.from_client {
            true => assert!(packet.acknowledged <= 1 + handed_on),
            false => handed_on += packet.payload.len() as u32,
        }
    }
    assert_eq!(handed_on, 2000);
}

#[test]
fn a_connection_that_never_falls_silent_is_cut_after_the_end() {
    let lab = Lab::new();
    let relay = lab.relay(None);
    let (mut client, mut server) = lab.connect(&relay);
    let talks = std::thread::spawn(move || {
        let mut byte = [0];
        while client.write_all(b"?").is_ok() && server.read_exact(&mut byte).is_ok() {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let did = relay.stop(false);
    talks.join().unwrap();
    assert_eq!(did.problems, [("connections that were still in use 2 s after the end were cut".into(), 1)]);
}

#[test]
fn a_slow_reader_holds_its_sender_back_and_loses_nothing() {
    const LENGTH: usize = 32 << 20;
    let lab = Lab::new();
    let relay = lab.relay(None);
    let (client, mut server) = lab.connect(&relay);
    let sends = thread::spawn(move || {
        let bytes: Vec<u8> = (0..LENGTH).map(|at| (at % 251) as u8).collect();
        server.write_all(&bytes).unwrap();
    });
    let mut at = 0;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let length = (&client).read(&mut buffer).unwrap();
        if length == 0 {
            break;
        }
        assert!(buffer[..length].iter().enumerate().all(|(more, byte)| *byte == ((at + more) % 251) as u8));
        at += length;
    }
    assert_eq!(at, LENGTH);
    sends.join().unwrap();
    drop(client);
    let recorded: usize = lab.packets(relay).iter().map(|packet| packet.payload.len()).sum();
    assert_eq!(recorded, LENGTH);
}

#[test]
fn many_connections_pass_side_by_side() {
    let lab = Lab::new();
    let relay = lab.relay(None);
    let pairs: Vec<_> = (0..200).map(|_| lab.connect(&relay)).collect();
    for (client, server) in &pairs {
        ask(client, server, b"question", b"answer");
    }
    drop(pairs);
    let summary = relay.stop(false);
    assert_eq!((summary.connections, summary.bytes), (200, [200 * 6, 200 * 8]));
}

#[test]
fn a_delay_holds_back_the_handshake_and_both_ways() {
    const RTT: Duration = Duration::from_millis(20);
    let lab = Lab::new();
    let relay = lab.relay(Some(Settings { rtt: RTT, ..Settings::default() }));
    let began = std::time::Instant::now();
    let (client, server) = lab.connect(&relay);
    ask(&client, &server, b"question", b"answer");
    assert!(began.elapsed() >= 2 * RTT, "a handshake and a round trip");
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!((&server).read(&mut [0; 1]).unwrap(), 0);
    drop(server);
    assert_eq!((&client).read(&mut [0; 1]).unwrap(), 0);
    let flags: Vec<_> = lab.packets(relay).into_iter().map(|packet| packet.flags).collect();
    assert_eq!(flags, ["S", "SA", "A", "A", "A", "FA", "FA"]);
}

#[test]
fn what_is_asked_for_and_cannot_be_is_said_in_one_line() {
    let lab = Lab::new();
    let route = |port, server: &str| Route { listen: ("127.0.0.1".into(), port), server: (server.into(), 1) };
    let start = |route, path| {
        let options = Options { routes: vec![route], path, ..Options::default() };
        Relay::start(&options).map(drop).unwrap_err().to_string()
    };
    let taken = lab.port();
    assert_eq!(
        start(route(taken, "127.0.0.1"), None),
        format!("127.0.0.1:{taken} is in use: another program listens there; choose another port")
    );
    assert!(start(route(0, "no such host.invalid"), None).starts_with("no such host.invalid:1 cannot be found: "));
    let nowhere = lab.folder.path().join("missing/file");
    assert!(start(route(0, "127.0.0.1"), Some(nowhere)).contains("missing/file cannot be written: "));
}
