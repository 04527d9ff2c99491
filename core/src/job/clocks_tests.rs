use super::*;
use crate::job::step::NOWHERE;

const MS: f64 = 1e6;

/// Waits of 1 to 6 ms, in no order.
fn wait(step: u32) -> f64 {
    MS * (1.0 + f64::from(step * step * 31 % 97) / 20.0)
}

/// Steps on one lane; `begin` says when one begins after that began before, and was answered.
fn worker(count: u32, begin: impl Fn(u32, f64, f64) -> f64) -> (Vec<Start>, Vec<Span>) {
    let (mut begun, mut over) = (0.0, 0.0);
    let step = |step: u32| {
        begun = begin(step, begun, over);
        let gap = begun - over;
        over = begun + wait(step);
        let span = Span { begin: begun, end: over, waits: true, statement: 1, ..NOWHERE };
        (Start::new(0, 0, Starts::After, gap), span)
    };
    (0..count).map(step).unzip()
}

fn ticks(mut starts: Vec<Start>, spans: &[Span]) -> usize {
    find(&mut starts, spans, Waiting::Evidence);
    starts.iter().filter(|start| start.starts() == Starts::Tick).count()
}

/// A little of its own, in no order.
fn own(step: u32) -> f64 {
    MS * f64::from(step * step * 17 % 89) / 100.0
}

#[test]
fn what_begins_every_so_often_begins_by_a_clock() {
    let (starts, spans) = worker(60, |step, begun, over| (begun + 30.0 * MS + own(step)).max(over));
    assert_eq!(ticks(starts, &spans), 59);
}

#[test]
fn what_begins_so_long_after_each_answer_does_not() {
    let (starts, spans) = worker(60, |step, _, over| over + 30.0 * MS + own(step));
    assert_eq!(ticks(starts, &spans), 0);
}

#[test]
fn two_kinds_of_work_in_step_are_no_clock() {
    let (starts, mut spans) = worker(60, |step, _, over| over + 7.0 * MS - wait(step - step.min(1)));
    assert_eq!(ticks(starts.clone(), &spans), 59, "as long as they look the same");
    spans.iter_mut().zip(0..).for_each(|(span, step)| span.statement = step % 11);
    assert_eq!(ticks(starts, &spans), 0);
}

/// What waits as long as ever and goes on so long after each answer, and hangs up after so long.
fn steady(waits: impl Fn(u32) -> f64, gap: impl Fn(u32) -> f64, hangs_up: f64) -> (Vec<Start>, Vec<Span>) {
    let mut over = 0.0;
    let step = |step: u32| {
        let (begin, gap) = (over + gap(step), gap(step));
        over = begin + waits(step);
        (Start::new(0, 0, Starts::After, gap), Span { begin, end: over, waits: true, statement: 1, ..NOWHERE })
    };
    let (mut starts, mut spans): (Vec<_>, Vec<_>) = (0..60).map(step).unzip();
    starts.push(Start::new(0, 0, Starts::After, hangs_up));
    spans.push(Span { begin: over + hangs_up, end: over + hangs_up, ..NOWHERE });
    (starts, spans)
}

fn may_tick((starts, spans): (Vec<Start>, Vec<Span>)) -> bool {
    let found = |waiting| {
        let mut starts = starts.clone();
        let found = find(&mut starts, &spans, waiting);
        (found.may_tick, starts.iter().filter(|start| start.starts() == Starts::Tick).count())
    };
    assert_eq!(found(Waiting::Evidence).1, 0, "nothing tells");
    let (may, ticks) = found(Waiting::Clocked);
    assert_eq!(may, ticks > MIN_STEPS);
    may
}

#[test]
fn steady_pauses_may_end_by_a_clock() {
    assert!(may_tick(steady(|_| 0.7 * MS, |step| 20.0 * MS + 0.1 * own(step), 0.0)));
}

#[test]
fn who_pauses_after_the_last_answer_too_has_no_clock() {
    assert!(!may_tick(steady(|_| 0.7 * MS, |step| 20.0 * MS + 0.1 * own(step), 20.0 * MS)));
}

#[test]
fn pauses_that_no_longer_wait_shortens_follow_answers() {
    let waits = |step| if step % 9 == 0 { 6.0 * MS } else { 0.7 * MS };
    assert!(!may_tick(steady(waits, |step| 20.0 * MS + 0.1 * own(step), 0.0)));
}

#[test]
fn pauses_that_differ_are_a_readers_where_it_asked_ahead_and_hangs_up_late() {
    let differs = |step: u32| MS * f64::from(10 + step * step * 17 % 20);
    let ahead = |step: u32| if (1..3).contains(&step) { 0.1 * MS } else { differs(step) };
    assert!(!may_tick(steady(|_| 0.7 * MS, differs, 50.0 * MS)));
    assert!(may_tick(steady(|_| 0.7 * MS, ahead, 50.0 * MS)));
    assert!(!may_tick(steady(|_| 0.7 * MS, ahead, 0.0)));
}

#[test]
fn who_pauses_while_others_work_may_wait_for_those() {
    let (mut starts, mut spans) = steady(|_| 0.7 * MS, |_| 20.0 * MS, 0.0);
    for step in 0..60 {
        let begin = spans[2 * step].begin + 10.0 * MS;
        starts.insert(2 * step + 1, Start::new(1, 1, Starts::After, 0.1 * MS));
        let other = Span { begin, end: begin + 2.0 * MS, connection: 1, ..spans[2 * step] };
        spans.insert(2 * step + 1, other);
    }
    assert!(!may_tick((starts, spans)));
}

#[test]
fn work_of_a_millisecond_is_no_pause() {
    assert!(!may_tick(steady(|_| 0.7 * MS, |_| 1.0 * MS, 0.0)));
}

#[test]
fn of_rounds_the_first_steps_begin_by_the_clock() {
    let (mut starts, spans) = worker(120, |step, _, over| match step % 3 {
        0 => f64::from(step) * 10.0 * MS + 0.1 * own(step),
        _ => over + 0.1 * MS,
    });
    find(&mut starts, &spans, Waiting::Evidence);
    let begin = |kind| (0..120).filter(|&step| starts[step].starts() == kind).collect::<Vec<usize>>();
    assert_eq!(begin(Starts::Clock), [3]);
    assert_eq!(begin(Starts::Tick), (6..120).step_by(3).collect::<Vec<usize>>());
}

/// A reader two answers ahead of a worker that takes 20 ms for each, and hangs up when that has done them.
#[test]
fn a_reader_waits_for_its_worker() {
    let (mut starts, mut spans) = worker(60, |step, begun, over| if step < 3 { over } else { begun + 20.0 * MS });
    let (end, begin) = (spans[59].end, spans[59].begin + 3.0 * 20.0 * MS);
    starts.push(Start::new(0, 0, Starts::After, begin - end));
    spans.push(Span { begin, end: begin, ..NOWHERE });
    let steady = |step: u32| Span { end: spans[step as usize].begin + 2.0 * MS, ..spans[step as usize] };
    let spans: Vec<Span> = (0..61).map(|step| if step < 60 { steady(step) } else { spans[60] }).collect();
    for step in 3..60 {
        starts[step].gap = spans[step].begin - spans[step - 1].end;
    }
    assert_eq!(find(&mut starts, &spans, Waiting::Evidence).ahead, [2]);
    assert_eq!(starts[60].starts(), Starts::Tick);
    assert_eq!(starts.iter().filter(|start| start.starts() == Starts::Tick).count(), 58);
}
