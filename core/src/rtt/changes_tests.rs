use super::super::series::Measurement;
use super::*;

const SECOND_NS: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;

fn series(levels_ms: [i64; 2]) -> Vec<Measurement> {
    let measured = |at: i64| Measurement {
        time_ns: at * SECOND_NS,
        place: 0,
        ns: levels_ms[usize::from(at >= 30)] * MS,
        statement: at as u32 % 3,
    };
    (0..60).map(measured).collect()
}

fn half(direct_ms: [i64; 2], responses_ms: [i64; 2]) -> Half {
    Half {
        may_direct_change: direct_ms[0] != direct_ms[1],
        may_responses_change: responses_ms[0] != responses_ms[1],
        direct: series(direct_ms),
        responses: series(responses_ms),
    }
}

#[test]
fn what_was_measured_splits_a_path_by_itself_and_responses_where_it_does_not() {
    let measured = vec![(30 * SECOND_NS, ChangeEvidence::Measured)];
    assert_eq!(of_half(&half([5, 20], [6, 21]), &[]), (measured.clone(), 0.0));
    assert_eq!(of_half(&half([5, 20], [90, 90]), &[]), (measured, 0.0));
    assert_eq!(of_half(&half([5, 5], [6, 21]), &[]), (vec![(30 * SECOND_NS, ChangeEvidence::Statements)], 0.0));
    assert_eq!(of_half(&half([5, 5], [6, 6]), &[]), (vec![], 0.0));
}

#[test]
fn both_halves_show_one_change_at_about_the_same_time() {
    let at = |tenths: i64, evidence| (tenths * SECOND_NS / 10, evidence);
    let [measured, answers] = [ChangeEvidence::Measured, ChangeEvidence::Answers];
    let all = vec![at(30, answers), at(25, measured), at(34, answers), at(35, measured), at(50, answers)];
    assert_eq!(once(all), [at(25, measured), at(35, measured), at(50, answers)]);
}
