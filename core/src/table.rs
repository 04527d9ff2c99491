//! The tables a recording becomes: the only file that knows Arrow.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::TimestampNanosecondType;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int64Array, PrimitiveArray, RecordBatch, StringArray, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::ArrowError;

use crate::capture::Recording;
use crate::conversation::{Conversation, Dialogue};
use crate::exchange::{Exchange, Span};
use crate::note::{Note, NoteCode, Notes};
use crate::packet::Endpoint;
use crate::protocols::protocol_on;
use crate::session::Session;
use crate::side::Side;
use crate::sql::Statements;
use crate::stream::{Anomalies, Connection, Connections, Mark, State, Tally};

type Timestamps = PrimitiveArray<TimestampNanosecondType>;

/// Everything that was read.
pub struct Tables {
    pub recording: Recording,
    pub connections: Connections,
    pub conversations: Vec<Conversation>,
    pub statements: Statements,
    pub exchanges: ExchangeColumns,
    pub notes: Notes,
}

impl Tables {
    /// One row a capture file.
    pub fn captures(&self) -> Result<RecordBatch, ArrowError> {
        let files: Vec<_> = self.recording.files().collect();
        batch(vec![
            ("path", strings(files.iter().map(|file| Some(file.path.as_str())))),
            ("format", strings(files.iter().map(|file| Some(file.format.as_str())))),
            ("packets", numbers(files.iter().map(|file| file.packets))),
            ("bytes", numbers(files.iter().map(|file| file.bytes))),
            ("first_time", times(files.iter().map(|file| file.first_time_ns))),
            ("last_time", times(files.iter().map(|file| file.last_time_ns))),
        ])
    }

    /// What went wrong without stopping the reading.
    pub fn notes(&self) -> Result<RecordBatch, ArrowError> {
        let mut notes = self.recording.notes();
        notes.extend(self.notes.iter().cloned());
        batch(vec![
            ("code", strings(notes.iter().map(|note| Some(note.code.as_str())))),
            ("severity", strings(notes.iter().map(|note| Some(severity(note))))),
            ("message", strings(notes.iter().map(|note| Some(note.message.as_str())))),
            ("count", numbers(notes.iter().map(|note| note.count))),
        ])
    }

    /// Every text that an exchange refers to by number.
    pub fn statements(&self) -> Result<RecordBatch, ArrowError> {
        let ids = 0..self.statements.len() as u32;
        batch(vec![
            ("id", Arc::new(UInt32Array::from_iter_values(ids.clone()))),
            ("text", strings(ids.map(|id| Some(self.statements.text(id))))),
        ])
    }

    /// Every set of tags that an exchange refers to by number.
    pub fn tags(&self) -> Result<RecordBatch, ArrowError> {
        batch(vec![("text", strings(self.statements.tags().map(Some)))])
    }

