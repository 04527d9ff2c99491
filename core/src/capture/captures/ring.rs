//! Files that one program wrote one after the other, as the names show that dumpcap and editcap give:
//!
//! ```text
//! ring_00001_20261123062630.pcapng      and with -b nametimenum:2   ring_20261123062630_00001.pcapng
//! ```

use std::collections::BTreeMap;

const NUMBER: usize = 5;
const TIME: usize = 14;

/// The rings among these files, each in its order. Where number and time contradict each other, or a number is there
/// twice, several were written under one name: no ring.
pub(super) fn rings(paths: &[(usize, String)]) -> Vec<Vec<usize>> {
    let mut named: BTreeMap<&str, Vec<(u32, &str, usize)>> = BTreeMap::new();
    for (file, path) in paths {
        if let Some((ring, number, time)) = name(path) {
            named.entry(ring).or_default().push((number, time, *file));
        }
    }
    let in_order = |mut files: Vec<(u32, &str, usize)>| {
        files.sort_unstable();
        let follow = |pair: &[(u32, &str, usize)]| matches!(pair, [one, next] if one.0 < next.0 && one.1 <= next.1);
        files.windows(2).all(follow).then(|| files.into_iter().map(|(.., file)| file).collect())
    };
    named.into_values().filter_map(in_order).collect()
}

/// The ring's name, the file's number and its time.
fn name(path: &str) -> Option<(&str, u32, &str)> {
    path.rmatch_indices('_').find_map(|(at, _)| {
        let (one, other) = path.get(at + 1..at + 1 + NUMBER + 1 + TIME)?.split_once('_')?;
        let (number, time) = if one.len() == NUMBER { (one, other) } else { (other, one) };
        let is_time = time.len() == TIME && time.bytes().all(|byte| byte.is_ascii_digit());
        Some((path.get(..at)?, number.parse().ok()?, time)).filter(|_| is_time)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings_of(names: &[&str]) -> Vec<Vec<usize>> {
        let paths: Vec<_> = names.iter().map(|name| (*name).to_owned()).enumerate().collect();
        rings(&paths)
    }

    #[test]
    fn the_files_of_a_ring_follow_each_other_by_their_numbers() {
        let names = ["a/ring_00010_20261123062632.pcapng", "a/ring_00009_20261123062631.pcapng.zst", "b/ring_00001"];
        assert_eq!(rings_of(&names), [[1, 0]]);
        assert_eq!(rings_of(&["ring_20261123062631_00002", "ring_20261123062631_00001"]), [[1, 0]]);
        let two = ["a/ring_00001_20261123062630", "b/ring_00001_20261123062630", "a/ring_00002_20261123062631"];
        assert_eq!(rings_of(&two), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn names_that_do_not_tell_an_order_are_of_no_ring() {
        assert!(rings_of(&["ring_00001_20261123062630", "ring_00001_20261123062631"]).is_empty());
        assert!(rings_of(&["ring_00002_20261123062630", "ring_00001_20261123062631"]).is_empty());
        assert!(
            rings_of(&["client_1.pcapng", "client_2.pcapng", "_00001_2026112306263x", "", "_", "é_00001_2"]).is_empty()
        );
    }
}
