use super::*;

/// A number that came out of the stages, with what the first one got back before.
type Passed = Vec<(u64, u64)>;

#[derive(Default)]
struct Number {
    value: u64,
    found: u64,
    before: u64,
}

fn run_on(threads: usize, batches: u64) -> Passed {
    let (mut next, mut sum, mut out) = (0, 0, Vec::new());
    let first = |number: &mut Number| {
        next += 1;
        (number.value, number.before) = (next, number.found);
        next < batches
    };
    let later: Vec<Stage<'_, Number>> = vec![
        Box::new(|number| {
            sum += number.value;
            number.found = sum;
        }),
        Box::new(|number| out.push((number.found, number.before))),
    ];
    run(threads, first, later);
    out
}

#[test]
fn every_batch_passes_all_stages_in_order_on_any_number_of_threads() {
    let alone = run_on(1, 1_000);
    assert_eq!(alone.last(), Some(&(500_500, 996 * 997 / 2)));
    for threads in [0, 2, 3, 8] {
        assert_eq!(run_on(threads, 1_000), alone, "{threads}");
    }
}

#[test]
fn a_batch_brings_back_what_was_found_four_batches_before() {
    let found: Vec<_> = run_on(2, 6).into_iter().map(|(_, before)| before).collect();
    assert_eq!(found, [0, 0, 0, 0, 1, 3]);
}

#[test]
fn a_stage_that_panics_leaves_nobody_waiting() {
    for threads in [1, 2, 3] {
        let mut passed = 0;
        let later: Vec<Stage<'_, u64>> = vec![
            Box::new(|_| {
                passed += 1;
                assert!(passed < 100, "on purpose");
            }),
            Box::new(|_| {}),
        ];
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(threads, |_| true, later)));
        assert!(outcome.is_err());
    }
}