    /// One row a TCP connection; `protocol` is null where it is no database traffic, an MSS where that side's SYN was not
    /// captured, a window (the largest that side advertised, scaled) where the SYNs with its scale were not.
    pub fn connections(&self) -> Result<RecordBatch, ArrowError> {
        let rows: Vec<Row<'_>> = self.connections.iter().zip(&self.conversations).map(Row::new).collect();
        let text = |get: fn(&Dialogue) -> Option<&str>| {
            strings(rows.iter().map(|row| get(row.dialogue?).map(Statements::name)))
        };
        let anomalies = || rows.iter().map(|row| row.connection.anomalies);
        let anomaly = |get: fn(Anomalies) -> Tally| numbers(anomalies().map(|anomalies| get(anomalies).count));
        let spans =
            |get: fn(Anomalies) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(anomalies().map(get))) };
        let mss = |side| {
            let sizes = rows.iter().map(|row| row.connection.advertised.maximum_segment_size(side));
            optional_numbers(sizes.map(|size| size.map_or(NO_NUMBER, u32::from)).collect())
        };
        let window = |side| {
            let sizes = rows.iter().map(|row| row.connection.advertised.window_bytes(side));
            optional_counts(sizes.map(|size| size.unwrap_or(NO_COUNT)).collect())
        };
        let former = |get: fn(&Session) -> &[String]| {
            strings(rows.iter().map(|row| Some(one_a_line(get(&row.dialogue?.session)))))
        };
        let handshake = |get: fn(&Connection) -> Option<i64>| times(rows.iter().map(|row| get(row.connection)));
        batch(vec![
            ("stream", Arc::new(UInt32Array::from_iter_values(0..rows.len() as u32))),
            ("client", strings(rows.iter().map(|row| Some(address(row.connection.client))))),
            ("server", strings(rows.iter().map(|row| Some(address(row.connection.server))))),
            ("protocol", strings(rows.iter().map(Row::protocol))),
            ("server_version", text(|dialogue| dialogue.session.server_version.as_deref())),
            ("user", text(|dialogue| dialogue.session.user.as_deref())),
            ("database", text(|dialogue| dialogue.session.database.as_deref())),
            ("application", text(|dialogue| dialogue.session.application.as_deref())),
            ("former_users", former(|session| &session.former_users)),
            ("former_databases", former(|session| &session.former_databases)),
            ("encryption", text(|dialogue| dialogue.session.encryption)),
            ("compression", text(|dialogue| dialogue.session.compression)),
            ("state", strings(rows.iter().map(|row| Some(row.connection.state().as_str())))),
            ("replication", booleans(rows.iter().map(|row| row.dialogue.is_some_and(|d| d.session.replication)))),
            ("first_frame", numbers(rows.iter().map(|row| row.connection.first_frame))),
            ("last_frame", numbers(rows.iter().map(|row| row.connection.last_frame))),
            ("start", times(rows.iter().map(|row| Some(row.connection.first_ns)))),
            ("end", times(rows.iter().map(|row| Some(row.connection.last_ns)))),
            ("data_end", times(rows.iter().map(|row| row.connection.last_data_ns))),
            ("syn_time", handshake(|connection| connection.handshake.syn_ns)),
            ("syn_ack_time", handshake(|connection| connection.handshake.syn_ack_ns)),
            ("ack_time", handshake(|connection| connection.handshake.ack_ns)),
            ("handshake_retransmitted", booleans(rows.iter().map(|row| row.connection.handshake.retransmitted))),
            ("client_mss", mss(Side::Client)),
            ("server_mss", mss(Side::Server)),
            ("client_window_bytes", window(Side::Client)),
            ("server_window_bytes", window(Side::Server)),
            ("cancels", optional_numbers(self.cancelled_connections())),
            ("server_first", booleans(rows.iter().map(|row| row.dialogue.is_some_and(|d| d.pairing.greeted)))),
            ("exchanges", Arc::new(UInt32Array::from_iter_values(self.exchanges_per_connection()))),
            ("round_trips", numbers(self.round_trips_per_connection())),
            ("request_bytes", numbers(rows.iter().map(|row| row.connection.streams.bytes_sent(Side::Client)))),
            ("response_bytes", numbers(rows.iter().map(|row| row.connection.streams.bytes_sent(Side::Server)))),
            ("retransmissions", numbers(rows.iter().map(|row| row.connection.streams.retransmissions))),
            ("lost_bytes", numbers(rows.iter().map(|row| row.connection.streams.lost_bytes))),
            ("gaps", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.connection.streams.gaps)))),
            ("client_packets", numbers(rows.iter().map(|row| row.connection.packets[Side::Client as usize]))),
            ("server_packets", numbers(rows.iter().map(|row| row.connection.packets[Side::Server as usize]))),
            ("duplicate_packets", anomaly(|anomalies| anomalies.duplicates)),
            ("cut_packets", anomaly(|anomalies| anomalies.cut)),
            ("offloaded_packets", anomaly(|anomalies| anomalies.offloaded)),
            ("reordered_packets", anomaly(|anomalies| anomalies.reordered)),
            ("duplicate_acks", anomaly(|anomalies| anomalies.duplicate_acks)),
            ("zero_windows", anomaly(|anomalies| anomalies.zero_windows)),
            ("timeouts", anomaly(|anomalies| anomalies.timeouts)),
            ("timeout_ns", spans(|anomalies| anomalies.timeout_ns)),
            ("stalls", anomaly(|anomalies| anomalies.stalls)),
            ("stalled_ns", spans(|anomalies| anomalies.stalled_ns)),
            ("clock_steps", anomaly(|anomalies| anomalies.clock_steps)),
        ])
    }

    /// One row a clean in-stream RTT sample.
    pub fn rtt_samples(&self) -> Result<RecordBatch, ArrowError> {
        let samples: Vec<_> = (0u32..)
            .zip(self.connections.iter())
            .flat_map(|(stream, connection)| {
                connection.samples.iter().map(move |&(side, sample)| (stream, side, sample))
            })
            .collect();
        batch(vec![
            ("stream", Arc::new(UInt32Array::from_iter_values(samples.iter().map(|&(stream, ..)| stream)))),
            ("by_server", booleans(samples.iter().map(|&(_, side, _)| side == Side::Client))),
            ("time", times(samples.iter().map(|(.., sample)| Some(sample.time_ns)))),
            ("rtt_ns", Arc::new(Int64Array::from_iter_values(samples.iter().map(|(.., sample)| sample.rtt_ns)))),
            ("segments", Arc::new(UInt32Array::from_iter_values(samples.iter().map(|(.., sample)| sample.segments)))),
            ("in_flight", Arc::new(UInt32Array::from_iter_values(samples.iter().map(|(.., sample)| sample.in_flight)))),
        ])
    }

    /// The connection whose statement each connection came to cancel.
    fn cancelled_connections(&self) -> Vec<u32> {
        let keys = |get: fn(&Dialogue) -> Option<u64>| {
            self.conversations.iter().map(move |conversation| conversation.dialogue().and_then(get))
        };
        let victims: HashMap<u64, u32> = keys(|dialogue| dialogue.session.cancel_key)
            .zip(0..)
            .filter_map(|(key, stream)| Some((key?, stream)))
            .collect();
        let victim = |key: Option<u64>| key.and_then(|key| victims.get(&key).copied()).unwrap_or(NO_NUMBER);
        keys(|dialogue| dialogue.session.cancels).map(victim).collect()
    }

    fn exchanges_per_connection(&self) -> Vec<u32> {
        let mut counts = vec![0; self.connections.len()];
        for &stream in &self.exchanges.stream {
            counts[stream as usize] += 1;
        }
        counts
    }

    fn round_trips_per_connection(&self) -> Vec<u64> {
        let mut counts = vec![0; self.connections.len()];
        for (&stream, &round_trips) in self.exchanges.stream.iter().zip(&self.exchanges.round_trips) {
            counts[stream as usize] += u64::from(round_trips);
        }
        counts
    }
}

