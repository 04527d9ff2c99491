//! Cuts what was captured into stretches of which none overlaps another one of its connection, and divides their time.

use std::collections::BTreeMap;

use super::attribute::{Kind, Parts, attribute};
use super::columns::columns;
use super::pieces::Pieces;
use super::recorded::UNSEEN;
use super::shared_time::{SharedTime, side_by_side};

columns! {
    /// What was captured, column by column. Times are ns since the recording began, as the capture point saw them.
    Captured
    phases {
        /// The baseline RTT of each phase of a connection, 0 where it is unknown, and what of it lies between the client and
        /// the capture point.
        baseline_ns: f64,
        near_ns: i64,
    }
    connections {
        /// The phases that it was opened and closed in.
        opening: u32,
        closing: u32,
        start_ns: i64,
        syn_ns: i64,
        syn_ack_ns: i64,
        ack_ns: i64,
        /// Until when an exchange went on that had begun before the window.
        under_way_ns: i64,
        /// The server's FIN, where the client waited for it.
        closed_ns: i64,
        server_first: bool,
    }
    exchanges {
        /// Ascending; exchanges are in the order of their requests.
        connection: u32,
        phase: u32,
        request_ns: i64,
        request_end_ns: i64,
        response_ns: i64,
        response_end_ns: i64,
        waited_ns: i64,
        round_trips: u32,
        complete: bool,
        setup: bool,
        deferred: bool,
    }
    lost {
        /// Of exchanges, too; empty where there is none. How long time-outs lasted since the exchange before it.
        lost_before_ns: i64,
    }
    stalls {
        /// Likewise: how long a packet waited for a delayed ACK, before the request and within request and response.
        stalled_before_ns: f64,
        stalled_within_ns: f64,
    }
}

impl Captured<'_> {
    /// The columns fit together.
    pub fn check(&self) -> Result<(), &'static str> {
        let (phases, connections, rows) = (self.near_ns.len(), self.start_ns.len(), self.connection.len());
        let (lost, stalls) = (self.lost_before_ns.len(), self.stalled_before_ns.len());
        let fit = self.fits(phases, connections, rows, lost, stalls)
            && [lost, stalls].iter().all(|&cells| cells == 0 || cells == rows)
            && [&self.opening, &self.closing, &self.phase].iter().all(|of| of.iter().all(|&at| (at as usize) < phases))
            && self.connection.is_sorted()
            && self.connection.last().is_none_or(|&last| (last as usize) < connections)
            && rows < u32::MAX as usize;
        if fit { Ok(()) } else { Err("the columns of a job do not fit together") }
    }

    /// The first packet of a row.
    fn begin(&self, row: usize) -> i64 {
        if self.request_ns[row] == UNSEEN { self.response_ns[row] } else { self.request_ns[row] }
    }

    /// The last packet of a row.
    fn end(&self, row: usize) -> i64 {
        self.request_end_ns[row].max(self.response_end_ns[row]).max(self.begin(row))
    }

    /// Requests of one packet without a wait: they take no time, wherever they lie in a gap. MySQL's `stmt_close` is never
    /// answered, Firebird's `free_statement` together with a later request.
    fn is_sent_without_wait(&self, row: usize) -> bool {
        let goes_on = self.response_ns[row] == UNSEEN || self.deferred[row];
        let quick = self.request_ns[row] != UNSEEN && self.request_end_ns[row] <= self.request_ns[row];
        self.round_trips[row] == 0 && goes_on && quick
    }

    /// Round trips of a connection's TCP handshake, and of the greeting.
    fn handshake_trips(&self, connection: usize) -> f64 {
        match self.syn_ns[connection] {
            UNSEEN => 0.0,
            _ => 1.0 + f64::from(u8::from(self.server_first[connection])),
        }
    }

    /// When a connection's TCP handshake was over: for a server that speaks first, with its greeting.
    fn handshake_end(&self, connection: usize, first_word: Option<i64>) -> i64 {
        let (start, syn) = (self.start_ns[connection], self.syn_ns[connection]);
        let seen = syn.max(self.syn_ack_ns[connection]).max(self.ack_ns[connection]);
        let end = if syn == UNSEEN { start } else { seen.max(start) };
        match first_word.filter(|&word| word != UNSEEN) {
            None => end,
            Some(word) => {
                let greets = self.server_first[connection] && syn != UNSEEN;
                (if greets { end.max(word) } else { end }).max(start).min(word.max(start))
            }
        }
    }

    /// What was held back, with the round trip that was waited as well: the acknowledgment travels, too.
    fn held(&self, stalled: &[f64], row: usize) -> (f64, i64) {
        match stalled.get(row) {
            Some(&timer) if timer > 0.0 => {
                let rtt = self.baseline_ns[self.phase[row] as usize];
                (timer, (timer + rtt).round_ties_even() as i64)
            }
            _ => (0.0, 0),
        }
    }
}

