//! The table of TCP connections.
//!
//! What a row is made of is far apart in memory, and there are many columns: all of them take a few rows before they take
//! the next ones.

use std::collections::HashMap;
use std::io;
use std::marker::PhantomData;
use std::rc::Rc;

use arrow_array::builder::{ArrayBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{ArrowPrimitiveType, Int64Type, TimestampNanosecondType, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use super::{Column, Tables, batch};
use crate::conversation::{Conversation, Dialogue};
use crate::drivers::{Known, driver_and_framework};
use crate::layers::tls::{Reading, TlsFacts};
use crate::packet::Endpoint;
use crate::protocols::opaque;
use crate::session::Session;
use crate::side::Side;
use crate::sql::Statements;
use crate::stream::{Anomalies, Connection, Tally};

/// Rows that each column takes at once: they stay in a processor's cache meanwhile.
const TOGETHER: usize = 64;

/// A column that grows by some rows at a time.
trait Grows<'a> {
    fn take(&mut self, rows: &[Row<'a>]);
    fn array(&mut self) -> ArrayRef;
}

type Growing<'a> = Box<dyn Grows<'a> + 'a>;

/// What is built of a value of each row.
struct Built<B, V, F> {
    builder: B,
    value: F,
    of: PhantomData<V>,
}

impl<'a, V, B: ArrayBuilder + Extend<Option<V>>, F: FnMut(&Row<'a>) -> Option<V>> Grows<'a> for Built<B, V, F> {
    fn take(&mut self, rows: &[Row<'a>]) {
        self.builder.extend(rows.iter().map(&mut self.value));
    }

    fn array(&mut self) -> ArrayRef {
        self.builder.finish()
    }
}

fn built<'a, V: 'a>(
    builder: impl ArrayBuilder + Extend<Option<V>> + 'a,
    value: impl FnMut(&Row<'a>) -> Option<V> + 'a,
) -> Growing<'a> {
    Box::new(Built { builder, value, of: PhantomData })
}

fn text<'a, V: AsRef<str> + 'a>(value: impl FnMut(&Row<'a>) -> Option<V> + 'a) -> Growing<'a> {
    built(StringBuilder::new(), value)
}

/// A name as it may be shown; many connections have the same.
fn name<'a>(value: impl Fn(&Row<'a>) -> Option<&'a str> + 'a) -> Growing<'a> {
    let mut shown: HashMap<&str, Rc<str>, ahash::RandomState> = HashMap::default();
    text(move |row| {
        let name = value(row)?;
        Some(Rc::clone(shown.entry(name).or_insert_with(|| Statements::name(name).into())))
    })
}

fn optional<'a, T: ArrowPrimitiveType>(value: impl FnMut(&Row<'a>) -> Option<T::Native> + 'a) -> Growing<'a> {
    built(PrimitiveBuilder::<T>::new(), value)
}

fn number<'a>(value: impl Fn(&Row<'a>) -> u64 + 'a) -> Growing<'a> {
    optional::<UInt64Type>(move |row| Some(value(row)))
}

fn anomaly<'a>(tally: fn(&Anomalies) -> Tally) -> Growing<'a> {
    number(move |row| tally(row.connection.anomalies()).count)
}

fn span<'a>(span_ns: fn(&Anomalies) -> i64) -> Growing<'a> {
    optional::<Int64Type>(move |row| Some(span_ns(row.connection.anomalies())))
}

fn time<'a>(value: fn(&Connection) -> Option<i64>) -> Growing<'a> {
    let builder = PrimitiveBuilder::<TimestampNanosecondType>::new();
    let utc = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    built(builder.with_data_type(utc), move |row| value(row.connection))
}

fn flag<'a>(value: impl Fn(&Row<'a>) -> Option<bool> + 'a) -> Growing<'a> {
    built(BooleanBuilder::new(), value)
}

impl Tables {
    /// One row a TCP connection; `protocol` is null where it is no database traffic, an MSS where that side's SYN was not
    /// captured, a window (the largest that side advertised, scaled) where the SYNs with its scale were not.
    pub fn connections(&self) -> Result<RecordBatch, ArrowError> {
        let rows: Vec<Row<'_>> = self.connections.iter().zip(&self.conversations).map(Row::new).collect();
        let mut columns = self.connection_columns()?;
        for some in rows.chunks(TOGETHER) {
            columns.iter_mut().for_each(|(_, column)| column.take(some));
        }
        batch(columns.into_iter().map(|(name, mut column)| (name, column.array())).collect())
    }