struct Row<'a> {
    connection: &'a Connection,
    dialogue: Option<&'a Dialogue>,
}

impl<'a> Row<'a> {
    fn new((connection, conversation): (&'a Connection, &'a Conversation)) -> Row<'a> {
        Row { connection, dialogue: conversation.dialogue() }
    }

    fn protocol(&self) -> Option<&'static str> {
        protocol_of(self.connection, self.dialogue)
    }
}

/// Printable names, so that no name holds a line's end.
fn one_a_line(names: &[String]) -> String {
    names.iter().map(|name| Statements::name(name)).collect::<Vec<_>>().join("\n")
}

/// A connection that never said a word can only be recognised by its port.
pub fn protocol_of(connection: &Connection, dialogue: Option<&Dialogue>) -> Option<&'static str> {
    let silent = matches!(connection.state(), State::Refused | State::Unanswered);
    let by_port = || protocol_on(connection.server.port).filter(|_| silent).map(|protocol| protocol.name);
    dialogue.map(|dialogue| dialogue.protocol).or_else(by_port)
}

fn address(endpoint: Endpoint) -> String {
    std::net::SocketAddr::new(endpoint.address, endpoint.port).to_string()
}

fn severity(note: &Note) -> &'static str {
    match note.code {
        NoteCode::FileDamaged | NoteCode::FileUnreadable | NoteCode::OneDirection => "error",
        NoteCode::DuplicatePackets | NoteCode::Reordered | NoteCode::Offloaded | NoteCode::ProxyHeader => "info",
        _ => "warning",
    }
}

