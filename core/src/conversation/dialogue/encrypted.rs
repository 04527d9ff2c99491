//! TLS between a connection's stream and its messages: records that carry data are opened where the key log has their
//! secret, and what they hold is read as if it had come in clear, in the packets that brought it.
//!
//! All other records (the handshake) are counted as without keys. From where nothing can be read any more, the turns
//! count.

use super::Dialogue;
use crate::conversation::Common;
use crate::conversation::inbox::Origin;
use crate::conversation::records::{Hole, Piece, Records, candidate};
use crate::layers::tls::record::{self, Header};
use crate::layers::tls::{Missing, Read, Reading, Session};
use crate::protocols::Decoder;
use crate::protocols::tls::Tls;
use crate::side::Side;
use crate::stream::Chunk;

/// Bytes behind a hole in which no record was found: it is given up.
const MAX_SOUGHT_RECORDS: u64 = 1 << 20;
/// Records that may be missing in a hole, and how small they are at least.
const MAX_MISSING_RECORDS: u64 = 4096;
const MIN_RECORD_BYTES: u64 = 24;
/// What trying may cost: so many bytes at first, and so many times what came.
const TRIED_AT_FIRST: u64 = 4 << 20;
const TRIED_TIMES: u64 = 8;

/// From here on nothing is read; so many of the bytes at hand were not counted yet.
struct Ended {
    left: usize,
}

/// A connection's TLS, with what is inside of it.
pub struct Encrypted {
    session: Session,
    /// Reads what is inside, from the first data on.
    inner: Option<Box<dyn Decoder>>,
    records: [Records; 2],
    /// The record that is being opened.
    opened: Vec<u8>,
    /// Bytes that may still be tried for where records go on.
    trials: u64,
}

impl Encrypted {
    pub fn new(inner: Box<dyn Decoder>) -> Encrypted {
        Encrypted {
            session: Session::default(),
            inner: Some(inner),
            records: Default::default(),
            opened: Vec::new(),
            trials: TRIED_AT_FIRST,
        }
    }

    /// What it keeps as long as the connection is known: its keys.
    pub fn kept_keys(&self) -> usize {
        size_of::<Encrypted>() + self.session.kept_bytes()
    }

    /// What it keeps for the moment.
    pub fn kept_bytes(&self) -> usize {
        let records: usize = self.records.iter().map(Records::kept_bytes).sum();
        records + self.opened.capacity()
    }

    /// There is no room for records that are not whole; true where there were some.
    pub fn give_up(&mut self) -> bool {
        let had_some = self.records.iter().any(|records| !records.bytes.is_empty());
        for side in [Side::Client, Side::Server] {
            let records = &mut self.records[side as usize];
            if !records.bytes.is_empty() && matches!(records.lose(0), Hole::Within(_)) {
                self.session.skip(side);
            }
        }
        self.shrink();
        had_some
    }

    /// Keep no room for what may come.
    pub fn shrink(&mut self) {
        self.opened = Vec::new();
        self.records.iter_mut().for_each(Records::shrink);
    }

    fn is_counting(&self) -> bool {
        self.inner.is_some()
    }
}

impl Dialogue {
    /// Take in the next bytes of one side; `None` where the rest of the connection cannot be read.
    pub(super) fn read_encrypted(
        &mut self,
        mut tls: Box<Encrypted>,
        chunk: &Chunk<'_>,
        common: &mut Common,
    ) -> Option<Box<Encrypted>> {
        if tls.is_counting() && common.keys.is_empty() {
            if common.keys.was_given() {
                self.say(Reading::NoSecret);
            }
            self.read_plain(chunk, common);
            return None;
        }
        match self.try_read_encrypted(&mut tls, chunk, common) {
            Ok(()) => Some(tls),
            Err(Ended { left }) => {
                let rest = &chunk.bytes[chunk.bytes.len() - left..];
                self.read_plain(&Chunk { lost: 0, bytes: rest, ..*chunk }, common);
                None
            }
        }
    }

    fn try_read_encrypted(&mut self, tls: &mut Encrypted, chunk: &Chunk<'_>, common: &mut Common) -> Result<(), Ended> {
        tls.trials = tls.trials.saturating_add(TRIED_TIMES * chunk.bytes.len() as u64);
        if chunk.lost > 0 {
            self.hole(tls, &Chunk { bytes: &[], cut: 0, ..*chunk }, chunk.lost, common);
        }
        let mut rest = chunk.bytes;
        while !rest.is_empty() {
            rest = self.next_record(tls, chunk, rest, common)?;
        }
        let records = &mut tls.records[chunk.side as usize];
        if records.sought.is_some() && !std::mem::replace(&mut records.is_told, true) && !tls.is_counting() {
            self.lose_unseen(&Chunk { lost: chunk.lost.max(1), bytes: &[], ..*chunk });
        }
        if chunk.cut > 0 {
            self.hole(tls, &Chunk { lost: 0, bytes: &[], ..*chunk }, chunk.cut, common);
        }
        Ok(())
    }

