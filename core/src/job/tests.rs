use super::exchange::Exchange;
use super::recorded::{Connections, Phases};
use super::*;

const MS: i64 = 1_000_000;

/// A job that is made up.
pub(super) struct Made {
    pub phases: Phases,
    pub connections: Connections,
    pub exchanges: Vec<Exchange>,
}

impl Made {
    /// So many connections of one client, each with a phase of its own of that RTT, and nothing said on them yet.
    pub fn with(connections: u32, baseline_ns: f64) -> Made {
        let count = connections as usize;
        let (each, nowhere): (Vec<u32>, _) = ((0..connections).collect(), vec![UNSEEN; count]);
        Made {
            phases: Phases {
                baseline_ns: vec![baseline_ns; count],
                low_ns: vec![0.9 * baseline_ns; count],
                high_ns: vec![1.1 * baseline_ns; count],
                near_share: vec![0.0; count],
                made_up: vec![false; count],
            },
            connections: Connections {
                stream: each.clone(),
                path: each.clone(),
                opening: each.clone(),
                closing: each,
                client: vec![0; count],
                server: vec![0; count],
                start_ns: vec![0; count],
                syn_ns: nowhere.clone(),
                syn_ack_ns: nowhere.clone(),
                ack_ns: nowhere.clone(),
                under_way_ns: nowhere.clone(),
                server_first: vec![false; count],
                unseen_trips: vec![0; count],
                unseen_until_ns: vec![0; count],
                segment_bytes: vec![1448.0; count],
                lost_nothing: vec![false; count],
                closed_ns: nowhere,
                window_bytes: [vec![f64::INFINITY; count], vec![f64::INFINITY; count]],
                is_aside: vec![false; count],
            },
            exchanges: Vec::new(),
        }
    }

    /// One more on a connection: when its request and its response began and ended.
    pub fn exchange(&mut self, connection: u32, times: [i64; 4]) -> &mut Exchange {
        let [request, request_end, response, response_end] = times;
        self.exchanges.push(Exchange {
            row: self.exchanges.len() as u32,
            connection,
            phase: connection,
            request,
            request_end,
            response,
            response_end,
            waited: response.saturating_sub(request_end),
            round_trips: u32::from(request != UNSEEN),
            setup: false,
            complete: true,
            ends_transaction: false,
            shared: false,
            deferred: false,
            streamed: false,
            statement: 0,
            segments: [1.0; 2],
            alone: [1.0; 2],
            stalled: [0.0; 2],
            lost_before: 0,
            silent: 0.0,
            request_silent: 0.0,
            paced: [0.0; 2],
            since_push: 0.0,
            resent: false,
            was_stalled: false,
            kind: 0,
        });
        let last = self.exchanges.len() - 1;
        &mut self.exchanges[last]
    }

    pub fn job(&self) -> Job<'_, &[Exchange]> {
        Job { phases: &self.phases, connections: &self.connections, exchanges: &self.exchanges }
    }

    pub fn replay(&self, waiting: Waiting) -> Replay {
        Replay::new(&self.job(), waiting, &NETWORK).unwrap()
    }

    fn set(&mut self, row: usize, asked: i64, answered: i64) {
        let exchange = &mut self.exchanges[row];
        (exchange.request, exchange.request_end) = (asked, asked);
        (exchange.response, exchange.response_end) = (answered, answered);
    }
}

/// One connection at 1 ms; of each answer when its request was seen, if at all, and its segments.
fn job(answers: &[(Option<i64>, f64)]) -> Made {
    let mut made = Made::with(1, MS as f64);
    for (step, &(asked, segments)) in (0..).zip(answers) {
        let (asked, answered) = (asked.map_or(UNSEEN, |time| time * MS), 10 * step * MS + MS);
        made.exchange(0, [asked, asked, answered, answered + MS]).segments[1] = segments;
    }
    made
}

