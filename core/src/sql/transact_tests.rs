//! Values of T-SQL without apostrophes, and the names that stay beside them.

use super::fingerprint::Fingerprinter;
use super::lexer::{Dialect, DoubleQuotes};
use super::{Statements, quotes_behind};
use crate::protocols::sqlserver::DIALECT;

const ON: Dialect = Dialect { double_quotes: DoubleQuotes::Name, ..DIALECT };
const OFF: Dialect = Dialect { double_quotes: DoubleQuotes::Literal, ..DIALECT };

fn fingerprint(dialect: Dialect, statement: &str) -> String {
    let mut reader = Fingerprinter::default();
    reader.read(dialect, statement.as_bytes());
    reader.fingerprint
}

fn check(dialects: &[Dialect], cases: &[(&str, &str)]) {
    for dialect in dialects {
        for (statement, expected) in cases {
            assert_eq!(fingerprint(*dialect, statement), *expected, "of {statement} {dialect:?}");
            assert_eq!(fingerprint(*dialect, expected), *expected, "of the fingerprint of {statement}");
        }
    }
}

#[test]
fn arguments_of_a_call_are_values_in_any_quotes() {
    check(
        &[ON, OFF, DIALECT],
        &[
            ("exec dbo.find_person Miller, [Bob Smith], \"Al\", 'x', -5", "exec dbo.find_person ?, ?, ?, ?, ?"),
            ("EXECUTE p @name = X, @b = NULL, @c = default", "execute p ? = ?, ? = null, ? = default"),
            ("exec @r = [dbo].p @a output, Miller", "exec ? = [dbo].p ? output, ?"),
            ("dbo.find_person Miller", "dbo.find_person ?"),
            ("[dbo].[find person] Miller", "[dbo].[find person] ?"),
            ("exec sp_executesql \"select X\"", "exec sp_executesql ?"),
            ("exec (\"select X\" + @a) as user = 'x' at srv", "exec (? + ?) as user = ? at srv"),
            ("{? = call dbo.p(Miller, \"X\")}", "{? = call dbo.p(?, ?)}"),
            ("exec p John Smith", "exec p ?"),
            ("exec p a@b.com, C:\\x", "exec p ?.?, ?:\\?"),
            ("exec p(Miller)", "exec p(?)"),
            ("exec p @@spid, Miller", "exec p @@spid, ?"),
            ("insert into t exec p Miller", "insert into t exec p ?"),
            ("if 1 = 1 exec p Miller else exec q Bob", "if ? = ? exec p ? else exec q ?"),
            ("print \"X\"; print Miller", "print ?; print ?"),
            ("raiserror(\"X\", 16, 1, Miller) with nowait", "raiserror(?, ?, ?, ?) with nowait"),
            ("begin throw 50000, \"X\", 1 end", "begin throw ?, ?, ? end"),
            ("exec #p Miller exec ..q Bob exec tempdb..#r Al", "exec #p ? exec ..q ? exec tempdb..#r ?"),
            ("exec dbo.p ##Miller, #Bob exec p(##Al)", "exec dbo.p ##?, #? exec p(##?)"),
            ("use shop create proc p @a sysname = Miller as exec q", "use shop create proc p ? sysname = ? as exec q"),
            ("select 1 {?=call dbo.p(Miller)}", "select ? {? = call dbo.p(?)}"),
            (
                "create or alter proc p (@a sysname = Miller, @b date = [X], @c int = -5) as exec q @a",
                "create or alter proc p (? sysname = ?, ? date = ?, ? int = ?) as exec q ?",
            ),
            (
                "alter function f(@a int = \"X\") returns int as begin return 1 end",
                "alter function f(? int = ?) returns int as begin return ? end",
            ),
            (
                "restore verifyonly from disk = 'x' with medianame = Miller",
                "restore verifyonly from disk = ? with medianame = ?",
            ),
            ("exec\u{a0}p\u{a0}@a,\u{a0}5\u{a0}select\u{a0}b", "exec p ?, ? select b"),
        ],
    );
}

