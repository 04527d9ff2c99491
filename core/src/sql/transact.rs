//! Values of T-SQL that stand without apostrophes: arguments of `EXEC`, and text in double quotes.
//!
//! | in the statement | a value is |
//! |---|---|
//! | `exec dbo.find_person Miller, [Bob], @age = "x"` | every argument but `null`, `default` and variables |
//! | `dbo.find_person Miller` where a statement begins | the same |
//! | `create procedure p @a sysname = Miller`, `backup … with name = "x"` | what stands behind `=` |
//! | `print "x"`, `raiserror("x", 16, 1)`, `throw 50000, "x", 1`, `exec("x")` | all but what is called |
//! | `"x"` elsewhere, unless QUOTED_IDENTIFIER is on | all but the names of tables and columns below |
//!
//! Under QUOTED_IDENTIFIER ON a text in double quotes is a name, under OFF a string. A login says how a session begins, a
//! batch sets it from a place on, whatever runs of it. Where neither was seen, a statement that has double quotes around
//! the name of a table or beside a dot proves that the option is on, since it could not be read otherwise.
//!
//! <https://learn.microsoft.com/sql/t-sql/statements/set-quoted-identifier-transact-sql>
//! <https://learn.microsoft.com/sql/t-sql/language-elements/execute-transact-sql>

use memchr::memchr_iter;

use super::lexer::{Dialect, DoubleQuotes, Kind, Lexer, Token};
use super::secrets::{is_marked, is_verb};

/// Words that begin a statement wherever they stand, since no name may be called so without quotes.
const BEGINNING: &str = "add alter backup begin break bulk checkpoint close commit continue create dbcc deallocate declare \
    delete deny drop else end exec execute fetch goto grant if insert kill load merge open print raiserror readtext \
    reconfigure restore return revert revoke rollback save select set shutdown truncate update updatetext use waitfor \
    while writetext";
/// Statements that change nothing of what `FROM` means.
const READING_TABLES: &[&str] = &["select", "delete", "update", "set"];
/// What follows all arguments of a call.
const BEHIND_ARGUMENTS: &[&str] = &["as", "at", "with"];
const OF_PARAMETERS: &[&str] = &["out", "output", "readonly"];
/// The name of a table follows.
const BEFORE_TABLES: &[&str] = &["insert", "into", "join", "merge", "table", "update"];
/// What turns QUOTED_IDENTIFIER on and off.
const OPTIONS: [&[u8]; 2] = [b"quoted_identifier", b"ansi_defaults"];

/// What a word, or a text in quotes, is where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// A value, whatever quotes it has.
    Value,
    /// A procedure or the heading of a column.
    Name,
    /// A table or a part of a name: no string may stand there.
    Table,
    Anywhere,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// A statement begins: one with a name is a call.
    #[default]
    Start,
    /// Behind `EXEC`.
    Exec,
    /// In the name of a procedure.
    Procedure,
    /// A value may begin; directly behind the procedure, or a statement.
    Argument {
        is_first: bool,
    },
    /// Behind a value.
    Given,
    /// All words are values, in brackets that open at this depth or to the end of the statement.
    Values {
        depth: usize,
        in_brackets: bool,
    },
    /// Where a value stands behind each `=`: parameters of a routine, options of a backup.
    Assigned,
    /// Behind `SET`, and behind the option that matters.
    Set {
        quotes: bool,
    },
    Other,
}

/// Follows a batch token by token.
#[derive(Clone, Copy, Debug)]
pub struct Transact {
    /// What "…" holds from here on.
    pub quotes: DoubleQuotes,
    place: Place,
    depth: usize,
    /// The brackets in which `FROM` names tables, as bits.
    of_tables: u64,
    /// What the word before says of a name behind it.
    leads: Stands,
    behind_dot: bool,
    behind_at: bool,
    behind_hash: bool,
    behind_equals: bool,
    /// In `{call p}`.
    in_braces: bool,
    /// The batch defines a routine, whose options are not the session's.
    defines: bool,
    has_begun: bool,
    /// Behind `GRANT` and its like, where EXECUTE is what may be done.
    grants: bool,
    /// `CREATE` or `ALTER` began the statement.
    creates: bool,
}

