//! SQL text cut into tokens, for every dialect at once.
//!
//! One pass, never back. Where dialects disagree, the reading that shows less wins.

use memchr::memchr2;
use memchr::memmem::find;

/// What SQL's dialects disagree about; each protocol declares its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// `\'` usually stands for a quote inside of '…'.
    pub escapes_with_backslash: bool,
    /// The server has said so: no text proves it wrong.
    pub backslash_is_known: bool,
    /// A comment may hold another one.
    pub nests_comments: bool,
    /// `--` opens a comment only before a blank.
    pub dashes_need_blank: bool,
    pub hash: HashSign,
    pub double_quotes: DoubleQuotes,
    /// T-SQL: `[…]` is a name, `@name` a value.
    pub is_transact: bool,
}

/// What `#` is outside of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashSign {
    /// It opens a comment.
    Comment,
    /// It is, or begins, an operator.
    Operator,
    /// It is part of names.
    Name,
    /// A comment, unless what follows makes it an operator.
    Unknown,
}

/// What "…" holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoubleQuotes {
    Name,
    Literal,
    /// A name or a literal, by the place where it stands.
    Either,
}

impl Dialect {
    /// Where it is not known whose SQL it is.
    pub const UNKNOWN: Dialect = Dialect {
        escapes_with_backslash: true,
        backslash_is_known: false,
        nests_comments: true,
        dashes_need_blank: false,
        hash: HashSign::Unknown,
        double_quotes: DoubleQuotes::Either,
        is_transact: false,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Word,
    /// An identifier in backticks, or in brackets.
    Name,
    /// An identifier or a string, as the dialect and the position say.
    DoubleQuoted,
    /// A string or a number.
    Literal,
    Placeholder,
    /// `(` or `[`.
    Open,
    /// `)` or `]`.
    Close,
    Comma,
    Semicolon,
    Operator,
    /// The beginning of an optimiser hint or of a version comment: `/*+`, `/*!40101`.
    HintOpen,
    HintClose,
}

#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub kind: Kind,
    pub bytes: &'a [u8],
    pub start: usize,
    /// Blanks or a comment stand before it.
    pub gap: bool,
    /// A word after which a value may stand: `select`, `and`, `limit`.
    pub keyword: bool,
}

impl Token<'_> {
    pub fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.bytes.eq_ignore_ascii_case(word.as_bytes())
    }

    pub fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub fn is_operator(&self, sign: &str) -> bool {
        self.kind == Kind::Operator && self.bytes == sign.as_bytes()
    }

    pub fn end(&self) -> usize {
        self.start + self.bytes.len()
    }
}

/// A word after which a value may stand, and that keeps a blank before a bracket?
fn is_keyword(word: &[u8]) -> bool {
    let mut lower = [0; 9];
    let Some(lower) = lower.get_mut(..word.len()) else {
        return false;
    };
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    matches!(
        &*lower,
        b"all"
            | b"and"
            | b"any"
            | b"as"
            | b"between"
            | b"by"
            | b"case"
            | b"distinct"
            | b"else"
            | b"except"
            | b"exists"
            | b"fetch"
            | b"from"
            | b"having"
            | b"ilike"
            | b"in"
            | b"intersect"
            | b"into"
            | b"is"
            | b"join"
            | b"like"
            | b"limit"
            | b"not"
            | b"offset"
            | b"on"
            | b"or"
            | b"over"
            | b"regexp"
            | b"return"
            | b"returning"
            | b"rlike"
            | b"select"
            | b"set"
            | b"some"
            | b"then"
            | b"union"
            | b"using"
            | b"value"
            | b"values"
            | b"when"
            | b"where"
            | b"with"
            | b"xor"
    )
}

