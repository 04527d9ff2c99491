//! Why a capture cannot be read at all. Whatever can be read in part becomes a note instead.

use std::io;

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

    #[error("{path}: is cut at byte {offset}, inside the file header; capture again or copy the file again")]
    CutHeader { path: String, offset: u64 },

    #[error(
        "{path}: is no capture but {looks_like}; latpcap reads pcap and pcapng, also compressed with gzip, zstd or lz4"
    )]
    NotACapture { path: String, looks_like: String },

    #[error("{path}: is a {format} capture; convert it: editcap -F pcapng {path} converted.pcapng")]
    OtherCapture { path: String, format: &'static str },

    #[error(
        "{path}: is {format} version {major}.{minor}, which latpcap does not know; convert it: editcap -F pcapng {path} converted.pcapng"
    )]
    UnknownVersion { path: String, format: &'static str, major: u16, minor: u16 },

    #[error("what was kept on disk cannot be read back: {0}")]
    Kept(io::Error),
}
