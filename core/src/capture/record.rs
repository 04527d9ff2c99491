//! What every capture format hands over: where the next packet lies, or why there is none.

use crate::cursor::TooShort;
use crate::note::NoteCode;

/// The next packet: its bytes stay in the buffer until the record is consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// `false` for a remark among the packets: it is not read, but Wireshark gives it a frame number.
    pub is_packet: bool,
    /// `None` where the format has no time for it.
    pub time_ns: Option<i64>,
    pub link_type: u16,
    /// The number of its interface in the file.
    pub interface: u32,
    pub original_length: u32,
    /// The packet's bytes begin here, counted from the buffer's start.
    pub skip: usize,
    pub length: usize,
    /// Header, packet, padding and all.
    pub whole: usize,
}

impl Record {
    pub fn remark() -> Self {
        Self::default()
    }
}

/// Why the rest of a file cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damage {
    pub code: NoteCode,
    /// The byte where the unreadable part begins.
    pub at: u64,
    pub what: String,
}

impl Damage {
    pub fn cut(at: u64) -> Self {
        Self { code: NoteCode::FileCut, at, what: "the file ends inside the packet or block that begins".to_owned() }
    }

    pub fn broken(at: u64, what: impl Into<String>) -> Self {
        Self { code: NoteCode::FileDamaged, at, what: what.into() }
    }

    pub fn short(at: u64, error: TooShort) -> Self {
        Self::broken(at, format!("{error}, in the block"))
    }
}
