//! The table of RTT samples.

use std::io;
use std::sync::Arc;

use arrow_array::{BooleanArray, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::ArrowError;

use super::{Timestamps, batch};
use crate::disk::Overflow;
use crate::side::Side;
use crate::stream::{Connections, RttSample, Samples};

/// The RTT samples of all connections.
#[derive(Debug)]
pub struct SampleColumns {
    /// Of each connection that has some, by its number.
    samples: Vec<(u32, Samples)>,
    overflow: Overflow,
}

impl SampleColumns {
    /// Those that the connections have; some may have overflowed.
    pub fn of(connections: &mut Connections, overflow: Overflow) -> SampleColumns {
        let streams = 0..connections.len();
        let samples = streams.map(|number| (number as u32, std::mem::take(&mut connections.get_mut(number).samples)));
        SampleColumns { samples: samples.filter(|(_, samples)| !samples.is_empty()).collect(), overflow }
    }

    pub fn len(&self) -> usize {
        self.samples.iter().map(|(_, samples)| samples.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Each with its connection, connection by connection.
    pub fn each(&self, mut take: impl FnMut(u32, Side, RttSample)) -> io::Result<()> {
        let mut all = self.samples.iter();
        all.try_for_each(|(stream, samples)| samples.each(&self.overflow, |side, sample| take(*stream, side, sample)))
    }

    /// As an Arrow table.
    pub fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let rows = self.len();
        let (mut streams, mut by_server) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let (mut times_ns, mut rtts_ns) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let (mut segments, mut in_flight) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        self.each(|stream, side, sample| {
            streams.push(stream);
            by_server.push(side == Side::Client);
            times_ns.push(sample.time_ns);
            rtts_ns.push(sample.rtt_ns);
            segments.push(sample.segments);
            in_flight.push(sample.in_flight);
        })?;
        batch(vec![
            ("stream", Arc::new(UInt32Array::from(streams))),
            ("by_server", Arc::new(BooleanArray::from(by_server))),
            ("time", Arc::new(Timestamps::from(times_ns).with_timezone("UTC"))),
            ("rtt_ns", Arc::new(Int64Array::from(rtts_ns))),
            ("segments", Arc::new(UInt32Array::from(segments))),
            ("in_flight", Arc::new(UInt32Array::from(in_flight))),
        ])
    }
}