/// All exchanges, column by column, so that a million of them cost little more than their numbers.
#[derive(Debug, Default)]
pub struct ExchangeColumns {
    pub stream: Vec<u32>,
    number: Vec<u32>,
    command: Vec<u16>,
    /// What `command` counts in.
    commands: Vec<&'static str>,
    fingerprint: Vec<u32>,
    text: Vec<u32>,
    parameters: Vec<u64>,
    tags: Vec<u32>,
    frames: [Vec<u32>; 4],
    times: [Vec<i64>; 4],
    request_bytes: Vec<u64>,
    response_bytes: Vec<u64>,
    pub round_trips: Vec<u32>,
    waited: Vec<i64>,
    rows: Vec<u64>,
    affected_rows: Vec<u64>,
    errors: Errors,
    error: Vec<u32>,
    delta: Vec<i64>,
    client: Vec<i64>,
    retransmissions: Vec<u32>,
    stalled: Vec<i64>,
    transaction: Vec<u8>,
    complete: Vec<bool>,
}

/// Distinct error texts, numbered in the order they came.
#[derive(Debug, Default)]
struct Errors {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    bytes: usize,
    overflowed: u64,
}

/// Error texts that are kept.
const MAX_ERRORS: usize = 100_000;
const MAX_ERROR_BYTES: usize = 64 << 20;

impl Errors {
    /// The number of an error's text. Without room, what all share stands for it.
    fn number(&mut self, text: &str) -> u32 {
        let known = |texts: &Errors, text: &str| texts.numbers.get(text).copied();
        if let Some(number) = known(self, text) {
            return number;
        }
        if self.texts.len() < MAX_ERRORS && self.bytes + text.len() <= MAX_ERROR_BYTES {
            return self.keep(text);
        }
        self.overflowed += 1;
        known(self, TOO_MANY_ERRORS).unwrap_or_else(|| self.keep(TOO_MANY_ERRORS))
    }

    fn keep(&mut self, text: &str) -> u32 {
        let text: Arc<str> = text.into();
        self.bytes += text.len();
        self.texts.push(Arc::clone(&text));
        let number = self.texts.len() as u32 - 1;
        self.numbers.insert(text, number);
        number
    }
}

/// What all errors share for whose texts there is no room.
const TOO_MANY_ERRORS: &str = "(too many distinct errors)";

/// Stands for null in the columns above: no frame, time, count or text has these values.
const NO_NUMBER: u32 = u32::MAX;
const NO_COUNT: u64 = u64::MAX;
const NO_TIME: i64 = i64::MIN;
const NO_CODE: u8 = u8::MAX;

/// What `transaction` counts in.
const TRANSACTIONS: [&str; 3] = ["idle", "open", "failed"];

impl ExchangeColumns {
    /// Take the exchanges that a conversation has finished.
    pub fn take(&mut self, connection: usize, conversation: &mut Conversation, statements: &Statements) {
        let Some(dialogue) = conversation.dialogue_mut() else { return };
        if !dialogue.pairing.has_finished() {
            return;
        }
        for exchange in dialogue.pairing.finished() {
            self.push(connection as u32, exchange, statements);
        }
    }

