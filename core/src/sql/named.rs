//! Statements that SQL itself prepares under a name, runs by it, and closes.
//!
//! ```text
//! PREPARE name [(types)] AS statement    EXECUTE name [(values)]         DEALLOCATE [PREPARE] name | ALL     DISCARD ALL
//! PREPARE name FROM 'statement'          EXECUTE name [USING @a, …]      {DEALLOCATE | DROP} PREPARE name
//! ```
//!
//! Names belong to a session, so each decoder keeps its own ([`Names`]). A text that does several things is followed,
//! too: psqlODBC closes between two savepoint commands.

use std::borrow::Cow;

use super::lexer::{Dialect, Kind, Lexer, Token};
use super::{Sql, Statements};

/// No server has longer names.
const LONGEST_NAME: usize = 256;

/// The statements that a session has named.
pub trait Names {
    fn give(&mut self, name: &[u8], sql: Option<Sql>);
    /// The statement behind a name, where it is known.
    fn get(&self, name: &[u8]) -> Option<Sql>;
    fn remove(&mut self, name: &[u8]) -> Option<Sql>;
    fn clear(&mut self);
}

/// What a text is for, and the statement that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Prepares(Option<Sql>),
    Runs(Option<Sql>),
    Closes(Option<Sql>),
}

/// What one statement of a text does.
enum Step<'a> {
    /// Without the text, where a variable holds it.
    Prepare(Vec<u8>, Option<Cow<'a, [u8]>>),
    Execute {
        name: Vec<u8>,
        /// Its values stand in variables.
        unseen_values: bool,
    },
    Close(Vec<u8>),
    CloseAll,
    /// A savepoint before or behind: nothing that the program asks.
    Aside,
    Other,
}

impl Statements {
    /// What `text` does with the `names` of its session; `sql` is the statement as it stands there.
    pub fn named(&mut self, dialect: Dialect, text: &[u8], sql: Option<Sql>, names: &mut impl Names) -> Use {
        if !may_name(text) {
            return Use::Runs(sql);
        }
        let steps = steps(dialect, text);
        let only = steps.iter().filter(|step| !matches!(step, Step::Aside)).count() == 1;
        let mut used = Use::Runs(sql);
        for step in steps {
            // Among several, none says what the whole text does; and only its values would be read.
            if !only && matches!(step, Step::Execute { .. }) {
                continue;
            }
            let meant = self.step(dialect, text, step, sql, names);
            used = meant.filter(|_| only).unwrap_or(used);
        }
        match used {
            Use::Prepares(about) => Use::Prepares(self.sent_as(about, sql)),
            Use::Runs(about) => Use::Runs(self.sent_as(about, sql)),
            Use::Closes(about) => Use::Closes(self.sent_as(about, sql)),
        }
    }

    /// The statement `about`, asked for by the text `sql`: with literals, the text is shown as it was sent.
    fn sent_as(&self, about: Option<Sql>, sql: Option<Sql>) -> Option<Sql> {
        let (about, sent) = (about?, sql?);
        let text = if self.show_literals { sent.text } else { about.text };
        Some(Sql { text, tags: sent.tags, ..about })
    }

    fn step(
        &mut self,
        dialect: Dialect,
        text: &[u8],
        step: Step<'_>,
        sql: Option<Sql>,
        names: &mut impl Names,
    ) -> Option<Use> {
        match step {
            Step::Prepare(name, prepared) => {
                let prepared = prepared.map(|prepared| self.sql_in(dialect, &prepared));
                names.give(&name, prepared);
                Some(Use::Prepares(prepared.or(sql)))
            }
            Step::Execute { name, unseen_values } => {
                let prepared = names.get(&name)?;
                let values = self.values(dialect, text, prepared);
                let parameters = if unseen_values { 0 } else { values.parameters };
                Some(Use::Runs(Some(Sql { parameters, ..prepared })))
            }
            Step::Close(name) => Some(Use::Closes(names.remove(&name))),
            Step::CloseAll => {
                names.clear();
                None
            }
            Step::Aside | Step::Other => None,
        }
    }

    /// `prepared`, executed with the literals in `text`.
    fn values(&mut self, dialect: Dialect, text: &[u8], prepared: Sql) -> Sql {
        let values = self.reader.read(dialect, text);
        if self.reader.holds_secrets() {
            self.secretive.insert(prepared.fingerprint);
        }
        if values == 0 { prepared } else { Statements::with_parameters(prepared, &values.to_le_bytes()) }
    }
}

const WORDS: [&[u8]; 5] = [b"prepare", b"execute", b"deallocate", b"discard", b"drop"];

