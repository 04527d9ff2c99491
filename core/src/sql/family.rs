//! The family of words that speak of credentials: `user_password`, `secretKey`, `db_pass`, `IDENTIFIED`.
//!
//! A name is read as words (`foreign_key_name`, `secretKey`), and its last one says what it is: `tokens_used` and
//! `boarding_pass_id` are no secrets, `api_key` and `user_password_hash` are. Where it is not sure, a word counts.

use std::ops::Range;
use std::sync::LazyLock;

/// Where a word is read decides which words are of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Names of columns, variables, arguments and functions.
    Names,
    /// The same, and what encrypts, identifies, keeps keys.
    Functions,
    /// Words of statements that are about users, keys and settings: any key counts, and whatever names a secret.
    Commands,
    /// What programs wrote into literals and comments: headers, connection strings, JSON, command lines.
    Texts,
}

#[derive(Clone, Copy, Debug)]
enum Counts {
    /// Wherever it stands, and whatever is joined to it: `userpassword`, `passwrd`.
    Always,
    /// As a word of its own, at the end of a name or before what is made of a secret: `pin`, `pw_hash`.
    Apart,
    /// Everywhere but as the name of a column.
    Acts,
    /// In texts, where it has a value.
    InTexts,
    /// In texts, where it has a value, or no other word stands before it.
    Told,
    /// Behind a word that makes it one: `api_key`, `recovery_codes`.
    Of(&'static str),
}

use Counts::{Acts, Always, Apart, InTexts, Of, Told};

const WORDS: &[(Counts, &str)] = &[
    (
        Always,
        "passw pass_word pasw passphrase passcode pwd pswd secret_id secret token credential jwt mnemonic connection_string \
         adgangskode contrase haslo kennwort losenord mot_de_passe motdepasse parola salasana senha wachtwoord парол 密码 \
         パスワード",
    ),
    (Apart, "pass auth clave cookie cred cvv otp pin psk psw pw totp"),
    (
        Acts,
        "entified entifed entify identf authentic bearer crypt hmac keyring keystore obfuscat wallet addlogin srvlogin \
        users_login approle signby cmdshell adddist addsubscriber changesubscriber sysmail_ sp_oa regwrite",
    ),
    (InTexts, "session sig"),
    (Told, "authoriz"),
    (
        Of(
            "access account aes api auth cipher encryption license master pass priv private service sess session shared \
            signing ssh storage",
        ),
        KEY,
    ),
    (
        Of("activation auth backup factor otp pin recovery reset security seed sms unlock verification"),
        "code phrase answer digest seed",
    ),
];
const KEY: &str = "key";
/// Last words of names that tell something about a secret, not the secret.
const ABOUT: &str =
    "at count counts date expires expiry id ids length limit name names no number rate size type usage used";
/// What is counted is none: `max_tokens`.
const COUNTED: &str = "max min num total";
/// What is made of a secret: `pin_code`, `pass_hash`.
const MADE_OF: &str = "code codes digest hash key phrase seed";
/// `bypass`, `tokenizer`, `secretary`, `identify_system`
const BEFORE_PASS: &str = "by com over sur tres under";
const OTHERS: &[&str] = &["tokeni", "secretar", "entify_system"];
/// Between what makes a name one of the family and the sign of its value stands no more.
const LONGEST_GAP: usize = 32;

type Family = (Vec<(&'static [u8], Counts)>, [u128; 1024]);

/// The words, and which of them begin with two letters, as bits: nearly every place of a text is passed over by them.
static FAMILY: LazyLock<Family> = LazyLock::new(|| {
    let of_kind = |(counts, words): &'static (Counts, &str)| words.split(' ').map(|word| (word.as_bytes(), *counts));
    let words: Vec<_> = WORDS.iter().flat_map(of_kind).collect();
    let mut begins = [0; 1024];
    for (number, (word, _)) in words.iter().enumerate() {
        begins[pair(word[0], word[1])] |= 1 << number;
    }
    (words, begins)
});

fn pair(first: u8, second: u8) -> usize {
    (first as usize & 31) << 5 | second as usize & 31
}

/// Does the text hold a word of the family?
pub fn speaks(text: &[u8], reach: Reach) -> bool {
    places(text, reach).next().is_some()
}

/// Is it the name of a value that follows: `json_object('pass', 'x')`?
pub fn is_key_of_value(literal: &[u8]) -> bool {
    let name = literal.trim_ascii().strip_prefix(b"'").unwrap_or(literal);
    let name = name.strip_suffix(b"'").unwrap_or(name);
    speaks(name, Reach::Names) || name.eq_ignore_ascii_case(b"authorization")
}

/// Where words of the family begin in a text, and where what makes them so ends.
pub fn places(text: &[u8], reach: Reach) -> impl Iterator<Item = Range<usize>> {
    let (words, begins) = &*FAMILY;
    let pairs = text.windows(2).map(|two| begins[pair(two[0], two[1])]).enumerate().filter(|(_, found)| *found != 0);
    pairs.filter_map(move |(at, found)| Some(at..at + length(text, at, words, found, reach)?))
}

/// Of the words that begin like this text, as bits, the length of the one that stands here.
fn length(text: &[u8], at: usize, words: &[(&[u8], Counts)], mut found: u128, reach: Reach) -> Option<usize> {
    while found != 0 {
        let (word, counts) = words[found.trailing_zeros() as usize];
        if starts_with(&text[at..], word) && is_one(text, at..at + word.len(), counts, reach) {
            return Some(word.len());
        }
        found &= found - 1;
    }
    None
}

fn is_one(text: &[u8], word: Range<usize>, counts: Counts, reach: Reach) -> bool {
    let end = word.end;
    let is_other = || OTHERS.iter().any(|other| starts_with(&text[word.start..], other.as_bytes()));
    match counts {
        Always => !is_other() && !is_about(text, &word, reach),
        Apart => is_apart(text, &word) && (reach != Reach::Texts || is_told(text, &word)),
        Acts => reach >= Reach::Functions && !is_other(),
        InTexts => reach == Reach::Texts && is_assigned(text, end),
        Told => reach == Reach::Texts && is_told(text, &word),
        Of(kinds) => {
            is_of(text, word.start, kinds) && !is_about(text, &word, reach)
                || text[word.clone()].eq_ignore_ascii_case(KEY.as_bytes()) && is_key(text, &word, reach)
        }
    }
}

/// Does another word say that the name is about a secret only?
fn is_about(text: &[u8], word: &Range<usize>, reach: Reach) -> bool {
    let rest = &text[word.end..text.len().min(word.end + LONGEST_GAP)];
    let name = &rest[..rest.iter().position(|byte| !is_part_of_name(*byte)).unwrap_or(rest.len())];
    reach != Reach::Commands && (is_in(ABOUT, last_word(name)) || is_of(text, word.start, COUNTED))
}

fn last_word(name: &[u8]) -> &[u8] {
    let name = name.trim_ascii_end();
    let begin = (1..name.len()).rev().find(|at| begins_word(name, *at)).unwrap_or(0);
    &name[begin..]
}

/// A word of its own that ends the name, or that what is made of a secret follows. `dbpass` counts, `bypass` does not.
fn is_apart(text: &[u8], word: &Range<usize>) -> bool {
    let is_pass = || {
        text[word.clone()].eq_ignore_ascii_case(b"pass")
            && ends(text, word.end)
            && !is_of(text, word.start, BEFORE_PASS)
    };
    let rest = &text[word.end..];
    let follows = || {
        let next = rest.strip_prefix(b"_").or(rest.strip_prefix(b"-")).unwrap_or(rest);
        let length = next.iter().take_while(|byte| byte.is_ascii_alphabetic()).take(LONGEST_GAP).count();
        begins_word(text, text.len() - next.len()) && is_in(MADE_OF, &next[..length])
    };
    begins_word(text, word.start) && (ends(text, word.end) || follows()) || is_pass()
}

/// A key with a value: `key => 'x'`. In commands any key may be one.
fn is_key(text: &[u8], word: &Range<usize>, reach: Reach) -> bool {
    match reach {
        Reach::Names | Reach::Functions => false,
        Reach::Commands => begins_word(text, word.start) && ends(text, word.end),
        Reach::Texts => ends(text, word.end) && is_assigned(text, word.end),
    }
}

/// Does one of these words stand before: `api_key`, `apikey`, `private key`?
fn is_of(text: &[u8], at: usize, kinds: &str) -> bool {
    let before = text[..at].strip_suffix(b"_").or(text[..at].strip_suffix(b"-")).or(text[..at].strip_suffix(b" "));
    let of = before.unwrap_or(&text[..at]);
    kinds.split(' ').any(|kind| ends_with(of, kind.as_bytes()))
}

/// In a text: is it a part of a name, has it a value, or does a word follow and none stand before it (`AUTH x`,
/// `<pass>x`, `'{auth,pin}'`)?
fn is_told(text: &[u8], word: &Range<usize>) -> bool {
    let stands_first = || text[..word.start].trim_ascii_end().last().is_none_or(|before| !is_part_of_name(*before));
    let goes_on = || text[word.end..].iter().any(u8::is_ascii_alphanumeric);
    is_compound(text, word) || is_assigned(text, word.end) || stands_first() && goes_on()
}

/// Is more of the name before it?
fn is_compound(text: &[u8], word: &Range<usize>) -> bool {
    text[..word.start].last().is_some_and(|before| is_part_of_name(*before) || b"-.{".contains(before))
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

fn begins_word(text: &[u8], at: usize) -> bool {
    match (text[..at].last(), text.get(at)) {
        (Some(before), Some(first)) => {
            !before.is_ascii_alphabetic() && *before < 0x80 || first.is_ascii_uppercase() && before.is_ascii_lowercase()
        }
        _ => true,
    }
}

/// Does the name end here, but for digits and the plural?
fn ends(text: &[u8], end: usize) -> bool {
    let rest = text[end..].strip_prefix(b"s").or(text[end..].strip_prefix(b"S")).unwrap_or(&text[end..]);
    rest.iter().find(|byte| !byte.is_ascii_digit()).is_none_or(|next| !is_part_of_name(*next))
}

fn is_part_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn is_in(words: &str, word: &[u8]) -> bool {
    !word.is_empty() && words.split(' ').any(|one| word.eq_ignore_ascii_case(one.as_bytes()))
}

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
}

pub fn ends_with(text: &[u8], word: &[u8]) -> bool {
    text.len() >= word.len() && text[text.len() - word.len()..].eq_ignore_ascii_case(word)
}

#[cfg(test)]
#[path = "family_tests.rs"]
mod tests;
