//! What a user may ask of the reading.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use crate::client_groups::Part;
use crate::conversation::Forced;
use crate::disk::Room;
use crate::layers::tls::KeyLog;
use crate::ledger::Limits;
use crate::live::Live;

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keep the statements as they were sent, literals included.
    pub show_literals: bool,
    /// Server port → what to read it as.
    pub decode_as: BTreeMap<u16, Forced>,
    /// Only the connections of this part of the recording; all of them unless said. Their numbers stay as they are.
    pub part: Option<Part>,
    /// Set from outside to stop early; what was read so far comes back.
    pub cancel: Arc<AtomicBool>,
    pub limits: Limits,
    /// Secrets of TLS sessions; those inside the capture add to them.
    pub keys: Arc<KeyLog>,
    /// Where what does not fit in memory may go; without it, it is left out.
    pub disk: Option<Room>,
    /// How many threads may work on it; as many as there are processors unless said. What comes out is the same.
    pub threads: Option<NonZeroUsize>,
    /// Where sums are kept for who watches; every packet is then read to its end before the next one is waited for.
    pub live: Option<Arc<Live>>,
}

impl Options {
    pub fn threads(&self) -> usize {
        if self.live.is_some() {
            return 1;
        }
        self.threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
    }
}
