//! The family of words that speak of credentials: `user_password`, `secretKey`, `db_pass`, `IDENTIFIED`.
//!
//! A stem counts wherever it stands in a word, in any case; so do misspelt ones, as people write them. `pass`, `auth`
//! and `key` are parts of other words, too, so these count by what stands beside them.

use std::ops::Range;

/// Where a word is read decides which words are of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Names of columns, variables, arguments and functions.
    Names,
    /// Words of statements that are about users, keys and settings, and functions.
    Commands,
    /// What programs wrote into literals and comments: headers, connection strings, JSON, command lines.
    Texts,
}

const STEMS: &[(&[u8], Reach)] = &[
    (b"passw", Reach::Names),
    (b"pasw", Reach::Names),
    (b"passphrase", Reach::Names),
    (b"passcode", Reach::Names),
    (b"pwd", Reach::Names),
    (b"pswd", Reach::Names),
    (b"kennwort", Reach::Names),
    (b"secret", Reach::Names),
    (b"token", Reach::Names),
    (b"credential", Reach::Names),
    (b"jwt", Reach::Names),
    (b"entified", Reach::Commands),
    (b"entifed", Reach::Commands),
    (b"identf", Reach::Commands),
    (b"authentic", Reach::Commands),
    (b"crypt", Reach::Commands),
    (b"hmac", Reach::Commands),
    (b"keystore", Reach::Commands),
    (b"wallet", Reach::Commands),
    (b"bearer", Reach::Commands),
    (b"authoriz", Reach::Texts),
    (b"session", Reach::Texts),
    (b"cookie", Reach::Texts),
];
/// Between what makes a name one of the family and the sign of its value stands no more.
const LONGEST_GAP: usize = 32;
/// `bypass`
const BEFORE_PASS: &[&[u8]] = &[b"by", b"com", b"over", b"sur", b"tres", b"under"];
/// `api_key`, `accessKey`, `private key`
const KEYS: &[&[u8]] = &[
    b"access",
    b"account",
    b"aes",
    b"api",
    b"auth",
    b"cipher",
    b"encryption",
    b"license",
    b"master",
    b"private",
    b"service",
    b"session",
    b"shared",
    b"signing",
    b"ssh",
    b"storage",
];

/// The two letters with which something of the family begins: nearly every place of a text is passed over by them.
static BEGINS: [bool; 1024] = {
    let mut begins = [false; 1024];
    let mut number = 0;
    while number < STEMS.len() {
        begins[pair(STEMS[number].0[0], STEMS[number].0[1])] = true;
        number += 1;
    }
    begins[pair(b'a', b'u')] = true;
    begins[pair(b'k', b'e')] = true;
    begins
};

const fn pair(first: u8, second: u8) -> usize {
    (first as usize & 31) << 5 | second as usize & 31
}

/// Does the text hold a word of the family?
pub fn speaks(text: &[u8], reach: Reach) -> bool {
    places(text, reach).next().is_some()
}

/// Where words of the family begin in a text, and where what makes them so ends.
pub fn places(text: &[u8], reach: Reach) -> impl Iterator<Item = Range<usize>> {
    let pairs = text.windows(2).enumerate().filter(|(_, two)| BEGINS[pair(two[0], two[1])]);
    pairs.filter_map(move |(at, _)| Some(at..at + length(text, at, reach)?))
}

fn length(text: &[u8], at: usize, reach: Reach) -> Option<usize> {
    let begins = |word: &[u8]| starts_with(&text[at..], word);
    let counts = |stem: &[u8], of: Reach| of < Reach::Texts || is_assigned(text, at + stem.len());
    let stem = STEMS.iter().find(|(stem, of)| *of <= reach && begins(stem) && counts(stem, *of));
    let length = match () {
        _ if stem.is_some() => return stem.map(|(stem, _)| stem.len()),
        _ if begins(b"pass") && is_pass(text, at) => 4,
        _ if begins(b"auth") && is_part(text, at, 4) && ends(text, at + 4) => 4,
        _ if begins(b"key") && is_key(text, at, reach) => 3,
        _ => return None,
    };
    Some(length)
}

/// `pass`, `db_pass`, `userPass2`, `dbpass`, no `passenger`.
fn is_pass(text: &[u8], at: usize) -> bool {
    let joined = || ends(text, at + 4) && !BEFORE_PASS.iter().any(|word| ends_with(&text[..at], word));
    is_part(text, at, 4) || joined()
}

