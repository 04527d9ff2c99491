//! The table of RTT samples.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{BooleanArray, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, SchemaRef};

use super::grouped::bounds;
use super::{Timestamps, batch};
use crate::disk::Overflow;
use crate::side::Side;
use crate::stream::{Connections, Place, RttSample, Samples};

/// Rows of a batch, about.
const ROWS: usize = 1 << 16;

/// The RTT samples of some connections in some time. All such views share the samples that were kept.
#[derive(Clone, Debug)]
pub struct SampleColumns {
    kept: Arc<Kept>,
    /// The places of the connections among those that have some; none for all.
    connections: Option<Arc<[u32]>>,
    /// From when to when, the end is no part of it; in ns.
    period: Option<[i64; 2]>,
}

#[derive(Debug)]
struct Kept {
    /// Of each connection that has some, by its number.
    samples: Vec<(u32, Samples)>,
    overflow: Overflow,
}

impl SampleColumns {
    /// Those that the connections have; some may have overflowed.
    pub fn of(connections: &mut Connections, overflow: Overflow) -> SampleColumns {
        let places = 0..connections.len();
        let samples =
            places.map(|place| (connections.stream(place), std::mem::take(&mut connections.get_mut(place).samples)));
        SampleColumns::all(samples.filter(|(_, samples)| !samples.is_empty()).collect(), overflow)
    }

    fn all(samples: Vec<(u32, Samples)>, overflow: Overflow) -> SampleColumns {
        SampleColumns { kept: Arc::new(Kept { samples, overflow }), connections: None, period: None }
    }

    /// Of a recording that was saved; `take` is handed each one, those of a connection in their order. Beyond `most` bytes
    /// they go to the disk, where there is room.
    pub fn saved<E>(
        most: usize,
        mut overflow: Overflow,
        give: impl FnOnce(&mut dyn FnMut(u32, Side, RttSample)) -> Result<(), E>,
    ) -> Result<SampleColumns, E> {
        let mut all = BTreeMap::<u32, Samples>::new();
        let (mut kept, mut due) = (0, most / size_of::<(Side, RttSample)>());
        give(&mut |stream, side, sample| {
            all.entry(stream).or_default().push(side, sample);
            kept += 1;
            if kept > due && overflow.takes() {
                kept -= all.values_mut().map(|samples| samples.put_on_disk(&mut overflow)).sum::<usize>();
                due = due.max(kept + kept / 8);
            }
        })?;
        Ok(SampleColumns::all(all.into_iter().collect(), overflow))
    }

    /// Samples of some connections.
    pub fn picked(&self, is_picked: impl Fn(u32) -> bool) -> SampleColumns {
        let all = (0..).map_while(|number| self.connection(number));
        let picked = all.filter(|&(_, (stream, _))| is_picked(*stream)).map(|(place, _)| place as u32);
        SampleColumns { connections: Some(picked.collect()), ..self.clone() }
    }

    /// Samples group by group, and where each group begins among the connections, at last where all end.
    pub fn grouped(&self, group: impl Fn(u32) -> Option<usize>, groups: usize) -> (SampleColumns, Vec<usize>) {
        let mut places = vec![Vec::new(); groups];
        for (place, (stream, _)) in (0..).map_while(|number| self.connection(number)) {
            let places = group(*stream).and_then(|group| places.get_mut(group));
            places.into_iter().for_each(|places| places.push(place as u32));
        }
        let bounds = bounds(places.iter().map(Vec::len));
        (SampleColumns { connections: Some(places.concat().into()), ..self.clone() }, bounds)
    }

    /// Samples of some of the connections that were picked, by their places among these.
    pub fn part(&self, connections: Range<usize>) -> SampleColumns {
        let part = self.connections.as_deref().and_then(|places| places.get(connections)).unwrap_or_default();
        SampleColumns { connections: Some(part.into()), ..self.clone() }
    }

    /// Samples from the first time to before the second, in ns.
    pub fn within(mut self, [begin, end]: [i64; 2]) -> SampleColumns {
        self.period = Some(self.period.map_or([begin, end], |[first, last]| [first.max(begin), last.min(end)]));
        self
    }

