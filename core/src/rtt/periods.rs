//! The periods of one half of a path: when the level of its measurements moved for good.
//!
//! ```text
//! ns                    ●●●●●●●●●          cut where the level moves most, again and again; then neighbours that are no
//!    ●●●●●●●●●●●●●●●●●●●         ●●●●●●    further apart than the rule asks are put together again
//! ```

use std::ops::{Range, RangeInclusive};

use super::series::{Measurement, durations};
use super::values::MIN_FOR_DENSITY;

/// This many measurements show a level.
pub const MIN_FOR_LEVEL: usize = MIN_FOR_DENSITY as usize;
/// The level of an RTT has changed if it moves by this factor, and by `MIN_LEVEL_NS`.
pub const MIN_LEVEL_RATIO: f64 = 1.25;
/// A smaller change of the level is what busy hosts add.
pub const MIN_LEVEL_NS: f64 = 500_000.0;
/// A period lasts for at least this share of the time that its path was measured.
const MIN_PERIOD_SHARE: f64 = 0.1;
/// A period after which the RTT returns to what it was is an episode if it lasts for less than this share.
const MAX_EPISODE_SHARE: f64 = 0.25;
/// Measurements of a path among which changes are sought.
const MAX_SAMPLES: usize = 20_000;
/// A cut is tried if it explains at least this share of an interval's variance.
const MIN_EXPLAINED_VARIANCE: f64 = 0.1;
/// Cuts tried for a path, with both ends.
const MAX_CUTS: usize = 32;

/// The two are levels that a path changed between.
pub fn is_apart(low_ns: f64, high_ns: f64) -> bool {
    high_ns >= MIN_LEVEL_RATIO * low_ns + MIN_LEVEL_NS
}

/// When the level of `series` changed; `responses`, as they are many, say when exactly.
pub fn changes(series: &[Measurement], responses: &[Measurement]) -> Vec<i64> {
    let fewer = thin(series);
    let parts = put_together(&fewer, &cuts(&fewer));
    parts.windows(2).map(|sides| moment(&fewer, responses, &sides[0], &sides[1])).collect()
}

/// Keep evenly fewer of very many: the level of a period shows all the same.
fn thin(series: &[Measurement]) -> Vec<Measurement> {
    series.iter().step_by(series.len().div_ceil(MAX_SAMPLES).max(1)).copied().collect()
}

/// Places where the level of the measurements moves, and probably where it does not: the ends of both included.
fn cuts(series: &[Measurement]) -> Vec<usize> {
    let level: Vec<f64> = without_outliers(series).map(|ns| (ns.max(1) as f64).ln()).collect();
    let mut edges = vec![0, level.len()];
    let mut open = vec![(0, level.len())];
    while edges.len() < MAX_CUTS
        && let Some((begin, end)) = open.pop()
    {
        if let Some(cut) = best_cut(&level[begin..end]) {
            let cut = begin + cut;
            edges.push(cut);
            open.extend([(begin, cut), (cut, end)]);
        }
    }
    edges.sort_unstable();
    edges
}

/// The median of each measurement and the two on either side.
fn without_outliers(series: &[Measurement]) -> impl Iterator<Item = i64> {
    (0..series.len()).map(|place| {
        let near = |beside: usize| series[(place + beside).saturating_sub(2).min(series.len() - 1)].ns;
        let mut window = [near(0), near(1), near(2), near(3), near(4)];
        window.sort_unstable();
        window[2]
    })
}

/// The cut of an interval between whose sides the level differs most, if that explains enough of the variance.
fn best_cut(level: &[f64]) -> Option<usize> {
    let count = level.len() as f64;
    let total: f64 = level.iter().sum();
    let (mut sum, mut best, mut best_gain) = (0.0, 0, 0.0);
    for (before, next) in (1..).zip(level) {
        sum += next;
        let after = level.len() - before;
        if before < MIN_FOR_LEVEL || after < MIN_FOR_LEVEL {
            continue;
        }
        let (before_count, after_count) = (before as f64, after as f64);
        let moved = (total - sum) / after_count - sum / before_count;
        let gain = before_count * after_count / count * (moved * moved);
        if gain > best_gain {
            (best, best_gain) = (before, gain);
        }
    }
    let squares: f64 = level.iter().map(|each| (each - total / count).powi(2)).sum();
    (best > 0 && best_gain >= MIN_EXPLAINED_VARIANCE * squares).then_some(best)
}

/// Measurements between two cuts.
struct Part {
    places: Range<usize>,
    lasts_ns: i64,
    /// Their level, what a tenth of them is no longer than, and what three of four are.
    level_ns: f64,
    tenth_ns: f64,
    upper_ns: f64,
}

