//! Pipelines: where a client's window was full, it sent nothing for about a round trip, and the server heard nothing.
//!
//! Such a silence lies before a request, or within one that two packets share. A server that collects its answers in a
//! buffer sends those to earlier requests only when it hears more, so that they seem to take that long as well.

use super::UNSEEN;
use super::exchange::Exchange;

/// How long a step waited before its request, within it and within its service because the client's window was full.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowStall {
    pub row: u32,
    pub gap: f64,
    pub request: f64,
    pub service: f64,
}

/// Finds those of requests that share a wait; most have none.
#[derive(Debug, Default)]
pub struct WindowStalls {
    found: Vec<WindowStall>,
    /// The exchanges so far of a connection; not from before an answer that came before the newest request was sent.
    of_connection: Vec<Exchange>,
}

impl WindowStalls {
    /// The next exchange, as the client saw it.
    pub fn exchange(&mut self, next: &Exchange, baseline_ns: &[f64]) {
        let same = |before: &&Exchange| before.connection == next.connection;
        let Some(&before) = self.of_connection.last().filter(same) else {
            self.of_connection.clear();
            return self.of_connection.push(*next);
        };
        if before.request_silent > 0.0 && next.shared {
            self.between(&before, next, baseline_ns);
        }
        if !next.shared && next.request > before.response_end {
            self.of_connection.clear(); // no later request was heard before these were answered
            self.of_connection.push(before);
        }
        self.of_connection.push(*next);
    }

    /// By row.
    pub fn found(mut self) -> Vec<WindowStall> {
        self.found.sort_by_key(|silence| silence.row);
        self.found.dedup_by(|next, kept| {
            let same = next.row == kept.row;
            if same {
                kept.gap += next.gap;
                kept.request += next.request;
                kept.service += next.service;
            }
            same
        });
        self.found
    }

    /// What was silent from a request to the next one, and what the server's answers waited for that.
    fn between(&mut self, own: &Exchange, next: &Exchange, baseline_ns: &[f64]) {
        let times = [own.request, own.request_end, next.request, next.request_end];
        if times.contains(&UNSEEN) {
            return;
        }
        let [asked, sent, next_asked, next_sent] = times.map(|time| time as f64);
        let (gap, within, others, silent) =
            (next_asked - sent, sent - asked, next_sent - next_asked, own.request_silent);
        let most = silent / 2.0;
        let client = if gap > most {
            WindowStall { row: next.row, gap: silent.min(gap), ..WindowStall::default() }
        } else if within > most {
            WindowStall { row: own.row, request: silent.min(within), ..WindowStall::default() }
        } else {
            WindowStall { row: next.row, request: silent.min(others.max(0.0)), ..WindowStall::default() }
        };
        let heard = if client.row == next.row && client.gap > 0.0 { next_asked } else { sent.max(next_sent) };
        let served = self.served(heard + baseline_ns[own.phase as usize], silent, baseline_ns);
        self.found.extend([Some(client), served].into_iter().flatten());
    }

    /// The first answer to a request so far that came when the server had heard more: it may have waited for that.
    fn served(&self, heard: f64, silent: f64, baseline_ns: &[f64]) -> Option<WindowStall> {
        let late = self.of_connection.partition_point(|exchange| (exchange.response as f64) < heard);
        let answer = self.of_connection.get(late).filter(|answer| answer.response != UNSEEN)?;
        let before =
            late.checked_sub(1).map_or(f64::NEG_INFINITY, |before| self.of_connection[before].response_end as f64);
        let ready = (answer.request_end as f64 + baseline_ns[answer.phase as usize]).max(before);
        let service = (heard - ready).clamp(0.0, silent);
        (service > 0.0).then_some(WindowStall { row: answer.row, service, ..WindowStall::default() })
    }
}
