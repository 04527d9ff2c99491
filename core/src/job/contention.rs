//! Who met whom: how much longer requests stayed at the hosts the more were there, and at the locks of transactions.
//!
//! Whether hosts have a limit is a regression within the capture, of how long requests stayed over how many were there
//! meanwhile, among those that ask the same (a pause is none, however many pause); where the limit is follows from how
//! long they were busy for each (the utilisation law: Denning and Buzen 1978). What follows for more workers:
//! `latpcap/projection/capacity.py`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::exchange::{Exchange, Exchanges};
use super::groups::sorted;
use super::recorded::{Job, Phases};
use super::workers::HashMap;
use super::{Replay, UNSEEN, shares};

const NS_PER_S: f64 = 1e9;
/// A limit shows if stays grow at least by this power of the number of requests: 1 at the limit, 0 with room.
const MIN_SLOWDOWN_EXPONENT: f64 = 0.5;
/// The power exceeds its bound by at least this many standard errors.
const MIN_STANDARD_ERRORS: f64 = 3.0;
/// The power where a capture does not show it.
const DEFAULT_SLOWDOWN_EXPONENT: f64 = 0.5;
/// Parts of a capture of which each shows for itself how much longer stays become.
const SAMPLE_PARTS: usize = 8;
/// Intervals of each kind below which fewer than half of the parts have two: no slope is known.
const MIN_INTERVALS: usize = SAMPLE_PARTS + SAMPLE_PARTS / 2;
/// Each other request adds at least this share of the central value if there is a limit.
const MIN_EFFECT_SHARE: f64 = 0.82;
/// Stays beyond this quantile are freezes.
const FREEZE_QUANTILE: f64 = 0.995;
/// An event that was never seen may happen this many times (the rule of three: with 95 % confidence).
const UNSEEN_EVENTS: f64 = 3.0;
/// Waits for one kind of lock.
const MIN_LOCK_WAITS: usize = 10;