    fn connection_columns(&self) -> io::Result<Vec<(&'static str, Growing<'_>)>> {
        fn session<'a>(get: fn(&Session) -> Option<&str>) -> Growing<'a> {
            name(move |row| get(&row.dialogue?.session))
        }
        fn former<'a>(get: fn(&Session) -> &[String]) -> Growing<'a> {
            text(move |row| Some(one_a_line(get(&row.dialogue?.session))))
        }
        fn tls<'a>(get: fn(&TlsFacts) -> Option<&str>) -> Growing<'a> {
            name(move |row| row.tls().and_then(get))
        }
        let half = |side| optional::<Int64Type>(move |row| row.connection.handshake.half_ns(side));
        let answer = |asked: Side| optional::<Int64Type>(move |row| row.connection.fastest_answer_ns[asked as usize]);
        let mss = |side| {
            optional::<UInt32Type>(move |row| row.connection.advertised.maximum_segment_size(side).map(u32::from))
        };
        let window = |side| optional::<UInt64Type>(move |row| row.connection.advertised.window_bytes(side));
        let limit = |side| optional::<UInt64Type>(move |row| row.connection.advertised.window_limit_bytes(side));
        let (mut streams, mut cancels, mut sessions) = (self.streams(), self.cancelled_connections(), self.sessions());
        let (exchanges, round_trips) = self.counts_per_connection()?;
        let (mut exchanges, mut round_trips) = (exchanges.into_iter(), round_trips.into_iter());
        Ok(vec![
            ("stream", optional::<UInt32Type>(move |_| streams.next())),
            ("client", text(|row| Some(address(row.connection.client)))),
            ("server", text(|row| Some(address(row.connection.server)))),
            ("protocol", text(Row::protocol)),
            ("server_version", session(|session| session.server_version.as_deref())),
            ("user", session(|session| session.user.as_deref())),
            ("database", session(|session| session.database.as_deref())),
            ("application", session(|session| session.application.as_deref())),
            ("driver", name(|row| Some(row.driver.as_ref()?.name))),
            ("driver_version", name(|row| row.driver.as_ref()?.version)),
            ("driver_known_by", text(|row| Some(row.driver.as_ref()?.by.clone()))),
            ("framework", name(|row| Some(row.framework.as_ref()?.name))),
            ("framework_known_by", text(|row| Some(row.framework.as_ref()?.by.clone()))),
            ("former_users", former(|session| &session.former_users)),
            ("former_databases", former(|session| &session.former_databases)),
            ("encryption", session(|session| session.encryption)),
            ("compression", session(|session| session.compression)),
            ("tls_version", tls(|tls| tls.version)),
            ("tls_cipher", text(|row| row.tls()?.cipher_suite_name())),
            ("server_name", tls(|tls| tls.server_name.as_deref())),
            ("certificate_subject", tls(|tls| tls.certificate_subject.as_deref())),
            ("tls_resumed", flag(|row| row.tls()?.resumed)),
            ("tls_reading", tls(|tls| Some(tls.reading.as_str()))),
            ("timing_only", flag(|row| Some(row.is_timing_only()))),
            ("state", text(|row| Some(row.connection.state().as_str()))),
            ("replication", flag(|row| Some(row.dialogue.is_some_and(|d| d.session.replication)))),
            ("first_frame", number(|row| row.connection.first_frame)),
            ("last_frame", number(|row| row.connection.last_frame)),
            ("start", time(|connection| Some(connection.first_ns))),
            ("end", time(|connection| Some(connection.last_ns))),
            ("data_end", time(|connection| connection.last_data_ns)),
            ("syn_time", time(|connection| connection.handshake.syn_ns)),
            ("syn_ack_time", time(|connection| connection.handshake.syn_ack_ns)),
            ("ack_time", time(|connection| connection.handshake.ack_ns)),
            ("client_fin_time", time(|connection| connection.fin_ns[0])),
            ("server_fin_time", time(|connection| connection.fin_ns[1])),
            ("client_reset_time", time(|connection| connection.anomalies().reset_ns[0])),
            ("server_reset_time", time(|connection| connection.anomalies().reset_ns[1])),
            ("handshake_retransmitted", flag(|row| Some(row.connection.handshake.retransmitted))),
            ("server_handshake_ns", half(Side::Server)),
            ("client_handshake_ns", half(Side::Client)),
            ("server_answer_ns", answer(Side::Client)),
            ("client_answer_ns", answer(Side::Server)),
            ("client_mss", mss(Side::Client)),
            ("server_mss", mss(Side::Server)),
            ("client_window_bytes", window(Side::Client)),
            ("server_window_bytes", window(Side::Server)),
            ("client_window_limit_bytes", limit(Side::Client)),
            ("server_window_limit_bytes", limit(Side::Server)),
            ("cancels", optional::<UInt32Type>(move |_| cancels.next().flatten())),
            ("session", optional::<UInt64Type>(move |_| sessions.next().flatten())),
            ("server_first", flag(|row| Some(row.dialogue.is_some_and(|d| d.pairing.greeted)))),
            ("exchanges", optional::<UInt32Type>(move |_| exchanges.next())),
            ("round_trips", optional::<UInt64Type>(move |_| round_trips.next())),
            ("request_bytes", number(|row| row.connection.streams.bytes_sent(Side::Client))),
            ("response_bytes", number(|row| row.connection.streams.bytes_sent(Side::Server))),
            ("retransmissions", number(|row| row.connection.streams.retransmissions.iter().sum())),
            ("lost_bytes", number(|row| row.connection.streams.lost_bytes)),
            ("gaps", optional::<UInt32Type>(|row| Some(row.connection.streams.gaps))),
            ("client_packets", number(|row| row.connection.packets[Side::Client as usize])),
            ("server_packets", number(|row| row.connection.packets[Side::Server as usize])),
            ("data_packets", number(|row| row.connection.data_packets.iter().sum())),
            ("spurious_retransmissions", number(|row| row.connection.anomalies().spurious.iter().sum())),
            ("client_data_packets", number(|row| row.connection.data_packets[0])),
            ("client_retransmissions", number(|row| row.connection.streams.retransmissions[0])),
            ("client_spurious_retransmissions", number(|row| row.connection.anomalies().spurious[0])),
            ("client_reordered_packets", number(|row| row.connection.anomalies().reordered_of_client)),
            ("client_zero_windows", number(|row| row.connection.anomalies().zero_windows_of_client)),
            ("duplicate_packets", anomaly(|anomalies| anomalies.duplicates)),
            ("cut_packets", anomaly(|anomalies| anomalies.cut)),
            ("offloaded_packets", anomaly(|anomalies| anomalies.offloaded)),
            ("reordered_packets", anomaly(|anomalies| anomalies.reordered)),
            ("duplicate_acks", anomaly(|anomalies| anomalies.duplicate_acks)),
            ("zero_windows", anomaly(|anomalies| anomalies.zero_windows)),
            ("timeouts", anomaly(|anomalies| anomalies.timeouts)),
            ("timeout_ns", span(|anomalies| anomalies.timeout_ns)),
            ("stalls", anomaly(|anomalies| anomalies.stalls)),
            ("stalled_ns", span(|anomalies| anomalies.stalled_ns)),
            ("clock_steps", anomaly(|anomalies| anomalies.clock_steps)),
            ("clock_stepped_ns", span(|anomalies| anomalies.clock_stepped_ns)),
        ])
    }

