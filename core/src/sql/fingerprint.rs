//! A statement with its literals removed and its lists folded.
//!
//! | in the statement | in the fingerprint |
//! |---|---|
//! | a literal, a number with its sign, a placeholder | `?` |
//! | several of them without anything between | `?` |
//! | `IN (1, 2, 3)`, `IN (1)` | `in (?+)` |
//! | `IN ((1, 2), (3, 4))` | `in ((?, ?)+)` |
//! | `ARRAY[1, 2]`, `ARRAY[[1, 2], [3, 4]]` | `array[?+]`, `array[[?, ?]+]` |
//! | `VALUES (1, 2)` | `values (?, ?)`: one row is not the same as many |
//! | `VALUES (1, 2), (3, 4)` | `values (?, ?)+`: the first row stands for all |
//! | a word | in lower case |
//! | `` `Name` ``, `"Name"`, T-SQL's `[Name]` | as it is, or `?`, see below |
//! | a name that a program made up: `savepoint sa_savepoint_1` | `?`, see [`super::made_up`] |
//! | a comment, blanks | one blank; none inside of brackets, one around comparisons |
//! | `/*+ hint */`, `/*!40101 … */` | kept, its literals removed |
//! | a quote, comment or dollar quote that nothing closes | `?` for all that follows |
//! | an apostrophe that is not doubled, `'it's'` | `?` from the string on where it may stand |
//! | `;` at the end | nothing |
//! | more than 4 KiB | cut between two tokens, `…` |
//!
//! Text in double quotes is an identifier or a string. It stays only if it looks like an identifier (letters, digits,
//! `_ $ # -`, single blanks, a letter first) and stands before or after a dot, or the dialect has only identifiers in
//! double quotes (PostgreSQL, Oracle), or the dialect is not known and it stands where a value rarely does: not after a
//! comparison, not in an `IN` list, not in a row of `VALUES`, and after no backtick. What T-SQL takes for a value
//! beside that says [`super::transact`].
//!
//! Where a string ends depends on what `\'` means to the server. The dialect's usual reading is taken, unless it leads
//! to something that no statement holds (a quote never closed, a word right after a string, a backslash outside of
//! one) and the other reading does not. If both do, all from that string on is `?`.
//!
//! Words are taken as names of one case, so MySQL's tables `T` and `t` share a fingerprint. `--` opens a comment even
//! where MySQL would read two minus signs, unless the dialect is said. Lists of other things than values are not
//! folded: `in (a, 1)`, `or a = 1 or a = 2`, `union all select 1 union all select 2`.

use std::ops::Range;

use super::credentials;
use super::family;
use super::fold::{Effect, List, Rows, Show};
use super::generated_names::GeneratedNames;
use super::hash::Hash;
use super::lexer::{Dialect, DoubleQuotes, Kind, Lexer, Token};
use super::secrets::{Secrets, is_marked};
use super::template;
use super::transact::{Stands, Transact};
use super::visible;

/// The longest fingerprint, in bytes, its `…` included.
const LONGEST: usize = 4096;
/// The longest text that is shown as it was sent.
const LONGEST_RAW: usize = 64 * 1024;
/// No dialect has longer identifiers; what is longer is data.
const LONGEST_NAME: usize = 256;
const CUT: &str = "…";

/// Reads statements; its buffers serve for all of them.
#[derive(Debug, Default)]
pub struct Fingerprinter {
    pub fingerprint: String,
    /// The statement as it was sent.
    pub raw: String,
    values: Values,
}

/// What was removed from the statement that was read last.
#[derive(Debug, Default)]
pub struct Values {
    /// Where its literals stand, as far as a template goes.
    pub literals: Vec<Range<usize>>,
    /// It held others, too: secrets, and names that were made up.
    pub others: bool,
    /// Something stands behind a word of the credential family, or a literal holds such a word or a connection string.
    pub secrets: bool,
    /// One of its statements begins with no verb: what of it is hidden is hardly a secret.
    pub unknown: bool,
    /// A name, a word or a comment is of that family.
    pub names_secrets: bool,
    /// T-SQL's double quotes were taken as those of names, which nothing proves.
    pub unproved: bool,
}

