//! The first message of both sides.
//!
//! ```text
//! (option u8 | offset u16 | length u16)* | FF | data          options: 0 version, 1 encryption, …
//! ```

use crate::cursor::Cursor;
use crate::session::Session;

const VERSION: u8 = 0;
const ENCRYPTION: u8 = 1;
const INSTANCE: u8 = 2;
const THREAD: u8 = 3;
const END: u8 = 0xff;
/// Options that there are, and more.
const LAST_OPTION: u8 = 0x10;

/// What was agreed about TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    #[default]
    Unknown,
    /// The client could do it, for the login alone if the server wants no more.
    Offered,
    /// For the login alone.
    OfLogin,
    /// For all that is said, or for nothing.
    AllOrNone,
}

impl Encryption {
    pub fn client(&mut self, body: &[u8]) {
        *self = match option(body, ENCRYPTION).and_then(<[u8]>::first) {
            Some(0) => Encryption::Offered,
            _ => Encryption::AllOrNone,
        };
    }

    pub fn server(&mut self, body: &[u8]) {
        let says = option(body, ENCRYPTION).and_then(<[u8]>::first);
        *self = match (*self, says) {
            (Encryption::Offered, Some(0)) => Encryption::OfLogin,
            _ => Encryption::AllOrNone,
        };
    }
}

/// What one option says.
fn option(body: &[u8], wanted: u8) -> Option<&[u8]> {
    options(body).find(|&(option, ..)| option == wanted).and_then(|(_, at, length)| body.get(at..)?.get(..length))
}

fn options(body: &[u8]) -> impl Iterator<Item = (u8, usize, usize)> {
    let mut cursor = Cursor::new(body);
    std::iter::from_fn(move || {
        let option = cursor.u8("option").ok().filter(|&option| option != END)?;
        let at = cursor.u16_be("offset").ok()?;
        Some((option, usize::from(at), usize::from(cursor.u16_be("length").ok()?)))
    })
}

/// The words in which pre-logins of drivers differ, in clear also where the login is not:
/// `prelogin version=18.6.2 options=version,encryption,instance,thread,mars,trace instance=MSSQLServer thread=0`.
pub fn startup(body: &[u8]) -> String {
    let version = match option(body, VERSION) {
        Some([major, minor, high, low, ..]) => version(*major, *minor, [*high, *low]),
        _ => String::new(),
    };
    let names: Vec<_> = options(body).map(|(option, ..)| option_name(option)).collect();
    let instance = option(body, INSTANCE).unwrap_or_default();
    let instance = String::from_utf8_lossy(instance.split(|&byte| byte == 0).next().unwrap_or_default());
    let thread = option(body, THREAD).unwrap_or_default().iter().fold(0_u32, |id, &byte| id << 8 | u32::from(byte));
    format!("prelogin version={version} options={} instance={instance} thread={thread}", names.join(","))
}

fn option_name(option: u8) -> &'static str {
    match option {
        VERSION => "version",
        ENCRYPTION => "encryption",
        INSTANCE => "instance",
        THREAD => "thread",
        4 => "mars",
        5 => "trace",
        6 => "federated",
        7 => "nonce",
        _ => "other",
    }
}

/// The server's version: major u8 | minor u8 | build u16 | sub-build u16
pub fn introduce(body: &[u8], session: &mut Session) {
    if let Some([major, minor, high, low, ..]) = option(body, VERSION) {
        session.server_version = Some(version(*major, *minor, [*high, *low]));
    }
}

pub fn version(major: u8, minor: u8, build: [u8; 2]) -> String {
    format!("{major}.{minor}.{}", u16::from_be_bytes(build))
}

/// A whole list of options, the version first.
pub fn is_options(body: &[u8], length: usize) -> bool {
    let mut expected = VERSION;
    for (number, (option, at, long)) in options(body).enumerate() {
        let follows = if number == 0 { option == VERSION } else { option > expected && option <= LAST_OPTION };
        if !follows || at + long > length {
            return false;
        }
        expected = option;
        if body.get(5 * (number + 1)) == Some(&END) {
            return true;
        }
    }
    false
}