pub(super) const NETWORK: Network = Network {
    bandwidth: f64::INFINITY,
    loss: 0.0,
    growth: 2.0,
    window_bytes: 4e6,
    receive_window_scale: 1.0,
    receiver_bytes: f64::INFINITY,
    compressed: 1.0,
    compressing_ns: 0.0,
    overlapped_work: 0.0,
    timeout_ns: 2e8,
    restarts: true,
    skips_missed_ticks: false,
    paces: false,
    baseline: 0,
};

impl Replay {
    fn at(&self, rtt_ms: f64) -> f64 {
        self.run(&[[rtt_ms * MS as f64, 0.0]], &NETWORK)[0]
    }
}

fn grows_by_ms(answers: &[(Option<i64>, f64)]) -> f64 {
    let replay = job(answers).replay(Waiting::Evidence);
    (replay.at(101.0) - replay.at(1.0)) / MS as f64
}

#[test]
fn a_round_trip_grows_by_the_difference() {
    assert_eq!(grows_by_ms(&[(Some(0), 1.0), (Some(10), 1.0)]), 200.0);
}

#[test]
fn each_round_trip_grows_from_the_rtt_of_its_phase() {
    let mut job = job(&[(Some(0), 1.0), (Some(10), 1.0)]);
    job.phases = Made::with(2, MS as f64).phases;
    job.phases.baseline_ns[1] = 0.5 * MS as f64;
    job.exchanges[1].phase = 1;
    let replay = job.replay(Waiting::Evidence);
    assert_eq!((replay.at(101.0) - replay.at(f64::NAN)) / MS as f64, 100.0 + 100.5);
}

#[test]
fn one_connection_waits_for_itself_in_whatever_way() {
    let job = job(&[(Some(0), 1.0), (Some(10), 1.0)]);
    let replay = job.replay(Waiting::Evidence);
    for way in [Waiting::Independent, Waiting::Chained] {
        assert!(replay.waiting(&job.job(), &[way], &NETWORK).unwrap()[0].is_none());
    }
}

#[test]
fn a_packet_that_waited_for_an_acknowledgment_waits_longer() {
    let mut job = job(&[(Some(0), 1.0), (Some(10), 1.0)]);
    job.exchanges[1].stalled = [40e6, 40e6];
    let replay = job.replay(Waiting::Evidence);
    assert_eq!((replay.at(101.0) - replay.at(1.0)) / MS as f64, 400.0);
}

#[test]
fn an_upload_counts_once_and_waits_while_its_window_is_small() {
    let mut job = job(&[(Some(0), 1.0)]);
    let upload = &mut job.exchanges[0];
    (upload.segments[0], upload.round_trips, upload.response_end) = (1000.0, 2, 2000 * MS);
    let replay = job.replay(Waiting::Evidence);
    let grown = (replay.at(101.0) - replay.at(1.0)) / MS as f64;
    let idle = [10.0, 20.0, 40.0].map(|window| 101.0 - 2.0 * window).iter().sum::<f64>();
    assert!((grown - 200.0 - idle).abs() < 3.0, "two round trips, and three windows that last less than one: {grown}");
}

#[test]
fn an_upload_that_streams_behind_its_answer_waits_once() {
    let mut job = job(&[(Some(0), 1.0)]);
    let upload = &mut job.exchanges[0];
    (upload.segments[0], upload.response_end, upload.streamed) = (1000.0, 2000 * MS, true);
    let replay = job.replay(Waiting::Evidence);
    let grown = (replay.at(101.0) - replay.at(1.0)) / MS as f64;
    let idle = [10.0, 20.0, 40.0].map(|window| 101.0 - 2.0 * window).iter().sum::<f64>();
    assert!((grown - 100.0 - idle).abs() < 3.0, "one round trip, and the windows that last less than one: {grown}");
}

/// The loss of an answer of 1,300 segments that took so long at half of a round trip; the client takes 13 of them.
fn lost_with_half_an_rtt(took_ms: i64) -> f64 {
    let mut job = job(&[(Some(0), 1300.0)]);
    job.connections.window_bytes[0] = vec![13.0 * 1448.0];
    job.exchanges[0].response_end = (1 + took_ms) * MS;
    let replay = job.replay(Waiting::Evidence);
    (replay.at(1.0) - replay.at(0.5)) / MS as f64
}

