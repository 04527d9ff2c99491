//! One TCP connection: who talks, and what each of its segments brings.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;

use super::advertised::Advertised;
use super::anomalies::Anomalies;
use super::clock::Clocks;
use super::duplicates::Duplicates;
use super::handshake::Handshake;
use super::pace::{self, Kind, Pace, Signal};
use super::readings::Readings;
use super::reassembly::{Accepted, Reassembly, Sending};
use super::rtt::{Acknowledged, RttSample};
use super::samples::Samples;
use super::segments::Segments;
use super::taps::{OtherTaps, Tap};
use crate::ledger::Share;
use crate::packet::{Endpoint, Flags, Segment};
use crate::side::Side;
use crate::stream::Chunk;

/// What the option for timestamps takes of each segment (RFC 7323).
const TIMESTAMPS_BYTES: u32 = 12;

/// One TCP connection: who, when, and its two streams.
#[derive(Debug)]
pub struct Connection {
    pub client: Endpoint,
    pub server: Endpoint,
    /// The tap that shows it, as far as several do.
    pub tap: u16,
    /// The tap that brought the last of each side.
    brought_by: [u16; 2],
    /// This segment was seen elsewhere than those before it: times of two places make no RTT.
    elsewhere: bool,
    /// All segments are, since the tap that showed its beginning shows it no more.
    moved: bool,
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
    /// Those that carry data.
    pub data_packets: [u64; 2],
    /// The same over time; nothing where none did.
    pub segments: Option<Box<Segments>>,
    /// Most connections have none.
    anomalies: Option<Box<Anomalies>>,
    duplicates: Duplicates,
    /// Most connections passed one tap.
    other_taps: Option<Box<OtherTaps>>,
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
    /// What had kept it back; a stall is told behind its bytes.
    pub signals: [Option<Signal>; 2],
    pub stall: Option<Signal>,
    /// What its acknowledgment tells of the RTT to its sender.
    pub sample: Option<RttSample>,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum State {
        /// Its beginning was captured.
        Complete = "complete",
        /// It was there before the capture began.
        Running = "running",
        /// The server answered the SYN with a RST.
        Refused = "refused",
        /// The SYN was not answered: filtered, or no such host.
        Unanswered = "unanswered",
    }
}

