//! Errors of exchanges: distinct texts, kept once.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};

use super::columns::Kind;

/// What a text costs beside its bytes.
const OVERHEAD: usize = 96;
/// What all errors share for whose texts there is no room.
const TOO_MANY_ERRORS: &str = "(too many distinct errors)";

/// Texts, numbered in the order they came.
#[derive(Debug, Default)]
pub struct Errors {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    /// What they take, and may take.
    pub bytes: usize,
    pub most: usize,
    /// Errors that came when there was no room left for a text of their own.
    pub overflowed: u64,
}

impl Errors {
    /// The number of an error's text. Without room, what all share stands for it.
    fn number(&mut self, text: &str) -> u32 {
        let known = |texts: &Errors, text: &str| texts.numbers.get(text).copied();
        if let Some(number) = known(self, text) {
            return number;
        }
        if self.bytes + text.len() + OVERHEAD <= self.most {
            return self.keep(text);
        }
        self.overflowed += 1;
        known(self, TOO_MANY_ERRORS).unwrap_or_else(|| self.keep(TOO_MANY_ERRORS))
    }

    fn keep(&mut self, text: &str) -> u32 {
        let text: Arc<str> = text.into();
        self.bytes += text.len() + OVERHEAD;
        self.texts.push(Arc::clone(&text));
        let number = self.texts.len() as u32 - 1;
        self.numbers.insert(text, number);
        number
    }
}

impl Kind for Errors {
    type Value = Option<String>;
    type Stored = u32;

    fn store(&mut self, text: Option<String>) -> u32 {
        text.map_or(u32::MAX, |text| self.number(&text))
    }

    fn array(self, rows: Vec<u32>) -> ArrayRef {
        Arc::new(StringArray::from_iter(rows.into_iter().map(|row| self.texts.get(row as usize).map(|text| &**text))))
    }
}
