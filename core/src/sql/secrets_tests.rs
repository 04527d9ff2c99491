//! Secrets are never shown, not even with literals.

use proptest::prelude::*;

use super::{Dialect, Statements};
use crate::protocols::mysql;

fn shown(statement: &str) -> String {
    let mut statements = Statements::new(true);
    let sql = statements.sql(statement.as_bytes());
    statements.text(sql.text).to_owned()
}

fn hidden(statement: &str) -> String {
    hidden_in(Dialect::UNKNOWN, statement)
}

fn hidden_in(dialect: Dialect, statement: &str) -> String {
    let mut statements = Statements::new(false);
    let sql = statements.sql_in(dialect, statement.as_bytes());
    statements.text(sql.text).to_owned()
}

#[test]
fn passwords_are_not_shown_where_they_are_set() {
    for statement in [
        "CREATE USER 'bob'@'%' IDENTIFIED BY 'Tiger#1'",
        "create user a identified by 'x', b identified by 'Tiger#1'",
        "GRANT ALL ON *.* TO bob IDENTIFIED BY PASSWORD 'Tiger#1'",
        "ALTER USER bob IDENTIFIED WITH mysql_native_password AS 'Tiger#1'",
        "ALTER USER bob IDENTIFIED WITH 'caching_sha2_password' BY 'new' REPLACE 'Tiger#1'",
        "CREATE USER bob IDENTIFIED VIA ed25519 USING 'x' OR mysql_native_password USING PASSWORD('Tiger#1')",
        "CREATE USER bob IDENTIFIED BY Tiger#1",
        "CREATE USER bob IDENTIFIED BY \"Tiger#1\"",
        "CREATE USER bob IDENTIFIED BY p@Tiger#1!; select 1",
        "ALTER USER bob IDENTIFIED BY new REPLACE Tiger#1",
        "ALTER USER bob IDENTIFIED BY VALUES 'S:Tiger#1'",
        "CREATE DATABASE LINK l CONNECT TO bob IDENTIFIED BY Tiger#1 USING 'remote'",
        "CREATE USER bob PASSWORD Tiger#1",
        "UPDATE users SET password_hash = 'Tiger#1'",
        "ALTER ROLE bob WITH ENCRYPTED PASSWORD Tiger#1 VALID UNTIL '2030-01-01'",
        "SET PASSWORD = 'Tiger#1'",
        "SET PASSWORD FOR 'bob'@'%' = PASSWORD('Tiger#1')",
        "SET PASSWORD FOR bob TO 'Tiger#1'",
        "ALTER ROLE bob WITH LOGIN ENCRYPTED PASSWORD 'Tiger#1' VALID UNTIL '2030-01-01'",
        "CREATE USER bob PASSWORD 'Tiger#1'",
        "ALTER USER SYSDBA SET PASSWORD 'Tiger#1'",
        "CHANGE MASTER TO MASTER_HOST='h', MASTER_PASSWORD='Tiger#1'",
        "CREATE USER MAPPING FOR bob SERVER s OPTIONS (user 'bob', password 'Tiger#1')",
        "UPDATE users SET \"password\" = 'Tiger#1' WHERE id = 1",
        "UPDATE users SET passwd = md5(concat('Tiger#1', salt))",
        "CREATE SUBSCRIPTION s CONNECTION 'host=h password=Tiger#1' PUBLICATION p",
        "/*!50000 SET PASSWORD = 'Tiger#1' */",
        "select 1; SET PASSWORD = 'Tiger#1'",
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST='h', SOURCE_PASSWORD='Tiger#1'",
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'Tiger#1')",
        "CREATE TABLE f (a int) ENGINE=FEDERATED CONNECTION='mysql://u:Tiger#1@h/db/t'",
        "COPY t FROM 's3://b/k' CREDENTIALS 'aws_access_key_id=a;aws_secret_access_key=Tiger#1'",
        "COPY t FROM 's3://b/k' ACCESS_KEY_ID 'a' SECRET_ACCESS_KEY 'Tiger#1'",
        "SELECT * FROM dblink('postgresql://u:Tiger#1@h/db', 'select 1')",
        "SELECT dblink_connect('c', 'host=h user=u password=Tiger#1')",
        "SELECT * FROM OPENROWSET('SQLNCLI', 'Server=h;Uid=u;Pwd=Tiger#1', 'select 1')",
        "BEGIN run('scott/Tiger#1@orders'); END;",
        "SELECT pgp_sym_encrypt(name, 'Tiger#1') FROM t",
        "UPDATE t SET a = AES_ENCRYPT('x', concat('Tiger#1', b))",
        "SELECT * FROM t WHERE h = crypt('Tiger#1', h)",
        "PREPARE s FROM 'ALTER USER bob IDENTIFIED BY \\'Tiger#1\\''",
        "DO $$ BEGIN EXECUTE 'ALTER ROLE bob PASSWORD ''Tiger#1'' '; END $$",
        "ALTER ROLE bob PASSWORD \"Tiger#1\"",
        "SET my.api_key = Tiger#1",
        "SET SESSION my.api_key TO Tiger#1",
        "SELECT set_config('my.api_key', 'Tiger#1', false)",
        "SET PASSWORD = Tiger#1",
        "SELECT * FROM users WHERE password = Tiger#1",
        "SELECT * FROM users WHERE pass <> Tiger#1 AND a = 1",
        "CALL login(name => 'bob', p_password => Tiger#1)",
        "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD=Tiger#1",
        "INSERT INTO t VALUES (1, 'it's Tiger#1', 2)",
        "INSERT INTO t VALUES ('don't Tiger#1 isn't', 'C:\\')",
        "SET PASSWORD FOR bob TO Tiger#1",
        "ALTER SYSTEM SET ENCRYPTION WALLET OPEN AUTHENTICATED BY \"Tiger#1\"",
        "BEGIN NOT ATOMIC CREATE USER bob PASSWORD Tiger#1; END",
        "EXPLAIN ALTER ROLE bob PASSWORD Tiger#1",
        "INSERT INTO t VALUES ('a', 'the dogs' Tiger#1', 'b')",
        "SELECT 'a', the dogs' Tiger#1 bone', 'b'",
        "COPY t FROM PROGRAM 'curl -u bob:Tiger#1 https://h'",
        "SELECT run('mysql -h db -pTiger#1'), run('--token Tiger#1'), run('Bearer Tiger#1')",
        "select 1 /* postgresql://u:Tiger#1@h/db */ from t",
        "select 1 -- password=Tiger#1",
    ] {
        assert!(!shown(statement).contains("Tiger#1"), "{}", shown(statement));
        assert_eq!(shown(statement), hidden(statement));
        assert!(!hidden(statement).to_lowercase().contains("tiger"), "{}", hidden(statement));
    }
}

