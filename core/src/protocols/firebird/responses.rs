//! Reads the server's packets. What a row looks like must be known from the request it answers.

use super::operations as op;
use super::progress::Progress;
use super::rows::{Format, slice};
use super::status::Status;
use super::wire::{BUFFER_MAX, Stop, Wire, lost};

/// Beyond this a row whose format is unknown is no row.
const UNKNOWN_ROW_MAX: usize = 256 << 10;
/// The answer to a batch holds a number for each of its rows.
const BATCH_MAX: u32 = 1 << 20;

/// One packet of the server.
#[derive(Debug)]
pub enum Answer<'a> {
    /// To `connect`: the protocol version agreed on, and its type with flags.
    Accept {
        version: u16,
        kind: u16,
    },
    Reject,
    Response(Response<'a>),
    /// A response that does not end the exchange.
    Piggyback,
    /// One row, the end of a batch of rows, or the end of the cursor.
    Fetched {
        row: bool,
    },
    /// The row of a procedure or of RETURNING; a response follows.
    Singleton {
        row: bool,
    },
    /// One message of a request; the last one says so.
    Message {
        last: bool,
    },
    Slice,
    /// A part of an authentication dialogue.
    Dialogue,
    BatchStates {
        affected: u64,
        error: Option<Box<crate::protocols::Error>>,
    },
    InlineBlob,
    Dummy,
}

#[derive(Debug)]
pub struct Response<'a> {
    pub object: u16,
    pub data: &'a [u8],
    pub status: Status<'a>,
}

/// What the server's next packet answers.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub version: u16,
    /// May the rows be unpacked? So where the version is not known.
    pub maybe_plain: bool,
    /// The format of the rows that are fetched, or of the row a procedure returns.
    pub format: Option<&'a Format>,
    pub messages: Option<&'a [(u8, Format)]>,
    pub sdl: &'a [u8],
    /// The bytes of data that the client has room for.
    pub limit: usize,
    pub progress: &'a Progress,
}

/// A packet's length and the part of it that its meaning depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub head: usize,
    pub length: usize,
}

/// How long is the packet that begins here?
pub fn extent(bytes: &[u8], asked: &Asked<'_>) -> Result<Extent, Stop> {
    let mut wire = Wire::new(bytes);
    match wire.number("operation")? {
        op::FETCH_RESPONSE => {
            if fetched(&mut wire)? {
                row(&mut wire, bytes, asked, is_after_fetched_row)?;
                return Ok(Extent { head: 12, length: wire.position() });
            }
        }
        op::SQL_RESPONSE => {
            if singleton(&mut wire)? {
                row(&mut wire, bytes, asked, is_response)?;
                return Ok(Extent { head: 8, length: wire.position() });
            }
        }
        op::SEND => {
            message(&mut wire)?;
            request_message(&mut wire, bytes, asked)?;
            return Ok(Extent { head: 24, length: wire.position() });
        }
        op::SLICE => {
            wire.number("whole length")?;
            let length = wire.number("length of an array")? as usize;
            if length > BUFFER_MAX * 16 {
                return lost(format!("an array claims {length} bytes"));
            }
            slice(asked.sdl, length, &mut wire, asked.progress)?;
            return Ok(Extent { head: 8, length: wire.position() });
        }
        _ => {
            return read(bytes, asked).map(|(_, length)| Extent { head: length, length });
        }
    }
    Ok(Extent { head: wire.position(), length: wire.position() })
}

/// How long the fetched row is that begins here, if it is whole and its format certain.
pub fn fetched_row(bytes: &[u8], asked: &Asked<'_>) -> Option<usize> {
    let format = asked.format.filter(|_| !asked.maybe_plain)?;
    let mut wire = Wire::new(bytes);
    let is_row = wire.number("operation").ok()? == op::FETCH_RESPONSE && fetched(&mut wire).ok()?;
    let packed = asked.version >= super::framing::PACKED_SINCE;
    format.row(packed, &mut wire, asked.progress).ok().filter(|()| is_row)?;
    Some(wire.position())
}

