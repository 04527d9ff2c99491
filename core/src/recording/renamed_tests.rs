use proptest::prelude::*;

use super::*;
use crate::ledger::Limits;
use crate::recording::{Errors, ExchangeColumns, ExchangeRows, NULL, SampleColumns, batch, strings};

type Texts = Vec<Option<String>>;

/// A recording with these users of its connections, which are databases' where there is one, and these errors.
fn recording(users: &Texts, protocols: &[bool], errors: &Texts) -> Recording {
    let words: Vec<String> = distinct(errors);
    let number = |text: &String| words.iter().position(|word| word == text).unwrap() as i64;
    let mut exchanges = ExchangeRows::within(&Limits::of(1 << 30), None);
    let names: Vec<&str> = ExchangeColumns::names().collect();
    for (row, error) in errors.iter().enumerate() {
        exchanges.add(std::array::from_fn(|column| match names[column] {
            "exchange" => row as i64,
            "error" => error.as_ref().map_or(NULL, number),
            "stream" | "request_time" => 0,
            _ => NULL,
        }));
    }
    exchanges.know("error", Errors::saved(words.clone()));
    let connections = vec![
        ("protocol", strings(protocols.iter().map(|is_database| is_database.then_some("mysql")))),
        ("user", strings(users.iter().map(Option::as_ref))),
        ("other", strings(users.iter().map(Option::as_ref))),
    ];
    let connections = batch(connections).unwrap();
    let empty = || batch(vec![("text", strings(Texts::new().into_iter()))]).unwrap();
    Recording {
        captures: empty(),
        notes: empty(),
        cases: empty(),
        all_connections: connections.clone(),
        connections,
        is_renamed: false,
        period_ns: None,
        exchanges: exchanges.sorted().unwrap(),
        statements: empty(),
        tags: empty(),
        samples: SampleColumns::saved(0, Default::default(), |_| Ok::<(), ()>(())).unwrap(),
        clock_readings: empty(),
        segments: empty(),
        taps: empty(),
        host_curve: None,
        curve_hosts: None,
        client_randoms: Arc::new([]),
        is_large: false,
    }
}

fn distinct(texts: &Texts) -> Vec<String> {
    let mut known = HashSet::new();
    texts.iter().flatten().filter(|text| known.insert(*text)).cloned().collect()
}

fn column(table: &RecordBatch, name: &str) -> Texts {
    text_column(table, name).unwrap().iter().map(|text| text.map(str::to_owned)).collect()
}

fn errors(recording: &Recording) -> (Texts, usize) {
    let whole = column(&recording.exchanges.batch().unwrap(), "error");
    let coded = recording.exchanges.coded(&["error".to_owned()], None).unwrap();
    let coded = coded.column(0).as_dictionary::<UInt32Type>();
    let words = coded.values().as_string::<i32>();
    let read: Texts = coded.keys().iter().map(|key| key.map(|key| words.value(key as usize).to_owned())).collect();
    assert_eq!(read, whole);
    (whole, words.len())
}

/// Few letters, so that texts and what stands for them meet.
fn texts() -> impl Strategy<Value = Texts> {
    prop::collection::vec(prop::option::of("[ab\n]{0,3}"), 0..30)
}

/// Another text, the same one for some.
fn other(text: &str) -> String {
    text.to_uppercase().replace('\n', "").chars().take(1).collect()
}

proptest! {
    #[test]
    fn each_row_has_the_word_that_stands_for_its_text(users in texts(), of in texts()) {
        let before = recording(&users, &vec![true; users.len()], &of);
        let words = |table: &str, column: &str| Words {
            table: table.to_owned(),
            column: column.to_owned(),
            words: before.texts(table, column).unwrap().iter().map(|text| other(text)).collect(),
        };
        let after = before.renamed(vec![words("connections", "user"), words("exchanges", "error")], None).unwrap();
        let expected = |texts: &Texts| texts.iter().map(|text| text.as_deref().map(other)).collect::<Texts>();
        prop_assert_eq!(column(&after.connections, "user"), expected(&users));
        prop_assert_eq!(column(&after.connections, "other"), users.clone());
        let (read, words) = errors(&after);
        prop_assert_eq!(&read, &expected(&of));
        prop_assert_eq!(words, distinct(&read).len());
        prop_assert!(after.is_renamed && after.all_connections == before.connections);
        prop_assert_eq!(errors(&before).0, of);
    }

    #[test]
    fn names_of_databases_are_met_first_line_by_line_and_once(rows in prop::collection::vec((prop::option::of("[ab\n]{0,3}"), any::<bool>()), 0..30)) {
        let (users, protocols): (Texts, Vec<bool>) = rows.iter().cloned().unzip();
        let met = recording(&users, &protocols, &Vec::new()).names_met(&["user".to_owned(), "unknown".to_owned()]);
        let (databases, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, is_database)| *is_database);
        let lines = databases.into_iter().chain(others).filter_map(|(text, _)| text);
        let lines: Texts = lines.flat_map(|text| text.split('\n').map(str::to_owned).collect::<Vec<_>>()).map(Some).collect();
        let expected = distinct(&lines).into_iter().filter(|name| !name.is_empty()).map(|name| ("user".to_owned(), name));
        prop_assert_eq!(met, expected.collect::<Vec<_>>());
    }
}

#[test]
fn words_are_as_many_as_the_texts_that_they_stand_for() {
    let before = recording(&vec![Some("ann".into()), Some("bob".into())], &[true; 2], &vec![Some("denied".into())]);
    for (table, column, count) in [("connections", "user", 1), ("connections", "user", 3), ("exchanges", "error", 0)] {
        let words = Words { table: table.into(), column: column.into(), words: vec!["x".into(); count] };
        assert!(before.renamed(vec![words], None).is_err(), "{table} {column} {count}");
    }
    assert!(before.texts("clock_readings", "text").is_err());
}
