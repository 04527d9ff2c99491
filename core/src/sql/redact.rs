//! Messages of database servers without the values they repeat.
//!
//! | in the message | what is left |
//! |---|---|
//! | `Duplicate entry 'a@b.c' for key 'users.email'` | `Duplicate entry ? for key ?` |
//! | `Key (email)=(a@b.c) already exists.` | `Key (email)=(?) already exists.` |
//! | `invalid input syntax for type integer: "12x"` | `invalid input syntax for type integer: ?` |
//! | `relation "users" does not exist` | the same |
//! | `ORA-00001: unique constraint (SCOTT.PK_EMP) violated` | the same |
//! | `syntax error at line 12` | `syntax error at line ?` |
//! | what a program raises (`RAISE`, `SIGNAL`, `raise_application_error`, `EXCEPTION`) | `?` |
//!
//! A text in double quotes stays if it looks like a name and the word before it says that it is one, or it is Oracle's.
//! Servers do not mark where a value ends that holds quotes itself. So a value goes on to the last quote where the
//! words before it say what it is, else to the first quote that no letter follows.

use super::fingerprint::{cut, looks_like_name};
use super::visible;

/// The longest message that is kept, in bytes.
const LONGEST: usize = 4096;

/// What announces a name in double quotes.
const NAMED: &[&str] = &[
    "aggregate",
    "collation",
    "column",
    "constraint",
    "conversion",
    "cursor",
    "database",
    "domain",
    "encoding",
    "exception",
    "extension",
    "for",
    "function",
    "group",
    "host",
    "identifier",
    "in",
    "index",
    "key",
    "language",
    "near",
    "of",
    "on",
    "operator",
    "parameter",
    "policy",
    "portal",
    "procedure",
    "publication",
    "relation",
    "role",
    "rule",
    "savepoint",
    "schema",
    "sequence",
    "server",
    "slot",
    "statement",
    "subscription",
    "table",
    "tablespace",
    "to",
    "trigger",
    "type",
    "user",
    "view",
    "window",
    "with",
];

/// Codes whose message the application wrote, with whatever values: PostgreSQL's `RAISE`, MySQL's `SIGNAL`, Firebird's
/// `EXCEPTION`.
const OF_THE_APPLICATION: &[&str] = &["P0001", "1644", "335544517"];
/// Those of Oracle's `raise_application_error`.
const ORACLE_APPLICATION: std::ops::RangeInclusive<u32> = 20_000..=20_999;

/// Is the message of an error with this code the application's own?
pub fn is_of_the_application(code: &str) -> bool {
    let number = code.split(' ').next().unwrap_or_default();
    let oracle = number.strip_prefix("ORA-").and_then(|number| number.parse().ok());
    OF_THE_APPLICATION.contains(&number) || oracle.is_some_and(|number| ORACLE_APPLICATION.contains(&number))
}

/// Does the message repeat a part of a statement that sets a password?
pub fn repeats_a_password(message: &str) -> bool {
    message.to_ascii_lowercase().contains("identified")
}

/// The message as it is, but safe to print.
pub fn keep(message: &str) -> String {
    let mut text = String::new();
    visible::append(&mut text, message.as_bytes());
    cut(&mut text, LONGEST);
    text
}

/// The message with its values replaced by `?`.
pub fn redact(message: &str) -> String {
    let message = keep(message);
    let mut redactor = Redactor { text: String::new(), message: &message, at: 0 };
    while let Some(first) = redactor.rest().chars().next() {
        redactor.step(first);
    }
    redactor.text
}

struct Redactor<'a> {
    text: String,
    message: &'a str,
    at: usize,
}