/// The packet in `bytes`, and how long it is. Of packets with rows only the head is read.
pub fn read<'a>(bytes: &'a [u8], asked: &Asked<'_>) -> Result<(Answer<'a>, usize), Stop> {
    let mut wire = Wire::new(bytes);
    let answer = match wire.number("operation")? {
        op::FETCH_RESPONSE => Answer::Fetched { row: fetched(&mut wire)? },
        op::SQL_RESPONSE => Answer::Singleton { row: singleton(&mut wire)? },
        op::SEND => Answer::Message { last: message(&mut wire)? },
        op::SLICE => Answer::Slice,
        op::RESPONSE => Answer::Response(response(&mut wire, asked.limit)?),
        op::RESPONSE_PIGGYBACK => {
            response(&mut wire, asked.limit)?;
            Answer::Piggyback
        }
        op::ACCEPT => accept(&mut wire)?,
        op::ACCEPT_DATA | op::COND_ACCEPT => {
            let accepted = accept(&mut wire)?;
            wire.buffer(BUFFER_MAX, "authentication data")?;
            wire.buffer(BUFFER_MAX, "plugin")?;
            wire.short("authenticated")?;
            wire.buffer(BUFFER_MAX, "keys")?;
            accepted
        }
        op::REJECT => Answer::Reject,
        op::CONT_AUTH => {
            (0..4).try_for_each(|_| wire.buffer(BUFFER_MAX, "authentication data").map(|_| ()))?;
            Answer::Dialogue
        }
        op::TRUSTED_AUTH => {
            wire.buffer(BUFFER_MAX, "authentication data")?;
            Answer::Dialogue
        }
        op::CRYPT_KEY_CALLBACK => {
            wire.buffer(BUFFER_MAX, "key data")?;
            if asked.version >= 14 {
                wire.short("reply size")?;
            }
            Answer::Dialogue
        }
        op::BATCH_CS => batch_states(&mut wire, asked.progress)?,
        op::INLINE_BLOB => {
            inline_blob(&mut wire)?;
            Answer::InlineBlob
        }
        op::DUMMY => Answer::Dummy,
        other => return lost(format!("no server begins a packet with operation {other}")),
    };
    Ok((answer, wire.position()))
}

/// Is there a row? Otherwise the batch or the cursor ends.
fn fetched(wire: &mut Wire<'_>) -> Result<bool, Stop> {
    match (wire.number("fetch status")?, wire.short("rows")?) {
        (0, 1) => Ok(true),
        (0 | 100, 0) => Ok(false),
        (status, rows) => lost(format!("no fetch answers with status {status} and {rows} rows")),
    }
}

fn singleton(wire: &mut Wire<'_>) -> Result<bool, Stop> {
    match wire.short("rows")? {
        rows @ (0 | 1) => Ok(rows == 1),
        rows => lost(format!("a procedure returns {rows} rows at once")),
    }
}

/// Is it the last message of its batch?
fn message(wire: &mut Wire<'_>) -> Result<bool, Stop> {
    wire.handle("request")?;
    wire.short("incarnation")?;
    wire.handle("transaction")?;
    wire.short("message number")?;
    Ok(wire.short("messages")? == 0)
}

fn accept<'a>(wire: &mut Wire<'_>) -> Result<Answer<'a>, Stop> {
    let version = wire.short("version")?;
    wire.number("architecture")?;
    let kind = wire.short("type")?;
    Ok(Answer::Accept { version: version & 0x7fff, kind })
}

fn response<'a>(wire: &mut Wire<'a>, limit: usize) -> Result<Response<'a>, Stop> {
    let object = wire.handle("object")?;
    wire.quad("blob id")?;
    let data = wire.buffer(limit, "data")?;
    Ok(Response { object, data, status: Status::read(wire)? })
}

fn inline_blob(wire: &mut Wire<'_>) -> Result<(), Stop> {
    wire.handle("transaction")?;
    wire.quad("blob id")?;
    wire.buffer(BUFFER_MAX, "blob info")?;
    wire.buffer(BUFFER_MAX, "blob")?;
    Ok(())
}

/// `h statement | records | updates | vectors | errors`, then as many of each.
fn batch_states<'a>(wire: &mut Wire<'_>, progress: &Progress) -> Result<Answer<'a>, Stop> {
    wire.handle("statement")?;
    wire.number("records")?;
    let [updates, vectors, errors] = [wire.number("updates")?, wire.number("vectors")?, wire.number("errors")?];
    if updates.max(vectors).max(errors) > BATCH_MAX {
        return lost("a batch with too many rows");
    }
    // Negative numbers say that a row failed or that its count is not known.
    let mut affected = 0;
    let counts = wire.opaque(updates as usize * 4, "update counts")?;
    for count in counts.chunks_exact(4) {
        let count = i32::from_be_bytes([count[0], count[1], count[2], count[3]]);
        affected += u64::try_from(count).unwrap_or(0);
    }
    let mut error = None;
    progress.each(false, vectors as usize, wire, |_, wire| {
        wire.number("record number")?;
        let status = Status::read(wire)?;
        error = error.take().or_else(|| status.error());
        Ok(())
    })?;
    wire.opaque(errors as usize * 4, "failed records")?;
    Ok(Answer::BatchStates { affected, error })
}

// --- rows -----------------------------------------------------------------------------------------------------------

/// Does the packet behind a row begin here?
type Follows = fn(&[u8], u16) -> Result<bool, Stop>;

