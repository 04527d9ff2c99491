//! The greeting, the login and every way to authenticate.

use super::*;

#[test]
fn a_connection_begins_with_a_greeting_and_a_login() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &greeting(BASE)).says(Client, &login_request(1, BASE, LAB)).says(Server, &packet(2, OK));
    assert_eq!(talk.told(), ["greeting", "authenticate", "done"]);
    assert_eq!(talk.session.server_version.as_deref(), Some("8.0.33"));
    assert_eq!(talk.session.user.as_deref(), Some("lab"));
    assert_eq!(talk.switch, None);
}

#[test]
fn protocol_9_and_its_login_are_read() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &packet(0, b"\x093.20.32\0\x07\0\0\0abcdefgh\0"));
    talk.says(Client, &packet(1, b"\x09\0\0\0\x01bob\0scramble\0shop")).says(Server, &packet(2, b"\0\0\0"));
    assert_eq!(talk.told(), ["greeting", "authenticate", "done"]);
    assert_eq!(talk.session.database.as_deref(), Some("shop"));
    assert_eq!(talk.ask(&query("do 1"), &packet(1, b"\0\x02\0")), ["query: do 1", "done affected 2"]);
}

#[test]
fn an_error_may_stand_in_place_of_the_greeting() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &packet(0, b"\xff\x10\x04Too many connections"));
    assert_eq!(talk.told(), ["greeting error 1040"]);
}

#[test]
fn a_wrong_password_is_an_error_of_the_authentication() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &greeting(BASE)).says(Client, &login_request(1, BASE, LAB));
    talk.says(Server, &packet(2, b"\xff\x15\x04#28000Access denied for user 'lab'"));
    assert_eq!(talk.told(), ["greeting", "authenticate", "done error 1045 (28000)"]);
}

#[test]
fn a_short_login_asks_for_tls() {
    let mut talk = Talk::new(Beginning::Greeting);
    let flags = BASE | login::SSL;
    talk.says(Server, &greeting(flags)).says(Client, &login_request(1, flags, b""));
    assert_eq!(talk.told(), ["greeting", "tls"]);
    assert_eq!(talk.switch, Some(Layer::Tls));
    // Where the records are decrypted, the login follows, numbered on.
    talk.says(Client, &login_request(2, flags, LAB)).says(Server, &packet(3, OK));
    assert_eq!(talk.told(), ["greeting", "tls", "authenticate", "done"]);
}

/// The authentication of `steps`, alternating from the server on.
fn authentication(steps: &[&[u8]]) -> Vec<String> {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &greeting(BASE)).says(Client, &login_request(1, BASE, LAB));
    for (index, step) in steps.iter().enumerate() {
        let side = if index % 2 == 0 { Server } else { Client };
        talk.says(side, &packet(2 + index as u8, step));
    }
    talk.told().split_off(2)
}

#[test]
fn every_authentication_dialogue_is_one_exchange() {
    let switch = b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0";
    assert_eq!(authentication(&[switch, b"scramble", OK]), ["more", "more", "done"]);
    // The old-password request; a full authentication in clear text; one with a public key; a second factor.
    assert_eq!(authentication(&[b"\xfe", b"scramble\0", OK]), ["more", "more", "done"]);
    assert_eq!(authentication(&[b"\x01\x04", b"hunter\0", OK]), ["more", "more", "done"]);
    assert_eq!(
        authentication(&[b"\x01\x04", b"\x02", b"\x01---BEGIN", b"hunter", OK]),
        ["more", "more", "more", "more", "done"]
    );
    assert_eq!(authentication(&[b"\x02ed25519\0salt", b"signed", OK]), ["more", "more", "done"]);
    // An empty password.
    assert_eq!(authentication(&[switch, b"", OK]), ["more", "more", "done"]);
}

#[test]
fn a_fast_authentication_comes_with_its_ok() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &greeting(BASE)).says(Client, &login_request(1, BASE, LAB));
    talk.says(Server, &packets(2, &[b"\x01\x03", OK]));
    assert_eq!(talk.told(), ["greeting", "authenticate", "more", "done"]);
}

