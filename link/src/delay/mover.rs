//! The thread of one direction: takes packets in, and sends each when it is due.
//!
//! It sleeps until shortly before the first packet is due and then watches the clock, at a real-time priority where
//! that is permitted.

use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

use super::Outlet;
use super::counters::Counters;
use super::flight::Flight;
use super::schedule::{Fate, Schedule};
use super::settings::Settings;
use super::stop::Stop;
use super::tun::Tun;

/// No IP packet is larger.
const LARGEST_PACKET: usize = 65_536;
/// With more packets in flight it is a bulk transfer: they are moved in batches, which leaves the processors to the job.
const BULK: usize = 48;
const BATCH_LEAST: Duration = Duration::from_micros(50);
/// A packet's delay counts from when it is read, so the device is looked at often, whenever the first packet is due.
const BATCH_MOST: Duration = Duration::from_micros(200);
/// What is longer is slept in pieces.
const SLEEP_MOST: Duration = Duration::from_secs(60);
/// Of 1 to 99: above what runs at usual priority, below the kernel's own threads.
const PRIORITY: u8 = 50;

pub struct Mover {
    pub from: Arc<Tun>,
    pub to: Box<dyn Outlet>,
    pub settings: Arc<RwLock<Settings>>,
    pub counters: Arc<Counters>,
    pub stop: Arc<Stop>,
    pub schedule: Schedule,
}

impl Mover {
    /// Move packets until the link is stopped, or a device is gone.
    pub fn run(mut self) -> io::Result<()> {
        wake_up_promptly();
        let started = Instant::now();
        let mut flight = Flight::default();
        let mut buffer = vec![0; LARGEST_PACKET];
        while !self.stop.asked() {
            self.take_in(&mut flight, &mut buffer, started)?;
            self.send_due(&mut flight, started);
            self.wait(&flight, started)?;
        }
        Ok(())
    }

    /// Read what the device has, until a packet must be sent.
    fn take_in(&mut self, flight: &mut Flight, buffer: &mut [u8], started: Instant) -> io::Result<()> {
        while flight.has_room() {
            let packet = match read(&*self.from, &mut *buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => &buffer[..length],
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(gone) => return Err(gone.into()),
            };
            let now = started.elapsed();
            self.counters.received();
            match self.schedule.fate(now, packet.len(), &self.settings()) {
                Fate::Due(due) => flight.add(due, packet),
                Fate::Lost => self.counters.lost(),
                Fate::QueueFull => self.counters.queue_full(),
            }
            self.counters.in_flight(flight.packets());
            if flight.next_due().is_some_and(|due| due <= now) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn send_due(&self, flight: &mut Flight, started: Instant) {
        let mut sent = true;
        while sent {
            let now = started.elapsed();
            sent = flight.send_due(now, |due, packet| {
                self.counters.late(now - due);
                match self.to.send(packet) {
                    Ok(()) => self.counters.sent(packet.len()),
                    Err(_) => self.counters.refused(),
                }
            });
        }
    }

    fn wait(&self, flight: &Flight, started: Instant) -> io::Result<()> {
        let Some(due) = flight.next_due() else {
            return self.sleep(SLEEP_MOST);
        };
        let left = due.saturating_sub(started.elapsed());
        if flight.packets() > BULK {
            thread::sleep(left.clamp(BATCH_LEAST, BATCH_MOST));
            return Ok(());
        }
        match left.saturating_sub(self.settings().spin) {
            Duration::ZERO => Ok(()),
            long => self.sleep(long.min(SLEEP_MOST)),
        }
    }

    /// Until a packet comes in, the link is stopped, or this time has passed.
    fn sleep(&self, time: Duration) -> io::Result<()> {
        let mut awaited = [PollFd::new(&*self.from, PollFlags::IN), PollFd::new(&*self.stop, PollFlags::IN)];
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        match poll(&mut awaited, Some(&time)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(failed) => Err(failed.into()),
        }
    }

    fn settings(&self) -> Settings {
        *self.settings.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Where it is not permitted, the packets are somewhat later: the counters tell.
fn wake_up_promptly() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let first_come = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    if let Ok(priority) = PRIORITY.try_into() {
        let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(priority), first_come);
    }
}
