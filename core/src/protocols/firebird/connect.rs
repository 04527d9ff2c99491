//! What the first packets say about the connection: user, database, application.
//!
//! Names and passwords come as clumplets: `tag u8 | length u8 | bytes`. Proofs and keys are passed over.

use crate::cursor::Cursor;
use crate::session::Session;

/// In `connect`: the login name.
const LOGIN: u8 = 9;
/// In a database parameter block (DPB).
const USER_NAME: u8 = 28;
const PROCESS_NAME: u8 = 74;
/// In a service parameter block (SPB) the process has another number.
const SERVICE_PROCESS_NAME: u8 = 112;
const TEXT_MAX: usize = 500;

/// The user of `connect`.
pub fn user(clumplets: &[u8], session: &mut Session) {
    for (tag, value) in clumplets_of(clumplets, false) {
        if tag == LOGIN {
            session.user = text(value);
        }
    }
}

/// The user and the application of `attach`.
pub fn parameters(block: &[u8], service: bool, session: &mut Session) {
    // Version 2 of a DPB and 3 of an SPB have 32-bit lengths; version 2 of an SPB says so twice.
    let (wide, clumplets) = match (service, block) {
        (false, [1, rest @ ..]) | (true, [2, 2, rest @ ..] | [1, rest @ ..]) => (false, rest),
        (false, [2, rest @ ..]) | (true, [3, rest @ ..]) => (true, rest),
        _ => return,
    };
    let process = if service { SERVICE_PROCESS_NAME } else { PROCESS_NAME };
    for (tag, value) in clumplets_of(clumplets, wide) {
        match tag {
            USER_NAME if session.user.is_none() => session.user = text(value),
            _ if tag == process => session.application = text(value),
            _ => {}
        }
    }
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
mod tests {
    use super::*;

    #[test]
    fn connect_and_attach_tell_user_and_application_but_no_password() {
        let mut session = Session::default();
        user(b"\x09\x06SYSDBA\x08\x03Srp\x07\x04\0KEY", &mut session);
        parameters(b"\x01\x1d\x06secret\x4a\x04java\x1c\x05OTHER", false, &mut session);
        assert_eq!(session.user.as_deref(), Some("SYSDBA"));
        assert_eq!(session.application.as_deref(), Some("java"));
        assert!(!format!("{session:?}").contains("secret"));
    }

    #[test]
    fn a_wide_parameter_block_and_a_lying_length() {
        let mut session = Session::default();
        parameters(b"\x02\x1c\x02\0\0\0me\x4a\xff\xff\xff\xffjava", false, &mut session);
        assert_eq!((session.user.as_deref(), session.application), (Some("me"), None));
    }
}
