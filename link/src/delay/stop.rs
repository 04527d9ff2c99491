//! One thing that ends all threads of a link, those that sleep included.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

pub struct Stop {
    asked: AtomicBool,
    /// Readable once it was asked: what polls wakes up.
    event: OwnedFd,
}

impl Stop {
    pub fn new() -> std::io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { asked: AtomicBool::new(false), event })
    }

    pub fn ask(&self) {
        self.asked.store(true, Ordering::Release);
        // It fails only where the counter is full, and then it is readable all the same.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// Asks when it is dropped: a thread that holds it ends the others with itself, even where it panics.
pub struct EndsAll(pub Arc<Stop>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        self.0.ask();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_fails_ends_the_others() {
        let stop = Arc::new(Stop::new().expect("an event"));
        let ends_all = EndsAll(stop.clone());
        let thread = std::thread::spawn(move || {
            let _ends_all = ends_all;
            std::panic::resume_unwind(Box::new("a fault"));
        });
        assert!(thread.join().is_err());
        assert!(stop.asked());
    }
}
