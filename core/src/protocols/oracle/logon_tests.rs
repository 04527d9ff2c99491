use super::*;
use crate::drivers;

#[test]
fn the_user_stands_before_the_first_key() {
    assert_eq!(
        user(b"\x03\x76\x01\x01\x01\x05\x01\x01\x01\x01\x05\x01\x01\x05scott\x01\x0d\x0dAUTH_TERMINAL"),
        Some("scott")
    );
    assert_eq!(
        user(b"\x03\x76\x01\x01\x01\x05\x01\x01\x01\x01\x05\x01\x01SCOTT\x01\x0d\x0dAUTH_TERMINAL"),
        Some("SCOTT")
    );
    assert_eq!(user(b"\x03\x76\x02\x58\xdb\x13\0\x06secure\x27\0\0\0\x0dAUTH_TERMINAL"), Some("secure"));
    assert_eq!(user(b"AUTH_TERMINAL"), None);
}

#[test]
fn versions_before_and_after_18c_are_cut_otherwise() {
    assert_eq!(version(320_208_896), "19.22.0.0.0");
    assert_eq!(version(169_869_568), "10.2.0.1.0");
    assert_eq!(version(150_999_297), "9.0.1.1.1");
    assert_eq!(version(186_647_552), "11.2.0.4.0");
    assert_eq!(version(387_588_096), "23.26.2.0.0");
}

#[test]
fn the_answer_to_version_tells_it_in_words() {
    let told = |message: &[u8]| {
        let mut session = Session::default();
        learn_version(&mut session, message);
        session.server_version
    };
    let old = b"\x08\x01\x33\x33Oracle9i Enterprise Edition Release 9.2.0.1.0 - Production\x04\x09\x20\x01\0\x09\x01";
    assert_eq!(told(old).as_deref(), Some("9.2.0.1.0"));
    let new = b"\x08Oracle Database 19c Release 19.0.0.0.0 - Production\nVersion 19.22.0.0.0\x04";
    assert_eq!(told(new).as_deref(), Some("19.22.0.0.0"));
    assert_eq!(told(b"\x08Release of nothing"), None);
}

#[test]
fn the_driver_says_its_name_and_version() {
    let known = |driver: &str| {
        let length = driver.len() as u8;
        let pair =
            [&b"\x01\x1a\x1aSESSION_CLIENT_DRIVER_NAME\x01"[..], &[length, length], driver.as_bytes(), b"\0"].concat();
        let mut session = Session::default();
        learn_request(&mut session, &pair);
        let driver = drivers::driver("oracle", &session.client, session.application.as_deref())
            .map(|known| known.name.to_owned());
        (driver, session.client.version().map(str::to_owned))
    };
    let expected = |name: &str, version: &str| (Some(name.to_owned()), Some(version.to_owned()));
    assert_eq!(known("python-oracledb thn : 26.1.0"), expected("python-oracledb", "26.1.0"));
    assert_eq!(known("node-oracledb : 26.0.0 thn"), expected("node-oracledb", "26.0.0"));
    assert_eq!(known("jdbcthin : 23.5.0.24.07"), expected("Oracle JDBC", "23.5.0.24.07"));
    assert_eq!(known("OracleClientGo"), (Some("go-ora".to_owned()), None));
}

#[test]
fn values_are_found_in_both_families() {
    let mut session = Session::default();
    learn_response(&mut session, b"\x01\x0f\x0fAUTH_VERSION_NO\x01\x09\x09320208896\0");
    assert_eq!(session.server_version.as_deref(), Some("19.22.0.0.0"));
    let mut session = Session::default();
    learn_response(&mut session, b"\x0f\0\0\0\x0fAUTH_VERSION_NO\x09\0\0\0\x09169869568\0\0\0\0");
    assert_eq!(session.server_version.as_deref(), Some("10.2.0.1.0"));
}