impl Transact {
    pub fn new(quotes: DoubleQuotes) -> Transact {
        Transact {
            quotes,
            place: Place::Start,
            depth: 0,
            of_tables: 0,
            leads: Stands::Anywhere,
            behind_dot: false,
            behind_at: false,
            behind_hash: false,
            behind_equals: false,
            in_braces: false,
            defines: false,
            has_begun: false,
            grants: false,
            creates: false,
        }
    }

    /// What the token is where it stands; `lexer` stands behind it.
    pub fn stands(&mut self, token: &Token<'_>, lexer: &Lexer<'_>) -> Stands {
        match token.kind {
            Kind::Open => self.depth += 1,
            Kind::Close => self.closes(),
            Kind::Semicolon => (self.of_tables, self.grants) = (0, false),
            _ => {}
        }
        let stands = match (token.kind, self.place) {
            (Kind::Semicolon, _) => self.goes_to(Place::Start),
            (Kind::HintOpen | Kind::HintClose, _) => Stands::Anywhere,
            (_, Place::Start) => self.start(token, lexer),
            (_, Place::Exec) => self.exec(token, lexer),
            (_, Place::Procedure) => self.procedure(token, lexer),
            (_, Place::Argument { is_first }) => self.argument(token, lexer, is_first),
            (_, Place::Given) => self.given(token, lexer),
            (_, Place::Values { depth, in_brackets }) => self.values(token, lexer, depth, in_brackets),
            (_, Place::Set { quotes }) => self.set(token, lexer, quotes),
            (_, Place::Assigned) => self.assigned(token, lexer),
            (Kind::Word, Place::Other) => self.word(token, lexer),
            (_, Place::Other) => Stands::Anywhere,
        };
        let is_part = self.behind_dot || is_text(token.kind) && goes_on(token, lexer);
        let next = self.leads_from(token);
        let leads = std::mem::replace(&mut self.leads, next);
        self.in_braces = token.is_operator("{") || self.in_braces && token.kind != Kind::Word;
        self.behind_equals = token.is_operator("=") || self.behind_equals && token.kind == Kind::Operator;
        self.behind_dot = token.kind == Kind::Operator && token.bytes.ends_with(b".");
        self.behind_hash = token.is_operator("#");
        self.behind_at = token.is_operator("@@");
        match stands {
            Stands::Value | Stands::Table => stands,
            _ if is_part => Stands::Table,
            Stands::Anywhere if is_text(token.kind) => leads,
            _ => stands,
        }
    }

    /// In the place of the token stands a `?`.
    pub fn hides(&mut self, token: &Token<'_>, lexer: &Lexer<'_>) {
        self.stands(&Token { kind: Kind::Literal, keyword: false, ..*token }, lexer);
    }

    fn goes_to(&mut self, place: Place) -> Stands {
        self.place = place;
        Stands::Anywhere
    }

    fn closes(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.of_tables &= u64::MAX >> 63_usize.saturating_sub(self.depth);
    }

    /// The bit of the brackets around, where they are not too deep.
    fn bit(&self) -> u64 {
        1_u64.checked_shl(self.depth as u32).unwrap_or_default()
    }

    fn leads_from(&self, token: &Token<'_>) -> Stands {
        let names_table = || token.is_any(BEFORE_TABLES) || token.is("from") && self.of_tables & self.bit() != 0;
        match token.kind {
            Kind::Word if self.behind_dot => Stands::Anywhere,
            Kind::Word if token.is("as") && self.of_tables & self.bit() != 0 => Stands::Name,
            Kind::Word if names_table() => Stands::Table,
            _ => Stands::Anywhere,
        }
    }

    fn start(&mut self, token: &Token<'_>, lexer: &Lexer<'_>) -> Stands {
        let is_named = match token.kind {
            Kind::Word => !is_any(token.bytes, BEGINNING) && !token.keyword && !is_verb(token.bytes),
            kind => is_text(kind),
        };
        match token.kind {
            _ if is_named && lexer.makes_label() => Stands::Name,
            _ if is_named => {
                self.place = Place::Procedure;
                Stands::Name
            }
            Kind::Word => self.word(token, lexer),
            _ => Stands::Anywhere,
        }
    }

