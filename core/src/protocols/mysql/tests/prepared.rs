//! Prepare, execute, fetch, close.

use super::*;

#[test]
fn a_statement_without_columns_and_parameters_is_prepared_by_one_packet() {
    let mut talk = Talk::logged_in(BASE);
    let prepared = packet(1, b"\0\x01\0\0\0\0\0\0\0\0\0\0");
    assert_eq!(talk.ask(&prepare("commit"), &prepared), ["stmt_prepare: commit", "done"]);
}

#[test]
fn a_prepare_may_leave_its_definitions_out() {
    let mut talk = Talk::logged_in(MODERN);
    let prepared = packet(1, b"\0\x01\0\0\0\x01\0\x01\0\0\0\0\0");
    assert_eq!(talk.ask(&prepare("select ?"), &prepared)[1..], ["done"]);
}

#[test]
fn everything_done_with_a_statement_shows_its_sql() {
    let mut talk = Talk::with_statement(BASE);
    assert_eq!(talk.ask(&execute(1, 0, b""), &packet(1, OK))[0], "stmt_execute: select ?");
    assert_eq!(talk.ask(&fetch(1, 10), &packets(1, &[EOF]))[0], "stmt_fetch: select ?");
    assert_eq!(talk.ask(&with_id(0x1a, 1), &packet(1, OK))[0], "stmt_reset: select ?");
    assert_eq!(talk.ask(&command(0x18, b"\x01\0\0\0\0\0x"), b"")[0], "stmt_send_long_data (Nothing): select ?");
    assert_eq!(talk.ask(&with_id(0x19, 1), b"")[0], "stmt_close (Nothing): select ?");
    assert_eq!(talk.ask(&execute(1, 0, b""), &packet(1, DUPLICATE))[0], "stmt_execute");
}

#[test]
fn a_statement_prepared_by_a_text_shows_its_text_when_it_runs() {
    let mut talk = Talk::logged_in(BASE);
    let mut ask = |text: &str| {
        let told = talk.ask(&query(text), &packet(1, OK)).remove(0);
        assert_eq!(told, format!("query: {text}"), "with literals, as it was sent");
        match &talk.meanings[0] {
            Meaning::Request(Request { purpose, sql: Some(sql), .. }) => {
                (*purpose, talk.statements.text(sql.fingerprint).to_owned())
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ask("PREPARE s FROM 'do 7 + ?'"), (Purpose::Prepare, "do ? + ?".into()));
    assert_eq!(ask("EXECUTE S USING @a"), (Purpose::Execute, "do ? + ?".into()));
    assert_eq!(ask("DEALLOCATE PREPARE s"), (Purpose::Close, "do ? + ?".into()));
    assert_eq!(ask("EXECUTE s"), (Purpose::Execute, "execute s".into()));
    ask("PREPARE s FROM 'do 2'");
    talk.decoder.missed_requests(9);
    talk.ask(&query("EXECUTE s"), &packet(1, OK));
    assert!(talk.decoder.prepared.get(b"s").is_none());
}

#[test]
fn equal_binds_have_equal_parameters() {
    let mut talk = Talk::with_statement(BASE);
    let mut parameters = |binds: &[u8]| {
        talk.ask(&execute(1, 0, binds), &packet(1, OK));
        match &talk.meanings[0] {
            Meaning::Request(Request { sql: Some(sql), .. }) => sql.parameters,
            other => panic!("{other:?}"),
        }
    };
    let first = parameters(b"\0\x01\x08\0\x2a\0\0\0\0\0\0\0");
    assert_eq!(parameters(b"\0\0\x2a\0\0\0\0\0\0\0"), first);
    assert_ne!(parameters(b"\0\0\x2b\0\0\0\0\0\0\0"), first);
}

#[test]
fn statements_end_with_a_reset_of_the_connection_or_a_change_of_user() {
    for reset in [command(0x1f, b""), command(0x11, b"amy\0\0crm\0\x2d\0plugin\0")] {
        let mut talk = Talk::with_statement(BASE);
        talk.ask(&reset, &packet(1, OK));
        assert_eq!(talk.ask(&execute(1, 0, b""), &packet(1, OK))[0], "stmt_execute");
    }
}

#[test]
fn an_execute_of_the_last_prepared_statement_waits_for_nothing_of_its_own() {
    let mut talk = Talk::logged_in(MODERN);
    let asked = [prepare("select ?"), execute(u32::MAX, 0, b"")].concat();
    let answers = [packets(1, &[PREPARED, DEFINITION, DEFINITION]), packet(1, OK)].concat();
    let told = talk.ask(&asked, &answers);
    assert_eq!(
        told,
        ["stmt_prepare: select ?", "stmt_execute (Shared): select ?", "more", "more", "done", "done affected 0"]
    );
}

#[test]
fn a_failed_prepare_fails_the_execute_sent_with_it() {
    let mut talk = Talk::logged_in(MODERN);
    let asked = [prepare("selec ?"), execute(u32::MAX, 0, b"")].concat();
    let told = talk.ask(&asked, &[packet(1, DUPLICATE), packet(1, DUPLICATE)].concat());
    assert_eq!(told[2..], ["done error 1062 (23000)", "done error 1062 (23000)"]);
}

#[test]
fn a_cursor_leaves_the_rows_to_be_fetched() {
    let mut talk = Talk::with_statement(BASE);
    let opened = packets(1, &[b"\x01", DEFINITION, EOF_CURSOR]);
    assert_eq!(talk.ask(&execute(1, 1, b""), &opened)[1..], ["more", "more", "done rows+0"]);
    let rows = packets(1, &[b"\0\0\x01", b"\0\0\x02", EOF_CURSOR]);
    assert_eq!(talk.ask(&fetch(1, 2), &rows)[1..], ["row 1", "row 1", "done rows+0"]);
    assert_eq!(talk.ask(&fetch(1, 2), &packet(1, b"\xfe\0\0\x82\0"))[1..], ["done rows+0"]);
}

#[test]
fn a_cursor_without_eof_ends_its_definitions_with_an_ok() {
    let mut talk = Talk::with_statement(MODERN);
    let opened = packets(1, &[b"\x01", DEFINITION, OK_FE_CURSOR]);
    assert_eq!(talk.ask(&execute(1, 1, b""), &opened)[1..], ["more", "more", "done rows+0"]);
    assert_eq!(talk.ask(&fetch(1, 2), &packets(1, &[b"\0\0\x01", OK_FE]))[1..], ["row 1", "done rows+0"]);
}

#[test]
fn a_cursor_that_was_not_opened_brings_its_rows_at_once() {
    let mut talk = Talk::with_statement(BASE);
    let result = packets(1, &[b"\x01", DEFINITION, EOF, b"\0\0\x01", EOF]);
    assert_eq!(talk.ask(&execute(1, 1, b""), &result)[1..], ["more", "more", "more", "row 1", "done rows+0"]);
}

#[test]
fn unit_results_of_a_bulk_execute_are_no_rows() {
    let mut talk = Talk::with_statement(MODERN);
    let bulk = |flags: u8| command(0xfa, &[1, 0, 0, 0, flags, 0, 8, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    let units = packets(1, &[b"\x02", DEFINITION, DEFINITION, b"\0\0\x01\x01", OK_FE]);
    let told = talk.ask(&bulk(0xc0), &units);
    assert_eq!(told, ["stmt_bulk_execute: select ?", "more", "more", "more", "more", "done"]);
    assert_eq!(talk.ask(&bulk(0x80), &packet(1, OK_3_AFFECTED))[1], "done affected 3");
}
