//! Another link's conditions, as far as a relay can make them: each direction's bytes are held back. Exact for a client
//! that sends, waits, and sends again; what TCP itself does on such a link (windows, losses) a relay cannot show.

use std::time::{Duration, Instant};

use latpcap_core::side::Side;

use crate::delay::{Fate, Schedule, Settings};

/// The link that is made: all connections share it.
pub struct Link {
    settings: Settings,
    schedules: [Schedule; 2],
    began: Instant,
}

impl Link {
    /// Nothing is lost, whatever the settings: TCP has brought what a relay holds.
    pub fn new(settings: Settings) -> Self {
        let settings = Settings { loss: 0.0, queue_bytes: None, ..settings };
        Self { settings, schedules: [Schedule::new(0), Schedule::new(1)], began: Instant::now() }
    }

    pub fn rtt(&self) -> Duration {
        self.settings.rtt
    }

    /// When `bytes` that `side` sends now reach the other end.
    pub fn due(&mut self, side: Side, bytes: usize) -> Instant {
        let now = Instant::now();
        match self.schedules[side as usize].fate(now.duration_since(self.began), bytes, &self.settings) {
            Fate::Due(due) => self.began.checked_add(due).unwrap_or(now),
            Fate::Lost | Fate::QueueFull => now,
        }
    }
}
