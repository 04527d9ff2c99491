use proptest::prelude::*;

use crate::protocols::{mysql, postgresql};
use crate::sql::Statements;

/// What is said of a text: its fingerprint, parameters and tags.
fn said(statements: &mut Statements, text: &str) -> (String, u64, Option<String>) {
    let sql = statements.sql_in(mysql::DIALECT, text.as_bytes());
    let tags = statements.tags().nth(sql.tags as usize).map(str::to_owned);
    (statements.text(sql.fingerprint).to_owned(), sql.parameters, tags)
}

/// What reading the text anew says.
fn anew(text: &str) -> (String, u64, Option<String>) {
    said(&mut Statements::new(false), text)
}

/// Whether the error that answers `text` is hidden, as the text holds a secret that it may repeat.
fn hides_its_error(statements: &mut Statements, text: &str) -> bool {
    let sql = statements.sql_in(mysql::DIALECT, text.as_bytes());
    statements.error(Some(sql), "1064", "near hush") == "1064: ?"
}

/// What is said after `first` has been read.
fn after(first: &str, text: &str) -> (String, u64, Option<String>) {
    let mut statements = Statements::new(false);
    said(&mut statements, first);
    said(&mut statements, text)
}

#[test]
fn other_numbers_give_the_same_fingerprint_and_their_own_parameters() {
    let (first, second) = ("select a from t where b = 10 limit 5", "select a from t where b = 7777 limit 5");
    assert_eq!(after(first, second), anew(second));
    assert_ne!(anew(first).1, anew(second).1);
}

#[test]
fn a_text_that_only_begins_alike_is_read_anew() {
    let first = "select a from t where b = 10";
    for text in
        ["select a from t where b = 10 or c = 'x'", "select a from t where b = 1e5", "select a from t where b = "]
    {
        assert_eq!(after(first, text), anew(text), "{text}");
    }
}

#[test]
fn numbers_inside_names_strings_and_comments_are_no_literals_to_replace() {
    for (first, second) in [
        ("select 'a 1 b', 2", "select 'a 9 b', 3"),
        ("select t1.c from t1 where d = 1", "select t2.c from t2 where d = 2"),
        ("/*!40101 set */ select 1", "/*!40102 set */ select 2"),
        ("select 1 -- 5\n+ 2", "select 3 -- 6\n+ 4"),
        ("select `a 1` from t where b = 1", "select `a 2` from t where b = 2"),
        ("select /*+ degree( 4 ) */ 1", "select /*+ degree( 8 ) */ 2"),
    ] {
        assert_eq!(after(first, second), anew(second), "{second}");
    }
}

#[test]
fn the_dialect_belongs_to_the_template() {
    let mut statements = Statements::new(false);
    let one = statements.sql_in(mysql::DIALECT, b"select \"a\" = 1");
    let other = statements.sql_in(postgresql::DIALECT, b"select \"a\" = 2");
    assert_ne!(statements.text(one.fingerprint), statements.text(other.fingerprint));
}

#[test]
fn other_strings_give_the_same_fingerprint_and_their_own_parameters() {
    let (first, second) = ("select a from t where b = 'x' and c = 1", "select a from t where b = 'Jo O. Y' and c = 2");
    assert_eq!(after(first, second), anew(second));
    assert_ne!(anew(first).1, anew(second).1);
}

#[test]
fn a_string_that_is_or_names_a_secret_is_read_anew() {
    let (first, secret) = ("select f('a', 'b')", "select f('ann_password', 'hush')");
    assert_eq!(after(first, secret), anew(secret));
    for connection in ["select f('host=db password=x', 'b')", "select f('ann:x@db', 'b')"] {
        let mut statements = Statements::new(false);
        statements.sql_in(mysql::DIALECT, first.as_bytes());
        let sql = statements.sql_in(mysql::DIALECT, connection.as_bytes());
        assert_eq!(statements.error(Some(sql), "1064", "near hush"), "1064: ?");
    }
}

