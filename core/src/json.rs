//! Rows of columns as JSON text, byte for byte as Python's `json` writes the same rows as objects, fractions rounded
//! to nine digits. A recording may have a million connections or statements: no object is made for any of them.

use std::io::Write;
use std::ops::Range;

use chrono::DateTime;

/// Values of one kind, one a row.
pub enum Column<'a> {
    /// Null where it is not known; likewise the next.
    Truths {
        values: &'a [bool],
        known: Option<&'a [bool]>,
    },
    Numbers {
        values: &'a [i64],
        known: Option<&'a [bool]>,
    },
    /// Null where it is no number, or without end.
    Fractions(&'a [f64]),
    /// Nanoseconds since 1970, as ISO-8601 in UTC; `i64::MIN` is null.
    Times(&'a [i64]),
    Texts(Texts<'a>),
    Object(Vec<Field<'a>>),
}

/// Texts that rows name by their numbers, null where that is negative: text t is `bytes[starts[t]..starts[t + 1]]`.
pub struct Texts<'a> {
    pub starts: &'a [i64],
    pub bytes: &'a [u8],
    pub rows: &'a [i64],
}

/// A column of an object.
pub struct Field<'a> {
    /// The name as it is written: quoted, with what follows it.
    key: Vec<u8>,
    column: Column<'a>,
}

impl<'a> Field<'a> {
    pub fn new(name: &str, column: Column<'a>) -> Field<'a> {
        let mut key = Vec::new();
        text(name.as_bytes(), &mut key);
        key.extend(b": ");
        Field { key, column }
    }
}

/// Some rows as objects, with `separator` between them.
pub fn rows(fields: &[Field<'_>], rows: Range<usize>, separator: &str, out: &mut Vec<u8>) {
    for row in rows.clone() {
        if row > rows.start {
            out.extend(separator.as_bytes());
        }
        object(fields, row, out);
    }
}

fn object(fields: &[Field<'_>], row: usize, out: &mut Vec<u8>) {
    out.push(b'{');
    for (place, field) in fields.iter().enumerate() {
        if place > 0 {
            out.extend(b", ");
        }
        out.extend(&field.key);
        value(&field.column, row, out);
    }
    out.push(b'}');
}

fn value(column: &Column<'_>, row: usize, out: &mut Vec<u8>) {
    match column {
        Column::Truths { known: Some(known), .. } if !known[row] => out.extend(b"null"),
        Column::Truths { values, .. } => out.extend(if values[row] { &b"true"[..] } else { b"false" }),
        Column::Numbers { known: Some(known), .. } if !known[row] => out.extend(b"null"),
        Column::Numbers { values, .. } => number(values[row], out),
        Column::Fractions(values) => fraction(values[row], out),
        Column::Times(values) => time(values[row], out),
        Column::Texts(texts) => match texts.get(row) {
            Some(bytes) => text(bytes, out),
            None => out.extend(b"null"),
        },
        Column::Object(fields) => object(fields, row, out),
    }
}

impl<'a> Texts<'a> {
    /// A row may hold this number.
    pub fn is_known(&self, text: i64) -> bool {
        let edges = usize::try_from(text).ok().map(|text| (self.starts.get(text), self.starts.get(text + 1)));
        match edges {
            None => true,
            Some((Some(&start), Some(&end))) => 0 <= start && start <= end && end as usize <= self.bytes.len(),
            Some(_) => false,
        }
    }

    fn get(&self, row: usize) -> Option<&'a [u8]> {
        let text = usize::try_from(self.rows[row]).ok()?;
        Some(&self.bytes[self.starts[text] as usize..self.starts[text + 1] as usize])
    }
}

fn number(value: i64, out: &mut Vec<u8>) {
    out.extend(itoa::Buffer::new().format(value).as_bytes());
}

/// As Python writes `round(value, 9)`: the fewest digits that mean the same.
fn fraction(value: f64, out: &mut Vec<u8>) {
    match billionths(value.abs()) {
        _ if !value.is_finite() => out.extend(b"null"),
        Some(count) => {
            if value.is_sign_negative() {
                out.push(b'-');
            }
            short(count, out);
        }
        None => any_fraction(value, out),
    }
}

const BILLION: u64 = 1_000_000_000;

/// How many billionths a value is, halves to even, where that has at most 15 digits: as many as any fraction keeps.
fn billionths(value: f64) -> Option<u64> {
    const DIGITS: u32 = f64::MANTISSA_DIGITS - 1;
    if value >= 1e6 || value.is_nan() {
        return None;
    }
    let exponent = (value.to_bits() >> DIGITS) as u32;
    let mantissa = value.to_bits() & ((1 << DIGITS) - 1) | u64::from(exponent > 0) << DIGITS;
    let scaled = u128::from(mantissa) * u128::from(BILLION);
    let shift = 1023 + DIGITS - exponent.max(1);
    if shift >= u128::BITS {
        return Some(0);
    }
    let (whole, rest, half) = ((scaled >> shift) as u64, scaled & ((1 << shift) - 1), 1 << (shift - 1));
    Some(whole + u64::from(rest > half || rest == half && whole % 2 == 1))
}

/// Billionths as a decimal number; below 0.0001 with an exponent.
fn short(count: u64, out: &mut Vec<u8>) {
    if count == 0 || count >= BILLION / 10_000 {
        number((count / BILLION) as i64, out);
        out.push(b'.');
        digits(count % BILLION + BILLION, out);
        return;
    }
    let power = count.ilog10();
    let first = 10u64.pow(power);
    number((count / first) as i64, out);
    if !count.is_multiple_of(first) {
        out.push(b'.');
        digits(count % first + first, out);
    }
    write!(out, "e-0{}", 9 - power).expect("memory takes all");
}

/// The digits after the first, without the zeros at their end, but for one.
fn digits(mut number: u64, out: &mut Vec<u8>) {
    while number.is_multiple_of(10) && number > 10 {
        number /= 10;
    }
    out.extend(&itoa::Buffer::new().format(number).as_bytes()[1..]);
}

/// The same of any value: some ten times slower.
fn any_fraction(value: f64, out: &mut Vec<u8>) {
    let rounded: f64 = format!("{value:.9}").parse().expect("a number as it was written");
    let text = match rounded.abs() {
        large if large >= 1e16 => format!("{rounded:e}").replace('e', "e+"),
        small if small < 1e-4 && small > 0.0 => format!("{rounded:e}").replace("e-", "e-0"),
        _ => format!("{rounded:?}"),
    };
    out.extend(text.as_bytes());
}

/// `"2020-09-13T12:26:40.123456789Z"`.
fn time(nanoseconds: i64, out: &mut Vec<u8>) {
    if nanoseconds == i64::MIN {
        out.extend(b"null");
        return;
    }
    let time = DateTime::from_timestamp_nanos(nanoseconds);
    write!(out, "{}", time.format("\"%Y-%m-%dT%H:%M:%S.%9fZ\"")).expect("memory takes all");
}

fn text(bytes: &[u8], out: &mut Vec<u8>) {
    serde_json::to_writer(out, &String::from_utf8_lossy(bytes)).expect("memory takes all");
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
