use super::*;

fn packet(payload: &[u8]) -> Packet<'_> {
    Packet { sequence: 0, length: payload.len() as u32, payload }
}

fn new_login(capabilities: u32, tail: &[u8]) -> Vec<u8> {
    let capabilities = capabilities | PROTOCOL_41;
    [&capabilities.to_le_bytes()[..], &[0, 0, 0, 1, 45], &[0; 23], tail].concat()
}

#[test]
fn the_prefix_for_old_replicas_is_no_part_of_the_version() {
    let payload = b"\x0a5.5.5-10.11.6-MariaDB\0\x07\0\0\0abcdefgh\0\xfe\xf7-\x02\0\xff\x81\x15";
    let greeting = Greeting::read(&packet(payload)).unwrap();
    assert_eq!(greeting.version, "10.11.6-MariaDB");
    assert_eq!(greeting.capabilities, Some(0x81ff_f7fe));
}

#[test]
fn mysql_5_5_5_keeps_its_version() {
    assert_eq!(without_prefix(b"5.5.5-m3"), "5.5.5-m3");
}

#[test]
fn protocol_9_knows_no_capabilities() {
    let greeting = Greeting::read(&packet(b"\x093.20.32\0\x07\0\0\0abcdefgh\0")).unwrap();
    assert_eq!(greeting, Greeting { version: "3.20.32".into(), capabilities: Some(0) });
}

#[test]
fn a_cut_greeting_leaves_its_capabilities_unknown() {
    let cut = Packet { sequence: 0, length: 90, payload: b"\x0a8.0.33\0\x07\0\0\0abcdefgh\0\xff\xff" };
    assert_eq!(Greeting::read(&cut).unwrap().capabilities, None);
}

#[test]
fn a_login_tells_user_database_and_program() {
    let flags = SECURE_CONNECTION | CONNECT_WITH_DB | PLUGIN_AUTH | CONNECT_ATTRIBUTES;
    let tail = b"bob\0\x02\0\0shop\0mysql_native_password\0\x1c\x03_os\x05Linux\x0cprogram_name\x04cron";
    let login = Login::read(&new_login(flags, tail));
    let told = [login.user, login.database, login.application].map(Option::unwrap);
    assert_eq!(told, ["bob", "shop", "cron"]);
}

#[test]
fn attributes_name_the_driver_and_stand_behind_the_flags_in_their_order() {
    let attributes = b"\x33\x0c_client_name\x0fGo-MySQL-Driver\x0f_client_version\x031.9";
    let login = Login::read(&new_login(CONNECT_ATTRIBUTES, &[b"bob\0\0", &attributes[..]].concat()));
    assert_eq!((login.driver.as_deref(), login.driver_version.as_deref()), (Some("Go-MySQL-Driver"), Some("1.9")));
    assert_eq!(login.startup, "flags=00100200 packet=16777216 charset=45 _client_name _client_version");
}

#[test]
fn a_password_may_be_longer_than_one_length_byte_can_say() {
    let tail = [b"bob\0\xfc\x2c\x01", &[7; 300][..], b"shop\0"].concat();
    let login = Login::read(&new_login(PLUGIN_AUTH_LENENC_DATA | CONNECT_WITH_DB, &tail));
    assert_eq!(login.database.as_deref(), Some("shop"));
}

#[test]
fn an_old_login_has_two_capability_bytes() {
    let login = Login::read(b"\x0d\x24\0\0\x01bob\0scramble\0shop");
    assert_eq!((login.capabilities, login.user.as_deref()), (Some(0x240d), Some("bob")));
    assert_eq!(login.database.as_deref(), Some("shop"));
}

#[test]
fn a_change_of_user_has_neither_capabilities_nor_a_packet_size() {
    let login = Login::read_change(b"amy\0\x02\0\0crm\0\x2d\0caching_sha2_password\0\0", Some(u32::MAX));
    assert_eq!((login.user.as_deref(), login.database.as_deref()), (Some("amy"), Some("crm")));
}

#[test]
fn a_cut_login_says_what_is_there() {
    let payload = new_login(SECURE_CONNECTION | CONNECT_WITH_DB, b"bob\0\x02\0\0sh");
    let login = Login::read(&payload);
    assert_eq!((login.user.as_deref(), login.database), (Some("bob"), None));
    assert_eq!(Login::read(&payload[..3]).user, None);
    assert_eq!(Login::read(b""), Login::default());
}

#[test]
fn only_a_login_without_a_user_asks_for_tls() {
    assert!(asks_for_tls(&packet(&new_login(SSL, b""))));
    assert!(asks_for_tls(&packet(b"\x00\x0c\0\0\x01")));
    assert!(!asks_for_tls(&packet(&new_login(SSL, b"bob\0\0"))));
    assert!(!asks_for_tls(&packet(&new_login(0, b""))));
}

#[test]
fn agreed_is_what_both_sides_can() {
    let both = Capabilities { client: Some(COMPRESS | SSL), server: Some(COMPRESS) };
    assert_eq!((both.agreed(COMPRESS), both.agreed(SSL)), (Some(true), Some(false)));
    let unseen = Capabilities { client: Some(COMPRESS), server: None };
    assert_eq!((unseen.agreed(COMPRESS), unseen.agreed(SSL)), (None, Some(false)));
}

#[test]
fn zlib_wins_over_zstd() {
    let both = COMPRESS | ZSTD_COMPRESSION;
    let agreed = |client| Capabilities { client: Some(client), server: Some(both) }.compression();
    assert_eq!(agreed(both), Some("zlib"));
    assert_eq!(agreed(ZSTD_COMPRESSION), Some("zstd"));
    assert_eq!(agreed(0), None);
}
