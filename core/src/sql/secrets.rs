//! What of a statement stands behind a word of the credential family ([`super::family`]): it is not shown.
//!
//! Behind such a word nothing new is shown until its clause ends, whatever form it has. What a clause is, follows from
//! what the statement does:
//!
//! | statement | where its clause begins | what is not shown | where it ends |
//! |---|---|---|---|
//! | a command: it manages users, keys or settings, or its verb is not known | at the word | all, as one `?` | with the bracket around it, or with the statement |
//! | a query or a change of rows, a call | at a sign or word behind it that compares or assigns; inside of its own brackets; at what follows it where no alias may stand | literals, and words that the statement has not shown before | at a comma, `AND`, `WHERE`, … |
//! | a definition of tables or routines | at a sign that assigns, at `DEFAULT` | the same | the same |
//!
//! So tables and columns may be called `tokens` and `password`, and statements that only name them stay as they are.
//! Signs, calls, words of SQL's grammar and columns of tables that were named before stay in queries: `password =
//! md5(?)`, `a.token = b.token`. `IDENTIFIED BY` and its like make a command of any statement.

use memchr::memmem;

use super::family::{Reach, speaks};
use super::lexer::{AFTER_STRINGS, BEFORE_STRINGS, Kind, Lexer, Token, is_one_of};
use super::visible;

/// Verbs of statements that name columns, where a bare word is hardly ever a value.
const OF_ROWS: &str = "select insert update delete merge replace upsert with values call show";
/// Likewise, but behind a column stands its type.
const DEFINING: &str = "describe desc lock truncate comment vacuum rename table fetch refresh";
const CREATING: &str = "create alter recreate drop";
/// What is defined so by `CREATE`, `ALTER` and `DROP`; all else (users, links, secrets, …) by commands.
const DEFINED: &str = "table index view sequence trigger procedure function package type domain policy schema";
/// Verbs that may begin blocks, in which statements begin with any name.
const OF_BLOCKS: &str = "begin declare execute exec do if for while loop case";
/// Behind `BEGIN`: it is one of a transaction, as is one that ends at once.
const OF_TRANSACTIONS: &[&str] =
    &["work", "transaction", "tran", "read", "isolation", "immediate", "deferred", "exclusive"];
/// What holds blocks.
const HOLDING_BLOCKS: &str = "trigger procedure function package type event body";
/// The other verbs of SQL. What begins with none of them is no SQL: nothing behind its first word is shown.
const OTHER_VERBS: &str = "commit set rollback use start savepoint release end explain prepare deallocate grant revoke \
    reset discard analyze analyse abort administer associate audit binlog cache change check checkpoint checksum clone \
    close cluster copy deny disassociate extended flashback flush get handler import install kill listen load move \
    noaudit notify open optimize pause plan purge reassign recover reindex reload repair resignal restart resume security \
    shutdown signal stop suspend uninstall unlisten unlock verbose xa \
    base_backup identify_system timeline_history upload_manifest start_replication \
    add backup break bulk continue dbcc disable enable goto print raiserror readtext receive reconfigure restore return \
    revert save send throw updatetext waitfor writetext \
    alter_replication_slot create_replication_slot drop_replication_slot read_replication_slot";
/// `CREATE OR REPLACE GLOBAL TEMPORARY TABLE`
const OBJECT_STANDS: usize = 6;
/// Words before a verb.
const BEFORE_VERBS: &[&str] = &["explain", "analyze", "analyse", "verbose", "extended", "plan", "begin"];
/// Words behind which a statement may begin inside of another one.
const VERB_MAY_FOLLOW: &[&str] = &["as", "for", "begin", "then", "else", "loop", "do", "is"];
/// What may stand between a word of the family and its value.
const LEADS_TO_VALUE: &[&str] = &["for", "management", "password", "to", "via"];
/// Words of queries that are neither columns nor values anybody chose, beside those that the lexer knows.
const OF_GRAMMAR: &str = "array current_date current_time current_timestamp current_user deleted excluded false inserted \
    localtimestamp new old precision prior row sysdate systimestamp true unknown user";
