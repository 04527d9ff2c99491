//! Statements and their fingerprints.

use super::fingerprint::Fingerprinter;
use super::lexer::Dialect;
use crate::protocols::{mysql, postgresql};

fn fingerprint_in(dialect: Dialect, statement: impl AsRef<[u8]>) -> String {
    let mut reader = Fingerprinter::default();
    reader.read(dialect, statement.as_ref());
    reader.fingerprint
}

fn fingerprint(statement: impl AsRef<[u8]>) -> String {
    fingerprint_in(Dialect::UNKNOWN, statement)
}

fn check(cases: &[(&str, &str)]) {
    for (statement, expected) in cases {
        assert_eq!(fingerprint(statement), *expected, "of {statement}");
        assert_eq!(fingerprint(expected), *expected, "of the fingerprint of {statement}");
    }
}

#[test]
fn strings_become_question_marks() {
    check(&[
        ("select 'a'", "select ?"),
        ("select 'it''s'", "select ?"),
        ("select 'it\\'s', b", "select ?, b"),
        ("select 'a' 'b'", "select ?"),
        ("select E'it\\'s', e'\\\\', b", "select ?, ?, b"),
        (
            "select N'a', X'ff', b'01', _utf8mb4'a', U&'\\0441', u&'d!0061' uescape '!'",
            "select ?, ?, ?, ?, ?, ? uescape ?",
        ),
        ("select q'[it's]', Q'{a}b}', nq'!a'b!', q'xaxx', c from dual", "select ?, ?, ?, ?, c from dual"),
        ("select q'éit'sé' from dual", "select ? from dual"),
        ("select $$a'b$$, $tag$ $$ $tag$, c", "select ?, ?, c"),
        ("select date'2020-01-01', timestamp '2020-01-01 10:00'", "select date ?, timestamp ?"),
        ("select * from t where a='x'and b=''", "select * from t where a = ? and b = ?"),
        ("select 'a'::text, 'b'||c", "select ?::text, ? || c"),
    ]);
}

#[test]
fn quotes_of_word_processors_hold_strings() {
    check(&[
        ("select a from t where b = \u{2018}Bob Smith\u{2019}", "select a from t where b = ?"),
        ("select \u{201e}x\u{201c}, \u{ab}x\u{bb}, \u{ff07}x\u{ff07}, b", "select ?, ?, ?, b"),
        ("select b, \u{2018}x and c", "select b, ?"),
    ]);
}

#[test]
fn numbers_become_question_marks_but_not_inside_of_names() {
    check(&[
        ("select 1, 1.5, .5, 1e10, 1.5E-3, 0x1F, 10L, 1_000", "select ?, ?, ?, ?, ?, ?, ?, ?"),
        ("select t1.col_2, a$3, b#4 from t1", "select t1.col_2, a$3, b#4 from t1"),
        ("select a-5, a - 5, a+-5, -5, - 5, (-5), a*-5", "select a-?, a - ?, a+?, ?, - ?, (?), a*?"),
        ("select where a=-5 and b between -1 and +2", "select where a = ? and b between ? and ?"),
        ("select limit 10 offset 20;", "select limit ? offset ?"),
        ("for i in 1..10 loop", "for i in ?..? loop"),
        ("select 192.168.0.1", "select ?"),
    ]);
}

#[test]
fn null_and_truth_values_stay() {
    check(&[("select NULL, TRUE, False", "select null, true, false")]);
}

#[test]
fn all_placeholders_look_the_same() {
    check(&[
        (
            "select where a = ? and b = $1 and c = :name and d = :1 and e = %s and f = ?2",
            "select where a = ? and b = ? and c = ? and d = ? and e = ? and f = ?",
        ),
        ("select where a % s = 1 and a %s", "select where a % s = ? and a %s"),
        ("select a::text, @x := 1, :\"b\"", "select a::text, @x := ?, ?"),
    ]);
}

