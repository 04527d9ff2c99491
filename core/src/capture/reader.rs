//! One capture file that is being read, whatever its format.

use std::io::{self, ErrorKind, Read};

use super::compressed;
use super::error::CaptureError;
use super::identify::{self, NotPcap};
use super::order::Order;
use super::pcap::variants::FILE_HEADER;
use super::pcap::{self, Pcap};
use super::pcapng::blocks::Extras;
use super::pcapng::{self, Pcapng};
use super::read_buffer::ReadBuffer;
use super::record::{Damage, Record};
use super::stop::Stop;
use crate::note::{NoteCode, Notes};

/// How much of a file is looked at to say what it is.
const LOOK: usize = 512;

pub(super) struct Reader {
    buffer: ReadBuffer,
    format: Format,
    compression: Option<&'static str>,
    /// The packet that `advance` found: its bytes are still in the buffer.
    record: Record,
    ended: bool,
    stop: Stop,
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl Format {
    /// How long the record or block is that begins here, and its packet's time.
    fn step(&self, bytes: &[u8]) -> Option<(usize, Option<i64>)> {
        let of_packet = |record: Record| (record.whole, record.time_ns);
        match self {
            Self::Pcap(pcap) => pcap.at_hand(bytes).map(of_packet),
            Self::Pcapng(pcapng) => {
                let other = || pcapng.block_length(bytes).map(|length| (length, None));
                pcapng.at_hand(bytes).map(of_packet).or_else(other)
            }
        }
    }
}

impl Reader {
    /// Reads `at_once` bytes of the stream, unless a packet is longer.
    pub fn open(path: &str, stream: Box<dyn Read + Send>, at_once: usize, stop: &Stop) -> Result<Self, CaptureError> {
        let (stream, compression) = compressed::decompress(stream, at_once)
            .map_err(|reason| CaptureError::CannotRead { path: path.to_owned(), offset: 0, reason })?;
        let mut buffer = ReadBuffer::new(stream, at_once);
        let format = open_format(path, &mut buffer, compression)?;
        Ok(Self { buffer, format, compression, record: Record::default(), ended: false, stop: stop.clone() })
    }

    /// What users call the format, e.g. `pcapng (gzip)`.
    pub fn format(&self) -> String {
        let format = match self.format {
            Format::Pcap(_) => "pcap",
            Format::Pcapng(_) => "pcapng",
        };
        match self.compression {
            Some(compression) => format!("{format} ({compression})"),
            None => format.to_owned(),
        }
    }

    /// Steps to the next packet; trouble goes into the notes and, where it must, ends the file.
    #[inline(always)]
    pub fn advance(&mut self, notes: &mut Notes, extras: &mut Extras) -> Option<&Record> {
        self.buffer.consume(self.record.whole);
        let bytes = self.buffer.at_hand();
        let at_hand = match &self.format {
            _ if self.ended => None,
            Format::Pcap(pcap) => pcap.at_hand(bytes),
            Format::Pcapng(pcapng) => pcapng.at_hand(bytes),
        };
        match at_hand {
            Some(record) => self.record = record,
            None => self.record = self.fetch(notes, extras)?,
        }
        Some(&self.record)
    }

    /// The next packet, read into the buffer first; trouble goes into the notes and, where it must, ends the file.
    #[cold]
    fn fetch(&mut self, notes: &mut Notes, extras: &mut Extras) -> Option<Record> {
        self.record = Record::default();
        if self.ended {
            return None;
        }
        let next = match &mut self.format {
            Format::Pcap(pcap) => pcap.fetch(&mut self.buffer),
            Format::Pcapng(pcapng) => pcapng.fetch(&mut self.buffer, notes, extras),
        };
        if !matches!(next, Ok(Some(_))) {
            self.ended = true;
        }
        let record = next.unwrap_or_else(|damage| {
            self.note_damage(&damage, notes);
            None
        });
        if self.ended {
            self.note_end(notes);
        }
        record
    }

    /// The packet that `advance` found.
    #[inline]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Its bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.slice(self.record.skip, self.record.length)
    }

    /// The latest time that comes, where less than `little` is left; it is read into the buffer.
    pub fn ends_ns(&mut self, little: usize) -> Option<i64> {
        let left = self.buffer.peek_up_to(little).len();
        let mut ends_ns = self.record.time_ns.filter(|_| left < little)?;
        let mut at = self.record.whole;
        while let Some((length, time_ns)) = self.format.step(self.buffer.slice(at, left.saturating_sub(at))) {
            ends_ns = ends_ns.max(time_ns.unwrap_or(ends_ns));
            at += length;
        }
        Some(ends_ns)
    }

    /// The record as it lies in the file, header and all.
    pub fn raw(&self) -> &[u8] {
        self.buffer.slice(0, self.record.whole)
    }

