//! Result sets in all their layouts, those that must be found out included.

use super::*;

#[test]
fn rows_stand_between_two_eofs() {
    let mut talk = Talk::logged_in(BASE);
    let result = packets(1, &[b"\x01", DEFINITION, EOF, b"\x011", b"\xfb", EOF]);
    let told = talk.ask(&query("select a"), &result);
    assert_eq!(told, ["query: select a", "more", "more", "more", "row 1", "row 1", "done rows+0"]);
}

#[test]
fn before_4_1_an_eof_is_a_bare_byte() {
    let mut talk = Talk::logged_in(BASE & !login::PROTOCOL_41);
    let result = packets(1, &[b"\x01", DEFINITION, b"\xfe", b"\x011", b"\x012", b"\xfe"]);
    let told = talk.ask(&query("select a"), &result);
    assert_eq!(told, ["query: select a", "more", "more", "more", "row 1", "row 1", "done rows+0"]);
}

#[test]
fn without_eof_rows_follow_the_definitions_at_once() {
    let mut talk = Talk::logged_in(MODERN);
    let result = packets(1, &[b"\x01", DEFINITION, b"\x011", b"\xfb", OK_FE]);
    assert_eq!(talk.ask(&query("select a"), &result)[1..], ["more", "more", "row 1", "row 1", "done rows+0"]);
}

#[test]
fn an_empty_result_set_has_no_rows_and_a_change_has_none_to_tell_of() {
    let mut talk = Talk::logged_in(BASE);
    assert_eq!(talk.ask(&query("select a"), &packets(1, &[b"\x01", DEFINITION, EOF, EOF]))[4], "done rows+0");
    assert_eq!(talk.ask(&query("delete from t"), &packet(1, OK_3_AFFECTED))[1], "done affected 3");
    let mut talk = Talk::logged_in(MODERN);
    assert_eq!(talk.ask(&query("select a"), &packets(1, &[b"\x01", DEFINITION, OK_FE]))[3], "done rows+0");
}

#[test]
fn binary_rows_begin_like_ok_and_are_rows() {
    let mut talk = Talk::logged_in(BASE);
    let result = packets(1, &[b"\x01", DEFINITION, EOF, b"\0\0\x02\0\0\0\0", b"\0\0\x02\0\0\0\0", EOF]);
    assert_eq!(talk.ask(&execute(1, 0, b""), &result)[4..], ["row 1", "row 1", "done rows+0"]);
}

#[test]
fn several_results_answer_one_query() {
    let mut talk = Talk::logged_in(BASE);
    let results = packets(
        1,
        &[b"\x01", DEFINITION, EOF, b"\x011", EOF_MORE, OK_3_AFFECTED_MORE, b"\x01", DEFINITION, EOF, b"\x012", EOF],
    );
    let told = talk.ask(&query("select 1; delete from t; select 2"), &results);
    assert_eq!(
        told[1..],
        ["more", "more", "more", "row 1", "more", "more", "more", "more", "more", "row 1", "done rows+0 affected 3"]
    );
}

#[test]
fn a_call_ends_with_an_ok_of_its_own() {
    let mut talk = Talk::logged_in(MODERN);
    let results = packets(1, &[b"\x01", DEFINITION, b"\x011", b"\xfe\0\0\x0a\0\0\0", OK_3_AFFECTED]);
    assert_eq!(
        talk.ask(&query("call p()"), &results)[1..],
        ["more", "more", "row 1", "more", "done rows+0 affected 3"]
    );
}

#[test]
fn an_error_may_come_after_rows_and_between_results() {
    let mut talk = Talk::logged_in(BASE);
    let rows = packets(1, &[b"\x01", DEFINITION, EOF, b"\x011", DUPLICATE]);
    assert_eq!(talk.ask(&query("select a"), &rows)[4..], ["row 1", "done rows+0 error 1062 (23000)"]);
    let results = packets(1, &[OK_3_AFFECTED_MORE, DUPLICATE]);
    assert_eq!(talk.ask(&query("a; b"), &results)[1..], ["more", "done affected 3 error 1062 (23000)"]);
}