/// What a reading of a statement found.
struct Reading {
    parameters: u64,
    /// Where another reading of backslashes would differ, if this one met something that no statement holds.
    doubtful_from: Option<usize>,
    /// Where strings may end elsewhere because a quote is an apostrophe.
    stray_from: Option<usize>,
}

impl Fingerprinter {
    /// Read a statement into `fingerprint`; the answer is the hash of its literals.
    pub fn read(&mut self, dialect: Dialect, text: &[u8]) -> u64 {
        let parameters = self.read_as(dialect, text);
        if !self.values.unproved {
            return parameters;
        }
        self.read_as(Dialect { double_quotes: DoubleQuotes::Literal, ..dialect }, text)
    }

    fn read_as(&mut self, dialect: Dialect, text: &[u8]) -> u64 {
        let backslash = dialect.escapes_with_backslash;
        let usual = self.compose(dialect, Lexer::new(dialect, backslash, text), text);
        let Some(start) = usual.doubtful_from else {
            return self.sure(dialect, backslash, text, usual);
        };
        let start = usual.stray_from.map_or(start, |stray| start.min(stray));
        if dialect.backslash_is_known {
            return self.up_to(dialect, backslash, text, start);
        }
        let unusual = self.compose(dialect, Lexer::new(dialect, !backslash, text), text);
        match unusual.doubtful_from {
            None => self.sure(dialect, !backslash, text, unusual),
            Some(_) => self.up_to(dialect, backslash, text, unusual.stray_from.map_or(start, |stray| start.min(stray))),
        }
    }

    /// The reading that was made last, or as much of it as no apostrophe makes unsure.
    fn sure(&mut self, dialect: Dialect, backslash: bool, text: &[u8], reading: Reading) -> u64 {
        match reading.stray_from {
            Some(start) => self.up_to(dialect, backslash, text, start),
            None => reading.parameters,
        }
    }

    /// Read the statement so that all from `start` on is one literal, and a secret.
    fn up_to(&mut self, dialect: Dialect, backslash: bool, text: &[u8], start: usize) -> u64 {
        self.compose(dialect, Lexer::new(dialect, backslash, text).giving_up_at(start), text);
        self.values.secrets = true;
        0
    }

    /// Write the statement that was read last into `raw`.
    pub fn keep_raw(&mut self, text: &[u8]) {
        self.raw.clear();
        visible::append(&mut self.raw, &text[..text.len().min(LONGEST_RAW + 1)]);
        cut(&mut self.raw, LONGEST_RAW);
    }

    /// Did the statement that was read last hold a secret?
    pub fn holds_secrets(&self) -> bool {
        self.values.secrets
    }

    /// Did it hold or name one? Then none of its literals may be shown.
    pub fn speaks_of_secrets(&self) -> bool {
        self.values.secrets || self.values.unknown || self.values.names_secrets
    }

    /// The places of its literals, if nothing else was removed from it.
    pub fn only_literals(&self) -> Option<&[Range<usize>]> {
        (!self.values.others && !self.values.secrets && !self.values.unknown).then_some(&self.values.literals)
    }

    fn compose(&mut self, dialect: Dialect, lexer: Lexer<'_>, text: &[u8]) -> Reading {
        self.fingerprint.clear();
        self.values.literals.clear();
        self.values = Values { literals: std::mem::take(&mut self.values.literals), ..Values::default() };
        Composer::new(dialect, &mut self.fingerprint, &mut self.values).all(lexer, text)
    }
}

/// Cut `text` between two characters, and show it.
pub fn cut(text: &mut String, longest: usize) {
    if text.len() > longest {
        let boundary = (0..=longest - CUT.len()).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(boundary.unwrap_or(0));
        text.push_str(CUT);
    }
}

