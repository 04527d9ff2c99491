//! The table of TCP connections, numbered as Wireshark numbers them (`tcp.stream`).

use std::collections::HashMap;
use std::net::IpAddr;

use super::advertised::Advertised;
use super::anomalies::Anomalies;
use super::clock::Clocks;
use super::duplicates::Duplicates;
use super::pace::{self, Pace};
use super::readings::Readings;
use super::reassembly::{Accepted, Reassembly, Sending};
use super::rtt::{Acknowledged, RttSample};
use super::samples::Samples;
use crate::ledger::Share;
use crate::packet::{Endpoint, Flags, Segment};
use crate::side::Side;
use crate::stream::Chunk;

/// One TCP connection: who, when, and its two streams.
#[derive(Debug)]
pub struct Connection {
    pub client: Endpoint,
    pub server: Endpoint,
    /// The handshake showed who the client is; otherwise it was assumed from the ports.
    pub oriented: bool,
    pub handshake: Handshake,
    /// When the client, and the server, first said that it sends no more.
    pub fin_ns: [Option<i64>; 2],
    pub advertised: Advertised,
    pub refused: bool,
    pub first_ns: i64,
    pub last_ns: i64,
    pub first_frame: u64,
    pub last_frame: u64,
    pub last_data_ns: Option<i64>,
    pub streams: Reassembly,
    /// What it shows of the RTT while it lasts.
    pub samples: Samples,
    /// The fastest acknowledgment of each side's data that carried data itself: the RTT to the other side is no longer.
    pub fastest_answer_ns: [Option<i64>; 2],
    /// What the client's clock, and the server's, read.
    pub readings: [Readings; 2],
    /// Packets captured of the client and of the server, duplicates not counted.
    pub packets: [u64; 2],
    /// Most connections have none.
    anomalies: Option<Box<Anomalies>>,
    duplicates: Duplicates,
    clocks: Clocks,
    known_steps: u32,
    paces: [Pace; 2],
    /// What of it is in the sum of all that is kept.
    pub counted: Share,
}

/// What a segment brought.
pub struct Arrival<'a> {
    /// Bytes that can be read now.
    pub chunk: Option<Chunk<'a>>,
    /// It repeats bytes that were sent before.
    pub retransmission: bool,
    /// How long a delayed acknowledgment had held it back; 0 for most.
    pub stalled_ns: i64,
    /// What its acknowledgment tells of the RTT to its sender.
    pub sample: Option<RttSample>,
}