#[test]
fn with_literals_a_statement_that_speaks_of_a_secret_shows_none() {
    for statement in [
        "select a from users where (password) = 'hush'",
        "select a from users u where trim(u.password) = 'hush'",
        "select a from users where 'hush' = password",
        "select a from users where password between 'hush' and 'hush'",
        "select a from users where password not like 'hush%'",
        "select a from users where password in ('hush')",
        "select a from users where password = 'a' or password = 'hush'",
        "select a from users where password::text = 'hush'",
        "select a from users where a->>'password' = 'hush'",
        "select a from users where (name, password) = ('bob', 'hush')",
        "insert into users select 'hush' as password",
        "select case when password = 'a' then 'hush' end from users",
        "update users set password = 'a' || 'hush'",
        "declare p_password varchar2(30) := 'hush'; begin null; end;",
        "begin dbms_x.put(key => 'hush'); end;",
        "insert into t values ('{\"secretKey\": \"hush\"}')",
        "select connect('AccountName=a;AccountKey=hush')",
        "select get('https://h', 'Cookie: session=hush')",
        "select run('mysqldump --pass=hush')",
        "select set_config('my.api_key'::text, 'hush'::text, false)",
        "select a from t where b = 'hush' /* token */",
        "select 'scott/hush@orders'",
        "select 'run -u bob:hush'",
        "select 'isql -pas hush'",
        "select extensions.pgp_sym_decrypt(a, 'hush') from t",
        "begin :password := 'hush'; end",
        "update usuarios set contrase\u{f1}a = 'hush'",
        "select 'hush' /* unclosed password",
        "insert into t values ('https://hush@h/x')",
    ] {
        let text = shown(statement);
        assert!(!text.contains("hush") && text == hidden(statement), "{text}");
    }
    assert_eq!(shown("select 'bob' from users where id = 5"), "select 'bob' from users where id = 5");
    for clean in [
        "select id from authors where name = 'x'",
        "select 'pass' from t where tokens_used = 5 and boarding_pass_id = 'x'",
    ] {
        assert_eq!(shown(clean), clean);
    }
}