impl Part {
    fn of(series: &[Measurement], places: Range<usize>) -> Part {
        let part = &series[places.clone()];
        let ns = durations(part);
        Part {
            places,
            lasts_ns: lasts_ns(part),
            level_ns: ns.median(),
            tenth_ns: ns.quantile(0.1),
            upper_ns: ns.quantile(0.75),
        }
    }

    /// By which factor the levels differ.
    fn ratio(&self, other: &Part) -> f64 {
        self.level_ns.max(other.level_ns) / self.level_ns.min(other.level_ns).max(1.0)
    }

    /// The levels are apart, and nine of ten of the one beyond three of four of the other.
    fn differs(&self, other: &Part) -> bool {
        let (low, high) = if self.level_ns <= other.level_ns { (self, other) } else { (other, self) };
        high.tenth_ns > low.upper_ns && is_apart(low.level_ns, high.level_ns)
    }
}

/// How much later the last of some measurements was than the first.
fn lasts_ns(series: &[Measurement]) -> i64 {
    let [Some(first), Some(last)] = [series.first(), series.last()] else { return 0 };
    last.time_ns.saturating_sub(first.time_ns)
}

/// Leave out the cuts that the rule does not bear, the least of them first.
fn put_together(series: &[Measurement], edges: &[usize]) -> Vec<Part> {
    let mut parts: Vec<Part> = edges.windows(2).map(|edges| Part::of(series, edges[0]..edges[1])).collect();
    let all_ns = lasts_ns(series) as f64;
    while let Some(alike) = too_short(&parts, all_ns).or_else(|| most_alike(&parts)).or_else(|| episode(&parts, all_ns))
    {
        let places = parts[*alike.start()].places.start..parts[*alike.end()].places.end;
        parts.splice(alike, [Part::of(series, places)]);
    }
    parts
}

/// The shortest part that is too short to be a period, with the neighbour whose level is nearer.
fn too_short(parts: &[Part], all_ns: f64) -> Option<RangeInclusive<usize>> {
    let lasts = |part: &Part| part.places.len() >= MIN_FOR_LEVEL && part.lasts_ns as f64 >= MIN_PERIOD_SHARE * all_ns;
    let short = (0..parts.len()).filter(|&part| !lasts(&parts[part])).min_by_key(|&part| parts[part].lasts_ns)?;
    let ratio = |side: usize| parts.get(side).map(|other| parts[short].ratio(other));
    match (short.checked_sub(1).and_then(ratio), ratio(short + 1)) {
        (None, None) => None,
        (Some(before), after) if after.is_none_or(|after| before <= after) => Some(short - 1..=short),
        _ => Some(short..=short + 1),
    }
}

/// The neighbours that differ least, of those that do not differ enough.
fn most_alike(parts: &[Part]) -> Option<RangeInclusive<usize>> {
    let ratio = |part: usize| parts[part].ratio(&parts[part + 1]);
    let alike = (0..parts.len() - 1).filter(|&part| !parts[part].differs(&parts[part + 1]));
    alike.min_by(|&one, &other| ratio(one).total_cmp(&ratio(other))).map(|part| part..=part + 1)
}

/// A short part with the parts round it, between which the level is the same.
fn episode(parts: &[Part], all_ns: f64) -> Option<RangeInclusive<usize>> {
    let is_episode =
        |sides: &[Part]| !sides[0].differs(&sides[2]) && (sides[1].lasts_ns as f64) < MAX_EPISODE_SHARE * all_ns;
    parts.windows(3).position(is_episode).map(|before| before..=before + 2)
}

/// When the change was: between the last measurement before it and the first after it the responses decide.
fn moment(series: &[Measurement], responses: &[Measurement], before: &Part, after: &Part) -> i64 {
    let cut = after.places.start;
    let [first, last] = [cut - 1, cut].map(|place| {
        let time_ns = series[place].time_ns;
        responses.partition_point(|response| response.time_ns <= time_ns)
    });
    let middle_ns = (before.level_ns * after.level_ns).sqrt();
    let is_new = |response: &Measurement| (response.ns as f64 > middle_ns) == (after.level_ns > before.level_ns);
    let unsure = &responses[first..last];
    let mut wrong = unsure.iter().filter(|response| !is_new(response)).count();
    let (mut best, mut least_wrong) = (0, wrong);
    for (place, response) in (1..).zip(unsure) {
        wrong = if is_new(response) { wrong + 1 } else { wrong - 1 };
        if wrong < least_wrong {
            (best, least_wrong) = (place, wrong);
        }
    }
    unsure.get(best).map_or(series[cut].time_ns, |response| response.time_ns)
}

#[cfg(test)]
#[path = "periods_tests.rs"]
mod tests;
