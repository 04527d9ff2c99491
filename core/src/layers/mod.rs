//! What a stream's bytes may be wrapped in between TCP and the protocol's messages.

pub mod deflate;
pub mod mysql_compression;
mod unwrap;

pub use deflate::Deflate;
pub use mysql_compression::MysqlCompression;
pub use unwrap::Unwrap;
