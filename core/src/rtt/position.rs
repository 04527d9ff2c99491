//! The place on a path where the capture was taken.
//!
//! In between where both halves are surely network, else where one excludes the other. A half that was not measured is at
//! most its bound; one whose responses are many and alike is as long as those.

use super::baseline::{Method, Position};
use super::choice::{CLEAR_NS, Chosen, HANDSHAKE_NS, HOST_NS};
use crate::recording::host_of;

/// A capture was taken at one end if the other half of the path is at least this many times as long.
const MIN_HALF_RATIO: f64 = 3.0;
/// A half of the path below this is a host's own turnaround, if the other half is only bounded.
const MAX_TURNAROUND_NS: f64 = 50_000.0;

/// The position on a path from `client`, a host, to `server`, an endpoint.
pub fn position_of([client, server]: [&str; 2], [far, near]: [&Chosen; 2], tick_ns: i64) -> Position {
    let tick = tick_ns as f64;
    let are_both = |ns_of: fn(&Chosen) -> f64, least: f64| ns_of(far) >= least && ns_of(near) >= least;
    if client == host_of(server) {
        return Position::Loopback;
    }
    if are_both(steady_ns, CLEAR_NS + tick) || are_both(twice_measured_ns, HANDSHAKE_NS + tick) {
        return Position::Between;
    }
    for excludes in [excludes, responds_beyond] {
        if excludes(far, near) {
            return Position::Client;
        }
        if excludes(near, far) {
            return Position::Server;
        }
    }
    if are_both(measured_ns, HOST_NS) { Position::Between } else { Position::Unknown }
}

/// A half is so long that the other one is no network, or not measured while the other one is a host's turnaround.
fn excludes(half: &Chosen, other: &Chosen) -> bool {
    let measured = measured_ns(half);
    if measured.is_nan() { turns_around(other, half) } else { measured >= MIN_HALF_RATIO * other.most() }
}

/// Its steady responses say so.
fn responds_beyond(half: &Chosen, other: &Chosen) -> bool {
    let steady = steady_ns(half);
    steady >= MIN_HALF_RATIO * other.most() && steady >= CLEAR_NS
}

/// A half is so short that a host does it alone, and the other, no more than bounded, may be far longer.
fn turns_around(half: &Chosen, other: &Chosen) -> bool {
    half.most() < MAX_TURNAROUND_NS && other.most() >= MIN_HALF_RATIO * half.most()
}

/// The RTT of a half where more than an upper bound is known, or its responses are steady.
fn steady_ns(half: &Chosen) -> f64 {
    if half.steady { half.least() } else { measured_ns(half) }
}

/// The RTT of a half where handshake and acknowledgments agree: no host takes as long for both.
fn twice_measured_ns(half: &Chosen) -> f64 {
    if half.method == Method::Both { half.value } else { f64::NAN }
}

/// The RTT of a half where more than an upper bound is known.
fn measured_ns(half: &Chosen) -> f64 {
    if half.is_bound_only() { f64::NAN } else { half.least() }
}