/// The evidence that double quotes around names give of T-SQL's option where neither login nor `SET` was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Quotes {
    None,
    /// A column or a string.
    Guess,
    /// Only a name may stand there.
    Prove,
}

/// What the blanks between two tokens depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Class {
    Start,
    Open,
    Close,
    Comma,
    Semicolon,
    Word,
    Keyword,
    Value,
    /// A value that stays apart from what follows.
    Secret,
    Comparison,
    /// The `+` that stands for more rows.
    MoreRows,
    Hint,
    Other,
}

impl Class {
    fn of(token: &Token<'_>, kind: Kind) -> Class {
        match kind {
            Kind::Word if token.keyword => Class::Keyword,
            Kind::Word | Kind::Name | Kind::DoubleQuoted => Class::Word,
            Kind::Literal | Kind::Placeholder => Class::Value,
            Kind::Open => Class::Open,
            Kind::Close => Class::Close,
            Kind::Comma => Class::Comma,
            Kind::Semicolon => Class::Semicolon,
            Kind::Operator if is_comparison(token.bytes) => Class::Comparison,
            Kind::Operator => Class::Other,
            Kind::HintOpen | Kind::HintClose => Class::Hint,
        }
    }

    fn is_word_or_value(self) -> bool {
        matches!(self, Class::Word | Class::Keyword | Class::Value)
    }
}

fn is_comparison(sign: &[u8]) -> bool {
    matches!(sign, b"=" | b"<" | b">" | b"<=" | b">=" | b"<>" | b"!=" | b"<=>" | b":=" | b"||")
}

/// Does a blank stand between the two? `gap`: in the statement one does.
fn apart(left: Class, right: Class, gap: bool) -> bool {
    match (left, right) {
        (Class::Start | Class::Open, _) => false,
        (Class::Semicolon, Class::Close) => true, // not a secret that goes on behind a semicolon
        (_, Class::Close | Class::Comma | Class::Semicolon | Class::MoreRows) => false,
        (Class::Comma | Class::Semicolon | Class::Comparison | Class::MoreRows | Class::Hint | Class::Secret, _) => {
            true
        }
        (_, Class::Comparison | Class::Hint) => true,
        (Class::Keyword, Class::Open) => true,
        _ => gap || left.is_word_or_value() && right.is_word_or_value(),
    }
}

/// Writes one fingerprint.
struct Composer<'a> {
    dialect: Dialect,
    text: &'a mut String,
    values: &'a mut Values,
    secrets: Secrets,
    made_up: GeneratedNames,
    transact: Option<Transact>,
    /// What T-SQL's double quotes around the token, and around those before it, say of the option.
    quotes: Quotes,
    quotes_before: Quotes,
    rows: Rows,
    list: Option<List>,
    /// The opening bracket of a list may follow.
    list_opens_with: Option<u8>,
    previous: Class,
    /// A dot, or a word like `like`, came before.
    after_dot: bool,
    compares: bool,
    semicolon_waits: bool,
    backtick_seen: bool,
    full: bool,
    literals: Hash,
}

