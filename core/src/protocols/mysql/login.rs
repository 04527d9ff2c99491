//! How a connection begins: the server's greeting, the client's login, and the change of user, which looks much alike.
//!
//! ```text
//! 0A | version 0 | thread u32 | salt [8] 0 | capabilities u16 | charset u8 | status u16 | capabilities u16 | …   greeting
//! 09 | version 0 | thread u32 | scramble 0                                                               greeting of 3.20
//! capabilities u32 | max packet u32 | charset u8 | 0 [23] | user 0 | password | database 0 | plugin 0 | attributes   login
//! capabilities u16 | max packet u24 | user 0 | password 0 | database                                    login before 4.1
//! capabilities u32 | max packet u32 | charset u8 | 0 [23]                                  please speak TLS from here on
//! 11 | user 0 | password | database 0 | charset u16 | plugin 0 | attributes                               change of user
//! ```
//!
//! Which of these fields are there, the client's capabilities say. Passwords are passed over and kept nowhere.

use std::ops::RangeInclusive;

use super::framing::{Packet, lenenc, lenenc_bytes, name, text};
use crate::cursor::{Cursor, TooShort};
use crate::drivers::Client;
use crate::session::Session;

/// What both sides can agree on.
pub const CONNECT_WITH_DB: u32 = 1 << 3;
pub const COMPRESS: u32 = 1 << 5;
pub const PROTOCOL_41: u32 = 1 << 9;
pub const SSL: u32 = 1 << 11;
pub const SECURE_CONNECTION: u32 = 1 << 15;
pub const PLUGIN_AUTH: u32 = 1 << 19;
pub const CONNECT_ATTRIBUTES: u32 = 1 << 20;
pub const PLUGIN_AUTH_LENENC_DATA: u32 = 1 << 21;
pub const DEPRECATE_EOF: u32 = 1 << 24;
pub const ZSTD_COMPRESSION: u32 = 1 << 26;
pub const QUERY_ATTRIBUTES: u32 = 1 << 27;

const TLS_REQUEST_LENGTH: u32 = 32;
const OLD_TLS_REQUEST_LENGTH: u32 = 5;

/// What asks the client to go on with its login inside TLS: a status with one byte (the whole password, please), and
/// AuthSwitchRequests (4 + 1 + the plugin's name + its data) of sha256_password, parsec, mysql_native_password or
/// caching_sha2_password, and client_ed25519.
const WHOLE_PASSWORD: u64 = 6;
const SWITCHES: [u64; 6] = [42, 44, 45, 48, 52, 53];

/// After an answer of so many bytes, does the login go on? An OK is 11 bytes long, more where it names the database.
pub fn goes_on(answer: &RangeInclusive<u64>) -> bool {
    *answer == (WHOLE_PASSWORD..=WHOLE_PASSWORD) || SWITCHES.iter().any(|length| answer.contains(length))
}

/// What each side can do; `None` where that was not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    pub client: Option<u32>,
    pub server: Option<u32>,
}

impl Capabilities {
    /// Do both sides have it? `None` where one side's word is missing.
    pub fn agreed(&self, flag: u32) -> Option<bool> {
        match (self.client.map(|own| own & flag != 0), self.server.map(|own| own & flag != 0)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }

    /// The name of the compression that begins after the login. Where the greeting was not seen, the client knew it.
    pub fn compression(&self) -> Option<&'static str> {
        let agreed = |flag| self.client.is_some() && self.agreed(flag).unwrap_or(true);
        match (agreed(COMPRESS), agreed(ZSTD_COMPRESSION)) {
            (true, _) => Some("zlib"),
            (false, true) => Some("zstd"),
            (false, false) => None,
        }
    }
}

/// What the server says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    pub version: String,
    /// `None` where the capture has cut them off.
    pub capabilities: Option<u32>,
}

impl Greeting {
    pub fn read(packet: &Packet<'_>) -> Result<Greeting, TooShort> {
        let mut cursor = Cursor::new(packet.payload);
        let protocol = cursor.u8("protocol version")?;
        let version = without_prefix(cursor.until(0, "server version")?);
        let capabilities = match protocol {
            10 => capabilities_v10(&mut cursor, packet.is_whole()),
            _ => Some(0),
        };
        Ok(Greeting { version, capabilities })
    }
}

/// MariaDB puts "5.5.5-" before its version, for the sake of old replicas.
fn without_prefix(version: &[u8]) -> String {
    match version.strip_prefix(b"5.5.5-") {
        Some(true_version @ [b'0'..=b'9', ..]) => text(true_version),
        _ => text(version),
    }
}

fn capabilities_v10(cursor: &mut Cursor<'_>, whole: bool) -> Option<u32> {
    cursor.skip(4 + 8 + 1, "thread id and salt").ok()?;
    let low = u32::from(cursor.u16_le("capabilities").ok()?);
    let high = cursor.skip(3, "charset and status").and_then(|()| cursor.u16_le("upper capabilities"));
    match high {
        Ok(high) => Some(u32::from(high) << 16 | low),
        Err(_) => whole.then_some(low),
    }
}

/// What the client says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    pub capabilities: Option<u32>,
    pub user: Option<String>,
    pub database: Option<String>,
    pub application: Option<String>,
    pub driver: Option<String>,
    pub driver_version: Option<String>,
    /// The words that tell drivers apart that do not name themselves: `flags=003fa68d packet=16777216 charset=45`, and the names
    /// of the attributes.
    pub startup: String,
}

