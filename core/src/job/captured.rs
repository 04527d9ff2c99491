//! Cuts what was captured into intervals of which none overlaps another one of its connection, and divides their time.

use std::collections::BTreeMap;

use super::UNSEEN;
use super::attribute::{Kind, Parts, Sum, attribute};
use super::exchange::{Exchange, Exchanges, Visit, walk};
use super::losses::{Losses, Usable};
use super::pieces::Pieces;
use super::recorded::{Connections, Job, Phases};
use super::shared_time::{SharedTime, side_by_side};
use super::timed::Timed;

/// What few exchanges have.
#[derive(Clone, Copy, Default)]
struct LossAndStall {
    stalled: i64,
    lost: i64,
    request_stalled: i64,
    service_loss: i64,
    response_stalled: i64,
    response_loss: i64,
}

/// A handshake, or a close that waits for the server's FIN.
struct HandshakeOrClose {
    connection: u32,
    begin: i64,
    end: i64,
    /// So many round trips, which take so long each.
    trips: f64,
    phase: u32,
}

/// Intervals of the connections of a recording, cut into their pieces.
struct Intervals {
    begin: Vec<i64>,
    request: Vec<i64>,
    network: Vec<i64>,
    service: Vec<i64>,
    response: Vec<i64>,
    rare: BTreeMap<u32, LossAndStall>,
    kinds: Vec<Kind>,
    connection: Vec<u32>,
    phase: Vec<u32>,
    round_trips: Vec<u32>,
    /// What of a row's round trips passed before the capture saw anything of them; empty where nothing did.
    unseen: Vec<i64>,
    handshakes: Vec<HandshakeOrClose>,
    closes: Vec<HandshakeOrClose>,
    under_way: Vec<i64>,
    usable: Usable,
    /// How long packets waited for a delayed ACK, of the exchanges before or in which one did.
    stalled: Vec<(u32, [f64; 2])>,
    probably_lost: Vec<u32>,
}

/// What an interval was given from the gap before it, and what of its first round trip lies in the handshake.
struct Borrowed {
    begin: i64,
    end: i64,
    stalled: i64,
    lost: i64,
    early: i64,
    unseen: i64,
}

/// Cut what overlaps on a connection (pipelined requests): an exchange begins where the one before it ended.
fn cut<E: Exchanges>(job: &Job<E>, runtime_ns: i64) -> Result<Intervals, E::Error> {
    let (phases, connections, rows) = (job.phases, job.connections, job.exchanges.count());
    let hides = (0..phases.count()).any(|phase| phases.near_ns(phase as u32) != 0);
    let column = || Vec::with_capacity(rows);
    let found = Intervals {
        begin: column(),
        request: column(),
        network: column(),
        service: column(),
        response: column(),
        rare: BTreeMap::new(),
        kinds: Vec::with_capacity(rows),
        connection: Vec::with_capacity(rows),
        phase: Vec::with_capacity(rows),
        round_trips: Vec::with_capacity(rows),
        unseen: Vec::with_capacity(if hides { rows } else { 0 }),
        handshakes: Vec::with_capacity(connections.count()),
        closes: Vec::new(),
        under_way: connections.under_way_ns.iter().copied().filter(|&until| until != UNSEEN).collect(),
        usable: Usable::default(),
        stalled: Vec::new(),
        probably_lost: Vec::new(),
    };
    let may_lose = job.exchanges.may_lose();
    let mut cut = Cut { phases, connections, runtime_ns, hides, may_lose, before: 0, ended: 0, is_first: true, found };
    walk(&job.exchanges, connections.count(), &mut cut)?;
    Ok(cut.found)
}

struct Cut<'a> {
    phases: &'a Phases,
    connections: &'a Connections,
    runtime_ns: i64,
    /// Something of a round trip passes unseen.
    hides: bool,
    may_lose: bool,
    /// What is before the next interval of the connection is over, and it does not end earlier than `ended`.
    before: i64,
    ended: i64,
    is_first: bool,
    found: Intervals,
}

