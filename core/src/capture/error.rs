//! Why a capture cannot be read at all. Whatever can be read in part becomes a note instead.

use std::io::{self, ErrorKind};

use crate::note::NoteCode;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    #[error("{path}: cannot be opened: {reason}")]
    CannotOpen { path: String, reason: io::Error },

    #[error("{path}: is a directory; name the capture files in it")]
    Directory { path: String },

    #[error("{path}: is empty (0 bytes); was the capture stopped before anything was written?")]
    Empty { path: String },

    #[error("{path}: cannot be read at byte {offset}: {reason}")]
    CannotRead { path: String, offset: u64, reason: io::Error },

    #[error("{path}: ends at byte {offset}, inside the file header; capture or copy the file again")]
    CutHeader { path: String, offset: u64 },

    #[error(
        "{path}: is not a capture file but {looks_like}; latpcap reads pcap and pcapng, also compressed with gzip, zstd or lz4"
    )]
    NotACapture {
        path: String,
        looks_like: String,
        /// It looks like nothing in particular: a capture that was damaged may.
        garbled: bool,
    },

    #[error("{path}: is a {format} capture; convert it: editcap -F pcapng {path} converted.pcapng")]
    OtherCapture { path: String, format: &'static str },

    #[error(
        "{path}: is {format} version {major}.{minor}, which latpcap does not know; convert it: editcap -F pcapng {path} converted.pcapng"
    )]
    UnknownVersion { path: String, format: &'static str, major: u16, minor: u16 },

    #[error("temporary data cannot be read back from disk: {0}")]
    Kept(io::Error),
}

impl CaptureError {
    /// What is told of the file where others can be read; `None` where whoever named it was mistaken.
    pub(super) fn damage(&self) -> Option<NoteCode> {
        match self {
            Self::Empty { .. } | Self::CutHeader { .. } => Some(NoteCode::FileCut),
            Self::NotACapture { garbled: true, .. } | Self::UnknownVersion { .. } => Some(NoteCode::FileDamaged),
            Self::CannotRead { .. } => Some(NoteCode::FileUnreadable),
            // A ring buffer has removed its oldest file.
            Self::CannotOpen { reason, .. } if reason.kind() == ErrorKind::NotFound => Some(NoteCode::FileUnreadable),
            _ => None,
        }
    }

    /// The same without the file's path.
    pub(super) fn reason(&self) -> String {
        let text = self.to_string();
        let path = match self {
            Self::CannotOpen { path, .. }
            | Self::Directory { path }
            | Self::Empty { path }
            | Self::CannotRead { path, .. }
            | Self::CutHeader { path, .. }
            | Self::NotACapture { path, .. }
            | Self::OtherCapture { path, .. }
            | Self::UnknownVersion { path, .. } => path,
            Self::Kept(_) => return text,
        };
        text.strip_prefix(path.as_str()).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&text).to_owned()
    }
}