impl Login {
    /// The login in `payload`. What a cut packet does not show stays unsaid.
    pub fn read(payload: &[u8]) -> Login {
        let mut login = Login::default();
        let mut cursor = Cursor::new(payload);
        let _ = login.fields(&mut cursor);
        login
    }

    /// The change of user in `payload`, behind its command byte.
    pub fn read_change(payload: &[u8], capabilities: Option<u32>) -> Login {
        let mut login = Login { capabilities, ..Login::default() };
        let mut cursor = Cursor::new(payload);
        let _ = login.changed_fields(&mut cursor);
        login
    }

    /// The session takes what the client says about itself.
    pub fn introduce(self, session: &mut Session) {
        self.introduce_driver(&mut session.client);
        session.user = self.user;
        session.database = self.database;
        session.application = self.application;
    }

    /// The driver is shown by what it says and how it logs in.
    pub fn introduce_driver(&self, client: &mut Client) {
        self.driver.iter().for_each(|name| client.says(name));
        self.driver_version.iter().for_each(|version| client.says_version(version));
        client.starts(&self.startup);
    }

    fn fields(&mut self, cursor: &mut Cursor<'_>) -> Result<(), TooShort> {
        let mut ahead = *cursor;
        let capabilities = ahead.u32_le("capabilities")?;
        if capabilities & PROTOCOL_41 == 0 {
            return self.old_fields(cursor);
        }
        self.capabilities = Some(capabilities);
        cursor.skip(4, "capabilities")?;
        let (packet, charset) = (cursor.u32_le("max packet")?, cursor.u8("charset")?);
        self.startup = format!("flags={capabilities:08x} packet={packet} charset={charset}");
        cursor.skip(23, "reserved bytes")?;
        self.user = name(cursor.until(0, "user")?);
        self.password(cursor)?;
        if capabilities & CONNECT_WITH_DB != 0 {
            self.database = name(cursor.until(0, "database")?);
        }
        if capabilities & PLUGIN_AUTH != 0 {
            cursor.until(0, "authentication plugin")?;
        }
        self.attributes(cursor)
    }

    fn old_fields(&mut self, cursor: &mut Cursor<'_>) -> Result<(), TooShort> {
        let capabilities = u32::from(cursor.u16_le("capabilities")?);
        self.capabilities = Some(capabilities);
        cursor.skip(3, "max packet")?;
        self.user = name(cursor.until(0, "user")?);
        if capabilities & CONNECT_WITH_DB != 0 {
            cursor.until(0, "password")?;
            let rest = cursor.rest();
            self.database = name(rest.split(|byte| *byte == 0).next().unwrap_or_default());
        }
        Ok(())
    }

    fn changed_fields(&mut self, cursor: &mut Cursor<'_>) -> Result<(), TooShort> {
        self.user = name(cursor.until(0, "user")?);
        if self.has(SECURE_CONNECTION) {
            let length = cursor.u8("password length")?;
            cursor.skip(length.into(), "password")?;
        } else {
            cursor.until(0, "password")?;
        }
        self.database = name(cursor.until(0, "database")?);
        cursor.skip(2, "charset")?;
        if self.has(PLUGIN_AUTH) {
            cursor.until(0, "authentication plugin")?;
        }
        self.attributes(cursor)
    }

    fn password(&self, cursor: &mut Cursor<'_>) -> Result<(), TooShort> {
        if self.has(PLUGIN_AUTH_LENENC_DATA) {
            lenenc_bytes(cursor, "password").map(|_| ())
        } else if self.has(SECURE_CONNECTION) {
            let length = cursor.u8("password length")?;
            cursor.skip(length.into(), "password")
        } else {
            cursor.until(0, "password").map(|_| ())
        }
    }

    fn attributes(&mut self, cursor: &mut Cursor<'_>) -> Result<(), TooShort> {
        if !self.has(CONNECT_ATTRIBUTES) {
            return Ok(());
        }
        let length = lenenc(cursor, "length of the attributes")?;
        let mut attributes = Cursor::new(cursor.take_up_to(usize::try_from(length).unwrap_or(usize::MAX)));
        while !attributes.is_empty() {
            let key = lenenc_bytes(&mut attributes, "attribute name")?;
            let value = lenenc_bytes(&mut attributes, "attribute value")?;
            match key {
                b"program_name" => self.application = name(value),
                b"_client_name" => self.driver = name(value),
                b"_client_version" => self.driver_version = name(value),
                _ => {}
            }
            self.startup.push(' ');
            self.startup.push_str(&text(key));
        }
        Ok(())
    }

    /// Where the login was not seen, it was one of today's.
    fn has(&self, flag: u32) -> bool {
        self.capabilities.is_none_or(|own| own & flag != 0)
    }
}

/// A login that ends before the user's name asks for TLS: the true login follows inside.
pub fn asks_for_tls(packet: &Packet<'_>) -> bool {
    let mut cursor = Cursor::new(packet.payload);
    let wanted = cursor.u16_le("capabilities").is_ok_and(|low| u32::from(low) & SSL != 0);
    wanted && matches!(packet.length, TLS_REQUEST_LENGTH | OLD_TLS_REQUEST_LENGTH)
}

#[cfg(test)]
#[path = "login_tests.rs"]
mod tests;
