use super::*;

fn flow(client: &str, server: &str) -> Flow {
    Flow { client: client.parse().expect("an address"), server: server.parse().expect("an address") }
}

fn flows() -> [Flow; 2] {
    [flow("198.18.0.1:40000", "127.0.0.1:5432"), flow("[2001:2::1]:40000", "[::1]:5432")]
}

fn opening(flow: Flow) -> Vec<u8> {
    let builder = ip(flow.client.ip(), flow.server.ip()).expect("one family");
    let packet = builder.tcp(flow.client.port(), flow.server.port(), u32::MAX, 100).syn();
    written(|bytes| packet.write(bytes, &[]).is_ok()).expect("a packet")
}

#[test]
fn an_opening_is_a_syn_without_acknowledgment() {
    for flow in flows() {
        assert_eq!(look(&opening(flow)), Seen::Opening(flow, u32::MAX));
    }
}

#[test]
fn a_segment_carries_bytes_or_an_end_or_acknowledges_only() {
    for flow in flows() {
        let (client, server) = (flow.client, flow.server);
        let segment = || ip(client.ip(), server.ip()).expect("one family").tcp(client.port(), server.port(), 1, 100);
        for (segment, payload, carries) in [
            (segment().ack(1), &b""[..], false),
            (segment().syn().ack(1), b"", false),
            (segment().ack(1), b"question", true),
            (segment().ack(1).fin(), b"", true),
            (segment().rst(), b"", true),
        ] {
            let packet = written(|bytes| segment.write(bytes, payload).is_ok()).expect("a packet");
            assert_eq!(look(&packet), Seen::Segment(flow, carries));
        }
    }
}

#[test]
fn a_refused_opening_is_reset_from_where_it_went() {
    for flow in flows() {
        let packet = refusal(&opening(flow), &ErrorKind::ConnectionRefused.into()).expect("a packet");
        let sliced = SlicedPacket::from_ip(&packet).expect("an IP packet");
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP") };
        assert!(tcp.rst() && tcp.ack());
        assert_eq!((tcp.source_port(), tcp.destination_port()), (flow.server.port(), flow.client.port()));
        assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number()), (0, 0));
    }
}

#[test]
fn what_cannot_be_reached_is_told_by_icmp_and_what_does_not_answer_by_nothing() {
    for flow in flows() {
        for why in [ErrorKind::HostUnreachable, ErrorKind::NetworkUnreachable] {
            let packet = refusal(&opening(flow), &why.into()).expect("a packet");
            let transport = SlicedPacket::from_ip(&packet).expect("an IP packet").transport;
            assert!(matches!(transport, Some(TransportSlice::Icmpv4(_) | TransportSlice::Icmpv6(_))));
        }
        assert_eq!(refusal(&opening(flow), &ErrorKind::TimedOut.into()), None);
    }
}

#[test]
fn datagrams_are_read_as_they_are_written() {
    for flow in flows() {
        let packet = datagram(flow.client, flow.server, b"question").expect("a packet");
        assert_eq!(look(&packet), Seen::Datagram(flow, b"question"));
        assert_eq!(is_ipv6_loopback(&packet), flow.server.is_ipv6());
    }
    assert_eq!(datagram(flows()[0].client, flows()[0].server, &[0; 65_536]), None);
}

#[test]
fn bytes_that_are_no_packet_are_let_through() {
    for bytes in [&[][..], &[0x45], &[0x60; 39], &[0xff; 60]] {
        assert_eq!(look(bytes), Seen::Other);
        assert_eq!(unreachable(bytes, ErrorKind::Other), None);
    }
}
