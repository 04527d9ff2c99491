//! What a connection tells about itself.

/// Facts that a decoder learns as the connection goes on; `None` until said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    pub server_version: Option<String>,
    pub user: Option<String>,
    pub database: Option<String>,
    pub application: Option<String>,
    /// `tls`, `wire encryption`; `None` while everything is readable.
    pub encryption: Option<&'static str>,
    pub compression: Option<&'static str>,
    /// The connection became a replication stream.
    pub replication: bool,
}
