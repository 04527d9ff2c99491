//! One thing that ends all threads of a link, those that sleep included.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
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
        self.asked.store(true, Ordering::Relaxed);
        // It fails only where the counter is full, and then it is readable all the same.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