/// What few exchanges have.
#[derive(Clone, Copy, Default)]
struct Rare {
    held: i64,
    lost: i64,
    request_held: i64,
    service_loss: i64,
    response_held: i64,
    response_loss: i64,
}

/// A handshake, or a good-bye that waits for the server's FIN.
struct Around {
    connection: u32,
    begin: i64,
    end: i64,
    /// So many round trips, which take so long each.
    trips: f64,
    rtt: f64,
}

/// Stretches of the connections of a recording, cut into their pieces.
pub struct Stretches {
    begin: Vec<i64>,
    request: Vec<i64>,
    network: Vec<i64>,
    /// Of each row.
    pub service: Vec<i64>,
    pub response: Vec<i64>,
    rare: BTreeMap<u32, Rare>,
    kinds: Vec<Kind>,
    connection: Vec<u32>,
    /// What of a row's round trips passed before the capture saw anything of them; empty where nothing did.
    unseen: Vec<i64>,
    shakes: Vec<Around>,
    byes: Vec<Around>,
    under_way: Vec<i64>,
}

/// What a stretch was given from the gap before it, and what of its first round trip lies in the handshake.
struct Taken {
    begin: i64,
    end: i64,
    held: i64,
    lost: i64,
    early: i64,
    unseen: i64,
}

/// Cut what overlaps on a connection (pipelined requests): an exchange begins where the one before it ended.
pub fn cut(captured: &Captured, runtime_ns: i64) -> Stretches {
    let rows = captured.connection.len();
    let hides = captured.near_ns.iter().any(|&near| near != 0);
    let column = || Vec::with_capacity(rows);
    let mut cut = Stretches {
        begin: column(),
        request: column(),
        network: column(),
        service: column(),
        response: column(),
        rare: BTreeMap::new(),
        kinds: Vec::with_capacity(rows),
        connection: captured.connection.to_vec(),
        unseen: Vec::with_capacity(if hides { rows } else { 0 }),
        shakes: Vec::with_capacity(captured.start_ns.len()),
        byes: Vec::new(),
        under_way: captured.under_way_ns.iter().copied().filter(|&until| until != UNSEEN).collect(),
    };
    let mut row = 0;
    for connection in 0..captured.start_ns.len() {
        let is_mine = |row: &usize| captured.connection.get(*row).is_some_and(|&of| of as usize == connection);
        let first_word = Some(row).filter(is_mine).map(|row| captured.begin(row));
        let start = captured.start_ns[connection].min(runtime_ns); // what begins later carries no data
        let over = captured.handshake_end(connection, first_word).min(runtime_ns);
        cut.shakes.push(Around {
            connection: connection as u32,
            begin: start,
            end: over,
            trips: captured.handshake_trips(connection),
            rtt: captured.baseline_ns[captured.opening[connection] as usize],
        });
        let free = over.max(captured.under_way_ns[connection]);
        let (mut before, mut ended) = (free, free.max(start));
        let mut is_first = true;
        while is_mine(&row) {
            let taken = take(captured, row, before, ended, is_first);
            (before, ended, is_first) = (taken.end, taken.end, false);
            cut.push(captured, row, &taken);
            if hides {
                cut.unseen.push(taken.unseen);
            }
            row += 1;
        }
        cut.bye(captured, connection, row, ended);
    }
    cut
}

