//! Which connections follow each other.

use std::collections::BTreeSet;

use super::order::order;

/// The lane of each connection, numbered from 0, by when it begins and ends.
///
/// A connection continues the lane whose last connection ended most recently before it began, among several the one
/// with the highest number; where none is free it opens a lane.
pub fn lanes(start: &[i64], end: &[i64]) -> Vec<i64> {
    let mut lane = vec![0; start.len()];
    let mut free = BTreeSet::new();
    let mut opened = 0;
    for row in order(&[start], start.len()) {
        let row = row as usize;
        let left = free.range(..=(start[row], i64::MAX)).next_back().copied();
        let number = left.map_or(opened, |(_, number)| number);
        match left {
            Some(left) => drop(free.remove(&left)),
            None => opened += 1,
        }
        lane[row] = number;
        free.insert((end[row].max(start[row]), number));
    }
    lane
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_continues_the_lane_that_was_left_last() {
        assert_eq!(lanes(&[0, 1, 5, 6], &[4, 3, 7, 8]), [0, 1, 0, 1]);
    }

    #[test]
    fn connections_that_begin_together_run_beside_each_other() {
        assert_eq!(lanes(&[3, 3, 9], &[5, 4, 9]), [0, 1, 0]);
    }
}
