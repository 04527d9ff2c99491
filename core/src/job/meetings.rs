//! Who met whom: how much longer requests stayed at the hosts the more were there, and at the locks of transactions.
//!
//! Whether hosts have a limit is a regression within the capture, of how long requests stayed over how many were there
//! meanwhile, among those that ask the same (a pause is none, however many pause); where the limit is follows from how long they were busy for each (the utilisation law: Denning and Buzen
//! 1978). What follows for more workers: `latpcap/projection/capacity.py`.

use std::collections::BTreeMap;
use std::ops::Range;

use super::exchange::{Exchange, Exchanges};
use super::groups::sorted;
use super::lanes::HashMap;
use super::recorded::{Job, Phases};
use super::{Replay, UNSEEN, shares};

const NS: f64 = 1e9;
/// A limit shows where twice as many at once stay longer by this power of two at least: 1 at the limit, 0 with room …
const SHOWN: f64 = 0.5;
/// … by so many standard errors.
const SIGMAS: f64 = 3.0;
/// The same power where a capture says nothing of it.
const TENDS: f64 = 0.5;
/// Parts of a capture of which each shows for itself how much longer stays become.
const PARTS: usize = 8;
/// Intervals of each kind below which fewer than half of the parts have two: no slope is known.
const FEWEST: usize = PARTS + PARTS / 2;
/// Where a limit shows, what each other one adds is no less than this part of the central value.
const LEAST: f64 = 0.82;
/// Stays beyond this quantile are freezes.
const LONGEST: f64 = 0.995;
/// So many times in all, what was never seen may happen (the rule of three: with 95 % confidence).
const NEVER_SEEN: f64 = 3.0;
/// Waits for one kind of lock.
const LEAST_WAITS: usize = 10;

/// What the capture shows of those that work side by side.
#[derive(Clone, Debug)]
pub struct Meetings {
    /// How long requests waited for their answers, all in all.
    pub outstanding_s: f64,
    /// The server, or server and clients, whichever have the lower limit.
    pub hosts: Option<Center>,
    /// The server, where it shows a limit.
    pub server: Option<Center>,
    /// Server and clients, whatever that shows.
    pub both: Option<Center>,
    pub locks: Option<Locks>,
}

/// Where so many requests meet, as `ServiceCenter` in `latpcap/projection/capacity.py` has it.
#[derive(Clone, Debug)]
pub struct Center {
    pub count: usize,
    pub stay_s: f64,
    pub each_s: f64,
    pub least_s: f64,
    pub most_s: f64,
    pub shown: bool,
    pub may_s: f64,
}

/// The locks that so many transactions hold over round trips, as there.
#[derive(Clone, Debug)]
pub struct Locks {
    pub count: usize,
    pub held_s: f64,
    pub round_trips: f64,
    pub others: f64,
    pub waited_s: f64,
    pub share: f64,
    pub most: f64,
    pub shown: bool,
}

/// A request and its answer, ns.
#[derive(Clone, Copy)]
struct Turn {
    row: u32,
    connection: u32,
    /// At the client, as `over` and `waited`.
    asked: f64,
    waited: f64,
    over: f64,
    /// At the server.
    arrived: f64,
    answered: f64,
    round_trips: u32,
    /// Of the recording, up to its own.
    trips: u64,
    /// What it asks.
    statement: u32,
    /// Somebody waits for it, and it does not open its connection.
    counts: bool,
    ends_transaction: bool,
}

/// Of exchanges that waited for a lock, the one that gave it back, by row.
type Waits = HashMap<u32, u32>;

