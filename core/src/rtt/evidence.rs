//! Measurements of each half: handshakes, acknowledgments, and what bounds it.
//!
//! ```text
//! client ──near half── capture point ──far half── server
//!                        SYN ───────►            far handshake:  SYN → SYN/ACK
//!            ◄─────── SYN/ACK                    near handshake: SYN/ACK → ACK
//!                       data ───────►            far sample:     data → its ACK     near sample: the same the other way
//!            request ──►   ◄── response          far response:   last request packet → first response packet
//!            response ─►   ◄── next request      near response:  end of response → next request
//!                       data ───────►
//!                            ◄─────── data       far answer:     data → the data that acknowledges it; near: the other way
//! ```
//!
//! A response holds the half's RTT and the work of the host behind it: it may be longer, hardly shorter. An answer is a
//! bound that TCP proves, whatever the messages mean: the half's RTT is no longer than the fastest one.

use std::io;

use super::agreement::MIN_CONSISTENT;
use super::phases::Phases;
use super::values::{Counted, Countings, NO_STATEMENT, Values};
use super::{FAR, NEAR, half_of};
use crate::recording::{Column, DatabaseConnections, NULL, Recording};
use crate::stream::RttSample;

/// Data behind more segments in flight (the initial window, RFC 6928) waited in queues that a request never sees.
const MAX_IN_FLIGHT: u32 = 10;
/// An ACK this much later than the fastest was delayed by its sender (RFC 1122: up to 500 ms; Linux 40 ms).
const DELAYED_ACK_NS: i64 = 20_000_000;

/// The measurements of one half, in one phase of a connection or in one period of a path.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    pub handshakes: Values,
    /// Clean ones: quiet and prompt.
    pub acks: Values,
    /// ACKs that may have been delayed: they bound, too, and show that their sender waited for something.
    pub late: Values,
    /// Each with its statement; of the near half all are of one kind, 0.
    pub responses: Values,
    /// The fastest of each connection.
    pub answers: Values,
    /// All that bounds it, each packet once: responses, late acknowledgments, answers faster than all responses.
    pub bounds: Values,
    /// A SYN was sent again.
    pub is_syn_resent: bool,
}

/// Which acknowledgments of a half are clean, in one phase: quiet ones, where its path has such, that nobody delayed.
#[derive(Clone, Copy, Debug)]
pub struct Clean {
    /// The path has quiet ones: others count for nothing, they are not even late.
    pub needs_quiet: bool,
    /// Others as long as this were delayed.
    pub prompt_ns: i64,
    /// The least of handshakes and of acknowledgments of several segments, of the path.
    pub confirmed_ns: i64,
    /// The few that the phase has are left of a connection that was not captured.
    pub is_left_over: bool,
}

/// The evidence of a recording: of phases and of periods the far half, and the near one.
#[derive(Debug, Default)]
pub struct Collected {
    pub of_phases: Vec<[Evidence; 2]>,
    /// None where every period has one phase, in their order: then these are those of the phases.
    pub of_periods: Option<Vec<[Evidence; 2]>>,
    /// By which rule acknowledgments of each phase are clean.
    pub clean: Vec<[Clean; 2]>,
    /// The phase of each exchange, and the round trips of each phase.
    pub of_exchanges: Vec<u32>,
    pub round_trips: Vec<u64>,
}

impl Collected {
    /// The evidence of each period.
    pub fn of_periods(&self) -> &[[Evidence; 2]] {
        self.of_periods.as_deref().unwrap_or(&self.of_phases)
    }
}

/// The evidence of phases and periods.
pub fn collect(recording: &Recording, connections: &DatabaseConnections, phases: &Phases) -> io::Result<Collected> {
    let mut of_phases = openings(connections, phases);
    let (of_exchanges, round_trips) = add_responses(&mut of_phases, recording, connections, phases)?;
    let clean = clean(&of_phases, recording, connections, phases)?;
    add_acknowledgments(&mut of_phases, &clean, recording, connections, phases)?;
    of_phases.iter_mut().flatten().for_each(|evidence| evidence.bounds = evidence.all_bounds());
    let is_same = phases.period.iter().map(|&period| period as usize).eq(0..phases.changes.periods());
    let of_periods = (!is_same).then(|| joined(&of_phases, phases));
    Ok(Collected { of_phases, of_periods, clean, of_exchanges, round_trips })
}