#[test]
fn words_are_in_lower_case_and_quoted_names_are_not() {
    check(&[
        ("SELECT A FROM T", "select a from t"),
        ("SELECT `A b`, `c``D` FROM `T`", "select `A b`, `c``D` from `T`"),
        ("select \"User\".\"id\" from \"User\"", "select \"User\".\"id\" from \"User\""),
        ("select é, Ünïcode", "select é, Ünïcode"),
    ]);
}

#[test]
fn comments_and_blanks_become_one_blank() {
    check(&[
        ("select/* a */1 -- b\n ,\t2 # c", "select ?, ?"),
        ("select /* a /* nested */ b */ 1", "select ?"),
        ("/* route: /api/* */ select 1", "select ?"),
        ("select a--b", "select a"),
        ("/* only a comment */", ""),
        ("  select  ( a , b )  from t ; ; ", "select (a, b) from t"),
        ("; begin; select 1;; commit;", "begin; select ?; commit"),
        ("select count(*), count (*) from t where a=b", "select count(*), count (*) from t where a = b"),
    ]);
}

#[test]
fn a_blank_that_is_none_in_ascii_is_one() {
    check(&[
        ("\u{feff}select\u{a0}a,\u{a0}b\u{2003}from\u{3000}t", "select a, b from t"),
        ("select 'a'\u{a0}as b", "select ? as b"),
        ("select größe from t", "select größe from t"),
    ]);
}

#[test]
fn the_end_of_a_hint_is_hidden_with_its_beginning() {
    check(&[("''/*+; */", "?; ?"), ("''/*+; /*+ a */ */", "?; /*+ a */ ?")]);
}

#[test]
fn hints_and_version_comments_stay_without_their_literals() {
    check(&[
        ("select /*+ MAX_EXECUTION_TIME(1000) */ a", "select /*+ max_execution_time(?) */ a"),
        ("/*!40101 SET NAMES 'utf8' */", "/*!40101 set names ? */"),
        ("/*M!100100 select 5*/", "/*M!100100 select ? */"),
        ("select /*+FULL(t)*/*/2", "select /*+ full(t) */ */?"),
    ]);
}

#[test]
fn operators_of_all_dialects_survive() {
    check(&[
        ("select a->'x', b->>'y', c#>'{a}', d #>> '{b}', e #- '{c}'", "select a->?, b->>?, c#>?, d #>> ?, e #- ?"),
        (
            "select a @> '{}' and b <@ '{}' and c <-> '[1]' and d <#> '[2]'",
            "select a @> ? and b <@ ? and c <-> ? and d <#> ?",
        ),
        ("select tags ? 'a' or tags ?| array['a', 'b']", "select tags ? or tags ?| array[?+]"),
        ("select @a, @@session.x, emp@remote, f(a => 1)", "select @a, @@session.x, emp@remote, f(a => ?)"),
        ("select a !~* 'x' and b <=> 1 and c<>2 and d!=3", "select a !~* ? and b <=> ? and c <> ? and d != ?"),
        ("{call f(?, 'a')}", "{call f(?, ?)}"),
    ]);
}

#[test]
fn in_lists_are_folded() {
    check(&[
        ("select where a in (1)", "select where a in (?+)"),
        ("select where a IN(1,2,3)", "select where a in (?+)"),
        ("select where a not in (?, $1, 'a', null, -5)", "select where a not in (?+)"),
        ("select where a in ('x'::uuid, 'y'::uuid)", "select where a in (?+)"),
        ("select where (a, b) in ((1, 2), (3, 4))", "select where (a, b) in ((?, ?)+)"),
        (
            "select where a in (select b from c where d in (1, 2))",
            "select where a in (select b from c where d in (?+))",
        ),
        ("select where a in (1, b)", "select where a in (?, b)"),
        ("select where a in ()", "select where a in ()"),
        ("select coalesce(1, 2)", "select coalesce(?, ?)"),
        ("select array[1,2], ARRAY[[1,2],[3,4]], a[1]", "select array[?+], array[[?, ?]+], a[?]"),
        (
            "select where a = any(array[1,2]) and b in (3) or c in (((1)))",
            "select where a = any (array[?+]) and b in (?+) or c in (((?)))",
        ),
    ]);
}

