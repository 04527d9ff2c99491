//! Sums over groups.

/// Sums of whole numbers, and which of them have one at all.
pub struct Known {
    /// The sum of each group; 0 where nothing is known.
    pub sums: Vec<i64>,
    /// The group has a row with a value.
    pub any: Vec<bool>,
}

/// Add up `values` by `group`; rows of no group (-1, or beyond `count`) and those without a value are left out.
pub fn sums(group: &[i64], values: &[i64], known: Option<&[bool]>, count: usize) -> Known {
    let mut found = Known { sums: vec![0; count], any: vec![false; count] };
    for (row, (&group, &value)) in group.iter().zip(values).enumerate() {
        let Some(sum) = usize::try_from(group).ok().and_then(|group| found.sums.get_mut(group)) else { continue };
        if known.is_none_or(|known| known[row]) {
            *sum = sum.saturating_add(value);
            found.any[group as usize] = true;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_no_group_and_without_a_value_count_nowhere() {
        let found = sums(&[0, -1, 1, 0, 9], &[1, 2, 4, 8, 16], Some(&[true, true, false, true, true]), 2);
        assert_eq!((found.sums, found.any), (vec![9, 0], vec![true, false]));
    }
}
