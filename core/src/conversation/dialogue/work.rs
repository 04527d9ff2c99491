//! Holds the work of a dialogue against the bytes that it has read, in all tests and fuzz targets: a count that a message
//! says must not be worth more than the bytes that come for it, and what comes in pieces must not be read again from the
//! beginning.

/// Reads for each byte.
const READS_PER_BYTE: u64 = 32;
/// What a packet has beside its payload: the headers of IP and TCP.
const HEADERS: u64 = 40;
/// A message of a usual length may be tried in many ways.
const READS_AT_FIRST: u64 = 1 << 16;

#[derive(Debug, Default)]
pub struct Work {
    bytes: u64,
    reads: u64,
}

impl Work {
    pub fn check(&mut self, reads: u64, bytes: usize) {
        self.reads += reads;
        self.bytes += HEADERS + bytes as u64;
        let most = READS_AT_FIRST + READS_PER_BYTE * self.bytes;
        assert!(self.reads <= most, "{} reads for {} bytes", self.reads, self.bytes);
    }
}