/// Keywords that do not end a clause.
const INSIDE_OF_CLAUSES: &str =
    "all any as between by distinct exists ilike in is like not over regexp rlike some value values";
const COMPARING: &str = "between containing ilike in is like regexp rlike similar starting value values";
/// What the name of a table follows, and what may stand before it.
const BEFORE_TABLE: &[&str] = &["from", "join", "into", "update"];
const BESIDE_TABLE: &[&str] = &["if", "not", "exists", "only", "lateral", "ignore", "low_priority", "delayed"];

/// Follows a statement token by token.
#[derive(Debug, Default)]
pub struct Secrets {
    /// A word of the family stands somewhere.
    pub named: bool,
    /// It begins with no verb of SQL: what of it is hidden is hardly a secret, and a message's template is safe to show.
    pub no_sql: bool,
    /// The first word was read.
    begun: bool,
    in_block: bool,
    what: What,
    state: State,
    place: Place,
    /// Words of the statement so far.
    words: usize,
    creates: bool,
    /// Behind the token before a statement may begin.
    verb_may_follow: bool,
    /// In a hint: what the statement does, its words and brackets before, and the clause around.
    hinted: Option<(What, usize, usize, State, usize)>,
    /// Of the hints that are open, whether their beginning is hidden: then their end is, too.
    hints: Vec<bool>,
    /// Behind a dot, or the `@` of a variable.
    after_sign: bool,
    depth: usize,
    /// How deep the clause began.
    base: usize,
    /// The clause stands in the brackets of a call, so a comma does not end it.
    in_call: bool,
    /// In these brackets stands a word of the family: `(name, password) = (…)`.
    marked: Option<usize>,
    /// In these brackets are the arguments of a function that takes a key.
    keyed: Option<usize>,
    /// A keyword that does not end the clause although it does elsewhere: `BETWEEN … AND`, `DISTINCT FROM`.
    passes: &'static str,
    cases: usize,
}

/// What a statement does, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum What {
    #[default]
    Commands,
    Rows,
    Defines,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Free,
    /// Behind a word of the family that names a column, an argument or a function.
    Named { directly: bool },
    /// Behind one that names a table.
    Table,
    /// Behind a function that takes a key.
    Keyed,
    /// `IDENTIFIED`
    Identified,
    /// In a clause of a query.
    Value,
    /// In a command, before the value.
    Opening,
    /// In a command, in its clause.
    Hidden,
}

/// What a name is, where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Place {
    /// One of a list of columns or tables; an alias may follow.
    Names,
    /// A table.
    Table,
    /// Part of a condition or an assignment.
    #[default]
    Values,
}

impl Secrets {
    /// Is this token not to be shown? `kind` is what it turned out to be, `lexer` stands behind it, and `shown` is the
    /// fingerprint up to here.
    pub fn hold(&mut self, token: &Token<'_>, kind: Kind, lexer: &Lexer<'_>, shown: &str) -> bool {
        if kind == Kind::Semicolon && !(self.hides_all() && lexer.goes_on()) {
            let hints = std::mem::take(&mut self.hints);
            *self = Secrets { named: self.named, in_block: self.in_block, hints, ..Secrets::default() };
            return false;
        }
        if !self.begun && !self.hides_all() && kind == Kind::Word && lexer.makes_label() && !is_marked(token) {
            return false;
        }
        if !self.begun && self.hinted.is_none() && self.begins_with_no_verb(token, kind, lexer) {
            self.hide();
            self.no_sql = true;
            return kind != Kind::Word;
        }
        if kind == Kind::Open {
            self.depth += 1;
        }
        let mut hidden = match self.state {
            State::Opening | State::Hidden => self.command(token, kind),
            State::Value => self.value(token, kind, lexer, shown),
            _ => self.names(token, kind, lexer, shown),
        };
        match kind {
            Kind::Close => self.close(),
            Kind::HintOpen => self.hints.push(hidden),
            Kind::HintClose => hidden = self.hints.pop().unwrap_or(hidden),
            _ => {}
        }
        let leads = kind == Kind::Open || kind == Kind::Word && token.is_any(VERB_MAY_FOLLOW);
        self.verb_may_follow = self.what == What::Commands && leads;
        self.after_sign = kind == Kind::Operator && matches!(token.bytes, b"." | b"@" | b"@@");
        hidden
    }

