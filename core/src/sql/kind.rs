//! What a statement does, from the first words of its fingerprint (lower case, without comments and literals).

named! {
    /// What a statement is for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StatementKind {
        Read = "read",
        Write = "write",
        /// Begins a transaction.
        Begin = "begin",
        /// Commits or rolls back.
        End = "end",
        /// Sets or asks for something of the session.
        Session = "session",
        /// Asks nothing: is the server there?
        Ping = "ping",
        /// `FETCH` from a cursor that SQL declared.
        Fetch = "fetch",
        Other = "other",
    }
}

const READS: &[&str] = &["select", "with", "table", "values"];
const WRITES: &[&str] = &["insert", "update", "delete", "replace", "merge", "upsert"];
const WRITES_INSIDE: &[&str] = &["insert into", "delete from", "merge into"];
const SESSION: &[&str] = &[
    "set",
    "show",
    "use",
    "reset",
    "discard",
    "alter session",
    "savepoint",
    "save tran",
    "save transaction",
    "release",
    "rollback to",
    "deallocate",
    "listen",
    "unlisten",
    "select current_schema",
    "select current_database",
    "select current_user",
    "select pg_advisory_unlock_all",
    "close all",
];
/// Without a word's end behind them.
const SESSION_BEGINNINGS: &[&str] = &[
    "select @@",
    "select session_user",
    "select database()",
    "select connection_id()",
    "select last_insert_id()",
    "select lastval()",
    "select row_count()",
    "select found_rows()",
    "begin dbms_session.",
    "begin dbms_application_info.",
    "begin sys.dbms_session.",
    "begin sys.dbms_application_info.",
    "call dbms_session.",
    "call dbms_application_info.",
    "call sys.dbms_session.",
    "call sys.dbms_application_info.",
];
const SESSION_FUNCTIONS: &[&str] = &["set_config", "current_setting", "pg_backend_pid"];
const BEGINS: &[&str] =
    &["work", "transaction", "tran", "distributed", "read", "isolation", "immediate", "deferred", "exclusive"];
const ENDS: &[&str] = &["commit", "rollback", "end", "abort"];
const END_WORDS: &[&str] = &["work", "transaction", "tran", "and", "prepared", "retain"];
const CONSTANTS: &[&str] = &["?", "null", "true", "false"];
/// What T-SQL's drivers ask before they end a transaction.
const IF_OPEN: &str = "if @@trancount > ? ";
const ONE_ROW_TABLES: &[&str] = &["dual", "rdb$database", "sys.dual", "sysibm.sysdummy1"];

impl StatementKind {
    pub fn of(fingerprint: &str) -> StatementKind {
        let text = without_frame(without_hints(fingerprint));
        let text = text.strip_prefix(IF_OPEN).unwrap_or(text);
        if is_ping(text) {
            StatementKind::Ping
        } else if starts_with_any(text, WRITES) {
            StatementKind::Write
        } else if is_session(text) {
            StatementKind::Session
        } else if starts_with_any(text, READS) {
            if starts_with(text, "with") && writes_inside(text) { StatementKind::Write } else { StatementKind::Read }
        } else if is_begin(text) {
            StatementKind::Begin
        } else if is_end(text) {
            StatementKind::End
        } else if starts_with(text, "declare") && text.contains("; fetch ") {
            StatementKind::Read
        } else if starts_with(text, "fetch") {
            StatementKind::Fetch
        } else {
            StatementKind::Other
        }
    }
}

/// Without spaces, parentheses, hints and the opening of conditional comments (`/*! … */`) before the first word.
fn without_hints(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '(' | ';'));
        let rest = text.strip_prefix("/*+").and_then(|hint| hint.split_once("*/")).map(|(_, rest)| rest);
        let conditional = || text.strip_prefix("/*!").or_else(|| text.strip_prefix("/*m!"));
        match rest.or_else(|| conditional().map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()))) {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

/// Without what some drivers (psqlODBC) send before a statement in the same text: what they do is done beside it.
fn without_frame(mut text: &str) -> &str {
    while let Some((first, rest)) = text.split_once("; ") {
        if first != "begin" && !starts_with_any(first, &["savepoint", "release", "close"]) {
            break;
        }
        text = rest;
    }
    text
}

/// What follows `words` at the beginning of `text`, where a word ends there.
fn after<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(words)?;
    (!rest.starts_with(is_word)).then_some(rest)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn starts_with(text: &str, words: &str) -> bool {
    after(text, words).is_some()
}

fn starts_with_any(text: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|words| starts_with(text, words))
}

/// An empty statement, a constant with or without a name and a table of one row, `values (?)`, `do ?`.
fn is_ping(text: &str) -> bool {
    let constant = CONSTANTS.iter().find_map(|constant| after(text.strip_prefix("select ")?, constant));
    let Some(rest) = constant else {
        return matches!(text, "" | "values ?" | "values (?" | "values ?)" | "values (?)" | "do ?");
    };
    let unnamed = rest.strip_prefix(" as ").map(|named| named.trim_start_matches(is_word));
    let table = unnamed.unwrap_or(rest);
    table.is_empty() || table.strip_prefix(" from ").is_some_and(|table| ONE_ROW_TABLES.contains(&table))
}

fn is_session(text: &str) -> bool {
    let called = |function: &str| function.trim_start().starts_with('(');
    let asks = text.strip_prefix("select ").is_some_and(|rest| {
        let rest = rest.strip_prefix("pg_catalog.").unwrap_or(rest);
        // Drivers ask for the version alone; who asks for more with it is a program that wants to know.
        let asks_version = rest.strip_prefix("version").is_some_and(|rest| called(rest) && !rest.contains(','));
        asks_version || SESSION_FUNCTIONS.iter().any(|name| rest.strip_prefix(name).is_some_and(called))
    });
    // To a savepoint, in T-SQL.
    let is_named =
        |rest: &str| !rest.is_empty() && !starts_with_any(rest, &["and", "release"]) && !rest.starts_with(';');
    let goes_back =
        ["rollback tran ", "rollback transaction "].iter().any(|words| text.strip_prefix(words).is_some_and(is_named));
    asks || goes_back
        || starts_with_any(text, SESSION)
        || SESSION_BEGINNINGS.iter().any(|words| text.starts_with(words))
}

/// A common table expression that changes rows.
fn writes_inside(text: &str) -> bool {
    let is_start = |at: usize| !text[..at].ends_with(is_word);
    let mut starts = text.char_indices().filter(|&(at, c)| is_word(c) && is_start(at)).map(|(at, _)| &text[at..]);
    starts.any(|text| {
        let updates = || {
            let (table, rest) = text.strip_prefix("update ")?.split_once(' ')?;
            (!table.is_empty() && starts_with(rest, "set")).then_some(())
        };
        starts_with_any(text, WRITES_INSIDE) || updates().is_some()
    })
}

/// `begin` of a transaction, not of a block.
fn is_begin(text: &str) -> bool {
    let more = text.strip_prefix("begin ").is_some_and(|rest| starts_with_any(rest, BEGINS));
    text == "begin" || more || starts_with(text, "start transaction")
}

fn is_end(text: &str) -> bool {
    ENDS.iter()
        .filter_map(|end| text.strip_prefix(end))
        .any(|rest| rest.is_empty() || rest.strip_prefix(' ').is_some_and(|rest| starts_with_any(rest, END_WORDS)))
}

#[cfg(test)]
#[path = "kind_tests.rs"]
mod tests;
