//! What the sources of a recording hold, to the byte: found beside the reading where it is known that somebody will
//! ask, so that a file comes from the disk but once; else when somebody asks.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use latpcap_core::capture::{Contents, Origin};

/// So often somebody who waits for the thread may interrupt it.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

pub struct Hashing {
    origins: Vec<Origin>,
    /// What a thread finds meanwhile.
    ahead: Mutex<Option<JoinHandle<Vec<Option<Contents>>>>>,
}

impl Hashing {
    pub fn when_asked(origins: Vec<Origin>) -> Hashing {
        Hashing { origins, ahead: Mutex::default() }
    }

    /// Begins now, and ends where that is cancelled.
    pub fn ahead(origins: Vec<Origin>, cancel: &Arc<AtomicBool>) -> Hashing {
        let (of, cancel) = (origins.clone(), Arc::clone(cancel));
        let work = move || of.iter().map(|origin| origin.contents(|| !cancel.load(Ordering::Relaxed))).collect();
        Hashing { origins, ahead: Mutex::new(thread::Builder::new().spawn(work).ok()) }
    }

    /// What each source holds, as far as it `goes_on`.
    pub fn contents(&self, mut goes_on: impl FnMut() -> bool) -> Vec<Option<Contents>> {
        let Some(ahead) = self.ahead.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return self.origins.iter().map(|origin| origin.contents(&mut goes_on)).collect();
        };
        while !ahead.is_finished() {
            if !goes_on() {
                return Vec::new();
            }
            thread::sleep(CHECK_INTERVAL);
        }
        let found = ahead.join().unwrap_or_else(|panic| resume_unwind(panic));
        self.origins.iter().zip(found).map(|(origin, found)| origin.still(found)).collect()
    }
}
