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
    /// Of it, for secrets of TLS.
    pub keys: usize,
    /// Pieces of IP datagrams.
    pub fragments: usize,
    /// TCP connections.
    pub connections: usize,
    /// Of it, for packets and times of connections that several taps show.
    pub taps: usize,
    /// Segments behind holes, streams that are not recognised yet, messages of which a part has arrived.
    pub buffers: usize,
    /// Requests without an answer.
    pub requests: usize,
    /// Texts of statements, and their tags.
    pub statements: usize,
    /// Texts of errors.
    pub errors: usize,
    /// RTT samples; what is beyond it goes to the disk, where there is room.
    pub samples: usize,
    // What is left is for the exchanges.
    /// Of it, for rows of the table; likewise.
    pub rows: usize,
}

impl Limits {
    /// The shares of `memory` bytes.
    pub fn of(memory: usize) -> Limits {
        let parts = |parts: usize| memory / PARTS * parts;
        Limits {
            memory,
            files: parts(9),
            keys: parts(1),
            fragments: parts(1),
            connections: parts(28),
            taps: parts(4),
            buffers: parts(7),
            requests: parts(3),
            statements: parts(7),
            errors: parts(1),
            samples: parts(4),
            rows: parts(4),
        }
    }
}

/// What is handed on together, at most: packets, or bytes of their payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Most {
    pub packets: usize,
    pub bytes: usize,
}

impl Most {
    /// Handing on so much costs next to nothing for a packet, and it stays in a processor's cache.
    pub const USUAL: Most = Most { packets: 1 << 10, bytes: 128 << 10 };
    const LEAST: Most = Most { packets: 16, bytes: 1 << 10 };
    /// What a packet may bring to keep, at the usual most: a row of each table, with what is computed from it.
    const PACKET: usize = 1 << 10;
    /// Likewise a byte of payload: the shortest exchange has about twelve.
    const BYTE: usize = 1 << 6;

    /// That there is no more room shows only when it was used, so with `batches` under way none brings more than its
    /// part of the `room` there was.
    pub fn within(room: usize, batches: usize) -> Most {
        let part = room / batches;
        Most {
            packets: (part / Most::PACKET).clamp(Most::LEAST.packets, Most::USUAL.packets),
            bytes: (part / Most::BYTE).clamp(Most::LEAST.bytes, Most::USUAL.bytes),
        }
    }
}

impl Limits {
    /// The room that is left where `kept` bytes are kept beside open files; none where these are too many.
    pub fn room(&self, kept: usize) -> Option<usize> {
        self.memory.checked_sub(self.files + self.fragments + kept)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::of(DEFAULT_MEMORY)
    }
}

/// Bytes that one connection keeps for the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub connections: usize,
    pub buffers: usize,
    pub requests: usize,
}

/// Bytes that all keep together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub connections: usize,
    pub buffers: usize,
    pub requests: usize,
    pub statements: usize,
    pub samples: usize,
}

impl Kept {
    /// A connection, of which `counted` is in the sum, keeps `now`.
    #[inline]
    pub fn count(&mut self, counted: &mut Share, now: Share) {
        let before = std::mem::replace(counted, now);
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
    fn what_is_handed_on_together_shrinks_with_the_room() {
        let most = [usize::MAX, 1_000_000, 100_000, 0].map(|room| Most::within(room, 4));
        assert_eq!(most.map(|most| most.packets), [1024, 244, 24, 16]);
        assert_eq!(most.map(|most| most.bytes), [131_072, 3_906, 1_024, 1_024]);
    }

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
