//! Keeping processors awake: a thread on each that does nothing, and gives way to everything.
//!
//! A halted virtual processor takes 50 to 200 µs to wake up, which is as much as a whole round trip in a data centre.

use std::hint::spin_loop;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

use super::stop::Stop;

pub fn keep_awake(stop: &Arc<Stop>) -> std::io::Result<Vec<JoinHandle<()>>> {
    let ours = sched_getaffinity(None)?;
    (0..CpuSet::MAX_CPU).filter(|&cpu| ours.is_set(cpu)).map(|cpu| stay_on(cpu, stop.clone())).collect()
}

fn stay_on(cpu: usize, stop: Arc<Stop>) -> std::io::Result<JoinHandle<()>> {
    Builder::new().name("link-awake".into()).spawn(move || {
        let mut only = CpuSet::new();
        only.set(cpu);
        // A thread that cannot be told to give way would take a processor from the job.
        if sched_setaffinity(None, &only).is_err() || !gives_way() {
            return;
        }
        while !stop.asked() {
            (0..1000).for_each(|_| spin_loop());
        }
    })
}

fn gives_way() -> bool {
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle).is_ok()
}
