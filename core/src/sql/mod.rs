//! Statements: their fingerprints, kept once each.
//!
//! A statement comes in as bytes and is remembered as numbers ([`Sql`]). Its fingerprint ([`fingerprint`]) has no
//! literals, so it groups what the program wrote once and sent many times, and it can be shown to anybody.

mod credentials;
mod family;
pub mod fingerprint;
mod fold;
mod hash;
mod kind;
mod lexer;
mod generated_names;
mod named;
mod redact;
mod secrets;
mod tags;
mod template;
mod transact;
mod visible;

#[cfg(test)]
mod fingerprint_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod secrets_tests;
#[cfg(test)]
mod transact_tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::drivers;
use crate::ledger::Limits;
use fingerprint::Fingerprinter;
use hash::Hash;
pub use kind::StatementKind;
pub use lexer::{Dialect, DoubleQuotes, HashSign};
pub use named::{Names, Use};
use template::{Meant, Templates};
pub use transact::quotes_behind;

/// A statement as an exchange remembers it: numbers into [`Statements`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sql {
    /// The statement with its literals removed.
    pub fingerprint: u32,
    /// The text to show: equals `fingerprint` unless literals are kept.
    pub text: u32,
    /// A hash of what was removed (literals) or sent beside (bind values): equal for equal parameters.
    pub parameters: u64,
    /// What a comment of it says of the code that sent it: a number into its tags, [`NO_TAGS`] for nothing.
    pub tags: u32,
}

/// The statement has no tags, or there is no room left for further ones.
pub const NO_TAGS: u32 = u32::MAX;

/// All texts of a recording, each kept once.
#[derive(Debug, Default)]
pub struct Statements {
    show_literals: bool,
    reader: Fingerprinter,
    templates: Templates,
    texts: Texts,
    /// The signs of drivers and frameworks in each fingerprint, by its number.
    signs: Vec<u128>,
    /// Fingerprints of statements that held a secret.
    secretive: HashSet<u32>,
    /// Where literals are shown: those of statements that held or named one, of which none are.
    speaking: HashSet<u32>,
    tags: Texts,
    /// What texts may take.
    most: usize,
    overflowed: u64,
}

impl Statements {
    /// With `show_literals` the text of a statement keeps its literals, unless it speaks of secrets.
    pub fn new(show_literals: bool) -> Statements {
        Statements::within(show_literals, Limits::default().statements)
    }

    /// The same, with so many bytes for texts.
    pub fn within(show_literals: bool, bytes: usize) -> Statements {
        Statements { show_literals, most: bytes, ..Statements::default() }
    }

