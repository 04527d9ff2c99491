//! Where passwords stand in a statement: they are never kept, whatever the user asked for.
//!
//! ```text
//! IDENTIFIED BY 'x' | BY x | BY PASSWORD 'x' | BY VALUES 'x' | WITH plugin AS 'x' | VIA plugin USING 'x' [OR …]
//!                                                                                  … REPLACE 'x'
//! PASSWORD 'x' | PASSWORD = 'x' | PASSWORD('x') | any_password = 'x' | "password" = md5('x')
//! any_password = x | SET my.api_key TO x                               a bare word that is no column for sure
//! ALTER ROLE bob PASSWORD "x"                                          a mistake, and a password
//! set_config('my.api_key', 'x')
//! SET PASSWORD …                                                       all that follows
//! pgp_sym_encrypt(a, 'x')                                              every literal inside
//! ```
//!
//! Literals that hold a connection string or a statement with a password are secrets as a whole: [`super::credentials`].

use super::credentials::{NAMES, ends_with};
use super::fingerprint::without_quotes;
use super::lexer::{Kind, Token};

/// Functions that take a key or a password.
const FUNCTIONS: &[&str] = &[
    "pgp_sym_encrypt",
    "pgp_sym_decrypt",
    "pgp_sym_encrypt_bytea",
    "pgp_sym_decrypt_bytea",
    "aes_encrypt",
    "aes_decrypt",
    "des_encrypt",
    "des_decrypt",
    "crypt",
    "hmac",
];

/// `CREATE OR REPLACE USER`
const USER_STANDS: usize = 3;

/// What follows `PASSWORD` where no password does.
const POLICY: &[&str] = &[
    "as",
    "by",
    "default",
    "encrypted",
    "expire",
    "for",
    "history",
    "identified",
    "lock",
    "never",
    "null",
    "optional",
    "password",
    "policy",
    "require",
    "reuse",
    "set",
    "to",
    "unlock",
    "using",
    "valid",
];

/// What may stand behind `password =` and is no password.
const NO_SECRETS: &[&str] = &[
    "binary",
    "cast",
    "coalesce",
    "current_user",
    "default",
    "false",
    "if",
    "null",
    "off",
    "row",
    "true",
    "unhex",
    "unknown",
    "user",
];

/// Follows a statement token by token.
#[derive(Debug, Default)]
pub struct Secrets {
    state: State,
    /// Tokens of the statement so far, of which the first ones matter.
    position: usize,
    begins_with_set: bool,
    /// Where `CREATE` or `ALTER` stands: a block or an event may hold it.
    changes: Option<usize>,
    /// `CREATE USER`, `ALTER ROLE`: a bare word after `PASSWORD` is a mistake, and a password.
    of_user: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Nothing,
    /// `IDENTIFIED`
    Identified,
    /// `IDENTIFIED WITH plugin`
    Plugin,
    /// The next value is a secret, even a bare word: Oracle's passwords are.
    Expected,
    /// A secret was given; another may follow.
    Given,
    /// `password`: the next literal is a secret.
    Named,
    /// `password =`: so is a bare word.
    Assigned,
    /// A literal that names a secret, and the comma behind it: `'my.api_key',`
    NamedInText { comma: bool },
    /// `password = function(`: the literals inside are secrets.
    Function { depth: usize },
    /// `SET PASSWORD`: every literal is one, and what is assigned.
    Everything,
}

impl Secrets {
    /// Is this token a secret? `kind` is what it turned out to be, `follows` the sign behind it.
    pub fn holds(&mut self, token: &Token<'_>, kind: Kind, follows: Option<u8>) -> bool {
        if kind == Kind::Semicolon {
            *self = Secrets::default();
            return false;
        }
        let (state, secret) = self.next(token, kind, follows);
        self.state = state;
        if self.position == 0 {
            self.begins_with_set = token.is("set");
        }
        if token.is_any(&["create", "alter", "recreate"]) {
            self.changes = Some(self.position);
        }
        self.of_user |= self.changes.is_some_and(|at| self.position - at <= USER_STANDS)
            && token.is_any(&["user", "role", "login", "group"]);
        self.position += 1;
        secret
    }