/// When the packets of the TCP handshake passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    pub syn_ns: Option<i64>,
    pub syn_ack_ns: Option<i64>,
    pub ack_ns: Option<i64>,
    /// A SYN or SYN/ACK was sent more than once: the times may belong to different duplicates.
    pub retransmitted: bool,
    /// The half that each side answers cannot be timed: what it answers was sent more than once before it did, or the
    /// capture's clock was set meanwhile.
    ambiguous: [bool; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its beginning was captured.
    Complete,
    /// It was there before the capture began.
    Running,
    /// The server answered the SYN with a RST.
    Refused,
    /// The SYN was not answered: filtered, or no such host.
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
            fin_ns: [None; 2],
            advertised: Advertised::default(),
            refused: false,
            first_ns: segment.time_ns,
            last_ns: segment.time_ns,
            first_frame: segment.frame,
            last_frame: segment.frame,
            last_data_ns: None,
            streams: Reassembly::default(),
            samples: Samples::default(),
            fastest_answer_ns: [None; 2],
            readings: Default::default(),
            packets: [0; 2],
            anomalies: None,
            duplicates: Duplicates::default(),
            clocks: Clocks::default(),
            known_steps: 0,
            paces: [Pace::default(); 2],
            counted: Share::default(),
        }
    }

    /// What it takes, with its place in the table; bytes that wait and RTT samples are counted apart.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        let readings: usize = self.readings.iter().map(Readings::kept_bytes).sum();
        let anomalies = self.anomalies.as_ref().map_or(0, |_| size_of::<Anomalies>());
        size_of::<Connection>() + PLACE + anomalies + self.duplicates.kept_bytes() + readings
    }

    pub fn anomalies(&self) -> Anomalies {
        self.anomalies.as_deref().copied().unwrap_or_default()
    }

    #[cold]
    fn anomalies_mut(&mut self) -> &mut Anomalies {
        self.anomalies.get_or_insert_default()
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

    /// Which side sent this segment, if it travels between the same two ends.
    #[inline]
    fn sender(&self, segment: &Segment<'_>) -> Option<Side> {
        if segment.source == self.client && segment.destination == self.server {
            Some(Side::Client)
        } else {
            (segment.source == self.server && segment.destination == self.client).then_some(Side::Server)
        }
    }

    /// Which side sent this segment of the connection.
    #[inline]
    fn side(&self, segment: &Segment<'_>) -> Side {
        if segment.source == self.client { Side::Client } else { Side::Server }
    }

    /// The next segment of this connection, sent by `side`; see [`Reassembly::accept`]. A copy of a packet that was there before brings
    /// nothing. `fresh`: see [`Connection::is_fresh`].
    #[inline]
    pub fn accept<'a>(&mut self, side: Side, segment: &Segment<'a>, fresh: bool) -> Option<Arrival<'a>> {
        if !fresh && self.duplicates.hold(side, segment) {
            self.anomalies_mut().duplicates.add(segment.frame);
            return None;
        }
        self.duplicates.remember(side, segment);
        self.packets[side as usize] += 1;
        if self.handshake.goes_on_with(segment) {
            self.handshake(side, segment);
        }
        if segment.flags.0 & (Flags::FIN | Flags::RST) != 0 {
            self.streams.shrink();
        }
        if segment.flags.has(Flags::FIN) {
            self.fin_ns[side as usize].get_or_insert(segment.time_ns);
        }
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
        let sample = match accepted.acknowledged {
            Some(Acknowledged::Sample(sample)) => {
                self.acknowledged(side.other(), sample);
                Some(sample)
            }
            Some(Acknowledged::Bound(rtt_ns)) => {
                let fastest_ns = &mut self.fastest_answer_ns[side.other() as usize];
                *fastest_ns = Some(fastest_ns.map_or(rtt_ns, |fastest_ns| fastest_ns.min(rtt_ns)));
                None
            }
            None => None,
        };
        let stalled_ns = self.sent(side, segment, &accepted);
        self.headers(side, segment);
        let retransmission = accepted.sending == Sending::Again;
        Some(Arrival { chunk: accepted.chunk, retransmission, stalled_ns, sample })
    }

    /// Does the segment bring something new? Then it was sent after the others of its side.
    #[inline]
    pub fn is_fresh(&self, side: Side, segment: &Segment<'_>) -> bool {
        !self.streams.brings_nothing_new(side, segment)
    }

    /// What to add to the times from this segment on, beside `offset_ns`: the capture's clock was set before it.
    #[inline]
    pub fn clock_step(&mut self, side: Side, segment: &Segment<'_>, offset_ns: i64, fresh: bool) -> Option<i64> {
        let time_ns = segment.time_ns.saturating_add(offset_ns);
        let step = self.clocks.step(side, time_ns, segment.timestamp, fresh);
        if let Some(more_ns) = step {
            self.anomalies_mut().clock_stepped(segment.frame, more_ns);
        }
        step
    }

    /// Has the clock been set since the connection's last packet, when this many steps were known? Then nothing that
    /// is under way can be timed.
    #[inline]
    pub fn forget_times_before(&mut self, steps: u32) -> bool {
        let is_new = std::mem::replace(&mut self.known_steps, steps) != steps;
        if is_new {
            self.streams.forget_times();
            self.handshake.forget_times();
            self.paces = [Pace::default(); 2];
        }
        is_new
    }

    fn handshake(&mut self, side: Side, segment: &Segment<'_>) {
        let again = self.handshake.note(side, segment);
        let silent_ns = segment.time_ns.saturating_sub(self.last_ns);
        if again && silent_ns >= pace::TIMEOUT_NS {
            self.anomalies_mut().timed_out(segment.frame, silent_ns);
        }
        if let Some(rtt_ns) = self.handshake.rtt_ns() {
            self.streams.soonest_retransmission_ns = rtt_ns;
        }
    }

    /// `side`'s data was acknowledged by a packet that carries none.
    fn acknowledged(&mut self, side: Side, sample: RttSample) {
        if self.streams.is_acknowledged(side) {
            let far_ns = self.bound_ns(side.other());
            self.paces[side as usize].acknowledged(sample, far_ns);
        }
    }

    /// Capture point → `side` → capture point takes no longer: as the handshake showed, or else its fastest answer.
    fn bound_ns(&self, side: Side) -> Option<i64> {
        self.handshake.half_ns(side).or(self.fastest_answer_ns[side.other() as usize])
    }

    /// What the data of the segment shows; how long a delayed acknowledgment had held them back.
    #[inline]
    fn sent(&mut self, side: Side, segment: &Segment<'_>, accepted: &Accepted<'_>) -> i64 {
        let (frame, time_ns) = (segment.frame, segment.time_ns);
        if accepted.duplicate_ack {
            self.anomalies_mut().duplicate_acks.add(frame);
        }
        if segment.wire_length == 0 {
            return 0;
        }
        self.paces[side.other() as usize].peer_sent();
        match accepted.sending {
            Sending::New => {
                self.readings[side as usize].note(segment);
                return self.sent_new(side, segment);
            }
            Sending::Again => {
                if let Some(silent_ns) = self.paces[side as usize].sent_again(time_ns) {
                    self.anomalies_mut().timed_out(frame, silent_ns);
                }
            }
            Sending::Overtaken => self.anomalies_mut().reordered.add(frame),
            Sending::Nothing => {}
        }
        0
    }

    /// How long a delayed acknowledgment had held the new data back.
    #[inline]
    fn sent_new(&mut self, side: Side, segment: &Segment<'_>) -> i64 {
        let near_ns = self.paces[side as usize].is_held().then(|| self.bound_ns(side)).flatten();
        let Some(stalled_ns) = self.paces[side as usize].sent_new(segment.time_ns, near_ns) else { return 0 };
        if stalled_ns > 0 {
            self.anomalies_mut().stalled(segment.frame, stalled_ns);
        }
        stalled_ns
    }

    /// What the headers alone show.
    #[inline]
    fn headers(&mut self, side: Side, segment: &Segment<'_>) {
        let length = segment.wire_length;
        if segment.payload.len() < length as usize {
            self.anomalies_mut().cut.add(segment.frame);
        }
        if self.advertised.maximum_segment_size(side.other()).is_some_and(|most| length > u32::from(most)) {
            self.anomalies_mut().offloaded.add(segment.frame);
        }
        let closes = segment.flags.0 & (Flags::SYN | Flags::FIN | Flags::RST) != 0;
        if segment.window == 0 && !closes {
            self.anomalies_mut().zero_windows.add(segment.frame);
        }
    }

    /// What was assumed to be the client turned out to be the server.
    pub fn swap_roles(&mut self) {
        std::mem::swap(&mut self.client, &mut self.server);
        self.streams.swap_sides();
        self.advertised.swap_sides();
        self.packets.swap(0, 1);
        self.fin_ns.swap(0, 1);
        self.readings.swap(0, 1);
        self.fastest_answer_ns.swap(0, 1);
        self.samples.swap_sides();
    }
}

