//! Processes that are still in the job's namespace when its network ends: they would wait for ever.

use std::fs::{File, read_dir};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long they may take to end when they are asked to.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Ask them to end, and then end them. How many there were.
pub fn end_processes_in(namespace: &File) -> usize {
    let Ok(namespace) = namespace.metadata().map(|file| file.ino()) else {
        return 0;
    };
    // Never those of this machine's own.
    if network_of("self").is_none_or(|own| own == namespace) {
        return 0;
    }
    let found = signal(namespace, Signal::TERM);
    let asked = Instant::now();
    while asked.elapsed() < PATIENCE && !inside(namespace).is_empty() {
        sleep(LOOK_EVERY);
    }
    // One that forks may be about to have another.
    while signal(namespace, Signal::KILL) > 0 && asked.elapsed() < PATIENCE * 2 {
        sleep(LOOK_EVERY);
    }
    found
}

fn signal(namespace: u64, signal: Signal) -> usize {
    let found = inside(namespace);
    for &process in &found {
        let _ = kill_process(process, signal);
    }
    found.len()
}

fn inside(namespace: u64) -> Vec<Pid> {
    let Ok(processes) = read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .filter_map(|process| {
            let process = process.ok()?;
            let name = process.file_name();
            let id = Pid::from_raw(name.to_str()?.parse().ok()?)?;
            (network_of(name.to_str()?)? == namespace).then_some(id)
        })
        .collect()
}

/// The network namespace of a process; none where it has ended, or is another user's.
fn network_of(process: &str) -> Option<u64> {
    Some(Path::new("/proc").join(process).join("ns/net").metadata().ok()?.ino())
}