#[test]
fn statements_that_only_name_credentials_keep_their_fingerprints() {
    for clean in [
        "select password from users where id = ?",
        "select u.password as p, u.token t from users u order by u.token desc limit ?",
        "select a.id, a.token from tokens a join sessions b on a.token = b.token and a.x = b.y",
        "select max(token) m, count(*) c from tokens group by token having count(token) > ?",
        "select * from tokens t, users u where t.user_id = u.id",
        "select * from users where token is not null and password is null order by id",
        "select * from users where password = md5(?) and name = ?",
        "select * from tokens where tokens.id = user_id and token_expires < current_timestamp",
        "select * from t where token = any (array[?+]) and x = y",
        "select case when token = ? then id else x end from users",
        "select * from t where id in (select id from u where token = ?) and x = y",
        "select \"u\".\"password\" from \"users\" \"u\" where \"u\".\"token\" = \"u\".\"password\"",
        "select aes_decrypt(name, @k) from t where id = ?",
        "insert into tokens (user_id, token) values (?, ?)",
        "insert into tokens (user_id, token) select id, name from users",
        "select tokens_used as tax, max_tokens as k from t where foreign_key_name is null",
        "select a from t connect by prior tokenizer = city start with id = ?",
        "create function f(a int) returns int begin declare x int; set x = a; return x; end",
        "insert into t (token) values (?) on conflict (token) do update set token = excluded.token returning id",
        "insert into t (token) values (?) on duplicate key update token = values (token), n = n + ?",
        "update tokens set a = b, token = null, secret = default where id = ?",
        "update u set password = password_hash, token = ? where id = u.x",
        "delete from password_resets where token = ? and created < now() - interval ?",
        "create table tokens (id int primary key, token varchar(?) not null, created timestamp default now())",
        "create table s (password text, primary key (password)) engine = aria comment = ?",
        "create index idx_token on tokens (token, user_id)",
        "alter table users add column password text",
        "drop table if exists tokens",
        "lock tables tokens write, users read",
        "show create table tokens",
        "explain select token from tokens where id = ?",
        "begin pkg.check_token(?, ?); end",
        "call check_password(?, ?)",
        "grant select, insert on tokens to bob",
        "grant select (id, password) on users to bob",
        "set session transaction isolation level read committed",
        "set search_path to app, public",
        "alter user bob account lock",
        "create user bob",
        "copy users (id, password, name) from stdin",
        "with t as (select token from tokens) select token from t",
        "select /*+ index(t idx) */ password from t where id = ?",
    ] {
        assert_eq!(hidden(clean), clean);
    }
}

