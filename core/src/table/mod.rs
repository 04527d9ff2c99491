//! The tables a recording becomes: the only folder that knows Arrow.

mod columns;
mod exchanges;
mod groups;
mod packed;
mod rows;
mod samples;
mod taps;
mod words;

pub use exchanges::{Column, ExchangeColumns};
pub use groups::groups;
pub use packed::NULL;
pub use samples::{SampleBatches, SampleColumns};
pub use taps::{TapRow, rows as tap_rows};

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Int64Type, TimestampNanosecondType, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, PrimitiveArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::ArrowError;

use crate::capture::Recording;
use crate::case::Case;
use crate::cases::Cases;
use crate::conversation::{Conversation, Dialogue};
use crate::layers::tls::{Random, Reading, TlsFacts};
use crate::note::{Note, NoteCode, Notes};
use crate::packet::Endpoint;
use crate::protocols::opaque;
use crate::session::Session;
use crate::side::Side;
use crate::sql::{StatementKind, Statements};
use crate::stream::{Anomalies, Connection, Connections, Slot, Tally};

type Timestamps = PrimitiveArray<TimestampNanosecondType>;

/// Everything that was read.
pub struct Tables {
    pub recording: Recording,
    pub connections: Connections,
    pub conversations: Vec<Conversation>,
    pub statements: Statements,
    pub exchanges: ExchangeColumns,
    pub samples: SampleColumns,
    pub taps: Vec<TapRow>,
    pub notes: Notes,
    /// What of the notes adds up over the parts of a recording.
    pub cases: Cases,
    /// Why what was asked for with `decode_as` cannot be.
    pub refusal: Option<String>,
}

impl Tables {
    /// One row a capture file.
    pub fn captures(&self) -> Result<RecordBatch, ArrowError> {
        let files: Vec<_> = self.recording.files().collect();
        batch(vec![
            ("path", strings(files.iter().map(|file| Some(Statements::printable(&file.path))))),
            ("format", strings(files.iter().map(|file| Some(file.format.as_str())))),
            ("packets", numbers(files.iter().map(|file| file.packets))),
            ("bytes", numbers(files.iter().map(|file| file.bytes))),
            ("first_time", times(files.iter().map(|file| file.first_time_ns))),
            ("last_time", times(files.iter().map(|file| file.last_time_ns))),
            ("tick_ns", optional::<UInt64Type>(self.recording.ticks_ns().into_iter())),
        ])
    }

    /// What went wrong without stopping the reading.
    pub fn notes(&self) -> Result<RecordBatch, ArrowError> {
        let mut notes = self.recording.notes();
        notes.extend(self.notes.iter().cloned().map(|note| note.named(|frame| self.recording.place(frame))));
        note_table(&notes)
    }

    /// What of these adds up over the parts of a recording, with the names of frames in the files that were read.
    pub fn cases(&self) -> Result<RecordBatch, ArrowError> {
        let all: Vec<Case> = self.cases.all().collect();
        batch(vec![
            ("code", strings(all.iter().map(|case| Some(case.code.as_str())))),
            ("name", strings(all.iter().map(|case| Some(&*case.name)))),
            ("port", numbers(all.iter().map(|case| u64::from(case.port)))),
            ("count", numbers(all.iter().map(|case| case.count))),
            ("first", numbers(all.iter().map(|case| case.first))),
            ("span_ns", numbers(all.iter().map(|case| case.span_ns.unsigned_abs()))),
            ("text", strings(all.iter().map(|case| Some(Statements::printable(&case.text))))),
            ("place", strings(all.iter().map(|case| self.recording.place(case.frame()?)))),
        ])
    }