#[test]
fn passwords_are_kept_nowhere() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &greeting(BASE)).says(Client, &login_request(1, BASE, LAB));
    talk.says(Server, &packet(2, b"\x01\x04")).says(Client, &packet(3, b"hunter\0")).says(Server, &packet(4, OK));
    talk.says(Client, &command(0x11, b"amy\0\x06huntercrm\0\x2d\0mysql_native_password\0"))
        .says(Server, &packet(1, OK));
    let kept = format!("{:?} {:?} {:?} {:?}", talk.session, talk.statements, talk.decoder, talk.meanings);
    assert!(!kept.contains("hunter") && kept.contains("amy"), "{kept}");
}

#[test]
fn compression_begins_after_the_last_ok_where_both_can() {
    let connect = |client: u32, server: u32| {
        let mut talk = Talk::new(Beginning::Greeting);
        talk.says(Server, &greeting(BASE | server)).says(Client, &login_request(1, BASE | client, LAB));
        assert_eq!(talk.switch, None);
        talk.says(Server, &packet(2, OK));
        (talk.switch, talk.session.compression)
    };
    let (zlib, zstd) = (login::COMPRESS, login::ZSTD_COMPRESSION);
    assert_eq!(connect(zlib | zstd, zlib | zstd), (Some(Layer::Wrapped(COMPRESSION)), Some("zlib")));
    assert_eq!(connect(zlib | zstd, zstd), (Some(Layer::Wrapped(COMPRESSION)), Some("zstd")));
    assert_eq!(connect(zlib, zstd), (None, None));
}

#[test]
fn a_failed_login_compresses_nothing() {
    let mut talk = Talk::new(Beginning::Greeting);
    let flags = BASE | login::COMPRESS;
    talk.says(Server, &greeting(flags)).says(Client, &login_request(1, flags, LAB)).says(Server, &packet(2, DUPLICATE));
    assert_eq!(talk.switch, None);
}

#[test]
fn a_client_that_speaks_before_the_greeting_is_not_understood() {
    let mut talk = Talk::new(Beginning::Greeting);
    assert_eq!(talk.lost_to(Client, &query("do 1")), "the client speaks before the server's greeting");
}

const OUT_OF_ORDER: &[u8] = b"\xff\x84\x04#08S01Got packets out of order";
const TIMED_OUT: &[u8] = b"\xff\x87\x04#08S01Got timeout reading communication packets";

#[test]
fn what_is_no_login_is_a_login_that_the_server_refuses() {
    for bytes in [&b"GET / HTTP/1.1\r\n"[..], b"\x0d\x0a\x0d\x0a", &[0; 15], &query("do 1")] {
        for cut in 4..=bytes.len() {
            let mut talk = Talk::new(Beginning::Greeting);
            talk.says(Server, &greeting(BASE)).says(Client, &bytes[..cut]).says(Client, &bytes[cut..]);
            talk.says(Server, &packet(1, OUT_OF_ORDER));
            let told: Vec<String> = talk.told().into_iter().filter(|told| told != "morewithoutwait").collect();
            assert_eq!(told[..2], ["greeting", "authenticate"], "{bytes:?} {cut}");
            assert!(told[2].starts_with("refused") && told[2].contains("1156 (08s01)"), "{told:?}");
        }
    }
}

#[test]
fn a_server_may_refuse_a_login_that_has_not_come() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &greeting(BASE)).says(Client, b"\0\0").says(Server, &packet(2, TIMED_OUT));
    let told = talk.told();
    assert!(told.len() == 2 && told[1].starts_with("refused") && told[1].contains("1159 (08s01)"), "{told:?}");
}

#[test]
fn nothing_follows_an_error_in_place_of_the_greeting() {
    let mut talk = Talk::new(Beginning::Greeting);
    talk.says(Server, &packet(0, b"\xff\x10\x04Too many connections")).says(Client, b"\x01\0\0\0\x01");
    assert_eq!(talk.told(), ["greeting error 1040", "morewithoutwait"]);
}

#[test]
fn a_check_says_good_bye_before_the_answer_to_its_login() {
    let mut talk = Talk::new(Beginning::Greeting);
    let login = packet(1, b"\0\x80\0\0\x01haproxy\0");
    talk.says(Server, &greeting(BASE)).says(Client, &[&login[..], b"\x01\0\0\0\x01"].concat());
    talk.says(Server, &packet(2, OK));
    assert_eq!(talk.told(), ["greeting", "authenticate", "quit (Nothing)", "done"]);
}
