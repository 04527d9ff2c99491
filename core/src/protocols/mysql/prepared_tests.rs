use super::*;

fn sql(number: u32) -> Option<Sql> {
    Some(Sql { fingerprint: number, text: number, parameters: 0, tags: crate::sql::NO_TAGS })
}

#[test]
fn the_oldest_statements_make_room() {
    let mut prepared = Prepared::default();
    for id in 1..=KEPT as u32 + 1 {
        prepared.answered(id, sql(id), 0);
    }
    assert_eq!((prepared.sql(1), prepared.sql(2)), (None, sql(2)));
}

#[test]
fn the_newest_needs_no_answer() {
    let mut prepared = Prepared::default();
    prepared.asked(sql(7));
    assert_eq!(prepared.sql(LAST_PREPARED), sql(7));
}

#[test]
fn long_data_belongs_to_the_next_execution_alone() {
    let mut prepared = Prepared::default();
    prepared.answered(1, sql(7), 1);
    let plain = prepared.execute(1, &[b"\0"]);
    prepared.long_data(1, b"blob");
    let long = prepared.execute(1, &[b"\0"]);
    assert_ne!(plain, long);
    assert_eq!(prepared.execute(1, &[b"\0"]), plain);
    prepared.long_data(1, b"blob");
    prepared.reset(1);
    assert_eq!(prepared.execute(1, &[b"\0"]), plain);
}

#[test]
fn a_closed_statement_is_forgotten() {
    let mut prepared = Prepared::default();
    prepared.answered(1, sql(7), 0);
    prepared.close(1);
    assert_eq!(prepared.sql(1), None);
}
