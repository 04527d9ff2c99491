//! What was measured of each half: handshakes, acknowledgments, and what bounds it.
//!
//! ```text
//! client ──near half── capture point ──far half── server
//!                        SYN ───────►            far handshake:  SYN → SYN/ACK
//!            ◄─────── SYN/ACK                    near handshake: SYN/ACK → ACK
//!                       data ───────►            far sample:     data → its ACK     near sample: the same the other way
//!            request ──►   ◄── response          far response:   last request packet → first response packet
//!            response ─►   ◄── next request      near response:  end of response → next request
//!                       data ───────►
//!                            ◄─────── data       far answer:     data → the data that acknowledges it; near: the other way
//! ```
//!
//! A response holds the half's RTT and the work of the host behind it: it may be longer, hardly shorter. An answer is a
//! bound that TCP proves, whatever the messages mean: the half's RTT is no longer than the fastest one.

use super::values::Values;

/// What was measured of one half, in one phase of a connection or in one period of a path.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    pub handshakes: Values,
    /// Clean ones: quiet and prompt.
    pub acks: Values,
    /// ACKs that may have been delayed: they bound, too, and show that their sender waited for something.
    pub late: Values,
    /// Each with its statement; of the near half all are of one kind, 0.
    pub responses: Values,
    /// The fastest of each connection.
    pub answers: Values,
    /// All that bounds it, each packet once: responses, late acknowledgments, answers faster than all responses.
    pub bounds: Values,
    /// A SYN was sent again.
    pub is_syn_resent: bool,
}

/// Which acknowledgments of a half are clean, in one phase: quiet ones, where its path has such, that nobody delayed.
#[derive(Clone, Copy, Debug)]
pub struct Clean {
    /// The path has quiet ones: others count for nothing, they are not even late.
    pub needs_quiet: bool,
    /// Those as long as this were delayed.
    pub prompt_ns: i64,
    /// The least of handshakes and of acknowledgments of several segments, of the path: one segment alone that is so long
    /// may have been delayed where these are much longer.
    pub confirmed_ns: i64,
    /// What there is of the phase is left of one that was not captured.
    pub is_left_over: bool,
}

/// The evidence of a recording: of phases and of periods the far half, and the near one.
#[derive(Debug, Default)]
pub struct Collected {
    pub of_phases: Vec<[Evidence; 2]>,
    /// None where every period has one phase, in their order: then these are those of the phases.
    pub of_periods: Option<Vec<[Evidence; 2]>>,
    /// Of each phase.
    pub clean: Vec<[Clean; 2]>,
    /// The phase of each exchange, and the round trips of each phase.
    pub of_exchanges: Vec<u32>,
    pub round_trips: Vec<u64>,
}

impl Collected {
    /// The evidence of each period.
    pub fn of_periods(&self) -> &[[Evidence; 2]] {
        self.of_periods.as_deref().unwrap_or(&self.of_phases)
    }
}

// STAND-IN, until rtt-evidence is merged.
pub fn collect(
    _recording: &crate::recording::Recording,
    _connections: &crate::recording::DatabaseConnections,
    _phases: &super::phases::Phases,
) -> std::io::Result<Collected> {
    todo!()
}
