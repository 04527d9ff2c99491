//! The table of drivers and frameworks: `core/drivers/`, read once.

use std::ops::Range;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::glob::Glob;

/// The drivers of each protocol; frameworks stand above drivers of several.
const FILES: [(&str, &str); 5] = [
    ("mysql", include_str!("../../drivers/mysql.toml")),
    ("postgresql", include_str!("../../drivers/postgresql.toml")),
    ("oracle", include_str!("../../drivers/oracle.toml")),
    ("firebird", include_str!("../../drivers/firebird.toml")),
    ("sqlserver", include_str!("../../drivers/sqlserver.toml")),
];
/// The part of a text in which signs are looked for.
const MAX_TEXT_BYTES: usize = 2048;
const FRAMEWORKS: &str = include_str!("../../drivers/frameworks.toml");

/// A driver, an object mapper, a framework or a pool.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub name: String,
    pub language: String,
    /// The only protocol that it speaks; of a driver the file's.
    pub protocol: Option<String>,
    /// Each row is one way to recognise it.
    pub known_by: Vec<Signs>,
    /// The page that documents this, or the version with which it was recorded.
    pub source: String,
    #[serde(default, rename(deserialize = "setting"))]
    pub settings: Vec<Setting>,
    #[serde(skip)]
    pub rows: Vec<Row>,
}

/// The signs of a client: texts with gaps, all of which must fit.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Signs {
    /// The name by which the driver calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// The words of the login beside names and values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup: Option<String>,
    /// A prepared statement's or portal's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement_name: Option<String>,
    /// A statement that the driver or framework sends by itself, as a fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
}

impl Signs {
    /// The signs that are there, each with its kind.
    pub fn each(&self) -> impl Iterator<Item = (Kind, &str)> {
        let all = [
            (Kind::Says, &self.says),
            (Kind::Application, &self.application),
            (Kind::Startup, &self.startup),
            (Kind::StatementName, &self.statement_name),
            (Kind::Statement, &self.statement),
        ];
        all.into_iter().filter_map(|(kind, text)| Some((kind, text.as_deref()?)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Says,
    Application,
    Startup,
    StatementName,
    Statement,
}

impl Kind {
    /// Is it a name that the client calls itself?
    pub fn names(self) -> bool {
        matches!(self, Kind::Says | Kind::Application)
    }

    /// The kind as readers know it.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Says => "the library's name",
            Kind::Application => "the application's name",
            Kind::Startup => "login parameters",
            Kind::StatementName => "statement names",
            Kind::Statement => "statements",
        }
    }
}

/// How a pattern is mended with this driver or framework.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// A finding's code; behind a `/` the kind of it.
    pub pattern: String,
    pub advice: String,
    /// The driver's version from which it holds.
    pub since: Option<String>,
    pub source: String,
    /// Round trips before and after, where it was tried.
    pub tried: Option<String>,
    /// It is set where the connection is opened, so it helps below a framework as well.
    #[serde(default)]
    pub option: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "driver")]
    drivers: Vec<Entry>,
    #[serde(default, rename = "framework")]
    frameworks: Vec<Entry>,
}

/// Signs by their numbers among those of their kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub startups: u128,
    pub statement_names: u128,
    pub statements: u128,
}

impl Shown {
    /// Is all of `signs` shown?
    pub fn holds(self, signs: Shown) -> bool {
        let holds = |shown: u128, asked: u128| shown & asked == asked;
        holds(self.startups, signs.startups)
            && holds(self.statement_names, signs.statement_names)
            && holds(self.statements, signs.statements)
    }
}

/// One way to recognise a client, ready to be compared.
#[derive(Debug, Default)]
pub struct Row {
    pub says: Option<Glob>,
    pub application: Option<Glob>,
    pub shown: Shown,
    pub kinds: Vec<Kind>,
}

impl Row {
    /// Does the client name itself in it?
    pub fn names_itself(&self) -> bool {
        self.kinds.iter().any(|kind| kind.names())
    }
}

/// The whole table, and its signs that are looked for while connections are read.
#[derive(Default, Serialize)]
pub struct Table {
    pub drivers: Vec<Entry>,
    pub frameworks: Vec<Entry>,
    /// Which of the drivers speak each protocol.
    #[serde(skip)]
    speakers: Vec<(&'static str, Range<usize>)>,
    #[serde(skip)]
    startups: Numbered,
    #[serde(skip)]
    statement_names: Numbered,
    #[serde(skip)]
    statements: Numbered,
}

/// The table of `core/drivers/`.
pub static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let read = |text| toml::from_str::<File>(text).expect("a file of the table is checked by the tests");
    let mut table = Table::default();
    for (protocol, text) in FILES {
        let first = table.drivers.len();
        for driver in read(text).drivers {
            let driver = table.with_rows(Entry { protocol: Some(protocol.to_owned()), ..driver });
            table.drivers.push(driver);
        }
        table.speakers.push((protocol, first..table.drivers.len()));
    }
    for framework in read(FRAMEWORKS).frameworks {
        let framework = table.with_rows(framework);
        table.frameworks.push(framework);
    }
    table
});

impl Table {
    /// The drivers of a protocol, in their order.
    pub fn drivers_of(&self, protocol: &str) -> &[Entry] {
        let range = self.speakers.iter().find(|(name, _)| *name == protocol).map(|(_, range)| range.clone());
        range.map_or(&[], |range| &self.drivers[range])
    }

    /// The signs that a login shows.
    pub fn startups(&self, text: &str) -> u128 {
        self.startups.fitting(text.as_bytes())
    }

    /// The signs in the name of a prepared statement or portal.
    pub fn statement_names(&self, name: &[u8]) -> u128 {
        self.statement_names.fitting(name)
    }

    /// The signs in a statement's fingerprint.
    pub fn statements(&self, fingerprint: &str) -> u128 {
        self.statements.fitting(fingerprint.as_bytes())
    }

    fn with_rows(&mut self, entry: Entry) -> Entry {
        let rows = entry.known_by.iter().map(|signs| self.row(signs)).collect();
        Entry { rows, ..entry }
    }

    fn row(&mut self, signs: &Signs) -> Row {
        let mut row = Row::default();
        for (kind, text) in signs.each() {
            row.kinds.push(kind);
            match kind {
                Kind::Says => row.says = Some(Glob::new(text)),
                Kind::Application => row.application = Some(Glob::new(text)),
                Kind::Startup => row.shown.startups |= self.startups.number(text),
                Kind::StatementName => row.shown.statement_names |= self.statement_names.number(text),
                Kind::Statement => row.shown.statements |= self.statements.number(text),
            }
        }
        row
    }
}

/// Signs of one kind, each with a bit.
#[derive(Default)]
struct Numbered {
    texts: Vec<String>,
    globs: Vec<Glob>,
}

impl Numbered {
    /// The bit of a sign, which is remembered.
    fn number(&mut self, text: &str) -> u128 {
        let place = self.texts.iter().position(|known| known == text).unwrap_or_else(|| {
            self.texts.push(text.to_owned());
            self.globs.push(Glob::new(text));
            self.texts.len() - 1
        });
        1u128.checked_shl(place as u32).expect("a kind has at most 128 signs")
    }

    fn fitting(&self, text: &[u8]) -> u128 {
        let text = text.get(..MAX_TEXT_BYTES).unwrap_or(text).to_ascii_lowercase();
        self.globs.iter().enumerate().fold(0, |bits, (place, glob)| bits | u128::from(glob.fits(&text)) << place)
    }
}