#[test]
fn behind_a_word_of_the_family_nothing_is_shown_until_the_clause_ends() {
    for (statement, left) in [
        ("create user bob identified by Tiger account unlock", "create user bob identified by ?"),
        ("alter user bob identified by a@b replace c@d;", "alter user bob identified by ?"),
        ("alter user bob identified by a;b", "alter user bob identified by ?"),
        ("grant connect to a, b identified by \"x\", \"y\"", "grant connect to a, b identified by ?"),
        ("connect scott/x@orcl", "connect ?"),
        ("administer key management set key identified by x", "administer key management set ?"),
        ("alter pluggable database p open encrypt using x", "alter pluggable database p open encrypt using ?"),
        ("set session authorization u password x", "set session authorization u password ?"),
        ("create secret (type s3, secret x)", "create secret (?, ?)"),
        ("create persistent secret s (type s3, secret x)", "create persistent secret ?"),
        (
            "create server s options (user bob, password X, host h) version v",
            "create server s options (user bob, password ?) version v",
        ),
        ("set my.api_key to x y", "set my.api_key to ?"),
        ("set password = x; select a from b", "set password = ?; select a from b"),
        ("select a from t where token = x or token = Y", "select a from t where token = ? or token = ?"),
        ("select a from t where lower(password) = x and b = c", "select a from t where lower(password) = ? and b = c"),
        (
            "select a from t where password = correct horse battery order by a",
            "select a from t where password = ? order by a",
        ),
        (
            "select a from t where password between x and y and b = c",
            "select a from t where password between ? and ? and b = c",
        ),
        ("select a from t where (name, password) = (bob, x)", "select a from t where (name, password) = (?, ?)"),
        ("select set_password(bob, x), b from t", "select set_password(?, ?), b from t"),
        ("select aes_encrypt(a, x) from t", "select aes_encrypt(a, ?) from t"),
        ("update t set password x where a = b", "update t set password ? where a = b"),
        ("update t set password = md5(x), a = b", "update t set password = md5(?), a = b"),
        ("insert into users (password, name) values (x, bob)", "insert into users (password, name) values (?, ?)"),
        ("begin login(name => bob, p_password => x); end", "begin login(name => bob, p_password => ?); end"),
        ("select /*+ index(t) password x */ a from t", "select /*+ ? */ a from t"),
        (
            "create table t (a int, password text default x, b int default c)",
            "create table t (a int, password text default ?, b int default c)",
        ),
        ("alter table t alter column password set default x", "alter table t alter column password set default ?"),
        (
            "create foreign table t (a int) server s options (password x)",
            "create foreign table t (a int) server s options (password ?)",
        ),
        (
            "select a from t where password is distinct from x and b = c",
            "select a from t where password is distinct from ? and b = c",
        ),
        (
            "select a from t where password::text = x or token collate c = y",
            "select a from t where password::text = ? or token collate c = ?",
        ),
        ("create table t (a int encrypt identified by x)", "create table t (a int encrypt identified by ?)"),
        ("mysql -u root -px shop", "mysql ?"),
        ("create directory d as 'x'; host sqlplus bob/x@db", "create directory d as ?; host ?"),
        ("bob/x@orcl", "bob ?"),
        ("! expdp bob/x@orcl", "?"),
        ("login bob x", "login ?"),
        ("pragma rekey = x", "pragma ?"),
        ("drop token x", "drop token ?"),
        ("show grants for token x", "show grants for token ?"),
        ("begin pkg.login(x, password => y); zz := 5; end", "begin pkg.login(x, password => ?); zz := ?; end"),
    ] {
        assert_eq!(hidden(statement), left);
        assert_eq!(hidden(left), left);
    }
}

#[test]
fn passwords_leave_no_trace_in_the_parameters() {
    let mut statements = Statements::new(false);
    let one = statements.sql(b"create user bob identified by 'x'");
    let two = statements.sql(b"create user bob identified by 'y'");
    assert_eq!(one.parameters, two.parameters);
}

#[test]
fn a_shown_text_keeps_its_literals_and_is_one_safe_line() {
    assert_eq!(shown("select 'it''s', 5\n from t\x1b[31m"), "select 'it''s', 5  from t\u{fffd}[31m");
}

#[test]
fn a_shown_text_is_cut_at_64_kib() {
    let text = shown(&format!("select '{}'", "é".repeat(100_000)));
    assert!(text.len() <= 64 * 1024 && text.len() > 64 * 1024 - 8);
    assert!(text.ends_with('…'));
}

#[test]
fn where_nobody_knows_how_strings_end_no_literal_is_shown() {
    assert_eq!(shown("select a, 'C:\\', 'it\\'s secret', 'a"), "select a, ?");
}

#[test]
fn messages_stay_as_they_are_where_literals_are_shown() {
    let message = "Duplicate entry 'a' for key 'b'";
    assert_eq!(Statements::new(true).error(None, "1062", message), "1062: Duplicate entry 'a' for key 'b'");
    assert_eq!(Statements::new(false).error(None, "1062", message), "1062: Duplicate entry ? for key ?");
}