    fn push(&mut self, stream: u32, exchange: Exchange, statements: &Statements) {
        let Exchange { number, command, sql, request, response, .. } = exchange;
        self.stream.push(stream);
        self.number.push(number);
        let command = self.command_number(command);
        self.command.push(command);
        self.fingerprint.push(sql.map_or(NO_NUMBER, |sql| sql.fingerprint));
        self.text.push(sql.map_or(NO_NUMBER, |sql| sql.text));
        self.parameters.push(sql.map_or(0, |sql| sql.parameters));
        self.tags.push(sql.map_or(NO_NUMBER, |sql| sql.tags));
        self.push_marks(request, response);
        self.request_bytes.push(exchange.request_bytes);
        self.response_bytes.push(exchange.response_bytes);
        self.round_trips.push(exchange.round_trips);
        self.waited.push(exchange.waited_ns.unwrap_or(NO_TIME));
        self.rows.push(exchange.rows.unwrap_or(NO_COUNT));
        self.affected_rows.push(exchange.affected_rows.unwrap_or(NO_COUNT));
        self.error.push(
            exchange
                .error
                .map_or(NO_NUMBER, |error| self.errors.number(&statements.error(sql, &error.code, &error.message))),
        );
        self.delta.push(exchange.delta_ns.unwrap_or(NO_TIME));
        self.client.push(exchange.client_ns.unwrap_or(NO_TIME));
        self.retransmissions.push(exchange.retransmissions);
        self.stalled.push(exchange.stalled_ns);
        let known = |state: &str| TRANSACTIONS.iter().position(|known| *known == state);
        self.transaction.push(exchange.transaction.and_then(known).map_or(NO_CODE, |code| code as u8));
        self.complete.push(exchange.complete);
    }

    /// How many errors came when there was no room left for a text of their own.
    pub fn errors_overflowed(&self) -> u64 {
        self.errors.overflowed
    }

    fn push_marks(&mut self, request: Option<Span>, response: Option<Span>) {
        let ends = |span: Option<Span>| span.map_or([None, None], |span| [Some(span.first), Some(span.last)]);
        let [first, last] = ends(request);
        let [answer, end] = ends(response);
        let seen = |mark: Option<Mark>| mark.filter(|mark| mark.frame > 0);
        for (place, mark) in [first, last, answer, end].into_iter().map(seen).enumerate() {
            self.frames[place].push(mark.map_or(NO_NUMBER, |mark| mark.frame as u32));
            self.times[place].push(mark.map_or(NO_TIME, |mark| mark.time_ns));
        }
    }

    fn command_number(&mut self, command: &'static str) -> u16 {
        let known = self.commands.iter().position(|&known| known == command);
        known.unwrap_or_else(|| {
            self.commands.push(command);
            self.commands.len() - 1
        }) as u16
    }

    /// In the order of connections and requests; they came in the order of their ends.
    pub fn sorted(mut self) -> ExchangeColumns {
        let key = |&row: &u32| (self.stream[row as usize], self.number[row as usize]);
        let mut order: Vec<u32> = (0..self.stream.len() as u32).collect();
        if order.is_sorted_by_key(key) {
            return self;
        }
        order.sort_unstable_by_key(key);
        self.permute(&order);
        self
    }