    /// The byte order of a pcapng file's section; `None` for pcap.
    pub fn order(&self) -> Option<Order> {
        match &self.format {
            Format::Pcap(_) => None,
            Format::Pcapng(pcapng) => Some(pcapng.order()),
        }
    }

    /// The comments of a packet: pcapng only.
    pub fn comments(&self) -> impl Iterator<Item = &[u8]> {
        let Format::Pcapng(pcapng) = &self.format else {
            return None.into_iter().flatten();
        };
        Some(pcapng.comments(self.raw(), &self.record)).into_iter().flatten()
    }

    fn note_damage(&self, damage: &Damage, notes: &mut Notes) {
        // A file that cannot or shall not be read on is not a file that ends here: `end` says why.
        let is_left = self.buffer.failure().is_some() || self.stop.has_left();
        if damage.code == NoteCode::FileCut && is_left {
            return;
        }
        notes.add(damage.code, || {
            let of_what = if self.compression.is_some() { " of the decompressed data" } else { "" };
            format!("{} at byte {}{of_what}; the packets before it are kept", damage.what, damage.at)
        });
    }

    fn note_end(&mut self, notes: &mut Notes) {
        if self.stop.has_left() {
            notes.add(NoteCode::Stopped, || "reading was stopped before the end of the input".to_owned());
            return;
        }
        let Some(failure) = self.buffer.failure() else {
            return;
        };
        let code = match (self.compression, failure.kind()) {
            (Some(_), ErrorKind::UnexpectedEof) => NoteCode::FileCut,
            (Some(_), ErrorKind::InvalidData | ErrorKind::InvalidInput) => NoteCode::FileDamaged,
            _ => NoteCode::FileUnreadable,
        };
        notes.add(code, || match self.compression {
            Some(compression) => format!(
                "the {compression} data cannot be decompressed beyond byte {}: {failure}; the packets before it are kept",
                self.buffer.offset()
            ),
            None => format!(
                "cannot be read beyond byte {}: {failure}; the packets before it are kept",
                self.buffer.offset()
            ),
        });
    }
}

fn open_format(path: &str, buffer: &mut ReadBuffer, compression: Option<&'static str>) -> Result<Format, CaptureError> {
    let unknown_version =
        |format, major, minor| CaptureError::UnknownVersion { path: path.to_owned(), format, major, minor };
    match Pcap::open(buffer) {
        pcap::Opened::Pcap(pcap) => return Ok(Format::Pcap(pcap)),
        pcap::Opened::Foreign => {}
        pcap::Opened::Cut => return Err(cut_header(path, buffer, compression)),
        pcap::Opened::UnknownVersion(major, minor) => {
            return Err(unknown_version("pcap", major, minor));
        }
    }
    match Pcapng::open(buffer) {
        pcapng::Opened::Pcapng(pcapng) => Ok(Format::Pcapng(pcapng)),
        pcapng::Opened::Foreign => Err(not_a_capture(path, buffer, compression)),
        pcapng::Opened::Cut => Err(cut_header(path, buffer, compression)),
        pcapng::Opened::UnknownVersion(major, minor) => Err(unknown_version("pcapng", major, minor)),
    }
}

fn cut_header(path: &str, buffer: &mut ReadBuffer, compression: Option<&'static str>) -> CaptureError {
    let path = path.to_owned();
    let offset = buffer.peek_up_to(FILE_HEADER).len() as u64;
    match read_failure(buffer, compression) {
        Some(reason) => CaptureError::CannotRead { path, offset, reason },
        None => CaptureError::CutHeader { path, offset },
    }
}

fn not_a_capture(path: &str, buffer: &mut ReadBuffer, compression: Option<&'static str>) -> CaptureError {
    let path = path.to_owned();
    let start = buffer.peek_up_to(LOOK);
    if start.is_empty() {
        return match read_failure(buffer, compression) {
            Some(reason) => CaptureError::CannotRead { path, offset: 0, reason },
            None => CaptureError::Empty { path },
        };
    }
    let (kind, garbled) = match identify::guess(start) {
        NotPcap::OtherCapture(format) => return CaptureError::OtherCapture { path, format },
        NotPcap::Else(kind) => (kind, false),
        NotPcap::Unknown(kind) => (kind, true),
    };
    let looks_like = match compression {
        Some(compression) => format!("{kind}, compressed with {compression}"),
        None => kind.to_owned(),
    };
    CaptureError::NotACapture { path, looks_like, garbled }
}

fn read_failure(buffer: &ReadBuffer, compression: Option<&'static str>) -> Option<io::Error> {
    let failure = buffer.failure()?;
    Some(match compression {
        Some(compression) => {
            io::Error::new(failure.kind(), format!("the {compression} data is cut or damaged ({failure})"))
        }
        None => io::Error::new(failure.kind(), failure.to_string()),
    })
}