impl Visit for Cut<'_> {
    fn open(&mut self, connection: usize, first: Option<&Exchange>) {
        let connections = self.connections;
        let start = connections.start_ns[connection].min(self.runtime_ns); // what begins later carries no data
        let over = connections.handshake_end(connection, first.map(Exchange::begin)).min(self.runtime_ns);
        self.found.handshakes.push(HandshakeOrClose {
            connection: connection as u32,
            begin: start,
            end: over,
            trips: connections.handshake_trips(connection),
            phase: connections.opening[connection],
        });
        self.before = over.max(connections.under_way_ns[connection]);
        (self.ended, self.is_first) = (self.before.max(start), true);
    }

    fn exchange(&mut self, exchange: &Exchange) {
        let borrowed = self.take(exchange);
        self.push(exchange, &borrowed);
        if self.may_lose {
            self.found.usable.add(exchange, self.connections.lost_nothing[exchange.connection as usize]);
        }
        if exchange.stalled != [0.0; 2] {
            self.found.stalled.push((exchange.row, exchange.stalled));
        }
        (self.before, self.ended, self.is_first) = (borrowed.end, borrowed.end, false);
    }

    /// The client waits until the server hangs up, too.
    fn close(&mut self, connection: usize, last: Option<&Exchange>) {
        let closed = self.connections.closed_ns[connection];
        let Some(last) = last.filter(|_| closed != UNSEEN) else { return };
        let phase = self.connections.closing[connection];
        let said = last.request_end.saturating_sub(self.phases.near_ns(phase));
        let begin = said.max(self.ended).min(closed);
        self.found.closes.push(HandshakeOrClose {
            connection: connection as u32,
            begin,
            end: closed,
            trips: 1.0,
            phase,
        });
    }
}

impl Cut<'_> {
    /// The interval of an exchange.
    fn take(&self, exchange: &Exchange) -> Borrowed {
        let (asked, near, before) = (exchange.begin(), self.phases.near_ns(exchange.phase), self.before);
        let (timer, stalled) = self.stalled(exchange, 0);
        let last = match exchange.is_sent_without_wait() {
            true if stalled > 0 => asked,
            true => UNSEEN,
            false => exchange.end(),
        };
        let end = last.max(self.ended);
        let mut begin = asked.max(before).min(end);
        let hidden = if exchange.round_trips > 0 { near } else { 0 };
        let (early, unseen) = if self.is_first { (0, hidden) } else { (hidden.min(begin - before), 0) };
        begin -= early;
        let lost = if near > 0 { exchange.lost_before.min(begin - before) } else { 0 };
        begin -= lost;
        let room = begin - before;
        let stalled = if stalled > 0 && room as f64 >= timer { stalled.min(room) } else { 0 };
        Borrowed { begin: begin - stalled, end, stalled, lost, early, unseen }
    }

    /// What was stalled before an exchange, or within it: the timer, and that with the round trip that was waited as
    /// well, as the acknowledgment travels, too.
    fn stalled(&self, exchange: &Exchange, place: usize) -> (f64, i64) {
        match exchange.stalled[place] {
            timer if timer > 0.0 => {
                let rtt = self.phases.baseline_ns[exchange.phase as usize];
                (timer, (timer + rtt).round_ties_even() as i64)
            }
            _ => (0.0, 0),
        }
    }

    /// Cut the interval of the next row into the stall before it, request, network, service and response.
    fn push(&mut self, exchange: &Exchange, borrowed: &Borrowed) {
        let (trips, phase) = (exchange.round_trips, exchange.phase);
        let length = borrowed.end - borrowed.begin - borrowed.stalled - borrowed.lost;
        let inner = length - borrowed.early;
        let request = exchange.request_end.saturating_sub(borrowed.end - inner).max(0).min(inner);
        let waited = exchange.waited.max(0).min(inner - request);
        let between = (i64::from(trips).max(1) - 1) * self.phases.near_ns(phase);
        let waited = waited + borrowed.early + between.min(inner - request - waited);
        let travelled = (f64::from(trips) * self.phases.baseline_ns[phase as usize]).round_ties_even() as i64;
        let mut pieces = Pieces::cut(length, request, waited, travelled - borrowed.unseen);
        let (timer, stalled) = self.stalled(exchange, 1);
        pieces.stall(timer, stalled);
        let Pieces { request, request_stalled, network, service, response_stalled, response, .. } = pieces;
        let found = &mut self.found;
        if borrowed.stalled + borrowed.lost + request_stalled + response_stalled != 0 {
            let rare = LossAndStall {
                stalled: borrowed.stalled,
                lost: borrowed.lost,
                request_stalled,
                response_stalled,
                ..LossAndStall::default()
            };
            found.rare.insert(exchange.row, rare);
        }
        found.begin.push(borrowed.begin);
        found.request.push(request);
        found.network.push(network);
        found.service.push(service);
        found.response.push(response);
        found.kinds.push(Kind::of(exchange.setup, exchange.complete));
        found.connection.push(exchange.connection);
        found.phase.push(phase);
        found.round_trips.push(trips);
        if self.hides {
            found.unseen.push(borrowed.unseen);
        }
    }
}

