use super::*;

const SMALL: usize = 10 + 2 * OVERHEAD;

#[test]
fn equal_statements_share_one_number() {
    let mut statements = Statements::new(false);
    let one = statements.sql(b"select * from t where id = 1");
    let two = statements.sql(b"SELECT * FROM t WHERE id=2 -- again");
    assert_eq!(one.fingerprint, two.fingerprint);
    assert_eq!(statements.len(), 1);
}

#[test]
fn the_text_is_the_fingerprint_unless_literals_are_shown() {
    let hidden = Statements::new(false).sql(b"select 1");
    assert_eq!(hidden.text, hidden.fingerprint);
    let mut statements = Statements::new(true);
    let shown = statements.sql(b"select 1");
    assert_eq!(statements.text(shown.text), "select 1");
    assert_eq!(statements.text(shown.fingerprint), "select ?");
}

#[test]
fn parameters_tell_equal_literals_from_others() {
    let mut statements = Statements::new(false);
    let mut parameters = |text: &str| statements.sql(text.as_bytes()).parameters;
    assert_eq!(parameters("select 1, 'a'"), parameters("select 1 , 'a'"));
    assert_ne!(parameters("select 1, 23"), parameters("select 12, 3"));
    assert_ne!(parameters("select * from t where id in (1, 2)"), parameters("select * from t where id in (1, 3)"));
}

#[test]
fn without_literals_the_parameters_are_zero() {
    assert_eq!(Statements::new(false).sql(b"select a from t where b = ?").parameters, 0);
}

#[test]
fn the_hash_of_parameters_is_the_same_in_every_run() {
    assert_eq!(Statements::new(false).sql(b"select 1").parameters, 0x07f9_c207_b4bc_0d34);
}

#[test]
fn bind_values_are_mixed_into_the_parameters() {
    let sql = Statements::new(false).sql(b"select a from t where b = ?");
    let one = Statements::with_parameters(sql, b"1");
    assert_ne!(one.parameters, sql.parameters);
    assert_eq!(one, Statements::with_parameters(sql, b"1"));
    assert_ne!(one, Statements::with_parameters(sql, b"2"));
}

#[test]
fn tags_are_kept_once_and_change_no_fingerprint() {
    let mut statements = Statements::new(false);
    let plain = statements.sql(b"select a from t where b = 1");
    let mut tagged = |number: u32| {
        statements.sql(format!("select a from t where b = {number} /*route='/a',traceparent='{number}'*/").as_bytes())
    };
    let (one, two) = (tagged(1), tagged(2));
    assert_eq!((plain.tags, one.tags, two.tags), (NO_TAGS, 0, 0));
    assert_eq!((plain.fingerprint, plain.parameters), (one.fingerprint, one.parameters));
    assert_eq!(statements.tags().collect::<Vec<_>>(), ["route='/a'"]);
}

#[test]
fn an_unknown_number_has_no_text() {
    assert_eq!(Statements::new(false).text(7), "");
    assert!(Statements::new(false).is_empty());
}

#[test]
fn a_text_is_kept_while_there_is_room_for_it() {
    let mut texts = Texts::default();
    assert_eq!(texts.number("four", OVERHEAD, SMALL), Some(0));
    assert_eq!(texts.number("too long", OVERHEAD, SMALL), None);
    assert_eq!(texts.number("five", OVERHEAD, SMALL), Some(1));
    assert_eq!(texts.number("x", OVERHEAD, SMALL), None);
    assert_eq!(texts.number("four", OVERHEAD, SMALL), Some(0));
}

#[test]
fn texts_without_room_share_one() {
    let mut texts = Texts::default();
    assert_eq!(texts.number_of_others(), texts.number_of_others());
    assert_eq!(&*texts.list[0], "(too many distinct statements)");
}

#[test]
fn statements_without_room_are_counted() {
    let mut statements = Statements::new(false);
    statements.texts.bytes = statements.most;
    let first = statements.sql(b"select a");
    let second = statements.sql(b"select b");
    assert_eq!(first.fingerprint, second.fingerprint);
    assert_eq!(statements.overflowed(), 2);
}

#[test]
fn texts_with_literals_leave_room_for_fingerprints() {
    let mut statements = Statements::new(true);
    statements.texts.bytes = statements.most / 4 * 3;
    let sql = statements.sql(b"select 1");
    assert_eq!(statements.text(sql.text), "select ?");
    assert_eq!(statements.overflowed(), 1);
}