impl Replay {
    /// Who met whom in the `job` that is replayed.
    pub fn meetings<E: Exchanges>(&self, job: &Job<E>) -> Result<Meetings, E::Error> {
        let (mut turns, mut trips) = (Vec::new(), 0);
        job.exchanges.each(&mut |exchange| {
            trips += u64::from(exchange.round_trips);
            turns.extend(Turn::of(exchange, job.phases, trips));
        })?;
        let (waiters, holders) = self.locks();
        let waits = waiters.into_iter().zip(holders).collect();
        let [hosts, server, both] = hosts(&turns, &waits);
        let outstanding_s = counted(&turns).map(|turn| turn.waited).sum::<f64>() / NS;
        Ok(Meetings { outstanding_s, hosts, server, both, locks: Locks::of(&turns, &waits) })
    }
}

impl Turn {
    fn of(exchange: &Exchange, phases: &Phases, trips: u64) -> Option<Turn> {
        let Exchange { row, connection, request, request_end, response, response_end, round_trips, statement, .. } =
            exchange.at_client(phases);
        let half = phases.baseline_ns[exchange.phase as usize] / 2.0;
        (request != UNSEEN && response != UNSEEN).then(|| Turn {
            row,
            connection,
            asked: request as f64,
            waited: (response - request) as f64,
            over: response_end as f64,
            arrived: request_end as f64 + half,
            answered: response as f64 - half,
            round_trips,
            trips,
            statement,
            counts: round_trips > 0 && !exchange.setup,
            ends_transaction: exchange.ends_transaction,
        })
    }
}

fn counted(turns: &[Turn]) -> impl DoubleEndedIterator<Item = &Turn> {
    turns.iter().filter(|turn| turn.counts)
}

/// How requests slow each other down at whichever of server and client has the lower limit, at a server with a limit, and
/// at both; no lock's wait is work.
fn hosts(turns: &[Turn], waits: &Waits) -> [Option<Center>; 3] {
    let holder = |turn: &Turn| {
        let place = turns.binary_search_by_key(waits.get(&turn.row)?, |turn| turn.row).ok()?;
        Some(turns[place].answered)
    };
    let begins = |turn: &Turn| holder(turn).map_or(turn.arrived, |answered| turn.arrived.max(answered));
    let mut intervals: Vec<[f64; 2]> = counted(turns).map(|turn| [begins(turn), turn.answered]).collect();
    let mut alike: Vec<u32> = counted(turns).map(|turn| turn.statement).collect();
    let count = intervals.len();
    let follows = |one: &Turn, next: &Turn| {
        one.counts && next.counts && one.connection == next.connection && one.row + 1 == next.row
    };
    for two in turns.windows(2).filter(|two| follows(&two[0], &two[1])) {
        intervals.push([two[0].over, two[1].asked]);
        alike.push(two[1].statement);
    }
    let kinds = [0..count, count..intervals.len()];
    let place = |&server: &bool| {
        let kinds = if server { &kinds[..1] } else { &kinds[..] };
        let all = kinds.iter().map(ExactSizeIterator::len).sum();
        Center::both(count, &intervals[..all], &alike[..all], kinds)
    };
    let places = shares::each(shares::processors(count), &[true, false], place);
    let (both, centers) = (Center::lowest(&places[1]), places.concat());
    let Some(tells) = Center::lowest(&centers) else { return [None, None, both] };
    if !tells.shown {
        return [Some(tells), None, both];
    }
    let most_s = centers.iter().map(|center| center.most_s).fold(0.0, f64::max);
    let server = Center::lowest(&places[0]).filter(|center| center.shown);
    [Some(Center { most_s, ..tells }), server, both]
}

/// How many intervals of one kind there are, how long after each other they end, and the usual ones of them.
type Kind = (usize, f64, Vec<usize>);

impl Center {
    /// A place by how many were there meanwhile, and by how many were found there; `kinds` of intervals are served in their
    /// own way, and each of `count` requests has one of each; those `alike` ask the same.
    fn both(count: usize, intervals: &[[f64; 2]], alike: &[u32], kinds: &[Range<usize>]) -> Vec<Center> {
        let intervals = Intervals::of(intervals);
        if intervals.busy_s <= 0.0 {
            return Vec::new();
        }
        let processors = shares::processors(alike.len());
        let of_kind = |kind: &Range<usize>| (kind.len(), intervals.apart_s(kind), intervals.usual(kind));
        let kinds: Vec<Kind> = shares::each(processors, kinds, of_kind);
        let there = [&intervals.met, &intervals.found];
        shares::each(processors, &there, |there| Center::of(count, &intervals, there, alike, &kinds))
    }