/// The evidence that the table of connections has. Which phase the fastest answer was in is not known where there are
/// several.
fn openings(connections: &DatabaseConnections, phases: &Phases) -> Vec<[Evidence; 2]> {
    let mut of_phases = vec![<[Evidence; 2]>::default(); phases.len()];
    for (number, connection) in connections.all.iter().enumerate() {
        let (opening, closing) = (phases.opening[number], phases.closing[number]);
        for (side, half) in [NEAR, FAR].into_iter().enumerate() {
            of_phases[opening as usize][half] = Evidence {
                handshakes: Values::of(connection.handshake_ns[side]),
                answers: Values::of(connection.answer_ns[side].filter(|_| opening == closing)),
                is_syn_resent: connection.is_syn_resent,
                ..Evidence::default()
            };
        }
    }
    of_phases
}

/// Returns the phase of each exchange, and the round trips of each phase.
fn add_responses(
    of_phases: &mut [[Evidence; 2]],
    recording: &Recording,
    connections: &DatabaseConnections,
    phases: &Phases,
) -> io::Result<(Vec<u32>, Vec<u64>)> {
    let (mut of_exchanges, mut round_trips) = (vec![0; recording.exchanges.len()], vec![0; phases.len()]);
    let mut countings = Countings::of(2 * phases.len());
    each_exchange(recording, connections, |exchange| {
        let phase = phases.at(exchange.connection, exchange.begin_ns) as usize;
        of_exchanges[exchange.place] = phase as u32;
        round_trips[phase] += exchange.round_trips;
        if phases.covers(exchange.connection, exchange.begin_ns) {
            for half in [FAR, NEAR] {
                let response = exchange.responses[half];
                response.into_iter().for_each(|(ns, statement)| countings.add(2 * phase + half, ns, statement));
            }
        }
    })?;
    of_phases.iter_mut().flatten().zip(countings.take()).for_each(|(evidence, values)| evidence.responses = values);
    Ok((of_exchanges, round_trips))
}

/// A row of an exchange: what bounds the RTT of its path.
pub struct Row {
    /// Its place in the order of connection and request, and that of its connection.
    pub place: usize,
    pub connection: usize,
    pub begin_ns: Option<i64>,
    pub round_trips: u64,
    /// How long the response took that bounds the far half, and the one that bounds the near half, with its statement.
    pub responses: [Option<(i64, u32)>; 2],
}

/// The exchanges, each with the responses that bound a half.
///
/// Request → response of exchanges that waited once, and not for a retransmission. Response → next request, where the
/// client had to read that response before it went on; of one kind all of them: a client may well sleep as long after
/// each statement.
pub fn each_exchange(
    recording: &Recording,
    connections: &DatabaseConnections,
    mut take: impl FnMut(Row),
) -> io::Result<()> {
    let exchanges = &recording.exchanges;
    let mut is_resent = vec![false; exchanges.len()];
    exchanges.each_placed([Column::retransmissions], |place, [segments]| is_resent[place] = segments > 0)?;
    let columns = [
        Column::stream,
        Column::request_time,
        Column::response_time,
        Column::waited_ns,
        Column::client_ns,
        Column::round_trips,
        Column::complete,
        Column::fingerprint,
    ];
    exchanges.each_placed(
        columns,
        |place, [stream, request, response, waited, paused, trips, complete, fingerprint]| {
            let Some(connection) = connections.place(stream) else { return };
            let begin_ns = [request, response].into_iter().find(|&time| time != NULL);
            let counts = complete != 0 && !is_resent[place];
            let statement = if fingerprint == NULL { NO_STATEMENT } else { fingerprint as u32 };
            let may_have_come_twice = place > 0 && is_resent[place - 1];
            take(Row {
                place,
                connection,
                begin_ns: begin_ns.map(|time| time.wrapping_sub(connections.start_ns)),
                round_trips: trips as u64,
                responses: [
                    (counts && trips == 1 && waited >= 0).then_some((waited, statement)),
                    (counts && trips > 0 && paused >= 0 && !may_have_come_twice).then_some((paused, 0)),
                ],
            });
        },
    )
}

