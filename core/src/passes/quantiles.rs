//! Order statistics of groups.

/// The nearest-rank quantile of each group, a value that was really measured; NaN for an empty group. Group g is
/// `values[starts[g]..starts[g + 1]]`, in ascending order.
pub fn quantile(values: &[i64], starts: &[i64], fraction: f64) -> Vec<f64> {
    let of_group = |edges: &[i64]| {
        let group = &values[edges[0] as usize..edges[1] as usize];
        let rank = (group.len() as f64 * fraction).ceil() as usize; // from 1 on
        group.get(rank.saturating_sub(1)).map_or(f64::NAN, |&value| value as f64)
    };
    starts.windows(2).map(of_group).collect()
}

/// The mean of the shortest interval that holds half of each group (of several the lowest); NaN for an empty one. Groups
/// as above.
pub fn densest_half(values: &[i64], starts: &[i64]) -> Vec<f64> {
    let of_group = |edges: &[i64]| {
        let group = &values[edges[0] as usize..edges[1] as usize];
        let half = group.len().div_ceil(2).max(1);
        let shortest = group.windows(half).min_by_key(|part| part[half - 1].wrapping_sub(part[0]));
        let sum = |part: &[i64]| part.iter().fold(0_i64, |sum, &value| sum.wrapping_add(value));
        shortest.map_or(f64::NAN, |part| sum(part) as f64 / half as f64)
    };
    starts.windows(2).map(of_group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_densest_half_of_a_group_is_the_lowest_of_the_shortest() {
        assert_eq!(densest_half(&[1, 10, 11, 12, 13, 90, 7, 8], &[0, 6, 8]), [11.0, 7.0]);
        assert!(densest_half(&[1], &[1, 1])[0].is_nan());
    }

    #[test]
    fn a_quantile_is_a_value_of_its_group() {
        let (values, starts) = ([10, 20, 30, 40, 7], [0, 4, 5]);
        let quantiles = [0.0, 0.5, 0.51, 1.0].map(|fraction| quantile(&values, &starts, fraction));
        assert_eq!(quantiles, [[10.0, 7.0], [20.0, 7.0], [30.0, 7.0], [40.0, 7.0]]);
        assert!(quantile(&values, &[3, 3], 0.5)[0].is_nan());
    }
}
