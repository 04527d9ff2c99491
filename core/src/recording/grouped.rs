//! A recording cut into groups of its connections, each a recording of its own.
//!
//! ```text
//! connections   a b c a b a        each belongs to a group, or to none
//! together      a a a b b  c       some groups one after the other, as many as are looked at together
//! each          a a a, b b, c      views of the same rows: all groups take 16 bytes an exchange
//! ```

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::take::take_record_batch;

use super::{ExchangeColumns, Recording};

/// Some groups one after the other, and each alone.
pub struct Groups {
    pub together: Recording,
    pub each: Vec<Recording>,
}

/// The rows of a table group by group, in each as before; where each group begins, at last where all end.
struct Grouped {
    table: RecordBatch,
    bounds: Vec<usize>,
}

impl Grouped {
    fn of(table: &RecordBatch, group: impl Fn(u32) -> Option<usize>, groups: usize) -> Result<Grouped, ArrowError> {
        let streams = table.column_by_name("stream").and_then(|streams| streams.as_primitive_opt::<UInt32Type>());
        let mut rows = vec![Vec::new(); groups];
        for (row, stream) in (0_u32..).zip(streams.into_iter().flat_map(|streams| streams.values())) {
            let rows = group(*stream).and_then(|group| rows.get_mut(group));
            rows.into_iter().for_each(|rows| rows.push(row));
        }
        let bounds = bounds(rows.iter().map(Vec::len));
        let table = take_record_batch(table, &UInt32Array::from(rows.concat()))?;
        Ok(Grouped { table, bounds })
    }

    fn part(&self, groups: &Range<usize>) -> RecordBatch {
        let first = self.bounds[groups.start];
        self.table.slice(first, self.bounds[groups.end] - first)
    }
}

/// From the first place of each part to where all end.
pub(super) fn bounds(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut end = 0;
    let ends = lengths.map(|length| {
        end += length;
        end
    });
    std::iter::once(0).chain(ends).collect()
}

impl Recording {
    /// The groups of connections in the order of their numbers, as many together as have no more than `most` exchanges,
    /// or one alone. `group_of` has the number of each stream's group; streams of none are left out.
    pub fn groups(&self, group_of: &[Option<usize>], most: usize) -> Result<Vec<Groups>, ArrowError> {
        let count = group_of.iter().flatten().max().map_or(0, |last| last + 1);
        let group = |stream: u32| group_of.get(stream as usize).copied().flatten();
        let [connections, clock_readings, segments] =
            [&self.connections, &self.clock_readings, &self.segments].map(|table| Grouped::of(table, group, count));
        let (connections, clock_readings, segments) = (connections?, clock_readings?, segments?);
        let (samples, of_samples) = self.samples.grouped(group, count);
        let (exchanges, bounds) = self.exchanges.grouped(|stream| group(stream).map(|group| group as u32), count)?;
        let part = |groups: &Range<usize>, exchanges: ExchangeColumns| Recording {
            connections: connections.part(groups),
            exchanges,
            samples: samples.part(of_samples[groups.start]..of_samples[groups.end]),
            clock_readings: clock_readings.part(groups),
            segments: segments.part(groups),
            period_ns: None,
            ..self.clone()
        };
        let some = some(&bounds, most);
        let edges: Vec<usize> = some.iter().map(|some| bounds[some.start]).chain(bounds.last().copied()).collect();
        let together = some.iter().zip(exchanges.split(&edges));
        let groups = together.map(|(some, exchanges)| {
            let edges: Vec<usize> =
                bounds[some.start..=some.end].iter().map(|bound| bound - bounds[some.start]).collect();
            let each = some.clone().zip(exchanges.split(&edges));
            let each = each.map(|(group, exchanges)| part(&(group..group + 1), exchanges)).collect();
            Groups { together: part(some, exchanges), each }
        });
        Ok(groups.collect())
    }
}

/// Groups that have no more than `most` exchanges together, or one alone.
fn some(bounds: &[usize], most: usize) -> Vec<Range<usize>> {
    let mut some = Vec::new();
    let mut first = 0;
    while first + 1 < bounds.len() {
        let end = bounds.partition_point(|&bound| bound <= bounds[first].saturating_add(most));
        let end = (end - 1).max(first + 1);
        some.push(first..end);
        first = end;
    }
    some
}

#[cfg(test)]
#[path = "grouped_tests.rs"]
mod tests;
