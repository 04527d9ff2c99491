//! What holds for every text: made of parts that lexers stumble over, or of any bytes at all.

use proptest::prelude::*;

use super::fingerprint::Fingerprinter;
use super::lexer::STEPS;
use super::{Dialect, DoubleQuotes, Statements};
use crate::protocols::{REGISTRY, mysql, oracle, postgresql, sqlserver};

/// Those of all protocols, that of none, and T-SQL's with its option on and off.
pub fn any_dialect() -> impl Strategy<Value = Dialect> {
    prop::sample::select(dialects(|_| true))
}

fn dialects(which: HasIt) -> Vec<Dialect> {
    let known = REGISTRY.iter().map(|protocol| protocol.dialect);
    let transact = |double_quotes| Dialect { double_quotes, ..sqlserver::DIALECT };
    let others = [Dialect::UNKNOWN, transact(DoubleQuotes::Name), transact(DoubleQuotes::Literal)];
    known.chain(others).filter(|dialect| which(*dialect)).collect()
}

const PARTS: &[&str] = &[
    "select ",
    "SELECT",
    " from t",
    " in ",
    "in (",
    "values ",
    "values (",
    "row",
    "array[",
    "null",
    "like ",
    "set ",
    "(",
    ")",
    "[",
    "]",
    ",",
    ";",
    " ",
    "\n",
    "1",
    "-5",
    "+",
    "-",
    "--",
    "-- ",
    "#",
    "#>",
    "#- ",
    "*",
    "/",
    "/*",
    "*/",
    "/*+",
    "/*!40101",
    "/*M!",
    "'",
    "''",
    "'a'",
    "\\",
    "\\'",
    "\"",
    "\"a\"",
    "\"a b\"",
    "`",
    "`a`",
    "$",
    "$$",
    "$a$",
    "$1",
    ":",
    "::",
    ":=",
    ":a",
    "?",
    "?|",
    "%",
    "%s",
    "@",
    "@@",
    "@a",
    "=",
    "<",
    ">",
    "<=>",
    "||",
    "|",
    "~",
    "!",
    ".",
    "..",
    ".5",
    "1e",
    "1e-5",
    "0x",
    "a",
    "A1",
    "é",
    "…",
    "q'[",
    "]'",
    "e'",
    "_utf8'",
    "u&'",
    "n'",
    "identified by ",
    "password",
    "set password",
    "token ",
    "create ",
    "options (",
    " default ",
    "between ",
    " and ",
    " where ",
    "case ",
    " end",
    " replace ",
    "savepoint ",
    "fetch ",
    "declare ",
    " cursor for ",
    "close ",
    "deallocate ",
    "sp_1",
    "tmp_12345678",
    "with ",
    "exec ",
    "exec dbo.p ",
    "print ",
    "raiserror(",
    "set quoted_identifier on ",
    "set quoted_identifier off ",
    "output ",
    " as ",
    " join ",
    "update ",
    "grant ",
    " to ",
    "$5",
    "£7",
    "$action",
    "\\\n",
    "call ",
    "\"t\".",
    "\u{200b}",
    "\u{0}",
    "\u{202e}",
    "\u{9b}",
    "x'ff'",
    "{",
    "}",
    "^",
    "&",
];

/// What is long only where it stands more than once.
const LONG_PARTS: &[&str] = &[
    "a\u{200b}",
    "\u{e9}\u{3000}",
    "'a'b\u{200b}",
    "f\u{a0}(",
    "a /* b */ ",
    "a -- b\n(",
    "/*+ x */",
    "/*+;",
    "/*+ /* x */",
    "exec p x;",
    "declare;",
    "begin;",
    "x: ",
    "0x1\\\n",
    "pass   ",
];

fn any_statement() -> impl Strategy<Value = Vec<u8>> {
    let of_parts = prop::collection::vec(prop::sample::select(PARTS), 0..40);
    prop_oneof![
        9 => of_parts.prop_map(|parts| parts.concat().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..200),
    ]
}

fn fingerprint(dialect: Dialect, text: &[u8]) -> String {
    let mut reader = Fingerprinter::default();
    reader.read(dialect, text);
    reader.fingerprint
}

type HasIt = fn(Dialect) -> bool;

/// Ways to write a string, each with what tells the dialects that have it.
const STRINGS: &[(&str, HasIt)] = &[
    ("'{}'", |_| true),
    ("'it''s {}'", |_| true),
    ("'{}; -- '", |_| true),
    ("'/* {}'", |_| true),
    ("'it\\'s {}'", |dialect| dialect.escapes_with_backslash),
    ("'{}\\\\'", |_| true),
    ("'C:\\{}\\'", |dialect| dialect != mysql::DIALECT),
    ("E'it\\'s {}'", is_postgresql),
    ("U&'\\0441{}'", is_postgresql),
    ("$${}'$$", is_postgresql),
    ("$tag$ $$ {} $tag$", is_postgresql),
    ("q'[it's {}]'", is_oracle),
    ("nq'!it's {}!'", is_oracle),
    ("N'{}'", |_| true),
    ("_utf8mb4'{}'", |_| true),
    ("\"{}\"", |dialect| dialect == mysql::DIALECT),
    ("\"it's \\\"{}\\\"\"", |dialect| dialect == mysql::DIALECT),
];

