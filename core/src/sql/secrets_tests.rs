//! Passwords are never shown, not even with literals.

use super::Statements;
use super::{credentials, secrets};
use crate::protocols::mysql;

fn shown(statement: &str) -> String {
    let mut statements = Statements::new(true);
    let sql = statements.sql(statement.as_bytes());
    statements.text(sql.text).to_owned()
}

fn hidden(statement: &str) -> String {
    let mut statements = Statements::new(false);
    let sql = statements.sql(statement.as_bytes());
    statements.text(sql.text).to_owned()
}

#[test]
fn passwords_are_masked_where_they_are_set() {
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
        assert!(shown(statement).contains("'***'"), "{}", shown(statement));
        assert!(!hidden(statement).to_lowercase().contains("tiger"), "{}", hidden(statement));
    }
}

#[test]
fn only_the_password_is_masked() {
    let statement = "CREATE USER 'bob'@'%' IDENTIFIED BY 'x' REQUIRE SSL COMMENT 'a'";
    assert_eq!(shown(statement), "CREATE USER 'bob'@'%' IDENTIFIED BY '***' REQUIRE SSL COMMENT 'a'");
    assert_eq!(shown("ALTER ROLE a PASSWORD 'x' VALID UNTIL '2030'"), "ALTER ROLE a PASSWORD '***' VALID UNTIL '2030'");
    assert_eq!(shown("where password = 'x' and name = 'y'"), "where password = '***' and name = 'y'");
    assert_eq!(shown("select password, 'x' from t"), "select password, 'x' from t");
    assert_eq!(shown("ALTER USER a PASSWORD EXPIRE NEVER"), "ALTER USER a PASSWORD EXPIRE NEVER");
    assert_eq!(shown("ALTER ROLE a PASSWORD NULL"), "ALTER ROLE a PASSWORD NULL");
    for clean in [
        "update t set token = null, secret = default, password = upper(name) where id = 1",
        "select * from a join b on a.token = b.token and a.x = b.y",
        "insert into t (token) values (?) on conflict (id) do update set token = excluded.token",
        "update u set password = password_hash, \"token\" = \"new\".\"token\"",
        "select password as p, token t from u order by password desc",
        "create table t (password text, token text not null)",
        "select 'x'left join t on b='y'lock in share mode",
        "create table t(a char default'x'not null, b text default'y'check(b<>'z'))",
        "select 'a'as b, 'x'from t where c='y'and d='z'order by date'2024-01-01'",
    ] {
        assert_eq!(shown(clean), clean);
    }
}

#[test]
fn a_password_without_quotes_is_no_word_of_the_fingerprint() {
    assert_eq!(
        hidden("create user bob identified by Tiger account unlock"),
        "create user bob identified by ? account unlock"
    );
    assert_eq!(hidden("alter user bob identified by a@b replace c@d;"), "alter user bob identified by ? replace ?");
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
fn where_nobody_knows_how_strings_end_the_rest_is_masked() {
    assert_eq!(shown("select a, 'C:\\', 'it\\'s secret', 'a"), "select a, '***'");
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
    assert_eq!(statements.text(sql.text), "create user bob identified by '***'");
}

#[test]
fn a_comment_keeps_what_is_no_password() {
    assert_eq!(shown("select a -- password=Tiger, told by Ann"), "select a -- password='***', told by Ann");
    assert_eq!(shown("select a /* pg://u:Tiger@h/db */ from t"), "select a /* pg://u:'***'@h/db */ from t");
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

#[test]
fn every_name_of_a_secret_is_one() {
    assert!(credentials::NAMES.iter().all(|name| secrets::names_one(name.as_bytes())));
    assert!(["MY_TOKEN", "Passwort"].iter().all(|name| secrets::names_one(name.as_bytes())));
    assert!(!["tokens", "", "pass"].iter().any(|name| secrets::names_one(name.as_bytes())));
}