/// A key of something, or one with a value: `key => 'x'`, and in texts whatever ends so and has one.
fn is_key(text: &[u8], at: usize, reach: Reach) -> bool {
    let before = text[..at].strip_suffix(b"_").or(text[..at].strip_suffix(b"-")).or(text[..at].strip_suffix(b" "));
    let of = before.unwrap_or(&text[..at]);
    KEYS.iter().any(|kind| ends_with(of, kind))
        || reach == Reach::Texts && ends(text, at + 3) && is_assigned(text, at + 3)
}

fn is_assigned(text: &[u8], end: usize) -> bool {
    sign_of_value(text, end).is_some_and(|sign| text[sign] != b'\'')
}

/// Where the sign stands that gives a value to the name that ends here, or goes on here: `=`, `:`, or a quote.
pub fn sign_of_value(text: &[u8], end: usize) -> Option<usize> {
    let near = &text[end..text.len().min(end + LONGEST_GAP)];
    let behind = near.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
    let blanks = near[behind..].iter().take_while(|byte| b" \t\r\n\"\\".contains(byte)).count();
    match near[behind + blanks..] {
        [b'\'', b'=' | b':', ..] => Some(end + behind + blanks + 1),
        [b'=' | b':' | b'\'', ..] => Some(end + behind + blanks),
        _ => None,
    }
}

/// Is it a word of its own, or a part of one: `db_pass`, `passHash`?
fn is_part(text: &[u8], at: usize, length: usize) -> bool {
    let begins = match text[..at].last() {
        Some(before) => !before.is_ascii_alphabetic() || text[at].is_ascii_uppercase() && before.is_ascii_lowercase(),
        None => true,
    };
    let last = text.get(at + length - 1).is_some_and(u8::is_ascii_lowercase);
    let next = text.get(at + length);
    begins && next.is_none_or(|next| !next.is_ascii_alphabetic() || last && next.is_ascii_uppercase())
}

/// Does the name end here, but for digits?
fn ends(text: &[u8], end: usize) -> bool {
    let next = text[end.min(text.len())..].iter().find(|byte| !byte.is_ascii_digit());
    next.is_none_or(|next| !next.is_ascii_alphanumeric() && *next != b'_')
}

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
}

pub fn ends_with(text: &[u8], word: &[u8]) -> bool {
    text.len() >= word.len() && text[text.len() - word.len()..].eq_ignore_ascii_case(word)
}

#[cfg(test)]
mod tests {
    use super::{Reach, STEMS, speaks};

    #[test]
    fn names_of_credentials_are_of_the_family_however_they_are_written() {
        for name in [
            "password",
            "user_password",
            "PASSWD",
            "passwrd",
            "pwd2",
            "secretKey",
            "client_secret",
            "token",
            "accessToken",
            "token_id",
            "credentials",
            "pass",
            "db_pass",
            "userPass",
            "pass_hash",
            "pass2",
            "dbpass",
            "DB_PASS",
            "api_key",
            "apikey",
            "api-key",
            "private key",
            "AccountKey",
            "auth",
            "smtp_auth",
            "my.api_key",
        ] {
            assert!(speaks(name.as_bytes(), Reach::Names), "{name}");
        }
    }

    #[test]
    fn other_names_are_not() {
        for name in [
            "passenger",
            "bypass",
            "compass",
            "passport",
            "author",
            "auth_user",
            "author_id",
            "authors",
            "oauthor",
            "key",
            "primary_key",
            "meta_key",
            "session_id",
            "identifier",
            "keyboard",
            "description",
            "tok",
            "a",
            "",
        ] {
            assert!(!speaks(name.as_bytes(), Reach::Commands), "{name}");
        }
    }

    #[test]
    fn some_words_count_in_commands_or_texts_only() {
        for (word, reach) in
            [("identified", Reach::Commands), ("keystore", Reach::Commands), ("Cookie: x", Reach::Texts)]
        {
            assert!(speaks(word.as_bytes(), reach) && !speaks(word.as_bytes(), Reach::Names), "{word}");
        }
        for text in ["\"key\": \"x\"", "wrapping-key=x", "key => x", "--pass=x", "Cookie: session=x"] {
            assert!(speaks(text.as_bytes(), Reach::Texts), "{text}");
        }
        assert!(!speaks(b"press any key to continue", Reach::Texts));
    }

    #[test]
    fn every_stem_is_found_at_any_place_and_in_any_case() {
        for (stem, reach) in STEMS {
            let text = [b"x\xff_", &stem.to_ascii_uppercase()[..], b"1=2"].concat();
            assert!(speaks(&text, *reach));
        }
    }
}