/// The tokens of a text.
#[derive(Clone)]
pub struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    dialect: Dialect,
    /// `\'` is a quote inside of a string, not the end of it.
    backslash: bool,
    nested_comments: bool,
    /// Where to stop telling strings from the rest: all that follows is one literal.
    gives_up_at: usize,
    open_hints: usize,
    /// The last token was the end of a value: a sign after it is an operator.
    after_value: bool,
    /// The last token was a lone `+`, which also marks folded rows.
    after_plus: bool,
    /// Something that no correct statement holds: perhaps strings end elsewhere.
    pub doubtful: bool,
    /// The first literal that would end elsewhere if backslashes were read the other way.
    pub ambiguous: Option<usize>,
    /// Where the first string begins.
    first_string: Option<usize>,
    /// Where the text stops being sure, because one of its quotes is an apostrophe: `'it's'`.
    pub stray: Option<usize>,
    /// Where the last token ended, and whether a string may follow it without a blank.
    after: (usize, Behind),
}

/// What a string that follows without a blank says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    /// The token before opens none, so the quote may be an apostrophe: `the dogs' bone`.
    Word,
    Anything,
}

/// What may stand directly before a string beside the words after which a value may stand: types, units and functions.
pub const BEFORE_STRINGS: &[&[u8]] = &[
    b"binary",
    b"bytea",
    b"call",
    b"char",
    b"cidr",
    b"comment",
    b"containing",
    b"date",
    b"datetime",
    b"default",
    b"delimiter",
    b"delimiters",
    b"elseif",
    b"enclosed",
    b"encoding",
    b"escape",
    b"escaped",
    b"if",
    b"inet",
    b"interval",
    b"json",
    b"jsonb",
    b"minus",
    b"names",
    b"numeric",
    b"separator",
    b"similar",
    b"start",
    b"starting",
    b"terminated",
    b"text",
    b"time",
    b"timestamp",
    b"timestamptz",
    b"to",
    b"uuid",
    b"varchar",
    b"while",
    b"zone",
];
/// What may stand directly behind one.
pub const AFTER_STRINGS: &[&[u8]] = &[
    b"after",
    b"asc",
    b"at",
    b"before",
    b"check",
    b"collate",
    b"comment",
    b"containing",
    b"cross",
    b"day",
    b"default",
    b"desc",
    b"div",
    b"do",
    b"encoding",
    b"end",
    b"escape",
    b"following",
    b"for",
    b"full",
    b"group",
    b"hour",
    b"inner",
    b"isnull",
    b"left",
    b"lock",
    b"minus",
    b"minute",
    b"mod",
    b"month",
    b"natural",
    b"notnull",
    b"null",
    b"offset",
    b"order",
    b"partition",
    b"plan",
    b"preceding",
    b"primary",
    b"references",
    b"right",
    b"rows",
    b"second",
    b"separator",
    b"similar",
    b"skip",
    b"sounds",
    b"starting",
    b"to",
    b"unique",
    b"week",
    b"window",
    b"year",
];

impl<'a> Lexer<'a> {
    pub fn new(dialect: Dialect, backslash: bool, bytes: &'a [u8]) -> Lexer<'a> {
        Lexer {
            bytes,
            at: 0,
            dialect,
            backslash,
            nested_comments: dialect.nests_comments,
            gives_up_at: bytes.len(),
            open_hints: 0,
            after_value: false,
            after_plus: false,
            doubtful: false,
            ambiguous: None,
            first_string: None,
            stray: None,
            after: (0, Behind::Anything),
        }
    }

    /// The same, but all from `at` on is one literal.
    pub fn giving_up_at(self, at: usize) -> Lexer<'a> {
        Lexer { gives_up_at: at, ..self }
    }

