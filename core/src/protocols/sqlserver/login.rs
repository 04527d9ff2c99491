//! What a login says of the session.
//!
//! ```text
//! length u32 | version u32 | packet u32 | client's version u32 | process u32 | connection u32 | flags 4 × u8 | … |
//! (offset u16 | length u16, in characters)*      host, user, password, application, server, extension, library, …
//! extension: offset u32 of (feature u8 | length u32 | data)* FF
//! ```

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::text;
use crate::cursor::{Cursor, TooShort};
use crate::protocols::versions::version_in;
use crate::session::Session;

/// The offsets of the packet's size and the flags.
const PACKET: usize = 8;
const FLAGS: usize = 24;
/// In the last flag: the extension is there.
const EXTENDED: u8 = 0x10;
/// The feature that names the driver and its platform.
const USER_AGENT: u8 = 16;
/// Where the places of the texts begin.
const PLACES: usize = 36;
const SHORTEST: u32 = 86;
const LONGEST: u32 = 128 << 10;
/// The places of those that matter, among the others.
const USER: usize = 1;
const APPLICATION: usize = 3;
const EXTENSION: usize = 5;
const LIBRARY: usize = 6;
const DATABASE: usize = 8;

/// Is it a login of TDS 7? So long is its packet's body.
pub fn is_login(body: &[u8], length: usize) -> bool {
    let mut cursor = Cursor::new(body);
    let (Ok(told), Ok(version)) = (cursor.u32_le("length"), cursor.u32_le("version")) else { return false };
    (SHORTEST..=LONGEST).contains(&told) && told as usize >= length && minor(version.to_be_bytes()).is_some()
}

/// The minor version of TDS 7 (8 for 8.0), of its four bytes with the highest first.
pub fn minor(version: [u8; 4]) -> Option<u8> {
    match version {
        [7, minor @ 0..=4, ..] => Some(minor),
        [0x70..=0x74, ..] => Some(version[0] & 0x0f),
        [8, 0, 0, 0] => Some(8),
        _ => None,
    }
}

/// The version that the client asks for; what the session is called goes to it, and what tells its driver.
pub fn introduce(body: &[u8], session: &mut Session) -> Option<u8> {
    let place = |number| text_at(body, number).ok().flatten().filter(|text| !text.is_empty());
    session.user = place(USER).or(session.user.take());
    session.application = place(APPLICATION).or(session.application.take());
    session.database = place(DATABASE).or(session.database.take());
    let library = place(LIBRARY).unwrap_or_default();
    session.client.says(&library);
    if let Some(version) = agent_version(body).as_deref().or(version_in(&library)) {
        session.client.says_version(version);
    }
    session.client.starts(&startup(body).unwrap_or_default());
    let version = Cursor::new(body.get(4..)?).u32_le("version").ok()?;
    minor(version.to_be_bytes())
}

/// The flags that say of which kind the client is.
pub fn client_flags(body: &[u8]) -> Option<u8> {
    body.get(FLAGS + 1).copied()
}

/// The words in which logins of drivers differ: `login packet=4096 client=06f283f8 flags=e0030018 features=UTF8`.
fn startup(body: &[u8]) -> Option<String> {
    let mut cursor = Cursor::new(body.get(PACKET..FLAGS + 4)?);
    let (packet, client) = (cursor.u32_le("packet").ok()?, cursor.u32_be("client's version").ok()?);
    cursor.skip(8, "process and connection").ok()?;
    let flags = cursor.u32_be("flags").ok()?;
    let features: Vec<_> = features(body).map(|(feature, _)| feature_name(feature)).collect();
    Some(format!("login packet={packet} client={client:08x} flags={flags:08x} features={}", features.join(",")))
}

/// The driver's version in its user agent: `1|MS-ODBC|18.6.2.1|x86_64|Linux|…`.
fn agent_version(body: &[u8]) -> Option<String> {
    let (_, agent) = features(body).find(|&(feature, _)| feature == USER_AGENT)?;
    text::decode(agent).split('|').nth(2).and_then(version_in).map(str::to_owned)
}

fn feature_name(feature: u8) -> Cow<'static, str> {
    Cow::Borrowed(match feature {
        1 => "SESSIONRECOVERY",
        2 => "FEDAUTH",
        4 => "COLUMNENCRYPTION",
        5 => "GLOBALTRANSACTIONS",
        8 => "AZURESQLSUPPORT",
        9 => "DATACLASSIFICATION",
        10 => "UTF8",
        11 => "SQLDNSCACHING",
        13 => "JSON",
        14 => "VECTOR",
        USER_AGENT => "USERAGENT",
        _ => return Cow::Owned(feature.to_string()),
    })
}

/// The features that the client asks for, in its order, and what it says of each.
fn features(body: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut cursor = Cursor::new(extension(body).unwrap_or_default());
    std::iter::from_fn(move || {
        let feature = cursor.u8("feature").ok().filter(|&feature| feature != 0xff)?;
        let length = cursor.u32_le("length").ok()?;
        Some((feature, cursor.take(length as usize, "feature").ok()?))
    })
}

fn extension(body: &[u8]) -> Option<&[u8]> {
    body.get(FLAGS + 3).filter(|&flags| flags & EXTENDED != 0)?;
    let at = Cursor::new(body.get(PLACES + 4 * EXTENSION..)?).u16_le("extension").ok()?;
    let at = Cursor::new(body.get(usize::from(at)..)?).u32_le("features").ok()?;
    body.get(at as usize..)
}

fn text_at(body: &[u8], number: usize) -> Result<Option<String>, TooShort> {
    let mut cursor = Cursor::new(body);
    cursor.skip(PLACES + 4 * number, "places")?;
    let (at, length) = (cursor.u16_le("offset")?, cursor.u16_le("length")?);
    let bytes = body.get(usize::from(at)..).and_then(|rest| rest.get(..2 * usize::from(length)));
    Ok(bytes.map(text::decode))
}

/// An answer to a pre-login inside TLS (TDS 8.0) is short; the end of a login tells the server's name and settings.
const LOGGED_IN: u64 = 100;

/// Inside TLS, does the login go on after an answer of so many bytes?
pub fn goes_on(answer: &RangeInclusive<u64>) -> bool {
    *answer.end() < LOGGED_IN
}
