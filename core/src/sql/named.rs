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
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::protocols::{mysql, postgresql};

    #[derive(Default)]
    struct Session(HashMap<Vec<u8>, Option<Sql>>);

    impl Names for Session {
        fn give(&mut self, name: &[u8], sql: Option<Sql>) {
            self.0.insert(name.to_vec(), sql);
        }
        fn get(&self, name: &[u8]) -> Option<Sql> {
            *self.0.get(name)?
        }
        fn remove(&mut self, name: &[u8]) -> Option<Sql> {
            self.0.remove(name)?
        }
        fn clear(&mut self) {
            self.0.clear();
        }
    }

    /// What each text of a session is for, and the statement that is shown for it.
    fn session(dialect: Dialect, texts: &[&str]) -> Vec<(&'static str, String)> {
        let (mut statements, mut names) = (Statements::new(false), Session::default());
        let mut used = |text: &&str| {
            let sql = Some(statements.sql_in(dialect, text.as_bytes()));
            let (what, sql) = match statements.named(dialect, text.as_bytes(), sql, &mut names) {
                Use::Prepares(sql) => ("prepares", sql),
                Use::Runs(sql) => ("runs", sql),
                Use::Closes(sql) => ("closes", sql),
            };
            (what, sql.map_or(String::new(), |sql| statements.text(sql.fingerprint).to_owned()))
        };
        texts.iter().map(&mut used).collect()
    }

    fn shown<'a>(used: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
        used.iter().map(|(what, text)| (*what, text.as_str())).collect()
    }

    #[test]
    fn a_name_stands_for_the_text_that_was_prepared_under_it() {
        let used = session(
            postgresql::DIALECT,
            &["PREPARE P1 (int) AS select a from t where b = $1", "execute p1(7)", "DEALLOCATE p1", "execute p1(7)"],
        );
        let text = "select a from t where b = ?";
        let expected = [("prepares", text), ("runs", text), ("closes", text), ("runs", "execute p1(?)")];
        assert_eq!(shown(&used), expected);
    }

    #[test]
    fn a_name_that_is_given_anew_stands_for_the_new_text() {
        let used = session(
            mysql::DIALECT,
            &[
                "PREPARE `S` FROM 'select a from t where b = ? and c = ''x'''",
                "EXECUTE s USING @b",
                "prepare s from \"update t set a = 'it''s\\\"'\"",
                "execute S",
                "PREPARE s FROM @text",
                "execute s",
            ],
        );
        let (read, write) = ("select a from t where b = ? and c = ?", "update t set a = ?");
        let expected = [("prepares", read), ("runs", read), ("prepares", write), ("runs", write)];
        assert_eq!(shown(&used)[..4], expected);
        assert_eq!(shown(&used)[5], ("runs", "execute s"));
    }

    #[test]
    fn values_of_an_execution_are_its_parameters_where_they_are_seen() {
        let (mut statements, mut names) = (Statements::new(false), Session::default());
        let mut parameters = |dialect, text: &str| {
            let sql = Some(statements.sql_in(dialect, text.as_bytes()));
            match statements.named(dialect, text.as_bytes(), sql, &mut names) {
                Use::Prepares(sql) | Use::Runs(sql) | Use::Closes(sql) => sql.map(|sql| sql.parameters),
            }
        };
        parameters(postgresql::DIALECT, "prepare p as select a from t where b = $1 and c = 5");
        let one = parameters(postgresql::DIALECT, "execute p(1)");
        assert_eq!(one, parameters(postgresql::DIALECT, "EXECUTE p (1)"));
        assert_ne!(one, parameters(postgresql::DIALECT, "execute p(2)"));
        assert_eq!(parameters(mysql::DIALECT, "execute p using @a"), Some(0), "a variable may hold anything");
    }

    #[test]
    fn a_statement_that_is_closed_between_savepoints_is_closed() {
        let used = session(
            postgresql::DIALECT,
            &[
                "prepare \"Plan\" as select a from t",
                "savepoint _s_1; deallocate \"Plan\"; release _s_1",
                "prepare p as select b from t; execute p",
                "execute p",
                "discard all",
                "execute p",
            ],
        );
        assert_eq!(used[1], ("closes", "select a from t".to_owned()));
        assert_eq!(used[2], ("runs", "prepare p as select b from t; execute p".to_owned()), "two things at once");
        assert_eq!(used[3], ("runs", "select b from t".to_owned()));
        assert_eq!(used[5], ("runs", "execute p".to_owned()));
        assert_eq!(session(postgresql::DIALECT, &["deallocate p"]), [("closes", String::new())], "which, is unknown");
    }

    const PARTS: &[&str] = &[
        "prepare ",
        "execute ",
        "deallocate ",
        "drop ",
        "discard ",
        "all",
        "as ",
        "from ",
        "using ",
        "p",
        "`p`",
        "\"p\"",
        "'select 1'",
        "'it\\'",
        "'",
        "\"",
        "`",
        "\\",
        "@a",
        "(",
        ")",
        ";",
        "; ",
        "select $1",
        "savepoint s",
        "/*",
        "*/",
        "é",
    ];

    proptest! {
        #[test]
        fn any_texts_of_a_session_can_be_read(
            texts in prop::collection::vec(prop::collection::vec(prop::sample::select(PARTS), 0..12), 1..5),
            dialect in prop::sample::select(&[mysql::DIALECT, postgresql::DIALECT, Dialect::UNKNOWN][..]),
        ) {
            let texts: Vec<String> = texts.iter().map(|parts| parts.concat()).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            prop_assert_eq!(session(dialect, &texts).len(), texts.len());
        }
    }

    #[test]
    fn what_only_looks_like_it_names_nothing() {
        for text in [
            "prepare transaction 'x'",
            "execute procedure p(1)",
            "execute immediate 'select 1'",
            "drop table t",
            "prepare",
        ] {
            assert_eq!(session(mysql::DIALECT, &[text])[0].0, "runs", "{text}");
        }
    }
}
