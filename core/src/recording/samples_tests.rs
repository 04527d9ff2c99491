use super::*;

#[test]
fn the_batches_are_the_table() {
    let sample = |number: usize| RttSample {
        time_ns: number as i64 * 1_000,
        rtt_ns: 7 * number as i64,
        segments: 1 + number as u32 % 3,
        in_flight: 4,
    };
    let kept = |count: usize| {
        let mut samples = Samples::default();
        (0..count).for_each(|number| samples.push([Side::Client, Side::Server][number % 2], sample(number)));
        samples
    };
    let samples = vec![(2, kept(150_000)), (3, kept(1)), (7, kept(5_000))];
    let columns = SampleColumns::all(samples, Overflow::default());
    let batches: Vec<_> = SampleBatches::of(columns.clone()).map(Result::unwrap).collect();
    assert!(batches.len() > 1);
    let (whole, mut first) = (columns.batch().unwrap(), 0);
    for batch in batches {
        assert_eq!(batch, whole.slice(first, batch.num_rows()));
        first += batch.num_rows();
    }
    assert_eq!(first, whole.num_rows());
}
