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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_value_of_its_group() {
        let (values, starts) = ([10, 20, 30, 40, 7], [0, 4, 5]);
        let quantiles = [0.0, 0.5, 0.51, 1.0].map(|fraction| quantile(&values, &starts, fraction));
        assert_eq!(quantiles, [[10.0, 7.0], [20.0, 7.0], [30.0, 7.0], [40.0, 7.0]]);
        assert!(quantile(&values, &[3, 3], 0.5)[0].is_nan());
    }
}
