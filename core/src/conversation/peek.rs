//! A look inside TLS, where it begins with the connection's first byte: what is said there shows which protocol it is,
//! whatever the port.

use super::inbox::Origin;
use super::records::Records;
use crate::layers::tls::record::{self, Header};
use crate::layers::tls::{KeyLog, Read, Session};
use crate::protocols::Opening;
use crate::side::Side;
use crate::stream::Chunk;

/// Bytes of one side that are looked at.
const OPENING_BYTES: usize = 4096;

/// A session of its own: nothing that it reads is counted.
#[derive(Default)]
pub struct Peek {
    session: Session,
    records: [Records; 2],
    plain: [Vec<u8>; 2],
    first: Option<Side>,
    /// Nothing more can be seen.
    pub is_over: bool,
}

impl Peek {
    /// Take in the next bytes of one side.
    pub fn read(&mut self, chunk: &Chunk<'_>, keys: &mut KeyLog) {
        self.is_over |= chunk.lost > 0;
        let mut rest = chunk.bytes;
        while !rest.is_empty() && !self.is_over {
            let records = &mut self.records[chunk.side as usize];
            let Ok(used) = records.add(rest, Origin::of(chunk)) else {
                self.is_over = true;
                return;
            };
            rest = &rest[used..];
            if records.is_whole() {
                let whole = std::mem::take(&mut records.bytes);
                self.is_over = self.record(chunk.side, &whole, keys).is_none();
                self.records[chunk.side as usize].clear();
            }
        }
        self.is_over |= chunk.cut > 0;
    }

    /// `None` where it cannot be opened.
    fn record(&mut self, side: Side, record: &[u8], keys: &mut KeyLog) -> Option<()> {
        let header = Header::read(record).ok()??;
        let mut body = record.get(record::HEADER..)?.to_vec();
        if let Read::Data(data) = self.session.read(side, header, &mut body, keys).ok()? {
            self.first.get_or_insert(side);
            let plain = &mut self.plain[side as usize];
            let room = OPENING_BYTES.saturating_sub(plain.len());
            plain.extend(body.get(data)?.iter().take(room));
        }
        Some(())
    }

    /// What was said inside.
    pub fn opening(&self) -> Option<Opening<'_>> {
        let first = self.first?;
        let [client, server] = &self.plain;
        Some(Opening { client, server, first, from_start: true })
    }

    pub fn kept_bytes(&self) -> usize {
        let records: usize = self.records.iter().map(Records::kept_bytes).sum();
        let plain: usize = self.plain.iter().map(Vec::capacity).sum();
        self.session.kept_bytes() + records + plain
    }
}