#[test]
fn progress_is_neither_an_error_nor_the_end() {
    let mut talk = Talk::logged_in(BASE);
    let progress = b"\xff\xff\xff\x01\x01\x02\x10\x27\0\x05alter";
    assert_eq!(
        talk.ask(&query("alter table t"), &packets(1, &[progress, progress, OK]))[1..],
        ["more", "more", "done affected 0"]
    );
}

#[test]
fn a_local_file_is_sent_inside_its_exchange() {
    let mut talk = Talk::logged_in(BASE);
    talk.says(Client, &query("load data")).says(Server, &packet(1, b"\xfb/tmp/file"));
    talk.says(Client, &packets(2, &[b"1,2\n", b"3,4\n", b""])).says(Server, &packet(5, OK_3_AFFECTED));
    assert_eq!(talk.told(), ["query: load data", "more", "more", "more", "more", "done affected 3"]);
}

#[test]
fn a_local_file_that_cannot_be_opened_is_an_empty_packet_alone() {
    let mut talk = Talk::logged_in(BASE);
    talk.says(Client, &query("load data")).says(Server, &packet(1, b"\xfb/tmp/file"));
    talk.says(Client, &packet(2, b"")).says(Server, &packet(3, DUPLICATE));
    assert_eq!(talk.told()[1..], ["more", "more", "done error 1062 (23000)"]);
}

#[test]
fn the_packets_of_a_long_local_file_are_numbered_around_zero() {
    let mut talk = Talk::logged_in(BASE);
    talk.says(Client, &query("load data")).says(Server, &packet(1, b"\xfb/tmp/file"));
    let file: Vec<&[u8]> = vec![b"x"; 300];
    talk.says(Client, &packets(2, &file)).says(Client, &packet(46, b"")).says(Server, &packet(47, OK));
    assert_eq!(talk.told().last().unwrap(), "done affected 0");
}

#[test]
fn definitions_may_be_left_out() {
    let mut talk = Talk::logged_in(MODERN);
    // The flag before the count, as documented; behind it, as sent; MySQL's and MariaDB's alike.
    for header in [&b"\0\x02"[..], b"\x02\0"] {
        assert_eq!(
            talk.ask(&query("select a, b"), &packets(1, &[header, b"\x011\x012", OK_FE]))[1..],
            ["more", "row 1", "done rows+0"]
        );
    }
    for header in [&b"\x01\x01"[..], b"\x01"] {
        assert_eq!(
            talk.ask(&query("select a"), &packets(1, &[header, DEFINITION, OK_FE]))[1..],
            ["more", "more", "done rows+0"]
        );
    }
    for header in [&b"\x01\x02"[..], b"\x02\x01"] {
        let result = packets(1, &[header, DEFINITION, DEFINITION, OK_FE]);
        assert_eq!(talk.ask(&query("select a, b"), &result)[1..], ["more", "more", "more", "done rows+0"]);
    }
}

#[test]
fn the_eof_behind_the_definitions_stays_where_they_are_left_out() {
    for capabilities in [BASE, BASE | 1] {
        let mut talk = Talk::logged_in(capabilities);
        let rows = packets(1, &[b"\x01\0", EOF, b"\0\0\x01", EOF]);
        assert_eq!(talk.ask(&execute(1, 0, b""), &rows)[1..], ["more", "more", "row 1", "done rows+0"]);
        let none = packets(1, &[b"\x01\0", EOF, EOF]);
        assert_eq!(talk.ask(&execute(1, 0, b""), &none)[1..], ["more", "more", "done rows+0"]);
    }
}

#[test]
fn in_mid_connection_a_result_without_definitions_shows_whether_eofs_are_sent() {
    let mut talk = Talk::running();
    let result = packets(1, &[b"\x01\0", EOF, b"\0\0\x01", EOF]);
    assert_eq!(talk.ask(&execute(1, 0, b""), &result)[1..], ["more", "more", "row 1", "done rows+0"]);
    let mut talk = Talk::running();
    let result = packets(1, &[b"\x01\0", b"\0\0\x01", OK_FE]);
    assert_eq!(talk.ask(&execute(1, 0, b""), &result)[1..], ["more", "row 1", "done rows+0"]);
}