    /// A word that turns out to be a secret goes on to the next blank, bracket, quote or comment; a number to a comma.
    pub fn extend(&mut self, token: Token<'a>) -> Token<'a> {
        while let Some(byte) = self.peek(0) {
            let ends = match byte {
                b'(' | b')' | b'[' | b']' | b'\'' | b'"' | b'`' => true,
                b',' | b';' => token.kind == Kind::Literal || !self.goes_on_behind(1),
                b'/' => self.peek(1) == Some(b'*'),
                b'-' => self.peek(1) == Some(b'-'),
                _ => is_blank(byte) || self.wide_blank(self.at) > 0,
            };
            if ends {
                break;
            }
            self.at += 1;
        }
        Token { bytes: &self.bytes[token.start..self.at], ..token }
    }

    /// Does more follow without a blank?
    pub fn goes_on(&self) -> bool {
        self.goes_on_behind(0)
    }

    fn goes_on_behind(&self, ahead: usize) -> bool {
        self.peek(ahead).is_some_and(|byte| !is_blank(byte))
    }

    /// Do `=>` or `:=` follow?
    pub fn arrow_follows(&self) -> bool {
        let rest = self.behind_blanks();
        rest.starts_with(b"=>") || rest.starts_with(b":=")
    }

    /// The text behind blanks and comments.
    fn behind_blanks(&self) -> &'a [u8] {
        let rest = self.bytes[self.at..].trim_ascii_start();
        count_steps(self.bytes.len() - self.at - rest.len());
        if !rest.first().is_some_and(|first| matches!(first, b'/' | b'-' | b'#' | 0x7f.. | ..b' ')) {
            return rest;
        }
        let mut ahead = self.clone();
        ahead.skip_blanks();
        &self.bytes[ahead.at..]
    }

    /// The next sign.
    pub fn follows(&self) -> Option<u8> {
        self.behind_blanks().first().copied()
    }

    /// Does a `.` follow that is none of a number?
    pub fn name_goes_on(&self) -> bool {
        let rest = self.behind_blanks();
        rest.starts_with(b".") && !rest.get(1).is_some_and(u8::is_ascii_digit)
    }

    /// Does the colon of T-SQL's labels follow?
    pub fn makes_label(&self) -> bool {
        let goes_on = |next: &u8| b":=\"".contains(next) || is_word(*next);
        let follows = || match self.behind_blanks() {
            [b':', rest @ ..] => !rest.first().is_some_and(goes_on),
            _ => false,
        };
        self.dialect.is_transact && follows()
    }

    /// Does a `.` follow?
    pub fn dot_follows(&self) -> bool {
        self.follows() == Some(b'.')
    }