fn add_acknowledgments(
    of_phases: &mut [[Evidence; 2]],
    clean: &[[Clean; 2]],
    recording: &Recording,
    connections: &DatabaseConnections,
    phases: &Phases,
) -> io::Result<()> {
    let mut countings = Countings::of(4 * phases.len());
    each_sample(recording, connections, phases, |phase, half, sample| {
        let rule = &clean[phase][half];
        if !rule.ignores(sample) {
            countings.add(4 * phase + 2 * half + usize::from(!rule.takes(sample)), sample.rtt_ns, 0);
        }
    })?;
    let mut values = countings.take();
    for evidence in of_phases.iter_mut().flatten() {
        evidence.acks = values.next().unwrap_or_default();
        evidence.late = values.next().unwrap_or_default();
    }
    Ok(())
}

/// The samples, each with its phase and the half that it measures.
pub fn each_sample(
    recording: &Recording,
    connections: &DatabaseConnections,
    phases: &Phases,
    mut take: impl FnMut(usize, usize, &RttSample),
) -> io::Result<()> {
    let (mut last, mut connection) = (None, None);
    recording.samples.each(|stream, side, sample| {
        if last.replace(stream) != Some(stream) {
            connection = connections.place(stream.into());
        }
        let Some(connection) = connection else { return };
        let time_ns = Some(sample.time_ns.wrapping_sub(connections.start_ns));
        if phases.covers(connection, time_ns) {
            take(phases.at(connection, time_ns) as usize, half_of(side), &sample);
        }
    })
}

/// The acknowledgments of a phase, or of all phases of a period: how many, and the least in ns.
#[derive(Clone, Copy)]
struct Acks {
    count: u64,
    least_ns: i64,
    /// The least of those of several segments.
    confirmed_ns: i64,
}

impl Acks {
    const NONE: Acks = Acks { count: 0, least_ns: i64::MAX, confirmed_ns: i64::MAX };

    fn add(&mut self, sample: &RttSample) {
        let confirmed_ns = if sample.segments == 1 { i64::MAX } else { sample.rtt_ns };
        self.join(&Acks { count: 1, least_ns: sample.rtt_ns, confirmed_ns });
    }

    fn join(&mut self, other: &Acks) {
        self.count += other.count;
        self.least_ns = self.least_ns.min(other.least_ns);
        self.confirmed_ns = self.confirmed_ns.min(other.confirmed_ns);
    }
}

/// The rule of each phase by which acknowledgments are clean.
fn clean(
    of_phases: &[[Evidence; 2]],
    recording: &Recording,
    connections: &DatabaseConnections,
    phases: &Phases,
) -> io::Result<Vec<[Clean; 2]>> {
    let mut acks = vec![[[Acks::NONE; 2]; 2]; phases.len()]; // all of each half, and the quiet ones
    each_sample(recording, connections, phases, |phase, half, sample| {
        let [all, quiet] = &mut acks[phase][half];
        all.add(sample);
        if is_quiet(sample) {
            quiet.add(sample);
        }
    })?;
    let mut of_periods = vec![[PathHalf::default(); 2]; phases.changes.periods()];
    for ((&period, evidence), acks) in phases.period.iter().zip(of_phases).zip(&acks) {
        let halves = of_periods[period as usize].iter_mut().zip(evidence).zip(acks);
        halves.for_each(|((period, evidence), acks)| period.add(evidence, acks));
    }
    let of_phase = |((&period, evidence), acks): ((&u32, &[Evidence; 2]), &[[Acks; 2]; 2])| {
        [FAR, NEAR].map(|half| of_periods[period as usize][half].clean(&evidence[half], &acks[half]))
    };
    Ok(phases.period.iter().zip(of_phases).zip(&acks).map(of_phase).collect())
}

/// The measurements of a period that decide which acknowledgments are clean; the least in ns.
#[derive(Clone, Copy)]
struct PathHalf {
    handshake_ns: i64,
    bound_ns: i64,
    /// All, and the quiet ones.
    acks: [Acks; 2],
}

impl Default for PathHalf {
    fn default() -> PathHalf {
        PathHalf { handshake_ns: i64::MAX, bound_ns: i64::MAX, acks: [Acks::NONE; 2] }
    }
}