impl<'a> Redactor<'a> {
    fn rest(&self) -> &'a str {
        &self.message[self.at..]
    }

    /// What came before, as it was.
    fn before(&self) -> &'a str {
        &self.message[..self.at]
    }

    fn step(&mut self, first: char) {
        match first {
            '\'' if !self.before().ends_with(is_word) => self.value(self.single_quoted()),
            '"' => self.double_quoted(),
            '`' => self.copy(self.closed_by('`')),
            '(' if self.before().ends_with('=') || self.before().ends_with("contains ") => self.row(),
            '-' if !self.before().ends_with(is_word)
                && self.rest()[1..].starts_with(|next: char| next.is_ascii_digit()) =>
            {
                self.value(1 + number(&self.rest()[1..]));
            }
            _ if first.is_ascii_digit() => self.value(number(self.rest())),
            _ if is_word(first) => self.word(),
            _ => self.copy(first.len_utf8()),
        }
    }

    fn copy(&mut self, length: usize) {
        self.text.push_str(&self.rest()[..length]);
        self.at += length;
    }

    fn value(&mut self, length: usize) {
        self.text.push('?');
        self.at += length;
    }

    /// The length of what begins and ends with `quote`; without an end it is all the rest.
    fn closed_by(&self, quote: char) -> usize {
        self.rest()[1..].find(quote).map_or(self.rest().len(), |length| length + 2)
    }

    fn single_quoted(&self) -> usize {
        let rest = &self.rest()[1..];
        let to_the_last = || rest.rfind('\'');
        let at_the_end = || to_the_last().filter(|&at| matches!(rest[at + 1..].trim_end(), "" | "."));
        let end = match self.before() {
            before if before.ends_with("near ") => to_the_last(),
            before if before.ends_with("Duplicate entry ") => rest.rfind("' for key"),
            before if before.ends_with("= ") => rest.rfind("')"),
            before if before.ends_with(": ") => rest.rfind("' for ").or_else(at_the_end),
            _ => None,
        };
        end.or_else(|| first_closing(rest)).map_or(self.rest().len(), |length| length + 2)
    }

    /// An identifier where the words before say so. Oracle has a colon before identifiers too.
    fn double_quoted(&mut self) {
        let named = self.message.starts_with("ORA-") || self.before().is_empty() || self.names();
        if !named {
            let end = self.rest()[1..].rfind('"');
            return self.value(end.map_or(self.rest().len(), |length| length + 2));
        }
        let length = self.closed_by('"');
        if looks_like_name(&self.rest().as_bytes()[..length]) { self.copy(length) } else { self.value(length) }
    }

    /// `relation "users"`, `"sales"."users"`, `("ID" = 17)`, `"A", "B"`
    fn names(&self) -> bool {
        if self.before().ends_with(['.', '(']) || self.before().ends_with("\", ") {
            return true;
        }
        let words = self.before().strip_suffix(' ').unwrap_or_default();
        let word = words.rsplit(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
        NAMED.iter().any(|name| name.eq_ignore_ascii_case(word))
    }

    /// `(email)=(a@b.c) already exists`, `Failing row contains (1, x).`
    fn row(&mut self) {
        let ends =
            |(at, _): &(usize, &str)| self.rest()[at + 1..].starts_with([' ', '.']) || self.rest().len() == at + 1;
        let end = self.rest().match_indices(')').find(ends).map(|(at, _)| at);
        self.text.push_str("(?)");
        self.at += end.map_or(self.rest().len(), |at| at + 1);
    }

    fn word(&mut self) {
        let length = length_of(self.rest(), |letter| is_word(letter) || letter == '-');
        let is_uuid = length == 36 && self.rest()[..length].matches('-').count() == 4;
        if is_uuid { self.value(length) } else { self.copy(length) }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$' || letter == '#'
}

/// The length of a number, a date, a time, or whatever begins with a digit.
fn number(text: &str) -> usize {
    let length = length_of(text, |letter| is_word(letter) || matches!(letter, '.' | ':' | '-' | '+'));
    text[..length].trim_end_matches(['.', ':', '-', '+']).len()
}

fn length_of(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !belongs(letter)).unwrap_or(text.len())
}

