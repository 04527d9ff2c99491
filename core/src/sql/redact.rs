//! Messages of database servers without the values they repeat: a template of known words.
//!
//! Servers put whatever they were sent into their messages, in quotes or without. So nothing is taken out of a message;
//! only what is known stays: words that servers' messages are made of ([`VOCABULARY`]), and, in quotes or not, words of
//! the statement's own fingerprint, which is shown beside it anyway.
//!
//! | in the message, after `select nmae from users where id = 'x'` | what is left |
//! |---|---|
//! | `relation "users" does not exist` | the same |
//! | `column "nmae" does not exist` | the same |
//! | `Duplicate entry 'a@b.c' for key 'users.email'` | `Duplicate entry ? for key ?` |
//! | `Key (email)=(a@b.c) already exists.` | `Key (?)=(?) already exists.` |
//! | `syntax error at or near "smith"` | `syntax error at or near ?` |
//! | `ORA-00001: unique constraint (SCOTT.PK_EMP) violated` | `ORA-00001: unique constraint (?) violated` |
//! | what a program raises (`RAISE`, `SIGNAL`, `raise_application_error`, `EXCEPTION`) | `?` |

use std::collections::HashSet;
use std::sync::LazyLock;

use super::fingerprint::cut;
use super::visible;

/// The longest message that is kept, in bytes.
const LONGEST: usize = 4096;

/// Signs that hold a value together.
const GLUE: [char; 9] = ['\'', '@', '.', ':', '/', '\\', '+', '-', '%'];

/// The words of which MariaDB's, MySQL's, PostgreSQL's, Firebird's and Oracle's messages are made, in lower case, without
/// names that people give to users, tables or passwords.
static VOCABULARY: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("vocabulary.txt").split_whitespace().collect());

/// Codes whose message the application wrote, with whatever values: PostgreSQL's `RAISE`, MySQL's `SIGNAL`, Firebird's
/// `EXCEPTION`.
const OF_THE_APPLICATION: &[&str] = &["P0001", "1644", "335544517"];
/// Those of Oracle's `raise_application_error`.
const ORACLE_APPLICATION: std::ops::RangeInclusive<u32> = 20_000..=20_999;

/// Those of `RAISERROR` and `THROW`.
const SQL_SERVER_APPLICATION: u32 = 50_000;

/// Is the message of an error with this code the application's own?
pub fn is_of_the_application(code: &str) -> bool {
    let number = code.split(' ').next().unwrap_or_default();
    let oracle = number.strip_prefix("ORA-").and_then(|number| number.parse().ok());
    let sql_server =
        || code.contains("(class ") && number.parse().is_ok_and(|number: u32| number >= SQL_SERVER_APPLICATION);
    OF_THE_APPLICATION.contains(&number)
        || oracle.is_some_and(|number| ORACLE_APPLICATION.contains(&number))
        || sql_server()
}

/// Does the message repeat a part of a statement that sets a password?
pub fn repeats_a_password(message: &str) -> bool {
    message.to_ascii_lowercase().contains("identified")
}

/// The message as it is, but safe to print.
pub fn keep(message: &str) -> String {
    let mut text = String::new();
    visible::append(&mut text, &message.as_bytes()[..message.len().min(LONGEST + 1)]);
    cut(&mut text, LONGEST);
    text
}

/// The message with everything replaced by `?` that is neither a known word nor one of `shown`, the statement's fingerprint.
pub fn redact(message: &str, shown: &str) -> String {
    let mut template = Template { text: String::with_capacity(message.len()), shown: words(shown).collect() };
    let (mut rest, value) = message.split_at(told_value(message).unwrap_or(message.len()));
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' | '`' if opens(rest) => template.quoted(rest, first),
            '\'' | '"' | '`' => 1,
            _ if is_word(first) => template.word(rest),
            _ => template.sign(first),
        };
        rest = &rest[length..];
    }
    if !value.is_empty() {
        template.text.push(' ');
        template.hide();
    }
    template.text
}

