//! User, database, application and driver, as the first packets say them.
//!
//! Names and passwords come as clumplets: `tag u8 | length u8 | bytes`. Proofs and keys are passed over.

use std::borrow::Cow;

use crate::cursor::Cursor;
use crate::protocols::versions::version_in;
use crate::session::Session;

/// In `connect`: the login name, and the ways to prove it that the client knows.
const LOGIN: u8 = 9;
const PLUGINS: u8 = 10;
/// The machine that all but libfbclient say they are.
const GENERIC: u32 = 1;
/// An offer: version, machine, lowest and highest type, weight.
const OFFER_BYTES: usize = 20;
/// In a database parameter block (DPB).
const USER_NAME: u8 = 28;
const PROCESS_NAME: u8 = 74;
const CLIENT_VERSION: u8 = 80;
/// In a service parameter block (SPB) process and client have other numbers.
const SERVICE_PROCESS_NAME: u8 = 112;
const SERVICE_CLIENT_VERSION: u8 = 119;
const TEXT_MAX: usize = 500;
/// More tags than any client sends.
const MAX_TAGS: usize = 64;

/// The user of `connect`, and what clients send each in their own way:
/// `connect machine=generic versions=16,18,13,15 plugins=Srp256,Srp`.
pub fn user(clumplets: &[u8], machine: u32, offers: &[u8], session: &mut Session) {
    let mut plugins = None;
    for (tag, value) in clumplets_of(clumplets, false) {
        match tag {
            LOGIN => session.user = text(value),
            PLUGINS => plugins = text(value),
            _ => {}
        }
    }
    // The version's highest bit says that it is Firebird's own, not InterBase's.
    let versions: Vec<_> = offers.chunks_exact(OFFER_BYTES).map(|offer| (offer[3] & 0x7f).to_string()).collect();
    session.client.starts(&format!(
        "connect machine={} versions={} plugins={}",
        if machine == GENERIC { "generic" } else { "native" },
        versions.join(","),
        plugins.unwrap_or_default()
    ));
}

/// The user, the application and the driver of `attach`.
pub fn parameters(block: &[u8], service: bool, session: &mut Session) {
    // Version 2 of a DPB and 3 of an SPB have 32-bit lengths; version 2 of an SPB says so twice.
    let (wide, clumplets) = match (service, block) {
        (false, [1, rest @ ..]) | (true, [2, 2, rest @ ..] | [1, rest @ ..]) => (false, rest),
        (false, [2, rest @ ..]) | (true, [3, rest @ ..]) => (true, rest),
        _ => return,
    };
    let (process, version) = match service {
        true => (SERVICE_PROCESS_NAME, SERVICE_CLIENT_VERSION),
        false => (PROCESS_NAME, CLIENT_VERSION),
    };
    let mut words = if service { "service" } else { "attach" }.to_owned();
    for (tag, value) in clumplets_of(clumplets, wide).take(MAX_TAGS) {
        words.push(' ');
        words.push_str(&tag_name(tag, service));
        match tag {
            USER_NAME if session.user.is_none() => session.user = text(value),
            _ if tag == process => session.application = text(value),
            _ if tag == version => text(value).iter().for_each(|client| driver(client, session)),
            _ => {}
        }
    }
    session.client.starts(&words);
}

/// `Jaybird jaybird-5.0.6.java11`, `LI-V3.0.11.33637 Firebird 3.0`
fn driver(client: &str, session: &mut Session) {
    // The .NET provider sends a version alone.
    if !client.starts_with(|first: char| first.is_ascii_digit()) {
        session.client.says(client);
    }
    version_in(client).into_iter().for_each(|version| session.client.says_version(version));
}

/// Tags that clients differ in; the others by their number.
fn tag_name(tag: u8, service: bool) -> Cow<'static, str> {
    Cow::Borrowed(match tag {
        _ if service => return Cow::Owned(tag.to_string()),
        USER_NAME => "user_name",
        29 => "password",
        48 => "lc_ctype",
        57 => "connect_timeout",
        58 => "dummy_packet_interval",
        60 => "sql_role_name",
        61 => "set_page_buffers",
        62 => "working_directory",
        63 => "sql_dialect",
        71 => "process_id",
        PROCESS_NAME => "process_name",
        77 => "utf8_filename",
        CLIENT_VERSION => "client_version",
        82 => "host_name",
        83 => "os_user",
        84 => "specific_auth_data",
        85 => "auth_plugin_list",
        86 => "auth_plugin_name",
        87 => "config",
        91 => "session_time_zone",
        _ => return Cow::Owned(tag.to_string()),
    })
}

pub fn database(name: &[u8], session: &mut Session) {
    if let Some(name) = text(name) {
        session.database = Some(name);
    }
}

fn clumplets_of(bytes: &[u8], wide: bool) -> impl Iterator<Item = (u8, &[u8])> {
    let mut cursor = Cursor::new(bytes);
    std::iter::from_fn(move || {
        let tag = cursor.u8("tag").ok()?;
        let length = if wide { cursor.u32_le("length").ok()? } else { cursor.u8("length").ok()?.into() };
        Some((tag, cursor.take(length as usize, "value").ok()?))
    })
}

fn text(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.get(..TEXT_MAX).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
#[path = "connect_tests.rs"]
mod tests;