/// The stretch of a row: what is `before` it is over, and it does not end earlier than `ended`.
fn take(captured: &Captured, row: usize, before: i64, ended: i64, is_first: bool) -> Taken {
    let (asked, near) = (captured.begin(row), captured.near_ns[captured.phase[row] as usize]);
    let (stalled, held) = captured.held(&captured.stalled_before_ns, row);
    let last = match captured.is_sent_without_wait(row) {
        true if held > 0 => asked,
        true => UNSEEN,
        false => captured.end(row),
    };
    let end = last.max(ended);
    let mut begin = asked.max(before).min(end);
    let hidden = if captured.round_trips[row] > 0 { near } else { 0 };
    let (early, unseen) = if is_first { (0, hidden) } else { (hidden.min(begin - before), 0) };
    begin -= early;
    let timed_out = captured.lost_before_ns.get(row).copied().unwrap_or(0);
    let lost = if near > 0 { timed_out.min(begin - before) } else { 0 };
    begin -= lost;
    let room = begin - before;
    let held = if held > 0 && room as f64 >= stalled { held.min(room) } else { 0 };
    Taken { begin: begin - held, end, held, lost, early, unseen }
}

impl Stretches {
    /// Cut the stretch of the next row into the stall before it, request, network, service and response.
    fn push(&mut self, captured: &Captured, row: usize, taken: &Taken) {
        let (trips, phase) = (captured.round_trips[row], captured.phase[row] as usize);
        let length = taken.end - taken.begin - taken.held - taken.lost;
        let inner = length - taken.early;
        let request = captured.request_end_ns[row].saturating_sub(taken.end - inner).max(0).min(inner);
        let waited = captured.waited_ns[row].max(0).min(inner - request);
        let between = (i64::from(trips).max(1) - 1) * captured.near_ns[phase];
        let waited = waited + taken.early + between.min(inner - request - waited);
        let travelled = (f64::from(trips) * captured.baseline_ns[phase]).round_ties_even() as i64;
        let mut pieces = Pieces::cut(length, request, waited, travelled - taken.unseen);
        let (stalled, held) = captured.held(&captured.stalled_within_ns, row);
        pieces.hold(stalled, held);
        let Pieces { request, request_held, network, service, response_held, response, .. } = pieces;
        if taken.held + taken.lost + request_held + response_held != 0 {
            let rare = Rare { held: taken.held, lost: taken.lost, request_held, response_held, ..Rare::default() };
            self.rare.insert(row as u32, rare);
        }
        self.begin.push(taken.begin);
        self.request.push(request);
        self.network.push(network);
        self.service.push(service);
        self.response.push(response);
        self.kinds.push(Kind::of(captured.setup[row], captured.complete[row]));
    }

    /// The client waits until the server hangs up, too; `next` is the row behind its last one.
    fn bye(&mut self, captured: &Captured, connection: usize, next: usize, ended: i64) {
        let closed = captured.closed_ns[connection];
        let Some(last) = next.checked_sub(1).filter(|_| closed != UNSEEN) else { return };
        let phase = captured.closing[connection] as usize;
        let said = captured.request_end_ns[last].saturating_sub(captured.near_ns[phase]);
        let begin = said.max(ended).min(closed);
        let rtt = captured.baseline_ns[phase];
        self.byes.push(Around { connection: connection as u32, begin, end: closed, trips: 1.0, rtt });
    }

