//! Which client a connection has: its driver, and the framework above it, as far as it shows them.
//!
//! While a connection is read its signs are collected ([`Client`]); who shows which stands in the table (`core/drivers/`),
//! with the settings of each and the sources of both. A client that names itself is believed before its manners are.

mod glob;
mod table;

use std::cell::RefCell;

use glob::Glob;
use table::{Entry, Kind, Row, Shown, TABLE};

/// A driver's name or version is no longer.
const MAX_NAME_CHARS: usize = 64;
/// Names of statements that are looked at in a connection.
const MAX_STATEMENT_NAMES: u8 = 16;
/// The languages of libraries on which programs in other languages are built.
const LIBRARY_LANGUAGES: [&str; 4] = ["C", "C++", "ODBC", "OLE DB"];

thread_local! {
    /// The login that was looked at last, and its signs: connections of one client follow each other.
    static LAST_STARTUP: RefCell<(String, u128)> = const { RefCell::new((String::new(), 0)) };
}

/// The signs that a connection has shown of its client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    name: Option<Box<str>>,
    version: Option<Box<str>>,
    shown: Shown,
    statement_names: u8,
}

/// The whole table as JSON.
pub fn table_json() -> String {
    serde_json::to_string(&*TABLE).expect("texts and lists become JSON")
}

/// The signs of a statement's fingerprint.
pub fn signs_of(fingerprint: &str) -> u128 {
    TABLE.statements(fingerprint)
}

impl Client {
    /// It calls itself so.
    pub fn says(&mut self, name: &str) {
        self.name = short(name);
    }

    /// It says which version it is.
    pub fn says_version(&mut self, version: &str) {
        self.version = short(version);
    }

    /// The version that it says it has.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Its login sends this beside names and values: words in their order.
    pub fn starts(&mut self, words: &str) {
        self.shown.startups |= LAST_STARTUP.with_borrow_mut(|(last, signs)| {
            if last != words {
                *signs = TABLE.startups(words);
                words.clone_into(last);
            }
            *signs
        });
    }

    /// It gives a statement or portal this name.
    pub fn names_statement(&mut self, name: &[u8]) {
        if !name.is_empty() && self.statement_names < MAX_STATEMENT_NAMES {
            self.statement_names += 1;
            self.shown.statement_names |= TABLE.statement_names(name);
        }
    }

    /// It sends a statement with these signs.
    pub fn sends(&mut self, signs: u128) {
        self.shown.statements |= signs;
    }
}

fn short(text: &str) -> Option<Box<str>> {
    let text: String = text.trim().chars().take(MAX_NAME_CHARS).collect();
    (!text.is_empty()).then(|| text.into())
}

/// A client's part by its name in the table or its own, and by what it is known.
#[derive(Debug, PartialEq, Eq)]
pub struct Known<'a> {
    pub name: &'a str,
    pub by: String,
    /// The version that it says; `None` where it is known by more than its name, as a library below may have said it.
    pub version: Option<&'a str>,
    /// That of the programs that use it; `None` for a client that only its own name tells.
    language: Option<&'static str>,
}

/// The driver of a connection, where it shows which.
pub fn driver<'a>(protocol: &str, client: &'a Client, application: Option<&str>) -> Option<Known<'a>> {
    let said = || {
        let name = client.name.as_deref()?;
        Some(Known { name, by: words(&[Kind::Says]), version: client.version(), language: None })
    };
    find(TABLE.drivers_of(protocol).iter(), client, application).or_else(said)
}

/// The driver, and the framework, object mapper or pool above it, where the connection shows them: another framework's
/// statements may look like its own, so it is in the driver's language.
pub fn driver_and_framework<'a>(
    protocol: &str,
    client: &'a Client,
    application: Option<&str>,
) -> (Option<Known<'a>>, Option<Known<'a>>) {
    let driver = driver(protocol, client, application);
    let language = driver.as_ref().and_then(|driver| driver.language);
    let language = language.filter(|language| !LIBRARY_LANGUAGES.contains(language));
    let speaks = |entry: &&Entry| entry.protocol.as_deref().is_none_or(|only| only == protocol);
    let is_of_language = |entry: &&Entry| language.is_none_or(|language| language == entry.language);
    let frameworks = TABLE.frameworks.iter().filter(speaks).filter(is_of_language);
    (driver, find(frameworks, client, application))
}

/// The first entry of which a row holds in which the client names itself, else the first of which any row holds.
fn find<'a>(
    entries: impl Iterator<Item = &'static Entry>,
    client: &'a Client,
    application: Option<&str>,
) -> Option<Known<'a>> {
    let name = client.name.as_deref().unwrap_or_default().to_ascii_lowercase();
    let application = application.unwrap_or_default().to_ascii_lowercase();
    let fits = |glob: &Option<Glob>, text: &str| glob.as_ref().is_none_or(|glob| glob.fits(text.as_bytes()));
    let holds =
        |row: &&Row| client.shown.holds(row.shown) && fits(&row.says, &name) && fits(&row.application, &application);
    let mut recognised = None;
    for entry in entries {
        for row in entry.rows.iter().filter(holds) {
            let version = client.version().filter(|_| row.kinds == [Kind::Says]);
            let language = Some(&*entry.language);
            let known = || Known { name: &entry.name, by: words(&row.kinds), version, language };
            if row.names_itself() {
                return Some(known());
            }
            recognised.get_or_insert_with(known);
        }
    }
    recognised
}

/// By what it is known: `said`, or the kinds of its signs.
fn words(kinds: &[Kind]) -> String {
    if kinds.iter().all(|kind| kind.names()) {
        return "said".to_owned();
    }
    let words: Vec<_> = kinds.iter().map(|kind| kind.words()).collect();
    match &words[..] {
        [first @ .., last] if first.len() > 1 => format!("{} and {last}", first.join(", ")),
        words => words.join(" and "),
    }
}

#[cfg(test)]
mod tests;
