use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::protocols::{mysql, postgresql};

#[derive(Default)]
struct Session(HashMap<Vec<u8>, Option<Sql>>);

impl Names for Session {
    fn give(&mut self, name: &[u8], sql: Option<Sql>) {
        self.0.insert(name.to_vec(), sql);
    }
    fn get(&self, name: &[u8]) -> Option<Sql> {
        *self.0.get(name)?
    }
    fn remove(&mut self, name: &[u8]) -> Option<Sql> {
        self.0.remove(name)?
    }
    fn clear(&mut self) {
        self.0.clear();
    }
}

/// What each text of a session is for, and the statement that is shown for it.
fn session(dialect: Dialect, texts: &[&str]) -> Vec<(&'static str, String)> {
    let (mut statements, mut names) = (Statements::new(false), Session::default());
    let mut used = |text: &&str| {
        let sql = Some(statements.sql_in(dialect, text.as_bytes()));
        let (what, sql) = match statements.named(dialect, text.as_bytes(), sql, &mut names) {
            Use::Prepares(sql) => ("prepares", sql),
            Use::Runs(sql) => ("runs", sql),
            Use::Closes(sql) => ("closes", sql),
        };
        (what, sql.map_or(String::new(), |sql| statements.text(sql.fingerprint).to_owned()))
    };
    texts.iter().map(&mut used).collect()
}

fn shown<'a>(used: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    used.iter().map(|(what, text)| (*what, text.as_str())).collect()
}

#[test]
fn a_name_stands_for_the_text_that_was_prepared_under_it() {
    let used = session(
        postgresql::DIALECT,
        &["PREPARE P1 (int) AS select a from t where b = $1", "execute p1(7)", "DEALLOCATE p1", "execute p1(7)"],
    );
    let text = "select a from t where b = ?";
    let expected = [("prepares", text), ("runs", text), ("closes", text), ("runs", "execute p1(?)")];
    assert_eq!(shown(&used), expected);
}

#[test]
fn a_name_that_is_given_anew_stands_for_the_new_text() {
    let used = session(
        mysql::DIALECT,
        &[
            "PREPARE `S` FROM 'select a from t where b = ? and c = ''x'''",
            "EXECUTE s USING @b",
            "prepare s from \"update t set a = 'it''s\\\"'\"",
            "execute S",
            "PREPARE s FROM @text",
            "execute s",
        ],
    );
    let (read, write) = ("select a from t where b = ? and c = ?", "update t set a = ?");
    let expected = [("prepares", read), ("runs", read), ("prepares", write), ("runs", write)];
    assert_eq!(shown(&used)[..4], expected);
    assert_eq!(shown(&used)[5], ("runs", "execute s"));
}

#[test]
fn values_of_an_execution_are_its_parameters_where_they_are_seen() {
    let (mut statements, mut names) = (Statements::new(false), Session::default());
    let mut parameters = |dialect, text: &str| {
        let sql = Some(statements.sql_in(dialect, text.as_bytes()));
        match statements.named(dialect, text.as_bytes(), sql, &mut names) {
            Use::Prepares(sql) | Use::Runs(sql) | Use::Closes(sql) => sql.map(|sql| sql.parameters),
        }
    };
    parameters(postgresql::DIALECT, "prepare p as select a from t where b = $1 and c = 5");
    let one = parameters(postgresql::DIALECT, "execute p(1)");
    assert_eq!(one, parameters(postgresql::DIALECT, "EXECUTE p (1)"));
    assert_ne!(one, parameters(postgresql::DIALECT, "execute p(2)"));
    assert_eq!(parameters(mysql::DIALECT, "execute p using @a"), Some(0), "a variable may hold anything");
}

#[test]
fn a_statement_that_is_closed_between_savepoints_is_closed() {
    let used = session(
        postgresql::DIALECT,
        &[
            "prepare \"Plan\" as select a from t",
            "savepoint _s_1; deallocate \"Plan\"; release _s_1",
            "prepare p as select b from t; execute p",
            "execute p",
            "discard all",
            "execute p",
        ],
    );
    assert_eq!(used[1], ("closes", "select a from t".to_owned()));
    assert_eq!(used[2], ("runs", "prepare p as select b from t; execute p".to_owned()), "two things at once");
    assert_eq!(used[3], ("runs", "select b from t".to_owned()));
    assert_eq!(used[5], ("runs", "execute p".to_owned()));
    assert_eq!(session(postgresql::DIALECT, &["deallocate p"]), [("closes", String::new())], "which, is unknown");
}

const PARTS: &[&str] = &[
    "prepare ",
    "execute ",
    "deallocate ",
    "drop ",
    "discard ",
    "all",
    "as ",
    "from ",
    "using ",
    "p",
    "`p`",
    "\"p\"",
    "'select 1'",
    "'it\\'",
    "'",
    "\"",
    "`",
    "\\",
    "@a",
    "(",
    ")",
    ";",
    "; ",
    "select $1",
    "savepoint s",
    "/*",
    "*/",
    "é",
];

proptest! {
    #[test]
    fn any_texts_of_a_session_can_be_read(
        texts in prop::collection::vec(prop::collection::vec(prop::sample::select(PARTS), 0..12), 1..5),
        dialect in prop::sample::select(&[mysql::DIALECT, postgresql::DIALECT, Dialect::UNKNOWN][..]),
    ) {
        let texts: Vec<String> = texts.iter().map(|parts| parts.concat()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        prop_assert_eq!(session(dialect, &texts).len(), texts.len());
    }
}

#[test]
fn what_only_looks_like_it_names_nothing() {
    for text in
        ["prepare transaction 'x'", "execute procedure p(1)", "execute immediate 'select 1'", "drop table t", "prepare"]
    {
        assert_eq!(session(mysql::DIALECT, &[text])[0].0, "runs", "{text}");
    }
}