    /// What of each row is loss: of the wait for its answer, and of the time in which the answer came.
    pub fn lose(&mut self, service: &[i64], response: &[i64]) -> Result<(), &'static str> {
        if service.len() != self.begin.len() || response.len() != self.begin.len() {
            return Err("the losses are those of other exchanges");
        }
        for (row, (&service, &response)) in service.iter().zip(response).enumerate() {
            if service != 0 || response != 0 {
                let rare = self.rare.entry(row as u32).or_default();
                (rare.service_loss, rare.response_loss) = (service, response);
                self.service[row] -= service;
                self.response[row] -= response;
            }
        }
        Ok(())
    }

    fn pieces(&self, row: usize, rare: Rare) -> Pieces<i64> {
        Pieces {
            held: rare.held,
            lost: rare.lost,
            request: self.request[row],
            request_held: rare.request_held,
            network: self.network[row],
            service: self.service[row],
            service_loss: rare.service_loss,
            response_held: rare.response_held,
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
        let around = |all: &[Around]| all.iter().map(|each| (each.begin, each.end)).collect::<Vec<_>>();
        let mut all = around(&self.shakes);
        all.reserve_exact(self.begin.len() + self.byes.len() + self.under_way.len());
        all.extend(rows);
        all.extend(around(&self.byes));
        all.extend(self.under_way.iter().map(|&until| (0, until)));
        SharedTime::of(all, until)
    }

    /// What an added round trip is worth: workers that run side by side set each other no pace.
    ///
    /// Such a connection counts as busy between its requests as well (think time excepted), so that k workers share each
    /// instant by k however short their waits are; connections that are used one after the other add up.
    fn pace(&self, shared: &SharedTime, think_ns: f64) -> SharedTime {
        let mut near = 0;
        let overlaps = self.rows().zip(&self.connection).map(|((_, begin, pieces), &connection)| {
            (connection as usize, pieces.all(), shared.worth(begin, pieces.all(), &mut near))
        });
        let beside = side_by_side(overlaps, self.shakes.len());
        let works = self.rows().enumerate().map(|(row, (_, begin, pieces))| {
            let (connection, end) = (self.connection[row], begin + pieces.all());
            let same = self.connection.get(row + 1) == Some(&connection);
            let following = if same { self.begin[row + 1] } else { end };
            let works_on = beside[connection as usize] && (following - end) as f64 <= think_ns;
            (begin, if works_on { following.max(end) } else { end })
        });
        self.shared(works, None)
    }
}

impl Stretches {
    /// Something was lost; something was held back.
    fn loses_or_holds(&self) -> [bool; 2] {
        let any = |of: fn(&Rare) -> i64| self.rare.values().any(|rare| of(rare) != 0);
        [
            any(|rare| rare.lost | rare.service_loss | rare.response_loss),
            any(|rare| rare.held | rare.request_held | rare.response_held),
        ]
    }

