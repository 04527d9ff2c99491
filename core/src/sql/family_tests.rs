use super::{Counts, FAMILY, Reach, speaks};

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
        "user_password_hash",
        "accesstoken",
        "pw_hash",
        "pinCode",
        "recovery_codes",
        "mot_de_passe",
        "contraseña",
        "secret_id",
    ] {
        assert!(speaks(name.as_bytes(), Reach::Names), "{name}");
    }
}

#[test]
fn other_names_are_not() {
    for name in [
        "passenger",
        "bypass",
        "tokens_used",
        "tokenizer",
        "max_tokens",
        "tokenType",
        "foreign_key_name",
        "boarding_pass_id",
        "pass_rate",
        "pin_board",
        "spinning",
        "secretary",
        "country_code",
        "password_changed_at",
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
        assert!(!speaks(name.as_bytes(), Reach::Names), "{name}");
    }
}

#[test]
fn some_words_count_in_commands_or_texts_only() {
    for (word, reach) in
        [("identified", Reach::Functions), ("sort_key", Reach::Commands), ("Authorization: x", Reach::Texts)]
    {
        assert!(speaks(word.as_bytes(), reach) && !speaks(word.as_bytes(), Reach::Names), "{word}");
    }
    for text in ["\"key\": \"x\"", "wrapping-key=x", "key => x", "--pass=x", "Cookie: session=x"] {
        assert!(speaks(text.as_bytes(), Reach::Texts), "{text}");
    }
    assert!(!speaks(b"press any key to continue", Reach::Texts));
}

#[test]
fn every_word_is_found_at_any_place_and_in_any_case() {
    for (word, counts) in &FAMILY.0 {
        let before = if let Counts::Of(kinds) = counts { kinds.split(' ').next().unwrap() } else { "x" };
        let text = format!("\u{e9}_{before}_{}1=2", str::from_utf8(word).unwrap().to_ascii_uppercase());
        assert!(speaks(text.as_bytes(), Reach::Texts), "{text}");
    }
}