#[test]
fn a_window_that_is_filled_every_round_trip_is_what_a_transfer_waits_for() {
    assert!((lost_with_half_an_rtt(100) - 50.5).abs() < 2.0, "{}", lost_with_half_an_rtt(100));
    assert!((lost_with_half_an_rtt(120) - 60.5).abs() < 2.0, "{}", lost_with_half_an_rtt(120));
    assert!(lost_with_half_an_rtt(500) < 2.0, "a slow application fills no window");
}

#[test]
fn applications_may_have_worked_while_their_sender_waited() {
    let mut job = job(&[(Some(0), 1000.0)]);
    (job.exchanges[0].response_end, job.exchanges[0].silent) = (101 * MS, 60e6);
    let replay = job.replay(Waiting::Evidence);
    let took = |overlapped_work: f64| replay.calibrated(&Network { overlapped_work, ..NETWORK }).at(0.001) / MS as f64;
    assert!((took(1.0) - took(0.0) - 60.0).abs() < 1.0, "{} and {}", took(1.0), took(0.0));
    assert!((took(1.0) - took(0.5) - 30.0).abs() < 1.0, "{} and {}", took(1.0), took(0.5));
}

#[test]
fn what_a_pace_keeps_back_follows_the_rtt_and_goes_at_once_where_a_millisecond_holds_it() {
    let mut job = job(&[(Some(0), 40.0)]);
    job.phases = Made::with(1, 10e6).phases;
    let answer = &mut job.exchanges[0];
    (answer.response, answer.response_end, answer.paced[1]) = (10 * MS, 14 * MS, 4e6);
    let replay = job.replay(Waiting::Evidence);
    let took = [1.0, 10.0, 100.0].map(|rtt_ms| (replay.at(rtt_ms) - replay.at(0.0)) / MS as f64 - rtt_ms);
    assert!(took[0].abs() < 0.1 && (took[1] - 4.0).abs() < 0.1 && (took[2] - 49.0).abs() < 0.1, "{took:?}");
}

#[test]
fn a_pipeline_that_waited_for_its_window_waits_for_that_at_another_rtt() {
    let mut job = job(&[(Some(0), 1.0), (Some(1), 1.0)]);
    job.set(0, 0, MS);
    job.set(1, MS, 2 * MS);
    job.exchanges.iter_mut().for_each(|exchange| exchange.segments[0] = 10.0);
    (job.exchanges[0].silent, job.exchanges[0].request_silent) = (1e6, 1e6);
    (job.exchanges[1].shared, job.exchanges[1].round_trips) = (true, 0);
    let replay = job.replay(Waiting::Evidence);
    let nearer = |overlapped_work: f64| {
        let replay = replay.calibrated(&Network { overlapped_work, ..NETWORK });
        (replay.at(1.0) - replay.at(0.5)) / MS as f64
    };
    assert!((nearer(0.0) - 1.0).abs() < 0.01, "the answer and the window: {}", nearer(0.0));
    assert!((nearer(1.0) - 0.5).abs() < 0.01, "the client worked meanwhile: {}", nearer(1.0));
}

#[test]
fn what_a_fix_removes_costs_no_round_trip_and_no_call() {
    let job = job(&[(Some(0), 1.0), (Some(10), 1.0), (Some(20), 1.0)]);
    let replay = job.replay(Waiting::Evidence);
    let changes = Changes { effects: vec![without(&[1], 4.0), without(&[2], 0.0)], ..Changes::default() };
    let fixed = replay.changed(&job.job(), &changes).unwrap();
    let saved = |rtt: f64| (replay.at(rtt) - fixed.at(rtt)) / MS as f64;
    assert_eq!((saved(1.0), saved(101.0)), (2.0 + 4.0, 202.0 + 4.0));
    assert!(changes.fit(3, 1) && !changes.fit(2, 1));
}