#[test]
fn the_first_row_of_values_stands_for_all() {
    check(&[
        ("insert into t(a, b) values(1, 'x')", "insert into t(a, b) values (?, ?)"),
        ("insert into t values (1, now()), (2, now()),(3, null)", "insert into t values (?, now())+"),
        (
            "insert into t values (1), (2) on duplicate key update a = values(a), b = 1",
            "insert into t values (?)+ on duplicate key update a = values (a), b = ?",
        ),
        ("select * from (values (1, 'a'), (2, 'b')) as v(x, y), w", "select * from (values (?, ?)+) as v(x, y), w"),
        ("values row(1, 2), row(3, 4)", "values row(?, ?)+"),
        ("insert into t values (1), (2) returning (a), (b)", "insert into t values (?)+ returning (a), (b)"),
        ("select * from (values (1)) v, (values (2)) w", "select * from (values (?)) v, (values (?)) w"),
        (
            "insert into t values (1, (select a from b where c in (1, 2))), (2, 3)",
            "insert into t values (?, (select a from b where c in (?+)))+",
        ),
    ]);
}

#[test]
fn double_quotes_hold_strings_where_values_stand() {
    check(&[
        ("select \"id\" from \"t\" where \"id\" = \"smith\"", "select \"id\" from \"t\" where \"id\" = ?"),
        ("select where \"t\".\"id\" = \"u\".\"id\"", "select where \"t\".\"id\" = \"u\".\"id\""),
        ("select where a in (\"x\", \"y\") or b like \"z\"", "select where a in (?+) or b like ?"),
        (
            "insert into t (\"a\", \"b\") values (\"x\", \"y\"), (\"z\", \"z\")",
            "insert into t (\"a\", \"b\") values (?, ?)+",
        ),
        ("select f(\"$.path\", \"a@b.c\", \"2020-01-01\")", "select f(?, ?, ?)"),
        ("select `a`, \"smith\"", "select `a`, ?"),
    ]);
}

#[test]
fn the_dialect_settles_what_double_quotes_hold() {
    let statement = "select concat(\"smith\", \"t\".\"a\") from t where a = \"b\"";
    assert_eq!(fingerprint_in(mysql::DIALECT, statement), "select concat(?, \"t\".\"a\") from t where a = ?");
    assert_eq!(
        fingerprint_in(postgresql::DIALECT, statement),
        "select concat(\"smith\", \"t\".\"a\") from t where a = \"b\""
    );
}

#[test]
fn the_dialect_settles_what_opens_a_comment() {
    assert_eq!(fingerprint_in(mysql::DIALECT, "select 5--5 from t"), "select ?-? from t");
    assert_eq!(fingerprint_in(postgresql::DIALECT, "select 5--5 from t"), "select ?");
    assert_eq!(fingerprint_in(postgresql::DIALECT, "select a # b"), "select a # b");
    assert_eq!(fingerprint_in(mysql::DIALECT, "select a #> b"), "select a");
}

#[test]
fn a_backslash_before_a_quote_is_read_so_that_the_statement_makes_sense() {
    check(&[
        ("insert into t values ('C:\\', 'secret')", "insert into t values (?, ?)"),
        ("select 'say \\'hi\\', bob', c", "select ?, c"),
        ("select where a like '%\\' and b like '%\\'", "select where a like ? and b like ?"),
    ]);
    let text = "select 'C:\\', 'it\\'s secret', 'a";
    assert_eq!(fingerprint(text), "select ?");
    assert_eq!(fingerprint_in(postgresql::DIALECT, "select 'C:\\', 'secret'"), "select ?, ?");
    assert_eq!(fingerprint_in(postgresql::DIALECT, "select 'it\\'s', 'secret'"), "select ?, ?");
}

