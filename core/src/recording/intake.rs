//! Exchanges that come as Arrow, batch by batch: each is checked, its words and texts get their numbers, and it is packed.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, TimeUnit};

use super::checks::{Refusal, Streams, check_numbers, check_text, damaged};
use super::columns::Kind;
use super::exchanges::{COLUMNS, UNKNOWN};
use super::words::Errors;
use super::{Column, ExchangeColumns, ExchangeRows, NULL};
use crate::disk::Room;
use crate::exchange::Wait;
use crate::ledger::Limits;
use crate::protocols::Purpose;

/// A column of names has no more of them.
const MAX_NAMES: usize = 1 << 16;
/// Numbers of parameters leave so many bits below that of their scan.
const PARAMETER_BITS: u32 = 40;

/// Numbers and words of one part of a recording, which was read apart.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The number of its scan: each scan numbers parameters anew.
    pub scan: u32,
    /// Words of the exchanges' columns in the order of their numbers: others follow.
    pub words: HashMap<String, Vec<String>>,
}

pub struct Intake<'a> {
    exchanges: ExchangeRows,
    memory: usize,
    streams: &'a Streams,
    scans: Vec<u32>,
    /// The numbers of each part's statements, and of its tags.
    numbers: [Vec<Vec<u32>>; 2],
    words: HashMap<&'static str, Errors>,
}

impl<'a> Intake<'a> {
    pub fn new(
        streams: &'a Streams,
        parts: Vec<Part>,
        numbers: [Vec<Vec<u32>>; 2],
        (limits, disk): (&Limits, Option<&Room>),
    ) -> Result<Intake<'a>, Refusal> {
        let exchanges = ExchangeRows::within(limits, disk);
        let (memory, scans) = (limits.memory, parts.iter().map(|part| part.scan).collect());
        let mut intake = Intake { exchanges, memory, streams, scans, numbers, words: HashMap::new() };
        for mut part in parts {
            for (name, column, _) in COLUMNS.into_iter().filter(|(.., kind)| matches!(kind, Kind::Name | Kind::Text)) {
                let words = part.words.remove(name).unwrap_or_default();
                words.iter().try_for_each(|word| intake.word(name, column, word).map(drop))?;
            }
        }
        Ok(intake)
    }

    /// Add a batch of the part with that number.
    pub fn add(&mut self, part: usize, batch: &RecordBatch) -> Result<(), Refusal> {
        let mut columns = Vec::with_capacity(COLUMNS.len());
        for (name, column, kind) in COLUMNS {
            let Some(array) = batch.column_by_name(name) else {
                return damaged(format!("`{name}` is missing: scan the captures again"));
            };
            check_numbers(name, array)?;
            let numbers = match kind {
                Kind::Name | Kind::Text => self.words(name, column, array)?,
                _ => self.numbers(part, name, column, kind, array)?,
            };
            if numbers.contains(&NULL) && !UNKNOWN.contains(&column) {
                return damaged(format!("`{name}` is missing in a row"));
            }
            columns.push(numbers);
        }
        for (row, &stream) in columns[Column::stream as usize].iter().enumerate() {
            if self.streams.keeps(stream as usize, true)? {
                self.exchanges.add(std::array::from_fn(|column| columns[column][row]));
            }
        }
        let words: usize = self.words.values().map(|words| words.bytes).sum();
        if self.exchanges.kept_bytes() + words > self.memory {
            return Err(Refusal::TooMuch("holds more exchanges than fit: raise --memory".into()));
        }
        Ok(())
    }

    /// All are there, in their order.
    pub fn finish(mut self) -> Result<ExchangeColumns, Refusal> {
        self.words.into_iter().for_each(|(column, words)| self.exchanges.know(column, words));
        Ok(self.exchanges.sorted()?)
    }

    fn numbers(
        &self,
        part: usize,
        name: &str,
        column: Column,
        kind: Kind,
        array: &ArrayRef,
    ) -> Result<Vec<i64>, Refusal> {
        let Some(mut numbers) = numbers(array, kind) else {
            return damaged(format!("`{name}` is of another type than this latpcap writes: scan the captures again"));
        };
        let most = if kind == Kind::U32 { i64::from(u32::MAX) } else { i64::MAX };
        let is_count = matches!(kind, Kind::U32 | Kind::U64);
        if is_count && numbers.iter().any(|&number| number != NULL && !(0..=most).contains(&number)) {
            return damaged(format!("`{name}` is more than any capture has"));
        }
        let texts = match column {
            Column::fingerprint | Column::text => self.numbers[0].get(part),
            Column::tags => self.numbers[1].get(part),
            Column::parameters => {
                let scan = i64::from(self.scans.get(part).copied().unwrap_or(0)) << PARAMETER_BITS;
                numbers.iter_mut().filter(|number| **number != 0).for_each(|number| *number ^= scan);
                return Ok(numbers);
            }
            _ => return Ok(numbers),
        };
        for number in numbers.iter_mut().filter(|number| **number != NULL) {
            let Some(&known) = texts.and_then(|texts| texts.get(*number as usize)) else {
                return damaged("it names texts that are not there");
            };
            *number = known.into();
        }
        Ok(numbers)
    }

    /// The numbers of a column's words, as they are or as those of a dictionary.
    fn words(&mut self, name: &'static str, column: Column, array: &ArrayRef) -> Result<Vec<i64>, Refusal> {
        let coded = array.as_any_dictionary_opt();
        let Some(own) = coded.map_or(array, |coded| coded.values()).as_string_opt::<i32>() else {
            return damaged(format!("`{name}` is of another type than this latpcap writes: scan the captures again"));
        };
        let number = |word: Option<&str>| word.map_or(Ok(NULL), |word| self.word(name, column, word));
        let numbers: Vec<i64> = own.iter().map(number).collect::<Result<_, _>>()?;
        let Some(coded) = coded.filter(|_| !numbers.is_empty()) else {
            return Ok(if coded.is_some() { vec![NULL; array.len()] } else { numbers });
        };
        let keys = coded.normalized_keys().into_iter().enumerate();
        Ok(keys.map(|(row, key)| if array.is_null(row) { NULL } else { numbers[key] }).collect())
    }

    fn word(&mut self, name: &'static str, column: Column, word: &str) -> Result<i64, Refusal> {
        let words = self.words.entry(name).or_insert_with(Errors::unlimited);
        if let Some(known) = words.known(word) {
            return Ok(known.into());
        }
        check_text(name, word)?;
        let is_none = match column {
            Column::purpose => Purpose::named(word).is_none(),
            Column::wait => Wait::named(word).is_none(),
            _ => false,
        };
        if is_none {
            return damaged(format!("`{name}` has a word that latpcap never writes"));
        }
        if column == Column::command && words.len() == MAX_NAMES {
            return damaged(format!("`{name}` has more than {MAX_NAMES} words"));
        }
        Ok(words.number(word).into())
    }
}

