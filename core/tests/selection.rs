//! A part of a recording is what the whole shows of it, and parts side by side are the whole.

mod support;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;
use latpcap_core::pipeline::Limits;
use latpcap_core::recording::{Column, Edge, Recording, Window};
use proptest::prelude::*;
use support::*;

const OPEN: [Edge; 2] = [Edge { ns: i64::MIN, frame: None }, Edge { ns: i64::MAX, frame: None }];
const SPANS: [&str; 2] = ["delta_ns", "client_ns"];

/// Three connections that take turns.
fn recording() -> Recording {
    Recording::new(read(&traffic(3, 16)), &Limits::default()).unwrap()
}

fn at(ns: i64) -> Edge {
    Edge { ns, frame: None }
}

/// From one edge to another, as far as the connections reach; nothing where no exchange begins then.
fn within(whole: &Recording, from: Edge, to: Edge) -> Option<Recording> {
    let [begin_ns, end_ns] = whole.reach_ns().unwrap().unwrap();
    let period_ns = [begin_ns.max(from.ns), end_ns.min(to.ns)];
    whole.within(&Window { from, to, period_ns }).unwrap()
}

fn stream(table: &RecordBatch) -> Vec<u32> {
    table.column_by_name("stream").unwrap().as_primitive::<UInt32Type>().values().to_vec()
}

fn times(table: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    table.column_by_name(name).unwrap().as_primitive::<TimestampNanosecondType>().iter().collect()
}

/// The rows of a table that are kept.
fn filtered(table: &RecordBatch, is_kept: impl Fn(usize) -> bool) -> RecordBatch {
    let rows = (0..table.num_rows()).filter(|&row| is_kept(row)).map(|row| row as u32);
    take_record_batch(table, &UInt32Array::from_iter_values(rows)).unwrap()
}

/// Sums over the connections: exchanges, round trips, request and response bytes, retransmissions.
fn sums(part: &Recording) -> Vec<u64> {
    let column = |name| part.connections.column_by_name(name).unwrap();
    let large = |name| column(name).as_primitive::<UInt64Type>().values().iter().sum::<u64>();
    let count = column("exchanges").as_primitive::<UInt32Type>().values().iter().sum::<u32>();
    let mut sums = vec![u64::from(count), part.exchanges.len() as u64];
    sums.extend(["round_trips", "request_bytes", "response_bytes", "retransmissions"].map(large));
    sums
}

/// The columns, whether some of their rows are null or none.
fn columns(table: &RecordBatch) -> Vec<ArrayRef> {
    table.columns().to_vec()
}