    /// What all texts take.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        self.texts.bytes + self.tags.bytes
    }

    /// The statement in `text`, whatever dialect it is: its fingerprint, the text to show, and a hash of its literals.
    pub fn sql(&mut self, text: &[u8]) -> Sql {
        self.sql_in(Dialect::UNKNOWN, text)
    }

    /// The statement in `text`. The dialect settles what the text leaves open: is `"smith"` a name or a string?
    pub fn sql_in(&mut self, dialect: Dialect, text: &[u8]) -> Sql {
        if !self.show_literals
            && let Some((Meant { fingerprint, tags }, parameters)) = self.templates.find(dialect, text)
        {
            return Sql { fingerprint, text: fingerprint, parameters, tags };
        }
        let parameters = self.reader.read(dialect, text);
        let overflowed = self.overflowed;
        let fingerprint = self.fingerprint();
        if self.reader.holds_secrets() {
            self.secretive.insert(fingerprint);
        }
        let shows = self.show_literals && !self.reader.speaks_of_secrets();
        let tags = self.tags_of(text, shows);
        if shows {
            return Sql { fingerprint, text: self.raw(text, fingerprint), parameters, tags };
        }
        if self.show_literals {
            self.speaking.insert(fingerprint);
            return Sql { fingerprint, text: fingerprint, parameters, tags };
        }
        if self.overflowed == overflowed {
            self.learn(dialect, text, Meant { fingerprint, tags });
        }
        Sql { fingerprint, text: fingerprint, parameters, tags }
    }

    /// Remember the statement that was read last, unless other literals could change more of it than the parameters.
    fn learn(&mut self, dialect: Dialect, text: &[u8], means: Meant) {
        let Some(literals) = self.reader.only_literals() else { return };
        let comment = tags::place(text).unwrap_or_default();
        if !literals.iter().any(|literal| comment.contains(&literal.start)) {
            self.templates.learn(dialect, text, literals, means);
        }
    }

    /// `sql`, executed with the bind values in `bytes`.
    pub fn with_parameters(sql: Sql, bytes: &[u8]) -> Sql {
        let mut parameters = Hash::from(sql.parameters);
        parameters.add(bytes);
        Sql { parameters: parameters.value(), ..sql }
    }

    /// `text` as it may be printed: nothing in it steers a terminal.
    pub fn printable(text: &str) -> String {
        let mut printable = String::new();
        visible::append(&mut printable, text.as_bytes());
        printable
    }

    /// `text` steers no terminal: line ends and tabs, which a screen shows, may be in it.
    pub fn is_printable(text: &str) -> bool {
        !visible::steers(text)
    }

    /// What somebody calls itself, as it may be printed: some put a connection string there.
    pub fn name(text: &str) -> String {
        Statements::printable(&credentials::mask(text))
    }

    /// The text behind a number of [`Sql`].
    pub fn text(&self, id: u32) -> &str {
        self.texts.list.get(id as usize).map_or("", |text| text)
    }

    /// The tags of all statements, by their numbers.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.tags.list.iter().map(|text| &**text)
    }

    fn tags_of(&mut self, text: &[u8], all: bool) -> u32 {
        let tags = tags::tags(text, all);
        if tags.is_empty() { NO_TAGS } else { self.tags.number(&tags, OVERHEAD, self.most / TAGS).unwrap_or(NO_TAGS) }
    }

    /// How many texts are kept.
    pub fn len(&self) -> usize {
        self.texts.list.len()
    }

    /// Whether no text is kept.
    pub fn is_empty(&self) -> bool {
        self.texts.list.is_empty()
    }

    /// How many statements came when there was no room left for a text of their own.
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// A server's message as far as it is kept, safe to print; what of it may be shown says [`Statements::error`].
    pub fn message(message: &str) -> String {
        redact::keep(message)
    }

    /// The error that `sql` was answered with, as it may be shown: a server repeats parts of what it was sent, and
    /// words without quotes may be a password where the statement holds one.
    pub fn error(&self, sql: Option<Sql>, code: &str, message: &str) -> String {
        let of = |statements: &HashSet<u32>| sql.is_some_and(|sql| statements.contains(&sql.fingerprint));
        let message = if of(&self.secretive) || redact::repeats_a_password(message) {
            "?".to_owned()
        } else if self.show_literals && !of(&self.speaking) {
            credentials::mask(message)
        } else if redact::is_of_the_application(code) {
            "?".to_owned()
        } else {
            redact::redact(message, sql.map_or("", |sql| self.text(sql.fingerprint)))
        };
        format!("{}: {message}", Statements::error_code(code))
    }

    /// The code of an error, cut and safe to print.
    pub fn error_code(code: &str) -> String {
        Statements::printable(&code.chars().take(LONGEST_CODE).collect::<String>())
    }

    /// The signs of drivers and frameworks in a statement.
    #[inline]
    pub fn signs(&self, sql: Sql) -> u128 {
        self.signs.get(sql.fingerprint as usize).copied().unwrap_or_default()
    }

    fn fingerprint(&mut self) -> u32 {
        let number = self.texts.number(&self.reader.fingerprint, ROW, self.most / TAGS * (TAGS - 1));
        let Some(number) = number else {
            self.overflowed += 1;
            return self.texts.number_of_others();
        };
        if self.signs.len() <= number as usize && self.signs.len() < MAX_SEARCHED_TEXTS {
            self.signs.resize(number as usize, 0);
            self.signs.push(drivers::signs_of(&self.reader.fingerprint));
        }
        number
    }

    /// The statement as it was sent, or its fingerprint if there is no room: texts with literals may be many, and
    /// leave a part of the room to fingerprints.
    fn raw(&mut self, text: &[u8], fingerprint: u32) -> u32 {
        self.reader.keep_raw(text);
        self.texts.number(&self.reader.raw, OVERHEAD, self.most / 4 * 3).unwrap_or_else(|| {
            self.overflowed += 1;
            fingerprint
        })
    }
}

/// Texts in which signs of drivers are looked for.
const MAX_SEARCHED_TEXTS: usize = 5_000;

/// No code of an error is longer.
const LONGEST_CODE: usize = 40;

/// Tags have the part of the room that this divides it by.
const TAGS: usize = 16;
/// What a text costs beside its bytes; a fingerprint is a row of results besides.
const OVERHEAD: usize = 96;
const ROW: usize = 512;

/// What all texts share for which there is no room.
const OTHERS: &str = "(too many distinct statements)";

/// Distinct texts, numbered in the order they came. The map is only asked, never listed: results do not depend on it.
#[derive(Debug, Default)]
struct Texts {
    list: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    bytes: usize,
}

impl Texts {
    /// The number of `text`, which is kept if all of them then take no more than `most` bytes, each so many `beside`
    /// its own.
    fn number(&mut self, text: &str, beside: usize, most: usize) -> Option<u32> {
        if let Some(number) = self.numbers.get(text) {
            return Some(*number);
        }
        let fits = self.bytes + text.len() + beside <= most;
        fits.then(|| self.keep(text, beside))
    }

    fn number_of_others(&mut self) -> u32 {
        self.numbers.get(OTHERS).copied().unwrap_or_else(|| self.keep(OTHERS, ROW))
    }

    fn keep(&mut self, text: &str, beside: usize) -> u32 {
        let number = self.list.len() as u32;
        let text: Arc<str> = text.into();
        self.bytes += text.len() + beside;
        self.list.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }
}

#[cfg(test)]
mod tests;
