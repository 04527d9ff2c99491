//! Names that a program makes up anew in each session: of savepoints, cursors, prepared statements, temporary tables.
//!
//! ```text
//! SAVEPOINT active_record_1 | RELEASE [SAVEPOINT] … | ROLLBACK TO [SAVEPOINT] …
//! DECLARE "SQL_CUR0x55d0c8f0a2b0" CURSOR … | FETCH 10 IN … | MOVE … IN … | CLOSE … | WHERE CURRENT OF …
//! PREPARE pdo_stmt_00000001 AS … | DEALLOCATE [PREPARE] … | DROP PREPARE …
//! tmp_9f86d081884c7d65                                                  wherever it stands
//! ```
//!
//! They would tell apart what is the same statement, so its fingerprint has `?` in their place. A name that a person
//! chose stays: made up is what has a number behind an underscore, or a long number (a pointer, a clock, a hash), and
//! of prepared statements what has any number. `EXECUTE name` stays, too: where the text behind it is not known, the
//! name is all there is.

use super::lexer::{Kind, Lexer, Token};

/// Digits in a row that nobody chooses, unless they are a date.
const LONG: usize = 5;
/// The same of hexadecimal digits.
const LONG_HEXADECIMAL: usize = 8;
/// `DECLARE name BINARY INSENSITIVE NO SCROLL CURSOR`
const CURSOR_STANDS: usize = 5;

/// Follows a statement token by token.
#[derive(Debug, Default)]
pub struct GeneratedNames {
    place: Place,
    /// The rest is the body of a procedure, whose names stand for good.
    in_body: bool,
}

/// What the words so far have led to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Place {
    /// A statement begins.
    #[default]
    Start,
    /// `BEGIN`: of a transaction or of a block?
    Begin,
    /// `ROLLBACK`
    Rollback,
    /// `RELEASE`, `ROLLBACK TO`: `SAVEPOINT` or the name of one.
    Release,
    /// `DROP`
    Drop,
    /// `DEALLOCATE`: `PREPARE` or the name of a statement.
    Deallocate,
    /// `FETCH`, `MOVE`: how far, then `FROM` or `IN`.
    Fetch,
    /// `CURRENT`
    Current,
    /// The name of a savepoint or cursor.
    Name,
    /// The name of a prepared statement.
    Statement,
    Other,
}

impl GeneratedNames {
    /// Is this token such a name? `kind` is what it turned out to be; `lexer` stands behind it.
    pub fn takes(&mut self, token: &Token<'_>, kind: Kind, lexer: &Lexer<'_>) -> bool {
        let name = match kind {
            Kind::Semicolon if !self.in_body => {
                self.place = Place::Start;
                return false;
            }
            Kind::Word => token.bytes,
            Kind::Name => token.bytes.get(1..token.bytes.len() - 1).unwrap_or_default(),
            Kind::Placeholder | Kind::Literal if self.place.takes_value() => {
                self.place = Place::Other;
                return false;
            }
            _ => return false,
        };
        let place = std::mem::replace(&mut self.place, Place::Other);
        if let Some(next) = place.next(token, lexer) {
            self.place = next;
            return false;
        }
        self.in_body |= opens_body(place, token);
        match place {
            Place::Name | Place::Release => is_numbered(name) || is_long(name),
            Place::Statement | Place::Deallocate => name.iter().any(u8::is_ascii_digit),
            _ => is_temporary(name),
        }
    }
}

impl Place {
    /// Does a name stand here, or the `?` of one that was made up?
    fn takes_value(self) -> bool {
        matches!(self, Place::Start | Place::Name | Place::Statement | Place::Release | Place::Deallocate)
    }