    /// Every text that an exchange refers to by number, and what it does where it is a fingerprint.
    pub fn statements(&self) -> Result<RecordBatch, ArrowError> {
        let ids = 0..self.statements.len() as u32;
        let mut is_fingerprint = vec![false; self.statements.len()];
        self.exchanges.each([Column::fingerprint], |[id]| {
            // What has none has a negative number.
            let known = usize::try_from(id).ok().and_then(|id| is_fingerprint.get_mut(id));
            known.into_iter().for_each(|is_fingerprint| *is_fingerprint = true);
        })?;
        let kind = |id| is_fingerprint[id as usize].then(|| StatementKind::of(self.statements.text(id)).as_str());
        batch(vec![
            ("id", Arc::new(UInt32Array::from_iter_values(ids.clone()))),
            ("text", strings(ids.clone().map(|id| Some(self.statements.text(id))))),
            ("kind", strings(ids.map(kind))),
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
        let tls_text = |get: fn(&TlsFacts) -> Option<&str>| {
            strings(rows.iter().map(|row| row.tls().and_then(get).map(Statements::name)))
        };
        let anomalies = || rows.iter().map(|row| row.connection.anomalies());
        let anomaly = |get: fn(Anomalies) -> Tally| numbers(anomalies().map(|anomalies| get(anomalies).count));
        let spans =
            |get: fn(Anomalies) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(anomalies().map(get))) };
        let mss = |side| {
            let sizes = rows.iter().map(|row| row.connection.advertised.maximum_segment_size(side));
            optional::<UInt32Type>(sizes.map(|size| size.map(u32::from)))
        };
        let window = |side| optional::<UInt64Type>(rows.iter().map(|row| row.connection.advertised.window_bytes(side)));
        let window_limit =
            |side| optional::<UInt64Type>(rows.iter().map(|row| row.connection.advertised.window_limit_bytes(side)));
        let former = |get: fn(&Session) -> &[String]| {
            strings(rows.iter().map(|row| Some(one_a_line(get(&row.dialogue?.session)))))
        };
        let time = |get: fn(&Connection) -> Option<i64>| times(rows.iter().map(|row| get(row.connection)));
        let handshake_half =
            |side| optional::<Int64Type>(rows.iter().map(|row| row.connection.handshake.half_ns(side)));
        let fastest_answer = |asked: Side| {
            optional::<Int64Type>(rows.iter().map(|row| row.connection.fastest_answer_ns[asked as usize]))
        };
        batch(vec![
            ("stream", Arc::new(UInt32Array::from_iter_values(self.streams()))),
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
            ("tls_version", tls_text(|tls| tls.version)),
            ("tls_cipher", strings(rows.iter().map(|row| row.tls()?.cipher_suite_name()))),
            ("server_name", tls_text(|tls| tls.server_name.as_deref())),
            ("certificate_subject", tls_text(|tls| tls.certificate_subject.as_deref())),
            ("tls_resumed", Arc::new(BooleanArray::from_iter(rows.iter().map(|row| row.tls()?.resumed)))),
            ("tls_reading", tls_text(|tls| Some(tls.reading.as_str()))),
            ("timing_only", booleans(rows.iter().map(Row::is_timing_only))),
            ("state", strings(rows.iter().map(|row| Some(row.connection.state().as_str())))),
            ("replication", booleans(rows.iter().map(|row| row.dialogue.is_some_and(|d| d.session.replication)))),
            ("first_frame", numbers(rows.iter().map(|row| row.connection.first_frame))),
            ("last_frame", numbers(rows.iter().map(|row| row.connection.last_frame))),
            ("start", times(rows.iter().map(|row| Some(row.connection.first_ns)))),
            ("end", times(rows.iter().map(|row| Some(row.connection.last_ns)))),
            ("data_end", times(rows.iter().map(|row| row.connection.last_data_ns))),
            ("syn_time", time(|connection| connection.handshake.syn_ns)),
            ("syn_ack_time", time(|connection| connection.handshake.syn_ack_ns)),
            ("ack_time", time(|connection| connection.handshake.ack_ns)),
            ("client_fin_time", time(|connection| connection.fin_ns[0])),
            ("server_fin_time", time(|connection| connection.fin_ns[1])),
            ("client_reset_time", time(|connection| connection.anomalies().reset_ns[0])),
            ("server_reset_time", time(|connection| connection.anomalies().reset_ns[1])),
            ("handshake_retransmitted", booleans(rows.iter().map(|row| row.connection.handshake.retransmitted))),
            ("server_handshake_ns", handshake_half(Side::Server)),
            ("client_handshake_ns", handshake_half(Side::Client)),
            ("server_answer_ns", fastest_answer(Side::Client)),
            ("client_answer_ns", fastest_answer(Side::Server)),
            ("client_mss", mss(Side::Client)),
            ("server_mss", mss(Side::Server)),
            ("client_window_bytes", window(Side::Client)),
            ("server_window_bytes", window(Side::Server)),
            ("client_window_limit_bytes", window_limit(Side::Client)),
            ("server_window_limit_bytes", window_limit(Side::Server)),
            ("cancels", optional::<UInt32Type>(self.cancelled_connections())),
            ("session", optional::<UInt64Type>(self.sessions())),
            ("server_first", booleans(rows.iter().map(|row| row.dialogue.is_some_and(|d| d.pairing.greeted)))),
            ("exchanges", Arc::new(UInt32Array::from_iter_values(self.exchanges_per_connection()?))),
            ("round_trips", numbers(self.round_trips_per_connection()?)),
            ("request_bytes", numbers(rows.iter().map(|row| row.connection.streams.bytes_sent(Side::Client)))),
            ("response_bytes", numbers(rows.iter().map(|row| row.connection.streams.bytes_sent(Side::Server)))),
            ("retransmissions", numbers(rows.iter().map(|row| row.connection.streams.retransmissions.iter().sum()))),
            ("lost_bytes", numbers(rows.iter().map(|row| row.connection.streams.lost_bytes))),
            ("gaps", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.connection.streams.gaps)))),
            ("client_packets", numbers(rows.iter().map(|row| row.connection.packets[Side::Client as usize]))),
            ("server_packets", numbers(rows.iter().map(|row| row.connection.packets[Side::Server as usize]))),
            ("data_packets", numbers(rows.iter().map(|row| row.connection.data_packets.iter().sum()))),
            ("spurious_retransmissions", numbers(anomalies().map(|anomalies| anomalies.spurious.iter().sum()))),
            ("client_data_packets", numbers(rows.iter().map(|row| row.connection.data_packets[0]))),
            ("client_retransmissions", numbers(rows.iter().map(|row| row.connection.streams.retransmissions[0]))),
            ("client_spurious_retransmissions", numbers(anomalies().map(|anomalies| anomalies.spurious[0]))),
            ("client_reordered_packets", numbers(anomalies().map(|anomalies| anomalies.reordered_of_client))),
            ("client_zero_windows", numbers(anomalies().map(|anomalies| anomalies.zero_windows_of_client))),
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
            ("clock_stepped_ns", spans(|anomalies| anomalies.clock_stepped_ns)),
        ])
    }

    /// What the sessions of TLS are known by in a key log.
    pub fn client_randoms(&self) -> Vec<Random> {
        let dialogues = self.conversations.iter().filter_map(Conversation::dialogue);
        dialogues.filter_map(|dialogue| dialogue.session.tls.as_ref()?.client_random).collect()
    }

    /// One row a clean in-stream RTT sample.
    pub fn rtt_samples(&self) -> Result<RecordBatch, ArrowError> {
        self.samples.batch()
    }

    /// One row for each two taps that saw the same packets, and each path.
    pub fn taps(&self) -> Result<RecordBatch, ArrowError> {
        taps::table(&self.taps)
    }

    /// One row a reading of a sender's clock, in its own ticks.
    pub fn clock_readings(&self) -> Result<RecordBatch, ArrowError> {
        let mut rows = Vec::new();
        for (stream, connection) in self.connections.numbered() {
            for (side, readings) in [Side::Client, Side::Server].into_iter().zip(&connection.readings) {
                rows.extend(readings.iter().map(|reading| (stream, side, reading)));
            }
        }
        batch(vec![
            ("stream", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|&(stream, ..)| stream)))),
            ("by_server", booleans(rows.iter().map(|&(_, side, _)| side == Side::Server))),
            ("time", times(rows.iter().map(|(.., reading)| Some(reading.time_ns)))),
            ("ticks", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|(.., reading)| reading.ticks)))),
        ])
    }

    /// One row a slot of time in which a connection sent segments with data.
    pub fn segments(&self) -> Result<RecordBatch, ArrowError> {
        let mut rows: Vec<(u32, i64, Slot)> = Vec::new();
        for (stream, connection) in self.connections.numbered() {
            let all = connection.segments.iter();
            rows.extend(all.flat_map(|all| all.slots().map(move |slot| (stream, all.length_ns(), slot))));
        }
        let counts = |of: fn(&Slot) -> [u32; 2], side: Side| -> ArrayRef {
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|(.., slot)| of(slot)[side as usize])))
        };
        let [sent, again, spurious]: [fn(&Slot) -> [u32; 2]; 3] =
            [|slot| slot.sent, |slot| slot.again, |slot| slot.spurious];
        batch(vec![
            ("stream", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|&(stream, ..)| stream)))),
            ("time", times(rows.iter().map(|(.., slot)| Some(slot.begin_ns)))),
            ("length_ns", Arc::new(Int64Array::from_iter_values(rows.iter().map(|&(_, length_ns, _)| length_ns)))),
            ("client_data_packets", counts(sent, Side::Client)),
            ("server_data_packets", counts(sent, Side::Server)),
            ("client_retransmissions", counts(again, Side::Client)),
            ("server_retransmissions", counts(again, Side::Server)),
            ("client_spurious_retransmissions", counts(spurious, Side::Client)),
            ("server_spurious_retransmissions", counts(spurious, Side::Server)),
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

    fn exchanges_per_connection(&self) -> io::Result<Vec<u32>> {
        let mut counts = vec![0; self.connections.len()];
        self.exchanges.each([Column::stream], |[stream]| counts[self.connections.place(stream as u32)] += 1)?;
        Ok(counts)
    }

    fn round_trips_per_connection(&self) -> io::Result<Vec<u64>> {
        let mut counts = vec![0; self.connections.len()];
        let columns = [Column::stream, Column::round_trips];
        self.exchanges.each(columns, |[stream, round_trips]| {
            counts[self.connections.place(stream as u32)] += round_trips as u64;
        })?;
        Ok(counts)
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

/// The notes that cases of several parts make together, each with what its first frame is called in the files.
pub fn notes_of(cases: Vec<(Case, Option<String>)>) -> Result<RecordBatch, ArrowError> {
    let places: HashMap<u64, String> =
        cases.iter().filter_map(|(case, place)| Some((case.frame()?, place.clone()?))).collect();
    let all = Cases::of(cases.into_iter().map(|(case, _)| case));
    let notes = all.notes();
    let named = notes.iter().cloned().map(|note| note.named(|frame| places.get(&frame).cloned()));
    note_table(&named.collect::<Vec<_>>())
}

fn note_table(notes: &[Note]) -> Result<RecordBatch, ArrowError> {
    batch(vec![
        ("code", strings(notes.iter().map(|note| Some(note.code.as_str())))),
        ("severity", strings(notes.iter().map(|note| Some(severity(note))))),
        ("message", strings(notes.iter().map(|note| Some(Statements::printable(&note.message))))),
        ("count", numbers(notes.iter().map(|note| note.count))),
        ("first_frame", optional::<UInt64Type>(notes.iter().map(|note| note.frame))),
    ])
}

fn severity(note: &Note) -> &'static str {
    match note.code {
        NoteCode::FileDamaged
        | NoteCode::FileUnreadable
        | NoteCode::OneDirection
        | NoteCode::TooManyConnections
        | NoteCode::TooManyExchanges => "error",
        NoteCode::ClockBackwards
        | NoteCode::DuplicatePackets
        | NoteCode::Reordered
        | NoteCode::Offloaded
        | NoteCode::OtherSecrets
        | NoteCode::Relayed
        | NoteCode::ProxyHeader
        | NoteCode::OtherDatabase => "info",
        _ => "warning",
    }
}

fn batch(columns: Vec<(&'static str, ArrayRef)>) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_from_iter(columns)
}

fn strings<T: AsRef<str>>(values: impl Iterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(StringArray::from_iter(values))
}

fn numbers(values: impl IntoIterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn optional<T: ArrowPrimitiveType>(values: impl Iterator<Item = Option<T::Native>>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter(values))
}

fn booleans(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(BooleanArray::from_iter(values.map(Some)))
}

fn times(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(Timestamps::from_iter(values).with_timezone("UTC"))
}
