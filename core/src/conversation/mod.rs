//! A connection's dialogue: which protocol it speaks, and what was said in it.

mod dialogue;
#[cfg(test)]
mod encrypted_tests;
mod inbox;
mod peek;
mod proxy;
mod recognition;
mod records;

pub use dialogue::Dialogue;
pub use recognition::{Forced, Hints};

use crate::layers::Inflated;
use crate::layers::tls::KeyLog;
use crate::side::Side;
use crate::sql::Statements;
use crate::stream::{Chunk, Signal};
use recognition::{Recognised, Recognition};

/// What all conversations of a recording share.
pub struct Common {
    pub statements: Statements,
    /// Secrets of TLS sessions: those that were given, and those that have come by.
    pub keys: KeyLog,
    /// What compressed streams have become.
    pub inflated: Inflated,
}

impl Common {
    /// Without secrets.
    pub fn new(statements: Statements) -> Common {
        Common { statements, keys: KeyLog::default(), inflated: Inflated::default() }
    }
}

/// One connection's bytes, from the first to the last.
pub enum Conversation {
    /// Its first bytes are being looked at.
    New(Box<Recognition>),
    Known(Box<Dialogue>),
    /// Nothing that latpcap reads; the database's name where it is known.
    Foreign(Option<&'static str>),
}

impl Conversation {
    pub fn new(hints: Hints) -> Conversation {
        Conversation::New(Box::new(Recognition::new(hints)))
    }

    /// Take in the next bytes of one side.
    pub fn read(&mut self, chunk: &Chunk<'_>, common: &mut Common) {
        match self {
            Conversation::Foreign(_) => {}
            Conversation::Known(dialogue) => dialogue.read(chunk, common),
            Conversation::New(recognition) => {
                if let Some(known) = recognition.read(chunk, &mut common.keys) {
                    *self = Conversation::decided(known, recognition, common);
                }
            }
        }
    }

    /// What had kept back what one side sends.
    pub fn signal(&mut self, side: Side, signal: Signal) {
        if let Conversation::Known(dialogue) = self {
            let side = if dialogue.swapped { side.other() } else { side };
            dialogue.pairing.signal(side, signal);
        }
    }

    /// One side hangs up and has received the first `acknowledged` bytes of the other.
    pub fn hung_up(&mut self, side: Side, acknowledged: u64) {
        let Conversation::Known(dialogue) = self else { return };
        dialogue.shrink();
        if (side == Side::Client) != dialogue.swapped {
            dialogue.pairing.hang_up(acknowledged);
        }
    }

    /// The capture's clock was set between what was read and what comes.
    pub fn clock_stepped(&mut self) {
        if let Conversation::Known(dialogue) = self {
            dialogue.pairing.clock_stepped();
        }
    }

    /// What one that speaks takes.
    pub const MOST: usize = size_of::<Dialogue>() + Dialogue::BESIDE;

    /// What it takes, whatever it keeps.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        match self {
            Conversation::New(_) => size_of::<Recognition>(),
            Conversation::Known(dialogue) => Conversation::MOST + dialogue.kept_keys(),
            Conversation::Foreign(_) => 0,
        }
    }

    /// What it keeps of bytes that are not read yet.
    #[inline]
    pub fn kept_buffers(&self) -> usize {
        match self {
            Conversation::New(recognition) => recognition.kept_bytes(),
            Conversation::Known(dialogue) => dialogue.kept_bytes(),
            Conversation::Foreign(_) => 0,
        }
    }

    /// What it keeps of requests without an answer.
    #[inline]
    pub fn kept_requests(&self) -> usize {
        self.dialogue().map_or(0, |dialogue| dialogue.pairing.kept_bytes())
    }

    /// There is no room for bytes that are not read yet.
    pub fn give_up_buffers(&mut self, common: &mut Common) {
        match self {
            Conversation::New(recognition) => {
                let known = recognition.decide();
                *self = Conversation::decided(known, recognition, common);
            }
            Conversation::Known(dialogue) => dialogue.give_up(),
            Conversation::Foreign(_) => {}
        }
    }

    /// There is no room for requests without an answer.
    pub fn give_up_requests(&mut self) {
        if let Conversation::Known(dialogue) = self {
            dialogue.pairing.abandon();
        }
    }

    /// No more bytes will come.
    pub fn finish(&mut self, common: &mut Common) {
        if let Conversation::New(recognition) = self {
            let known = recognition.decide();
            *self = Conversation::decided(known, recognition, common);
        }
        if let Conversation::Known(dialogue) = self {
            dialogue.pairing.close();
        }
    }

    pub fn dialogue(&self) -> Option<&Dialogue> {
        match self {
            Conversation::Known(dialogue) => Some(dialogue),
            _ => None,
        }
    }

    pub fn dialogue_mut(&mut self) -> Option<&mut Dialogue> {
        match self {
            Conversation::Known(dialogue) => Some(dialogue),
            _ => None,
        }
    }

    /// The database that speaks here, where it has a name but cannot be read.
    pub fn other_database(&self) -> Option<&'static str> {
        match self {
            Conversation::Foreign(name) => *name,
            _ => None,
        }
    }

    fn decided(known: Option<Recognised>, recognition: &mut Recognition, common: &mut Common) -> Conversation {
        let Some(recognised) = known else {
            return Conversation::Foreign(recognition.other_database());
        };
        let mut dialogue = Dialogue::new(recognised.name, recognised.start, recognised.swapped);
        dialogue.proxied = recognised.proxied;
        dialogue.contradicts = recognised.contradicts;
        for chunk in &recognised.seen {
            dialogue.read(&chunk.borrow(), common);
        }
        Conversation::Known(Box::new(dialogue))
    }
}

/// A chunk that had to wait until the protocol was known.
#[derive(Debug)]
pub struct KeptChunk {
    side: Side,
    mark: crate::stream::Mark,
    acknowledged: u64,
    offset: u64,
    lost: u64,
    bytes: Vec<u8>,
    cut: u64,
}

impl KeptChunk {
    fn of(chunk: &Chunk<'_>) -> KeptChunk {
        let Chunk { side, mark, acknowledged, offset, lost, bytes, cut } = *chunk;
        KeptChunk { side, mark, acknowledged, offset, lost, bytes: bytes.to_vec(), cut }
    }

    fn borrow(&self) -> Chunk<'_> {
        let KeptChunk { side, mark, acknowledged, offset, lost, ref bytes, cut } = *self;
        Chunk { side, mark, acknowledged, offset, lost, bytes, cut }
    }
}
