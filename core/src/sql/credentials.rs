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
mod tests {
    use super::*;

    #[test]
    fn connection_strings_lose_their_passwords() {
        for (text, masked) in [
            ("postgresql://ann:x@db/shop", "postgresql://ann:***@db/shop"),
            ("see mysql://ann:a/b@c@db:3306/shop now", "see mysql://ann:***@db:3306/shop now"),
            ("scott/tiger@orders", "scott/***@orders"),
            ("/u/ann:x@db", "/u/ann:***@db"),
            ("https://x@db/shop", "https://***@db/shop"),
            ("jdbc:oracle:thin:scott/tiger@//db:1521/x", "jdbc:oracle:thin:scott/***@//db:1521/x"),
            ("Server=db;Uid=ann;Pwd=x y;Pooling=1", "Server=db;Uid=ann;Pwd=***"),
            ("Password={a;b};x=1", "Password=***"),
            ("host=db password='a b' user=ann", "host=db password=***"),
            ("{\"api_key\": \"x\", \"b\": 1}", "{\"api_key\": ***"),
            ("db?user=ann&password=x&ssl=1", "db?user=ann&password=***"),
            ("alter role ann password 'x' valid", "alter role ann password ***"),
            (r#"{\"password\": \"x\", \"a\": 1}"#, r#"{\"password\": \***"#),
            ("create user ann identified by x", "create user ann identified***"),
            ("mysql --password x -u ann", "mysql --password ***"),
            ("mysql -h db -px shop", "mysql -h db -p*** shop"),
            ("sqlcmd -U ann -P x", "sqlcmd -U ann -P ***"),
            ("curl -u ann:x https://db", "curl -u ann:*** https://db"),
            ("till Bearer x.y.z", "till Bearer ***"),
            ("Authorization: Basic x y", "Authorization: ***"),
            ("ann:x@db", "ann:***@db"),
            ("host=h password2=x passwordHash: y", "host=h password2=***"),
        ] {
            assert_eq!(mask(text), masked);
            assert!(inside(text.as_bytes()));
        }
    }

    #[test]
    fn a_value_without_an_end_hides_the_rest_in_no_time() {
        assert_eq!(mask(&"pwd={".repeat(20_000)), "pwd=***");
        assert_eq!(mask(&format!("pwd={}é", "x".repeat(10_000))), "pwd=***");
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "till 3.1",
            "psql -port 5432",
            "Bearer",
            "-p",
            "ann@db",
            "/opt/app@2/bin/till",
            "https://db:443/x",
            "password authentication failed for user \"ann\"",
            "access denied (using password: YES)",
            "secret",
            "a=b;c=d",
            "",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    #[test]
    fn a_word_of_the_family_is_enough_to_hide_a_literal() {
        for text in [
            "the secret is x",
            "password",
            "AccountKey=x",
            "Cookie: session=x",
            "{\"pass\": 1}",
            "a/b@c",
            "-px",
            "isql -pas x",
        ] {
            assert!(inside(text.as_bytes()), "{text}");
        }
        for text in ["till 3.1", "ann@db", "the session ended", "press any key", "a-b", ""] {
            assert!(!inside(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn secrets_inside_of_secrets_and_letters_outside_of_ascii() {
        assert_eq!(mask("dsn=pg://ann:password=é@db über"), "dsn=pg://ann:***");
        assert_eq!(mask("token='é"), "token=***");
        assert_eq!(mask("pwd=é;é"), "pwd=***");
    }
}
