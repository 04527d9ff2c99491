//! Credentials in texts that are no statements: connection strings, comments, program names, messages of servers.
//!
//! | in the text | what is masked |
//! |---|---|
//! | `postgresql://ann:x@db/shop`, `jdbc:mysql://…` | between the colon and the last `@` |
//! | `scott/x@orders`, `jdbc:oracle:thin:scott/x@//db` | between the slash and the `@` |
//! | `Server=db;Uid=ann;Pwd=x;`, `password = 'x'`, `"token": "x"`, `?password=x&…` | the value |
//! | `--password x`, `-p x`, `-px`, `-u ann:x`, `Bearer x`, `ann:x@db` | the value |
//! | `IDENTIFIED BY x`, `Authorization: x` | all that follows |
//!
//! Too much is masked rather than too little: a `/` in a password does not end it, so neither does one behind it.

use std::ops::Range;

/// What names of secrets end with.
pub const NAMES: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "credential",
    "credentials",
    "authentication_string",
    "access_key",
    "secret_key",
    "api_key",
    "apikey",
    "private_key",
    "encryption_key",
    "session_key",
    "signing_key",
    "auth_key",
    "jwt",
    "api-key",
    "access-key",
    "_pass",
    "passwort",
    "kennwort",
];

/// A value is looked for an end of so far: texts of many values without one must not take a square of their length.
const LONGEST_VALUE: usize = 4096;

/// What stands in the place of a secret.
const MASK: &str = "***";