impl Intervals {
    /// Take out what is loss; `path` is that of each connection.
    fn lose(&mut self, path: &[u32]) {
        let Losses { found, probable } = std::mem::take(&mut self.usable).losses(&self.service, &self.response, path);
        for (row, [service, response]) in found {
            let rare = self.rare.entry(row).or_default();
            (rare.service_loss, rare.response_loss) = (service, response);
            self.service[row as usize] -= service;
            self.response[row as usize] -= response;
        }
        self.probably_lost = probable;
    }

    fn pieces(&self, row: usize, rare: LossAndStall) -> Pieces<i64> {
        Pieces {
            stalled: rare.stalled,
            lost: rare.lost,
            request: self.request[row],
            request_stalled: rare.request_stalled,
            network: self.network[row],
            service: self.service[row],
            service_loss: rare.service_loss,
            response_stalled: rare.response_stalled,
            response: self.response[row],
            response_loss: rare.response_loss,
        }
    }

    /// Each row's kind, when it begins and its pieces.
    fn rows(&self) -> impl Iterator<Item = (Kind, i64, Pieces<i64>)> {
        let mut others = self.rare.iter().peekable();
        (0..self.begin.len()).map(move |row| {
            let rare = others.next_if(|(other, _)| **other as usize == row).map(|(_, &rare)| rare);
            (self.kinds[row], self.begin[row], self.pieces(row, rare.unwrap_or_default()))
        })
    }

    /// Connections share the instants in which they are busy; `rows` are those of the exchanges.
    fn shared(&self, rows: impl Iterator<Item = (i64, i64)>, until: Option<i64>) -> SharedTime {
        let around = self.handshakes.iter().chain(&self.closes).map(|each| (each.begin, each.end));
        SharedTime::of(rows.chain(around).chain(self.under_way.iter().map(|&until| (0, until))), until)
    }

    /// From when to when each row goes on.
    fn spans(&self) -> impl Iterator<Item = (i64, i64)> {
        self.rows().map(|(_, begin, pieces)| (begin, begin + pieces.all()))
    }

    /// Which connections work beside others.
    fn overlapping_workers(&self, shared: &SharedTime) -> Vec<bool> {
        let overlaps = self
            .spans()
            .zip(&self.connection)
            .map(|((begin, end), &connection)| (connection as usize, end - begin, shared.share_of(begin, end - begin)));
        side_by_side(overlaps, self.handshakes.len())
    }

    /// What an added round trip is worth: workers that run side by side set each other no pace.
    ///
    /// A connection that overlaps others counts as busy between its requests as well (think time excepted), so that k workers share
    /// each instant by k however short their waits are; connections that are used one after the other add up.
    fn round_trip_weights(&self, shared: &SharedTime, think_ns: f64) -> (SharedTime, Vec<bool>) {
        let beside = self.overlapping_workers(shared);
        let works = self.rows().enumerate().map(|(row, (_, begin, pieces))| {
            let (connection, end) = (self.connection[row], begin + pieces.all());
            let same = self.connection.get(row + 1) == Some(&connection);
            let following = if same { self.begin[row + 1] } else { end };
            let works_on = beside[connection as usize] && (following - end) as f64 <= think_ns;
            (begin, if works_on { following.max(end) } else { end })
        });
        (self.shared(works, None), beside)
    }

    /// Let each worker's time follow that of the one before it: they share no instant.
    fn serialize_workers(&mut self, worker: &[u32]) {
        let mut reach: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
        let rows = self.spans().zip(&self.connection).map(|((begin, end), &of)| (of, begin, end));
        let around = self.handshakes.iter().chain(&self.closes).map(|each| (each.connection, each.begin, each.end));
        for (connection, begin, end) in rows.chain(around) {
            let (first, last) = reach.entry(worker[connection as usize]).or_insert((begin, end));
            (*first, *last) = (begin.min(*first), end.max(*last));
        }
        let all: i128 = reach.values().map(|&(first, last)| i128::from(last) - i128::from(first)).sum();
        if all > i128::from(i64::MAX / 4) {
            return; // no recording is so long: they share all the same
        }
        self.under_way.clear();
        let mut free = 0;
        for (first, last) in reach.values_mut() {
            let length = *last - *first;
            *first = free - *first;
            free += length;
        }
        let later = |connection: u32| reach[&worker[connection as usize]].0;
        self.begin.iter_mut().zip(&self.connection).for_each(|(begin, &of)| *begin += later(of));
        for each in self.handshakes.iter_mut().chain(&mut self.closes) {
            (each.begin, each.end) = (each.begin + later(each.connection), each.end + later(each.connection));
        }
    }
}

