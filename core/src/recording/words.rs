//! Words of columns, each kept once and numbered in the order they came: names of the program, texts of errors.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// What a text costs beside its bytes.
const OVERHEAD: usize = 96;
/// What all errors share for whose texts there is no room.
const TOO_MANY_ERRORS: &str = "(too many distinct errors)";

/// A few names: the program's own, or those of a recording that was saved.
#[derive(Clone, Debug, Default)]
pub struct Names {
    all: Vec<Cow<'static, str>>,
    /// The number that was asked for last: most often it is the next one's, too.
    latest: usize,
}

impl Names {
    #[inline]
    pub fn number(&mut self, name: &'static str) -> u32 {
        // Nearly always it is the same text at the same place, so that its bytes need not be compared.
        if !self.all.get(self.latest).is_some_and(|latest| std::ptr::eq(&**latest, name)) {
            self.latest = self.number_of_another(name);
        }
        self.latest as u32
    }

    fn number_of_another(&mut self, name: &'static str) -> usize {
        let same = self.all.iter().position(|known| std::ptr::eq(&**known, name));
        let known = same.or_else(|| self.all.iter().position(|known| known == name));
        known.unwrap_or_else(|| {
            self.all.push(name.into());
            self.all.len() - 1
        })
    }

    /// These, numbered in their order.
    pub fn saved(names: &Errors) -> Names {
        Names { all: names.texts.iter().map(|name| name.to_string().into()).collect(), latest: 0 }
    }

    pub fn all(&self) -> Vec<&str> {
        self.all.iter().map(|name| &**name).collect()
    }
}

/// Texts, of which there may be more than there is room for.
#[derive(Clone, Debug, Default)]
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
    /// These, numbered in their order.
    pub fn saved(texts: Vec<String>) -> Errors {
        let mut saved = Errors::default();
        for text in &texts {
            saved.keep(text);
        }
        saved
    }

    /// Whoever gives them counts what they take.
    pub fn unlimited() -> Errors {
        Errors { most: usize::MAX, ..Errors::default() }
    }

    /// The number of an error's text. Without room, what all share stands for it.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.known(text) {
            return number;
        }
        if self.bytes + text.len() + OVERHEAD <= self.most {
            return self.keep(text);
        }
        self.overflowed += 1;
        self.known(TOO_MANY_ERRORS).unwrap_or_else(|| self.keep(TOO_MANY_ERRORS))
    }

    /// The number of a text that is there.
    pub fn known(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    pub fn len(&self) -> usize {
        self.texts.len()
    }

    pub fn all(&self) -> Vec<&str> {
        self.texts.iter().map(|text| &**text).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_names_than_a_byte_can_number_keep_their_numbers() {
        let names: Vec<&'static str> = (0..300).map(|number| &*Box::leak(format!("command {number}").into())).collect();
        let mut known = Names::default();
        let numbered: Vec<u32> = names.iter().chain(&names).map(|name| known.number(name)).collect();
        assert_eq!(numbered, (0..300).chain(0..300).collect::<Vec<_>>());
        assert_eq!(known.all(), names);
    }

    #[test]
    fn a_name_is_one_wherever_it_stands() {
        let copy: &'static str = Box::leak("query".to_owned().into());
        let mut known = Names::default();
        assert_eq!([known.number("query"), known.number(copy)], [0, 0]);
    }
}
