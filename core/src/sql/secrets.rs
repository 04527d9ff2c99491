//! Where passwords stand in a statement: they are never kept, whatever the user asked for.
//!
//! ```text
//! IDENTIFIED BY 'x' | BY x | BY PASSWORD 'x' | BY VALUES 'x' | WITH plugin AS 'x' | VIA plugin USING 'x' [OR …]
//!                                                                                  … REPLACE 'x'
//! PASSWORD 'x' | PASSWORD = 'x' | PASSWORD('x') | any_password = 'x' | "password" = md5('x')
//! SET PASSWORD …                                                       all that follows
//! pgp_sym_encrypt(a, 'x')                                              every literal inside
//! ```
//!
//! Literals that hold a connection string or a statement with a password are secrets as a whole: [`super::credentials`].

use super::credentials::NAMES;
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

/// Follows a statement token by token.
#[derive(Debug, Default)]
pub struct Secrets {
    state: State,
    /// Tokens of the statement so far, of which the first ones matter.
    position: usize,
    begins_with_set: bool,
    begins_with_change: bool,
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
    /// `password`, perhaps `=`: the next literal is a secret.
    Named,
    /// `password = function(`: the literals inside are secrets.
    Function { depth: usize },
    /// `SET PASSWORD`: every literal is one.
    Everything,
}

impl Secrets {
    /// Is this token a secret? `kind` is what it turned out to be.
    pub fn holds(&mut self, token: &Token<'_>, kind: Kind) -> bool {
        if kind == Kind::Semicolon {
            *self = Secrets::default();
            return false;
        }
        let (state, secret) = self.next(token, kind);
        self.state = state;
        if self.position == 0 {
            self.begins_with_set = token.is("set");
            self.begins_with_change = token.is_any(&["create", "alter", "recreate"]);
        }
        self.of_user |= self.begins_with_change
            && self.position <= USER_STANDS
            && token.is_any(&["user", "role", "login", "group"]);
        self.position += 1;
        secret
    }

    fn next(&self, token: &Token<'_>, kind: Kind) -> (State, bool) {
        let afresh = (self.afresh(token, kind), false);
        match (self.state, kind) {
            (State::Everything, _) => (State::Everything, kind == Kind::Literal),
            (State::Expected, _) => expected(token, kind),
            (State::Named | State::Given, Kind::Literal) => (State::Given, true),
            (State::Named, Kind::Word) if self.of_user && !token.is_any(POLICY) => (State::Given, true),
            (State::Named, _) => named(token, kind).map_or(afresh, |state| (state, false)),
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
        if token.is("identified") {
            State::Identified
        } else if kind == Kind::Word && token.is_any(FUNCTIONS) {
            State::Function { depth: 0 }
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
        Kind::Operator | Kind::Open => Some(State::Named),
        Kind::Word if token.is_any(&["as", "by", "for", "like", "to"]) => Some(State::Named),
        Kind::Word if token.is("identified") || names_a_secret(token, kind) => None,
        Kind::Word => Some(State::Function { depth: 0 }),
        _ => None,
    }
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
    NAMES.iter().any(|ending| ends_with(name, ending.as_bytes())) || begins_with(name, b"password_")
}

fn begins_with(name: &[u8], beginning: &[u8]) -> bool {
    name.get(..beginning.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(beginning))
}

fn ends_with(name: &[u8], ending: &[u8]) -> bool {
    name.len() >= ending.len() && name[name.len() - ending.len()..].eq_ignore_ascii_case(ending)
}
