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
    /// The server pushes and nobody asks: replication, events.
    pub replication: bool,
    /// Rows whose format was not captured are among those counted: their number was told from the packets around them.
    pub estimated_rows: bool,
    /// Whether a transaction is open, as the server last said: `idle`, `open` or `failed`.
    pub transaction: Option<&'static str>,
    /// A hash of what another connection must present to cancel what runs on this one.
    pub cancel_key: Option<u64>,
    /// The hash that this connection presents.
    pub cancels: Option<u64>,
}