    /// A word that begins a statement, or is in the middle of one.
    fn word(&mut self, token: &Token<'_>, lexer: &Lexer<'_>) -> Stands {
        if self.behind_dot || self.behind_at || self.behind_hash {
            return Stands::Anywhere;
        }
        if is_any(token.bytes, BEGINNING) {
            self.creates = token.is_any(&["create", "alter"]);
            let bit = self.bit();
            self.of_tables = if token.is_any(READING_TABLES) { self.of_tables | bit } else { self.of_tables & !bit };
        }
        self.defines |= !self.has_begun && token.is_any(&["create", "alter"]);
        self.has_begun = true;
        self.grants = token.is_any(&["grant", "deny", "revoke"]) || self.grants && !token.is_any(&["to", "from"]);
        let throws = || token.is("throw") && lexer.follows().is_some_and(|sign| sign.is_ascii_digit() || sign == b'@');
        self.goes_to(if self.grants {
            Place::Other
        } else if token.is_any(&["exec", "execute"]) || token.is("call") && self.in_braces {
            Place::Exec
        } else if token.is_any(&["print", "raiserror"]) || throws() {
            Place::Values { depth: self.depth, in_brackets: false }
        } else if token.is_any(&["backup", "restore"])
            || self.creates && token.is_any(&["proc", "procedure", "function"])
        {
            Place::Assigned
        } else if token.is("set") {
            Place::Set { quotes: false }
        } else {
            Place::Other
        })
    }

    fn exec(&mut self, token: &Token<'_>, lexer: &Lexer<'_>) -> Stands {
        match token.kind {
            Kind::Placeholder | Kind::Literal if lexer.follows() == Some(b'=') => Stands::Anywhere,
            Kind::Operator if token.bytes == b"=" || is_before_name(token) => Stands::Anywhere,
            Kind::Open => self.opens(),
            // `GRANT EXECUTE ON`, `EXECUTE AS`
            Kind::Word if token.is_any(&["as", "on", "to"]) => self.goes_to(Place::Other),
            kind if is_text(kind) => {
                self.place = Place::Procedure;
                Stands::Name
            }
            Kind::Placeholder | Kind::Literal => self.goes_to(Place::Procedure),
            _ => self.goes_to(Place::Other),
        }
    }

    fn procedure(&mut self, token: &Token<'_>, lexer: &Lexer<'_>) -> Stands {
        match token.kind {
            Kind::Operator if token.bytes.ends_with(b".") => Stands::Anywhere,
            Kind::Operator if token.bytes == b"#" && (self.behind_dot || self.behind_hash) => Stands::Anywhere,
            kind if is_text(kind) && (self.behind_dot || self.behind_hash) => Stands::Name,
            _ => self.argument(token, lexer, true),
        }
    }

    fn argument(&mut self, token: &Token<'_>, lexer: &Lexer<'_>, is_first: bool) -> Stands {
        match token.kind {
            Kind::Comma | Kind::Operator => self.goes_to(Place::Argument { is_first: false }),
            Kind::Word if is_first && ends_arguments(token) => self.word(token, lexer),
            Kind::Word if self.behind_at || token.is_any(&["null", "default"]) => self.goes_to(Place::Given),
            Kind::Open => self.opens(),
            Kind::Close => self.goes_to(Place::Other),
            kind if is_text(kind) => self.gives(),
            _ => self.goes_to(Place::Given),
        }
    }

    /// Whatever goes on behind a value is one, too, as nothing else may follow it.
    fn given(&mut self, token: &Token<'_>, lexer: &Lexer<'_>) -> Stands {
        match token.kind {
            Kind::Comma | Kind::Operator => self.goes_to(Place::Argument { is_first: false }),
            Kind::Word if ends_arguments(token) => self.word(token, lexer),
            Kind::Word if token.is_any(OF_PARAMETERS) => Stands::Anywhere,
            Kind::Open => self.opens(),
            Kind::Close => self.goes_to(Place::Other),
            kind if is_text(kind) => self.gives(),
            _ => Stands::Anywhere,
        }
    }

    fn gives(&mut self) -> Stands {
        self.place = Place::Given;
        Stands::Value
    }