    /// The capture is cut into parts of equal length: in each, much the same is asked for.
    fn of(count: usize, intervals: &Intervals, there: &[f64], alike: &[u32], kinds: &[Kind]) -> Center {
        let [stay_s, full_s] = [intervals.stay_s.iter().sum(), intervals.busy_s].map(|all_s| all_s / count as f64);
        let unknown =
            Center { count, stay_s, each_s: TENDS * full_s, least_s: 0.0, most_s: full_s, shown: false, may_s: full_s };
        if kinds.iter().any(|&(all, ..)| all < FEWEST) {
            return unknown;
        }
        let (mut slopes, mut one_s) = ([0.0; PARTS], 0.0);
        for (all, apart_s, usual) in kinds {
            let share = *all as f64 / count as f64;
            one_s += share * apart_s;
            slopes.iter_mut().zip(intervals.slopes(there, alike, usual)).for_each(|(sum, slope)| *sum += share * slope);
        }
        let mut known: Vec<f64> = sorted(slopes.into_iter().filter(|slope| !slope.is_nan()));
        if known.len() < PARTS / 2 {
            return unknown;
        }
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let off: f64 = known.iter().map(|slope| (slope - mean) * (slope - mean)).sum();
        let error_s = SIGMAS * off.sqrt() / known.len() as f64;
        let slope_s = quantile(&mut known, 0.5).max(0.0).min(full_s);
        if (slope_s - error_s).min(one_s) >= SHOWN * full_s {
            return Center { each_s: full_s, least_s: full_s * LEAST, shown: true, ..unknown };
        }
        let each_s = if error_s <= SHOWN * full_s { slope_s } else { unknown.each_s };
        let [least_s, may_s] = [(slope_s - error_s).max(0.0).min(one_s), (slope_s + error_s).min(full_s)];
        Center { each_s, least_s, may_s, ..unknown }
    }

    /// The lowest limit that shows; else where stays grow the most, of what they could.
    fn lowest(centers: &[Center]) -> Option<Center> {
        let key = |of: &Center| (of.shown, if of.shown { of.each_s } else { of.each_s / of.most_s });
        centers.iter().reduce(|best, next| if key(next) > key(best) { next } else { best }).cloned()
    }
}

/// What is under way at a place: when it begins (ns), how long it stays, how many were under way meanwhile, on average, and
/// as it began, itself included; and how long any was.
struct Intervals {
    begin: Vec<f64>,
    stay_s: Vec<f64>,
    met: Vec<f64>,
    found: Vec<f64>,
    busy_s: f64,
}

impl Intervals {
    /// Of intervals in any order.
    fn of(all: &[[f64; 2]]) -> Intervals {
        let [begin, end] = [|[begin, _]: &[f64; 2]| *begin, |[begin, end]: &[f64; 2]| end.max(*begin)]
            .map(|time| all.iter().map(time).collect::<Vec<f64>>());
        let sorted =
            shares::each(shares::processors(all.len()), &[&begin, &end], |times| in_order(0..all.len(), times));
        let [begins, ends] = [&sorted[0], &sorted[1]];
        let (mut met, mut found, mut ended) = (vec![0.0; all.len()], vec![0.0; all.len()], 0);
        let (mut now, mut passed, mut busy) = (f64::NAN, 0.0, 0.0);
        let mut pass = |to: f64, under_way: f64| {
            let lasted = if now.is_nan() { 0.0 } else { to - now };
            passed += under_way * lasted;
            busy += if under_way > 0.0 { lasted } else { 0.0 };
            now = to;
            passed
        };
        for (begun, &next) in begins.iter().enumerate() {
            while let Some(&first) = ends.get(ended).filter(|&&first| end[first] <= begin[next]) {
                met[first] += pass(end[first], begun as f64 - ended as f64);
                ended += 1;
            }
            met[next] -= pass(begin[next], begun as f64 - ended as f64);
            found[next] = (begun as f64 + 1.0 - ended as f64).max(1.0);
        }
        for (over, &first) in ends.iter().enumerate().skip(ended) {
            met[first] += pass(end[first], (all.len() - over) as f64);
        }
        let length = |place: usize| end[place] - begin[place];
        met.iter_mut().enumerate().for_each(|(place, met)| *met = (*met / length(place).max(1.0)).max(1.0));
        let stay_s = (0..all.len()).map(|place| length(place) / NS).collect();
        Intervals { begin, stay_s, met, found, busy_s: busy / NS }
    }