impl<'a> Composer<'a> {
    fn new(dialect: Dialect, text: &'a mut String, values: &'a mut Values) -> Composer<'a> {
        Composer {
            dialect,
            text,
            values,
            secrets: Secrets::default(),
            made_up: GeneratedNames::default(),
            transact: dialect.is_transact.then(|| Transact::new(dialect.double_quotes)),
            quotes: Quotes::None,
            quotes_before: Quotes::None,
            rows: Rows::default(),
            list: None,
            list_opens_with: None,
            previous: Class::Start,
            after_dot: false,
            compares: false,
            semicolon_waits: false,
            backtick_seen: false,
            full: false,
            literals: Hash::default(),
        }
    }

    fn all(&mut self, mut lexer: Lexer<'_>, text: &[u8]) -> Reading {
        let mut end = 0;
        while let Some(token) = lexer.next() {
            self.comment(text, end..token.start);
            end = token.end();
            let before = self.transact;
            let kind = self.kind_of(&token, &lexer, text);
            let is_shown = !self.rows.passes_over(&token, kind);
            let told = match token.kind {
                _ if self.rows.more(&token) => Kind::Comma,
                // A bare word that is a value may be of the family for all that.
                Kind::Word if kind == Kind::Literal && is_marked(&token) => Kind::Word,
                _ => kind,
            };
            if is_shown && !is_cut(&token, text) && self.secrets.hold(&token, told, &lexer, self.text) {
                let secret = if self.secrets.hides_all() { token } else { whole_secret(&mut lexer, token) };
                end = secret.end();
                self.values.secrets |= !self.secrets.no_sql;
                self.values.unknown |= self.secrets.no_sql;
                self.follow(before, &secret, Kind::Literal, &lexer);
                self.token(&secret, Kind::Literal);
                if self.previous == Class::Value {
                    self.previous = Class::Secret;
                }
            } else {
                if kind == Kind::Literal {
                    self.literal(&token, lexer.follows() == Some(b','));
                }
                if is_shown {
                    self.follow(before, &token, kind, &lexer);
                } else {
                    self.transact = before;
                }
                self.token(&token, kind);
            }
        }
        self.comment(text, end..text.len());
        if text.ends_with(CUT.as_bytes()) && !self.text.ends_with(CUT) {
            self.put(Class::Word, CUT.as_bytes(), true); // the text was cut within its last literal
        }
        self.values.names_secrets |= self.secrets.named;
        self.values.unproved = self.quotes_before == Quotes::Guess;
        let doubtful_from = lexer.ambiguous.filter(|_| lexer.doubtful);
        // Of a secret there is no trace, so that nobody can tell equal ones: its parameters are not known.
        let parameters = if self.values.secrets || self.values.unknown { 0 } else { self.literals.value() };
        Reading { parameters, doubtful_from, stray_from: lexer.stray }
    }

    /// T-SQL goes on as it is shown: values side by side are one.
    fn follow(&mut self, before: Option<Transact>, token: &Token<'_>, kind: Kind, lexer: &Lexer<'_>) {
        if !matches!(kind, Kind::Literal | Kind::Placeholder) || before.is_none() {
            return;
        }
        self.transact = before;
        let goes_on = matches!(self.previous, Class::Value | Class::Secret) && !self.semicolon_waits;
        if let Some(transact) = self.transact.as_mut().filter(|_| !goes_on) {
            transact.hides(token, lexer);
        }
    }

    /// What a token is, once it is known what stands around it. A name that was made up is no more than a placeholder.
    fn kind_of(&mut self, token: &Token<'_>, lexer: &Lexer<'_>, text: &[u8]) -> Kind {
        self.backtick_seen |= token.bytes.starts_with(b"`");
        let stands = self.transact.as_mut().map_or(Stands::Anywhere, |transact| transact.stands(token, lexer));
        self.quotes = Quotes::None;
        let kind = match token.kind {
            Kind::Word if is_cut(token, text) => Kind::Word,
            Kind::Word | Kind::Name | Kind::DoubleQuoted if stands == Stands::Value => Kind::Literal,
            Kind::DoubleQuoted if self.is_name(token, lexer, stands) => Kind::Name,
            Kind::DoubleQuoted => Kind::Literal,
            Kind::Name if token.bytes.starts_with(b"[") && !looks_like_name(token.bytes) => Kind::Literal,
            Kind::Word | Kind::Name if visible::width(token.bytes) > LONGEST_NAME => Kind::Literal,
            kind => kind,
        };
        if !self.made_up.takes(token, kind, lexer) {
            return kind;
        }
        self.literals.add(token.bytes);
        self.values.others = true;
        Kind::Placeholder
    }

    fn is_name(&mut self, token: &Token<'_>, lexer: &Lexer<'_>, stands: Stands) -> bool {
        if !looks_like_name(token.bytes) {
            return false;
        }
        if let Some(transact) = &self.transact {
            return self.is_name_of_transact(transact.quotes, stands);
        }
        // Behind a word of the family no dot may be shown.
        let goes_on = || lexer.dot_follows() && !is_marked(token);
        match self.dialect.double_quotes {
            _ if self.after_dot || goes_on() => true,
            DoubleQuotes::Name => true,
            DoubleQuotes::Literal => false,
            DoubleQuotes::Either => !self.value_stands_here(),
        }
    }

    fn is_name_of_transact(&mut self, quotes: DoubleQuotes, stands: Stands) -> bool {
        match (quotes, stands) {
            (DoubleQuotes::Name, _) => true,
            (DoubleQuotes::Either, Stands::Table) => {
                self.quotes = Quotes::Prove;
                true
            }
            (_, Stands::Name | Stands::Table) => true,
            (DoubleQuotes::Literal, _) => false,
            (DoubleQuotes::Either, _) => {
                self.quotes = Quotes::Guess;
                !self.value_stands_here()
            }
        }
    }

    fn value_stands_here(&self) -> bool {
        let in_row = self.list.is_some() || matches!(self.rows, Rows::First { depth: 1 });
        let first_in_place = matches!(self.previous, Class::Open | Class::Comma);
        self.backtick_seen || self.compares || in_row && first_in_place
    }

    /// What stands between two tokens: a comment may hold a connection string.
    fn comment(&mut self, text: &[u8], place: Range<usize>) {
        let comment = &text[place.start..place.end.min(place.start + LONGEST_RAW)];
        self.values.names_secrets |= comment.len() > 1 && credentials::inside(comment);
    }

    fn literal(&mut self, token: &Token<'_>, another_follows: bool) {
        self.literals.add(token.bytes);
        if token.end() <= template::LONGEST {
            self.values.literals.push(token.start..token.end());
        }
        let is_text = token.kind != Kind::Literal
            || !token.bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte));
        let looked_at = &token.bytes[..token.bytes.len().min(LONGEST_RAW)];
        self.values.secrets |= is_text && credentials::inside(looked_at);
        self.values.names_secrets |= another_follows && is_text && family::is_key_of_value(looked_at);
    }

    fn token(&mut self, token: &Token<'_>, kind: Kind) {
        let (rows, show) = self.rows.next(token, kind);
        self.rows = rows;
        match show {
            Show::Nothing => {}
            Show::MoreRows => self.more_rows(),
            Show::Token => self.show(token, kind),
            Show::CommaAndToken => {
                self.put(Class::Comma, b",", false);
                self.show(token, kind);
            }
        }
    }

    fn more_rows(&mut self) {
        if self.previous != Class::MoreRows {
            self.put(Class::MoreRows, b"+", false);
        }
    }

    fn show(&mut self, token: &Token<'_>, kind: Kind) {
        let opens_list = kind == Kind::Open && self.list_opens_with == Some(token.bytes[0]);
        self.in_list(token, kind);
        self.put_token(token, kind);
        if opens_list {
            self.list = Some(List::new(self.text.len()));
        }
        self.list_opens_with = list_opens_with(token, kind);
        self.after_dot = kind == Kind::Operator && token.bytes == b".";
        self.compares = compares(token, kind);
    }

    fn in_list(&mut self, token: &Token<'_>, kind: Kind) {
        let Some(list) = &mut self.list else { return };
        match list.next(token, kind) {
            Effect::GoesOn => {}
            Effect::Broken => self.list = None,
            Effect::Complete => self.fold(),
        }
    }

    /// Replace the elements of the list by one that stands for all.
    fn fold(&mut self) {
        let Some(list) = self.list.take() else { return };
        if list.start < self.text.len() {
            self.text.truncate(list.start);
            self.full = false;
        }
        self.previous = Class::Open;
        match list.rows {
            None => self.put(Class::Value, b"?", false),
            Some(rows) => self.row(rows.open, rows.commas),
        }
        self.put(Class::MoreRows, b"+", false);
    }

    fn row(&mut self, open: u8, commas: usize) {
        let (open, close) = if open == b'[' { (b"[", b"]") } else { (b"(", b")") };
        self.put(Class::Open, open, false);
        self.put(Class::Value, b"?", false);
        for _ in 0..commas {
            if self.full {
                return;
            }
            self.put(Class::Comma, b",", false);
            self.put(Class::Value, b"?", false);
        }
        self.put(Class::Close, close, false);
    }

    fn put_token(&mut self, token: &Token<'_>, kind: Kind) {
        match Class::of(token, kind) {
            Class::Semicolon => self.semicolon_waits = !self.text.is_empty(),
            // Strings side by side are one string.
            Class::Value if matches!(self.previous, Class::Value | Class::Secret) && !self.semicolon_waits => {}
            Class::Value => self.put(Class::Value, b"?", token.gap),
            class => {
                self.put(class, token.bytes, token.gap);
                if !self.full {
                    self.quotes_before = self.quotes_before.max(self.quotes);
                }
            }
        }
    }

    /// Write a token, if there is room for it.
    fn put(&mut self, class: Class, bytes: &[u8], gap: bool) {
        if std::mem::take(&mut self.semicolon_waits) {
            self.put(Class::Semicolon, b";", false);
        }
        if self.full {
            return;
        }
        let before = self.text.len();
        self.append(class, bytes, gap);
        if self.text.len() > LONGEST - CUT.len() - 1 {
            self.text.truncate(before);
            self.append(Class::Word, CUT.as_bytes(), true);
            self.full = true;
        }
        self.previous = class;
    }

    fn append(&mut self, class: Class, bytes: &[u8], gap: bool) {
        // Where MySQL sees two minus signs, a blank after them would make them a comment.
        let would_be_comment = bytes[0] == b'-' && self.text.ends_with('-');
        if would_be_comment || apart(self.previous, class, gap) {
            self.text.push(' ');
        }
        match class {
            Class::Keyword | Class::Word if !is_quote(bytes[0]) => visible::append_lower(self.text, bytes),
            _ => visible::append(self.text, bytes),
        }
    }
}