    /// A statement begins with a verb, and in blocks with a name that is called or assigned to.
    fn begins_with_no_verb(&mut self, token: &Token<'_>, kind: Kind, lexer: &Lexer<'_>) -> bool {
        let is_before = matches!(kind, Kind::Open | Kind::Close | Kind::HintOpen | Kind::HintClose | Kind::Placeholder)
            || kind == Kind::Operator && matches!(token.bytes, b"{" | b"}" | b"=" | b":" | b":=" | b"<<" | b">>");
        if is_before {
            return false;
        }
        self.begun = true;
        let begins_block = kind == Kind::Word && is_any(token.bytes, OF_BLOCKS);
        self.in_block |= begins_block && !begins_transaction(token, lexer);
        // Behind a word of the family no dot is shown, so it is none that is called.
        let goes_on = || lexer.name_goes_on() && !is_marked(token);
        let is_called = || lexer.follows() == Some(b'(') || lexer.arrow_follows() || goes_on();
        let is_statement = match kind {
            Kind::Word => begins_block || self.in_block || is_verb(token.bytes) || is_called(),
            Kind::Name => self.in_block || is_called() && !is_marked(token),
            _ => false,
        };
        !is_statement
    }

    /// Is nothing shown to the end of the clause, whatever it is?
    pub fn hides_all(&self) -> bool {
        matches!(self.state, State::Opening | State::Hidden)
    }

    /// All is hidden up to the bracket that was open before.
    fn command(&mut self, token: &Token<'_>, kind: Kind) -> bool {
        let ends = self.depth == self.base && self.base > 0;
        let leads = match kind {
            Kind::Close if ends => {
                self.state = State::Free;
                return false;
            }
            Kind::HintClose if self.hinted.is_some() => {
                self.hint_ends();
                return false;
            }
            Kind::Comma if ends && self.state == State::Opening => {
                self.state = State::Free;
                return false;
            }
            Kind::Word => token.keyword || token.is_any(LEADS_TO_VALUE),
            Kind::Operator => matches!(token.bytes, b"=" | b":=" | b"=>"),
            _ => false,
        };
        if self.state == State::Opening && leads {
            return false;
        }
        self.state = State::Hidden;
        true
    }

    /// Outside of clauses.
    fn names(&mut self, token: &Token<'_>, kind: Kind, lexer: &Lexer<'_>, shown: &str) -> bool {
        let state = self.state;
        match kind {
            Kind::Word | Kind::Name => return self.word(token, kind, lexer, shown),
            Kind::Operator if compares(token.bytes) && matches!(state, State::Named { .. } | State::Table) => {
                self.begins(self.depth);
            }
            Kind::Operator => self.goes_on(),
            Kind::Open => match state {
                State::Named { directly: true } if self.what != What::Defines => {
                    self.begins(self.depth);
                    self.in_call = true;
                }
                State::Table => self.marked = Some(self.depth),
                State::Keyed => self.keyed = Some(self.depth),
                State::Named { .. } => self.goes_on(),
                _ => {}
            },
            Kind::Comma if self.keyed == Some(self.depth) => {
                self.begins(self.depth);
                self.in_call = true;
            }
            Kind::Comma => self.state = State::Free,
            Kind::Literal if matches!(state, State::Named { directly: true }) => {
                self.state = State::Free;
                return true;
            }
            Kind::Placeholder => {
                self.named |= speaks(token.bytes, Reach::Names);
                self.state = State::Free;
            }
            Kind::Literal => self.state = State::Free,
            Kind::HintOpen => self.hint_begins(token, lexer),
            Kind::HintClose => self.hint_ends(),
            _ => {}
        }
        false
    }

