use super::*;

fn kinds(texts: &[&str]) -> Vec<&'static str> {
    texts.iter().map(|text| StatementKind::of(text).as_str()).collect()
}

#[test]
fn the_first_words_say_what_a_statement_does() {
    let texts = ["select a from t", "insert into t values (?)", "select ? from dual", "commit"];
    assert_eq!(kinds(&texts), ["read", "write", "ping", "end"]);
    let texts = ["start transaction", "set names utf8", "fetch all from c", "call p(?)"];
    assert_eq!(kinds(&texts), ["begin", "session", "fetch", "other"]);
}

#[test]
fn a_version_that_is_asked_for_with_other_things_is_read() {
    let texts = ["select version()", "select pg_catalog.version() as v", "select version(), database(), user()"];
    assert_eq!(kinds(&texts), ["session", "session", "read"]);
}

#[test]
fn the_reset_of_a_pooled_connection_is_of_the_session() {
    let texts = ["select pg_advisory_unlock_all(); close all; unlisten *; reset all;", "close all", "close all_rows"];
    assert_eq!(kinds(&texts), ["session", "session", "other"]);
}

#[test]
fn hints_and_parentheses_hide_nothing() {
    let texts =
        ["/*+ index(t) */ select a", "(select a", "/*!40101 set names", "/*m!100100 select a", "; update t set a"];
    assert_eq!(kinds(&texts), ["read", "read", "session", "read", "write"]);
}

#[test]
fn a_common_table_expression_may_write() {
    let texts = ["with d as (delete from t returning a) select a from d", "with u as (update t set a = ?) select ?"];
    assert_eq!(kinds(&texts), ["write", "write"]);
    assert_eq!(kinds(&["with u as (select updated set from t) select a from u"]), ["read"]);
}

#[test]
fn what_a_driver_sends_before_a_statement_says_not_what_it_does() {
    let texts = [
        "begin; declare ? cursor with hold for select a from t; fetch ? in ?",
        "savepoint ?; insert into t values (?)",
        "release ?; savepoint ?",
        "close ?; commit",
        "begin; p(?); end",
    ];
    assert_eq!(kinds(&texts), ["read", "write", "session", "end", "other"]);
}

#[test]
fn pings_ask_for_nothing() {
    let texts = [
        "",
        "select ?",
        "select ? as x",
        "select ? from rdb$database",
        "values (?)",
        "do ?",
        "select null",
        "select true",
    ];
    assert_eq!(kinds(&texts), ["ping"; 8]);
    assert_eq!(kinds(&["select ?, ?", "select ? from t", "values (?), (?)", "select nullable"]), ["read"; 4]);
}

#[test]
fn blocks_and_savepoints_are_no_transactions() {
    let texts = ["begin", "begin read only", "begin p(?); end;", "rollback to s", "rollback work", "commit and chain"];
    assert_eq!(kinds(&texts), ["begin", "begin", "other", "session", "end", "end"]);
}

#[test]
fn transactions_of_t_sql_are_shorter() {
    let texts =
        ["begin tran", "if @@trancount > ? commit tran", "rollback transaction", "save tran s", "rollback tran s"];
    assert_eq!(kinds(&texts), ["begin", "end", "end", "session", "session"]);
    assert_eq!(kinds(&["begin distributed transaction", "begin try select a"]), ["begin", "other"]);
}

#[test]
fn a_session_is_asked_in_many_ways() {
    let texts =
        ["select @@version", "select pg_catalog.version ()", "select current_schema", "begin dbms_session.x(?)"];
    assert_eq!(kinds(&texts), ["session"; 4]);
    assert_eq!(kinds(&["select version from t", "settle", "select current_users"]), ["read", "other", "read"]);
}