    /// How long after one of a kind that left others there the next one of these did, as a rule: what a host takes for one.
    fn apart_s(&self, kind: &Range<usize>) -> f64 {
        let begin = sorted(self.begin[kind.clone()].iter().copied());
        let end = sorted(kind.clone().map(|place| self.begin[place] + self.stay_s[place] * NS));
        let leaves = |at: usize| begin.partition_point(|&begun| begun <= end[at]) > at + 1;
        let mut apart: Vec<f64> = (1..end.len()).filter(|&at| leaves(at - 1)).map(|at| end[at] - end[at - 1]).collect();
        if apart.is_empty() { 0.0 } else { quantile(&mut apart, 0.5) / NS }
    }

    /// Those of a kind that took time and are no freezes, in the order of their begin.
    fn usual(&self, kind: &Range<usize>) -> Vec<usize> {
        let longest_s = quantile(&mut self.stay_s[kind.clone()].to_vec(), LONGEST);
        in_order(kind.clone().filter(|&place| self.stay_s[place] > 0.0 && self.stay_s[place] <= longest_s), &self.begin)
    }

    /// How much longer each other one that was there made the `usual` ones of a kind, in each part of the capture.
    fn slopes(&self, there: &[f64], alike: &[u32], usual: &[usize]) -> [f64; PARTS] {
        let (each, more, mut left) = (usual.len() / PARTS, usual.len() % PARTS, usual);
        std::array::from_fn(|part| {
            let (own, later) = left.split_at(each + usize::from(part < more));
            left = later;
            slope(own.iter().map(|&place| (alike[place], there[place], self.stay_s[place])))
        })
    }
}

/// Of the line of least squares through what is alike, for all kinds of that; NaN where nothing differs.
fn slope(points: impl Iterator<Item = (u32, f64, f64)> + Clone) -> f64 {
    let mut sums: HashMap<u32, [f64; 3]> = HashMap::default();
    for (alike, x, y) in points.clone() {
        let [count, all_x, all_y] = sums.entry(alike).or_default();
        (*count, *all_x, *all_y) = (*count + 1.0, *all_x + x, *all_y + y);
    }
    let apart = points.map(|(alike, x, y)| {
        let [count, all_x, all_y] = sums[&alike];
        (x - all_x / count, y - all_y / count)
    });
    let spread: f64 = apart.clone().map(|(x, _)| x * x).sum();
    if spread > 0.0 { apart.map(|(x, y)| x * y).sum::<f64>() / spread } else { f64::NAN }
}

fn in_order(places: impl Iterator<Item = usize>, times: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = places.collect();
    order.sort_by(|&one, &other| times[one].total_cmp(&times[other]));
    order
}

/// In a straight line between two of the values; NaN of none.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let place = part * last as f64;
    let (_, &mut low, above) = values.select_nth_unstable_by(place as usize, f64::total_cmp);
    let (apart, beyond) = (above.iter().copied().reduce(f64::min).unwrap_or(low) - low, place.fract());
    if beyond < 0.5 { low + apart * beyond } else { low + apart - apart * (1.0 - beyond) }
}

