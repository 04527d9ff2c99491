//! Reads the client's packets, field by field as [`operations`](super::operations) lists them.

use super::objects::Objects;
use super::operations::{self, Field, Operation};
use super::progress::Progress;
use super::rows::{self, Described, Format};
use super::wire::{BUFFER_MAX, Stop, Wire, lost};

/// The longest statement, from Firebird 3 on.
const SQL_MAX: usize = 10 << 20;
const ARRAY_MAX: usize = 16 << 20;
/// A client offers fewer versions than this.
const OFFERS_MAX: u16 = 255;

/// One packet of the client, read to its end.
#[derive(Debug)]
pub struct Packet<'a> {
    pub operation: &'static Operation,
    pub statement: Option<u16>,
    pub blob: Option<u16>,
    pub request: Option<u16>,
    /// Shorts and numbers in their order.
    numbers: [u32; 6],
    counted: usize,
    /// Buffers in their order; a statement's text is not among them.
    pub buffers: [&'a [u8]; 4],
    buffered: usize,
    /// Protocol versions that the client offers, as they are sent.
    pub offers: &'a [u8],
    pub sql: &'a [u8],
    /// Firebird's number for it: in 1, the oldest, a text in double quotes is a string.
    pub sql_dialect: u32,
    /// The values of the row it brings.
    pub row: &'a [u8],
    /// A row whose format depends on the protocol version, or a field that does.
    pub depends_on_version: bool,
    pub length: usize,
}

/// What the length of a packet depends on.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub version: u16,
    pub objects: &'a Objects,
    pub progress: &'a Progress,
    pub described: &'a Described,
}

/// From this version on rows are packed.
pub const PACKED_SINCE: u16 = 13;