impl Handshake {
    /// Can the segment be a part of it that is still to come, or come again?
    #[inline]
    fn goes_on_with(&self, segment: &Segment<'_>) -> bool {
        segment.flags.has(Flags::SYN) || (self.ack_ns.is_none() && self.syn_ack_ns.is_some())
    }

    /// Takes a segment; true for a SYN or SYN/ACK that was sent before.
    fn note(&mut self, side: Side, segment: &Segment<'_>) -> bool {
        let time = Some(segment.time_ns);
        let again = match (side, segment.flags.has(Flags::SYN), segment.flags.has(Flags::ACK)) {
            (Side::Client, true, false) => self.syn_ns.replace(self.syn_ns.unwrap_or(segment.time_ns)).is_some(),
            (Side::Server, true, true) => self.syn_ack_ns.replace(self.syn_ack_ns.unwrap_or(segment.time_ns)).is_some(),
            (Side::Client, false, true) if self.syn_ack_ns.is_some() => {
                self.ack_ns = self.ack_ns.or(time);
                false
            }
            _ => false,
        };
        self.retransmitted |= again;
        // What comes once more only after it was answered, leaves no doubt what was answered.
        self.ambiguous[side.other() as usize] |= again && self.answer_ns(side.other()).is_none();
        again
    }

    /// The capture's clock was set: a half that is under way cannot be timed.
    fn forget_times(&mut self) {
        for (asked_ns, side) in [(self.syn_ns, Side::Server), (self.syn_ack_ns, Side::Client)] {
            self.ambiguous[side as usize] |= asked_ns.is_some() && self.answer_ns(side).is_none();
        }
    }

    /// When `side` answered: with its SYN/ACK or its ACK.
    fn answer_ns(&self, side: Side) -> Option<i64> {
        match side {
            Side::Client => self.ack_ns,
            Side::Server => self.syn_ack_ns,
        }
    }

    /// SYN → ACK, where each half can be timed.
    fn rtt_ns(&self) -> Option<i64> {
        Some(self.half_ns(Side::Client)? + self.half_ns(Side::Server)?)
    }

