//! Holds the work of a dialogue against the bytes that it has read, in all tests and fuzz targets: a count that a message
//! says must not be worth more than the bytes that come for it, and what comes in pieces must not be read again from the
//! beginning.

/// Reads that a byte may cost.
const MAX_READS_PER_BYTE: u64 = 32;
/// A packet has headers of IP and TCP beside its payload.
const HEADER_BYTES: u64 = 40;
/// Short messages may be tried in many ways.
const INITIAL_READS: u64 = 1 << 16;

#[derive(Debug, Default)]
pub struct Work {
    bytes: u64,
    reads: u64,
}

impl Work {
    pub fn check(&mut self, reads: u64, bytes: usize) {
        self.reads += reads;
        self.bytes += HEADER_BYTES + bytes as u64;
        let most = INITIAL_READS + MAX_READS_PER_BYTE * self.bytes;
        assert!(self.reads <= most, "{} reads for {} bytes", self.reads, self.bytes);
    }
}