/// The numbers of a column of that kind, null for none; `None` where it is of another type.
fn numbers(array: &dyn Array, kind: Kind) -> Option<Vec<i64>> {
    match (kind, array.data_type()) {
        (Kind::U32 | Kind::U64, DataType::UInt32) => Some(of::<UInt32Type>(array, i64::from)),
        (Kind::U32 | Kind::U64, DataType::UInt64) => {
            Some(of::<UInt64Type>(array, |number| i64::try_from(number).unwrap_or(-1)))
        }
        (Kind::Hash, DataType::UInt64) => Some(of::<UInt64Type>(array, |hash| hash as i64)),
        (Kind::U32 | Kind::U64 | Kind::Hash | Kind::I64, DataType::Int64) => {
            Some(of::<Int64Type>(array, |number| number))
        }
        (Kind::Time, DataType::Timestamp(TimeUnit::Nanosecond, _)) => {
            Some(of::<TimestampNanosecondType>(array, |time| time))
        }
        (Kind::Flag, DataType::Boolean) => {
            Some(array.as_boolean().iter().map(|flag| flag.map_or(NULL, i64::from)).collect())
        }
        _ => None,
    }
}

fn of<T: ArrowPrimitiveType>(array: &dyn Array, number: impl Fn(T::Native) -> i64) -> Vec<i64> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    match array.nulls() {
        None => array.values().iter().map(|&value| number(value)).collect(),
        Some(_) => array.iter().map(|value| value.map_or(NULL, &number)).collect(),
    }
}