    /// Between the capture point and one side, there and back: what that side took to answer in the handshake.
    pub fn half_ns(&self, side: Side) -> Option<i64> {
        let asked_ns = match side {
            Side::Client => self.syn_ack_ns,
            Side::Server => self.syn_ns,
        };
        let half_ns = self.answer_ns(side)?.checked_sub(asked_ns?)?;
        (half_ns >= 0 && !self.ambiguous[side as usize]).then_some(half_ns)
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

/// What a place in the tables of connections takes.
const PLACE: usize = 160;

/// All connections of a recording, in Wireshark's numbering.
#[derive(Default)]
pub struct Connections {
    all: Vec<Connection>,
    newest: HashMap<Ends, u32, ahash::RandomState>,
    /// The connection of the last segment: most often the next one's too.
    last: usize,
}

impl Connections {
    /// The number of the connection that this segment belongs to, and who sent it; a new one where it begins one, if there
    /// is room.
    #[inline]
    pub fn number_of(
        &mut self,
        segment: &Segment<'_>,
        has_room: bool,
        is_server_port: &dyn Fn(u16) -> bool,
    ) -> Option<(usize, Side)> {
        let known = match self.all.get(self.last).and_then(|last| last.sender(segment)) {
            Some(side) => Some((self.last, side)),
            None => self.newest.get(&Ends::of(segment)).map(|&number| {
                let number = number as usize;
                (number, self.all[number].side(segment))
            }),
        };
        let found = match known {
            Some((number, side)) if !self.begins_anew(number, side, segment) => (number, side),
            _ if !has_room => return None,
            _ => self.add(segment, is_server_port),
        };
        self.last = found.0;
        Some(found)
    }

    /// Ports are used again: a SYN with another initial sequence number is another connection.
    #[inline]
    fn begins_anew(&self, number: usize, side: Side, segment: &Segment<'_>) -> bool {
        let opens = segment.flags.0 & (Flags::SYN | Flags::ACK) == Flags::SYN;
        opens && self.all[number].streams.is_new_connection(side, segment.sequence)
    }

    fn add(&mut self, segment: &Segment<'_>, is_server_port: &dyn Fn(u16) -> bool) -> (usize, Side) {
        let number = self.all.len();
        let connection = Connection::new(segment, is_server_port);
        let side = connection.side(segment);
        self.all.push(connection);
        self.newest.insert(Ends::of(segment), number as u32);
        (number, side)
    }

    #[inline]
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

/// The two ends of a connection, whoever of them sent: equal for both directions, and quick to hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ends {
    addresses: [u128; 2],
    /// Both ports, and whether each address is one of IPv6.
    ports: u64,
}

impl Ends {
    fn of(segment: &Segment<'_>) -> Ends {
        let number = |end: Endpoint| match end.address {
            IpAddr::V4(address) => (u128::from(address.to_bits()), u64::from(end.port)),
            IpAddr::V6(address) => (address.to_bits(), u64::from(end.port) | 1 << 16),
        };
        let (source, destination) = (number(segment.source), number(segment.destination));
        let (low, high) = if source <= destination { (source, destination) } else { (destination, source) };
        Ends { addresses: [low.0, high.0], ports: low.1 << 32 | high.1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Segment;
    use crate::stream::tests::segment;

    fn turned(segment: Segment<'static>) -> Segment<'static> {
        Segment { source: segment.destination, destination: segment.source, ..segment }
    }

    fn numbers(segments: &[Segment<'static>]) -> Vec<usize> {
        let mut connections = Connections::default();
        let mut number = |segment| {
            let (number, side) = connections.number_of(segment, true, &|port| port == 3306).unwrap();
            let connection = connections.get_mut(number);
            let fresh = connection.is_fresh(side, segment);
            connection.accept(side, segment, fresh);
            number
        };
        segments.iter().map(&mut number).collect()
    }

    #[test]
    fn both_directions_are_one_connection_whatever_lies_between_them() {
        let one = segment(Flags::ACK);
        let other = Segment { source: Endpoint { port: 40_001, ..one.source }, ..one };
        assert_eq!(numbers(&[one, other, turned(one), turned(other), one]), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn an_address_of_ipv4_is_not_the_one_of_ipv6_with_the_same_number() {
        let one = segment(Flags::ACK);
        let ipv6 = |end: Endpoint| match end.address {
            IpAddr::V4(address) => {
                Endpoint { address: std::net::Ipv6Addr::from(u128::from(address.to_bits())).into(), ..end }
            }
            IpAddr::V6(_) => end,
        };
        let other = Segment { source: ipv6(one.source), destination: ipv6(one.destination), ..one };
        assert_eq!(numbers(&[one, other, turned(one)]), [0, 1, 0]);
    }

    #[test]
    fn a_syn_with_another_number_on_the_same_ports_is_another_connection() {
        let syn = segment(Flags::SYN);
        assert_eq!(numbers(&[syn, syn, Segment { sequence: 9, ..syn }, turned(segment(Flags::ACK))]), [0, 0, 1, 1]);
    }

    #[test]
    fn a_short_connection_takes_little() {
        let mut connections = Connections::default();
        let syn = segment(Flags::SYN);
        let segments = [syn, turned(segment(Flags::SYN | Flags::ACK)), segment(Flags::ACK), segment(Flags::FIN)];
        for segment in &segments {
            let (number, side) = connections.number_of(segment, true, &|port| port == 3306).unwrap();
            let connection = connections.get_mut(number);
            connection.accept(side, segment, true);
        }
        assert!(connections.get_mut(0).kept_bytes() <= 1_400);
    }
}