#[test]
fn the_applications_work_before_a_call_stays() {
    let job = job(&[(Some(0), 1.0), (Some(10), 1.0), (Some(60), 1.0)]);
    let replay = job.replay(Waiting::Evidence);
    let effect = Effect { work_ns: 20e6, ..without(&[1, 2], 4.0) };
    let fixed = replay.changed(&job.job(), &Changes { effects: vec![effect], ..Changes::default() }).unwrap();
    assert_eq!((replay.at(1.0) - fixed.at(1.0)) / MS as f64, 2.0 + 4.0, "of the gap of 49 ms nothing goes");
}

/// A fix that removes the round trips of these exchanges and with each so many ms of the client's time before.
fn without(rows: &[i64], call_ms: f64) -> Effect<'static> {
    let [saved, stall_ns] = [1.0, 0.0].map(|each| vec![each; rows.len()].into());
    let (call_ns, work_ns) = (call_ms * MS as f64, f64::INFINITY);
    Effect { rows: rows.to_vec().into(), saved, stall_ns, call_ns, work_ns, ..Effect::default() }
}

/// Three requests, 10 ms apart; the second waited 4 ms for a delayed ACK and a round trip.
fn stalled() -> Made {
    let mut job = job(&[(Some(0), 1.0), (Some(10), 1.0), (Some(20), 1.0)]);
    job.exchanges[1].stalled[0] = 4e6;
    job
}

#[test]
fn a_stall_stays_when_only_the_request_behind_it_goes() {
    let job = stalled();
    let replay = job.replay(Waiting::Evidence);
    let saved = |effects: Vec<Effect<'static>>| {
        let fixed = replay.changed(&job.job(), &Changes { effects, ..Changes::default() }).unwrap();
        [1.0, 101.0].map(|rtt| (replay.at(rtt) - fixed.at(rtt)) / MS as f64)
    };
    assert_eq!(saved(Vec::new()), [0.0, 0.0]);
    let ping = without(&[1], 8.0);
    // Of its 8 ms of gap, 4 are the stall and 1 the round trip that was waited with it.
    assert_eq!(saved(vec![ping.clone()]), [1.0 + 3.0, 101.0 + 3.0]);
    assert_eq!(saved(vec![Effect { stall_ns: vec![4e6].into(), ..ping }]), [1.0 + 8.0, 101.0 + 108.0]);
}

#[test]
fn a_request_is_free_when_all_that_held_it_back_is_gone() {
    let mut job = job(&[(Some(0), 1.0), (Some(9), 1.0), (Some(10), 1.0), (Some(20), 1.0)]);
    for row in [1, 2] {
        (job.exchanges[row].response, job.exchanges[row].response_end) = (UNSEEN, UNSEEN);
        job.exchanges[row].round_trips = 0;
    }
    job.exchanges[3].stalled[0] = 4e6;
    let replay = job.replay(Waiting::Evidence);
    let saved = |gone: &[i64]| {
        let changes = Changes { gone: gone.to_vec().into(), ..Changes::default() };
        (replay.at(101.0) - replay.changed(&job.job(), &changes).unwrap().at(101.0)) / MS as f64
    };
    assert_eq!([saved(&[]), saved(&[2]), saved(&[1, 2])], [0.0, 0.0, 105.0]);
}

#[test]
fn who_goes_with_the_request_before_it_waits_no_longer() {
    let mut job = job(&[(Some(0), 1.0), (Some(0), 1.0), (Some(10), 1.0)]);
    (job.exchanges[1].round_trips, job.exchanges[1].shared) = (0, true);
    job.set(0, 0, 2 * MS);
    job.set(1, 0, 3 * MS);
    let replay = job.replay(Waiting::Evidence);
    let saved = |dependents: &[i64]| {
        let effects = vec![Effect { dependents: dependents.to_vec().into(), ..without(&[0], 0.0) }];
        let fixed = replay.changed(&job.job(), &Changes { effects, ..Changes::default() }).unwrap();
        (replay.at(101.0) - fixed.at(101.0)) / MS as f64
    };
    assert_eq!(saved(&[]), 1.0, "the second still waits for its own answer, but not for the first one's service");
    assert_eq!(saved(&[1]), 101.0);
}