/// The first quote that no letter follows: the others are apostrophes.
fn first_closing(text: &str) -> Option<usize> {
    let closes = |(at, _): &(usize, &str)| !text[at + 1..].starts_with(is_word);
    text.match_indices('\'').find(closes).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cases: &[(&str, &str)]) {
        for (message, redacted) in cases {
            assert_eq!(redact(message), *redacted);
        }
    }

    #[test]
    fn mysql_messages_lose_their_values() {
        check(&[
            ("Duplicate entry 'a@b.c' for key 'users.email'", "Duplicate entry ? for key ?"),
            ("Duplicate entry 'it's 'me'' for key 'users.email'", "Duplicate entry ? for key ?"),
            ("Table 'shop.orders' doesn't exist", "Table ? doesn't exist"),
            (
                "Incorrect integer value: 'it' s me' for column `a`.`b` at row 1",
                "Incorrect integer value: ? for column `a`.`b` at row ?",
            ),
            ("Truncated incorrect DOUBLE value: 'it' s me'", "Truncated incorrect DOUBLE value: ?"),
            (
                "Access denied for user 'root'@'10.0.0.1' (using password: YES)",
                "Access denied for user ?@? (using password: YES)",
            ),
            (
                "You have an error in your SQL syntax; check the manual for the right syntax to use near 'name = 'smith' and pin = '1 2'' at line 1",
                "You have an error in your SQL syntax; check the manual for the right syntax to use near ? at line ?",
            ),
            (
                "a foreign key constraint fails (`db`.`t`, CONSTRAINT `c1` FOREIGN KEY (`a`) REFERENCES `b` (`id`))",
                "a foreign key constraint fails (`db`.`t`, CONSTRAINT `c1` FOREIGN KEY (`a`) REFERENCES `b` (`id`))",
            ),
        ]);
    }

    #[test]
    fn postgresql_messages_keep_names_and_lose_values() {
        check(&[
            ("relation \"users\" does not exist", "relation \"users\" does not exist"),
            (
                "duplicate key value violates unique constraint \"users_email_key\"",
                "duplicate key value violates unique constraint \"users_email_key\"",
            ),
            ("Key (email)=(a@b.c) already exists.", "Key (email)=(?) already exists."),
            ("Failing row contains (1, smith, null).", "Failing row contains (?)."),
            ("invalid input syntax for type integer: \"smith\"", "invalid input syntax for type integer: ?"),
            ("value \"99999999999\" is out of range for type integer", "value ? is out of range for type integer"),
            ("unterminated quoted string at or near \"'secret\"", "unterminated quoted string at or near ?"),
            ("time zone \"secret\" not recognized", "time zone ? not recognized"),
            ("\"users\" is a view", "\"users\" is a view"),
            ("column \"a\" of relation \"b\" does not exist", "column \"a\" of relation \"b\" does not exist"),
        ]);
    }

    #[test]
    fn oracle_and_firebird_messages_keep_codes_and_names() {
        check(&[
            (
                "ORA-00001: unique constraint (SCOTT.PK_EMP) violated",
                "ORA-00001: unique constraint (SCOTT.PK_EMP) violated",
            ),
            ("ORA-00904: \"FOO\": invalid identifier", "ORA-00904: \"FOO\": invalid identifier"),
            (
                "ORA-12899: value too large for column \"S\".\"T\" (actual: 12, maximum: 10)",
                "ORA-12899: value too large for column \"S\".\"T\" (actual: ?, maximum: ?)",
            ),
            ("conversion error from string \"smith\"", "conversion error from string ?"),
            ("Problematic key value is (\"ID\" = -17)", "Problematic key value is (\"ID\" = ?)"),
            ("Problematic key value is (\"A\" = 'it' s me')", "Problematic key value is (\"A\" = ?)"),
            ("gds 335544901: \"secret\" \"other\"", "gds ?: ?"),
        ]);
    }

    #[test]
    fn what_a_program_raises_is_its_own() {
        for code in ["P0001", "1644 (45000)", "ORA-20001", "335544517 (HY000)"] {
            assert!(is_of_the_application(code), "{code}");
        }
        for code in ["23505", "1062 (23000)", "ORA-00001", "ORA-21000", ""] {
            assert!(!is_of_the_application(code), "{code}");
        }
    }

    #[test]
    fn numbers_dates_and_uuids_are_values_but_not_inside_of_words() {
        check(&[
            ("row 17 of utf8mb4 at 2024-01-31 10:20:30.5.", "row ? of utf8mb4 at ? ?."),
            ("no object f47ac10b-58cc-4372-a567-0e02b2c3d479 here", "no object ? here"),
        ]);
    }

    #[test]
    fn a_quote_that_nothing_closes_hides_the_rest() {
        check(&[("bad value 'secret, and more", "bad value ?"), ("bad name \"secret, and more", "bad name ?")]);
    }

    #[test]
    fn messages_are_safe_to_print() {
        assert_eq!(redact("a\x1b[m b"), "a\u{fffd}[m b");
        assert_eq!(keep("a\x1b'b'\n"), "a\u{fffd}'b' ");
        assert!(keep(&"long ".repeat(10_000)).len() <= LONGEST);
    }
}
