use super::*;

#[test]
fn a_fetch_is_the_difference_of_two_counts() {
    let mut cursors = Cursors::default();
    assert_eq!(cursors.executed(1, 2), 2);
    assert_eq!(cursors.fetched(1, 102, 100, false), Rows::Known(100));
    assert_eq!(cursors.fetched(1, 150, 100, true), Rows::Known(48));
    assert_eq!(cursors.executed(1, 2), 2);
}

#[test]
fn more_rows_than_were_asked_for_are_implausible() {
    let mut cursors = Cursors::default();
    cursors.executed(3, 1);
    assert_eq!(cursors.fetched(3, 983_041, 15, false), Rows::Implausible);
    assert_eq!(cursors.fetched(3, 31, 15, false), Rows::Known(15));
    assert_eq!(cursors.fetched(3, 33, 15, true), Rows::Known(2));
}

#[test]
fn in_mid_connection_a_full_fetch_is_what_was_asked_for() {
    let mut cursors = Cursors::default();
    assert_eq!(cursors.fetched(9, 5000, 100, false), Rows::Known(100));
    assert_eq!(cursors.fetched(9, 5030, 100, true), Rows::Known(30));
    assert_eq!(Cursors::default().fetched(9, 5030, 100, true), Rows::Unknown);
}

#[test]
fn the_last_rows_after_a_loss_are_unknown() {
    let mut cursors = Cursors::default();
    cursors.executed(3, 1);
    cursors.forget_counts();
    assert_eq!(cursors.fetched(3, 14, 15, true), Rows::Unknown);
    assert_eq!(cursors.fetched(4, 14, 15, true), Rows::Unknown);
    assert_eq!(Cursors::default().fetched(4, 14, 15, true), Rows::Known(14));
}

#[test]
fn more_cursors_than_can_be_open_are_forgotten() {
    let mut cursors = Cursors::default();
    (1..200_000).for_each(|cursor| {
        cursors.executed(cursor, 1);
    });
    assert!(cursors.entries.len() <= OPEN_CURSORS);
}
