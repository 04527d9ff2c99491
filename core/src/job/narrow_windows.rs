//! Receive windows: who takes so little at once that large transfers wait for acknowledgments.

use crate::recording::DatabaseConnection;

/// The largest window without scaling (RFC 7323).
const MAX_UNSCALED_BYTES: u64 = 65_535;
/// A system that lets its windows grow offers a larger scale than the one that makes this of a window field; a buffer
/// whose size was set has the scale that it needs (Linux).
const MAX_FIXED_WINDOW_BYTES: u64 = 4 * MAX_UNSCALED_BYTES;
/// A transfer of this many windows shows that the window did not grow, if its scale does not say so.
const MIN_WINDOWS: u64 = 4;
/// A receiver with a small buffer has this share of its largest announced window in transit, because the window opens in
/// steps.
pub const RECEIVE_WINDOW_UTILISATION: f64 = 0.85;

/// The largest window of the client, and of the server, where it takes little at once; infinite where that grows as
/// needed. `largest_bytes`: the largest request and the largest response, during which it did not grow.
pub fn narrow_windows(connection: &DatabaseConnection, largest_bytes: [u64; 2]) -> [f64; 2] {
    [0, 1].map(|side| {
        let limit_bytes = connection.window_limit_bytes[side].unwrap_or(0);
        narrow_window(connection.window_bytes[side].unwrap_or(0), limit_bytes, largest_bytes[1 - side])
    })
}

/// A window that can grow to `limit_bytes`, 0 where unknown, whose receiver was sent `largest_bytes` at a time.
fn narrow_window(window_bytes: u64, limit_bytes: u64, largest_bytes: u64) -> f64 {
    let is_set = limit_bytes > 0 && limit_bytes <= MAX_FIXED_WINDOW_BYTES && largest_bytes > window_bytes;
    let never_grew = window_bytes <= MAX_UNSCALED_BYTES && largest_bytes > MIN_WINDOWS * window_bytes;
    if window_bytes > 0 && (is_set || never_grew) { window_bytes as f64 } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_narrow_where_its_buffer_was_set_or_it_never_grew() {
        let is_narrow = |window, limit, largest| narrow_window(window, limit, largest).is_finite();
        assert!(is_narrow(50_000, 200_000, 50_001), "its buffer was set to so much");
        assert!(!is_narrow(50_000, 200_000, 50_000), "all fits");
        assert!(!is_narrow(50_000, 262_141, 100_000), "its scale lets it grow");
        assert!(is_narrow(50_000, 1 << 30, 200_001), "it did not grow during four windows");
        assert!(!is_narrow(65_536, 1 << 30, 1 << 40), "it did grow");
        assert!(!is_narrow(0, 200_000, 1 << 40), "nothing is known of it");
    }
}