/// Pass one row. Where its format is not known, the next packet's header shows where it ends.
fn row(wire: &mut Wire<'_>, bytes: &[u8], asked: &Asked<'_>, follows: Follows) -> Result<(), Stop> {
    let Some(format) = asked.format else {
        return scan(wire, bytes, asked, follows);
    };
    if !asked.maybe_plain {
        return format.row(asked.version >= super::framing::PACKED_SINCE, wire, asked.progress);
    }
    let packed = try_row(*wire, format, true, asked, follows);
    if let Ok(Some(after)) = packed {
        *wire = after;
        return Ok(());
    }
    let plain = try_row(*wire, format, false, asked, follows);
    match (plain, packed) {
        (Ok(Some(after)), _) => {
            *wire = after;
            Ok(())
        }
        (_, Err(Stop::Need(bytes))) | (Err(Stop::Need(bytes)), _) => Err(Stop::Need(bytes)),
        _ => lost("after a row no packet begins"),
    }
}

/// The place behind the row, if a packet follows there.
fn try_row<'a>(
    mut wire: Wire<'a>,
    format: &Format,
    packed: bool,
    asked: &Asked<'_>,
    follows: Follows,
) -> Result<Option<Wire<'a>>, Stop> {
    format.row(packed, &mut wire, asked.progress)?;
    let at = wire.position();
    match follows(wire.peek(), asked.version) {
        Ok(follows) => Ok(follows.then_some(wire)),
        Err(Stop::Need(more)) => Err(Stop::Need(at + more)),
        Err(other) => Err(other),
    }
}

/// Rows lie on 4-byte boundaries and another packet follows them.
fn scan(wire: &mut Wire<'_>, bytes: &[u8], asked: &Asked<'_>, follows: Follows) -> Result<(), Stop> {
    let begin = wire.position();
    let mut at = begin.max(asked.progress.scanned.get());
    loop {
        if at - begin > UNKNOWN_ROW_MAX {
            return lost("a row of unknown format without end");
        }
        match follows(bytes.get(at..).unwrap_or_default(), asked.version) {
            Ok(true) => return wire.opaque(at - begin, "row").map(|_| ()),
            Ok(false) => at += 4,
            Err(Stop::Need(more)) => {
                asked.progress.scanned.set(at);
                return Err(Stop::Need(at + more));
            }
            Err(lost) => return Err(lost),
        }
    }
}

/// After a fetched row: another row, the end of the batch, an error, or (from protocol 19 on) a blob of the next row.
fn is_after_fetched_row(bytes: &[u8], version: u16) -> Result<bool, Stop> {
    match Wire::new(bytes).number("operation")? {
        op::FETCH_RESPONSE => Ok(match fetched_header(bytes) {
            Err(Stop::Lost(_)) => false,
            other => other?,
        }),
        op::INLINE_BLOB if version >= 19 => Ok(match inline_blob_header(bytes) {
            Err(Stop::Lost(_)) => false,
            other => other?,
        }),
        _ => is_response(bytes, version),
    }
}

fn fetched_header(bytes: &[u8]) -> Result<bool, Stop> {
    let mut wire = Wire::new(bytes);
    wire.number("operation")?;
    fetched(&mut wire).map(|_| true)
}

fn inline_blob_header(bytes: &[u8]) -> Result<bool, Stop> {
    let mut wire = Wire::new(bytes);
    wire.number("operation")?;
    inline_blob(&mut wire).map(|()| true)
}

/// A response without data: what ends the rows in an error, or follows the row of a procedure.
fn is_response(bytes: &[u8], _: u16) -> Result<bool, Stop> {
    match empty_response(bytes) {
        Err(Stop::Lost(_)) => Ok(false),
        other => other,
    }
}

fn empty_response(bytes: &[u8]) -> Result<bool, Stop> {
    let mut wire = Wire::new(bytes);
    if wire.number("operation")? != op::RESPONSE {
        return Ok(false);
    }
    response(&mut wire, 0).map(|_| true)
}

/// One message of a request.
fn request_message(wire: &mut Wire<'_>, bytes: &[u8], asked: &Asked<'_>) -> Result<(), Stop> {
    let mut head = Wire::new(bytes);
    (0..4).try_for_each(|_| head.number("head").map(|_| ()))?;
    let number = head.short("message number")?;
    let format = asked.messages.and_then(|messages| messages.iter().find(|(known, _)| u16::from(*known) == number));
    match format {
        Some((_, format)) => format.message(wire, asked.progress),
        None => lost("a message of a request whose compilation was not captured"),
    }
}

/// Do these bytes begin with a packet of a server, with nothing known of what was asked?
pub fn is_packet(bytes: &[u8]) -> bool {
    let asked = Asked {
        version: 15,
        maybe_plain: false,
        format: None,
        messages: None,
        sdl: &[],
        limit: BUFFER_MAX,
        progress: &Progress::default(),
    };
    match read(bytes, &asked) {
        Ok((answer, _)) => !matches!(answer, Answer::Dummy | Answer::Reject),
        Err(Stop::Need(_)) => bytes.len() >= 16,
        Err(Stop::Lost(_)) => false,
    }
}
