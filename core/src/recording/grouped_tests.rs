use proptest::prelude::*;

use super::*;
use crate::ledger::Limits;
use crate::recording::{ExchangeRows, SampleColumns, batch, strings};
use crate::side::Side;
use crate::stream::RttSample;
use std::sync::Arc;

/// A recording with so many exchanges of each connection, which come in turn, and as many samples.
fn recording(counts: &[usize]) -> Recording {
    let mut exchanges = ExchangeRows::within(&Limits::of(1 << 30), None);
    let most = counts.iter().max().copied().unwrap_or(0);
    let turns = (0..most).flat_map(|number| (0..counts.len()).map(move |stream| (stream, number)));
    let rows: Vec<_> = turns.filter(|&(stream, number)| number < counts[stream]).collect();
    let names: Vec<&str> = crate::recording::ExchangeColumns::names().collect();
    for &(stream, number) in &rows {
        exchanges.add(std::array::from_fn(|column| match names[column] {
            "stream" => stream as i64,
            "exchange" | "request_time" => number as i64,
            _ => 0,
        }));
    }
    let samples = SampleColumns::saved(0, Default::default(), |take| {
        for &(stream, number) in &rows {
            let sample = RttSample { time_ns: number as i64, rtt_ns: 1, segments: 1, in_flight: 1 };
            take(stream as u32, Side::Client, sample);
        }
        Ok::<(), ()>(())
    });
    let streams = || Arc::new(UInt32Array::from_iter_values(0..counts.len() as u32)) as _;
    let table = || batch(vec![("stream", streams())]).unwrap();
    let empty = || batch(vec![("text", strings(std::iter::empty::<Option<&str>>()))]).unwrap();
    Recording {
        captures: empty(),
        notes: empty(),
        cases: empty(),
        connections: table(),
        all_connections: table(),
        is_renamed: false,
        period_ns: None,
        exchanges: exchanges.sorted().unwrap(),
        statements: empty(),
        tags: empty(),
        samples: samples.unwrap(),
        clock_readings: table(),
        segments: table(),
        taps: empty(),
        host_curve: None,
        curve_hosts: None,
        client_randoms: Arc::new([]),
        is_large: false,
    }
}

/// The rows of each table: the stream of each connection, the stream and number of each exchange, and of each sample.
type Rows = (Vec<u32>, Vec<u32>, Vec<(u32, u32)>, Vec<(u32, i64)>);

fn rows(recording: &Recording) -> Rows {
    let streams =
        |table: &RecordBatch| table.column_by_name("stream").unwrap().as_primitive::<UInt32Type>().values().to_vec();
    let coded = recording.exchanges.coded(&["stream", "exchange"].map(String::from), None).unwrap();
    let column = |number| coded.column(number).as_primitive::<UInt32Type>().values().to_vec();
    let mut samples = Vec::new();
    recording.samples.each(|stream, _, sample| samples.push((stream, sample.time_ns))).unwrap();
    let exchanges = column(0).into_iter().zip(column(1)).collect();
    (streams(&recording.connections), streams(&recording.segments), exchanges, samples)
}

fn joined(parts: impl Iterator<Item = Rows>) -> Rows {
    parts.fold(Rows::default(), |mut all, (connections, segments, exchanges, samples)| {
        all.0.extend(connections);
        all.1.extend(segments);
        all.2.extend(exchanges);
        all.3.extend(samples);
        all
    })
}

proptest! {
    #[test]
    fn groups_are_the_whole_each_row_once_and_in_order(
        of in prop::collection::vec((0..6_usize, prop::option::of(0..5_usize)), 0..20),
        most in 0..12_usize,
    ) {
        let (counts, group_of): (Vec<_>, Vec<_>) = of.into_iter().unzip();
        let whole = recording(&counts);
        let groups = whole.groups(&group_of, most).unwrap();
        let each: Vec<_> = groups.iter().flat_map(|some| &some.each).collect();
        prop_assert_eq!(each.len(), group_of.iter().flatten().max().map_or(0, |last| last + 1));
        let (connections, _, exchanges, samples) = rows(&whole);
        for (number, group) in each.iter().enumerate() {
            let is_in = |stream: u32| group_of[stream as usize] == Some(number);
            let own: Vec<u32> = connections.iter().copied().filter(|&stream| is_in(stream)).collect();
            let found = rows(group);
            prop_assert_eq!((&found.0, &found.1), (&own, &own));
            prop_assert_eq!(found.2, exchanges.iter().copied().filter(|&(stream, _)| is_in(stream)).collect::<Vec<_>>());
            prop_assert_eq!(found.3, samples.iter().copied().filter(|&(stream, _)| is_in(stream)).collect::<Vec<_>>());
        }
        for some in &groups {
            prop_assert_eq!(rows(&some.together), joined(some.each.iter().map(rows)));
            prop_assert!(some.each.len() == 1 || some.together.exchanges.len() <= most);
        }
    }
}