    /// Reads what `rest` has of the next record; what is behind it comes back.
    fn next_record<'a>(
        &mut self,
        tls: &mut Encrypted,
        chunk: &Chunk<'_>,
        rest: &'a [u8],
        common: &mut Common,
    ) -> Result<&'a [u8], Ended> {
        let (side, origin) = (chunk.side, Origin::of(chunk));
        let records = &mut tls.records[side as usize];
        if records.skipped > 0 {
            let behind = records.skip(rest);
            if tls.is_counting() {
                self.read_plain(&part(chunk, &rest[..rest.len() - behind.len()]), common);
            }
            return Ok(behind);
        }
        if records.sought.is_some() {
            return self.seek(tls, chunk, rest, common).map(|()| Default::default());
        }
        if records.bytes.is_empty() {
            let Ok(header) = Header::read(rest) else {
                return Err(self.end_reading(tls, Reading::Interrupted, rest.len()));
            };
            if let Some(header) = header.filter(|header| header.record_length() <= rest.len()) {
                let (record, behind) = rest.split_at(header.record_length());
                let read = self.record(tls, side, record, &[Piece { from: 0, origin }], common);
                return read.map(|()| behind).map_err(|_| Ended { left: behind.len() });
            }
        }
        let Ok(used) = records.add(rest, origin) else {
            return Err(self.end_reading(tls, Reading::Interrupted, rest.len()));
        };
        let behind = &rest[used..];
        if records.is_whole() {
            let mut whole = std::mem::take(records);
            let read = self.record(tls, side, &whole.bytes, &whole.pieces, common);
            read.map_err(|_| Ended { left: behind.len() })?;
            whole.clear();
            tls.records[side as usize] = whole;
        }
        Ok(behind)
    }

    /// One whole record, in the packets that brought its pieces.
    fn record(
        &mut self,
        tls: &mut Encrypted,
        side: Side,
        record: &[u8],
        pieces: &[Piece],
        common: &mut Common,
    ) -> Result<(), Ended> {
        let Ok(Some(header)) = Header::read(record) else { return Ok(()) };
        let mut opened = std::mem::take(&mut tls.opened);
        opened.clear();
        opened.extend_from_slice(&record[record::HEADER..]);
        let read = tls.session.read(side, header, &mut opened, &mut common.keys);
        let ended = read.as_ref().err().map(|reading| self.end_reading(tls, *reading, 0));
        match read {
            Ok(Read::Data(data)) => {
                self.begin_reading(tls);
                let from = record::HEADER + data.start;
                self.pieces(side, opened.get(data).unwrap_or_default(), from, pieces, common);
            }
            Ok(Read::Aside) => {}
            _ if tls.is_counting() || ended.is_some() => self.pieces(side, record, 0, pieces, common),
            _ => {}
        }
        tls.opened = opened;
        ended.map_or(Ok(()), Err)
    }

    /// Bytes that stand in a record from `from` on, each with the packet that brought it. The last of them with the
    /// last packet: before that, nobody could open the record.
    fn pieces(&mut self, side: Side, bytes: &[u8], from: usize, pieces: &[Piece], common: &mut Common) {
        let mut begin = 0;
        for (number, piece) in pieces.iter().enumerate() {
            let end = match pieces.get(number + 1) {
                Some(next) => next.from.saturating_sub(from).min(bytes.len().saturating_sub(1)),
                None => bytes.len(),
            };
            if begin < end {
                let Origin { mark, acknowledged, offset } = piece.origin;
                let bytes = &bytes[begin..end];
                self.read_plain(&Chunk { side, mark, acknowledged, offset, lost: 0, bytes, cut: 0 }, common);
                begin = end;
            }
        }
    }

    /// Data has come: whoever reads what is inside takes over.
    fn begin_reading(&mut self, tls: &mut Encrypted) {
        let Some(inner) = tls.inner.take() else { return };
        self.replace_decoder(inner);
        self.is_opened = true;
        self.say(Reading::Decrypted);
    }

    /// Nothing can be read from here on: the turns count.
    fn end_reading(&mut self, tls: &Encrypted, reading: Reading, left: usize) -> Ended {
        if !tls.is_counting() {
            self.is_opened = false;
            self.go_blind(Box::new(Tls::running()));
        }
        self.say(reading);
        Ended { left }
    }

    fn say(&mut self, reading: Reading) {
        self.session.tls.get_or_insert_default().reading = reading;
    }

    // --- behind a hole ----------------------------------------------------------------------------------------------

    /// So many bytes are missing behind what has come. `chunk` says how, and has no bytes.
    fn hole(&mut self, tls: &mut Encrypted, chunk: &Chunk<'_>, missing: u64, common: &mut Common) {
        let side = chunk.side;
        let records = &mut tls.records[side as usize];
        if tls.inner.is_some() {
            // The handshake is counted as it is.
            let kept = std::mem::take(&mut records.bytes);
            let pieces = std::mem::take(&mut records.pieces);
            self.pieces(side, &kept, 0, &pieces, common);
            self.read_plain(chunk, common);
            let records = &mut tls.records[side as usize];
            (records.bytes, records.pieces) = (kept, pieces);
        }
        let records = &mut tls.records[side as usize];
        let hole = records.lose(missing);
        let Hole::Within(header) = hole else {
            if chunk.cut > 0 && !tls.is_counting() {
                tls.records[side as usize].is_told = true;
                self.read_plain(chunk, common);
            }
            return;
        };
        let length = tls.session.data_length(side, header.length);
        tls.session.skip(side);
        if tls.is_counting() {
            return;
        }
        match (length, chunk.cut > 0) {
            (Some(length), true) => self.read_plain(&Chunk { cut: length as u64, ..*chunk }, common),
            (Some(length), false) => self.read_plain(&Chunk { lost: length as u64, ..*chunk }, common),
            (None, true) => self.read_plain(chunk, common),
            (None, false) => self.lose_unseen(chunk),
        }
    }

    /// Looks for the next record: it is one if it is authentic.
    fn seek(&mut self, tls: &mut Encrypted, chunk: &Chunk<'_>, rest: &[u8], common: &mut Common) -> Result<(), Ended> {
        let side = chunk.side;
        if tls.is_counting() {
            self.read_plain(&part(chunk, rest), common);
        } else if tls.records[side as usize].is_told {
            self.unread(chunk, rest.len());
        }
        tls.records[side as usize].append(rest, Origin::of(chunk));
        while self.try_record(tls, chunk, common)? {}
        let records = &tls.records[side as usize];
        let is_lost = records.sought.is_some_and(|sought| sought > MAX_SOUGHT_RECORDS.saturating_add(chunk.lost));
        if is_lost { Err(self.end_reading(tls, Reading::Interrupted, 0)) } else { Ok(()) }
    }

    /// Tries where a record may begin; false where more bytes are needed.
    fn try_record(&mut self, tls: &mut Encrypted, chunk: &Chunk<'_>, common: &mut Common) -> Result<bool, Ended> {
        let side = chunk.side;
        let records = &mut tls.records[side as usize];
        let at = candidate(&records.bytes).unwrap_or(records.bytes.len());
        records.pass_over(at);
        let Some(header) = Header::read(&records.bytes).ok().flatten() else { return Ok(false) };
        let length = header.record_length();
        if records.bytes.len() < length {
            return Ok(false);
        }
        let sought = records.sought.unwrap_or(0);
        let affordable = tls.trials / length as u64;
        let missing_max = (sought / MIN_RECORD_BYTES).min(MAX_MISSING_RECORDS).min(affordable);
        tls.trials -= (missing_max * length as u64).min(tls.trials);
        let mut record = records.bytes[..length].to_vec();
        let body = &mut record[record::HEADER..];
        let read = tls.session.read_ahead(side, header, body, missing_max, &mut common.keys);
        let records = &mut tls.records[side as usize];
        let Some((missing, read)) = read else {
            records.pass_over(1);
            return Ok(true);
        };
        let mut found = std::mem::take(records);
        let was_told = found.is_told;
        if !tls.is_counting() && !was_told {
            self.tell_hole(tls, chunk, header, sought, missing, common);
        }
        if let Read::Data(data) = read {
            self.begin_reading(tls);
            let pieces: Vec<Piece> = found.pieces.iter().copied().filter(|piece| piece.from < length).collect();
            let from = record::HEADER + data.start;
            self.pieces(side, &record[record::HEADER..][data], from, &pieces, common);
        }
        // What is behind it are records again.
        found.pass_over(length);
        let (bytes, pieces) = (found.bytes, found.pieces);
        for (number, piece) in pieces.iter().enumerate() {
            let end = pieces.get(number + 1).map_or(bytes.len(), |next| next.from);
            let Origin { mark, acknowledged, offset } = piece.origin;
            let mut rest = &bytes[piece.from..end];
            let chunk = Chunk { side, mark, acknowledged, offset, lost: 0, bytes: rest, cut: 0 };
            while !rest.is_empty() {
                rest = self.next_record(tls, &chunk, rest, common).map_err(|_| Ended { left: 0 })?;
            }
        }
        Ok(false)
    }

    /// How much data is missing, as far as that is certain: a long row may go on behind it.
    fn tell_hole(
        &mut self,
        tls: &Encrypted,
        chunk: &Chunk<'_>,
        header: Header,
        sought: u64,
        missing: Missing,
        common: &mut Common,
    ) {
        let overhead = tls.session.data_length(chunk.side, header.length).map(|data| header.record_length() - data);
        let lost = match (missing.0, overhead) {
            (Some(records), Some(overhead)) => sought.checked_sub(records * overhead as u64),
            _ => None,
        };
        match lost {
            Some(lost) => self.read_plain(&Chunk { lost, bytes: &[], cut: 0, ..*chunk }, common),
            None => self.lose_unseen(&Chunk { lost: sought.max(1), bytes: &[], cut: 0, ..*chunk }),
        }
    }
}

/// These bytes of a chunk alone.
fn part<'a>(chunk: &Chunk<'_>, bytes: &'a [u8]) -> Chunk<'a> {
    Chunk {
        side: chunk.side,
        mark: chunk.mark,
        acknowledged: chunk.acknowledged,
        offset: chunk.offset,
        lost: 0,
        bytes,
        cut: 0,
    }
}
