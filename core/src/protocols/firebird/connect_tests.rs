use super::*;
use crate::drivers;

#[test]
fn connect_and_attach_tell_user_and_application_but_no_password() {
    let mut session = Session::default();
    user(b"\x09\x06SYSDBA\x08\x03Srp\x07\x04\0KEY", GENERIC, &[], &mut session);
    parameters(b"\x01\x1d\x06secret\x4a\x04java\x1c\x05OTHER", false, &mut session);
    assert_eq!(session.user.as_deref(), Some("SYSDBA"));
    assert_eq!(session.application.as_deref(), Some("java"));
    assert!(!format!("{session:?}").contains("secret"));
}

/// The driver of an `attach` whose client calls itself so, and its version.
fn known(client: &str) -> (Option<String>, Option<String>) {
    let mut session = Session::default();
    parameters(&[&[1, CLIENT_VERSION, client.len() as u8], client.as_bytes()].concat(), false, &mut session);
    let driver =
        drivers::driver("firebird", &session.client, session.application.as_deref()).map(|known| known.name.to_owned());
    (driver, session.client.version().map(str::to_owned))
}

#[test]
fn attach_tells_the_driver_and_its_version() {
    let expected = |name: &str, version: &str| (Some(name.to_owned()), Some(version.to_owned()));
    assert_eq!(known("Jaybird jaybird-5.0.6.java11"), expected("Jaybird", "5.0.6"));
    assert_eq!(known("LI-V3.0.11.33637 Firebird 3.0"), expected("libfbclient", "3.0.11.33637"));
    assert_eq!(known("10.3.1.0"), (None, Some("10.3.1.0".to_owned())));
}

#[test]
fn connect_alone_tells_clients_apart_that_encrypt_all_else() {
    let known = |machine, versions: &[u8], plugins: &str| {
        let offers: Vec<u8> =
            versions.iter().flat_map(|&version| [&[0, 0, 0x80, version][..], &[0; OFFER_BYTES - 4]].concat()).collect();
        let mut session = Session::default();
        user(&[&[PLUGINS, plugins.len() as u8], plugins.as_bytes()].concat(), machine, &offers, &mut session);
        drivers::driver("firebird", &session.client, session.application.as_deref()).map(|known| known.name.to_owned())
    };
    assert_eq!(known(36, &[10, 11, 12, 13, 14, 15], "Srp, Srp256, Legacy_Auth").as_deref(), Some("libfbclient"));
    assert_eq!(known(GENERIC, &[16, 18, 13, 15], "Srp256,Srp").as_deref(), Some("Jaybird"));
    assert_eq!(known(GENERIC, &[10, 11, 12, 13, 14, 15], "Srp256,Srp,Legacy_Auth"), None);
}

#[test]
fn a_wide_parameter_block_and_a_lying_length() {
    let mut session = Session::default();
    parameters(b"\x02\x1c\x02\0\0\0me\x4a\xff\xff\xff\xffjava", false, &mut session);
    assert_eq!((session.user.as_deref(), session.application), (Some("me"), None));
}
