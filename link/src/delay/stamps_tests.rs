//! Datagrams stand for the copies: they have a time, too.

use std::os::unix::net::UnixDatagram;
use std::thread::sleep;

use super::super::packet_socket::set_option;
use super::*;

fn copies() -> (UnixDatagram, Stamps) {
    let (kernel, copies) = UnixDatagram::pair().expect("a pair of sockets");
    set_option(&copies, libc::SO_TIMESTAMPNS, &1 as &c_int).expect("times");
    (kernel, Stamps::new(copies.into()))
}

fn send(kernel: &UnixDatagram, packets: &[&[u8]]) {
    packets.iter().for_each(|packet| assert_eq!(kernel.send(packet).expect("sent"), packet.len()));
}

#[test]
fn a_packet_is_as_old_as_its_copy() {
    let (kernel, stamps) = copies();
    send(&kernel, &[b"packet", &[7; 1500]]);
    sleep(Duration::from_millis(20));
    for packet in [&b"packet"[..], &[7; 1500]] {
        assert!(stamps.age(packet).expect("an age") >= Duration::from_millis(20));
    }
}

#[test]
fn copies_of_packets_that_were_dropped_are_passed_over() {
    let (kernel, stamps) = copies();
    send(&kernel, &[b"dropped", &[7; 1499], b"first", b"second"]);
    assert!(stamps.age(b"first").is_some() && stamps.age(b"second").is_some());
}

#[test]
fn a_missing_copy_does_not_lend_another_ones_time() {
    let (kernel, stamps) = copies();
    send(&kernel, &[b"second"]);
    assert_eq!(stamps.age(b"first"), None);
    assert_eq!(stamps.age(b"second"), None);
    send(&kernel, &[b"third"]);
    assert!(stamps.age(b"third").is_some());
}
