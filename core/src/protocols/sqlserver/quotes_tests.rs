use super::*;

#[test]
fn the_option_lasts_until_the_session_is_reset() {
    let mut quotes = Quotes::default();
    assert_eq!(quotes.now, DoubleQuotes::Either);
    quotes.begin(Some(0xe0 | ODBC));
    quotes.pass(b"SET NOCOUNT ON; SET ANSI_NULLS, QUOTED_IDENTIFIER OFF", true);
    assert_eq!(quotes.now, DoubleQuotes::Literal);
    quotes.pass(b"select 'set quoted_identifier on'", true);
    assert_eq!(quotes.now, DoubleQuotes::Literal);
    quotes.reset();
    assert_eq!(quotes.now, DoubleQuotes::Name);
}

#[test]
fn what_may_have_set_it_unseen_leaves_it_unknown() {
    for lose in [Quotes::forget, |quotes: &mut Quotes| quotes.pass(b"select 1", false)] {
        let mut quotes = Quotes::default();
        quotes.begin(Some(ODBC));
        lose(&mut quotes);
        assert_eq!(quotes.now, DoubleQuotes::Either);
    }
}

#[test]
fn a_client_that_is_none_of_odbc_begins_as_the_server_is_set() {
    for flags in [Some(0xe0), None] {
        let mut quotes = Quotes::default();
        quotes.begin(flags);
        assert_eq!(quotes.now, DoubleQuotes::Either);
    }
}
