//! What client and server agree on in clear: ClientHello (RFC 8446 §4.1.2) and ServerHello (§4.1.3), and the certificate's
//! subject where the chain is in clear (RFC 5246 §7.4.2, up to TLS 1.2).
//!
//! ```text
//! version u16 | random [32] | session id <u8> | suites <u16> | compressions <u8> | extensions <u16>        ClientHello
//! version u16 | random [32] | session id <u8> | suite u16    | compression u8    | extensions <u16>        ServerHello
//! extension: type u16 | body <u16>                             <n>: a length of so many bits, and as many bytes
//! certificates <u24>, each <u24>                                                                           Certificate
//! ```

use x509_cert::Certificate;
use x509_cert::der::{Decode, SliceReader};

use super::KeyLog;
use super::handshake::{CLIENT_HELLO, HandshakeMessages};
use super::keylog::Random;
use super::record::{self, Header};
use crate::cursor::{Cursor, TooShort};
use crate::sql::Statements;

pub const SSL_3: u16 = 0x0300;
pub const TLS_1_0: u16 = 0x0301;
pub const TLS_1_1: u16 = 0x0302;
pub const TLS_1_2: u16 = 0x0303;
pub const TLS_1_3: u16 = 0x0304;

const SERVER_NAME: u16 = 0;
const APPLICATION_PROTOCOLS: u16 = 16;
const ENCRYPT_THEN_MAC: u16 = 22;
const SESSION_TICKET: u16 = 35;
const PRE_SHARED_KEY: u16 = 41;
const EARLY_DATA: u16 = 42;
const SUPPORTED_VERSIONS: u16 = 43;

/// A name of a host is 253 long at most (RFC 1035 §2.3.4); a subject may be any length.
const NAME_MAX: usize = 256;

/// The ServerHello with this random asks the client to begin once more (RFC 8446 §4.1.3).
const RETRY_REQUEST: Random = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// What the client offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHello {
    pub random: Random,
    /// 32 bytes at most.
    pub session_id: Vec<u8>,
    pub server_name: Option<String>,
    /// What it calls the protocol that it wants to speak (ALPN, RFC 7301): the first that it names.
    pub application_protocol: Option<String>,
    /// The session of TLS 1.2 that it wants to go on with, by what its ticket is remembered by.
    pub ticket: Option<[u8; 32]>,
    /// Data comes with it, before any answer.
    pub offers_early_data: bool,
}

/// What the server chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerHello {
    pub random: Random,
    /// The version that is spoken from here on.
    pub version: u16,
    pub cipher_suite: u16,
    pub session_id: Vec<u8>,
    pub encrypt_then_mac: bool,
    /// It goes on with the session that the client offered (TLS 1.3).
    pub pre_shared_key: bool,
    /// It sends a new ticket for a session of TLS 1.2.
    pub session_ticket: bool,
}

impl ClientHello {
    /// The ClientHello that a connection begins with, where it is whole in its first record.
    pub fn opening(bytes: &[u8]) -> Option<ClientHello> {
        let header = Header::read(bytes).ok()?.filter(|header| header.content_type == record::HANDSHAKE)?;
        let mut hello = None;
        HandshakeMessages::default().read(bytes.get(record::HEADER..header.record_length())?, |message| {
            if message.kind == CLIENT_HELLO {
                hello = ClientHello::read(message.body).ok();
            }
        });
        hello
    }

    /// The ClientHello in a message's body.
    pub fn read(body: &[u8]) -> Result<ClientHello, TooShort> {
        let mut cursor = Cursor::new(body);
        cursor.skip(2, "version")?;
        let mut hello = ClientHello {
            random: cursor.array("random")?,
            session_id: session_id(&mut cursor)?,
            ..ClientHello::default()
        };
        let suites = cursor.u16_be("length of the cipher suites")?;
        cursor.skip(usize::from(suites), "cipher suites")?;
        let compressions = cursor.u8("length of the compressions")?;
        cursor.skip(usize::from(compressions), "compressions")?;
        each_extension(&mut cursor, |kind, extension| hello.extension(kind, extension))?;
        Ok(hello)
    }

