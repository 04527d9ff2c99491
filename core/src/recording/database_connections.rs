//! The database connections of a recording, one struct each, as RTTs, legs and jobs ask for them.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int64Type, TimestampNanosecondType, UInt32Type, UInt64Type};
use arrow_array::{BooleanArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::ArrowError;

use super::Recording;
use super::selected::{UNDER_WAY, column, named};

/// A database connection. Times are ns since the recording began; pairs are the client's and the server's.
#[derive(Clone, Debug, Default)]
pub struct DatabaseConnection {
    /// The number that its exchanges say.
    pub stream: u32,
    /// The numbers of the client's host, the server and the protocol among the names.
    pub host: u32,
    pub server: u32,
    pub protocol: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub syn_ns: Option<i64>,
    pub syn_ack_ns: Option<i64>,
    pub ack_ns: Option<i64>,
    /// When each side first said that it sends no more.
    pub fin_ns: [Option<i64>; 2],
    pub is_syn_resent: bool,
    /// SYN/ACK → ACK, which the client sends, and SYN → SYN/ACK, which the server does.
    pub handshake_ns: [Option<i64>; 2],
    /// The fastest data of each side that acknowledge the other's, after these.
    pub answer_ns: [Option<i64>; 2],
    /// The largest segment that each side takes.
    pub mss_bytes: [Option<u32>; 2],
    /// The largest receive window that each side advertised, scaled, and how far that can grow.
    pub window_bytes: [Option<u64>; 2],
    pub window_limit_bytes: [Option<u64>; 2],
    /// The server spoke first.
    pub is_greeted: bool,
    /// Until when an exchange went on that had begun before the selected window.
    pub under_way_until_ns: Option<i64>,
    /// A hash of what the server made up for its session.
    pub session: Option<u64>,
    pub lost_bytes: u64,
    pub retransmissions: u64,
    pub spurious_retransmissions: u64,
    pub timeouts: u64,
}

/// The database connections, in the order of the table, and their names by numbers.
#[derive(Clone, Debug, Default)]
pub struct DatabaseConnections {
    pub all: Vec<DatabaseConnection>,
    /// The names of clients, without their ports.
    pub hosts: Vec<String>,
    pub servers: Vec<String>,
    pub protocols: Vec<String>,
    /// When the recording began, in ns since 1970: its first packet of one of them, or its window.
    pub start_ns: i64,
    /// Until its last data, or the end of its window.
    pub runtime_ns: i64,
    places: HashMap<u32, u32, ahash::RandomState>,
}

impl DatabaseConnections {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The place of a stream's connection.
    pub fn place(&self, stream: i64) -> Option<usize> {
        self.places.get(&u32::try_from(stream).ok()?).map(|&place| place as usize)
    }
}

impl Recording {
    /// Its database connections. Names are numbered in the order in which the table of all connections has them.
    pub fn database_connections(&self) -> Result<DatabaseConnections, ArrowError> {
        let table = Table { batch: &self.connections, start_ns: self.start_ns()? };
        let (clients, servers, protocols) = (table.texts("client")?, table.texts("server")?, table.texts("protocol")?);
        let (mut host_names, mut server_names, mut protocol_names) =
            (Names::default(), Names::default(), Names::default());
        let [hosts, servers, protocols] = [
            host_names.numbers(clients, host_of),
            server_names.numbers(servers, |name| name),
            protocol_names.numbers(protocols, |name| name),
        ];
        let streams = column::<UInt32Type>(&self.connections, "stream")?;
        let [start, end] = [table.times("start")?, table.times("end")?];
        let [syn, syn_ack, ack] = [table.times("syn_time")?, table.times("syn_ack_time")?, table.times("ack_time")?];
        let [client_fin, server_fin] = [table.times("client_fin_time")?, table.times("server_fin_time")?];
        let [client_handshake, server_handshake] =
            [table.spans("client_handshake_ns")?, table.spans("server_handshake_ns")?];
        let [client_answer, server_answer] = [table.spans("client_answer_ns")?, table.spans("server_answer_ns")?];
        let (resent, greeted) = (table.flags("handshake_retransmitted")?, table.flags("server_first")?);
        let mss = [table.numbers::<UInt32Type>("client_mss")?, table.numbers::<UInt32Type>("server_mss")?];
        let window =
            [table.numbers::<UInt64Type>("client_window_bytes")?, table.numbers::<UInt64Type>("server_window_bytes")?];
        let limit = [
            table.numbers::<UInt64Type>("client_window_limit_bytes")?,
            table.numbers::<UInt64Type>("server_window_limit_bytes")?,
        ];
        let under_way = self.connections.column_by_name(UNDER_WAY).map(|_| table.times(UNDER_WAY)).transpose()?;
        let session = table.numbers::<UInt64Type>("session")?;
        let [lost, again, spurious, timeouts] = [
            table.counts("lost_bytes")?,
            table.counts("retransmissions")?,
            table.counts("spurious_retransmissions")?,
            table.counts("timeouts")?,
        ];
        let all: Vec<_> = self
            .database_rows()
            .into_iter()
            .map(|row| {
                let row = row as usize;
                DatabaseConnection {
                    stream: streams.value(row),
                    host: hosts[row],
                    server: servers[row],
                    protocol: protocols[row],
                    start_ns: start[row].unwrap_or(0),
                    end_ns: end[row].unwrap_or(0),
                    syn_ns: syn[row],
                    syn_ack_ns: syn_ack[row],
                    ack_ns: ack[row],
                    fin_ns: [client_fin[row], server_fin[row]],
                    is_syn_resent: resent.value(row),
                    handshake_ns: [client_handshake[row], server_handshake[row]],
                    answer_ns: [client_answer[row], server_answer[row]],
                    mss_bytes: [mss[0][row], mss[1][row]],
                    window_bytes: [window[0][row], window[1][row]],
                    window_limit_bytes: [limit[0][row], limit[1][row]],
                    is_greeted: greeted.value(row),
                    under_way_until_ns: under_way.as_ref().and_then(|times| times[row]),
                    session: session[row],
                    lost_bytes: lost.value(row),
                    retransmissions: again.value(row),
                    spurious_retransmissions: spurious.value(row),
                    timeouts: timeouts.value(row),
                }
            })
            .collect();
        let places = all.iter().zip(0..).map(|(connection, place)| (connection.stream, place)).collect();
        Ok(DatabaseConnections {
            all,
            hosts: host_names.names,
            servers: server_names.names,
            protocols: protocol_names.names,
            start_ns: table.start_ns,
            runtime_ns: self.runtime_ns()?,
            places,
        })
    }

    /// When it began, in ns since 1970: its window, or the first packet of a database connection.
    pub fn start_ns(&self) -> Result<i64, ArrowError> {
        let reach = self.reach_ns()?;
        Ok(self.period_ns.or(reach).map_or(0, |[begin, _]| begin))
    }

    /// From then to the last data of one, or to the end of its window.
    pub fn runtime_ns(&self) -> Result<i64, ArrowError> {
        let reach = self.reach_ns()?;
        Ok(self.period_ns.or(reach).map_or(0, |[begin, end]| end.saturating_sub(begin).max(0)))
    }

    /// How fine the captures' clocks are, the coarsest of all: 1 where it does not show.
    pub fn tick_ns(&self) -> Result<i64, ArrowError> {
        let ticks = column::<UInt64Type>(&self.captures, "tick_ns")?.iter().flatten();
        Ok(ticks.map(|tick| i64::try_from(tick).unwrap_or(i64::MAX)).max().unwrap_or(1).max(1))
    }
}

/// The table of connections, read column by column.
struct Table<'a> {
    batch: &'a RecordBatch,
    start_ns: i64,
}