#[test]
fn what_is_beside_a_call_is_no_argument() {
    check(
        &[ON, OFF, DIALECT],
        &[
            ("exec dbo.p select a, b from t", "exec dbo.p select a, b from t"),
            ("exec p 1 select a from t", "exec p ? select a from t"),
            ("exec p with result sets ((a int, b date))", "exec p with result sets ((a int, b date))"),
            ("grant select, execute on dbo.p to bob", "grant select, execute on dbo.p to bob"),
            ("grant execute any external script to bob", "grant execute any external script to bob"),
            (
                "create procedure p with execute as owner as select a from t",
                "create procedure p with execute as owner as select a from t",
            ),
            ("print @@version + dbo.f(1) select a from t", "print @@version + dbo.f(?) select a from t"),
            ("again: select a from t", "again: select a from t"),
            ("enable trigger a on t", "enable trigger a on t"),
            ("select $action, $partition.f(1)", "select $action, $partition.f(?)"),
            ("select exec_count from t where t.exec = 1", "select exec_count from t where t.exec = ?"),
        ],
    );
}

#[test]
fn double_quotes_hold_strings_unless_the_option_is_on() {
    let statement = "select \"a\", len(\"b\") from t where c = \"X\" and d in (\"Y\", \"Z\") or e like \"Q\"";
    let hidden = "select ?, len(?) from t where c = ? and d in (?+) or e like ?";
    check(&[OFF, DIALECT], &[(statement, hidden)]);
    let named = "select \"a\", len(\"b\") from t where c = \"X\" and d in (\"Y\", \"Z\") or e like \"Q\"";
    check(&[ON], &[(statement, named)]);
}

#[test]
fn a_table_in_double_quotes_proves_the_option_on() {
    check(
        &[ON, DIALECT],
        &[
            ("select \"a\", \"b\" from \"t\"", "select \"a\", \"b\" from \"t\""),
            ("select \"a\", t.\"b\" from t", "select \"a\", t.\"b\" from t"),
            ("insert into \"t\" (\"a\") values (1)", "insert into \"t\" (\"a\") values (?)"),
        ],
    );
    check(
        &[OFF, DIALECT],
        &[
            ("select trim(\"X\" from \"Y\")", "select trim(? from ?)"),
            ("select 1 bulk insert t from \"X\"", "select ? bulk insert t from ?"),
            ("select a as \"Total\" from t", "select a as \"Total\" from t"),
            ("create default d as \"X\"", "create default d as ?"),
        ],
    );
    check(&[OFF], &[("select \"a\" from \"t\"", "select ? from \"t\"")]);
}

#[test]
fn a_batch_sets_the_option_from_there_on() {
    check(
        &[ON, OFF, DIALECT],
        &[
            (
                "set quoted_identifier on select \"a\" set quoted_identifier off select \"X\"",
                "set quoted_identifier on select \"a\" set quoted_identifier off select ?",
            ),
            ("set ansi_nulls, ANSI_DEFAULTS on; select \"a\"", "set ansi_nulls, ansi_defaults on; select \"a\""),
        ],
    );
    let behind = |batch: &str| quotes_behind(DIALECT, batch.as_bytes());
    assert_eq!(behind("SET QUOTED_IDENTIFIER ON"), DoubleQuotes::Name);
    assert_eq!(behind("if 1 = 1 set nocount, quoted_identifier off"), DoubleQuotes::Literal);
    for other in [
        "select 'set quoted_identifier on'",
        "/* set quoted_identifier on */ select 1",
        "create procedure p as set quoted_identifier on select 1",
        "update t set quoted_identifier = 1",
        "set ansi_nulls on",
    ] {
        assert_eq!(behind(other), DoubleQuotes::Either, "{other}");
    }
}

#[test]
fn amounts_and_lines_that_go_on_are_numbers() {
    check(
        &[ON, OFF, DIALECT],
        &[("select £731.5, $12.34, 0x31\\\nAB, 0x31\\\r\nAB, €7", "select ?, ?, ?, ?, ?"), ("exec p £7", "exec p ?")],
    );
}

#[test]
fn with_literals_a_command_of_the_system_is_not_shown() {
    for statement in [
        "exec xp_cmdshell 'net use x Tiger#1'",
        "exec sp_xp_cmdshell_proxy_account 'dom\\ann', 'Tiger#1'",
        "exec sp_adddistributor 'srv', 'Tiger#1'",
        "exec sp_adddistpublisher pub, dist, 1, sa, Tiger#1",
        "exec sp_OAMethod @o, 'Open', null, 'dsn', 'ann', 'Tiger#1'",
        "exec master..xp_regwrite 'HKLM', 'k', 'v', 'REG_SZ', 'Tiger#1'",
        "exec sp_set_session_context password, Tiger#1",
    ] {
        let mut statements = Statements::new(true);
        let sql = statements.sql_in(DIALECT, statement.as_bytes());
        assert!(!statements.text(sql.text).to_lowercase().contains("tiger"), "{statement}");
    }
}
