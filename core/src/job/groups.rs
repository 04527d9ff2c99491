//! Who waits for several at once: work that fans out over connections and goes on when all of it is there.
//!
//! A client whose steps each follow the one before on their lane begins them whatever the others do: the newest answer
//! of another one is then of any age. One that waits for what others bring begins so long after the newest of them as
//! it takes to react, however long its own lane has been silent. Its steps follow the answers that came since anybody
//! last followed any: one where a connection goes on by itself, all where it does not (docs/model.md C.5).
//!
//! Reactions that stray too far to tell may still come sooner after the others' answers than chance has it: the tasks
//! of a pool, each of which goes on upon whichever connection is free. That is one reading of two.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::step::{Span, Start, Starts};
use super::workers::{End, Waiting};

/// A connection goes on by itself if its answer is at most this many times as old as the newest.
const MAX_AGE_RATIO: f64 = 2.0;
/// A connection goes on by itself if its answer is older than the newest by at most this.
const MAX_AGE_DIFFERENCE_NS: f64 = 2e5;
/// An answer newer than this share of the usual reaction is not what was reacted to.
const MIN_REACTION_SHARE: f64 = 0.3;
/// A connection is opened within this multiple of the usual reaction.
const MAX_OPENING_RATIO: f64 = 10.0;
/// At least this many reactions show a group.
const MIN_REACTIONS: usize = 10;
/// The spread of reactions is known to this, divided by the root of their number.
const SPREAD_ERROR: f64 = 1.3;
/// At most this share of the answers was followed by their own connections long before.
const MAX_FOLLOWED_SHARE: f64 = 0.25;
/// By chance the rank of the newest answer's age among all instants since the own answer is this on average.
const CHANCE_RANK: f64 = 0.5;
/// The standard deviation of that rank by chance.
const CHANCE_RANK_DEVIATION: f64 = 0.2887;
/// The rank differs from chance by at least this many standard errors.
const MIN_STANDARD_ERRORS: f64 = 3.0;
/// At most this many answers are examined for that.
const MAX_ANSWERS: usize = 64;
/// This many reactions are a sufficient sample.
const MAX_REACTIONS: usize = 4096;
/// A group's place is used again after this many.
const GROUP_PLACES: u32 = 1 << 16;

/// How far the reactions to others' answers stray at most where it is who waits for them: ln of the longest ÷ the
/// shortest of the half that lies closest together (the "shorth"). By chance it is 0.7 (evenly) to 1.5 (exponentially).
const fn strays(waiting: Waiting) -> f64 {
    match waiting {
        Waiting::Independent => 0.55,
        Waiting::Chained => 0.78,
        _ => 0.68,
    }
}

/// Let the steps of clients that wait for several at once follow all of those.
pub fn find(starts: &mut [Start], spans: &[Span], connections: usize, waiting: Waiting) {
    let mut clients: BTreeMap<u32, Client> = BTreeMap::new();
    for (start, span) in starts.iter().zip(spans) {
        clients.entry(span.client).or_default().begin(start, span, waiting == Waiting::Joined);
    }
    let reactions = clients.into_iter().filter_map(|(number, client)| Some((number, client.reaction(waiting)?)));
    let mut fans: BTreeMap<u32, Fan> = reactions.map(|(number, reaction)| (number, Fan::new(reaction))).collect();
    if fans.is_empty() {
        return;
    }
    let first = starts.iter().map(|start| start.worker + 1).max().unwrap_or(0);
    let mut groups = Groups { first, next: 0, leaves: vec![None; connections] };
    for (step, span) in (0..).zip(spans) {
        if let Some(fan) = fans.get_mut(&span.client) {
            groups.begin(starts, spans, step, fan);
        }
    }
}

/// It follows an answer, of which its lane may not be the only one that counts.
fn follows(start: &Start) -> bool {
    matches!(start.starts(), Starts::After | Starts::AfterOther)
}

/// How a client's steps begin.
struct Client {
    running: BinaryHeap<Reverse<(End, u32)>>,
    newest: Answer,
    /// When the latest answers were there, ascending.
    latest: VecDeque<f64>,
    ranks: Ranks,
    /// The newest that a step on another lane has followed.
    followed: f64,
    /// One of its connections waits for what the server pushes: that is known otherwise.
    listens: bool,
    /// By what the steps ask.
    reactions: BTreeMap<u32, Reactions>,
}

/// When it was there, and when its connection asked again.
#[derive(Clone, Copy)]
struct Answer {
    connection: u32,
    over: f64,
    asked: f64,
}

/// Where the age of the newest answer ranks among those of any instant since the own one, as a part of them.
#[derive(Default)]
struct Ranks {
    count: usize,
    sum: f64,
}

