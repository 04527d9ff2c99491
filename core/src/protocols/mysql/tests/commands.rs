//! Each command by its name, its contents and its answer.

use super::*;

#[test]
fn commands_that_one_packet_answers() {
    let mut talk = Talk::logged_in(BASE);
    let name = b"shop".as_slice();
    let expected: [(u8, &[u8], &str); 11] = [
        (0x02, name, "init_db"),
        (0x05, name, "create_db"),
        (0x06, name, "drop_db"),
        (0x07, b"\x01", "refresh"),
        (0x08, b"\0", "shutdown"),
        (0x0c, b"\x07\0\0\0", "process_kill"),
        (0x0d, b"", "debug"),
        (0x0e, b"", "ping"),
        (0x15, b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "register_slave"),
        (0x1b, b"\0\0", "set_option"),
        (0x1f, b"", "reset_connection"),
    ];
    for (code, payload, name) in expected {
        assert_eq!(talk.ask(&command(code, payload), &packet(1, OK)), [name, "done"]);
        assert_eq!(talk.ask(&command(code, payload), &packet(1, EOF)), [name, "done"]);
        assert_eq!(talk.ask(&command(code, payload), &packet(1, DUPLICATE)), [name, "done error 1062 (23000)"]);
    }
}

#[test]
fn statistics_are_plain_text() {
    let mut talk = Talk::logged_in(BASE);
    assert_eq!(talk.ask(&command(0x09, b""), &packet(1, b"Uptime: 7  Threads: 1")), ["statistics", "done"]);
}

#[test]
fn a_list_of_fields_has_no_count() {
    let mut talk = Talk::logged_in(BASE);
    let fields = packets(1, &[DEFINITION, DEFINITION, EOF]);
    assert_eq!(talk.ask(&command(0x04, b"t\0"), &fields), ["field_list", "more", "more", "done"]);
    let mut talk = Talk::logged_in(MODERN);
    assert_eq!(talk.ask(&command(0x04, b"t\0"), &packets(1, &[DEFINITION, OK_FE])), ["field_list", "more", "done"]);
}

#[test]
fn the_process_list_is_a_result_set() {
    let mut talk = Talk::logged_in(BASE);
    let list = packets(1, &[b"\x01", DEFINITION, EOF, b"\x017", EOF]);
    assert_eq!(talk.ask(&command(0x0a, b""), &list), ["process_info", "more", "more", "more", "row 1", "done rows+0"]);
}

#[test]
fn quit_close_and_long_data_await_nothing() {
    let mut talk = Talk::logged_in(BASE);
    let long_data = command(0x18, b"\x01\0\0\0\0\0blob");
    talk.says(Client, &[long_data, with_id(0x19, 1), command(0x01, b"")].concat());
    assert_eq!(talk.told(), ["stmt_send_long_data (Nothing)", "stmt_close (Nothing)", "quit (Nothing)"]);
}

#[test]
fn a_close_glued_to_the_next_command_leaves_its_answer_alone() {
    let mut talk = Talk::logged_in(BASE);
    let asked = [with_id(0x19, 1), query("do 1")].concat();
    assert_eq!(talk.ask(&asked, &packet(1, OK)), ["stmt_close (Nothing)", "query: do 1", "done affected 0"]);
}

#[test]
fn a_replica_s_dump_is_a_push() {
    for (code, name) in [(0x12, "binlog_dump (Nothing)"), (0x1e, "binlog_dump_gtid (Nothing)")] {
        let mut talk = Talk::logged_in(BASE);
        talk.says(Client, &command(code, b"\x04\0\0\0\0\0\x07\0\0\0bin.000001"));
        assert_eq!(talk.told(), [name]);
        assert!(talk.session.replication && talk.switch == Some(Layer::Push));
    }
}