#[test]
fn a_string_in_double_quotes_is_masked_in_mysql_too() {
    let mut statements = Statements::new(true);
    let sql = statements.sql_in(mysql::DIALECT, b"create user bob identified by \"Tiger\"");
    assert_eq!(statements.text(sql.text), "create user bob identified by ?");
}

#[test]
fn with_literals_an_error_of_a_statement_that_names_a_secret_is_told_as_without() {
    let mut statements = Statements::new(true);
    let sql = statements.sql(b"select 'hush' as password from users");
    assert_eq!(statements.error(Some(sql), "1064", "near 'hush' of users"), "1064: near ? of users");
}

#[test]
fn an_error_after_a_password_says_nothing() {
    for shows in [false, true] {
        let mut statements = Statements::new(shows);
        let secret = statements.sql(b"create user bob identified by a b");
        let message = "syntax error at or near \"b\"";
        assert_eq!(statements.error(Some(secret), "42601", message), "42601: ?");
        let other = statements.sql(b"select a from b");
        assert_eq!(statements.error(Some(other), "42601", message), "42601: syntax error at or near \"b\"");
    }
}

#[test]
fn an_error_that_repeats_a_connection_string_loses_its_password() {
    let shown = Statements::new(true);
    assert_eq!(shown.error(None, "08001", "no server at pg://u:x@h"), "08001: no server at pg://u:***@h");
    assert_eq!(shown.error(None, "1064", "near 'identified by x'"), "1064: ?");
}

#[test]
fn what_a_program_raises_is_shown_with_literals_only() {
    assert_eq!(Statements::new(false).error(None, "P0001", "Smith has no credit"), "P0001: ?");
    assert_eq!(Statements::new(true).error(None, "P0001", "Smith has no credit"), "P0001: Smith has no credit");
}

#[test]
fn a_name_may_be_a_connection_string() {
    assert_eq!(Statements::name("pg://u:x@h\x1b"), "pg://u:***@h\u{fffd}");
}

/// Words of the family, and some that only end or begin like one.
const WORDS: &[&str] = &[
    "password",
    "user_password",
    "PASSWD",
    "pwd",
    "db_pass",
    "secretKey",
    "client_secret",
    "access_token",
    "api_key",
    "apikey",
    "credentials",
    "passphrase",
    "private_key",
    "passwrd",
];
/// Statements with `{n}` for a word of the family and `{v}` for what stands behind it.
const CONTEXTS: &[&str] = &[
    "create user u identified by {v}",
    "create user u identified by {v}, v identified by {v}",
    "create user u {n} {v}",
    "alter role u with login {n} {v} valid until x",
    "grant connect to a, b identified by {v}, {v}",
    "alter system set encryption wallet open identified by {v}",
    "administer key management create keystore x identified by {v}",
    "alter pluggable database p encrypt using {v}",
    "set {n} {v}",
    "set my.{n} = {v}",
    "set session authorization u {n} {v}",
    "create secret s (type x, {n} {v})",
    "create server s foreign data wrapper w options (user u, {n} {v})",
    "copy t from x {n} {v}",
    "backup database d with {n} {v}",
    "connect u/{v}@h",
    "select a from users where {n} = {v}",
    "select a from users where {n} = x or {n} = {v}",
    "select a from users where lower(u.{n}) <> {v}",
    "select a from users where {n} in ({v}, {v})",
    "select a from users where {n} like {v} and a = 1",
    "select a from users where (a, {n}) = (1, {v})",
    "select {n}({v}) from users",
    "update users set {n} = {v} where a = 1",
    "update users set a = 1, {n}={v}",
    "insert into users (a, {n}) values (1, {v})",
    "insert into users (a, {n}) values (1, 2), (3, {v})",
    "call login(a => 1, {n} => {v})",
    "begin login({n} => {v}); end;",
    "declare {n} varchar2(30) := {v}; begin null; end;",
    "create table t (a int, {n} text default {v})",
    "merge into users using x on (a = b) when matched then update set {n} = {v}",
    "select /*+ {n} {v} */ a from t",
    "/*!50000 set {n} = {v} */",
];
/// Ways to write a value `{s}`.
const VALUES: &[&str] = &[
    "{s}",
    "{s}!1",
    "{s}#x",
    "{s}$",
    "\"{s}\"",
    "'{s}'",
    "N'{s}'",
    "q'[{s}]'",
    "$${s}$$",
    "$t${s}$t$",
    "x'{s}'",
    "'a' || '{s}'",
    "('{s}')",
    "(({s}))",
    "md5({s})",
    "/* c */ {s}",
    "-- c\n {s}",
    "{s} {s}",
    "'{s}",
    "\"{s}",
    "'it''s {s}'",
    "_utf8'{s}'",
    "cast({s} as char)",
    "a {s}",
];