    fn next(&self, token: &Token<'_>, kind: Kind, follows: Option<u8>) -> (State, bool) {
        let afresh = (self.afresh(token, kind), false);
        match (self.state, kind) {
            (State::Everything, Kind::Operator) if token.is_operator("=") => (State::Assigned, false),
            (State::Everything, Kind::Word) if token.is("to") => (State::Assigned, false),
            (State::Everything, _) => (State::Everything, kind == Kind::Literal),
            (State::Expected, _) => expected(token, kind),
            (State::Named | State::Assigned | State::Given, Kind::Literal) => (State::Given, true),
            (State::NamedInText { comma: true }, Kind::Literal) => (State::Nothing, true),
            (State::NamedInText { comma: false }, Kind::Comma) => (State::NamedInText { comma: true }, false),
            (State::Named | State::Assigned, Kind::Word | Kind::Name) if self.of_user && !token.is_any(POLICY) => {
                (State::Given, true)
            }
            (State::Assigned, Kind::Word | Kind::Name) if is_bare(token, kind, follows) => (State::Given, true),
            (State::Named, Kind::Word) if self.begins_with_set && token.is("to") => (State::Assigned, false),
            (State::Named | State::Assigned, _) => named(token, kind).map_or(afresh, |state| (state, false)),
            (State::Function { depth }, _) => inside_function(depth, kind).unwrap_or(afresh),
            (State::Identified, Kind::Word) if token.is("by") => (State::Expected, false),
            (State::Identified, Kind::Word) if token.is_any(&["with", "via"]) => (State::Plugin, false),
            (State::Plugin, Kind::Word) if token.is_any(&["as", "by", "using"]) => (State::Expected, false),
            (State::Plugin, Kind::Word | Kind::Name | Kind::Literal) => (State::Plugin, false),
            (State::Given, Kind::Placeholder) => (State::Given, false),
            (State::Given, Kind::Word) if token.is("replace") => (State::Expected, false),
            (State::Given, Kind::Word) if token.is("or") => (State::Plugin, false),
            _ => afresh,
        }
    }

    fn afresh(&self, token: &Token<'_>, kind: Kind) -> State {
        if token.is_any(&["identified", "authenticated"]) {
            State::Identified
        } else if kind == Kind::Word && token.is_any(FUNCTIONS) {
            State::Function { depth: 0 }
        } else if kind == Kind::Literal && names_one(without_quotes(token.bytes)) {
            State::NamedInText { comma: false }
        } else if !names_a_secret(token, kind) {
            State::Nothing
        } else if self.begins_with_set && self.position == 1 {
            State::Everything
        } else {
            State::Named
        }
    }
}

fn expected(token: &Token<'_>, kind: Kind) -> (State, bool) {
    match kind {
        Kind::Word if token.is_any(&["password", "values"]) => (State::Expected, false),
        Kind::Open => (State::Expected, false),
        Kind::Operator if matches!(token.bytes, b"=" | b":=") => (State::Expected, false),
        Kind::Close | Kind::Comma | Kind::Semicolon | Kind::HintOpen | Kind::HintClose => (State::Nothing, false),
        _ => (State::Given, true),
    }
}

fn named(token: &Token<'_>, kind: Kind) -> Option<State> {
    match kind {
        Kind::Operator if matches!(token.bytes, b"=" | b":=" | b"=>" | b"<>" | b"!=" | b"<=>" | b"==") => {
            Some(State::Assigned)
        }
        Kind::Operator | Kind::Open => Some(State::Named),
        Kind::Word if token.is_any(&["as", "by", "for", "like", "to"]) => Some(State::Named),
        Kind::Word if token.is("identified") || names_a_secret(token, kind) => None,
        Kind::Word => Some(State::Function { depth: 0 }),
        _ => None,
    }
}

/// Is a word behind `password =` no column, variable, function or keyword for sure? Then it may be the password.
fn is_bare(token: &Token<'_>, kind: Kind, follows: Option<u8>) -> bool {
    !token.keyword && !names_a_secret(token, kind) && !token.is_any(NO_SECRETS) && !matches!(follows, Some(b'.' | b'('))
}

fn inside_function(depth: usize, kind: Kind) -> Option<(State, bool)> {
    match (kind, depth) {
        (Kind::Open, _) => Some((State::Function { depth: depth + 1 }, false)),
        (_, 0) => None,
        (Kind::Close, 1) => Some((State::Nothing, false)),
        (Kind::Close, _) => Some((State::Function { depth: depth - 1 }, false)),
        _ => Some((State::Function { depth }, kind == Kind::Literal)),
    }
}

fn names_a_secret(token: &Token<'_>, kind: Kind) -> bool {
    let name = match kind {
        Kind::Word => token.bytes,
        Kind::Name => token.bytes.get(1..token.bytes.len() - 1).unwrap_or_default(),
        _ => return false,
    };
    names_one(name) || begins_with(name, b"password_") || name.eq_ignore_ascii_case(b"pass")
}

/// Does the inside of a literal name a secret?
pub fn names_one(inside: &[u8]) -> bool {
    let may_end_one = inside.last().is_some_and(|last| b"delnstyg".contains(&last.to_ascii_lowercase()));
    may_end_one && NAMES.iter().any(|name| ends_with(inside, name.as_bytes()))
}

fn begins_with(name: &[u8], beginning: &[u8]) -> bool {
    name.get(..beginning.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(beginning))
}
