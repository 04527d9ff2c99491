//! The RTT of each path and connection: from handshakes and acknowledgments, or bounded by responses.
//!
//! ```text
//! client ──near half── capture point ──far half── server
//!
//! rows, samples ─► evidence ─► choice ─► baseline ─► Rtts
//!                  of a half   of a half  of both halves, a row a path, period, phase, connection
//!                     └─► changes ─► phases ─┘  (evidence once more, cut where a path's RTT changed)
//!
//! values    counted ns        evidence   collected in one pass    choice                   one half, by agreement,
//!                                                                                          level, varying, weighing, range
//! paths     who shares one    position   where the capture was    baseline                 both halves
//! phases    cut by changes    changes, periods, witness, clocks   estimate                 all together
//! ```
//!
//! At the client only the far half is network (the near one is the client's own turnaround), at the server only the near
//! half; in between they add up. Times are ns; NaN, infinite or `None` where something is unknown.

mod agreement;
pub mod baseline;
pub mod changes;
pub mod choice;
mod clocks;
pub mod direct;
pub mod estimate;
pub mod evidence;
mod halves;
mod level;
mod periods;
pub mod phases;
mod range;
mod series;
pub mod values;
mod varying;
mod weighing;
mod witness;

use crate::side::Side;

/// The half between the capture point and the server, which the server's acknowledgments measure, and the other one.
pub const FAR: usize = 0;
pub const NEAR: usize = 1;

/// The half that the acknowledgment of this side's data measures: that of the client's the far one.
pub fn half_of(side: Side) -> usize {
    match side {
        Side::Client => FAR,
        Side::Server => NEAR,
    }
}