impl Intervals {
    /// Something was lost; something was stalled.
    fn loses_or_stalls(&self) -> [bool; 2] {
        let any = |of: fn(&LossAndStall) -> i64| self.rare.values().any(|rare| of(rare) != 0);
        [
            any(|rare| rare.lost | rare.service_loss | rare.response_loss),
            any(|rare| rare.stalled | rare.request_stalled | rare.response_stalled),
        ]
    }

    /// What a round trip of each row counts: shared ÷ own wait, of the whole interval where no wait was seen.
    fn weights(&self, pace: &SharedTime) -> Vec<f64> {
        let of_row = |(kind, begin, pieces): (Kind, i64, Pieces<i64>)| {
            let (waited, length) = (pieces.waited(), pieces.all());
            match waited > 0 && kind.is_whole() {
                true => ratio(pace.share_of(begin + pieces.asked(), waited), waited),
                false => ratio(pace.share_of(begin, length), length),
            }
        };
        self.rows().map(of_row).collect()
    }
}

/// Where the time went, and what that rests on: shared time, so that parallel work counts once.
#[derive(Default)]
pub struct Account {
    pub parts: Parts,
    /// Of each row, as those that follow: what it waited for the network and for the server.
    pub network: Vec<f64>,
    pub service: Vec<f64>,
    /// What retransmissions added to it; empty where nothing was lost.
    pub loss: Vec<f64>,
    /// How many packets were stalled, and what of that was the acknowledgments' way and not their timers.
    pub stalls: usize,
    pub stalls_network: Sum,
    /// As if nothing ran beside it: its service, what was lost of it, and stalled before its request and within.
    pub own_service: Vec<i64>,
    pub own_loss: Vec<i64>,
    pub own_stalled: [Vec<i64>; 2],
    /// The timers of these rows, before and within; and the rows of which no retransmission was captured.
    pub stalled: Vec<(u32, [f64; 2])>,
    pub probably_lost: Vec<u32>,
    /// Of each connection, whether it works beside others; empty where none does.
    pub beside: Vec<bool>,
    /// What a round trip counts: 1 alone, 1/k beside k − 1 busy others. Empty where all are alone.
    pub weight: Vec<f64>,
    pub handshakes: Waits,
    pub closes: Waits,
    pub timed: Timed,
}

/// Handshakes, or closes: of which connection, how often its client waited, what such a round trip counts, and what of
/// it was the network.
#[derive(Default)]
pub struct Waits {
    pub connection: Vec<u32>,
    pub trips: Vec<f64>,
    pub weight: Vec<f64>,
    pub network: Vec<f64>,
}

impl Waits {
    /// Add them up; `each` gets how long each took, and what of that was the network.
    fn of(
        all: &[HandshakeOrClose],
        phases: &Phases,
        parts: &mut Parts,
        [shared, pace]: [&SharedTime; 2],
        mut each: impl FnMut(&HandshakeOrClose, i64, f64),
    ) -> Waits {
        let mut waits = Waits::default();
        for around in all {
            let &HandshakeOrClose { connection, begin, end, trips, phase } = around;
            let length = end - begin;
            let worth = shared.share_of(begin, length);
            let weight = ratio(pace.share_of(begin, length), length);
            let network = (trips * phases.baseline_ns[phase as usize] * weight).min(worth);
            parts.set_up(worth, network);
            each(around, length, network);
            waits.connection.push(connection);
            waits.trips.push(trips);
            waits.weight.push(weight);
            waits.network.push(network);
        }
        waits
    }
}

/// Which part of its own time an interval has of the shared one.
fn ratio(shared: f64, own: i64) -> f64 {
    if own > 0 { shared / own as f64 } else { 1.0 }
}