#[test]
fn what_nothing_closes_is_a_literal_to_the_end() {
    check(&[
        ("select a, 'secret and more", "select a, ?"),
        ("select a, \"secret and more", "select a, ?"),
        ("select a, `secret and more", "select a, ?"),
        ("select a /* secret and more", "select a ?"),
        ("select a, $tag$ secret $tag", "select a, ?"),
        ("select a, q'[secret]", "select a, ?"),
    ]);
}

#[test]
fn a_text_that_was_cut_says_so_wherever_that_was() {
    check(&[
        ("select a from t where b = 'secret…", "select a from t where b = ? …"),
        ("select a from t where `t`.`b…", "select a from t where `t`.? …"),
        ("select a from t wher…", "select a from t wher…"),
        ("select '…'", "select ?"),
    ]);
}

#[test]
fn what_is_too_long_for_a_name_is_a_literal() {
    let long = "x".repeat(300);
    assert_eq!(fingerprint(format!("select {long}, `{long}`, \"{long}\"")), "select ?, ?, ?");
}

#[test]
fn a_long_fingerprint_is_cut_between_two_tokens() {
    let columns: Vec<String> = (0..1000).map(|number| format!("column_{number}")).collect();
    let statement = format!("select {} from t", columns.join(", "));
    let cut = fingerprint(&statement);
    assert!(cut.len() <= 4096 && cut.len() > 4070);
    assert!(cut.ends_with(", …"));
    assert_eq!(fingerprint(&cut), cut);
}

#[test]
fn a_long_list_leaves_room_for_what_follows() {
    let list = vec!["'value'"; 200_000].join(",");
    assert_eq!(
        fingerprint(format!("select a from t where b in ({list}) and c = 1")),
        "select a from t where b in (?+) and c = ?"
    );
    let rows = vec!["(1, 'value')"; 200_000].join(",");
    assert_eq!(
        fingerprint(format!("insert into t values {rows} returning a")),
        "insert into t values (?, ?)+ returning a"
    );
}

#[test]
fn deep_nesting_and_endless_openings_are_no_trouble() {
    for part in ["in (", "values (", "array[", "/*", "/*+", "/*/**/", "'", "$a$", "\"", "\\'", "q'[", "a.\"b\" "] {
        let text = part.repeat(300_000 / part.len());
        assert!(fingerprint(&text).len() <= 4096, "{part}");
    }
}

#[test]
fn what_is_no_sql_has_a_stable_fingerprint() {
    let mut reader = Fingerprinter::default();
    for text in [&b""[..], b";", b"\xff\xfe\x00", b"hello, world", b"')) --", b"N'x' n\"y\" $1 $$", b"\n\n", b"select"]
    {
        reader.read(Dialect::UNKNOWN, text);
        let first = reader.fingerprint.clone();
        reader.read(Dialect::UNKNOWN, b"select 'something else' from t");
        reader.read(Dialect::UNKNOWN, text);
        assert_eq!(reader.fingerprint, first);
        assert_eq!(fingerprint(&first), first, "of the fingerprint of {text:?}");
    }
}

#[test]
fn dangerous_characters_become_visible() {
    assert_eq!(fingerprint("select `a\x1b[31m`, b\u{202e}c"), "select `a\u{fffd}[31m`, b\u{fffd}c");
    assert_eq!(fingerprint(b"select caf\xe9 from t\x00"), "select caf\u{fffd} from t");
}

#[test]
fn brackets_of_t_sql_hold_names_and_an_at_sign_begins_a_value() {
    let dialect = crate::protocols::sqlserver::DIALECT;
    for (statement, shown) in [
        (
            "SELECT TOP 5 [o].[Id], [a]]b] FROM [dbo].[Order Lines] AS [o]",
            "select top ? [o].[Id], ? from [dbo].[Order Lines] as [o]",
        ),
        ("select N'x' where a in (@p0, @p1) and @@rowcount > 1", "select ? where a in (?+) and @@rowcount > ?"),
        ("insert into #t values (@a, @b), (@c, @d)", "insert into #t values (?, ?)+"),
        ("select [secret 'word'] from [t", "select ? from ?"),
    ] {
        assert_eq!(fingerprint_in(dialect, statement), shown);
    }
}
