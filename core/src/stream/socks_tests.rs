use super::*;
use crate::stream::tests::segment;

const COMMAND: [u8; 10] = [5, CONNECT, 0, 1, 10, 0, 0, 9, 12, 234];

/// How many numbers are taken when this has passed: (does the client send it, the bytes).
fn numbered(messages: &[(bool, &'static [u8])]) -> usize {
    let mut tunnels = Tunnels::default();
    pass(&mut tunnels, messages);
    tunnels.numbered()
}

fn pass(tunnels: &mut Tunnels, messages: &[(bool, &'static [u8])]) {
    let to_server = segment(Flags::ACK);
    let to_server = Segment { destination: Endpoint { port: PORT, ..to_server.destination }, ..to_server };
    let to_client = Segment { source: to_server.destination, destination: to_server.source, ..to_server };
    tunnels.pass(&Segment { flags: Flags(Flags::SYN), ..to_server });
    let mut sent = [1; 2];
    for (is_client, payload) in messages {
        let sequence = sent[usize::from(*is_client)];
        let segment = if *is_client { to_server } else { to_client };
        let wire_length = payload.len() as u32;
        tunnels.pass(&Segment { payload, sequence, wire_length, ..segment });
        // Again, as if it had been lost.
        tunnels.pass(&Segment { payload, sequence, wire_length, ..segment });
        sent[usize::from(*is_client)] += wire_length;
    }
}

#[test]
fn the_first_data_behind_the_handshake_takes_a_number() {
    let handshake: [(bool, &[u8]); 4] =
        [(true, &[5, 1, 0]), (false, &[5, 0]), (true, &COMMAND), (false, &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])];
    assert_eq!(numbered(&handshake), 0);
    assert_eq!(numbered(&[&handshake[..], &[(false, b"greeting")]].concat()), 1);
    assert_eq!(numbered(&[&handshake[..], &[(true, b"asks"), (false, b"answers"), (true, b"asks")]].concat()), 1);
}

#[test]
fn a_password_takes_two_messages_more() {
    let messages: [(bool, &[u8]); 7] = [
        (true, &[5, 2, 0, 2]),
        (false, &[5, 2]),
        (true, &[1, 1, b'u', 1, b'p']),
        (false, &[1, 0]),
        (true, &[5, CONNECT, 0, 3, 2, b'd', b'b', 12, 234]),
        (false, &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
        (true, b"asks"),
    ];
    assert_eq!(numbered(&messages[..6]), 0);
    assert_eq!(numbered(&messages), 1);
}

#[test]
fn version_4_has_one_message_each() {
    let ask: &[u8] = &[4, CONNECT, 12, 234, 10, 0, 0, 9, b'm', b'e', 0];
    assert_eq!(numbered(&[(true, ask), (false, &[0, 90, 0, 0, 0, 0, 0, 0])]), 0);
    assert_eq!(numbered(&[(true, ask), (false, &[0, 90, 0, 0, 0, 0, 0, 0]), (true, b"asks")]), 1);
}

#[test]
fn what_is_no_tunnel_takes_none() {
    let reply: &[u8] = &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let data: (bool, &[u8]) = (true, b"data");
    assert_eq!(numbered(&[(true, b"GET / HTTP/1.1"), (false, b"HTTP/1.1 200"), data, data]), 0);
    assert_eq!(numbered(&[(true, &[5, 1, 0]), (false, &[5, 0xff]), data, data]), 0, "no method");
    let bind: &[u8] = &[5, 2, 0, 1, 10, 0, 0, 9, 12, 234];
    assert_eq!(numbered(&[(true, &[5, 1, 0]), (false, &[5, 0]), (true, bind), (false, reply), data]), 0);
    let to_itself: &[u8] = &[5, CONNECT, 0, 1, 10, 0, 0, 9, 4, 56];
    assert_eq!(numbered(&[(true, &[5, 1, 0]), (false, &[5, 0]), (true, to_itself), (false, reply), data]), 0);
    for length in 0..COMMAND.len() {
        let cut = &COMMAND[..length];
        assert_eq!(numbered(&[(true, &[5, 1, 0]), (false, &[5, 0]), (true, cut), (false, reply), data]), 0);
    }
}

#[test]
fn the_same_ports_again_are_the_same_tunnel_for_wireshark() {
    let messages: [(bool, &[u8]); 4] = [
        (true, &[5, 1, 0, 5, CONNECT, 0, 1, 10, 0, 0, 9, 12, 234]),
        (false, &[5, 0]),
        (false, &COMMAND),
        (true, b"data"),
    ];
    let mut tunnels = Tunnels::default();
    for _ in 0..2 {
        pass(&mut tunnels, &messages);
        assert_eq!(tunnels.numbered(), 1);
    }
}
