//! Does a text in double quotes name something, or is it a string? The option QUOTED_IDENTIFIER of the session says so.

use super::DIALECT;
use crate::sql::{self, Dialect, DoubleQuotes};

/// In the second flag of a login: the client is one of ODBC's kind, so the option is on. DB-Library leaves it as the
/// server's administrator has set it.
const ODBC: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotes {
    at_login: DoubleQuotes,
    now: DoubleQuotes,
}

impl Default for Quotes {
    fn default() -> Quotes {
        Quotes { at_login: DIALECT.double_quotes, now: DIALECT.double_quotes }
    }
}

impl Quotes {
    /// The session begins with these flags in its login.
    pub fn begin(&mut self, flags: Option<u8>) {
        if flags.is_some_and(|flags| flags & ODBC != 0) {
            *self = Quotes { at_login: DoubleQuotes::Name, now: DoubleQuotes::Name };
        }
    }

    /// A pool hands the session on.
    pub fn reset(&mut self) {
        self.now = self.at_login;
    }

    /// Requests are missing that may have set the option.
    pub fn forget(&mut self) {
        self.now = DIALECT.double_quotes;
    }

    /// How a statement is to be read now.
    pub fn dialect(self) -> Dialect {
        Dialect { double_quotes: self.now, ..DIALECT }
    }

    /// A batch was asked for, of which this much is known.
    pub fn pass(&mut self, batch: &[u8], is_whole: bool) {
        self.now = sql::quotes_behind(self.dialect(), batch);
        if !is_whole {
            self.forget();
        }
    }
}

#[cfg(test)]
#[path = "quotes_tests.rs"]
mod tests;