impl Ranks {
    /// The newest answer came `age` before a step; `since` the own one are these, ascending.
    fn add(&mut self, since: impl Iterator<Item = f64> + Clone, age: f64) {
        let apart = since.clone().zip(since.skip(1)).map(|(one, next)| next - one);
        let all: f64 = apart.clone().sum();
        if all > 0.0 {
            self.count += 1;
            self.sum += apart.map(|apart| apart.min(age)).sum::<f64>() / all;
        }
    }

    /// Steps begin sooner after the newest answer than by chance.
    fn tell(&self) -> bool {
        let count = self.count as f64;
        self.count >= MIN_REACTIONS
            && self.sum / count <= CHANCE_RANK - MIN_STANDARD_ERRORS * CHANCE_RANK_DEVIATION / count.sqrt()
    }
}

/// How old the newest answer was when a step began on another lane, and how old that lane's own, which is older; and
/// how often the answer's connection had gone on long before.
#[derive(Default)]
struct Reactions {
    ages: Vec<f64>,
    gaps: Vec<f64>,
    elsewhere: usize,
}

impl Default for Client {
    fn default() -> Client {
        let never = f64::NEG_INFINITY;
        let newest = Answer { connection: u32::MAX, over: never, asked: f64::INFINITY };
        Client {
            running: BinaryHeap::new(),
            newest,
            latest: VecDeque::new(),
            ranks: Ranks::default(),
            followed: never,
            listens: false,
            reactions: BTreeMap::new(),
        }
    }
}

impl Client {
    /// A step begins; `joined`: what its answers are followed by is ranked, too.
    fn begin(&mut self, start: &Start, span: &Span, joined: bool) {
        while let Some(&Reverse((End(over), connection))) =
            self.running.peek().filter(|first| first.0.0.0 <= span.begin)
        {
            self.running.pop();
            self.newest = Answer { connection, over, asked: f64::INFINITY };
            if joined {
                if self.latest.len() == MAX_ANSWERS {
                    self.latest.pop_front();
                }
                self.latest.push_back(over);
            }
        }
        self.listens |= span.listens;
        if follows(start) && span.waits && !span.setup {
            self.compare(span, start.gap);
        }
        if span.waits && span.connection == self.newest.connection {
            self.newest.asked = self.newest.asked.min(span.begin);
        }
        if span.waits && span.end > span.begin {
            self.running.push(Reverse((End(span.end), span.connection)));
        }
    }

    fn compare(&mut self, span: &Span, gap: f64) {
        let Answer { over, asked, .. } = self.newest;
        let age = span.begin - over;
        if gap <= MAX_AGE_RATIO * age + MAX_AGE_DIFFERENCE_NS || over <= self.followed {
            return;
        }
        self.followed = over;
        let own = span.begin - gap;
        self.ranks.add(self.latest.iter().copied().skip_while(move |&over| over < own), age);
        let reactions = self.reactions.entry(span.statement).or_default();
        if age > MAX_AGE_RATIO * (asked - over) {
            reactions.elsewhere += 1;
        } else if reactions.ages.len() < MAX_REACTIONS {
            reactions.ages.push(age.max(1.0));
            reactions.gaps.push(gap);
        }
    }

    /// The usual reaction, where it waits for others.
    fn reaction(self, waiting: Waiting) -> Option<f64> {
        if self.listens {
            return None;
        }
        if waiting == Waiting::Joined && self.ranks.tell() {
            let ages = sorted(self.reactions.into_values().flat_map(|reactions| reactions.ages));
            return ages.get(ages.len() / 2).copied();
        }
        let steadiest = self.reactions.into_values().filter_map(Reactions::strays).min_by(|a, b| a.0.total_cmp(&b.0));
        steadiest.filter(|(most, _)| *most <= strays(waiting)).map(|(_, usual)| usual)
    }
}

impl Reactions {
    /// How far they stray at most, and the usual one; `None` where its own lane explains as well when a step begins.
    fn strays(mut self) -> Option<(f64, f64)> {
        let count = self.ages.len();
        if count < MIN_REACTIONS || self.elsewhere as f64 > MAX_FOLLOWED_SHARE * count as f64 {
            return None;
        }
        self.ages.sort_unstable_by(f64::total_cmp);
        self.gaps.sort_unstable_by(f64::total_cmp);
        if closest(&self.ages, |last, first| last - first) >= closest(&self.gaps, |last, first| last - first) {
            return None;
        }
        let strays = closest(&self.ages, |last, first| last / first).ln() + SPREAD_ERROR / (count as f64).sqrt();
        Some((strays, self.ages[count / 2]))
    }
}

