//! What came before each row, and what comes after it, within a run of rows that belong together.

/// The last value that is not negative at or before each row of its run of equal `key`; -1 where there is none.
pub fn last_known(values: &[i64], key: &[i64]) -> Vec<i64> {
    let mut last = -1;
    let mut run = None;
    let of_row = |(&value, &key): (&i64, &i64)| {
        if run != Some(key) {
            (run, last) = (Some(key), -1);
        }
        if value >= 0 {
            last = value;
        }
        last
    };
    values.iter().zip(key).map(of_row).collect()
}

/// The largest value at or before each row of its run of equal `key`.
pub fn running_maximum(values: &[i64], key: &[i64]) -> Vec<i64> {
    let mut largest = i64::MIN;
    let mut run = None;
    let of_row = |(&value, &key): (&i64, &i64)| {
        largest = if run == Some(key) { largest.max(value) } else { value };
        run = Some(key);
        largest
    };
    values.iter().zip(key).map(of_row).collect()
}

/// The execution that each row serves, within groups of rows in their order (`order`, cut at `starts`).
///
/// That is the last one at or before it; what `prepares` serves the next one after it, if there is one. -1 for none.
pub fn serving(order: &[i64], starts: &[i64], executes: &[bool], prepares: &[bool]) -> Vec<i64> {
    let mut served = vec![-1; executes.len()];
    for edges in starts.windows(2) {
        let rows = &order[edges[0] as usize..edges[1] as usize];
        let mut last = -1;
        for &row in rows {
            last = if executes[row as usize] { row } else { last };
            served[row as usize] = last;
        }
        let mut next = -1;
        for &row in rows.iter().rev() {
            next = if executes[row as usize] { row } else { next };
            if prepares[row as usize] && next >= 0 {
                served[row as usize] = next;
            }
        }
    }
    served
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_holds_until_the_run_ends() {
        assert_eq!(last_known(&[5, -1, 7, -1, -1], &[1, 1, 1, 1, 2]), [5, 5, 7, 7, -1]);
    }

    #[test]
    fn a_running_maximum_begins_anew_with_each_run() {
        assert_eq!(running_maximum(&[5, 3, 7, 4, -2], &[1, 1, 1, 2, 1]), [5, 5, 7, 4, -2]);
    }

    #[test]
    fn a_prepare_serves_the_execution_behind_it_and_a_fetch_the_one_before() {
        let (executes, prepares) = ([false, true, false, false], [true, false, false, true]);
        assert_eq!(serving(&[0, 1, 2, 3], &[0, 4], &executes, &prepares), [1, 1, 1, 1]);
    }

    #[test]
    fn nothing_is_served_beyond_the_group() {
        assert_eq!(serving(&[0, 2, 1], &[0, 2, 3], &[true, false, false], &[false; 3]), [0, -1, 0]);
    }
}