    /// The connection whose statement each connection came to cancel.
    fn cancelled_connections(&self) -> impl Iterator<Item = Option<u32>> {
        let keys = |get: fn(&Dialogue) -> Option<u64>| {
            self.conversations.iter().map(move |conversation| conversation.dialogue().and_then(get))
        };
        let victims: HashMap<u64, u32> = keys(|dialogue| dialogue.session.cancel_key)
            .zip(self.streams())
            .filter_map(|(key, stream)| Some((key?, stream)))
            .collect();
        keys(|dialogue| dialogue.session.cancels).map(move |key| victims.get(&key?).copied())
    }

    /// A hash of what the server made up for each session: equal on both sides of whoever passes it on.
    fn sessions(&self) -> impl Iterator<Item = Option<u64>> {
        self.conversations.iter().map(|conversation| conversation.dialogue()?.session.identity())
    }

    /// What Wireshark calls each connection.
    fn streams(&self) -> impl Iterator<Item = u32> {
        self.connections.numbered().map(|(stream, _)| stream)
    }

    /// How many exchanges each connection has, and how often its client waited.
    fn counts_per_connection(&self) -> io::Result<(Vec<u32>, Vec<u64>)> {
        let connections = self.connections.len();
        let (mut exchanges, mut waits) = (vec![0; connections], vec![0; connections]);
        self.exchanges.each([Column::stream, Column::round_trips], |[stream, round_trips]| {
            let place = self.connections.place(stream as u32);
            exchanges[place] += 1;
            waits[place] += round_trips as u64;
        })?;
        Ok((exchanges, waits))
    }
}

struct Row<'a> {
    connection: &'a Connection,
    dialogue: Option<&'a Dialogue>,
    driver: Option<Known<'a>>,
    framework: Option<Known<'a>>,
}

impl<'a> Row<'a> {
    fn new((connection, conversation): (&'a Connection, &'a Conversation)) -> Row<'a> {
        let dialogue = conversation.dialogue();
        let known = dialogue.map(|Dialogue { protocol, session, .. }| {
            driver_and_framework(protocol, &session.client, session.application.as_deref())
        });
        let (driver, framework) = known.unwrap_or_default();
        Row { connection, dialogue, driver, framework }
    }

    fn protocol(&self) -> Option<&'static str> {
        self.dialogue.map(|dialogue| dialogue.protocol)
    }

    fn tls(&self) -> Option<&'a TlsFacts> {
        self.dialogue?.session.tls.as_deref()
    }

    /// Only who speaks when is known: what is said is encrypted and was not opened, or nobody knows its protocol.
    fn is_timing_only(&self) -> bool {
        let is_opened = self.tls().is_some_and(|tls| tls.reading == Reading::Decrypted);
        self.dialogue.is_some_and(|dialogue| {
            dialogue.session.encryption.is_some() && !is_opened || opaque::NAMES.contains(&dialogue.protocol)
        })
    }
}

/// Printable names, so that no name holds a line's end.
fn one_a_line(names: &[String]) -> String {
    names.iter().map(|name| Statements::name(name)).collect::<Vec<_>>().join("\n")
}

fn address(endpoint: Endpoint) -> String {
    std::net::SocketAddr::new(endpoint.address, endpoint.port).to_string()
}
