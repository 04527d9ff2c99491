//! Credentials in texts that are no statements: connection strings, comments, program names, messages of servers.
//!
//! | in the text | what is masked |
//! |---|---|
//! | `postgresql://ann:x@db/shop`, `https://x@db` | between the colon (or the slashes) and the last `@` |
//! | `scott/x@orders`, `jdbc:oracle:thin:scott/x@//db` | between the slash and the `@` |
//! | `-p x`, `-px`, `-u ann:x`, `Bearer x`, `ann:x@db` | the value |
//! | a word of the family ([`super::family`]) with a value: `Server=db;Pwd=x;…`, `"token": "x"`, `--password x` | all that follows |
//! | `IDENTIFIED BY x` | all that follows |
//!
//! Too much is masked rather than too little: a `/` in a password does not end it, so neither does one behind it.

use std::ops::Range;

use super::family::{self, Reach};

/// What stands in the place of a secret.
const MASK: &str = "***";

/// May the text hold a credential? A word of the family is enough, and an option of a command.
pub fn inside(text: &[u8]) -> bool {
    family::speaks(text, Reach::Texts)
        || memchr::memchr2(b'@', b'-', text).is_some() && (shapes(text).next().is_some() || is_command_line(text))
}

/// Behind the name of a program stands an option: `-pas x`, `--http-user=x`.
fn is_command_line(text: &[u8]) -> bool {
    let option = |word: &[u8]| {
        let name = word.strip_prefix(b"-").map(|name| name.strip_prefix(b"-").unwrap_or(name));
        name.and_then(<[u8]>::first).is_some_and(u8::is_ascii_alphabetic)
    };
    words(text).skip(1).any(|(_, word)| option(word))
}

/// The text with its credentials masked.
pub fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for place in places(text.as_bytes()) {
        masked.push_str(&text[at..place.start]);
        masked.push_str(MASK);
        at = place.end;
    }
    masked + &text[at..]
}

/// Where the secrets stand, one behind the other. Each begins and ends beside ASCII.
fn places(text: &[u8]) -> Vec<Range<usize>> {
    let mut places: Vec<_> = shapes(text).chain(behind_a_name(text)).filter(|place| !place.is_empty()).collect();
    places.sort_by_key(|place| place.start);
    places.dedup_by(|next, place| {
        let overlaps = next.start < place.end;
        if overlaps {
            place.end = place.end.max(next.end);
        }
        overlaps
    });
    places
}

/// What is no secret by a name but by its form.
fn shapes(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    addresses(text).chain(options(text)).filter(|place| !place.is_empty())
}

/// `//user:password@host`, `//token@host` and `user/password@host`: each ends with an `@`.
fn addresses(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    words(text).filter_map(|(start, word)| {
        let end = memchr::memrchr(b'@', word)?;
        let from = match memchr::memmem::find(&word[..end], b"://") {
            Some(scheme) => in_authority(&word[scheme + 3..end])? + scheme + 3,
            None => after_user(&word[..end])?,
        };
        Some(start + from..start + end)
    })
}

/// Where the secret begins in `user:password` or `token`, before a host.
fn in_authority(user: &[u8]) -> Option<usize> {
    let colon = memchr::memchr(b':', user).map(|colon| colon + 1);
    colon.or((!user.contains(&b'/')).then_some(0))
}

/// Where the password begins in `user/password`, `thin:user/password` or `user:password`.
fn after_user(word: &[u8]) -> Option<usize> {
    [b'/', b':'].into_iter().find_map(|sign| {
        let end = memchr::memchr(sign, word)?;
        let user = word[..end].rsplit(|byte| b":=(/,".contains(byte)).next().unwrap_or_default();
        let is_user =
            !user.is_empty() && user.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_$#.".contains(byte));
        is_user.then_some(end + 1)
    })
}

/// The values behind options of commands: `--password x`, `-p x`, `-px`, `-u ann:x`, `Bearer x`.
fn options(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut before: &[u8] = &[];
    words(text).filter_map(move |(start, word)| {
        let option = std::mem::replace(&mut before, word);
        let end = start + word.len();
        match word {
            _ if matches!(option, b"-p" | b"-P") || option.eq_ignore_ascii_case(b"bearer") => Some(start..end),
            _ if option.starts_with(b"-") && family::speaks(option, Reach::Texts) => Some(start..text.len()),
            _ if matches!(option, b"-u" | b"-U" | b"--user") => Some(start + memchr::memchr(b':', word)? + 1..end),
            [b'-', b'p', _, ..] if !word.starts_with(b"-port") => Some(start + 2..end),
            _ => None,
        }
    })
}

/// All behind the first word of the family that has a value, and behind `identified`.
fn behind_a_name(text: &[u8]) -> Option<Range<usize>> {
    family::places(text, Reach::Texts).find_map(|place| {
        if family::ends_with(&text[..place.end], b"entified") {
            return Some(place.end..text.len());
        }
        let sign = family::sign_of_value(text, place.end)?;
        let leads = |byte: &&u8| b" \t\r\n=>:\\".contains(byte);
        let value = sign + text[sign..].iter().take_while(leads).count();
        let is_answer = [&b"yes"[..], b"no"]
            .iter()
            .any(|word| text[value..].get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word)));
        (!is_answer).then_some(value..text.len())
    })
}

/// The words of a text, and where each begins.
fn words(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let words = text.split(|byte| byte.is_ascii_whitespace() || b"'\"<>".contains(byte));
    words.filter(|word| !word.is_empty()).map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
