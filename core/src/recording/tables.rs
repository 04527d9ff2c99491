//! Everything that was read, and the Arrow tables that are made of it once.

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::ArrowError;

use super::{
    Column, ExchangeColumns, SampleColumns, TapRow, Timestamps, batch, booleans, note_table, numbers, optional,
    strings, taps, times,
};
use crate::capture::{Captures, HostCurve};
use crate::case::Case;
use crate::cases::Cases;
use crate::conversation::Conversation;
use crate::layers::tls::Random;
use crate::note::Notes;
use crate::side::Side;
use crate::sql::{StatementKind, Statements};
use crate::stream::{Connections, Slot};

/// Everything that was read.
pub struct Tables {
    pub captures: Captures,
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
        let files: Vec<_> = self.captures.files().collect();
        batch(vec![
            ("path", strings(files.iter().map(|file| Some(Statements::printable(&file.path))))),
            ("format", strings(files.iter().map(|file| Some(file.format.as_str())))),
            ("packets", numbers(files.iter().map(|file| file.packets))),
            ("bytes", numbers(files.iter().map(|file| file.bytes))),
            ("first_time", times(files.iter().map(|file| file.first_time_ns))),
            ("last_time", times(files.iter().map(|file| file.last_time_ns))),
            ("tick_ns", optional::<UInt64Type>(self.captures.ticks_ns().into_iter())),
        ])
    }

    /// How much later the host that recorded answers after a rest, where a capture says so.
    pub fn host_curve(&self) -> Option<HostCurve> {
        self.captures.host_curve().cloned()
    }

    /// What went wrong without stopping the reading.
    pub fn notes(&self) -> Result<RecordBatch, ArrowError> {
        let mut notes = self.captures.notes();
        notes.extend(self.notes.iter().cloned().map(|note| note.named(|frame| self.captures.place(frame))));
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
            ("place", strings(all.iter().map(|case| self.captures.place(case.frame()?)))),
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
        let all = || self.connections.numbered().filter_map(|(stream, of)| Some((stream, of.segments.as_deref()?)));
        let rows = all().map(|(_, segments)| segments.slots().len()).sum();
        let (mut streams, mut begins_ns, mut lengths_ns) =
            (Vec::with_capacity(rows), Vec::with_capacity(rows), Vec::with_capacity(rows));
        let mut counts: [Vec<u32>; 6] = std::array::from_fn(|_| Vec::with_capacity(rows));
        for (stream, segments) in all() {
            for Slot { begin_ns, sent, again, spurious } in segments.slots() {
                streams.push(stream);
                begins_ns.push(begin_ns);
                lengths_ns.push(segments.length_ns());
                let numbers = [sent, again, spurious].into_iter().flatten();
                counts.iter_mut().zip(numbers).for_each(|(counts, number)| counts.push(number));
            }
        }
        let [sent, answered, again, answered_again, spurious, answered_spurious] =
            counts.map(|counts| Arc::new(UInt32Array::from(counts)) as ArrayRef);
        batch(vec![
            ("stream", Arc::new(UInt32Array::from(streams))),
            ("time", Arc::new(Timestamps::from(begins_ns).with_timezone("UTC"))),
            ("length_ns", Arc::new(Int64Array::from(lengths_ns))),
            ("client_data_packets", sent),
            ("server_data_packets", answered),
            ("client_retransmissions", again),
            ("server_retransmissions", answered_again),
            ("client_spurious_retransmissions", spurious),
            ("server_spurious_retransmissions", answered_spurious),
        ])
    }
}