/// What can be compared of two recordings.
fn shown(part: &Recording) -> Vec<Vec<ArrayRef>> {
    let more = [part.exchanges.batch(), part.samples.batch()].map(Result::unwrap);
    let few = [&part.notes, &part.connections, &part.clock_readings, &part.segments].map(Clone::clone);
    few.iter().chain(&more).map(columns).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chosen_connections_have_the_rows_that_they_have_in_the_whole(chosen in prop::collection::vec(0..4_u32, 0..3)) {
        let whole = recording();
        let part = whole.select(&chosen).unwrap();
        let of_chosen = |table: &RecordBatch| {
            let streams = stream(table);
            columns(&filtered(table, |row| chosen.contains(&streams[row])))
        };
        prop_assert_eq!(columns(&part.exchanges.batch().unwrap()), of_chosen(&whole.exchanges.batch().unwrap()));
        prop_assert_eq!(columns(&part.samples.batch().unwrap()), of_chosen(&whole.samples.batch().unwrap()));
        prop_assert_eq!(columns(&part.connections), of_chosen(&whole.connections));
        prop_assert_eq!(columns(&part.clock_readings), of_chosen(&whole.clock_readings));
        prop_assert_eq!(columns(&part.segments), of_chosen(&whole.segments));
        prop_assert_eq!(&part.all_connections, &whole.connections);
        let again = part.select(&[1]).unwrap();
        let both: Vec<u32> = chosen.into_iter().filter(|&stream| stream == 1).collect();
        prop_assert_eq!(shown(&again), shown(&whole.select(&both).unwrap()));
    }

    #[test]
    fn windows_side_by_side_are_the_whole(cuts in prop::collection::vec(0.0..1.0_f64, 1..4), by_frame: bool) {
        let whole = recording();
        let [begin, end] = whole.reach_ns().unwrap().unwrap();
        let mut edges = vec![OPEN[0]];
        let mut cuts = cuts;
        cuts.sort_by(f64::total_cmp);
        edges.extend(cuts.into_iter().map(|share| match by_frame {
            false => at(begin + ((end - begin) as f64 * share) as i64),
            true => {
                let frame = (share * 200.0) as i64;
                Edge { ns: whole.passed_ns(frame).unwrap().unwrap_or(i64::MAX), frame: Some(frame) }
            }
        }));
        edges.push(OPEN[1]);
        let windows = edges.windows(2).filter(|edges| edges[0].ns < edges[1].ns).filter_map(|edges| {
            let to = Edge { frame: edges[1].frame.map(|first| first - 1), ..edges[1] };
            within(&whole, edges[0], to)
        });
        let parts: Vec<Recording> = windows.collect();
        let of_whole = within(&whole, OPEN[0], OPEN[1]).unwrap();
        let mut together = vec![0; sums(&of_whole).len()];
        for part in &parts {
            together.iter_mut().zip(sums(part)).for_each(|(sum, of_part)| *sum += of_part);
        }
        prop_assert_eq!(together, sums(&of_whole));
        prop_assert_eq!(shown(&of_whole)[4..].to_vec(), shown(&whole)[4..].to_vec());
    }

    #[test]
    fn a_window_has_the_exchanges_that_begin_in_it_and_no_time_before(from in 0.0..1.0_f64, to in 0.0..1.0_f64) {
        let whole = recording();
        let [begin, end] = whole.reach_ns().unwrap().unwrap();
        let time = |share| begin + ((end - begin) as f64 * share) as i64;
        let (from, to) = (time(from), time(to));
        let Some(part) = within(&whole, at(from), at(to)) else { return Ok(()) };
        let begins = whole.begins_ns().unwrap();
        let table = whole.exchanges.batch().unwrap();
        let expected = filtered(&table, |row| from <= begins[row] && begins[row] < to);
        let seen = part.exchanges.batch().unwrap();
        for name in table.schema().fields().iter().map(|field| field.name().as_str()).filter(|name| !SPANS.contains(name)) {
            prop_assert_eq!(seen.column_by_name(name).unwrap(), expected.column_by_name(name).unwrap(), "{}", name);
        }
        let asked = times(&expected, "request_time");
        for name in SPANS {
            let spans = expected.column_by_name(name).unwrap().as_primitive::<Int64Type>().iter();
            let known = spans.zip(&asked).map(|(span, asked)| span.filter(|span| asked.is_some_and(|at| at - span >= from)));
            let shown = seen.column_by_name(name).unwrap().as_primitive::<Int64Type>();
            prop_assert_eq!(shown.iter().collect::<Vec<_>>(), known.collect::<Vec<_>>(), "{}", name);
        }
        let streams = stream(&part.connections);
        prop_assert!(stream(&seen).iter().all(|each| streams.contains(each)));
        for name in ["start", "end", "data_end"] {
            prop_assert!(times(&part.connections, name).iter().flatten().all(|&time| from <= time && time <= to));
        }
        let mut sampled = Vec::new();
        part.samples.each(|stream, _, sample| sampled.push((stream, sample.time_ns))).unwrap();
        prop_assert!(sampled.iter().all(|&(stream, time)| streams.contains(&stream) && from <= time && time < to));
        let chosen = [streams[0]];
        let then = whole.select(&chosen).unwrap();
        if let Some(first) = within(&then, at(from), at(to)) {
            prop_assert_eq!(shown(&first), shown(&part.select(&chosen).unwrap()));
        }
        if let Some(inner) = within(&part, at(from), at((from + to) / 2)) {
            let at_once = within(&whole, at(from), at((from + to) / 2)).unwrap();
            prop_assert_eq!(columns(&inner.exchanges.batch().unwrap()), columns(&at_once.exchanges.batch().unwrap()));
            prop_assert_eq!(sums(&inner), sums(&at_once));
        }
    }
}

#[test]
fn an_exchange_that_goes_on_into_a_window_is_under_way_there_and_counted_before() {
    let whole = recording();
    let [begins, ends] =
        [Column::request_time, Column::response_end_time].map(|column| whole.exchanges.all_numbers(column).unwrap());
    let at_work = (begins[5] + ends[5]) / 2;
    let (before, after) =
        (within(&whole, OPEN[0], at(at_work)).unwrap(), within(&whole, at(at_work), OPEN[1]).unwrap());
    assert_eq!(before.exchanges.len() + after.exchanges.len(), whole.exchanges.len());
    let first = whole.exchanges.all_numbers(Column::stream).unwrap()[5] as u32;
    let row = stream(&after.connections).iter().position(|&stream| stream == first).unwrap();
    assert_eq!(times(&after.connections, "under_way_until")[row], Some(ends[5]));
    assert!(times(&before.connections, "under_way_until").iter().all(Option::is_none));
}

#[test]
fn a_window_in_which_nothing_begins_is_none() {
    let whole = recording();
    assert!(within(&whole, at(0), at(1)).is_none());
    assert!(whole.select(&[]).unwrap().reach_ns().unwrap().is_none());
}