    fn goes_on(&mut self) {
        let is_named = matches!(self.state, State::Named { .. });
        self.state = if is_named { State::Named { directly: false } } else { State::Free };
    }

    fn word(&mut self, token: &Token<'_>, kind: Kind, lexer: &Lexer<'_>, shown: &str) -> bool {
        if self.state == State::Identified && token.is_any(&["as", "by", "using", "via", "with"]) {
            self.opens();
            return false;
        }
        if kind == Kind::Word {
            self.verb(token);
        }
        if token.is("options") && self.what == What::Defines {
            self.what = What::Commands;
        }
        let place = self.place_of(token);
        if token.keyword || self.state != State::Free && is_grammar(token) {
            return self.keyword(token);
        }
        let name = unquoted(token, kind);
        let is_command = self.what == What::Commands && !lexer.arrow_follows();
        let of_commands = speaks(name, if is_command { Reach::Commands } else { Reach::Functions });
        let is_unseen = visible::hides(name) && !of_commands;
        let is_one = of_commands && (self.what == What::Commands || speaks(name, Reach::Names)) || is_unseen;
        let is_named = is_one || name.eq_ignore_ascii_case(b"key") && lexer.arrow_follows();
        self.named |= is_named;
        let is_call = lexer.follows() == Some(b'(');
        let is_other = !(is_named || of_commands && is_call);
        if self.after_sign && is_other && self.state == State::Free
            || lexer.dot_follows() && self.what != What::Commands
        {
            self.named |= of_commands;
            self.leave();
            return false;
        }
        // What nobody sees is one more sign where it is shown.
        let hidden = (is_unseen || !is_named && !of_commands) && self.other(token, kind, lexer, shown);
        match (is_named, place) {
            (true, Place::Table) if self.what == What::Commands => {}
            (true, _) if self.what == What::Commands && !is_call => self.opens(),
            (true, Place::Table) => self.state = if self.what == What::Rows { State::Table } else { State::Free },
            (true, _) => {
                self.mark();
                (self.state, self.base) = (State::Named { directly: true }, self.depth);
            }
            (false, _) if of_commands => {
                self.named = true;
                self.state = if is_call { State::Keyed } else { State::Identified };
            }
            (false, _) => {}
        }
        hidden
    }

    /// A word that is not of the family: an alias or a type behind one that is, or its value.
    fn other(&mut self, token: &Token<'_>, kind: Kind, lexer: &Lexer<'_>, shown: &str) -> bool {
        match self.state {
            State::Named { directly: true } if self.what == What::Rows && self.place == Place::Values => {
                self.begins(self.depth);
                return self.value(token, kind, lexer, shown);
            }
            _ => self.goes_on(),
        }
        false
    }

    fn keyword(&mut self, token: &Token<'_>) -> bool {
        let is_named = matches!(self.state, State::Named { .. } | State::Table);
        let assigns =
            if self.what == What::Rows { token.is("to") } else { self.what == What::Defines && token.is("default") };
        if is_named && (is_any(token.bytes, COMPARING) || assigns) {
            self.begins(self.depth);
            self.passes = if token.is("between") { "and" } else { "" };
        } else if token.is_any(&["not", "collate", "at"])
            || is_one_of(token.bytes, BEFORE_STRINGS)
            || self.what == What::Defines && (!token.keyword || token.is("set"))
        {
            self.goes_on();
        } else {
            self.leave();
        }
        false
    }

    /// In a clause of a query: words that the statement has shown, calls and grammar stay.
    fn value(&mut self, token: &Token<'_>, kind: Kind, lexer: &Lexer<'_>, shown: &str) -> bool {
        match kind {
            Kind::Word | Kind::Name => return self.word_of_value(token, kind, lexer, shown),
            Kind::Comma if self.depth == self.base && !self.in_call => self.leave(),
            Kind::HintOpen => self.hint_begins(token, lexer),
            Kind::HintClose => self.hint_ends(),
            _ => {}
        }
        kind == Kind::Literal
    }

