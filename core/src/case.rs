//! How often something happened to connections.

use std::borrow::Cow;

use crate::note::NoteCode;

/// How often one thing happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub code: NoteCode,
    /// The database and the server port that it concerns, where a note tells of several.
    pub name: Cow<'static, str>,
    pub port: u16,
    pub count: u64,
    /// The frame or the stream of the first one.
    pub first: u64,
    /// How long it took in all.
    pub span_ns: i64,
    /// What is said of the first one alone.
    pub text: String,
}

/// What a note may tell of that adds up.
pub const KINDS: [NoteCode; 16] = [
    NoteCode::OneDirection,
    NoteCode::ClockStep,
    NoteCode::Timeouts,
    NoteCode::DelayedAck,
    NoteCode::ZeroWindow,
    NoteCode::DuplicatePackets,
    NoteCode::Reordered,
    NoteCode::Offloaded,
    NoteCode::Refused,
    NoteCode::Unanswered,
    NoteCode::Unrecognised,
    NoteCode::OtherDatabase,
    NoteCode::ProxyHeader,
    NoteCode::EstimatedRows,
    NoteCode::ImplausibleRows,
    NoteCode::Unreadable,
];

/// The kind whose text is this.
pub fn kind(code: &str) -> Option<NoteCode> {
    KINDS.into_iter().find(|kind| kind.as_str() == code)
}

impl Case {
    pub fn new(code: NoteCode, count: u64, first: u64) -> Case {
        Case { code, name: Cow::Borrowed(""), port: 0, count, first, span_ns: 0, text: String::new() }
    }

    /// The first one is a packet, not a connection.
    pub fn frame(&self) -> Option<u64> {
        let is_packet = matches!(
            self.code,
            NoteCode::ClockStep
                | NoteCode::Timeouts
                | NoteCode::DelayedAck
                | NoteCode::ZeroWindow
                | NoteCode::DuplicatePackets
                | NoteCode::Reordered
                | NoteCode::Offloaded
        );
        is_packet.then_some(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_adds_up_is_a_case() {
        assert_eq!(kind("timeouts"), Some(NoteCode::Timeouts));
        assert_eq!(kind("file-cut"), None);
    }
}