impl Locks {
    /// The locks of transactions of several round trips: those that were waited for, or what may be unseen.
    fn of(turns: &[Turn], waits: &Waits) -> Option<Locks> {
        let count = counted(turns).filter(|turn| turn.ends_transaction).count();
        let open = Statement::open(turns);
        let of_each = |all: f64| all / count as f64;
        let waiting = turns.iter().filter(|turn| waits.contains_key(&turn.row));
        let waited_s = of_each(waiting.map(|turn| (turn.answered - turn.arrived).max(0.0)).sum::<f64>() / NS);
        let all_trips = of_each(counted(turns).map(|turn| f64::from(turn.round_trips)).sum());
        let locks = |asking: &[&Statement], waiting: usize| {
            let (held_s, round_trips, meetings) = Statement::held(asking);
            let (waiting, shown) = (waiting as f64, waiting > 0);
            let (share, most) = match shown {
                true => ((waiting / meetings).min(1.0), waiting / meetings * (1.0 + 2.0 / waiting.sqrt())),
                false => (0.0, NEVER_SEEN / meetings.max(NEVER_SEEN)),
            };
            let (others, most) = ((all_trips - round_trips).max(0.0), most.min(1.0));
            let waited_s = if shown { waited_s } else { 0.0 };
            let known = held_s > 0.0 && (meetings > 0.0 || !shown);
            known.then_some(Locks { count, held_s, round_trips, others, waited_s, share, most, shown })
        };
        let mut alike: BTreeMap<u64, Vec<&Statement>> = BTreeMap::new();
        open.iter().for_each(|statement| alike.entry(statement.trips).or_default().push(statement));
        let waiting = |alike: &[&Statement]| alike.iter().filter(|asks| waits.contains_key(&asks.turn.row)).count();
        let often = alike.values().filter(|alike| waiting(alike) >= LEAST_WAITS);
        let longest =
            |one: Locks, next: Locks| if next.held_s * next.share > one.held_s * one.share { next } else { one };
        often.filter_map(|alike| locks(alike, waiting(alike))).reduce(longest).or_else(|| {
            let firsts = open.chunk_by(|one, next| one.last.row == next.last.row).filter_map(|all| all.first());
            locks(&firsts.collect::<Vec<_>>(), 0)
        })
    }
}

/// A statement of a transaction that goes on until the `last` one; so many round trips pass between their answers.
struct Statement<'a> {
    turn: &'a Turn,
    last: &'a Turn,
    trips: u64,
}

impl Statement<'_> {
    /// Those behind which a transaction went on.
    fn open(turns: &[Turn]) -> Vec<Statement<'_>> {
        let (mut open, mut ending): (Vec<Statement>, Option<&Turn>) = (Vec::new(), None);
        for turn in counted(turns).rev() {
            if turn.ends_transaction {
                ending = Some(turn);
            } else if let Some(last) = ending.filter(|last| last.connection == turn.connection) {
                open.push(Statement { turn, last, trips: last.trips - turn.trips });
            }
        }
        open.reverse();
        open
    }

    /// How long locks are held that these ask for, over how many round trips, and how many others held one when each was
    /// asked for, all in all.
    fn held(asking: &[&Statement]) -> (f64, f64, f64) {
        let begins = sorted(asking.iter().map(|asks| asks.turn.answered));
        let ends = sorted(asking.iter().map(|asks| asks.last.answered));
        let mean = |of: fn(&Statement) -> f64| asking.iter().map(|asks| of(asks)).sum::<f64>() / asking.len() as f64;
        let before = |times: &[f64], time: f64| times.partition_point(|&there| there < time);
        let met = |asks: &&Statement| {
            before(&begins, asks.turn.arrived).saturating_sub(before(&ends, asks.turn.arrived)) as f64
        };
        let held_s = mean(|asks| asks.last.answered - asks.turn.answered) / NS;
        (held_s, mean(|asks| asks.trips as f64), asking.iter().map(met).sum())
    }
}
