//! Errors of exchanges: distinct texts, kept once.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, StringArray};

use super::columns::{Column, Optional};

/// Error texts that are kept.
const MAX_ERRORS: usize = 100_000;
const MAX_ERROR_BYTES: usize = 64 << 20;
/// What all errors share for whose texts there is no room.
const TOO_MANY_ERRORS: &str = "(too many distinct errors)";

/// Texts, numbered in the order they came.
#[derive(Debug, Default)]
pub struct Errors {
    rows: Optional<UInt32Type>,
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    bytes: usize,
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
        if self.texts.len() < MAX_ERRORS && self.bytes + text.len() <= MAX_ERROR_BYTES {
            return self.keep(text);
        }
        self.overflowed += 1;
        known(self, TOO_MANY_ERRORS).unwrap_or_else(|| self.keep(TOO_MANY_ERRORS))
    }

    fn keep(&mut self, text: &str) -> u32 {
        let text: Arc<str> = text.into();
        self.bytes += text.len();
        self.texts.push(Arc::clone(&text));
        let number = self.texts.len() as u32 - 1;
        self.numbers.insert(text, number);
        number
    }
}

impl Column for Errors {
    type Value = Option<String>;

    fn push(&mut self, text: Option<String>) {
        let number = text.map(|text| self.number(&text));
        self.rows.push(number);
    }

    fn permute(&mut self, order: &[u32]) {
        self.rows.permute(order);
    }

    fn into_array(self) -> ArrayRef {
        let texts = |number: u32| self.texts.get(number as usize).map(|text| &**text);
        Arc::new(StringArray::from_iter(self.rows.iter().map(|number| texts(number?))))
    }
}