    fn extension(&mut self, kind: u16, mut body: Cursor<'_>) -> Result<(), TooShort> {
        match kind {
            SERVER_NAME => self.server_name = server_name(&mut body)?,
            APPLICATION_PROTOCOLS => {
                body.skip(2, "length of the protocols")?;
                let length = body.u8("length of a protocol")?;
                self.application_protocol = told(body.take(usize::from(length), "protocol")?);
            }
            SESSION_TICKET => self.ticket = (!body.is_empty()).then(|| KeyLog::name_of(body.rest())),
            EARLY_DATA => self.offers_early_data = true,
            _ => {}
        }
        Ok(())
    }
}

impl ServerHello {
    /// The ServerHello in a message's body.
    pub fn read(body: &[u8]) -> Result<ServerHello, TooShort> {
        let mut cursor = Cursor::new(body);
        let mut hello = ServerHello {
            version: cursor.u16_be("version")?,
            random: cursor.array("random")?,
            session_id: session_id(&mut cursor)?,
            cipher_suite: cursor.u16_be("cipher suite")?,
            ..ServerHello::default()
        };
        cursor.skip(1, "compression")?;
        each_extension(&mut cursor, |kind, extension| hello.extension(kind, extension))?;
        Ok(hello)
    }

    /// It chooses nothing yet, but asks the client to begin once more, with another key.
    pub fn is_retry_request(&self) -> bool {
        self.random == RETRY_REQUEST
    }

    fn extension(&mut self, kind: u16, mut body: Cursor<'_>) -> Result<(), TooShort> {
        match kind {
            SUPPORTED_VERSIONS => self.version = body.u16_be("version")?,
            PRE_SHARED_KEY => self.pre_shared_key = true,
            SESSION_TICKET => self.session_ticket = true,
            ENCRYPT_THEN_MAC => self.encrypt_then_mac = true,
            _ => {}
        }
        Ok(())
    }
}

/// Whose certificate is the first one in a message's body, as RFC 4514 writes it: `CN=db.example.com,O=Example`.
pub fn certificate_subject(body: &[u8]) -> Option<String> {
    let mut cursor = Cursor::new(body);
    cursor.skip(3, "length of the certificates").ok()?;
    let length = cursor.u24_be("length of a certificate").ok()?;
    let mut reader = SliceReader::new(cursor.take(length as usize, "certificate").ok()?).ok()?;
    let certificate = Certificate::decode(&mut reader).ok()?;
    told(certificate.tbs_certificate().subject().to_string().as_bytes())
}

/// How OpenSSL calls a version.
pub fn version_name(version: u16) -> Option<&'static str> {
    match version {
        SSL_3 => Some("SSLv3"),
        TLS_1_0 => Some("TLSv1"),
        TLS_1_1 => Some("TLSv1.1"),
        TLS_1_2 => Some("TLSv1.2"),
        TLS_1_3 => Some("TLSv1.3"),
        _ => None,
    }
}

fn session_id(cursor: &mut Cursor<'_>) -> Result<Vec<u8>, TooShort> {
    let length = cursor.u8("length of the session id")?;
    let session_id = cursor.take(usize::from(length), "session id")?;
    Ok(session_id.get(..32).unwrap_or(session_id).to_vec())
}

/// Hellos before TLS 1.2 may have none.
fn each_extension<'a>(
    cursor: &mut Cursor<'a>,
    mut take: impl FnMut(u16, Cursor<'a>) -> Result<(), TooShort>,
) -> Result<(), TooShort> {
    if cursor.is_empty() {
        return Ok(());
    }
    let length = cursor.u16_be("length of the extensions")?;
    let mut extensions = cursor.sub(usize::from(length), "extensions")?;
    while !extensions.is_empty() {
        let kind = extensions.u16_be("extension")?;
        let length = extensions.u16_be("length of an extension")?;
        take(kind, extensions.sub(usize::from(length), "extension")?)?;
    }
    Ok(())
}

/// The host that the client means (RFC 6066 §3).
fn server_name(body: &mut Cursor<'_>) -> Result<Option<String>, TooShort> {
    const HOST_NAME: u8 = 0;
    if body.is_empty() {
        return Ok(None);
    }
    body.skip(2, "length of the names")?;
    let kind = body.u8("type of the name")?;
    let length = body.u16_be("length of the name")?;
    let name = body.take(usize::from(length), "name")?;
    Ok(told(name).filter(|_| kind == HOST_NAME))
}

/// What somebody sent as a name, as it may be printed, and no longer than names are.
fn told(name: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(name.get(..4 * NAME_MAX).unwrap_or(name));
    let visible: String = Statements::printable(&text).chars().take(NAME_MAX).collect();
    (!visible.is_empty()).then_some(visible)
}