/// What the capture shows of those that work side by side.
#[derive(Clone, Debug)]
pub struct Contention {
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
    pub fn meetings<E: Exchanges>(&self, job: &Job<E>) -> Result<Contention, E::Error> {
        let (mut turns, mut trips) = (Vec::with_capacity(self.connections.kinds.len()), 0);
        job.exchanges.each(&mut |exchange| {
            trips += u64::from(exchange.round_trips);
            turns.extend(Turn::of(exchange, job.phases, trips));
        })?;
        let (waiters, holders) = self.locks();
        let waits = waiters.into_iter().zip(holders).collect();
        let outstanding_s = counted(&turns).map(|turn| turn.waited).sum::<f64>() / NS_PER_S;
        let (locks, (intervals, count)) = (Locks::of(&turns, &waits), intervals(&turns, &waits));
        drop(turns); // which take as much as all that follows
        let [hosts, server, both] = hosts(&intervals, count);
        Ok(Contention { outstanding_s, hosts, server, both, locks })
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

/// How long each request was at the server, as no lock's wait is work, and behind these, how long each client took for
/// the next one; how many requests these are.
fn intervals(turns: &[Turn], waits: &Waits) -> (Intervals, usize) {
    let holder = |turn: &Turn| {
        let place = turns.binary_search_by_key(waits.get(&turn.row)?, |turn| turn.row).ok()?;
        Some(turns[place].answered)
    };
    let begins = |turn: &Turn| holder(turn).map_or(turn.arrived, |answered| turn.arrived.max(answered));
    let follows = |one: &Turn, next: &Turn| {
        one.counts && next.counts && one.connection == next.connection && one.row + 1 == next.row
    };
    let following = || turns.windows(2).filter(|two| follows(&two[0], &two[1]));
    let count = counted(turns).count();
    let mut intervals = Intervals::with_room_for(count + following().count());
    counted(turns).for_each(|turn| intervals.add(begins(turn), turn.answered, turn.statement));
    following().for_each(|two| intervals.add(two[0].over, two[1].asked, two[1].statement));
    (intervals, count)
}

/// How `count` requests slow each other down at whichever of server and client has the lower limit, at a server with a
/// limit, and at both.
fn hosts(intervals: &Intervals, count: usize) -> [Option<Center>; 3] {
    let processors = shares::processors(count);
    let kinds = [0..count, count..intervals.spans.len()];
    let kinds = shares::each(processors, &kinds, |kind| intervals.kind(kind.clone()));
    let places = shares::each(processors, &[&kinds[..1], &kinds], |kinds| intervals.centers(count, kinds));
    let (both, centers) = (Center::lowest(&places[1]), places.concat());
    let Some(tells) = Center::lowest(&centers) else { return [None, None, both] };
    if !tells.shown {
        return [Some(tells), None, both];
    }
    let most_s = centers.iter().map(|center| center.most_s).fold(0.0, f64::max);
    let server = Center::lowest(&places[0]).filter(|center| center.shown);
    [Some(Center { most_s, ..tells }), server, both]
}

impl Center {
    /// The capture is cut into parts of equal length: in each, much the same is asked for.
    fn of(count: usize, intervals: &Intervals, place: &Place, there: &[f64], kinds: &[Kind]) -> Center {
        let [stay_s, full_s] = [place.stay_s, place.busy_s].map(|all_s| all_s / count as f64);
        let unknown = Center {
            count,
            stay_s,
            each_s: DEFAULT_SLOWDOWN_EXPONENT * full_s,
            least_s: 0.0,
            most_s: full_s,
            shown: false,
            may_s: full_s,
        };
        if kinds.iter().any(|kind| kind.begins.len() < MIN_INTERVALS) {
            return unknown;
        }
        let (mut slopes, mut one_s) = ([0.0; SAMPLE_PARTS], 0.0);
        for kind in kinds {
            let share = kind.begins.len() as f64 / count as f64;
            one_s += share * kind.apart_s;
            let of_kind = intervals.slopes(there, &kind.usual);
            slopes.iter_mut().zip(of_kind).for_each(|(sum, slope)| *sum += share * slope);
        }
        let mut known: Vec<f64> = sorted(slopes.into_iter().filter(|slope| !slope.is_nan()));
        if known.len() < SAMPLE_PARTS / 2 {
            return unknown;
        }
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let off: f64 = known.iter().map(|slope| (slope - mean) * (slope - mean)).sum();
        let error_s = MIN_STANDARD_ERRORS * off.sqrt() / known.len() as f64;
        let slope_s = quantile(&mut known, 0.5).max(0.0).min(full_s);
        if (slope_s - error_s).min(one_s) >= MIN_SLOWDOWN_EXPONENT * full_s {
            return Center { each_s: full_s, least_s: full_s * MIN_EFFECT_SHARE, shown: true, ..unknown };
        }
        let each_s = if error_s <= MIN_SLOWDOWN_EXPONENT * full_s { slope_s } else { unknown.each_s };
        let [least_s, may_s] = [(slope_s - error_s).max(0.0).min(one_s), (slope_s + error_s).min(full_s)];
        Center { each_s, least_s, may_s, ..unknown }
    }

    /// The lowest limit that shows; else where stays grow the most, of what they could.
    fn lowest(centers: &[Center]) -> Option<Center> {
        let key = |of: &Center| (of.shown, if of.shown { of.each_s } else { of.each_s / of.most_s });
        centers.iter().reduce(|best, next| if key(next) > key(best) { next } else { best }).cloned()
    }
}

/// What is under way: when it begins and ends (ns), and a number for what it asks.
struct Intervals {
    spans: Vec<[f64; 2]>,
    alike: Vec<u32>,
    numbers: HashMap<u32, u32>,
}

/// Those that are served in their own way, by their places.
struct Kind {
    /// In the order of their begin, and of their end.
    begins: Vec<u32>,
    ends: Vec<u32>,
    /// How long after one that left others there the next one of these did, as a rule: what a host takes for one.
    apart_s: f64,
    /// Those that took time and are no freezes, in the order of their begin.
    usual: Vec<u32>,
}

/// The place of all of some kinds: how many were under way meanwhile, on average, and as each began, itself included;
/// how long all stayed, and how long any was.
struct Place {
    met: Vec<f64>,
    found: Vec<f64>,
    stay_s: f64,
    busy_s: f64,
}

impl Intervals {
    fn with_room_for(count: usize) -> Intervals {
        Intervals { spans: Vec::with_capacity(count), alike: Vec::with_capacity(count), numbers: HashMap::default() }
    }

    fn add(&mut self, begin: f64, end: f64, asked: u32) {
        self.spans.push([begin, end.max(begin)]);
        let next = self.numbers.len() as u32;
        self.alike.push(*self.numbers.entry(asked).or_insert(next));
    }

    fn begin(&self, place: u32) -> f64 {
        self.spans[place as usize][0]
    }

    fn end(&self, place: u32) -> f64 {
        self.spans[place as usize][1]
    }

    fn stay_s(&self, place: u32) -> f64 {
        (self.end(place) - self.begin(place)) / NS_PER_S
    }

    fn kind(&self, kind: Range<usize>) -> Kind {
        let places = || kind.start as u32..kind.end as u32;
        let in_order = |time: fn(&Intervals, u32) -> f64| {
            let mut order: Vec<u32> = places().collect();
            order.sort_by(|&one, &other| time(self, one).total_cmp(&time(self, other)));
            order
        };
        let (begins, ends) = (in_order(Intervals::begin), in_order(Intervals::end));
        let longest_s = quantile(&mut places().map(|place| self.stay_s(place)).collect::<Vec<_>>(), FREEZE_QUANTILE);
        let is_usual = |&place: &u32| self.stay_s(place) > 0.0 && self.stay_s(place) <= longest_s;
        let usual = begins.iter().copied().filter(is_usual).collect();
        Kind { apart_s: self.apart_s(&begins, &ends), begins, ends, usual }
    }

    fn apart_s(&self, begins: &[u32], ends: &[u32]) -> f64 {
        let end = |&place: &u32| self.begin(place) + self.stay_s(place) * NS_PER_S;
        let (ends, mut begun) = (sorted(ends.iter().map(end)), 0);
        let mut apart = Vec::with_capacity(ends.len());
        for (left, two) in (1..).zip(ends.windows(2)) {
            begun += begins[begun..].iter().take_while(|&&place| self.begin(place) <= two[0]).count();
            if begun > left {
                apart.push(two[1] - two[0]);
            }
        }
        if apart.is_empty() { 0.0 } else { quantile(&mut apart, 0.5) / NS_PER_S }
    }

    /// A place by how many were there meanwhile, and by how many were found there; each of `count` requests has one
    /// interval of each kind.
    fn centers(&self, count: usize, kinds: &[Kind]) -> Vec<Center> {
        let place = self.place(kinds);
        if place.busy_s <= 0.0 {
            return Vec::new();
        }
        let there = [&place.met, &place.found];
        shares::each(shares::processors(count), &there, |there| Center::of(count, self, &place, there, kinds))
    }

    fn place(&self, kinds: &[Kind]) -> Place {
        let as_one = |of: fn(&Kind) -> &[u32], time| match kinds {
            [one, other] => Cow::Owned(self.merged(of(one), of(other), time)),
            kinds => Cow::Borrowed(of(&kinds[0])),
        };
        let (begins, ends) = (as_one(|kind| &kind.begins, Intervals::begin), as_one(|kind| &kind.ends, Intervals::end));
        let all = begins.len();
        let (mut met, mut found, mut ended) = (vec![0.0; all], vec![0.0; all], 0);
        let (mut now, mut passed, mut busy) = (f64::NAN, 0.0, 0.0);
        let mut pass = |to: f64, under_way: f64| {
            let lasted = if now.is_nan() { 0.0 } else { to - now };
            passed += under_way * lasted;
            busy += if under_way > 0.0 { lasted } else { 0.0 };
            now = to;
            passed
        };
        for (begun, &next) in begins.iter().enumerate() {
            let begin = self.begin(next);
            while let Some(&first) = ends.get(ended).filter(|&&first| self.end(first) <= begin) {
                met[first as usize] += pass(self.end(first), begun as f64 - ended as f64);
                ended += 1;
            }
            met[next as usize] -= pass(begin, begun as f64 - ended as f64);
            found[next as usize] = (begun as f64 + 1.0 - ended as f64).max(1.0);
        }
        for (over, &first) in ends.iter().enumerate().skip(ended) {
            met[first as usize] += pass(self.end(first), (all - over) as f64);
        }
        let length = |[begin, end]: &[f64; 2]| end - begin;
        met.iter_mut().zip(&self.spans).for_each(|(met, span)| *met = (*met / length(span).max(1.0)).max(1.0));
        let stay_s = (0..all as u32).map(|place| self.stay_s(place)).sum();
        Place { met, found, stay_s, busy_s: busy / NS_PER_S }
    }

    /// Two that are in the order of this time as one; what is equal comes from the first one first.
    fn merged(&self, one: &[u32], other: &[u32], time: fn(&Intervals, u32) -> f64) -> Vec<u32> {
        let (mut all, mut rest) = (Vec::with_capacity(one.len() + other.len()), one);
        for &next in other {
            let is_first = |first: &&u32| time(self, **first).total_cmp(&time(self, next)).is_le();
            let (before, after) = rest.split_at(rest.iter().take_while(is_first).count());
            all.extend_from_slice(before);
            all.push(next);
            rest = after;
        }
        all.extend_from_slice(rest);
        all
    }

    /// How much longer each other one that was there made the `usual` ones of a kind, in each part of the capture.
    fn slopes(&self, there: &[f64], usual: &[u32]) -> [f64; SAMPLE_PARTS] {
        let (each, more, mut left) = (usual.len() / SAMPLE_PARTS, usual.len() % SAMPLE_PARTS, usual);
        let mut sums = vec![[0.0; 3]; self.numbers.len()];
        std::array::from_fn(|part| {
            let (own, later) = left.split_at(each + usize::from(part < more));
            left = later;
            self.slope(there, own, &mut sums)
        })
    }

    /// The slope of the line of least squares through what is alike, for all kinds of that; NaN where nothing differs.
    /// `sums` are zero.
    fn slope(&self, there: &[f64], of: &[u32], sums: &mut [[f64; 3]]) -> f64 {
        let point = |&place: &u32| (self.alike[place as usize] as usize, there[place as usize], self.stay_s(place));
        for (alike, x, y) in of.iter().map(point) {
            let [count, all_x, all_y] = &mut sums[alike];
            (*count, *all_x, *all_y) = (*count + 1.0, *all_x + x, *all_y + y);
        }
        let (mut spread, mut along) = (0.0, 0.0);
        for (alike, x, y) in of.iter().map(point) {
            let [count, all_x, all_y] = sums[alike];
            let (x, y) = (x - all_x / count, y - all_y / count);
            (spread, along) = (spread + x * x, along + x * y);
        }
        of.iter().for_each(|&place| sums[self.alike[place as usize] as usize] = [0.0; 3]);
        if spread > 0.0 { along / spread } else { f64::NAN }
    }
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
        let waited_s = of_each(waiting.map(|turn| (turn.answered - turn.arrived).max(0.0)).sum::<f64>() / NS_PER_S);
        let all_trips = of_each(counted(turns).map(|turn| f64::from(turn.round_trips)).sum());
        let locks = |asking: &[&Statement], waiting: usize| {
            let (held_s, round_trips, meetings) = Statement::held(asking);
            let (waiting, shown) = (waiting as f64, waiting > 0);
            let (share, most) = match shown {
                true => ((waiting / meetings).min(1.0), waiting / meetings * (1.0 + 2.0 / waiting.sqrt())),
                false => (0.0, UNSEEN_EVENTS / meetings.max(UNSEEN_EVENTS)),
            };
            let (others, most) = ((all_trips - round_trips).max(0.0), most.min(1.0));
            let waited_s = if shown { waited_s } else { 0.0 };
            let known = held_s > 0.0 && (meetings > 0.0 || !shown);
            known.then_some(Locks { count, held_s, round_trips, others, waited_s, share, most, shown })
        };
        let mut alike: BTreeMap<u64, Vec<&Statement>> = BTreeMap::new();
        open.iter().for_each(|statement| alike.entry(statement.trips).or_default().push(statement));
        let waiting = |alike: &[&Statement]| alike.iter().filter(|asks| waits.contains_key(&asks.turn.row)).count();
        let often = alike.values().filter(|alike| waiting(alike) >= MIN_LOCK_WAITS);
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

    /// How long locks are held that these ask for, over how many round trips, and how many others held one when each
    /// was asked for, all in all.
    fn held(asking: &[&Statement]) -> (f64, f64, f64) {
        let begins = sorted(asking.iter().map(|asks| asks.turn.answered));
        let ends = sorted(asking.iter().map(|asks| asks.last.answered));
        let mean = |of: fn(&Statement) -> f64| asking.iter().map(|asks| of(asks)).sum::<f64>() / asking.len() as f64;
        let before = |times: &[f64], time: f64| times.partition_point(|&there| there < time);
        let met = |asks: &&Statement| {
            before(&begins, asks.turn.arrived).saturating_sub(before(&ends, asks.turn.arrived)) as f64
        };
        let held_s = mean(|asks| asks.last.answered - asks.turn.answered) / NS_PER_S;
        (held_s, mean(|asks| asks.trips as f64), asking.iter().map(met).sum())
    }
}
