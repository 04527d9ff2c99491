//! Order statistics of groups.

use super::radix::by_radix;

/// Where a group has fewer values than this, comparing them is quicker than counting them.
const FEW_VALUES: usize = 512;

/// The values of each of `count` groups in ascending order, and where each group begins; at last, where the last one
/// ends. Rows that are not `known` are left out; without `groups`, the others are one.
pub fn ascending(groups: Option<&[i64]>, values: &[i64], known: Option<&[bool]>, count: usize) -> (Vec<i64>, Vec<i64>) {
    let rows = || (0..values.len()).filter(|&row| known.is_none_or(|known| known[row]));
    let group = |row: usize| groups.map_or(0, |groups| groups[row] as usize);
    let mut starts = vec![0; count + 1];
    rows().for_each(|row| starts[group(row) + 1] += 1);
    (0..count).for_each(|group| starts[group + 1] += starts[group]);
    let (mut next, mut sorted) = (starts.clone(), vec![0; starts[count] as usize]);
    for row in rows() {
        let next = &mut next[group(row)];
        sorted[*next as usize] = values[row];
        *next += 1;
    }
    let mut radix = Radix::default();
    starts.windows(2).for_each(|edges| radix.sort(&mut sorted[edges[0] as usize..edges[1] as usize]));
    (sorted, starts)
}

/// Values by how far they are above the least, where 32 bits hold that; and room for as many.
#[derive(Default)]
struct Radix {
    above: Vec<u32>,
    others: Vec<u32>,
}

impl Radix {
    fn sort(&mut self, values: &mut [i64]) {
        let (least, most) = values.iter().fold((i64::MAX, i64::MIN), |(least, most), &v| (least.min(v), most.max(v)));
        if values.len() < FEW_VALUES || most.abs_diff(least) > u64::from(u32::MAX) || values.is_sorted() {
            return values.sort_unstable();
        }
        self.above.clear();
        self.above.extend(values.iter().map(|value| value.wrapping_sub(least) as u32));
        by_radix(&mut self.above, &mut self.others, 0..u64::BITS - most.abs_diff(least).leading_zeros());
        values.iter_mut().zip(&self.above).for_each(|(value, &above)| *value = least + i64::from(above));
    }
}

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

/// The value in the middle, of two the lower one; `None` of none.
pub fn lower_median<V: Ord + Copy>(values: &mut [V]) -> Option<V> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}

/// Numbers in ascending order.
#[derive(Clone, Debug, Default)]
pub struct Ascending(Vec<f64>);

impl Ascending {
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Ascending {
        let mut all: Vec<f64> = numbers.into_iter().collect();
        all.sort_unstable_by(f64::total_cmp);
        Ascending(all)
    }

    /// The middle one, or the mean of the two in the middle; NaN of none.
    pub fn median(&self) -> f64 {
        let count = self.0.len();
        match count {
            0 => f64::NAN,
            _ => (self.0[(count - 1) / 2] + self.0[count / 2]) / 2.0,
        }
    }

    /// The quantile, which between two of them is in proportion; NaN of none.
    pub fn quantile(&self, fraction: f64) -> f64 {
        let Some(last) = self.0.len().checked_sub(1) else { return f64::NAN };
        let place = last as f64 * fraction;
        let (low, high) = (self.0[place as usize], self.0[(place as usize + 1).min(last)]);
        let beyond = place - place.floor();
        // Of two formulas the one whose end is nearer: exact at both ends.
        if beyond < 0.5 { low + (high - low) * beyond } else { high - (high - low) * (1.0 - beyond) }
    }
}

#[cfg(test)]
#[path = "quantiles_tests.rs"]
mod tests;