    fn word_of_value(&mut self, token: &Token<'_>, kind: Kind, lexer: &Lexer<'_>, shown: &str) -> bool {
        if token.keyword || is_grammar(token) {
            return self.keyword_of_value(token);
        }
        let name = unquoted(token, kind);
        self.named |= speaks(name, Reach::Functions);
        let stays = self.after_sign || lexer.follows() == Some(b'(') || is_any(name, OF_GRAMMAR);
        let is_known = || self.what != What::Commands && (names_a_column(name) || is_shown(shown, token.bytes));
        !(stays || is_known())
    }

    fn keyword_of_value(&mut self, token: &Token<'_>) -> bool {
        let ends_case = token.is_any(&["then", "else", "when", "end"]);
        if token.is("case") {
            self.cases += 1;
        } else if token.is("end") && self.cases > 0 {
            self.cases -= 1;
        } else if token.is("between") {
            self.passes = "and";
        } else if token.is("distinct") {
            self.passes = "from";
        } else if token.is(self.passes) {
            self.passes = "";
        } else if !(ends_case && self.cases > 0 || is_any(token.bytes, INSIDE_OF_CLAUSES) || stays_inside(token)) {
            self.place_of(token);
            self.leave();
        }
        false
    }

    /// Whoever writes a hint may write anything.
    fn hint_begins(&mut self, token: &Token<'_>, lexer: &Lexer<'_>) {
        if token.bytes != b"/*+" {
            return;
        }
        let is_first = self.hinted.is_none();
        self.hinted.get_or_insert((self.what, self.words, self.depth, self.state, self.base));
        self.what = What::Commands;
        if is_first && hint_speaks(lexer) {
            self.hide();
        }
    }

    fn hint_ends(&mut self) {
        if let Some(before) = self.hinted.take() {
            (self.what, self.words, self.depth, self.state, self.base) = before;
        }
    }

    fn begins(&mut self, base: usize) {
        (self.state, self.base) = (State::Value, base);
        (self.in_call, self.passes, self.cases) = (false, "", 0);
    }

    fn opens(&mut self) {
        (self.state, self.base, self.named) = (State::Opening, self.depth, true);
    }

    fn hide(&mut self) {
        (self.state, self.base, self.named) = (State::Hidden, 0, true);
    }

    fn leave(&mut self) {
        self.state = State::Free;
    }

    fn mark(&mut self) {
        if self.depth > 0 && self.what != What::Defines {
            self.marked = Some(self.depth);
        }
    }

    /// What a bracket held is behind its end still: `lower(password) = …`, `(name, password) = …`.
    fn close(&mut self) {
        let ends_clause = self.state == State::Value && self.depth <= self.base && self.base > 0;
        if self.keyed == Some(self.depth) {
            self.keyed = None;
        }
        let was_marked = self.marked.take_if(|marked| *marked >= self.depth).is_some();
        let ends_definition = self.what == What::Defines && self.depth == self.base && self.state != State::Value;
        self.depth = self.depth.saturating_sub(1);
        if ends_definition && !self.hides_all() {
            self.leave();
        } else if ends_clause && self.what == What::Commands {
            self.opens();
        } else if ends_clause || was_marked && self.state != State::Value && !self.hides_all() {
            self.state = State::Named { directly: false };
            self.mark();
        }
    }

    /// What does the statement do? Its verb says so, or what it creates.
    fn verb(&mut self, token: &Token<'_>) {
        let first = self.words == 0;
        if first && token.is_any(BEFORE_VERBS) || self.what != What::Commands {
            return;
        }
        if (first || self.verb_may_follow) && is_any(token.bytes, OF_ROWS) {
            self.what = What::Rows;
        } else if first && is_any(token.bytes, DEFINING) || self.creates && is_any(token.bytes, DEFINED) {
            self.what = What::Defines;
        }
        self.in_block |= self.creates && is_any(token.bytes, HOLDING_BLOCKS);
        self.creates = if first { is_any(token.bytes, CREATING) } else { self.creates && self.words < OBJECT_STANDS };
        self.words += 1;
    }

