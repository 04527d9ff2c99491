//! The table of TCP connections, numbered as Wireshark numbers them (`tcp.stream`).

use std::collections::HashMap;

use super::advertised::Advertised;
use super::reassembly::{Accepted, Reassembly};
use super::rtt::RttSample;
use crate::packet::{Endpoint, Flags, Segment};
use crate::protocols::Side;

/// One TCP connection: who, when, and its two streams.
#[derive(Debug)]
pub struct Connection {
    pub client: Endpoint,
    pub server: Endpoint,
    /// The handshake told who the client is; otherwise it was assumed from the ports.
    pub oriented: bool,
    pub handshake: Handshake,
    pub advertised: Advertised,
    pub refused: bool,
    pub first_ns: i64,
    pub last_ns: i64,
    pub first_frame: u64,
    pub last_frame: u64,
    pub last_data_ns: Option<i64>,
    pub streams: Reassembly,
    /// Clean in-stream samples, with the side whose data was acknowledged.
    pub samples: Vec<(Side, RttSample)>,
}

/// When the packets of the TCP handshake passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    pub syn_ns: Option<i64>,
    pub syn_ack_ns: Option<i64>,
    pub ack_ns: Option<i64>,
    /// A SYN or SYN/ACK was sent more than once: the times may belong to different copies.
    pub retransmitted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its beginning was captured.
    Complete,
    /// It was there before the capture began.
    Running,
    /// The server answered the SYN with a RST.
    Refused,
    /// Nobody answered the SYN: filtered, or no such host.
    Unanswered,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            State::Complete => "complete",
            State::Running => "running",
            State::Refused => "refused",
            State::Unanswered => "unanswered",
        }
    }
}

impl Connection {
    fn new(segment: &Segment<'_>, server_ports: &dyn Fn(u16) -> bool) -> Connection {
        let (client, server, oriented) = roles(segment, server_ports);
        Connection {
            client,
            server,
            oriented,
            handshake: Handshake::default(),
            advertised: Advertised::default(),
            refused: false,
            first_ns: segment.time_ns,
            last_ns: segment.time_ns,
            first_frame: segment.frame,
            last_frame: segment.frame,
            last_data_ns: None,
            streams: Reassembly::default(),
            samples: Vec::new(),
        }
    }

    pub fn state(&self) -> State {
        let Handshake { syn_ns, syn_ack_ns, .. } = self.handshake;
        match (syn_ns, syn_ack_ns) {
            (Some(_), None) if self.refused => State::Refused,
            (Some(_), None) if self.last_data_ns.is_none() => State::Unanswered,
            (None, None) => State::Running,
            _ => State::Complete,
        }
    }

    /// Which side sent this segment.
    pub fn side(&self, segment: &Segment<'_>) -> Side {
        if segment.source == self.client { Side::Client } else { Side::Server }
    }

    /// The next segment of this connection; see [`Reassembly::accept`].
    pub fn accept<'a>(&mut self, segment: &Segment<'a>) -> Accepted<'a> {
        let side = self.side(segment);
        self.handshake.note(side, segment);
        self.advertised.note(side, segment);
        if side == Side::Server && segment.flags.has(Flags::RST) {
            self.refused |= self.handshake.syn_ack_ns.is_none();
        }
        self.last_ns = self.last_ns.max(segment.time_ns);
        self.last_frame = segment.frame;
        let accepted = self.streams.accept(side, segment);
        if segment.wire_length > 0 {
            self.last_data_ns = self.last_data_ns.max(Some(segment.time_ns));
        }
        if let Some(sample) = accepted.sample {
            self.samples.push((side.other(), sample));
        }
        accepted
    }

    /// What was assumed to be the client turned out to be the server.
    pub fn swap_roles(&mut self) {
        std::mem::swap(&mut self.client, &mut self.server);
        self.streams.swap_sides();
        self.advertised.swap_sides();
        for (side, _) in &mut self.samples {
            *side = side.other();
        }
    }
}

impl Handshake {
    fn note(&mut self, side: Side, segment: &Segment<'_>) {
        let time = Some(segment.time_ns);
        match (side, segment.flags.has(Flags::SYN), segment.flags.has(Flags::ACK)) {
            (Side::Client, true, false) => {
                self.retransmitted |= self.syn_ns.is_some();
                self.syn_ns = self.syn_ns.or(time);
            }
            (Side::Server, true, true) => {
                self.retransmitted |= self.syn_ack_ns.is_some();
                self.syn_ack_ns = self.syn_ack_ns.or(time);
            }
            (Side::Client, false, true) if self.syn_ack_ns.is_some() => self.ack_ns = self.ack_ns.or(time),
            _ => {}
        }
    }
}

/// Client, server, and whether that is certain.
fn roles(segment: &Segment<'_>, is_server_port: &dyn Fn(u16) -> bool) -> (Endpoint, Endpoint, bool) {
    let (source, destination) = (segment.source, segment.destination);
    if segment.flags.has(Flags::SYN) {
        let answer = segment.flags.has(Flags::ACK);
        return if answer { (destination, source, true) } else { (source, destination, true) };
    }
    let source_serves = match (is_server_port(source.port), is_server_port(destination.port)) {
        (true, false) => true,
        (false, true) => false,
        _ => source.port < destination.port,
    };
    if source_serves { (destination, source, false) } else { (source, destination, false) }
}

/// All connections of a recording, in Wireshark's numbering.
#[derive(Default)]
pub struct Connections {
    all: Vec<Connection>,
    newest: HashMap<(Endpoint, Endpoint), usize>,
    /// The connection of the last segment: most often the next one's too.
    last: Option<((Endpoint, Endpoint), usize)>,
}

impl Connections {
    /// The number of the connection that this segment belongs to; a new one where it begins one.
    pub fn number_of(&mut self, segment: &Segment<'_>, is_server_port: &dyn Fn(u16) -> bool) -> usize {
        let key = ordered(segment.source, segment.destination);
        let known = match self.last {
            Some((last, number)) if last == key => Some(number),
            _ => self.newest.get(&key).copied(),
        };
        let number = match known {
            Some(number) if !self.begins_anew(number, segment) => number,
            _ => self.add(key, Connection::new(segment, is_server_port)),
        };
        self.last = Some((key, number));
        number
    }

    /// Ports are used again: a SYN with another initial sequence number is another connection.
    fn begins_anew(&self, number: usize, segment: &Segment<'_>) -> bool {
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        let connection = &self.all[number];
        opens && connection.streams.is_new_connection(connection.side(segment), segment.sequence)
    }

    fn add(&mut self, key: (Endpoint, Endpoint), connection: Connection) -> usize {
        let number = self.all.len();
        self.all.push(connection);
        self.newest.insert(key, number);
        number
    }

    pub fn get_mut(&mut self, number: usize) -> &mut Connection {
        &mut self.all[number]
    }

    pub fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.all.iter()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

fn ordered(one: Endpoint, other: Endpoint) -> (Endpoint, Endpoint) {
    if one <= other { (one, other) } else { (other, one) }
}
