//! Pipelines: where a client's window was full, it sent nothing for about a round trip, and the server heard nothing.
//!
//! Such a silence lies before a request, or within one that two packets share. A server that collects its answers in a
//! buffer sends those to earlier requests only when it hears more, so that they seem to take that long as well.

use super::recorded::{Job, UNSEEN};

/// How long a turn waited before its request, within it and within its service because the client's window was full.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Silence {
    pub row: u32,
    pub gap: f64,
    pub request: f64,
    pub service: f64,
}

/// Those of requests that share a wait, by row; most have none.
pub fn silences(job: &Job) -> Vec<Silence> {
    let silent = (0..job.rows()).filter(|&row| job.request_silent(row) > 0.0);
    let mut found: Vec<Silence> = silent.flat_map(|row| of(job, row)).flatten().collect();
    found.sort_by_key(|silence| silence.row);
    found.dedup_by(|next, kept| {
        let same = next.row == kept.row;
        if same {
            kept.gap += next.gap;
            kept.request += next.request;
            kept.service += next.service;
        }
        same
    });
    found
}

/// What was silent from a row's request to the next one, and what the server's answers waited for that.
fn of(job: &Job, row: usize) -> [Option<Silence>; 2] {
    let (next, silent) = (row + 1, job.request_silent(row));
    if next >= job.rows() || !job.shared[next] || job.connection[row] != job.connection[next] {
        return [None; 2];
    }
    let times = [job.request_ns[row], job.request_end_ns[row], job.request_ns[next], job.request_end_ns[next]];
    if times.contains(&UNSEEN) {
        return [None; 2];
    }
    let [asked, sent, next_asked, next_sent] = times.map(|time| time as f64);
    let (gap, own, others) = (next_asked - sent, sent - asked, next_sent - next_asked);
    let most = silent / 2.0;
    let client = if gap > most {
        Silence { row: next as u32, gap: silent.min(gap), ..Silence::default() }
    } else if own > most {
        Silence { row: row as u32, request: silent.min(own), ..Silence::default() }
    } else {
        Silence { row: next as u32, request: silent.min(others.max(0.0)), ..Silence::default() }
    };
    let heard = if client.row as usize == next && client.gap > 0.0 { next_asked } else { sent.max(next_sent) };
    [Some(client), served(job, row, heard + job.baseline_ns[job.phase[row] as usize], silent)]
}

/// The first answer to a request up to this row's that came when the server had heard more: it may have waited for that.
fn served(job: &Job, row: usize, heard: f64, silent: f64) -> Option<Silence> {
    let first = job.connection.partition_point(|&connection| connection < job.connection[row]);
    let late = first + job.response_ns[first..=row].partition_point(|&response| (response as f64) < heard);
    let answer = (late <= row && job.response_ns[late] != UNSEEN).then_some(late)?;
    let baseline = job.baseline_ns[job.phase[answer] as usize];
    let before = if answer > first { job.response_end_ns[answer - 1] as f64 } else { f64::NEG_INFINITY };
    let ready = (job.request_end_ns[answer] as f64 + baseline).max(before);
    let service = (heard - ready).clamp(0.0, silent);
    (service > 0.0).then_some(Silence { row: answer as u32, service, ..Silence::default() })
}
