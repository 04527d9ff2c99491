//! Readings of senders' clocks.

use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampNanosecondType, UInt32Type};
use arrow_schema::ArrowError;

use super::Recording;
use super::selected::{column, named};

/// The sender's clock, in its own ticks, when data of it passed; in ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    pub stream: u32,
    pub by_server: bool,
    pub time_ns: i64,
    pub ticks: u32,
}

impl Recording {
    /// Each reading, connection by connection, in the order of time.
    pub fn each_clock_reading(&self, mut take: impl FnMut(ClockReading)) -> Result<(), ArrowError> {
        let table = &self.clock_readings;
        let [streams, ticks] = [column::<UInt32Type>(table, "stream")?, column::<UInt32Type>(table, "ticks")?];
        let times = column::<TimestampNanosecondType>(table, "time")?;
        let by_server = named(table, "by_server")?.as_boolean_opt();
        let by_server =
            by_server.ok_or_else(|| ArrowError::SchemaError("sides of clock readings are no flags".into()))?;
        for row in 0..table.num_rows() {
            take(ClockReading {
                stream: streams.value(row),
                by_server: by_server.value(row),
                time_ns: times.value(row),
                ticks: ticks.value(row),
            });
        }
        Ok(())
    }
}