    fn opens(&mut self) -> Stands {
        self.goes_to(Place::Values { depth: self.depth - 1, in_brackets: true })
    }

    fn values(&mut self, token: &Token<'_>, lexer: &Lexer<'_>, depth: usize, in_brackets: bool) -> Stands {
        let is_direct = self.depth <= depth + 1;
        let is_name = || {
            lexer.follows() == Some(b'(')
                || goes_on(token, lexer)
                || self.behind_dot
                || self.behind_at
                || token.keyword
                || token.is_any(&["null", "end", "collate"])
        };
        match token.kind {
            Kind::Close if in_brackets && self.depth <= depth => self.goes_to(Place::Given),
            Kind::Close if self.depth < depth => self.goes_to(Place::Other),
            Kind::DoubleQuoted => Stands::Value,
            Kind::Word if self.depth == depth && ends_arguments(token) => self.word(token, lexer),
            Kind::Word | Kind::Name if is_direct && !is_name() => Stands::Value,
            _ => Stands::Anywhere,
        }
    }

    fn assigned(&mut self, token: &Token<'_>, lexer: &Lexer<'_>) -> Stands {
        match token.kind {
            Kind::Word if is_any(token.bytes, BEGINNING) => self.word(token, lexer),
            Kind::Word if token.is("null") => Stands::Anywhere,
            kind if is_text(kind) && self.behind_equals => Stands::Value,
            _ => Stands::Anywhere,
        }
    }

    fn set(&mut self, token: &Token<'_>, lexer: &Lexer<'_>, quotes: bool) -> Stands {
        match token.kind {
            Kind::Comma => Stands::Anywhere,
            Kind::Word if token.is_any(&["on", "off"]) => {
                match (quotes, token.is("on")) {
                    (true, true) if !self.defines => self.quotes = DoubleQuotes::Name,
                    (true, false) => self.quotes = DoubleQuotes::Literal,
                    _ => {}
                }
                self.goes_to(Place::Other)
            }
            Kind::Word if is_any(token.bytes, BEGINNING) => self.word(token, lexer),
            Kind::Word => {
                let is_one = OPTIONS.iter().any(|option| token.bytes.eq_ignore_ascii_case(option));
                self.goes_to(Place::Set { quotes: quotes || is_one })
            }
            _ => self.goes_to(Place::Other),
        }
    }
}

/// What "…" holds in the batches behind this one.
pub fn quotes_behind(dialect: Dialect, batch: &[u8]) -> DoubleQuotes {
    let mut transact = Transact::new(dialect.double_quotes);
    if may_set(batch) {
        let mut lexer = Lexer::new(dialect, dialect.escapes_with_backslash, batch);
        while let Some(token) = lexer.next() {
            transact.stands(&token, &lexer);
        }
    }
    transact.quotes
}

/// Does the text hold the name of one of the options?
fn may_set(text: &[u8]) -> bool {
    let is_one = |at: usize, option: &[u8]| {
        let before = option.iter().position(|byte| *byte == b'_').unwrap_or_default();
        let begin = at.checked_sub(before);
        let name = begin.and_then(|begin| text.get(begin..begin + option.len()));
        name.is_some_and(|name| name.eq_ignore_ascii_case(option))
    };
    memchr_iter(b'_', text).any(|at| OPTIONS.iter().any(|option| is_one(at, option)))
}

/// Does a part of a name follow: `dbo.p`, `#p`?
fn is_before_name(token: &Token<'_>) -> bool {
    token.kind == Kind::Operator && (token.bytes.ends_with(b".") || token.bytes == b"#")
}

/// Names, and what might be one.
fn is_text(kind: Kind) -> bool {
    matches!(kind, Kind::Word | Kind::Name | Kind::DoubleQuoted)
}

/// Does a dot follow that is shown? Behind a word of the family it may not be.
fn goes_on(token: &Token<'_>, lexer: &Lexer<'_>) -> bool {
    lexer.dot_follows() && !is_marked(token)
}

fn ends_arguments(token: &Token<'_>) -> bool {
    token.is_any(BEHIND_ARGUMENTS) || is_any(token.bytes, BEGINNING)
}

fn is_any(word: &[u8], words: &str) -> bool {
    words.split_ascii_whitespace().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}