#[test]
fn an_unknown_command_ends_when_the_client_asks_anew() {
    let mut talk = Talk::logged_in(BASE);
    assert_eq!(talk.ask(&command(0x20, b"clone"), &packets(1, &[b"any", b"thing"])), ["unknown", "more", "more"]);
    talk.says(Client, &query("do 1"));
    assert!(matches!(talk.meanings.last(), Some(Meaning::Request(Request { ends_previous: true, .. }))));
    assert_eq!(talk.ask(&query("do 2"), b"")[0], "query: do 2");
}

#[test]
fn a_byte_that_no_command_has_is_a_loss() {
    assert_eq!(Talk::logged_in(BASE).lost_to(Client, &command(b'S', b"")), "there is no command 0x53");
    let empty = Talk::logged_in(BASE).lost_to(Client, &packet(0, b""));
    assert_eq!(empty, "an empty packet stands where a command should be");
}

#[test]
fn query_attributes_are_no_sql() {
    let mut talk = Talk::logged_in(MODERN);
    let attributed = command(0x03, b"\x01\x01\0\x01\xfe\0\x05trace\x03abcdo 1");
    assert_eq!(talk.ask(&attributed, &packet(1, OK))[0], "query: do 1");
    assert_eq!(talk.ask(&command(0x03, b"\0\x01do 2"), &packet(1, OK))[0], "query: do 2");
    assert_eq!(talk.ask(&query("do 3"), &packet(1, OK))[0], "query: do 3");
    let mut talk = Talk::running();
    assert_eq!(talk.ask(&command(0x03, b"\0\x01do 4"), &packet(1, OK))[0], "query: do 4");
}

#[test]
fn a_change_of_user_is_one_exchange_with_its_authentication() {
    let mut talk = Talk::logged_in(BASE);
    let change = command(0x11, b"amy\0\x02\0\0crm\0\x2d\0mysql_native_password\0");
    talk.says(Client, &change).says(Server, &packet(1, b"\xfemysql_native_password\0salt\0"));
    assert_eq!(talk.session.user.as_deref(), Some("lab"));
    talk.says(Client, &packet(2, b"scramble")).says(Server, &packet(3, OK));
    assert_eq!(talk.told(), ["change_user", "more", "more", "done"]);
    assert_eq!((talk.session.user.as_deref(), talk.session.database.as_deref()), (Some("amy"), Some("crm")));
}

#[test]
fn a_refused_change_of_user_changes_nothing() {
    let mut talk = Talk::logged_in(BASE);
    talk.ask(&command(0x11, b"amy\0\x02\0\0crm\0\x2d\0mysql_native_password\0"), &packet(1, DUPLICATE));
    assert_eq!(talk.session.user.as_deref(), Some("lab"));
}

#[test]
fn init_db_changes_the_database_once_it_succeeds() {
    let mut talk = Talk::logged_in(BASE);
    talk.ask(&command(0x02, b"shop"), &packet(1, OK));
    talk.ask(&command(0x02, b"nosuch"), &packet(1, DUPLICATE));
    assert_eq!(talk.session.database.as_deref(), Some("shop"));
}

#[test]
fn a_tracked_schema_changes_the_database() {
    let mut talk = Talk::logged_in(BASE);
    talk.ask(&query("use crm"), &packet(1, b"\0\0\0\x02\x40\0\0\0\x06\x01\x04\x03crm"));
    assert_eq!(talk.session.database.as_deref(), Some("crm"));
}

#[test]
fn the_servers_status_says_what_a_backslash_is() {
    let mut talk = Talk::logged_in(BASE);
    let mut ask = |status: &[u8]| talk.ask(&query(r"select 'x\', ' b"), &packet(1, status)).remove(0);
    assert_eq!(ask(b"\0\0\0\x02\x02\0\0"), r"query: select 'x\', ' b");
    assert_eq!(ask(b"\0\0\0"), "query: select ?", "NO_BACKSLASH_ESCAPES was in the last status");
    assert_eq!(ask(b"\0\0\0\x02\0\0\0"), "query: select ?", "a cut OK changes nothing");
    assert_eq!(ask(b"\0\0\0\x02\0\0\0"), r"query: select 'x\', ' b");
}