pub fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// How far the half that lies closest together is apart.
fn closest(sorted: &[f64], apart: impl Fn(f64, f64) -> f64) -> f64 {
    let half = sorted.len() / 2;
    sorted.windows(half + 1).map(|part| apart(part[half], part[0])).fold(f64::INFINITY, f64::min)
}

/// A step that is over and that nobody has followed yet.
#[derive(Clone, Copy)]
struct Leaf {
    step: u32,
    over: f64,
}

/// Answers that were followed together.
#[derive(Clone, Copy)]
struct Group {
    place: u32,
    over: f64,
}

/// A client's work as it fans out.
struct Fan {
    reaction: f64,
    running: BinaryHeap<Reverse<(End, u32)>>,
    /// The connections whose steps are over, in that order; of some the step has been followed.
    over: Vec<u32>,
    last: Option<Group>,
}

impl Fan {
    fn new(reaction: f64) -> Fan {
        Fan { reaction, running: BinaryHeap::new(), over: Vec::new(), last: None }
    }

    /// When the newest answer was there that nobody has followed, and the newest that somebody has.
    fn newest(&mut self, leaves: &[Option<Leaf>]) -> [f64; 2] {
        while self.over.last().is_some_and(|&connection| leaves[connection as usize].is_none()) {
            self.over.pop();
        }
        let leaf = self.over.last().and_then(|&connection| leaves[connection as usize]);
        [leaf.map(|leaf| leaf.over), self.last.map(|group| group.over)].map(|over| over.unwrap_or(f64::NEG_INFINITY))
    }

    /// The step that is over before `span` begins, as far as that can have seen it.
    fn next_over(&mut self, spans: &[Span], span: &Span) -> Option<Leaf> {
        let &Reverse((End(over), step)) = self.running.peek()?;
        let own = spans[step as usize].connection == span.connection;
        let seen = if own { span.begin } else { span.begin - MIN_REACTION_SHARE * self.reaction };
        (over <= seen).then(|| {
            self.running.pop();
            Leaf { step, over }
        })
    }
}

struct Groups {
    /// Of the places of lanes.
    first: u32,
    next: u32,
    /// Of each connection.
    leaves: Vec<Option<Leaf>>,
}

impl Groups {
    fn begin(&mut self, starts: &mut [Start], spans: &[Span], step: u32, fan: &mut Fan) {
        let span = &spans[step as usize];
        while let Some(leaf) = fan.next_over(spans, span) {
            let connection = spans[leaf.step as usize].connection;
            self.leaves[connection as usize] = Some(leaf);
            fan.over.push(connection);
        }
        fan.running.push(Reverse((End(span.end.max(span.begin)), step)));
        let start = starts[step as usize];
        let seen = span.begin - MAX_OPENING_RATIO * fan.reaction;
        let opens = span.setup && start.starts() == Starts::AtFirst;
        if !(follows(&start) || opens && fan.newest(&self.leaves).iter().any(|&over| over >= seen)) {
            return;
        }
        if let Some(group) = self.followed(starts, span, fan) {
            starts[step as usize] = Start::new(start.worker, group.place, Starts::AfterOther, span.begin - group.over);
            fan.last = fan.last.filter(|last| last.over > group.over).or(Some(group));
        }
    }

    /// What a step follows: its connection's own answer, all that nobody has followed yet, or what others follow.
    fn followed(&mut self, starts: &mut [Start], span: &Span, fan: &mut Fan) -> Option<Group> {
        let [newest, last] = fan.newest(&self.leaves);
        let age = span.begin - newest.max(last);
        let by_itself =
            |leaf: &Leaf| span.setup || span.begin - leaf.over <= MAX_AGE_RATIO * age + MAX_AGE_DIFFERENCE_NS;
        if let Some(own) = self.leaves[span.connection as usize].filter(by_itself) {
            self.leaves[span.connection as usize] = None;
            return Some(self.group(starts, own.over, [own].into_iter()));
        }
        if newest <= last {
            return fan.last;
        }
        let all: Vec<Leaf> =
            fan.over.drain(..).filter_map(|connection| self.leaves[connection as usize].take()).collect();
        Some(self.group(starts, newest, all.into_iter()))
    }

    /// The steps whose ends are followed together share a place.
    fn group(&mut self, starts: &mut [Start], over: f64, leaves: impl Iterator<Item = Leaf>) -> Group {
        self.next = (self.next + 1) % GROUP_PLACES;
        let place = self.first + self.next;
        for leaf in leaves {
            let start = &mut starts[leaf.step as usize];
            *start = Start::new(place, start.after(), start.starts(), start.gap);
        }
        Group { place, over }
    }
}

#[cfg(test)]
#[path = "groups_tests.rs"]
mod tests;