    /// What a round trip of each row counts: shared ÷ own wait, of the whole stretch where no wait was seen.
    fn weights(&self, pace: &SharedTime) -> Vec<f64> {
        let mut near = 0;
        let of_row = |(kind, begin, pieces): (Kind, i64, Pieces<i64>)| {
            let (waited, length) = (pieces.waited(), pieces.all());
            match waited > 0 && kind.is_whole() {
                true => ratio(pace.worth(begin + pieces.asked(), waited, &mut near), waited),
                false => ratio(pace.worth(begin, length, &mut near), length),
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
    /// Its packets were held back, before its request and within; empty where none was.
    pub held: [Vec<f64>; 2],
    /// As if nothing ran beside it: its wait, its service, what was lost and held back of it.
    pub own_waited: Vec<i64>,
    pub own_service: Vec<i64>,
    pub own_loss: Vec<i64>,
    pub own_held: [Vec<i64>; 2],
    pub unseen: Vec<i64>,
    /// What a round trip counts: 1 alone, 1/k beside k − 1 busy others. Empty where all are alone.
    pub weight: Vec<f64>,
    pub shakes: Waits,
    pub byes: Waits,
}

/// Handshakes, or good-byes: of which connection, how long each took, how often its client waited, what such a round trip
/// counts, and what of it was the network.
#[derive(Default)]
pub struct Waits {
    pub connection: Vec<u32>,
    pub length: Vec<i64>,
    pub trips: Vec<f64>,
    pub weight: Vec<f64>,
    pub network: Vec<f64>,
}

impl Waits {
    /// Add them up.
    fn of(all: &[Around], parts: &mut Parts, shared: &SharedTime, pace: &SharedTime) -> Waits {
        let (mut waits, mut near) = (Waits::default(), [0; 2]);
        for &Around { connection, begin, end, trips, rtt } in all {
            let length = end - begin;
            let worth = shared.worth(begin, length, &mut near[0]);
            let weight = ratio(pace.worth(begin, length, &mut near[1]), length);
            let network = (trips * rtt * weight).min(worth);
            parts.set_up(worth, network);
            waits.connection.push(connection);
            waits.length.push(length);
            waits.trips.push(trips);
            waits.weight.push(weight);
            waits.network.push(network);
        }
        waits
    }
}

/// Which part of its own time a stretch has of the shared one.
fn ratio(shared: f64, own: i64) -> f64 {
    if own > 0 { shared / own as f64 } else { 1.0 }
}

/// Give each instant up to `runtime_ns` to its part; client time above `think_ns` is think time. In a `window` what goes on
/// behind it is worth nothing.
pub fn account(stretches: Stretches, runtime_ns: i64, think_ns: f64, window: bool) -> Account {
    let spans = || stretches.rows().map(|(_, begin, pieces)| (begin, begin + pieces.all()));
    let whole = stretches.shared(spans(), None);
    let paced = (!whole.alone()).then(|| stretches.pace(&whole, think_ns));
    let within = window.then(|| stretches.shared(spans(), Some(runtime_ns)));
    let (shared, pace) = (within.as_ref().unwrap_or(&whole), paced.as_ref().unwrap_or(&whole));
    let mut account = Account::with_room_for(&stretches);
    let [lost, holds] = stretches.loses_or_holds();
    let mut kinds = stretches.kinds.iter();
    let mut parts = attribute(stretches.rows(), shared, |own, worth| {
        let kind = kinds.next().copied().unwrap_or(Kind::Unknown);
        let (normal, whole) = (kind == Kind::Work, kind.is_whole());
        let only = |holds: bool, worth: f64| if holds { worth } else { 0.0 };
        account.network.push(only(whole, worth.network));
        account.service.push(only(whole, worth.service));
        account.own_waited.push(own.waited());
        if lost {
            account.loss.push(only(normal, worth.loss()));
            account.own_loss.push(own.loss());
        }
        if holds {
            account.held[0].push(only(normal, worth.held));
            account.held[1].push(only(normal, worth.held_within()));
            account.own_held[0].push(own.held);
            account.own_held[1].push(own.held_within());
        }
    });
    account.shakes = Waits::of(&stretches.shakes, &mut parts, shared, pace);
    account.byes = Waits::of(&stretches.byes, &mut parts, shared, pace);
    stretches.under_way.iter().for_each(|&until| parts.unknown.add(shared.worth(0, until, &mut 0)));
    shared.idle(0, runtime_ns).for_each(|gap| parts.idle(gap as f64, think_ns));
    account.parts = parts;
    account.weight = paced.as_ref().map_or_else(Vec::new, |pace| stretches.weights(pace));
    (account.own_service, account.unseen) = (stretches.service, stretches.unseen);
    account
}

impl Account {
    fn with_room_for(stretches: &Stretches) -> Account {
        let rows = stretches.begin.len();
        let [lost, held] = stretches.loses_or_holds().map(|any| if any { rows } else { 0 });
        Account {
            network: Vec::with_capacity(rows),
            service: Vec::with_capacity(rows),
            loss: Vec::with_capacity(lost),
            held: [(); 2].map(|()| Vec::with_capacity(held)),
            own_waited: Vec::with_capacity(rows),
            own_loss: Vec::with_capacity(lost),
            own_held: [(); 2].map(|()| Vec::with_capacity(held)),
            ..Account::default()
        }
    }
}