impl<'a> Table<'a> {
    fn texts(&self, name: &str) -> Result<&'a StringArray, ArrowError> {
        named(self.batch, name)?.as_string_opt::<i32>().ok_or_else(|| other_type(name))
    }

    fn flags(&self, name: &str) -> Result<&'a BooleanArray, ArrowError> {
        named(self.batch, name)?.as_boolean_opt().ok_or_else(|| other_type(name))
    }

    fn counts(&self, name: &str) -> Result<&'a PrimitiveArray<UInt64Type>, ArrowError> {
        column::<UInt64Type>(self.batch, name)
    }

    fn numbers<T: ArrowPrimitiveType>(&self, name: &str) -> Result<Vec<Option<T::Native>>, ArrowError> {
        Ok(column::<T>(self.batch, name)?.iter().collect())
    }

    fn spans(&self, name: &str) -> Result<Vec<Option<i64>>, ArrowError> {
        self.numbers::<Int64Type>(name)
    }

    /// Since the recording began.
    fn times(&self, name: &str) -> Result<Vec<Option<i64>>, ArrowError> {
        let times = column::<TimestampNanosecondType>(self.batch, name)?;
        Ok(times.iter().map(|time| time.map(|time| time.wrapping_sub(self.start_ns))).collect())
    }
}

fn other_type(name: &str) -> ArrowError {
    ArrowError::SchemaError(format!("column `{name}` is of another type"))
}

/// Names in the order in which they first occur.
#[derive(Default)]
struct Names {
    names: Vec<String>,
}

impl Names {
    /// The number of each text's name; the largest for none.
    fn numbers<'a>(&mut self, texts: &'a StringArray, name_of: impl Fn(&'a str) -> &'a str) -> Vec<u32> {
        let mut known = HashMap::<&str, u32, ahash::RandomState>::default();
        let number = |text: Option<&'a str>| {
            let Some(name) = text.map(&name_of) else { return u32::MAX };
            *known.entry(name).or_insert_with(|| {
                self.names.push(name.to_owned());
                self.names.len() as u32 - 1
            })
        };
        texts.iter().map(number).collect()
    }
}

/// The host of an endpoint: `10.0.0.5:3306`, `[fd00::1]:3306`, or with a pseudonym in its place.
pub fn host_of(endpoint: &str) -> &str {
    endpoint.rsplit_once(':').map_or("", |(host, _)| host.trim_matches(['[', ']']))
}
