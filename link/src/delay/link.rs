//! Two devices and a mover for each direction.

use std::sync::{Arc, Mutex, RwLock};
use std::thread::{Builder, JoinHandle};

use super::awake::keep_awake;
use super::counters::Counters;
use super::counts::Counts;
use super::mover::Mover;
use super::schedule::Schedule;
use super::settings::Settings;
use super::stop::{EndsAll, Stop};
use super::tun::Tun;
use super::{LinkError, Outlet, Source};

/// It runs until it is dropped.
pub struct Link {
    settings: Arc<RwLock<Settings>>,
    /// From the first device to the second, and back.
    counters: [Arc<Counters>; 2],
    stop: Arc<Stop>,
    failure: Arc<Mutex<Option<String>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Link {
    /// Move packets between two devices from now on.
    pub fn start(first: Tun, second: Tun, settings: Settings) -> Result<Self, LinkError> {
        let (first, second) = (Arc::new(first), Arc::new(second));
        Self::between([first.clone(), second.clone()], [Box::new(second), Box::new(first)], None, settings)
    }

    /// Move packets from the first device to the first outlet, those from the second, where `source` writes, too, to
    /// the second.
    pub fn between(
        devices: [Arc<Tun>; 2],
        outlets: [Box<dyn Outlet>; 2],
        source: Option<Box<dyn Source>>,
        settings: Settings,
    ) -> Result<Self, LinkError> {
        let failed = |why| LinkError::System { what: "threads of the link".into(), why };
        let mut link = Self {
            settings: Arc::new(RwLock::new(settings)),
            counters: Default::default(),
            stop: Arc::new(Stop::new().map_err(failed)?),
            failure: Arc::default(),
            threads: Vec::new(),
        };
        for (direction, ((from, to), source)) in devices.into_iter().zip(outlets).zip([None, source]).enumerate() {
            link.add_mover(direction, from, to, source).map_err(failed)?;
        }
        Ok(link)
    }

    /// Let no processor of this process sleep while the link runs: steadier, and busier.
    pub fn keep_awake(&mut self) -> Result<(), LinkError> {
        let threads = keep_awake(&self.stop)
            .map_err(|why| LinkError::System { what: "threads that keep processors awake".into(), why })?;
        self.threads.extend(threads);
        Ok(())
    }

    pub fn settings(&self) -> Settings {
        *self.settings.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// For the packets that come in from now on.
    pub fn set(&self, settings: Settings) {
        *self.settings.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = settings;
    }

    /// From the first device to the second, and back.
    pub fn counts(&self) -> [Counts; 2] {
        self.counters.each_ref().map(|counters| counters.counts())
    }

    pub fn reset_counts(&self) {
        self.counters.iter().for_each(|counters| counters.reset());
    }

    /// Why it moves no packets any more: somebody has removed a device. (A namespace is there as long as its device.)
    pub fn failure(&self) -> Option<String> {
        let has_ended = self.stop.asked();
        let failure = self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        failure.or_else(|| has_ended.then(|| "a thread of the link has ended by a fault of latpcap's own".into()))
    }

    fn add_mover(
        &mut self,
        direction: usize,
        from: Arc<Tun>,
        to: Box<dyn Outlet>,
        source: Option<Box<dyn Source>>,
    ) -> std::io::Result<()> {
        let mover = Mover {
            from,
            to,
            source,
            settings: self.settings.clone(),
            counters: self.counters[direction].clone(),
            stop: self.stop.clone(),
            schedule: Schedule::new(direction),
        };
        let (ends_all, failure) = (EndsAll(self.stop.clone()), self.failure.clone());
        self.threads.push(Builder::new().name(["link-there", "link-back"][direction].into()).spawn(move || {
            let _ends_all = ends_all;
            if let Err(why) = mover.run() {
                let mut failure = failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                failure.get_or_insert(format!("a device of the link is gone: {why}"));
            }
        })?);
        Ok(())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.stop.ask();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