impl<'a> Packet<'a> {
    pub fn read(bytes: &'a [u8], known: Known<'_>) -> Result<Packet<'a>, Stop> {
        let mut wire = Wire::new(bytes);
        let code = wire.number("operation")?;
        let Some(operation) = operations::client(code) else {
            return lost(format!("no client begins a packet with operation {code}"));
        };
        let mut packet = Packet::new(operation);
        for field in operation.fields {
            packet.field(*field, &mut wire, known)?;
        }
        packet.length = wire.position();
        Ok(packet)
    }

    fn new(operation: &'static Operation) -> Packet<'a> {
        Packet {
            operation,
            statement: None,
            blob: None,
            request: None,
            numbers: [0; 6],
            counted: 0,
            buffers: [&[]; 4],
            buffered: 0,
            offers: &[],
            sql: &[],
            sql_dialect: 0,
            row: &[],
            depends_on_version: false,
            length: 0,
        }
    }

    /// The n-th short or number.
    pub fn number(&self, at: usize) -> u32 {
        self.numbers.get(at).copied().unwrap_or(0)
    }

    fn last_number(&self) -> u32 {
        self.number(self.counted.wrapping_sub(1))
    }

    fn count(&mut self, number: u32) {
        if let Some(place) = self.numbers.get_mut(self.counted) {
            *place = number;
        }
        self.counted += 1;
    }

    fn buffer(&mut self, buffer: &'a [u8]) {
        if let Some(place) = self.buffers.get_mut(self.buffered) {
            *place = buffer;
        }
        self.buffered += 1;
    }

    fn field(&mut self, field: Field, wire: &mut Wire<'a>, known: Known<'_>) -> Result<(), Stop> {
        match field {
            Field::Handle => drop(wire.handle("handle")?),
            Field::Statement => self.statement = Some(wire.handle("statement")?),
            Field::Blob => self.blob = Some(wire.handle("blob")?),
            Field::Request => self.request = Some(wire.handle("request")?),
            Field::Short => self.count(wire.short("short")?.into()),
            Field::Number => self.count(wire.number("number")?),
            Field::Quad => drop(wire.quad("id")?),
            Field::Buffer => self.buffer(wire.buffer(BUFFER_MAX, "buffer")?),
            Field::Sql => {
                self.sql_dialect = self.last_number();
                self.sql = wire.buffer(SQL_MAX, "statement")?;
            }
            Field::Since(version) => self.since(version, wire, known)?,
            Field::Offers => self.offers(wire)?,
            Field::Row => self.row(wire, known)?,
            Field::Message => self.message(wire, known)?,
            Field::Slice => self.slice(wire, known.progress)?,
            Field::Stream => drop(wire.buffer(ARRAY_MAX, "blob stream")?),
            Field::BatchRows => {}
        }
        Ok(())
    }

    fn since(&mut self, version: u16, wire: &mut Wire<'a>, known: Known<'_>) -> Result<(), Stop> {
        self.depends_on_version = true;
        if known.version >= version {
            wire.number("number of a later version")?;
        }
        Ok(())
    }

    fn offers(&mut self, wire: &mut Wire<'a>) -> Result<(), Stop> {
        const OFFER: usize = 20;
        let count = self.last_number();
        if count > OFFERS_MAX.into() {
            return lost(format!("a client offers {count} protocol versions"));
        }
        self.offers = wire.opaque(count as usize * OFFER, "offered versions")?;
        Ok(())
    }

    /// `h messages`, then the row; an empty BLR means the format of the time before.
    fn row(&mut self, wire: &mut Wire<'a>, known: Known<'_>) -> Result<(), Stop> {
        match self.last_number() {
            0 => return Ok(()),
            1 => self.depends_on_version = true,
            other => return lost(format!("a statement is executed with {other} rows")),
        }
        let before = wire.peek();
        let begin = wire.position();
        let packed = known.version >= PACKED_SINCE;
        let blr = self.buffers[self.buffered.saturating_sub(1)];
        let stored = || self.statement.and_then(|handle| known.objects.statement(handle)?.input.as_deref());
        if !blr.is_empty() {
            let Some(format) = known.described.format(begin, || Format::of_rows(blr)) else {
                return lost("a row format that cannot be read");
            };
            format.row(packed, wire, known.progress)?;
        } else if let Some(format) = stored() {
            format.row(packed, wire, known.progress)?;
        } else {
            return lost("a row whose format was not captured");
        }
        self.row = before.get(..wire.position() - begin).unwrap_or_default();
        Ok(())
    }

    fn message(&mut self, wire: &mut Wire<'a>, known: Known<'_>) -> Result<(), Stop> {
        let number = self.number(1) as u16;
        let format = self.request.and_then(|request| known.objects.message(request, number));
        match format {
            Some(format) => format.message(wire, known.progress),
            None => lost("a message of a request whose compilation was not captured"),
        }
    }

    fn slice(&mut self, wire: &mut Wire<'a>, progress: &Progress) -> Result<(), Stop> {
        let bytes = wire.number("length of an array")? as usize;
        if bytes > ARRAY_MAX {
            return lost(format!("an array claims {bytes} bytes"));
        }
        rows::slice(self.buffers[0], bytes, wire, progress)
    }
}

/// Do these bytes begin with packets of a client? How far that is sure.
pub fn plausible(mut bytes: &[u8], version: u16, objects: &Objects) -> Plausibility {
    let mut whole = 0;
    let mut telling = false;
    while !bytes.is_empty() {
        let (progress, described) = (&Progress::default(), &Described::default());
        match Packet::read(bytes, Known { version, objects, progress, described }) {
            Ok(packet) => {
                whole += 1;
                telling |= packet.is_telling();
                if packet.operation.code == operations::BATCH_MSG {
                    return Plausibility::Whole { telling: true };
                }
                bytes = bytes.get(packet.length..).unwrap_or_default();
            }
            Err(Stop::Need(_)) if whole > 0 || bytes.len() >= 8 => return Plausibility::Cut,
            Err(Stop::Need(_)) => return Plausibility::No,
            Err(Stop::Lost(_)) => return Plausibility::No,
        }
    }
    if whole > 0 { Plausibility::Whole { telling } } else { Plausibility::No }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plausibility {
    No,
    /// A packet begins, and more of it is needed.
    Cut,
    /// Packets from the first to the last byte. `telling`: one of them is like nothing else.
    Whole {
        telling: bool,
    },
}

impl Packet<'_> {
    /// Would other protocols hardly send this by chance?
    fn is_telling(&self) -> bool {
        let has_blr = self.buffers.iter().any(|buffer| rows::messages(buffer).is_some());
        has_blr || (self.sql.len() > 4 && self.sql.is_ascii()) || self.length >= 16
    }
}