/// Twelve transactions of two statements, each followed by another connection's statement that waited for its commit.
#[test]
fn who_waited_for_a_lock_waits_for_its_holder() {
    let mut job = Made::with(2, MS as f64);
    for row in 0..36 {
        job.exchange(u32::from(row >= 24), [0; 4]);
    }
    for step in 0..12 {
        let begin = 20 * step * MS;
        for (row, asked, answered) in [(0, 0, 1), (1, 2, 10)] {
            job.set(2 * step as usize + row, begin + asked * MS, begin + answered * MS);
            job.exchanges[2 * step as usize + row].ends_transaction = row == 1;
        }
        job.set(24 + step as usize, begin + 2 * MS, begin + 10 * MS + 50_000);
    }
    let replay = job.replay(Waiting::Evidence);
    assert_eq!(replay.steps.locks.len(), 12);
    let grown = (replay.at(2.0) - replay.at(1.0)) / MS as f64;
    assert_eq!(grown, 24.0, "the waiting connection grows with the two round trips of the holding one");
}

#[test]
fn what_the_server_pushes_does_not_hide_the_rounds_of_what_follows() {
    let answer = (Some(10), 400.0);
    let alone = grows_by_ms(&[(Some(0), 1.0), answer]);
    assert!((alone - 300.0).abs() < 1.0, "two round trips and one more for the window: {alone}");
    let behind_a_push = grows_by_ms(&[(None, 400.0), answer]);
    assert!((behind_a_push - (alone - 100.0)).abs() < 1.0, "{behind_a_push}");
}

fn scope(rtts_ns: &[f64], client: f64, service: f64) -> Scope {
    Scope { rtts_ns: rtts_ns.to_vec(), asked: vec![0.0; rtts_ns.len()], client, service, think_ns: 1e9 }
}

/// Two connections at 1 ms, one after the other; the second one's phase is its own.
fn two_servers() -> Replay {
    let mut job = job(&[(Some(0), 1.0), (Some(10), 1.0)]);
    job.phases = Made::with(2, MS as f64).phases;
    job.exchanges[1].phase = 1;
    job.replay(Waiting::Evidence)
}

#[test]
fn only_what_is_moved_gets_another_rtt() {
    let replay = two_servers();
    let at = |scope: Scope, rtt_ms: f64| (replay.scoped(scope).unwrap().at(rtt_ms) - replay.at(f64::NAN)) / MS as f64;
    assert_eq!(at(scope(&[f64::NAN, 101.0 * MS as f64], 1.0, 1.0), 7.0), 100.0);
    let asked = Scope { asked: vec![1.0, 0.0], ..scope(&[0.0, 101.0 * MS as f64], 1.0, 1.0) };
    assert_eq!(at(asked, 7.0), 106.0, "all else has the asked one");
    let legs = Scope { asked: vec![2.0, 0.0], ..scope(&[MS as f64, f64::NAN], 1.0, 1.0) };
    assert_eq!(at(legs, 7.0), 14.0, "its round trip takes two of them behind a proxy that stays");
    assert!(replay.scoped(scope(&[f64::NAN], 1.0, 1.0)).is_err());
}

#[test]
fn hosts_take_a_part_of_their_own_time_and_none_of_think_time() {
    let mut job = job(&[(Some(0), 1.0), (Some(10), 1.0), (Some(20), 1.0)]);
    job.set(1, 10 * MS, 14 * MS); // three of them are the server's
    let replay = job.replay(Waiting::Evidence);
    let saved = |client, service, think_ns| {
        let there = replay.scoped(Scope { think_ns, ..scope(&[f64::NAN], client, service) }).unwrap();
        (replay.at(1.0) - there.at(f64::NAN)) / MS as f64
    };
    assert_eq!(saved(1.0, 0.5, 1e9), 1.5);
    assert_eq!(saved(0.5, 1.0, 1e9), (8.0 + 6.0) / 2.0);
    assert_eq!(saved(0.5, 1.0, 7e6), 3.0, "a pause of 8 ms is think time");
}