impl Connection {
    pub(super) fn new(segment: &Segment<'_>, server_ports: &dyn Fn(u16) -> bool) -> Connection {
        let (client, server, oriented) = roles(segment, server_ports);
        Connection {
            client,
            server,
            tap: segment.tap,
            brought_by: [segment.tap; 2],
            elsewhere: false,
            moved: false,
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
            data_packets: [0; 2],
            segments: None,
            anomalies: None,
            duplicates: Duplicates::default(),
            other_taps: None,
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
        size_of::<Connection>()
            + PLACE
            + self.streams.spare_bytes()
            + anomalies
            + self.duplicates.kept_bytes()
            + self.segments.as_ref().map_or(0, |segments| size_of::<Segments>() + segments.kept_bytes())
            + readings
    }

    pub fn anomalies(&self) -> &Anomalies {
        static NONE: LazyLock<Anomalies> = LazyLock::new(Anomalies::default);
        self.anomalies.as_deref().unwrap_or_else(|| &NONE)
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
    pub(super) fn sender(&self, segment: &Segment<'_>) -> Option<Side> {
        if segment.source == self.client && segment.destination == self.server {
            Some(Side::Client)
        } else {
            (segment.source == self.server && segment.destination == self.client).then_some(Side::Server)
        }
    }

    /// Which side sent this segment of the connection.
    #[inline]
    pub(super) fn side(&self, segment: &Segment<'_>) -> Side {
        if segment.source == self.client { Side::Client } else { Side::Server }
    }

    /// The next segment of this connection, sent by `side`; see [`Reassembly::accept`]. A copy of a packet that was there before brings
    /// nothing. `fresh`: see [`Connection::is_fresh`].
    #[inline]
    pub fn accept<'a>(&mut self, side: Side, segment: &Segment<'a>, fresh: bool) -> Option<Arrival<'a>> {
        if !fresh && self.duplicates.has(side, segment) {
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
        if segment.flags.has(Flags::RST) {
            self.refused |= side == Side::Server && self.handshake.syn_ack_ns.is_none();
            self.anomalies_mut().reset_ns[side as usize].get_or_insert(segment.time_ns);
        }
        self.last_ns = self.last_ns.max(segment.time_ns);
        self.last_frame = segment.frame;
        let accepted = self.streams.accept(side, segment);
        if segment.wire_length > 0 && accepted.sending != Sending::KeepAlive {
            self.last_data_ns = self.last_data_ns.max(Some(segment.time_ns));
            self.data_packets[side as usize] += 1;
            self.segments.get_or_insert_default().sent(side, segment.time_ns);
        }
        if self.anomalies.as_mut().is_some_and(|anomalies| anomalies.acknowledged(side.other(), segment))
            && let Some(segments) = &mut self.segments
        {
            segments.had_arrived(side.other());
        }
        let sample = match accepted.acknowledged.filter(|_| !self.elsewhere) {
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
        let (signals, stall) = match accepted.sending {
            Sending::Again => ([Some(self.sent_again(side, segment)), None], None),
            _ => (self.held(side, segment, &accepted), self.sent(side, segment, &accepted)),
        };
        self.headers(side, segment);
        Some(Arrival { chunk: accepted.chunk, signals, stall, sample })
    }

    /// The packets of it that were captured last, without their bytes.
    pub fn shown_last(&self) -> Vec<(Side, Segment<'static>)> {
        let of = |side| {
            let (source, destination) = match side {
                Side::Client => (self.client, self.server),
                Side::Server => (self.server, self.client),
            };
            Segment { source, destination, ..NOTHING }
        };
        self.duplicates.shown_last(of).collect()
    }

    /// Another tap shows the same packets, so much later: they count as this one saw them.
    #[cold]
    pub fn leave_out(&mut self, tap: u16, side: Side, later_ns: i64) {
        self.other_taps.get_or_insert_default().add(tap, side, later_ns);
    }

    /// A segment that was left out: its bytes are there where the connection's own tap has missed them.
    #[cold]
    pub fn spare(&mut self, side: Side, segment: &Segment<'_>) {
        let time_ns = self.other_taps.as_ref().map_or(segment.time_ns, |others| others.time_ns(side, segment));
        self.streams.spare(side, &Segment { time_ns, ..*segment });
    }

    /// Is the segment one that another tap saw? It counts as that one saw it. `alone`: no other tap shows anything now.
    #[inline]
    pub fn leaves_out(&mut self, side: Side, segment: &Segment<'_>, fresh: bool, alone: bool) -> bool {
        if !alone {
            self.streams.expect_spare();
        }
        // Most connections passed one tap.
        if self.other_taps.is_none() && self.brought_by[side as usize] == segment.tap {
            self.elsewhere = self.moved;
            return false;
        }
        let left_out = self.is_of_another_tap(side, segment, fresh, alone);
        if left_out {
            self.anomalies_mut().duplicates.add(segment.frame);
        } else {
            let before = std::mem::replace(&mut self.brought_by[side as usize], segment.tap);
            self.elsewhere = self.moved || before != segment.tap;
        }
        left_out
    }

    #[cold]
    fn is_of_another_tap(&mut self, side: Side, segment: &Segment<'_>, fresh: bool, alone: bool) -> bool {
        let others = self.other_taps.as_mut().filter(|_| !alone);
        match others.map_or(if alone { Tap::Only } else { Tap::This }, |others| others.look(segment, fresh)) {
            Tap::Other => return true,
            Tap::Only => {
                self.moved |= self.other_taps.take().is_some_and(|others| others.are_elsewhere());
                if std::mem::replace(&mut self.tap, segment.tap) != segment.tap {
                    self.streams.use_spare();
                }
            }
            Tap::This => (),
        }
        // What came before is known, even where nothing tells a packet from its copy.
        !fresh && self.brought_by[side as usize] != segment.tap
    }

    /// Does the segment bring something new? Then it was sent after the others of its side.
    #[inline]
    pub fn is_fresh(&self, side: Side, segment: &Segment<'_>) -> bool {
        !self.streams.brings_nothing_new(side, segment)
    }

    /// What to add to the times from this segment on, beside `offset_ns`: the clock where it was captured was set before it.
    #[inline]
    pub fn clock_step(
        &mut self,
        side: Side,
        place: u16,
        segment: &Segment<'_>,
        offset_ns: i64,
        fresh: bool,
    ) -> Option<i64> {
        let time_ns = segment.time_ns.saturating_add(offset_ns);
        let step = self.clocks.step((side, place), time_ns, segment.timestamp, fresh);
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
            self.anomalies_mut().timed_out(segment.frame, segment.time_ns, silent_ns);
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
    fn sent(&mut self, side: Side, segment: &Segment<'_>, accepted: &Accepted<'_>) -> Option<Signal> {
        let frame = segment.frame;
        if accepted.duplicate_ack {
            self.anomalies_mut().duplicate_acks.add(frame);
        }
        if segment.wire_length == 0 {
            return None;
        }
        let acknowledges_all = self.streams.is_acknowledged(side.other());
        self.paces[side.other() as usize].peer_sent(acknowledges_all);
        match accepted.sending {
            Sending::New => {
                self.readings[side as usize].note(segment);
                return self.sent_new(side, segment);
            }
            Sending::Overtaken => self.anomalies_mut().overtaken(side, frame),
            Sending::Again | Sending::KeepAlive | Sending::Nothing => {}
        }
        None
    }

    /// How long the time-out lasted after which these data are sent again, as far as it is not counted yet.
    fn sent_again(&mut self, side: Side, segment: &Segment<'_>) -> Signal {
        let has_arrived = self.streams.is_acknowledged(side);
        let acknowledges_all = self.streams.is_acknowledged(side.other());
        self.anomalies_mut().sent_again(side, segment, has_arrived);
        if let Some(segments) = &mut self.segments {
            segments.again(side, segment.time_ns, has_arrived);
        }
        self.paces[side.other() as usize].peer_sent(acknowledges_all);
        let silent_ns = self.paces[side as usize].sent_again(segment.time_ns);
        let timed_out = |silent_ns| self.anomalies_mut().timed_out(segment.frame, segment.time_ns, silent_ns);
        Signal { kind: Kind::SentAgain, ns: silent_ns.map_or(0, timed_out) }
    }

    /// How long new data waited for acknowledgments, and for their sender's pace.
    #[inline]
    fn held(&mut self, side: Side, segment: &Segment<'_>, accepted: &Accepted<'_>) -> [Option<Signal>; 2] {
        if segment.wire_length == 0 || accepted.sending != Sending::New {
            return [None; 2];
        }
        let rtt_ns = self.handshake.rtt_ns();
        let is_full = self.is_full(segment);
        let pace = &mut self.paces[side as usize];
        let signals = [pace.silent(segment.time_ns, rtt_ns), pace.paced(segment.time_ns, rtt_ns)];
        pace.flies(segment.time_ns, is_full);
        signals
    }

    /// As long as segments of the connection can be: its sender had as much to send.
    #[inline]
    fn is_full(&self, segment: &Segment<'_>) -> bool {
        let most = [Side::Client, Side::Server].map(|side| self.advertised.maximum_segment_size(side));
        let [Some(client), Some(server)] = most else { return false };
        let options = if segment.timestamp.is_some() { TIMESTAMPS_BYTES } else { 0 };
        let full = u32::from(client.min(server)).saturating_sub(options);
        full > 0 && segment.wire_length.is_multiple_of(full)
    }

    /// How long a delayed acknowledgment had held the new data back.
    #[inline]
    fn sent_new(&mut self, side: Side, segment: &Segment<'_>) -> Option<Signal> {
        let near_ns = self.paces[side as usize].is_held().then(|| self.bound_ns(side)).flatten();
        let stall = self.paces[side as usize].sent_new(segment.time_ns, near_ns)?;
        self.anomalies_mut().stalled(segment.frame, stall.ns);
        Some(stall)
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
            self.anomalies_mut().stopped(side, segment.frame);
        }
    }

    /// What was assumed to be the client turned out to be the server.
    pub fn swap_roles(&mut self) {
        std::mem::swap(&mut self.client, &mut self.server);
        self.streams.swap_sides();
        self.advertised.swap_sides();
        self.packets.swap(0, 1);
        self.data_packets.swap(0, 1);
        if let Some(segments) = &mut self.segments {
            segments.swap_sides();
        }
        self.fin_ns.swap(0, 1);
        self.readings.swap(0, 1);
        self.fastest_answer_ns.swap(0, 1);
        self.samples.swap_sides();
        if let Some(anomalies) = &mut self.anomalies {
            anomalies.swap_sides();
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

/// A segment that says nothing.
const NOTHING: Segment<'static> = {
    let nowhere = Endpoint { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), port: 0 };
    Segment {
        frame: 0,
        time_ns: 0,
        tap: 0,
        source: nowhere,
        destination: nowhere,
        identification: 0,
        sequence: 0,
        acknowledgment: 0,
        flags: Flags(0),
        window: 0,
        maximum_segment_size: None,
        window_scale: None,
        timestamp: None,
        echo: None,
        came_twice: false,
        payload: &[],
        wire_length: 0,
    }
};

/// What a place in the tables of connections takes.
const PLACE: usize = 160;