fn is_postgresql(dialect: Dialect) -> bool {
    [Dialect::UNKNOWN, postgresql::DIALECT].contains(&dialect)
}

fn is_oracle(dialect: Dialect) -> bool {
    [Dialect::UNKNOWN, oracle::DIALECT].contains(&dialect)
}

/// Statements with a place for a string.
const STATEMENTS: &[&str] = &[
    "select {} from t",
    "select a from t where b = {} and c = 'd'",
    "select a from t where b={}and c in ({}, {})",
    "insert into t (a, b) values ({}, 1), (2, {})",
    "update t set a = {}, b = f(1, {}) where c like {}",
    "create user bob identified by {}",
    "call p(-1, {}) /* {} */ -- {}",
    "select /*+ hint({}) */ array[{}, 'x'], {}",
];

/// `PROPTEST_CASES=100000` asks for more.
fn many_cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases * 8, failure_persistence: None, ..usual }
}

const MAX_STEPS_PER_BYTE: usize = 40;
const LONG_BYTES: usize = 16 << 10;

/// The bytes that lexers look at for so many repetitions of these parts.
fn steps_per_byte(dialect: Dialect, part: &str) -> usize {
    let text = part.repeat(LONG_BYTES / part.len());
    STEPS.set(0);
    fingerprint(dialect, text.as_bytes());
    STEPS.get() / LONG_BYTES
}

#[test]
fn each_byte_of_a_statement_is_looked_at_a_few_times() {
    for part in PARTS.iter().chain(LONG_PARTS) {
        for dialect in [Dialect::UNKNOWN, sqlserver::DIALECT] {
            let steps = steps_per_byte(dialect, part);
            assert!(steps <= MAX_STEPS_PER_BYTE, "{part:?}: {steps}");
        }
    }
}

proptest! {
    #[test]
    fn each_byte_of_repeated_parts_is_looked_at_a_few_times(
        parts in prop::collection::vec(prop::sample::select(PARTS), 1..5), dialect in any_dialect(),
    ) {
        let steps = steps_per_byte(dialect, &parts.concat());
        prop_assert!(steps <= MAX_STEPS_PER_BYTE, "{:?}: {}", parts, steps);
    }
}

proptest! {
    #![proptest_config(many_cases())]

    #[test]
    fn the_fingerprint_of_a_fingerprint_is_itself(text in any_statement(), dialect in any_dialect()) {
        let once = fingerprint(dialect, &text);
        prop_assert_eq!(fingerprint(dialect, once.as_bytes()), once, "of {}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn any_text_can_be_read_and_shown(text in any_statement()) {
        let mut statements = Statements::new(true);
        let sql = statements.sql(&text);
        let shown = statements.text(sql.text);
        prop_assert!(!shown.chars().any(char::is_control));
        prop_assert!(!statements.text(sql.fingerprint).chars().any(char::is_control));
    }

    #[test]
    fn any_message_can_be_shown(text in any_statement(), shows in any::<bool>()) {
        let mut statements = Statements::new(shows);
        let sql = statements.sql(&text);
        let message = Statements::message(&String::from_utf8_lossy(&text));
        prop_assert!(!statements.error(Some(sql), "1064", &message).chars().any(char::is_control));
    }

    #[test]
    fn no_message_shows_what_neither_servers_nor_the_fingerprint_say(
        secret in "[a-z]{2}zq[a-z0-9]{3}", before in "[a-z '\"`(=-]{0,20}", after in "[a-z '\"`)=-]{0,20}",
    ) {
        let mut statements = Statements::new(false);
        let sql = statements.sql(format!("select a from b where c = '{secret}'").as_bytes());
        let shown = statements.error(Some(sql), "1064", &format!("{before} {secret}{after}"));
        prop_assert!(!shown.contains(&secret), "{}", shown);
    }

    #[test]
    fn literals_never_survive(
        secret in "[a-z]{4}zq[a-z0-9]{6}",
        statement in prop::sample::select(STATEMENTS),
        (string, has_it) in prop::sample::select(STRINGS),
        which in any::<prop::sample::Index>(),
    ) {
        let dialect = *which.get(&dialects(has_it));
        let statement = statement.replace("{}", &string.replace("{}", &secret));
        let shown = fingerprint(dialect, statement.as_bytes());
        prop_assert!(!shown.contains(&secret), "{} -> {}", statement, shown);
    }

    #[test]
    fn numbers_never_survive(number in 100_000_000u64.., statement in prop::sample::select(STATEMENTS)) {
        let statement = statement.replace("{}", &number.to_string());
        let shown = fingerprint(Dialect::UNKNOWN, statement.as_bytes());
        prop_assert!(!shown.contains(&number.to_string()), "{} -> {}", statement, shown);
    }

    #[test]
    fn a_cut_statement_shows_no_more_than_the_whole(
        secret in "[a-z]{4}zq[a-z0-9]{6}",
        statement in prop::sample::select(STATEMENTS),
        at in any::<prop::sample::Index>(),
    ) {
        let statement = statement.replace("{}", &format!("'it''s {secret}'"));
        let cut = &statement[..at.index(statement.len())];
        prop_assert!(!fingerprint(Dialect::UNKNOWN, cut.as_bytes()).contains(&secret));
    }
}