#[test]
fn faster_hosts_wait_for_a_delayed_acknowledgment_all_the_same() {
    let replay = stalled().replay(Waiting::Evidence);
    let there = replay.scoped(scope(&[f64::NAN], 0.0, 1.0)).unwrap();
    assert_eq!(
        (replay.at(1.0) - there.at(f64::NAN)) / MS as f64,
        8.0 + 3.0,
        "of 8 ms, 5 are the stall and its round trip"
    );
}

/// At 1 ms, connection 1 asks four times, each so long after its last answer; connection 0 is pushed as that is
/// answered, and asks 1 ms later.
fn notified() -> Made {
    let mut job = Made::with(2, MS as f64);
    for (connection, step) in [0, 1].into_iter().flat_map(|connection| (0..4).map(move |step| (connection, step))) {
        let asked = 20 * step * MS + if connection == 0 { 2 * MS } else { 0 };
        let exchange = job.exchange(connection, [asked, asked, asked + MS, asked + MS]);
        exchange.since_push = if connection == 0 { 1e6 } else { 0.0 };
    }
    job
}

#[test]
fn the_wait_for_a_push_ends_as_its_cause_is_answered() {
    let job = notified();
    let replay = job.replay(Waiting::Evidence);
    assert_eq!(replay.at(f64::NAN), replay.at(1.0));
    assert_eq!((replay.at(11.0) - replay.at(1.0)) / MS as f64, 50.0, "four before the last push, and its own");
    assert!(replay.at(0.0) < replay.at(1.0));
}

#[test]
fn a_pace_that_the_capture_cannot_show_may_keep_a_large_answer_back_half_an_rtt() {
    let took = |rtt_ms: f64, segments: f64| {
        let mut job = job(&[(Some(0), segments)]);
        job.phases = Made::with(1, rtt_ms * MS as f64).phases;
        let replay = job.replay(Waiting::Evidence);
        let at = |paces: bool| replay.run(&[[50.0 * MS as f64, 0.0]], &Network { paces, ..NETWORK })[0];
        (at(true) - at(false)) / MS as f64
    };
    assert!((took(0.5, 40.0) - 25.0).abs() < 1.1, "{}", took(0.5, 40.0));
    assert_eq!(took(0.5, 10.0), 0.0, "the initial window holds it");
    assert_eq!(took(10.0, 40.0), 0.0, "its packets would have come in several bursts");
}

/// How many round trips a client's runtime has that does so many turns on each of two connections, each of so many µs.
fn effective(turns: [i64; 2], take_us: [i64; 2], waiting: Waiting) -> f64 {
    let mut made = Made::with(2, MS as f64);
    let of = |connection: usize| (0..turns[connection]).map(move |turn| (turn * take_us[connection], connection));
    let mut all: Vec<(i64, usize)> = of(0).chain(of(1)).collect();
    all.sort_unstable();
    for (asked_us, connection) in all {
        let [asked, answered] = [asked_us, asked_us + take_us[connection]].map(|time| time * MS / 1000);
        made.exchange(connection as u32, [asked, asked, answered, answered]);
    }
    let replay = made.replay(waiting);
    (replay.at(101.0) - replay.at(1.0)) / (100 * MS) as f64
}

#[test]
fn connections_share_a_queue_where_all_are_done_together_though_they_did_unequally_much() {
    let is = |effective: f64, about: f64| assert!((effective - about).abs() < 4.0, "{effective}, not {about}");
    let [slower, nearly, idle] = [[1000, 1333], [1000, 1270], [1000, 1000]];
    is(effective([240, 180], slower, Waiting::Evidence), 210.0);
    is(effective([240, 180], slower, Waiting::Independent), 240.0);
    is(effective([240, 180], nearly, Waiting::Evidence), 240.0);
    is(effective([240, 180], nearly, Waiting::Queued), 210.0);
    is(effective([240, 180], idle, Waiting::Queued), 240.0);
    is(effective([200, 200], idle, Waiting::Queued), 200.0);
    is(effective([240, 120], [1000, 2000], Waiting::Evidence), 240.0);
    is(effective([240, 120], [1000, 2000], Waiting::Queued), 180.0);
}
