//! The counts of one direction while it counts: one thread adds, any may look.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::counts::Counts;

#[derive(Default)]
pub struct Counters {
    received: AtomicU64,
    sent: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
    queue_full: AtomicU64,
    refused: AtomicU64,
    late_ns: AtomicU64,
    latest_ns: AtomicU64,
    most_in_flight: AtomicU64,
}

impl Counters {
    pub fn received(&self) {
        self.received.fetch_add(1, Relaxed);
    }

    pub fn lost(&self) {
        self.lost.fetch_add(1, Relaxed);
    }

    pub fn queue_full(&self) {
        self.queue_full.fetch_add(1, Relaxed);
    }

    pub fn in_flight(&self, packets: usize) {
        self.most_in_flight.fetch_max(packets as u64, Relaxed);
    }

    pub fn late(&self, by: Duration) {
        let by = by.as_nanos() as u64;
        self.late_ns.fetch_add(by, Relaxed);
        self.latest_ns.fetch_max(by, Relaxed);
    }

    pub fn sent(&self, bytes: usize) {
        self.sent.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    pub fn counts(&self) -> Counts {
        Counts {
            received: self.received.load(Relaxed),
            sent: self.sent.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            lost: self.lost.load(Relaxed),
            queue_full: self.queue_full.load(Relaxed),
            refused: self.refused.load(Relaxed),
            late: Duration::from_nanos(self.late_ns.load(Relaxed)),
            latest: Duration::from_nanos(self.latest_ns.load(Relaxed)),
            most_in_flight: self.most_in_flight.load(Relaxed),
        }
    }

    pub fn reset(&self) {
        for counter in [
            &self.received,
            &self.sent,
            &self.bytes,
            &self.lost,
            &self.queue_full,
            &self.refused,
            &self.late_ns,
            &self.latest_ns,
            &self.most_in_flight,
        ] {
            counter.store(0, Relaxed);
        }
    }
}