/// Most texts name nothing: those that begin otherwise, and have no second statement that might.
fn may_name(text: &[u8]) -> bool {
    let first = text.trim_ascii_start();
    let mut later = memchr::memchr_iter(b';', text);
    begins_with_word(first)
        || first.starts_with(b"/*")
        || first.starts_with(b"--")
        || later.any(|end| begins_with_word(text[end + 1..].trim_ascii_start()))
}

fn begins_with_word(text: &[u8]) -> bool {
    let begins = |word: &&[u8]| text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    matches!(text.first(), Some(b'p' | b'P' | b'e' | b'E' | b'd' | b'D')) && WORDS.iter().any(begins)
}

fn steps(dialect: Dialect, text: &[u8]) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut part: Vec<Token<'_>> = Vec::new();
    for token in Lexer::new(dialect, dialect.escapes_with_backslash, text) {
        if token.kind != Kind::Semicolon {
            part.push(token);
        } else if !part.is_empty() {
            steps.push(step(dialect, text, &part, token.start));
            part.clear();
        }
    }
    if !part.is_empty() {
        steps.push(step(dialect, text, &part, text.len()));
    }
    steps
}

/// What the statement does that consists of the tokens `part` and stands before `end`.
fn step<'a>(dialect: Dialect, text: &'a [u8], part: &[Token<'a>], end: usize) -> Step<'a> {
    match part {
        [first, name, rest @ ..] if first.is("prepare") => match (name_of(name), prepared(dialect, text, rest, end)) {
            (Some(name), Some(prepared)) => Step::Prepare(name, prepared),
            _ => Step::Other,
        },
        [first, name, rest @ ..] if first.is("execute") && !name.is_any(&["immediate", "procedure", "block"]) => {
            let unseen_values = rest.first().is_some_and(|token| token.is("using"));
            name_of(name).map_or(Step::Other, |name| Step::Execute { name, unseen_values })
        }
        [first, all] if first.is_any(&["discard", "deallocate"]) && all.is("all") => Step::CloseAll,
        [first, second, all] if first.is("deallocate") && second.is("prepare") && all.is("all") => Step::CloseAll,
        [first, second, name] if first.is_any(&["deallocate", "drop"]) && second.is("prepare") => closes(name),
        [first, name] if first.is("deallocate") => closes(name),
        [first, ..] if first.is_any(&["savepoint", "release"]) => Step::Aside,
        _ => Step::Other,
    }
}

fn closes<'a>(name: &Token<'_>) -> Step<'a> {
    name_of(name).map_or(Step::Other, Step::Close)
}

/// The text behind `AS` or `FROM`; of a variable nothing but that there is one.
fn prepared<'a>(dialect: Dialect, text: &'a [u8], rest: &[Token<'a>], end: usize) -> Option<Option<Cow<'a, [u8]>>> {
    match rest {
        [from, literal] if from.is("from") => Some(string(dialect, literal.bytes)),
        [from, ..] if from.is("from") => Some(None),
        _ => {
            let is_as = rest.iter().find(|token| token.is("as"))?;
            Some(Some(Cow::Borrowed(text[is_as.end()..end].trim_ascii())))
        }
    }
}

/// The name as the server compares it: quotes make it exact, but for MySQL, which knows no case here.
fn name_of(token: &Token<'_>) -> Option<Vec<u8>> {
    let inside = token.bytes.get(1..token.bytes.len().max(2) - 1).unwrap_or_default();
    match token.kind {
        _ if token.bytes.len() > LONGEST_NAME => None,
        Kind::Word => Some(token.bytes.to_ascii_lowercase()),
        Kind::Name => Some(inside.to_ascii_lowercase()),
        Kind::DoubleQuoted => Some(unescaped(inside, b'"', false)),
        _ => None,
    }
}

/// What a string in quotes says.
fn string(dialect: Dialect, literal: &[u8]) -> Option<Cow<'_, [u8]>> {
    match literal {
        [quote @ (b'\'' | b'"'), inside @ .., last] if quote == last => {
            Some(Cow::Owned(unescaped(inside, *quote, dialect.escapes_with_backslash)))
        }
        _ => None,
    }
}

fn unescaped(inside: &[u8], quote: u8, backslash: bool) -> Vec<u8> {
    let mut plain = Vec::with_capacity(inside.len());
    let mut bytes = inside.iter().copied();
    while let Some(byte) = bytes.next() {
        let escapes = byte == quote || backslash && byte == b'\\';
        plain.push(match bytes.clone().next().filter(|_| escapes) {
            Some(b'n') if byte == b'\\' => b'\n',
            Some(escaped) => escaped,
            None => byte,
        });
        if escapes {
            bytes.next();
        }
    }
    plain
}

#[cfg(test)]
#[path = "named_tests.rs"]
mod tests;