#[test]
fn many_statements_of_a_loop_are_known_again() {
    let mut statements = Statements::new(false);
    let text = |number: usize, value: usize| format!("select c{number} from t where b = {value} and d = 'x{value}'");
    let mut read = |value| -> Vec<u32> {
        (0..50).map(|number| statements.sql_in(mysql::DIALECT, text(number, value).as_bytes()).fingerprint).collect()
    };
    let first = read(1);
    assert_eq!(read(2), first);
    assert_eq!(statements.templates.kept.iter().filter(|template| template.dialect.is_some()).count(), 50);
}

#[test]
fn tags_in_a_comment_belong_to_the_text() {
    let mut statements = Statements::new(false);
    let mut tags = |text: &str| statements.sql_in(mysql::DIALECT, text.as_bytes()).tags;
    let one = tags("select 1 /*route='/a'*/");
    assert_eq!(tags("select 2 /*route='/a'*/"), one);
    assert_ne!(tags("select 2 /*route='/b'*/"), one);
    assert_ne!(tags("/*x*/ select '/*', 3 /*controller='5'*/"), tags("/*x*/ select '/*', 3 /*controller='6'*/"));
}

/// Values of literals: harmless ones, and ones that are not.
const VALUES: &[&str] = &[
    "1",
    "42",
    "007",
    "1e5",
    "-3",
    "0x1f",
    "'a'",
    "''",
    "'it''s'",
    "'a\\'",
    "'2024-01-01 10:00'",
    "'my_token'",
    "'pwd=x'",
    "'a@b'",
    "'a/b@c'",
    "'é'",
    "'",
    "\"a\"",
    "null",
    "x'1f'",
    "'--'",
    "'/*'",
    "'*/'",
    "'x' 'y'",
    "?",
];
const PARTS: &[&str] = &[
    "select ",
    "a",
    " = ",
    "=",
    ", ",
    "(",
    ") ",
    " in (",
    "f(",
    " and b = ",
    " where c < ",
    "; ",
    "/* x */ ",
    " -- y\n",
    "limit ",
    "values (",
    "), (",
    "set ",
    "password ",
    "identified by ",
    "interval ",
    "savepoint ",
    "/*route='/a'*/",
    "/*+ h(",
    ") */",
    "array[",
    "]",
    ".",
    "::text ",
    "e",
    "t1 ",
    "\"",
    "`b` ",
];

proptest! {
    #[test]
    fn any_values_in_a_known_text_say_what_reading_anew_says(
        parts in prop::collection::vec((prop::sample::select(PARTS), any::<bool>()), 1..12),
        first in prop::collection::vec(prop::sample::select(VALUES), 12),
        second in prop::collection::vec(prop::sample::select(VALUES), 12),
    ) {
        let filled = |values: &[&str]| -> String {
            let value = |(place, &(part, filled)): (usize, &(&str, bool))| {
                if filled { format!("{part}{}", values[place]) } else { (*part).to_owned() }
            };
            parts.iter().enumerate().map(value).collect()
        };
        let (first, second) = (filled(&first), filled(&second));
        prop_assert_eq!(after(&first, &second), anew(&second), "{} {}", first, second);
        if hides_its_error(&mut Statements::new(false), &second) {
            let mut statements = Statements::new(false);
            said(&mut statements, &first);
            prop_assert!(hides_its_error(&mut statements, &second), "{} {}", first, second);
        }
    }

    #[test]
    fn a_template_says_what_reading_anew_says(
        first in "[a-z0-9 '`=(),.\"*/!-]{0,40}", changes in prop::collection::vec((0usize..40, "[0-9]{1,3}"), 0..4),
    ) {
        let mut second = first.clone();
        for (place, digits) in changes {
            if second.as_bytes().get(place).is_some_and(u8::is_ascii_digit) {
                second.replace_range(place..=place, &digits);
            }
        }
        prop_assert_eq!(after(&first, &second), anew(&second));
    }
}