#[test]
fn more_columns_than_one_byte_counts() {
    let mut talk = Talk::logged_in(MODERN);
    let mut result = vec![&b"\xfc\x2c\x01"[..]];
    result.extend(vec![DEFINITION; 300]);
    result.extend([&b"\x011"[..], OK_FE]);
    let told = talk.ask(&query("select *"), &packets(1, &result));
    assert_eq!(told[302..], ["row 1", "done rows+0"]);
}

#[test]
fn in_mid_connection_the_first_result_shows_whether_eofs_are_sent() {
    let mut talk = Talk::running();
    let result = packets(1, &[b"\x01", DEFINITION, EOF, b"\x011", EOF]);
    assert_eq!(talk.ask(&query("select a"), &result)[1..], ["more", "more", "more", "row 1", "done rows+0"]);
    assert_eq!(talk.decoder.layout.deprecate_eof, Some(false));
    let mut talk = Talk::running();
    let result = packets(1, &[b"\x01", DEFINITION, b"\x011", OK_FE]);
    assert_eq!(talk.ask(&query("select a"), &result)[1..], ["more", "more", "row 1", "done rows+0"]);
    assert_eq!(talk.decoder.layout.deprecate_eof, Some(true));
}

#[test]
fn in_mid_connection_an_empty_result_shows_it_too() {
    let mut talk = Talk::running();
    assert_eq!(talk.ask(&query("select a"), &packets(1, &[b"\x01", DEFINITION, OK_FE]))[3], "done rows+0");
    let mut talk = Talk::running();
    assert_eq!(talk.ask(&query("select a"), &packets(1, &[b"\x01", DEFINITION, EOF, EOF]))[4], "done rows+0");
}

#[test]
fn in_mid_connection_a_prepare_may_have_an_eof_too_many() {
    let mut talk = Talk::running();
    // No columns, one parameter: nothing but the next packet tells.
    let prepared = b"\0\x01\0\0\0\0\0\x01\0\0\0\0";
    let told = talk.ask(&prepare("insert into t values (?)"), &packets(1, &[prepared, DEFINITION, EOF]));
    assert_eq!(told[1..], ["more", "done", "unrelated"]);
    assert_eq!(talk.decoder.layout.deprecate_eof, Some(false));
    let mut talk = Talk::running();
    talk.ask(&prepare("insert into t values (?)"), &packets(1, &[prepared, DEFINITION]));
    assert_eq!(talk.ask(&execute(1, 0, b""), &packet(1, OK))[1], "done affected 0");
    assert_eq!(talk.decoder.layout.deprecate_eof, Some(true));
}

#[test]
fn in_mid_connection_both_groups_of_a_prepare_show_it() {
    let mut talk = Talk::running();
    let told = talk.ask(&prepare("select ?"), &packets(1, &[PREPARED, DEFINITION, EOF, DEFINITION, EOF]));
    assert_eq!(told[1..], ["more", "more", "more", "more", "done"]);
    let mut talk = Talk::running();
    let told = talk.ask(&prepare("select ?"), &packets(1, &[PREPARED, DEFINITION, DEFINITION]));
    assert_eq!(told[1..], ["more", "more", "done"]);
}

#[test]
fn the_end_of_an_answer_is_taken_along_with_its_rows() {
    let mut talk = Talk::logged_in(BASE);
    talk.says(Client, &query("select a"));
    let result = packets(1, &[b"\x01", DEFINITION, EOF, b"\x011", b"\xfb", EOF]);
    let mut context = Context { session: &mut talk.session, statements: &mut talk.statements, switch: None };
    let passed = talk.decoder.pass(Server, &result, &mut context);
    assert_eq!((passed.length, passed.rows), (result.len(), Some(2)));
    assert_eq!(passed.meaning(Server), Meaning::Done(Outcome { rows: Some(2), ..Outcome::default() }));
}
