//! The thread of one direction: takes packets in, and sends each when it is due.
//!
//! It sleeps until shortly before the first packet is due and then watches the clock, at a real-time priority where
//! that is permitted. How long before depends on how late it woke up recently: a processor that sleeps takes its time.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

use super::counters::Counters;
use super::flight::Flight;
use super::schedule::{Fate, Schedule};
use super::settings::Settings;
use super::stop::Stop;
use super::tun::Tun;
use super::wake_ups::WakeUps;
use super::{Outlet, Source};

/// No IP packet is larger.
const MAX_PACKET_BYTES: usize = 65_536;
/// With more packets in flight it is a bulk transfer: they are moved in batches, which leaves the processors to the
/// job.
const BULK: usize = 48;
const MIN_BATCH_TIME: Duration = Duration::from_micros(50);
/// The device is looked at often, whenever the first packet is due.
const MAX_BATCH_TIME: Duration = Duration::from_micros(200);
/// A longer sleep is divided.
const MAX_SLEEP: Duration = Duration::from_secs(60);
/// A real-time priority (1 to 99): above all that runs at usual priority, below the kernel's own threads.
const PRIORITY: u8 = 50;

/// One direction of a link.
pub struct Mover {
    pub from: Arc<Tun>,
    pub to: Box<dyn Outlet>,
    /// It writes into the device when this thread lets it.
    pub source: Option<Box<dyn Source>>,
    pub settings: Arc<RwLock<Settings>>,
    pub counters: Arc<Counters>,
    pub stop: Arc<Stop>,
    pub schedule: Schedule,
}

/// The state of a mover at work.
struct Load {
    started: Instant,
    flight: Flight,
    buffer: Vec<u8>,
    /// When the device was last known to have no packet.
    last_empty: Duration,
    wake_ups: WakeUps,
}

impl Load {
    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn must_send(&self) -> bool {
        self.flight.next_due().is_some_and(|due| due <= self.now())
    }
}

impl Mover {
    /// Move packets until the link is stopped, or a device is gone.
    pub fn run(mut self) -> io::Result<()> {
        wake_up_promptly();
        let mut load = Load {
            started: Instant::now(),
            flight: Flight::default(),
            buffer: vec![0; MAX_PACKET_BYTES],
            last_empty: Duration::ZERO,
            wake_ups: WakeUps::default(),
        };
        while !self.stop.asked() {
            self.take_in(&mut load, Duration::ZERO)?;
            self.let_in(&mut load)?;
            self.send_due(&mut load.flight, load.started);
            self.wait(&mut load)?;
        }
        Ok(())
    }

    /// Let the source write, until a packet must be sent; its packets count from when it had what is in them.
    fn let_in(&mut self, load: &mut Load) -> io::Result<()> {
        while load.flight.has_room() && !load.must_send() {
            match self.source.as_mut().and_then(|source| source.write()) {
                Some(waited) => self.take_in(load, waited)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Read what the device has, until a packet must be sent. The packets had to wait so long before they came here.
    fn take_in(&mut self, load: &mut Load, waited: Duration) -> io::Result<()> {
        while load.flight.has_room() {
            let looked = load.now();
            let packet = match read(&*self.from, &mut *load.buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => &load.buffer[..length],
                Err(Errno::AGAIN) => {
                    load.last_empty = looked;
                    return Ok(());
                }
                Err(Errno::INTR) => return Ok(()),
                Err(gone) => return Err(gone.into()),
            };
            let now = load.started.elapsed();
            let settings = self.settings();
            let entered = self.entered(packet, now, load.last_empty, &settings).saturating_sub(waited);
            self.counters.received();
            match self.schedule.fate(entered, packet.len(), &settings) {
                Fate::Due(due) => {
                    self.to.expect(packet);
                    load.flight.add(due, packet);
                }
                Fate::Lost => self.counters.lost(),
                Fate::QueueFull => self.counters.queue_full(),
            }
            self.counters.in_flight(load.flight.packets());
            if load.must_send() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// When the kernel had a packet that is read now: after the device was empty. Without a delay nobody has to know,
    /// but its copy is read all the same: copies must not pile up until there is one.
    fn entered(&self, packet: &[u8], now: Duration, last_empty: Duration, settings: &Settings) -> Duration {
        let age = self.from.age(packet).filter(|_| !settings.rtt.is_zero());
        now.saturating_sub(age.unwrap_or_default()).max(last_empty.min(now))
    }

    fn send_due(&self, flight: &mut Flight, started: Instant) {
        let mut sent = 0;
        while flight.send_due(started.elapsed(), |late, packet| self.send(late, packet)) {
            sent += 1;
        }
        if sent > 0 {
            self.to.flush();
        }
    }

    fn send(&self, late: Duration, packet: &[u8]) {
        self.counters.late(late);
        match self.to.send(packet) {
            Ok(()) => self.counters.sent(packet.len()),
            Err(_) => self.counters.refused(),
        }
    }

    fn wait(&self, load: &mut Load) -> io::Result<()> {
        let has_more = self.source.as_ref().is_some_and(|source| source.has_more());
        if has_more && load.flight.packets() <= BULK {
            return Ok(());
        }
        let Some(due) = load.flight.next_due() else {
            return self.sleep(MAX_SLEEP).map(drop);
        };
        let left = due.saturating_sub(load.now());
        if load.flight.packets() > BULK {
            thread::sleep(left.clamp(MIN_BATCH_TIME, MAX_BATCH_TIME));
            return Ok(());
        }
        let long = left.saturating_sub(load.wake_ups.lateness().min(self.settings().spin)).min(MAX_SLEEP);
        let asleep = Instant::now();
        if !long.is_zero() && !self.sleep(long)? {
            load.wake_ups.observe(asleep.elapsed().saturating_sub(long));
        }
        Ok(())
    }

    /// Sleep until there is a packet, the link is stopped (`true`), or this time has passed.
    fn sleep(&self, time: Duration) -> io::Result<bool> {
        let source = self.source.as_ref().map(|source| source.awaited());
        let awaited = [Some(self.from.as_fd()), Some(self.stop.as_fd()), source];
        let mut awaited: Vec<_> = awaited.iter().flatten().map(|file| PollFd::new(file, PollFlags::IN)).collect();
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        match poll(&mut awaited, Some(&time)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(true),
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