    /// Where one of the words leads that stand before a name.
    fn next(self, token: &Token<'_>, lexer: &Lexer<'_>) -> Option<Place> {
        let leads = |words: &[&str], place| token.is_any(words).then_some(place);
        match self {
            Place::Start => match token.bytes.first().map(u8::to_ascii_lowercase) {
                Some(b'b') => leads(&["begin"], Place::Begin),
                Some(b'c') => leads(&["close"], Place::Name),
                Some(b'd') if token.is("declare") => declares_cursor(lexer).then_some(Place::Name),
                Some(b'd') => leads(&["drop"], Place::Drop).or(leads(&["deallocate"], Place::Deallocate)),
                Some(b'f' | b'm') => leads(&["fetch", "move"], Place::Fetch),
                Some(b'p') => leads(&["prepare"], Place::Statement),
                Some(b'r') => leads(&["release"], Place::Release).or(leads(&["rollback"], Place::Rollback)),
                Some(b's') => leads(&["savepoint"], Place::Name),
                _ => None,
            },
            Place::Rollback => leads(&["to"], Place::Release).or(leads(&["work", "transaction"], Place::Rollback)),
            Place::Release => leads(&["savepoint"], Place::Name),
            Place::Drop | Place::Deallocate => leads(&["prepare"], Place::Statement),
            Place::Fetch => Some(if token.is_any(&["from", "in"]) { Place::Name } else { Place::Fetch }),
            Place::Current => leads(&["of"], Place::Name),
            Place::Other => leads(&["current"], Place::Current),
            Place::Begin | Place::Name | Place::Statement => None,
        }
    }
}

/// Does a body begin, in which a semicolon ends no statement of the client?
fn opens_body(place: Place, token: &Token<'_>) -> bool {
    match place {
        Place::Start => token.is_any(&["create", "alter", "recreate", "declare", "execute"]),
        Place::Begin => !token.is_any(&["work", "transaction", "isolation", "read", "not"]),
        _ => false,
    }
}

/// Behind `DECLARE`: is it a cursor of the session, or a variable of a block?
fn declares_cursor(lexer: &Lexer<'_>) -> bool {
    let mut ahead = lexer.clone();
    let words = std::iter::from_fn(|| ahead.next()).take(CURSOR_STANDS + 1);
    words.take_while(|token| token.kind != Kind::Semicolon).skip(1).any(|token| token.is("cursor"))
}

/// `active_record_1`, `__asyncpg_stmt_3__`
fn is_numbered(name: &[u8]) -> bool {
    let end = name.iter().rposition(|byte| *byte != b'_').map_or(0, |last| last + 1);
    let begin = name[..end].iter().rposition(|byte| !byte.is_ascii_digit());
    begin.is_some_and(|begin| begin + 1 < end && name[begin] == b'_')
}

/// Holds a number that nobody chooses.
fn is_long(name: &[u8]) -> bool {
    let digits = name.split(|byte| !byte.is_ascii_digit());
    let mut hexadecimal = name.split(|byte| !byte.is_ascii_hexdigit());
    digits.clone().any(|run| run.len() >= LONG && !is_date(run))
        || hexadecimal.any(|run| {
            run.len() >= LONG_HEXADECIMAL && run.iter().any(u8::is_ascii_digit) && !run.iter().all(u8::is_ascii_digit)
        })
}

/// `20241231`, `202412`
fn is_date(digits: &[u8]) -> bool {
    matches!(digits.len(), 6 | 8) && (digits.starts_with(b"19") || digits.starts_with(b"20"))
}

/// `tmp_9f86d081884c7d65`, `#temp_55120394`
fn is_temporary(name: &[u8]) -> bool {
    let parts = || name.split(|byte| !byte.is_ascii_alphabetic());
    let says_so = |part: &[u8]| [&b"tmp"[..], b"temp"].iter().any(|word| part.eq_ignore_ascii_case(word));
    name.len() > LONG && name.iter().any(u8::is_ascii_digit) && is_long(name) && parts().any(says_so)
}

#[cfg(test)]
#[path = "generated_names_tests.rs"]
mod tests;