impl PathHalf {
    fn add(&mut self, evidence: &Evidence, acks: &[Acks; 2]) {
        let least = |values: &Values| values.least().unwrap_or(i64::MAX);
        self.handshake_ns = self.handshake_ns.min(least(&evidence.handshakes));
        self.bound_ns = self.bound_ns.min(least(&evidence.responses)).min(least(&evidence.answers));
        self.acks.iter_mut().zip(acks).for_each(|(all, acks)| all.join(acks));
    }

    /// The rule for a phase.
    fn clean(&self, evidence: &Evidence, of_phase: &[Acks; 2]) -> Clean {
        let needs_quiet = self.acks[1].count > 0;
        let which = usize::from(needs_quiet);
        let confirmed_ns = self.handshake_ns.min(self.acks[which].confirmed_ns);
        let least_ns = confirmed_ns.min(self.acks[which].least_ns).min(self.bound_ns);
        let is_seen = !evidence.handshakes.is_empty() || !evidence.responses.is_empty();
        Clean {
            needs_quiet,
            prompt_ns: least_ns.saturating_add(DELAYED_ACK_NS),
            confirmed_ns,
            is_left_over: !is_seen && of_phase[which].count < MIN_CONSISTENT,
        }
    }
}

fn is_quiet(sample: &RttSample) -> bool {
    sample.in_flight <= MAX_IN_FLIGHT
}

impl Clean {
    /// The sample counts for nothing.
    pub fn ignores(&self, sample: &RttSample) -> bool {
        self.needs_quiet && !is_quiet(sample)
    }

    /// The sample is clean; others that count are late.
    pub fn takes(&self, sample: &RttSample) -> bool {
        !self.ignores(sample) && !self.is_left_over && sample.rtt_ns < self.prompt_ns && !self.may_be_delayed(sample)
    }

    /// One segment alone may be acknowledged late, and nothing in a late ACK says so: where neither a handshake nor an ACK
    /// of several segments was about as late, it is a bound as any.
    fn may_be_delayed(&self, sample: &RttSample) -> bool {
        let is_alone = sample.segments == 1;
        is_alone && sample.rtt_ns >= DELAYED_ACK_NS && self.confirmed_ns > sample.rtt_ns.saturating_add(DELAYED_ACK_NS)
    }
}

impl Evidence {
    /// All that bounds it, in one phase: most answers are responses.
    fn all_bounds(&self) -> Values {
        let least = self.responses.least().unwrap_or(i64::MAX);
        let faster = self.answers.all().iter().filter(|answer| answer.ns < least);
        let every = self.responses.all().iter().chain(self.late.all()).chain(faster);
        Values::of_counted(every.map(|&counted| Counted { statement: 0, ..counted }))
    }

    /// The evidence of several phases.
    fn joined(several: &[&Evidence]) -> Evidence {
        if let [one] = several {
            return (*one).clone();
        }
        let all = |values: fn(&Evidence) -> &Values| Values::joined(several.iter().map(|evidence| values(evidence)));
        Evidence {
            handshakes: all(|evidence| &evidence.handshakes),
            acks: all(|evidence| &evidence.acks),
            late: all(|evidence| &evidence.late),
            responses: all(|evidence| &evidence.responses),
            answers: all(|evidence| &evidence.answers),
            bounds: all(|evidence| &evidence.bounds),
            is_syn_resent: several.iter().any(|evidence| evidence.is_syn_resent),
        }
    }
}

/// The evidence of each period.
fn joined(of_phases: &[[Evidence; 2]], phases: &Phases) -> Vec<[Evidence; 2]> {
    let mut of_periods = vec![Vec::new(); phases.changes.periods()];
    phases.period.iter().zip(of_phases).for_each(|(&period, evidence)| of_periods[period as usize].push(evidence));
    let of_half = |of_phases: &[&[Evidence; 2]], half: usize| {
        Evidence::joined(&of_phases.iter().map(|evidence| &evidence[half]).collect::<Vec<_>>())
    };
    of_periods.iter().map(|of_phases| [FAR, NEAR].map(|half| of_half(of_phases, half))).collect()
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
