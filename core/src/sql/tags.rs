//! What the program says of itself in a comment of the statement: sqlcommenter's tags.
//!
//! <https://google.github.io/sqlcommenter/spec/>
//!
//! ```text
//! SELECT … /*action='index',controller='polls',route='%5Epolls/%24',traceparent='00-…-01'*/
//! SELECT … /*application:shop,controller:polls,action:index*/        (Rails before 7.1)
//! ```
//!
//! Values stay URL-encoded, as they were sent, so that no quote or comma of theirs ends them early. The comment stands
//! at the end of the statement or before it; nothing else of the statement is looked at.

use std::ops::Range;

use memchr::memmem::{find, rfind};

use super::credentials;

/// Keys that name code: they are shown by default. Others may name a request or a person.
const OF_CODE: [&str; 8] =
    ["action", "controller", "db_driver", "file", "framework", "line", "route", "source_location"];
/// Those that name a file, whose folders are of a machine or a person: its name and the folder around it are code.
const FILES: [&str; 3] = ["file", "line", "source_location"];
const PARTS_OF_FILE: usize = 2;
/// A longer comment is none of tags.
const LONGEST: usize = 4096;
const LONGEST_VALUE: usize = 256;

/// The tags of a statement as `key='value'` with commas between, in the order of their keys; empty for none. Without
/// `all` only those that name code.
pub fn tags(text: &[u8], all: bool) -> String {
    let Some(comment) = comment(text) else { return String::new() };
    let mut tags: Vec<(&str, &str)> =
        comment.split(',').filter_map(tag).filter(|(key, _)| all || is_of_code(key)).collect();
    tags.sort_unstable();
    tags.dedup_by_key(|(key, _)| *key);
    let shown = |key: &str, value: &str| match (all, FILES.contains(&key)) {
        (true, _) => credentials::mask(value),
        (false, true) => credentials::mask(file_of(value)),
        (false, false) => credentials::mask(path_of(value)),
    };
    tags.iter().map(|(key, value)| format!("{key}='{}'", shown(key, value))).collect::<Vec<_>>().join(",")
}

/// Where the comment stands that is read.
pub fn place(text: &[u8]) -> Option<Range<usize>> {
    let comment = comment(text)?;
    let start = comment.as_ptr() as usize - text.as_ptr() as usize;
    Some(start..start + comment.len())
}

/// A route without what is asked of it: `?token=x` is of one request.
fn path_of(value: &str) -> &str {
    let end = ["?", "%3F", "%3f"].iter().filter_map(|sign| value.find(sign)).min();
    &value[..end.unwrap_or(value.len())]
}

/// The file with the folder around it.
fn file_of(value: &str) -> &str {
    let signs = ["/", "%2F", "%2f", "\\", "%5C", "%5c"];
    let mut rest = value.len();
    for _ in 0..PARTS_OF_FILE {
        match signs.iter().filter_map(|sign| Some((value[..rest].rfind(sign)?, sign.len()))).max() {
            None => return value,
            Some((at, length)) => rest = at.min(value.len() - length),
        }
    }
    let sign = signs.iter().find(|sign| value[rest..].starts_with(**sign)).map_or(0, |sign| sign.len());
    &value[rest + sign..]
}

fn is_of_code(key: &str) -> bool {
    OF_CODE.contains(&key)
}

/// The inside of the comment that ends the statement, or begins it; hints are none.
fn comment(text: &[u8]) -> Option<&str> {
    let text = text.trim_ascii();
    let ended = text.trim_ascii_end().strip_suffix(b";").unwrap_or(text).trim_ascii_end();
    let last = ended.strip_suffix(b"*/").and_then(|rest| {
        let near = &rest[rest.len().saturating_sub(LONGEST)..];
        rfind(near, b"/*").map(|at| &near[at + 2..])
    });
    let first = || {
        let rest = text.strip_prefix(b"/*")?;
        let near = &rest[..rest.len().min(LONGEST)];
        find(near, b"*/").map(|end| &near[..end])
    };
    let holds_tags = |inside: &&[u8]| !inside.starts_with(b"!") && !inside.starts_with(b"+") && tag_like(inside);
    let inside = last.filter(holds_tags).or_else(|| first().filter(holds_tags))?;
    std::str::from_utf8(inside).ok()
}

fn tag_like(inside: &[u8]) -> bool {
    inside.contains(&b'=') || inside.contains(&b':')
}

/// `key='value'`, or `key:value` of a key that is known.
fn tag(part: &str) -> Option<(&str, &str)> {
    let quoted = || {
        let (key, value) = part.split_once('=')?;
        Some((key.trim(), value.trim().strip_prefix('\'')?.strip_suffix('\'')?))
    };
    let plain = || {
        let (key, value) = part.split_once(':')?;
        let value = value.split(":in ").next().unwrap_or(value); // Rails: `line:app/polls.rb:12:in 'index'`
        Some((key.trim(), value.trim())).filter(|(key, _)| is_of_code(key))
    };
    quoted().or_else(plain).filter(|(key, value)| is_key(key) && is_value(value))
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.len() <= 64 && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// What is left of a value once it is URL-encoded: signs that can do no harm where it is shown.
fn is_value(value: &str) -> bool {
    let harmless = |byte: u8| byte.is_ascii_graphic() && !b"'\"<>`".contains(&byte) || byte == b' ';
    !value.is_empty() && value.len() <= LONGEST_VALUE && value.bytes().all(harmless)
}

#[cfg(test)]
#[path = "tags_tests.rs"]
mod tests;
