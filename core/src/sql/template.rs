//! The loop's short cut: a statement that differs from an earlier one only in its literals has the same fingerprint.
//!
//! An N+1 loop sends the same text with other values thousands of times. A template remembers one text and where its
//! literals stand; a new text that equals it everywhere else needs no second reading. That holds for plain literals
//! only: runs of digits, and strings of printable ASCII that hold no quote, no backslash and nothing that could name or
//! be a secret, both with nothing beside them that could make them part of another token.

use std::ops::Range;

use super::credentials;
use super::hash::Hash;
use super::lexer::Dialect;

/// Templates are found by the text before the first literal: in so many sets, of so many each.
const SETS: usize = 128;
const KEPT: usize = 8;
/// Longer texts are rarely sent in a loop.
pub const LONGEST: usize = 4096;

/// The latest templates of each set, the newest overwriting the oldest.
#[derive(Debug, Default)]
pub struct Templates {
    /// Set by set; a place that was not used yet is empty.
    kept: Vec<Template>,
    /// How many were learnt in each set.
    learnt: Vec<usize>,
    /// Where the last match was.
    latest: usize,
}

#[derive(Clone, Debug, Default)]
struct Template {
    /// The hash of the text before the first literal.
    beginning: u32,
    dialect: Option<Dialect>,
    text: Vec<u8>,
    literals: Vec<Literal>,
    means: Meant,
    /// Which template was asked for after this one: the statements of a loop come in the same order again.
    next: usize,
}

/// Where a literal stands in a text.
#[derive(Clone, Copy, Debug)]
struct Literal {
    begin: u16,
    end: u16,
}

/// What all texts of a template share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meant {
    pub fingerprint: u32,
    pub tags: u32,
}

impl Templates {
    /// What `text` means and the hash of its literals, if it is a known text with other values.
    pub fn find(&mut self, dialect: Dialect, text: &[u8]) -> Option<(Meant, u64)> {
        let expected = self.kept.get(self.latest)?.next;
        let (place, parameters) = match self.kept.get(expected)?.matches(dialect, text) {
            Some(parameters) => (expected, parameters),
            None => self.search(dialect, text)?,
        };
        self.follows(place);
        Some((self.kept[place].means, parameters))
    }

    fn search(&self, dialect: Dialect, text: &[u8]) -> Option<(usize, u64)> {
        let beginning = beginning_of(text);
        let first = set_of(beginning) * KEPT;
        let set = self.kept.get(first..first + KEPT)?.iter().enumerate();
        let mut alike = set.filter(|(_, template)| template.beginning == beginning);
        alike.find_map(|(way, template)| Some((first + way, template.matches(dialect, text)?)))
    }

    /// Remember a text whose literals stand at these places, if all of them are plain.
    pub fn learn(&mut self, dialect: Dialect, text: &[u8], literals: &[Range<usize>], means: Meant) {
        if text.len() > LONGEST || !literals.iter().all(|place| is_plain(text, place)) {
            return;
        }
        if self.kept.is_empty() {
            self.kept.resize_with(SETS * KEPT, Template::default);
            self.learnt.resize(SETS, 0);
        }
        let beginning = beginning_of(text);
        let learnt = &mut self.learnt[set_of(beginning)];
        let place = set_of(beginning) * KEPT + *learnt % KEPT;
        *learnt += 1;
        let template = &mut self.kept[place];
        (template.beginning, template.dialect, template.means, template.next) =
            (beginning, Some(dialect), means, place);
        template.text.clear();
        template.text.extend_from_slice(text);
        template.literals.clear();
        let literals = literals.iter().map(|place| Literal { begin: place.start as u16, end: place.end as u16 });
        template.literals.extend(literals);
        self.follows(place);
    }

    /// This template was asked for now.
    fn follows(&mut self, place: usize) {
        self.kept[self.latest].next = place;
        self.latest = place;
    }
}

impl Template {
    /// The hash of the literals of `text`, if it equals the template everywhere else.
    fn matches(&self, dialect: Dialect, text: &[u8]) -> Option<u64> {
        let mut literals = Hash::default();
        let (mut rest, mut from) = (text, 0);
        for literal in &self.literals {
            let (begin, end) = (usize::from(literal.begin), usize::from(literal.end));
            rest = rest.strip_prefix(&self.text[from..begin])?;
            let length = plain_literal(rest, self.text[begin] == QUOTE)?;
            literals.add(&rest[..length]);
            (rest, from) = (&rest[length..], end);
        }
        (rest == &self.text[from..] && self.dialect == Some(dialect)).then(|| literals.value())
    }
}

const QUOTE: u8 = b'\'';

fn set_of(beginning: u32) -> usize {
    (beginning >> 16) as usize % SETS
}

/// A hash of what stands before the first literal of a text.
fn beginning_of(text: &[u8]) -> u32 {
    let mut hash = 0_u32;
    let mut previous = b' ';
    for &byte in text {
        if byte == QUOTE || byte.is_ascii_digit() && stands_apart(previous) {
            break;
        }
        hash = (hash.rotate_left(5) ^ u32::from(byte)).wrapping_mul(0x9e37_79b1);
        previous = byte;
    }
    hash
}

/// Is the literal at `place` one that may be replaced by another one?
fn is_plain(text: &[u8], place: &Range<usize>) -> bool {
    let literal = &text[place.clone()];
    let beside = [place.start.checked_sub(1).map(|before| text[before]), text.get(place.end).copied()];
    beside.into_iter().flatten().all(stands_apart)
        && plain_literal(literal, literal.first() == Some(&QUOTE)) == Some(literal.len())
}

/// The length of the plain literal that begins here: a string, or else a run of digits.
fn plain_literal(text: &[u8], is_string: bool) -> Option<usize> {
    if !is_string {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        return (digits > 0).then_some(digits);
    }
    let (QUOTE, inside) = text.split_first().map(|(first, inside)| (*first, inside))? else { return None };
    let length = memchr::memchr(QUOTE, inside)?;
    is_harmless(&inside[..length]).then_some(length + 2)
}

/// Can the inside of a string neither end elsewhere, nor be or name a secret?
fn is_harmless(inside: &[u8]) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'\\';
    inside.iter().all(is_plain) && !credentials::inside(inside)
}

fn stands_apart(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b'(' | b')' | b'=' | b'<' | b'>' | b';')
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
