use proptest::prelude::*;

use super::*;

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn rows_are_objects() {
    let texts = Texts { starts: &[0, 1, 3], bytes: b"a\"\n", rows: &[1, -1] };
    let pace = Field::new("p50", Column::Fractions(&[0.5, f64::NAN]));
    let fields = [
        Field::new("rows", Column::Numbers { values: &[7, 8], known: Some(&[false, true]) }),
        Field::new("text", Column::Texts(texts)),
        Field::new("pace", Column::Object(vec![pace])),
        Field::new("whole", Column::Truths { values: &[true, false], known: None }),
        Field::new("part", Column::Truths { values: &[false, true], known: Some(&[true, false]) }),
        Field::new("seen", Column::Times(&[1_600_000_000_123_456_789, i64::MIN])),
    ];
    assert_eq!(
        written(|out| rows(&fields, 0..2, ",\n", out)),
        concat!(
            r#"{"rows": null, "text": "\"\n", "pace": {"p50": 0.5}, "whole": true, "part": false, "#,
            r#""seen": "2020-09-13T12:26:40.123456789Z"},"#,
            "\n",
            r#"{"rows": 8, "text": null, "pace": {"p50": null}, "whole": false, "part": null, "#,
            r#""seen": null}"#,
        )
    );
}

#[test]
fn fractions_are_written_as_python_has_them() {
    for (value, text) in [
        (0.0, "0.0"),
        (-1e-12, "-0.0"),
        (1.0, "1.0"),
        (1e-4, "0.0001"),
        (1.0249e-5, "1.0249e-05"),
        (3e-9, "3e-09"),
        (1.0 / 1024.0, "0.000976562"),
        (3.0 / 1024.0, "0.002929688"),
        (1_234_567.25, "1234567.25"),
        (1e16, "1e+16"),
        (f64::INFINITY, "null"),
    ] {
        assert_eq!(written(|out| fraction(value, out)), text);
    }
}

#[test]
fn times_are_dates() {
    for (seconds, text) in [
        (0, "\"1970-01-01T00:00:00.000000000Z\""),
        (-1, "\"1969-12-31T23:59:59.000000000Z\""),
        (951_782_400, "\"2000-02-29T00:00:00.000000000Z\""),
        (4_107_542_400, "\"2100-03-01T00:00:00.000000000Z\""),
    ] {
        assert_eq!(written(|out| time(seconds * BILLION as i64, out)), text);
    }
}

proptest! {
    #[test]
    fn few_digits_are_written_as_any_are(value in prop_oneof![-1e6..1e6, -1e-3..1e-3, -1e-8..1e-8], halves: i32) {
        for value in [value, f64::from(halves) / 1024.0, (value * 1e4).round() / 1e4] {
            let (quick, any) = (written(|out| fraction(value, out)), written(|out| any_fraction(value, out)));
            prop_assert_eq!(quick, any);
        }
    }
}