/// Does the text hold a credential?
pub fn inside(text: &[u8]) -> bool {
    let holds = |signs: fn(&u8) -> bool| text.iter().any(signs);
    holds(|byte| b"=:@'\" ".contains(byte))
        && holds(|byte| byte.is_ascii_alphabetic() || *byte == b'@')
        && !places(text).is_empty()
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
pub fn places(text: &[u8]) -> Vec<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let mut places: Vec<_> = addresses(text).chain(assigned(&lower)).chain(options(text)).collect();
    places.extend(memchr::memmem::find(&lower, b"identified").map(|at| at + "identified".len()..text.len()));
    places.extend(authorization(&lower));
    places.retain(|place| !place.is_empty());
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

/// `//user:password@host` and `user/password@host`: each ends with an `@`.
fn addresses(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    words(text).filter_map(|(start, word)| {
        let end = memchr::memrchr(b'@', word)?;
        let from = match memchr::memmem::find(&word[..end], b"://") {
            Some(scheme) => scheme + 3 + memchr::memchr(b':', &word[scheme + 3..end])? + 1,
            None => after_user(&word[..end])?,
        };
        Some(start + from..start + end)
    })
}

/// Where the password begins in `user/password`, `thin:user/password` or `user:password`.
fn after_user(word: &[u8]) -> Option<usize> {
    let slash = memchr::memchr(b'/', word).or_else(|| memchr::memchr(b':', word))?;
    let user = word[..slash].rsplit(|byte| b":=(".contains(byte)).next().unwrap_or_default();
    let is_user = !user.is_empty() && user.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_$#.".contains(byte));
    is_user.then_some(slash + 1)
}

/// `Authorization: Basic x`
fn authorization(lower: &[u8]) -> Option<Range<usize>> {
    let end = memchr::memmem::find(lower, b"authorization")? + "authorization".len();
    let sign = end + lower[end..].iter().position(|byte| !b" \t\"'\\".contains(byte))?;
    matches!(lower[sign], b':' | b'=').then_some(sign + 1..lower.len())
}

/// The values behind options of commands: `--password x`, `-p x`, `-px`, `-u ann:x`, `Bearer x`.
fn options(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut before: &[u8] = &[];
    words(text).filter_map(move |(start, word)| {
        let option = std::mem::replace(&mut before, word);
        let end = start + word.len();
        match word {
            _ if names_a_secret(option) => Some(start..end),
            _ if matches!(option, b"-u" | b"-U" | b"--user") => Some(start + memchr::memchr(b':', word)? + 1..end),
            [b'-', b'p', _, ..] if !word.starts_with(b"-port") => Some(start + 2..end),
            _ => None,
        }
    })
}

fn names_a_secret(option: &[u8]) -> bool {
    match option {
        [b'-', b'p' | b'P'] => true,
        [b'-', name @ ..] => NAMES.iter().chain(&["pass"]).any(|ending| ends_with(name, ending.as_bytes())),
        _ => option.eq_ignore_ascii_case(b"bearer"),
    }
}

/// Does the name end so, in any case?
pub fn ends_with(name: &[u8], ending: &[u8]) -> bool {
    name.len() >= ending.len() && name[name.len() - ending.len()..].eq_ignore_ascii_case(ending)
}

/// The words of a text, and where each begins.
fn words(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let words = text.split(|byte| byte.is_ascii_whitespace() || b"'\"<>".contains(byte));
    words.filter(|word| !word.is_empty()).map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// The values behind names of secrets.
fn assigned(lower: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let ends = NAMES.iter().flat_map(|name| {
        let more = |end: usize| if name.starts_with("pass") { rest_of_word(&lower[end..]) } else { 0 };
        let ends = memchr::memmem::find_iter(lower, name.as_bytes()).map(|at| at + name.len());
        ends.map(move |end| end + more(end))
    });
    ends.filter_map(|end| {
        let sign = end + lower[end..].iter().position(|byte| !b" \t\n\r\"\\".contains(byte))?;
        let from = match lower[sign] {
            b'=' | b':' => sign + 1 + lower[sign + 1..].iter().position(|byte| !b" \t\n\r=>\\".contains(byte))?,
            b'\'' => sign,
            _ => return None,
        };
        let value = value(lower, from);
        (!matches!(&lower[value.clone()], b"yes" | b"no")).then_some(value)
    })
}

/// `password2`, `passwordHash`
fn rest_of_word(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
}

/// The value that begins here: in quotes, in braces, or up to what separates values.
fn value(text: &[u8], from: usize) -> Range<usize> {
    let rest = &text[from..text.len().min(from + LONGEST_VALUE)];
    let closing = match rest.first() {
        Some(b'{') => Some(b'}'),
        Some(&quote @ (b'\'' | b'"')) => Some(quote),
        _ => None,
    };
    let Some(closing) = closing else {
        let length = rest.iter().position(|byte| byte.is_ascii_whitespace() || b";,&)'\"".contains(byte));
        return from..length.map_or(text.len(), |length| from + length);
    };
    let inner = rest.iter().skip(1).take_while(|&&byte| byte == closing).count(); // quotes doubled inside of a string
    let length = rest.iter().skip(1 + inner).position(|&byte| byte == closing);
    from..length.map_or(text.len(), |length| from + 1 + inner + length + 1)
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
            ("jdbc:oracle:thin:scott/tiger@//db:1521/x", "jdbc:oracle:thin:scott/***@//db:1521/x"),
            ("Server=db;Uid=ann;Pwd=x y;Pooling=1", "Server=db;Uid=ann;Pwd=*** y;Pooling=1"),
            ("Password={a;b};x=1", "Password=***;x=1"),
            ("host=db password='a b' user=ann", "host=db password=*** user=ann"),
            ("{\"api_key\": \"x\", \"b\": 1}", "{\"api_key\": ***, \"b\": 1}"),
            ("db?user=ann&password=x&ssl=1", "db?user=ann&password=***&ssl=1"),
            ("alter role ann password 'x' valid", "alter role ann password *** valid"),
            (r#"{\"password\": \"x\", \"a\": 1}"#, r#"{\"password\": \***, \"a\": 1}"#),
            ("create user ann identified by x", "create user ann identified***"),
            ("mysql --password x -u ann", "mysql --password *** -u ann"),
            ("mysql -h db -px shop", "mysql -h db -p*** shop"),
            ("sqlcmd -U ann -P x", "sqlcmd -U ann -P ***"),
            ("curl -u ann:x https://db", "curl -u ann:*** https://db"),
            ("till Bearer x.y.z", "till Bearer ***"),
            ("Authorization: Basic x y", "Authorization:***"),
            ("ann:x@db", "ann:***@db"),
            ("host=h password2=x passwordHash: y", "host=h password2=*** passwordHash: ***"),
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
            assert!(!inside(text.as_bytes()));
        }
    }

    #[test]
    fn secrets_inside_of_secrets_and_letters_outside_of_ascii() {
        assert_eq!(mask("dsn=pg://ann:password=é@db über"), "dsn=pg://ann:*** über");
        assert_eq!(mask("token='é"), "token=***");
        assert_eq!(mask("pwd=é;é"), "pwd=***;é");
    }
}
