//! The loop's short cut: a statement that differs from an earlier one only in its numbers has the same fingerprint.
//!
//! An N+1 loop sends the same text with other numbers thousands of times. A template remembers one text and where its
//! numbers stand; a new text that equals it everywhere else needs no second reading.

use super::fingerprint::Hash;
use super::lexer::Dialect;

/// Templates kept: as many as a loop body usually has statements.
const KEPT: usize = 8;
/// Longer texts are rarely sent in a loop, and comparing them would cost as much as it saves.
const LONGEST: usize = 4096;

/// The latest templates, the newest overwriting the oldest.
#[derive(Debug, Default)]
pub struct Templates {
    kept: Vec<Template>,
    next: usize,
    /// Where the last match was: a loop asks for the same one again.
    latest: usize,
}

#[derive(Debug)]
struct Template {
    dialect: Dialect,
    text: Vec<u8>,
    /// Begin and end of each number in `text`.
    numbers: Vec<(usize, usize)>,
    fingerprint: u32,
}

impl Templates {
    /// The fingerprint of `text` and the hash of its literals, if it is a known text with other numbers.
    pub fn find(&mut self, dialect: Dialect, text: &[u8]) -> Option<(u32, u64)> {
        let places = (self.latest..self.kept.len()).chain(0..self.latest);
        let (place, parameters) =
            places.filter_map(|place| Some((place, self.kept.get(place)?.matches(dialect, text)?))).next()?;
        self.latest = place;
        Some((self.kept[place].fingerprint, parameters))
    }

    /// Remember a text whose only literals are plain numbers: their hash is that of all its literals.
    pub fn learn(&mut self, dialect: Dialect, text: &[u8], fingerprint: u32, parameters: u64) {
        if text.len() > LONGEST || parameters == 0 {
            return;
        }
        let numbers: Vec<_> = plain_numbers(text).collect();
        if hash(text, &numbers) != parameters {
            return;
        }
        let template = Template { dialect, text: text.to_vec(), numbers, fingerprint };
        if self.kept.len() < KEPT {
            self.kept.push(template);
        } else {
            self.kept[self.next] = template;
        }
        self.latest = self.next;
        self.next = (self.next + 1) % KEPT;
    }
}

impl Template {
    /// The hash of the numbers of `text`, if it equals the template everywhere else.
    fn matches(&self, dialect: Dialect, text: &[u8]) -> Option<u64> {
        let mut literals = Hash::from(0);
        let (mut rest, mut from) = (text, 0);
        for &(begin, end) in self.numbers.iter().filter(|_| dialect == self.dialect) {
            rest = rest.strip_prefix(&self.text[from..begin])?;
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            literals.add(&rest[..digits]);
            (rest, from) = (&rest[digits..], end);
        }
        (dialect == self.dialect && rest == &self.text[from..]).then(|| literals.value())
    }
}

fn hash(text: &[u8], numbers: &[(usize, usize)]) -> u64 {
    let mut literals = Hash::from(0);
    numbers.iter().for_each(|&(begin, end)| literals.add(&text[begin..end]));
    literals.value()
}

/// Runs of digits that nothing beside them can make part of another token.
fn plain_numbers(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let begin = at + text[at..].iter().position(u8::is_ascii_digit)?;
            at = begin + text[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let before = begin.checked_sub(1).map(|before| text[before]);
            if [before, text.get(at).copied()].into_iter().flatten().all(stands_apart) {
                return Some((begin, at));
            }
        }
        None
    })
}

fn stands_apart(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b'(' | b')' | b'=' | b'<' | b'>' | b';')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::protocols::{mysql, postgresql};
    use crate::sql::Statements;

    /// What reading the text anew says.
    fn anew(text: &str) -> (String, u64) {
        let mut statements = Statements::new(false);
        let sql = statements.sql_in(mysql::DIALECT, text.as_bytes());
        (statements.text(sql.fingerprint).to_owned(), sql.parameters)
    }

    /// What is said after `first` has been read.
    fn after(first: &str, text: &str) -> (String, u64) {
        let mut statements = Statements::new(false);
        statements.sql_in(mysql::DIALECT, first.as_bytes());
        let sql = statements.sql_in(mysql::DIALECT, text.as_bytes());
        (statements.text(sql.fingerprint).to_owned(), sql.parameters)
    }

    #[test]
    fn other_numbers_give_the_same_fingerprint_and_their_own_parameters() {
        let (first, second) = ("select a from t where b = 10 limit 5", "select a from t where b = 7777 limit 5");
        assert_eq!(after(first, second), anew(second));
        assert_ne!(anew(first).1, anew(second).1);
    }

    #[test]
    fn a_text_that_only_begins_alike_is_read_anew() {
        let first = "select a from t where b = 10";
        for text in
            ["select a from t where b = 10 or c = 'x'", "select a from t where b = 1e5", "select a from t where b = "]
        {
            assert_eq!(after(first, text), anew(text), "{text}");
        }
    }

    #[test]
    fn numbers_inside_names_strings_and_comments_are_no_literals_to_replace() {
        for (first, second) in [
            ("select 'a 1 b', 2", "select 'a 9 b', 3"),
            ("select t1.c from t1 where d = 1", "select t2.c from t2 where d = 2"),
            ("/*!40101 set */ select 1", "/*!40102 set */ select 2"),
            ("select 1 -- 5\n+ 2", "select 3 -- 6\n+ 4"),
            ("select `a 1` from t where b = 1", "select `a 2` from t where b = 2"),
            ("select /*+ degree( 4 ) */ 1", "select /*+ degree( 8 ) */ 2"),
        ] {
            assert_eq!(after(first, second), anew(second), "{second}");
        }
    }

    #[test]
    fn the_dialect_belongs_to_the_template() {
        let mut statements = Statements::new(false);
        let one = statements.sql_in(mysql::DIALECT, b"select \"a\" = 1");
        let other = statements.sql_in(postgresql::DIALECT, b"select \"a\" = 2");
        assert_ne!(statements.text(one.fingerprint), statements.text(other.fingerprint));
    }

    proptest! {
        #[test]
        fn a_template_says_what_reading_anew_says(
            first in "[a-z0-9 '`=(),.\"*/!-]{0,40}", changes in prop::collection::vec((0usize..40, "[0-9]{1,3}"), 0..4),
        ) {
            let mut second = first.clone();
            for (place, digits) in changes {
                if second.as_bytes().get(place).is_some_and(u8::is_ascii_digit) {
                    second.replace_range(place..=place, &digits);
                }
            }
            prop_assert_eq!(after(&first, &second), anew(&second));
        }
    }
}