    fn permute(&mut self, order: &[u32]) {
        fn put<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
            *column = order.iter().map(|&row| column[row as usize]).collect();
        }
        put(&mut self.stream, order);
        put(&mut self.number, order);
        put(&mut self.command, order);
        put(&mut self.fingerprint, order);
        put(&mut self.text, order);
        put(&mut self.parameters, order);
        put(&mut self.tags, order);
        self.frames.iter_mut().for_each(|column| put(column, order));
        self.times.iter_mut().for_each(|column| put(column, order));
        put(&mut self.request_bytes, order);
        put(&mut self.response_bytes, order);
        put(&mut self.round_trips, order);
        put(&mut self.waited, order);
        put(&mut self.rows, order);
        put(&mut self.affected_rows, order);
        put(&mut self.error, order);
        put(&mut self.delta, order);
        put(&mut self.client, order);
        put(&mut self.retransmissions, order);
        put(&mut self.stalled, order);
        put(&mut self.transaction, order);
        put(&mut self.complete, order);
    }

    /// As an Arrow table; the columns move, they are not copied.
    pub fn into_batch(self) -> Result<RecordBatch, ArrowError> {
        let [request_frame, request_end_frame, response_frame, response_end_frame] = self.frames.map(optional_numbers);
        let [request_time, request_end_time, response_time, response_end_time] = self.times.map(optional_times);
        let errors = &self.errors;
        let error_text = |&row: &u32| errors.texts.get(row as usize).map(|text| &**text);
        batch(vec![
            ("stream", Arc::new(UInt32Array::from(self.stream))),
            ("exchange", Arc::new(UInt32Array::from(self.number))),
            ("command", dictionary(self.command, self.commands)?),
            ("fingerprint", optional_numbers(self.fingerprint)),
            ("text", optional_numbers(self.text)),
            ("parameters", Arc::new(UInt64Array::from(self.parameters))),
            ("tags", optional_numbers(self.tags)),
            ("request_frame", request_frame),
            ("request_end_frame", request_end_frame),
            ("response_frame", response_frame),
            ("response_end_frame", response_end_frame),
            ("request_time", request_time),
            ("request_end_time", request_end_time),
            ("response_time", response_time),
            ("response_end_time", response_end_time),
            ("request_bytes", Arc::new(UInt64Array::from(self.request_bytes))),
            ("response_bytes", Arc::new(UInt64Array::from(self.response_bytes))),
            ("round_trips", Arc::new(UInt32Array::from(self.round_trips))),
            ("waited_ns", optional_spans(self.waited)),
            ("rows", optional_counts(self.rows)),
            ("affected_rows", optional_counts(self.affected_rows)),
            ("error", strings(self.error.iter().map(error_text))),
            ("delta_ns", optional_spans(self.delta)),
            ("client_ns", optional_spans(self.client)),
            ("retransmissions", Arc::new(UInt32Array::from(self.retransmissions))),
            ("stalled_ns", Arc::new(Int64Array::from(self.stalled))),
            ("transaction", strings(self.transaction.iter().map(|&code| TRANSACTIONS.get(usize::from(code))))),
            ("complete", Arc::new(BooleanArray::from(self.complete))),
        ])
    }
}

// --- columns ------------------------------------------------------------------------------------------------------------

fn batch(columns: Vec<(&'static str, ArrayRef)>) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_from_iter(columns)
}

fn strings<T: AsRef<str>>(values: impl Iterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(StringArray::from_iter(values))
}

fn numbers(values: impl IntoIterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn booleans(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(BooleanArray::from_iter(values.map(Some)))
}

fn times(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(Timestamps::from_iter(values).with_timezone("UTC"))
}

fn optional_numbers(values: Vec<u32>) -> ArrayRef {
    let nulls = present(&values, NO_NUMBER);
    Arc::new(UInt32Array::new(values.into(), nulls))
}

fn optional_counts(values: Vec<u64>) -> ArrayRef {
    let nulls = present(&values, NO_COUNT);
    Arc::new(UInt64Array::new(values.into(), nulls))
}

fn optional_times(values: Vec<i64>) -> ArrayRef {
    let nulls = present(&values, NO_TIME);
    Arc::new(Timestamps::new(values.into(), nulls).with_timezone("UTC"))
}

fn optional_spans(values: Vec<i64>) -> ArrayRef {
    let nulls = present(&values, NO_TIME);
    Arc::new(Int64Array::new(values.into(), nulls))
}

fn present<T: Copy + PartialEq>(values: &[T], absent: T) -> Option<NullBuffer> {
    values.contains(&absent).then(|| NullBuffer::from_iter(values.iter().map(|&value| value != absent)))
}

fn dictionary(keys: Vec<u16>, values: Vec<&'static str>) -> Result<ArrayRef, ArrowError> {
    let values = Arc::new(StringArray::from_iter_values(values));
    Ok(Arc::new(DictionaryArray::try_new(UInt16Array::from(keys), values)?))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt16Type;

    use super::*;

    #[test]
    fn more_commands_than_a_byte_can_number_keep_their_names() {
        let names: Vec<&'static str> = (0..300).map(|number| &*Box::leak(format!("command {number}").into())).collect();
        let mut columns = ExchangeColumns::default();
        let numbers = names.iter().map(|name| columns.command_number(name)).collect();
        let column = dictionary(numbers, columns.commands).unwrap();
        let read: Vec<_> =
            column.as_dictionary::<UInt16Type>().downcast_dict::<StringArray>().unwrap().into_iter().collect();
        assert_eq!(read, names.into_iter().map(Some).collect::<Vec<_>>());
    }
}