    /// How long the blank is that stands here in UTF-8: what is copied from a page or a document often holds some.
    fn wide_blank(&self, at: usize) -> usize {
        match self.bytes[at..] {
            [0xc2, 0x85 | 0xa0, ..] => 2,
            [0xe2, 0x80, 0x80..=0x8b | 0xa8 | 0xa9 | 0xaf, ..] | [0xe2, 0x81, 0x9f, ..] => 3,
            [0xe1, 0x9a, 0x80, ..] | [0xe3, 0x80, 0x80, ..] | [0xef, 0xbb, 0xbf, ..] => 3,
            _ => 0,
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn looking_at(&self, text: &[u8]) -> bool {
        self.bytes[self.at..].starts_with(text)
    }

    /// The token that begins here, and where it ends.
    fn token(&mut self, first: u8) -> (Kind, usize) {
        let next = self.peek(1);
        match first {
            b'\'' => self.string(self.at, self.backslash),
            b'"' => self.quoted(self.at, b'"', self.backslash, Kind::DoubleQuoted),
            b'`' => self.quoted(self.at, b'`', false, Kind::Name),
            b'[' if self.dialect.is_transact => self.bracketed(),
            b'@' if self.dialect.is_transact && next.is_some_and(is_word) => {
                (Kind::Placeholder, self.end_of_letters(self.at + 1))
            }
            b'(' | b'[' => self.sign(Kind::Open),
            b')' | b']' => self.sign(Kind::Close),
            b',' => self.sign(Kind::Comma),
            b';' => self.sign(Kind::Semicolon),
            b'?' => (Kind::Placeholder, self.end_of(self.at + 1, |byte| byte.is_ascii_digit())),
            b'0'..=b'9' => (Kind::Literal, self.number(self.at)),
            b'+' | b'-' if !self.after_value && self.number_begins(1) => (Kind::Literal, self.number(self.at + 1)),
            b'.' if !self.after_value && self.number_begins(0) => (Kind::Literal, self.number(self.at)),
            b'$' if self.dialect.is_transact => self.word_or_money(),
            b'$' => self.dollar(),
            b':' => self.colon(),
            b'%' if self.percent_s() => (Kind::Placeholder, self.at + 2),
            b'/' if next == Some(b'*') => self.hint_or_unclosed_comment(),
            b'*' if next == Some(b'/') && self.open_hints > 0 => self.hint_close(),
            0x80.. if typographic_quote(&self.bytes[self.at..]) > 0 => self.typographic(),
            _ if is_word(first) && first != b'#' => self.word(),
            _ => (Kind::Operator, self.operator()),
        }
    }

    fn sign(&self, kind: Kind) -> (Kind, usize) {
        (kind, self.at + 1)
    }

    /// A string that nothing closes: one of the quotes before may be an apostrophe, unless the text was cut.
    fn unclosed(&mut self, quote: u8) -> (Kind, usize) {
        if quote == b'\'' && !self.bytes.ends_with("…".as_bytes()) {
            self.goes_astray(self.first_string.unwrap_or(self.at));
        }
        self.rest()
    }

    fn goes_astray(&mut self, from: usize) {
        self.stray = Some(self.stray.map_or(from, |stray| stray.min(from)));
    }

    /// What was opened is never closed: what stands inside is unknown, so it is all one literal.
    fn rest(&mut self) -> (Kind, usize) {
        self.doubtful = true;
        (Kind::Literal, self.bytes.len())
    }

    fn end_of(&self, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let other = self.bytes[start..].iter().position(|byte| !belongs(*byte));
        let end = other.map_or(self.bytes.len(), |length| start + length);
        count_steps(end - start);
        end
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let gap = self.skip_blanks();
        let start = self.at;
        let first = *self.bytes.get(start)?;
        let (kind, end) = if start >= self.gives_up_at { self.rest() } else { self.token(first) };
        count_steps(end - start + 1);
        self.at = end;
        let mut token = Token { kind, bytes: &self.bytes[start..end], start, gap, keyword: false };
        token.keyword = kind == Kind::Word && is_keyword(token.bytes);
        self.after_value = ends_value(&token);
        self.after_plus = token.is_operator("+");
        self.after = (end, behind(&token));
        Some(token)
    }
}

/// Blanks and comments.
impl Lexer<'_> {
    /// Was there anything to skip?
    fn skip_blanks(&mut self) -> bool {
        let start = self.at;
        while let Some(first) = self.peek(0) {
            match first {
                _ if is_blank(first) => self.at += 1,
                0x80.. if self.wide_blank(self.at) > 0 => self.at += self.wide_blank(self.at),
                b'-' if self.dashes_open_comment() => self.skip_line(),
                b'#' if self.hash_opens_comment() => self.skip_line(),
                b'/' => match self.comment_end() {
                    Some(end) => self.at = end,
                    None => break,
                },
                _ => break,
            }
        }
        count_steps(self.at - start);
        self.at > start
    }

    fn skip_line(&mut self) {
        self.at = self.end_of(self.at, |byte| byte != b'\n');
    }

    fn dashes_open_comment(&self) -> bool {
        self.peek(1) == Some(b'-') && (!self.dialect.dashes_need_blank || self.peek(2).is_none_or(is_blank))
    }

    /// MySQL's comment is an operator elsewhere: `#>`, `#>>`, and `#-` before a value.
    fn hash_opens_comment(&self) -> bool {
        match self.dialect.hash {
            HashSign::Comment => true,
            HashSign::Unknown => !(self.looking_at(b"#>") || self.looking_at(b"#-") && self.value_follows(2)),
            HashSign::Operator | HashSign::Name => false,
        }
    }

    fn value_follows(&self, ahead: usize) -> bool {
        let follows = self.bytes[self.at + ahead..].iter().find(|byte| **byte != b' ');
        follows.is_some_and(|byte| b"'?$:".contains(byte))
    }

    /// The end of the comment that begins here; hints are none.
    fn comment_end(&mut self) -> Option<usize> {
        if !self.looking_at(b"/*") || self.hint_length().is_some() {
            return None;
        }
        if self.nested_comments {
            let end = self.nested_comment_end();
            if end.is_some() {
                return end;
            }
            // Not PostgreSQL then, or a broken statement. Asked once: else many of them cost quadratic time.
            self.nested_comments = false;
        }
        find(&self.bytes[self.at + 2..], b"*/").map(|length| self.at + 2 + length + 2)
    }

    fn nested_comment_end(&self) -> Option<usize> {
        let mut at = self.at;
        let mut depth = 0;
        while let Some(ahead) = memchr2(b'/', b'*', self.bytes.get(at..)?) {
            at += ahead;
            match &self.bytes[at..] {
                [b'/', b'*', ..] => depth += 1,
                [b'*', b'/', ..] => depth -= 1,
                _ => {
                    at += 1;
                    continue;
                }
            }
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    fn hint_or_unclosed_comment(&mut self) -> (Kind, usize) {
        let Some(length) = self.hint_length() else {
            return self.rest();
        };
        self.open_hints += 1;
        (Kind::HintOpen, self.at + length)
    }

    /// The length of `/*+`, `/*!`, `/*!40101` or `/*M!100100`.
    fn hint_length(&self) -> Option<usize> {
        let version = match &self.bytes[self.at..] {
            [b'/', b'*', b'+', ..] => return Some(3),
            [b'/', b'*', b'!', ..] => 3,
            [b'/', b'*', b'M', b'!', ..] => 4,
            _ => return None,
        };
        let digits = self.bytes[self.at + version..].iter().take(6);
        Some(version + digits.take_while(|byte| byte.is_ascii_digit()).count())
    }

    fn hint_close(&mut self) -> (Kind, usize) {
        self.open_hints -= 1;
        (Kind::HintClose, self.at + 2)
    }
}

/// Strings and quoted names.
impl Lexer<'_> {
    /// A string whose quote stands at `open`; its token begins where the lexer stands.
    fn string(&mut self, open: usize, backslash: bool) -> (Kind, usize) {
        self.quoted(open, b'\'', backslash, Kind::Literal)
    }

    /// A string whose prefix says what a backslash means.
    fn unambiguous_string(&mut self, open: usize, backslash: bool) -> (Kind, usize) {
        let before = self.ambiguous;
        let token = self.string(open, backslash);
        self.ambiguous = before;
        token
    }

    fn quoted(&mut self, open: usize, quote: u8, backslash: bool, kind: Kind) -> (Kind, usize) {
        if quote == b'\'' {
            self.opens_string();
        }
        let mut at = open + 1;
        while let Some(ahead) = self.bytes.get(at..).and_then(|rest| memchr2(quote, b'\\', rest)) {
            at += ahead;
            match (self.bytes[at], self.bytes.get(at + 1)) {
                (b'\\', next) => {
                    self.meets_backslash(next == Some(&quote) && quote != b'`');
                    at += if backslash { 2 } else { 1 };
                }
                (_, Some(next)) if *next == quote => at += 2,
                (_, next) => {
                    if quote != b'`' && next.is_some_and(|next| is_word(*next)) && self.wide_blank(at + 1) == 0 {
                        self.sticks(at + 1, quote);
                    }
                    return (kind, at + 1);
                }
            }
        }
        self.unclosed(quote)
    }

    /// What a word processor has put quotes around is meant as a string, though no server reads it as one.
    fn typographic(&mut self) -> (Kind, usize) {
        let inside = self.at + typographic_quote(&self.bytes[self.at..]);
        let is_close = |at: &usize| typographic_quote(&self.bytes[*at..]) > 0;
        let close = (inside..self.bytes.len()).find(is_close);
        count_steps(close.unwrap_or(self.bytes.len()) - inside);
        let end = close.map_or(self.bytes.len(), |at| at + typographic_quote(&self.bytes[at..]));
        (Kind::Literal, end)
    }

    /// A name in brackets, where two that close stand for one.
    fn bracketed(&mut self) -> (Kind, usize) {
        let mut at = self.at + 1;
        while let Some(ahead) = self.bytes.get(at..).and_then(|rest| memchr::memchr(b']', rest)) {
            at += ahead + 1;
            if self.bytes.get(at) != Some(&b']') {
                return (Kind::Name, at);
            }
            at += 1;
        }
        self.rest()
    }

    /// A word follows a string without a blank.
    fn sticks(&mut self, end: usize, quote: u8) {
        self.doubtful = true;
        let word = &self.bytes[end..self.end_of_letters(end)];
        if quote == b'\'' && !is_keyword(word) && !is_one_of(word, AFTER_STRINGS) {
            self.goes_astray(self.at);
        }
    }

    fn opens_string(&mut self) {
        if let (Some(first), true) = (self.first_string, self.after == (self.at, Behind::Word)) {
            self.goes_astray(first);
        }
        self.first_string.get_or_insert(self.at);
    }

    fn meets_backslash(&mut self, before_quote: bool) {
        if before_quote && self.ambiguous.is_none() {
            self.ambiguous = Some(self.at);
        }
    }

    /// Oracle's `q'[…]'`, whose delimiter stands at `open`.
    fn q_string(&mut self, open: usize) -> (Kind, usize) {
        let rest = &self.bytes[open..];
        let width = rest.iter().skip(1).take_while(|byte| (0x80..0xc0).contains(*byte)).take(3).count() + 1;
        let Some(delimiter) = rest.get(..width).filter(|delimiter| !is_blank(delimiter[0])) else {
            return self.string(open - 1, self.backslash);
        };
        let mut close = [0; 5];
        close[..width].copy_from_slice(delimiter);
        close[0] = closing(delimiter[0]);
        close[width] = b'\'';
        match find(&rest[width..], &close[..=width]) {
            Some(length) => (Kind::Literal, open + width + length + width + 1),
            None => self.rest(),
        }
    }

    /// `$tag$…$tag$`, `$1`, `$name`.
    fn dollar(&mut self) -> (Kind, usize) {
        let name_end = self.end_of(self.at + 1, |byte| is_word(byte) && byte != b'$');
        let named_by_digit = self.peek(1).is_some_and(|byte| byte.is_ascii_digit());
        match self.bytes.get(name_end) {
            Some(b'$') if !named_by_digit => self.dollar_string(name_end + 1),
            _ if name_end > self.at + 1 => (Kind::Placeholder, name_end),
            _ => self.sign(Kind::Operator),
        }
    }

    fn dollar_string(&mut self, start: usize) -> (Kind, usize) {
        match find(&self.bytes[start..], &self.bytes[self.at..start]) {
            Some(length) => (Kind::Literal, start + length + start - self.at),
            None => self.rest(),
        }
    }
}

/// Words, numbers, placeholders, operators.
impl Lexer<'_> {
    /// A word, or the string whose prefix it is.
    fn word(&mut self) -> (Kind, usize) {
        let end = self.end_of_word();
        let word = &self.bytes[self.at..end];
        match (word, &self.bytes[end..]) {
            (b"e" | b"E", [b'\'', ..]) => self.unambiguous_string(end, true),
            (b"n" | b"N" | b"x" | b"X" | b"b" | b"B" | [b'_', ..], [b'\'', ..]) => self.string(end, self.backslash),
            (b"q" | b"Q" | b"nq" | b"nQ" | b"Nq" | b"NQ", [b'\'', _, ..]) => self.q_string(end + 1),
            (b"u" | b"U", [b'&', b'\'', ..]) => self.unambiguous_string(end + 1, false),
            _ if self.dialect.is_transact => self.word_or_money(),
            _ => (Kind::Word, end),
        }
    }

    /// T-SQL's amounts begin with the sign of a currency, and are no names: `$12.50`, `£7`.
    fn word_or_money(&self) -> (Kind, usize) {
        match currency(&self.bytes[self.at..]) {
            0 => (Kind::Word, self.end_of_word()),
            sign if sign == 1 && !self.number_begins(sign) => (Kind::Word, self.end_of_word()), // `$action`
            sign => (Kind::Literal, self.number(self.at + sign)),
        }
    }

    /// `column#>` is a word and PostgreSQL's operator, unless the dialect has `#` in names only.
    fn end_of_word(&self) -> usize {
        let end = self.end_of_letters(self.at);
        match &self.bytes[end - 1..] {
            [b'#', b'>', ..] if self.dialect.hash != HashSign::Name => end - 1,
            _ => end,
        }
    }

    /// Where the letters from `start` on end: a blank that is none in ASCII is no letter.
    fn end_of_letters(&self, start: usize) -> usize {
        let mut end = self.end_of(start, is_ascii_word);
        while self.bytes.get(end).is_some_and(|byte| is_word(*byte)) && self.wide_blank(end) == 0 {
            end = self.end_of(end + 1, is_ascii_word);
        }
        end
    }

    fn number_begins(&self, ahead: usize) -> bool {
        let digit = |ahead| self.peek(ahead).is_some_and(|byte| byte.is_ascii_digit());
        digit(ahead) || self.peek(ahead) == Some(b'.') && digit(ahead + 1)
    }

    /// The end of a number, with all that sticks to it: `1.5e-3`, `0xFF`, `10L`, `2.5.1`; in T-SQL a backslash at the end of
    /// a line goes on with the next one.
    fn number(&self, start: usize) -> usize {
        let hexadecimal = matches!(self.bytes[start..], [b'0', b'x' | b'X', ..]);
        let mut at = start;
        while let Some(byte) = self.bytes.get(at) {
            let digit_after = |ahead: usize| self.bytes.get(at + ahead).is_some_and(u8::is_ascii_digit);
            match byte {
                b'e' | b'E' if !hexadecimal && self.sign_at(at + 1) && digit_after(2) => at += 2,
                b'.' if self.bytes.get(at + 1) != Some(&b'.') => at += 1,
                b'\\' if hexadecimal && self.dialect.is_transact => match self.bytes[at + 1..] {
                    [b'\n', ..] => at += 2,
                    [b'\r', b'\n', ..] => at += 3,
                    _ => break,
                },
                _ if is_word(*byte) && self.wide_blank(at) == 0 => at += 1,
                _ => break,
            }
        }
        at
    }

    fn sign_at(&self, at: usize) -> bool {
        matches!(self.bytes.get(at), Some(b'+' | b'-'))
    }

    /// `::type`, `:=`, `:name`, `:1`, `:"name"`.
    fn colon(&mut self) -> (Kind, usize) {
        match self.peek(1) {
            Some(b':' | b'=') => (Kind::Operator, self.at + 2),
            Some(b'"') => self.quoted(self.at + 1, b'"', false, Kind::Placeholder),
            Some(next) if is_word(next) => (Kind::Placeholder, self.end_of_letters(self.at + 1)),
            _ => self.sign(Kind::Operator),
        }
    }

    /// `%s` where a value may stand; after a `+` it may follow folded rows, and is an operator then.
    fn percent_s(&self) -> bool {
        let may_stand = !self.after_value && !self.after_plus;
        let goes_on = self.bytes.get(self.at + 2..).is_some_and(|_| self.wide_blank(self.at + 2) == 0)
            && self.peek(2).is_some_and(|byte| is_word(byte) && byte != b'#');
        may_stand && matches!(self.peek(1), Some(b's' | b'S')) && !goes_on
    }

    /// The end of an operator. It takes no sign of a number, no comment and no variable with it.
    fn operator(&mut self) -> usize {
        let first = self.bytes[self.at];
        self.doubtful |= first == b'\\';
        match first {
            b'.' => self.end_of(self.at, |byte| byte == b'.'),
            _ if b"=<>!~|&^*/+-@#".contains(&first) => self.long_operator(),
            _ => self.at + 1,
        }
    }

    fn long_operator(&self) -> usize {
        let mut end = self.at + 1;
        while self.goes_on_with(end) {
            end += 1;
        }
        end
    }

    fn goes_on_with(&self, at: usize) -> bool {
        match &self.bytes[at..] {
            [b'=' | b'<' | b'>' | b'!' | b'~' | b'|' | b'&' | b'^', ..] => true,
            [b'+' | b'-' | b'#', b'>', ..] => true,
            [b'*', ..] => self.bytes[at - 1] == b'~',
            [b'@', ..] => matches!(self.bytes[at - 1], b'<' | b'@'),
            _ => false,
        }
    }
}

#[cfg(test)]
thread_local! {
    /// Bytes that lexers have looked at, each as often as they have.
    pub static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
fn count_steps(steps: usize) {
    STEPS.set(STEPS.get() + steps);
}

#[cfg(not(test))]
fn count_steps(_steps: usize) {}

fn is_blank(byte: u8) -> bool {
    byte <= b' ' || byte == 0x7f
}

/// A part of an identifier: all dialects together, and whatever is not ASCII.
fn is_word(byte: u8) -> bool {
    WORD[usize::from(byte)]
}

fn is_ascii_word(byte: u8) -> bool {
    byte.is_ascii() && is_word(byte)
}

static WORD: [bool; 256] = {
    let mut word = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let sign = byte as u8;
        word[byte] = sign.is_ascii_alphanumeric() || sign == b'_' || sign == b'$' || sign == b'#' || sign >= 0x80;
        byte += 1;
    }
    word
};

pub fn is_one_of(word: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

fn behind(token: &Token<'_>) -> Behind {
    let opens_none = token.kind == Kind::Word && !token.keyword && !is_one_of(token.bytes, BEFORE_STRINGS);
    if opens_none { Behind::Word } else { Behind::Anything }
}

/// The length of a quote that none of SQL's is, in UTF-8: `‘ ’ ‚ ‛ “ ” „ ‟ ‹ › « » ＂ ＇`.
fn typographic_quote(text: &[u8]) -> usize {
    match text {
        [0xe2, 0x80, 0x98..=0x9f | 0xb9 | 0xba, ..] | [0xef, 0xbc, 0x82 | 0x87, ..] => 3,
        [0xc2, 0xab | 0xbb, ..] => 2,
        _ => 0,
    }
}

/// The length of the sign of a currency that T-SQL knows, in UTF-8: `$ ¢ £ ¤ ¥ ৲ ৳ ฿ ៛`, U+20A0 to U+20BF, `﷼ ﹩ ＄ ￠ ￡ ￥ ￦`.
fn currency(text: &[u8]) -> usize {
    match text {
        [b'$', ..] => 1,
        [0xc2, 0xa2..=0xa5, ..] => 2,
        [0xe0, 0xa7, 0xb2 | 0xb3, ..] | [0xe0, 0xb8, 0xbf, ..] | [0xe1, 0x9f, 0x9b, ..] => 3,
        [0xe2, 0x82, 0xa0..=0xbf, ..] | [0xef, 0xb7, 0xbc, ..] | [0xef, 0xb9, 0xa9, ..] => 3,
        [0xef, 0xbc, 0x84, ..] | [0xef, 0xbf, 0xa0 | 0xa1 | 0xa5 | 0xa6, ..] => 3,
        _ => 0,
    }
}

fn closing(delimiter: u8) -> u8 {
    match delimiter {
        b'[' => b']',
        b'(' => b')',
        b'{' => b'}',
        b'<' => b'>',
        other => other,
    }
}

fn ends_value(token: &Token<'_>) -> bool {
    match token.kind {
        Kind::Word => !token.keyword,
        Kind::Name | Kind::DoubleQuoted | Kind::Literal | Kind::Placeholder | Kind::Close => true,
        Kind::Operator => token.bytes == b".",
        Kind::Open | Kind::Comma | Kind::Semicolon | Kind::HintOpen | Kind::HintClose => false,
    }
}