    /// Where this word stands; and where the next one will.
    fn place_of(&mut self, token: &Token<'_>) -> Place {
        let here = self.place;
        let is_rows = self.what == What::Rows;
        self.place = if token.is("table")
            || if is_rows { token.is_any(BEFORE_TABLE) } else { token.is_any(&["on", "references"]) }
        {
            Place::Table
        } else if token.is_any(&["select", "distinct", "by", "returning"]) {
            Place::Names
        } else if token.keyword && !token.is_any(&["as", "not", "exists"]) {
            Place::Values
        } else if here == Place::Table && !token.is_any(BESIDE_TABLE) {
            Place::Names
        } else {
            here
        };
        here
    }
}

/// Does a statement of any dialect begin with this word, other than a block?
pub fn is_verb(word: &[u8]) -> bool {
    [OF_ROWS, OTHER_VERBS, DEFINING, CREATING].iter().any(|verbs| is_any(word, verbs))
}

/// `BEGIN` of a transaction, not of a block.
fn begins_transaction(token: &Token<'_>, lexer: &Lexer<'_>) -> bool {
    let next = || lexer.clone().next();
    token.is("begin") && next().is_none_or(|next| next.kind == Kind::Semicolon || next.is_any(OF_TRANSACTIONS))
}

/// Does the hint that has begun hold a word of the family?
fn hint_speaks(lexer: &Lexer<'_>) -> bool {
    let ends = |token: &Token<'_>| matches!(token.kind, Kind::HintClose | Kind::Semicolon);
    lexer.clone().take_while(|token| !ends(token)).any(|token| speaks(token.bytes, Reach::Commands))
}

/// Is it of the family in commands, or nobody sees all of it?
pub fn is_marked(token: &Token<'_>) -> bool {
    speaks(token.bytes, Reach::Commands) || visible::hides(token.bytes)
}

fn unquoted<'a>(token: &Token<'a>, kind: Kind) -> &'a [u8] {
    if kind == Kind::Name { token.bytes.get(1..token.bytes.len() - 1).unwrap_or_default() } else { token.bytes }
}

/// Does the sign compare or assign?
fn compares(sign: &[u8]) -> bool {
    sign.iter().any(|byte| b"=<>~:".contains(byte))
        && !matches!(sign, b"::" | b"->" | b"->>" | b"#>" | b"#>>" | b"@>" | b"<@")
}

/// A word that may stand beside a value in any statement.
fn is_grammar(token: &Token<'_>) -> bool {
    token.kind == Kind::Word && (is_one_of(token.bytes, BEFORE_STRINGS) || is_one_of(token.bytes, AFTER_STRINGS))
}

fn stays_inside(token: &Token<'_>) -> bool {
    is_one_of(token.bytes, BEFORE_STRINGS) || token.is_any(&["null", "collate", "escape", "at", "end"])
}

fn is_any(name: &[u8], words: &str) -> bool {
    words.split_ascii_whitespace().any(|word| name.eq_ignore_ascii_case(word.as_bytes()))
}

/// `password_hash`, `p_password`: the family's own names, of letters alone, as programs call columns and variables.
fn names_a_column(name: &[u8]) -> bool {
    let part = |part: &[u8]| is_any(part, "password passwd pwd pass secret token credential");
    name.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_') && name.split(|byte| *byte == b'_').any(part)
}

/// Has the statement shown this word before, as a whole?
fn is_shown(shown: &str, word: &[u8]) -> bool {
    let lower = if word.first().is_some_and(|first| b"`\"".contains(first)) {
        word.to_vec()
    } else {
        word.to_ascii_lowercase()
    };
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#' | 0x80..);
    memmem::find_iter(shown.as_bytes(), &lower).any(|at| {
        let (before, behind) = (&shown.as_bytes()[..at], &shown.as_bytes()[at + lower.len()..]);
        !before.last().is_some_and(is_part) && !behind.first().is_some_and(is_part)
    })
}
