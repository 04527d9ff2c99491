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
