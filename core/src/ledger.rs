//! What may be kept: one sum, of which everything that grows with the input has its share.
//!
//! The shares add up to the whole (docs/hostile-input.md shows them). Nothing takes more than its own, but for the
//! exchanges: these also have what the others leave. Only so much is reserved as is used.

/// What is kept where nobody says how much may be: 1 GB.
pub const DEFAULT_MEMORY: usize = 1_000_000_000;
/// With less, files of a usual kind could not be opened.
pub const LEAST_MEMORY: usize = 64_000_000;

/// How many parts the whole is divided into.
const PARTS: usize = 64;

/// Bytes that may be kept, by what they are kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All together.
    pub memory: usize,
    /// Read buffers, the windows of compressed files, descriptions of interfaces.
    pub files: usize,
    /// Pieces of IP datagrams.
    pub fragments: usize,
    /// TCP connections.
    pub connections: usize,
    /// Segments behind holes, streams that are not recognised yet, messages of which a part has arrived.
    pub buffers: usize,
    /// Requests without an answer.
    pub requests: usize,
    /// Texts of statements, and their tags.
    pub statements: usize,
    /// Texts of errors.
    pub errors: usize,
    /// RTT samples.
    pub samples: usize,
    // What is left is for the exchanges.
}

impl Limits {
    /// The shares of `memory` bytes.
    pub fn of(memory: usize) -> Limits {
        let parts = |parts: usize| memory / PARTS * parts;
        Limits {
            memory,
            files: parts(9),
            fragments: parts(1),
            connections: parts(28),
            buffers: parts(7),
            requests: parts(3),
            statements: parts(7),
            errors: parts(1),
            samples: parts(4),
        }
    }
}

/// What a packet may bring, at the usual most: a row of each table, with what is computed from it.
const PACKET: usize = 1 << 10;
/// Packets after which a batch is full: handing it on then costs next to nothing, and it stays in a processor's cache.
const BATCH_PACKETS: usize = 1 << 10;

impl Limits {
    /// Packets that are handed on together. That there is no more room shows only when they are done, so with `batches`
    /// under way they bring no more than a quarter of what is left for exchanges.
    pub fn batch_packets(&self, batches: usize) -> usize {
        let Limits { memory, files, fragments, connections, buffers, requests, statements, errors, samples } = *self;
        let others = [files, fragments, connections, buffers, requests, statements, errors, samples];
        let left = others.into_iter().fold(memory, usize::saturating_sub);
        (left / 4 / batches / PACKET).clamp(1, BATCH_PACKETS)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::of(DEFAULT_MEMORY)
    }
}

/// Bytes that one connection keeps for the moment, or all together do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub connections: usize,
    pub buffers: usize,
    pub requests: usize,
    pub statements: usize,
    pub samples: usize,
}

impl Kept {
    /// The sum, once a connection that kept `before` keeps `now`.
    #[inline]
    pub fn replace(&mut self, before: Kept, now: Kept) {
        self.connections = self.connections + now.connections - before.connections;
        self.buffers = self.buffers + now.buffers - before.buffers;
        self.requests = self.requests + now.requests - before.requests;
    }

    /// All of it.
    pub fn bytes(&self) -> usize {
        let Kept { connections, buffers, requests, statements, samples } = *self;
        connections + buffers + requests + statements + samples
    }
}

/// Where there is no room for what all keep, one after the other is asked to give it up.
#[derive(Debug, Default)]
pub struct Round {
    /// Who is asked first.
    next: usize,
    /// Nobody is asked before as much is kept: a whole round did not help.
    not_below: usize,
}

impl Round {
    /// With `kept` bytes, is it of any use to ask?
    #[inline]
    pub fn is_due(&self, kept: usize) -> bool {
        kept >= self.not_below
    }

    /// Asks each of `count` once, until `give_up` says that there is room.
    pub fn ask(&mut self, count: usize, mut give_up: impl FnMut(usize) -> bool) {
        for _ in 0..count {
            let number = self.next % count;
            self.next = number + 1;
            if give_up(number) {
                break;
            }
        }
    }

    /// Where it has not helped, the next round waits until as much is kept.
    pub fn end(&mut self, helped: bool, next: usize) {
        self.not_below = if helped { 0 } else { next };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_leave_the_exchanges_a_sixteenth_at_least() {
        for memory in [LEAST_MEMORY, DEFAULT_MEMORY, usize::MAX] {
            let Limits { files, fragments, connections, buffers, requests, statements, errors, samples, .. } =
                Limits::of(memory);
            let others = [files, fragments, connections, buffers, requests, statements, errors, samples];
            let left = memory - others.iter().sum::<usize>();
            assert!(left >= memory / PARTS * 4, "{memory}");
        }
    }
}
