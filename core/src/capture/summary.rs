//! What is known of each capture file after it was read.

use super::captures::resolution::Resolution;
use super::clock::TIME_MAX_NS;
use super::record::Record;
use crate::note::{Note, NoteCode, Notes};

/// A packet that was captured in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutPacket {
    pub frame: u64,
    pub length: usize,
    pub original_length: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFile {
    pub path: String,
    /// `pcap`, `pcapng`, `pcap (gzip)` …
    pub format: String,
    pub packets: u64,
    /// The packets' bytes on the wire.
    pub bytes: u64,
    /// The earliest and the latest time of a packet.
    pub first_time_ns: Option<i64>,
    pub last_time_ns: Option<i64>,
    /// The time of the packet before, which need not be the latest.
    previous_time_ns: Option<i64>,
    resolution: Resolution,
}

impl CaptureFile {
    pub(super) fn new(path: String) -> Self {
        Self {
            path,
            format: String::new(),
            packets: 0,
            bytes: 0,
            first_time_ns: None,
            last_time_ns: None,
            previous_time_ns: None,
            resolution: Resolution::default(),
        }
    }

    #[inline(always)]
    pub(super) fn count(&mut self, record: &Record, frame: u64, notes: &mut Notes) {
        self.packets += 1;
        self.bytes += u64::from(record.original_length);
        if let Some(time_ns) = record.time_ns {
            self.pass(time_ns, frame, notes);
        }
    }

    #[inline(always)]
    fn pass(&mut self, time_ns: i64, frame: u64, notes: &mut Notes) {
        if time_ns.abs() == TIME_MAX_NS {
            notes.add(NoteCode::ClockRange, || format!("frame {frame} is dated before 1824 or after 2115"));
        }
        let Some(previous_ns) = self.previous_time_ns.replace(time_ns) else {
            (self.first_time_ns, self.last_time_ns) = (Some(time_ns), Some(time_ns));
            return self.resolution.begin(time_ns);
        };
        self.resolution.pass(previous_ns.abs_diff(time_ns));
        if time_ns < previous_ns {
            let back_ns = previous_ns.saturating_sub(time_ns);
            notes.add(NoteCode::ClockBackwards, || went_back(back_ns, frame));
            self.first_time_ns = self.first_time_ns.min(Some(time_ns));
        } else {
            self.last_time_ns = self.last_time_ns.max(Some(time_ns));
        }
    }
}

impl CaptureFile {
    /// Its clock: that of all files that follow each other, where its own packets do not show a coarser one.
    fn clock<'a>(&'a self, joined: &'a Resolution) -> &'a Resolution {
        if self.resolution.coarse_divisor_ns().is_some() { &self.resolution } else { joined }
    }

    /// How fine its clock is, in ns: 1 or 100 for fine clocks, 1,000 for µs files; `None` where too few packets show it.
    pub(super) fn tick_ns(&self, joined: &Resolution) -> Option<u64> {
        self.clock(joined).tick_ns().filter(|_| self.packets > 0)
    }

    /// What only the whole file shows.
    pub(super) fn note(&self, joined: &Resolution) -> Option<Note> {
        let tick_ms = self.clock(joined).coarse_ns().filter(|_| self.packets > 0)? as f64 / 1e6;
        let message = format!("its clock ticks every {tick_ms} ms only");
        Some(Note { code: NoteCode::CoarseClock, message, count: self.packets, frame: None })
    }
}

/// The clock of files that follow each other, given in this order.
pub(super) fn joined<'a>(files: impl Iterator<Item = &'a CaptureFile>) -> Resolution {
    let mut all = Resolution::default();
    let mut last_ns: Option<i64> = None;
    for file in files {
        all.join(
            &file.resolution,
            last_ns.zip(file.first_time_ns).map(|(last_ns, first_ns)| last_ns.abs_diff(first_ns)),
        );
        last_ns = file.previous_time_ns.or(last_ns);
    }
    all
}

/// Some of the packet's IP datagram was not captured: not every byte that is missing of a packet is.
pub(super) fn cut_short(packet: CutPacket) -> String {
    let CutPacket { frame, length, original_length } = packet;
    let what = match u64::from(original_length).checked_sub(length as u64) {
        // The file says that it is whole.
        None | Some(0) => format!("frame {frame} ends before its IP datagram"),
        Some(_) => format!("frame {frame}: {length} of {original_length} bytes"),
    };
    format!("packets were cut by the snap length ({what}); capture with -s 0 for whole packets")
}

fn went_back(back_ns: i64, frame: u64) -> String {
    let back_ms = back_ns as f64 / 1e6;
    format!("frame {frame} is {back_ms:.3} ms earlier than the packet before it in the file")
}