/// Give each instant up to `runtime_ns` to its part; client time above `think_ns` is think time. In a `window` what
/// goes on behind it is worth nothing. Where the `worker` of each connection is known, only what one does shares
/// instants.
pub fn account<E: Exchanges>(
    job: &Job<E>,
    runtime_ns: i64,
    think_ns: f64,
    window: bool,
    worker: Option<&[u32]>,
) -> Result<Account, E::Error> {
    let mut intervals = cut(job, runtime_ns)?;
    intervals.lose(&job.connections.path);
    if let Some(worker) = worker {
        intervals.serialize_workers(worker);
    }
    let whole = intervals.shared(intervals.spans(), None);
    let paced = (!whole.alone()).then(|| intervals.round_trip_weights(&whole, think_ns));
    let within = window.then(|| intervals.shared(intervals.spans(), Some(runtime_ns)));
    let (shared, pace) = (within.as_ref().unwrap_or(&whole), paced.as_ref().map_or(&whole, |(pace, _)| pace));
    let mut account = Account::with_room_for(&intervals);
    let [lost, stalls] = intervals.loses_or_stalls();
    let (mut kinds, mut stalled) = ((0..).zip(&intervals.kinds), intervals.stalled.iter().peekable());
    let mut parts = attribute(intervals.rows(), shared, |own, worth| {
        let (row, kind) = kinds.next().map_or((0, Kind::Unknown), |(row, &kind)| (row, kind));
        let (normal, whole) = (kind == Kind::Work, kind.is_whole());
        let only = |stalls: bool, worth: f64| if stalls { worth } else { 0.0 };
        account.network.push(only(whole, worth.network));
        account.service.push(only(whole, worth.service));
        let (trips, phase) = (intervals.round_trips[row as usize], intervals.phase[row as usize]);
        let hidden = intervals.unseen.get(row as usize).copied().unwrap_or(0);
        if whole && account.timed.add(job.phases, phase, trips.into(), [hidden, own.waited()], worth.network) {
            account.timed.round_trips += u64::from(trips);
        }
        if lost {
            account.loss.push(only(normal, worth.loss()));
            account.own_loss.push(own.loss());
        }
        if !stalls {
            return;
        }
        let timers = stalled.next_if(|stalled| stalled.0 == row).map_or([0.0; 2], |stalled| stalled.1);
        let both = [(own.stalled, worth.stalled), (own.stalled_within(), worth.stalled_within())];
        for (place, (stalled, worth)) in both.into_iter().enumerate() {
            account.own_stalled[place].push(stalled);
            if normal && worth > 0.0 {
                account.stalls += 1;
                account.stalls_network.add(worth * (1.0 - (timers[place] / stalled as f64).min(1.0)));
            }
        }
    });
    let (mut timed, phases, times) = (std::mem::take(&mut account.timed), job.phases, [shared, pace]);
    account.handshakes = Waits::of(&intervals.handshakes, phases, &mut parts, times, |around, length, network| {
        if timed.add(phases, around.phase, around.trips, [0, length], network) {
            timed.handshakes += 1;
            timed.greetings += u64::from(job.connections.server_first[around.connection as usize]);
        }
    });
    account.closes = Waits::of(&intervals.closes, phases, &mut parts, times, |around, length, network| {
        timed.hang_ups += u64::from(timed.add(phases, around.phase, around.trips, [0, length], network));
    });
    account.timed = timed;
    intervals.under_way.iter().for_each(|&until| parts.unknown.add(shared.share_of(0, until)));
    shared.idle(0, runtime_ns).for_each(|gap| parts.idle(gap as f64, think_ns));
    account.parts = parts;
    if let Some((pace, beside)) = paced {
        (account.weight, account.beside) = (intervals.weights(&pace), beside);
    }
    account.own_service = intervals.service;
    (account.stalled, account.probably_lost) = (intervals.stalled, intervals.probably_lost);
    Ok(account)
}

/// Which connections work beside others of their `worker`.
pub fn overlapping_workers<E: Exchanges>(job: &Job<E>, runtime_ns: i64, worker: &[u32]) -> Result<Vec<bool>, E::Error> {
    let mut intervals = cut(job, runtime_ns)?;
    intervals.serialize_workers(worker);
    Ok(intervals.overlapping_workers(&intervals.shared(intervals.spans(), None)))
}

impl Account {
    fn with_room_for(intervals: &Intervals) -> Account {
        let rows = intervals.begin.len();
        let [lost, stalled] = intervals.loses_or_stalls().map(|any| if any { rows } else { 0 });
        Account {
            network: Vec::with_capacity(rows),
            service: Vec::with_capacity(rows),
            loss: Vec::with_capacity(lost),
            own_loss: Vec::with_capacity(lost),
            own_stalled: [(); 2].map(|()| Vec::with_capacity(stalled)),
            ..Account::default()
        }
    }
}