    /// The `number`th of its connections: its place among those that were kept, and its samples.
    fn connection(&self, number: usize) -> Option<(usize, &(u32, Samples))> {
        let place = match &self.connections {
            None => number,
            Some(places) => *places.get(number)? as usize,
        };
        Some((place, self.kept.samples.get(place)?))
    }

    #[inline]
    fn has(&self, sample: &RttSample) -> bool {
        self.period.is_none_or(|[begin, end]| begin <= sample.time_ns && sample.time_ns < end)
    }

    /// Each with its connection, connection by connection.
    pub fn each(&self, mut take: impl FnMut(u32, Side, RttSample)) -> io::Result<()> {
        let mut all = (0..).map_while(|number| self.connection(number));
        all.try_for_each(|(_, (stream, samples))| {
            samples.each(&self.kept.overflow, |side, sample| {
                if self.has(&sample) {
                    take(*stream, side, sample);
                }
            })
        })
    }

    /// As an Arrow table.
    pub fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let mut columns = Columns::default();
        self.each(|stream, side, sample| columns.push(stream, side, sample))?;
        columns.batch()
    }
}

/// The same batch by batch, each made when it is asked for: nobody has to hold all of them.
pub struct SampleBatches {
    samples: SampleColumns,
    connection: usize,
    place: Place,
}

impl SampleBatches {
    pub fn of(samples: SampleColumns) -> SampleBatches {
        SampleBatches { samples, connection: 0, place: Place::default() }
    }

    /// What each consists of.
    pub fn schema() -> Result<SchemaRef, ArrowError> {
        Columns::default().batch().map(|batch| batch.schema())
    }

    /// Whole blocks of one connection after the other.
    fn columns(&mut self) -> io::Result<Columns> {
        let mut columns = Columns::of(ROWS + ROWS / 4);
        while columns.streams.len() < ROWS {
            let Some((_, (stream, samples))) = self.samples.connection(self.connection) else { break };
            let take = |side, sample| {
                if self.samples.has(&sample) {
                    columns.push(*stream, side, sample);
                }
            };
            if !samples.next_block(&mut self.place, &self.samples.kept.overflow, take)? {
                self.connection += 1;
                self.place = Place::default();
            }
        }
        Ok(columns)
    }
}

impl Iterator for SampleBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.columns() {
            Ok(columns) if columns.streams.is_empty() => None,
            columns => Some(columns.map_err(ArrowError::from).and_then(Columns::batch)),
        }
    }
}

#[derive(Default)]
struct Columns {
    streams: Vec<u32>,
    by_server: Vec<bool>,
    times_ns: Vec<i64>,
    rtts_ns: Vec<i64>,
    segments: Vec<u32>,
    in_flight: Vec<u32>,
}

impl Columns {
    /// With room for so many.
    fn of(count: usize) -> Columns {
        Columns {
            streams: Vec::with_capacity(count),
            by_server: Vec::with_capacity(count),
            times_ns: Vec::with_capacity(count),
            rtts_ns: Vec::with_capacity(count),
            segments: Vec::with_capacity(count),
            in_flight: Vec::with_capacity(count),
        }
    }

    #[inline]
    fn push(&mut self, stream: u32, side: Side, sample: RttSample) {
        self.streams.push(stream);
        self.by_server.push(side == Side::Client);
        self.times_ns.push(sample.time_ns);
        self.rtts_ns.push(sample.rtt_ns);
        self.segments.push(sample.segments);
        self.in_flight.push(sample.in_flight);
    }

    fn batch(self) -> Result<RecordBatch, ArrowError> {
        batch(vec![
            ("stream", Arc::new(UInt32Array::from(self.streams))),
            ("by_server", Arc::new(BooleanArray::from(self.by_server))),
            ("time", Arc::new(Timestamps::from(self.times_ns).with_timezone("UTC"))),
            ("rtt_ns", Arc::new(Int64Array::from(self.rtts_ns))),
            ("segments", Arc::new(UInt32Array::from(self.segments))),
            ("in_flight", Arc::new(UInt32Array::from(self.in_flight))),
        ])
    }
}

#[cfg(test)]
#[path = "samples_tests.rs"]
mod tests;