/// What names a value before the colon behind which a server repeats it.
const VALUES: &[&str] = &["argument", "data", "input", "literal", "number", "range", "string", "text", "value"];

/// Where a value without quotes is repeated, to the end of the message: `invalid string value: not-a-number`. Its words
/// may be ones that servers use.
fn told_value(message: &str) -> Option<usize> {
    let colons = message.match_indices(':').map(|(at, _)| at);
    let mut told = colons.filter(|at| {
        let word = message[..*at].rsplit(|letter| !is_word(letter)).next().unwrap_or_default();
        VALUES.contains(&word) && !message[at + 1..].trim_start().starts_with(['\'', '"', '`', '«', '»', '„', '“', '‘'])
    });
    told.next().map(|at| at + 1)
}

struct Template<'a> {
    text: String,
    /// The words of the fingerprint.
    shown: HashSet<&'a str>,
}

impl Template<'_> {
    /// A text in quotes: a name of the statement, or a value. Without an end it is all the rest.
    fn quoted(&mut self, rest: &str, quote: char) -> usize {
        let end = rest[1..].find(quote).map_or(rest.len(), |length| length + 2);
        let inside = rest[1..end].trim_end_matches(quote);
        let mut parts = words(inside).peekable();
        let is_name = parts.peek().is_some() && inside.chars().all(|letter| is_word(letter) || letter == '.');
        if is_name && parts.all(|word| self.is_shown(word)) {
            self.text.push_str(&rest[..end]);
        } else {
            self.hide();
        }
        end
    }

    /// A word, or several that signs hold together: `doesn't`, `a@b.c`, `ORA-00942`. It stays as a whole or not at all.
    fn word(&mut self, rest: &str) -> usize {
        let length = length_of_word(rest);
        let word = &rest[..length];
        if is_known(word) || is_oracle_code(word) || words(word).all(|part| is_known(part) || self.is_shown(part)) {
            self.text.push_str(word);
        } else {
            self.hide();
        }
        length
    }

    fn sign(&mut self, sign: char) -> usize {
        self.text.push(sign);
        sign.len_utf8()
    }

    /// Values side by side are one: how many words a value has is its own affair.
    fn hide(&mut self) {
        let before = self.text.trim_end_matches([' ', '-', '+', '.', ':', '@', '/', '\\', ',', '=']);
        if before.ends_with('?') {
            let length = before.len();
            self.text.truncate(length);
        } else {
            self.drop_sign();
            self.text.push('?');
        }
    }

    /// The sign of a number belongs to it.
    fn drop_sign(&mut self) {
        let before = self.text.strip_suffix(['-', '+']).filter(|before| before.ends_with([' ', '(', '=']));
        if let Some(length) = before.map(str::len) {
            self.text.truncate(length);
        }
    }

    fn is_shown(&self, word: &str) -> bool {
        self.shown.contains(word) || self.shown.contains(word.to_ascii_lowercase().as_str())
    }
}

/// Does a text begin with this quote? What ends one, or stands in a value, has a blank or the end behind it.
fn opens(rest: &str) -> bool {
    rest[1..].starts_with(|next: char| !next.is_whitespace() && !matches!(next, ',' | ')' | ';'))
}

fn is_known(word: &str) -> bool {
    VOCABULARY.contains(word.to_ascii_lowercase().as_str())
}

/// `ORA-00942`
fn is_oracle_code(word: &str) -> bool {
    let number = ["ORA-", "PLS-", "TNS-"].iter().find_map(|prefix| word.strip_prefix(prefix));
    number.is_some_and(|number| number.len() == 5 && number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Signs between letters belong to the word.
fn length_of_word(text: &str) -> usize {
    let follows = |at: usize| text[at..].chars().nth(1).is_some_and(is_word);
    let ends = |(at, letter): &(usize, char)| !(is_word(*letter) || GLUE.contains(letter) && follows(*at));
    text.char_indices().find(ends).map_or(text.len(), |(at, _)| at)
}

/// The words of a fingerprint or a name, without those that stand for values.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter| !is_word(letter)).filter(|word| !word.is_empty())
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$' || letter == '#'
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
