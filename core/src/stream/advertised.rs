//! What each side announces in its headers: its MSS, and how much it can take (the receive window).

use crate::packet::{Flags, Segment};
use crate::side::Side;

/// The largest shift that counts (RFC 7323 §2.3).
const LARGEST_SCALE: u8 = 14;

/// The announcements of both sides of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advertised {
    client: Announced,
    server: Announced,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Announced {
    maximum_segment_size: Option<u16>,
    /// What its SYN says of window scaling; `None` until a SYN was captured.
    scaling: Option<Scaling>,
    /// The largest window of a SYN, which is never scaled (RFC 7323 §2.2).
    opening_window: u16,
    /// The largest window field of the other segments.
    window: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scaling {
    Refused,
    Offered(u8),
}

impl Advertised {
    #[inline]
    pub fn note(&mut self, side: Side, segment: &Segment<'_>) {
        let announced = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        if segment.flags.has(Flags::SYN) {
            announced.note_syn(segment);
        } else if !segment.flags.has(Flags::RST) {
            announced.window = announced.window.max(Some(segment.window));
        }
    }

    /// The largest segment that this side is ready to take; `None` where its SYN was not captured.
    pub fn maximum_segment_size(&self, side: Side) -> Option<u16> {
        self.of(side).maximum_segment_size
    }

    /// The largest receive window of this side in bytes; `None` where the SYNs with the scale were not captured.
    pub fn window_bytes(&self, side: Side) -> Option<u64> {
        let announced = self.of(side);
        let scale = match (announced.scaling, self.of(side.other()).scaling) {
            // One side's refusal holds for both (RFC 7323 §1.3).
            (Some(Scaling::Refused), _) | (_, Some(Scaling::Refused)) => 0,
            (Some(Scaling::Offered(scale)), Some(Scaling::Offered(_))) => scale.min(LARGEST_SCALE),
            _ => return None,
        };
        let scaled = announced.window.map_or(0, |window| u64::from(window) << scale);
        Some(scaled.max(u64::from(announced.opening_window)))
    }

    /// How far the receive window of this side can grow: its scale allows no more. `None` as above.
    pub fn window_limit_bytes(&self, side: Side) -> Option<u64> {
        match (self.of(side).scaling?, self.of(side.other()).scaling?) {
            (Scaling::Offered(scale), Scaling::Offered(_)) => Some(u64::from(u16::MAX) << scale.min(LARGEST_SCALE)),
            _ => Some(u64::from(u16::MAX)),
        }
    }

    pub fn swap_sides(&mut self) {
        std::mem::swap(&mut self.client, &mut self.server);
    }

    fn of(&self, side: Side) -> &Announced {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }
}

impl Announced {
    fn note_syn(&mut self, segment: &Segment<'_>) {
        self.maximum_segment_size = segment.maximum_segment_size.or(self.maximum_segment_size);
        self.scaling = Some(segment.window_scale.map_or(Scaling::Refused, Scaling::Offered));
        self.opening_window = self.opening_window.max(segment.window);
    }
}

#[cfg(test)]
#[path = "advertised_tests.rs"]
mod tests;