proptest! {
    #[test]
    fn no_value_behind_a_word_of_the_family_is_shown(
        context in prop::sample::select(CONTEXTS),
        word in prop::sample::select(WORDS),
        value in prop::sample::select(VALUES),
        secret in "zq[a-f0-9]{8}",
        cut in any::<Option<prop::sample::Index>>(),
        dialect in super::property_tests::any_dialect(),
    ) {
        let text = context.replace("{v}", value).replace("{n}", word).replace("{s}", &secret);
        let end = cut.map_or(text.len(), |cut| cut.index(text.len() + 1));
        let mut statements = Statements::new(false);
        let sql = statements.sql_in(dialect, &text.as_bytes()[..end]);
        let hidden = statements.text(sql.text).to_owned();
        prop_assert!(!hidden.contains("zq"), "{} -> {}", &text[..end], hidden);
        let mut statements = Statements::new(true);
        let sql = statements.sql_in(dialect, &text.as_bytes()[..end]);
        prop_assert!(!statements.text(sql.text).contains("zq"), "with literals: {}", &text[..end]);
    }
}

#[test]
fn secrets_are_not_shown_among_blanks_and_signs_that_nobody_sees() {
    for statement in [
        "CREATE USER bob\u{a0}IDENTIFIED\u{a0}BY\u{a0}Tiger#1",
        "\u{feff}SET PASSWORD\u{2003}Tiger#1",
        "SELECT\u{a0}login('bob',\u{a0}$q$Tiger#1$q$::password_text)",
        "INSERT\u{a0}INTO\u{3000}users (password) VALUE (Tiger#1",
        "SELECT a FROM users WHERE pass\u{ad}word = Tiger#1",
        "UPDATE users SET pass\u{3164}word = Tiger#1",
    ] {
        for text in [shown(statement), hidden(statement)] {
            assert!(!text.to_lowercase().contains("tiger"), "{statement} -> {text}");
        }
    }
}

#[test]
fn secrets_are_not_shown_in_hints_transactions_and_odd_assignments() {
    for statement in [
        "SELECT /*+ INDEX(u Tiger#1) password */ a FROM u",
        "SELECT /*+ OPT_PARAM(password Tiger#1) */ a FROM u",
        "BEGIN; connect target bob/Tiger#1@prod catalog ann/Tiger#1@rc; COMMIT",
        "begin transaction; connect bob/Tiger#1",
        "UPDATE users SET api_key TO Tiger#1",
        "GRANT ALL ON *.* TO bob IDENTIFY BY Tiger#1",
    ] {
        for text in [shown(statement), hidden(statement)] {
            assert!(!text.to_lowercase().contains("tiger"), "{statement} -> {text}");
        }
    }
}

#[test]
fn a_word_of_the_family_that_stands_first_or_alone_hides_literals() {
    for statement in [
        "select json_object('user', 'bob', 'pass', 'Tiger#1')",
        "select a from t where b #>> '{auth,pin}' = 'Tiger#1'",
        "insert into config values ('authorization', 'Tiger#1')",
        "execute immediate 'AUTH Tiger#1'",
        "insert into t values ('<pass>Tiger#1</pass>')",
        "select dbms_obfuscation_toolkit.md5(a => 'Tiger#1') from dual",
    ] {
        assert!(!shown(statement).contains("Tiger"), "{statement}");
    }
    for statement in ["select a from t where b = 'boarding pass'", "select a from t where b = 'a key, a lock'"] {
        assert_eq!(shown(statement), statement);
    }
}