/// Unless it stands in quotes, a secret may hold signs that end a token.
fn whole_secret<'a>(lexer: &mut Lexer<'a>, token: Token<'a>) -> Token<'a> {
    if token.bytes.last().is_some_and(|byte| is_quote(*byte)) { token } else { lexer.extend(token) }
}

/// Is it the sign that the text goes on?
fn is_cut(token: &Token<'_>, text: &[u8]) -> bool {
    token.bytes == CUT.as_bytes() && token.end() == text.len()
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"' | b'`' | b'[')
}

fn list_opens_with(token: &Token<'_>, kind: Kind) -> Option<u8> {
    match kind {
        Kind::Word if token.is("in") => Some(b'('),
        Kind::Word if token.is("array") => Some(b'['),
        _ => None,
    }
}

/// Does a value follow rather than a name?
fn compares(token: &Token<'_>, kind: Kind) -> bool {
    match kind {
        Kind::Operator => is_comparison(token.bytes),
        Kind::Word => token.is_any(&["like", "ilike", "rlike", "regexp", "between"]),
        _ => false,
    }
}

/// Is a text in double quotes an identifier, as people name things?
pub fn looks_like_name(quoted: &[u8]) -> bool {
    let name = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_' || *byte >= 0x80;
    let is_part = |byte: &u8| is_letter(byte) || byte.is_ascii_digit() || b"$#- ".contains(byte);
    let blanks = name.iter().filter(|byte| **byte == b' ').count();
    name.first().is_some_and(is_letter) && name.iter().all(is_part) && blanks <= 3 && name.len() <= LONGEST_NAME / 2
}
