//! A recording with other words in it, such as pseudonyms in the place of names.
//!
//! ```text
//! names_met, texts_met ─► whoever invents names ─► a list for each column, in the order of `texts` ─► renamed
//! ```
//!
//! The packed rows are those of the whole; the connections stay known as they were, for whoever selects by real names.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::ArrowError;

use super::Recording;

/// The words that stand for the distinct texts of a column, in the order of [`Recording::texts`].
pub struct Words {
    pub table: String,
    pub column: String,
    pub words: Vec<String>,
}

impl Recording {
    /// The distinct texts of a column, in the order of its rows; of the exchanges those of their errors.
    pub fn texts(&self, table: &str, column: &str) -> Result<Vec<String>, ArrowError> {
        if (table, column) == ERRORS {
            return Ok(self.exchanges.errors());
        }
        let (table, mut known) = (self.table(table)?, HashSet::new());
        let texts = text_column(&table, column).into_iter().flatten().flatten();
        Ok(texts.filter(|text| known.insert(*text)).map(str::to_owned).collect())
    }

    /// The names in these columns of the connections, line by line, each once and with its column, in the order in which
    /// they are met: those of databases first.
    pub fn names_met(&self, columns: &[String]) -> Vec<(String, String)> {
        let texts = columns.iter().filter_map(|column| Some((column, text_column(&self.connections, column)?)));
        let (texts, protocol) = (texts.collect::<Vec<_>>(), text_column(&self.connections, "protocol"));
        let is_database = |row| protocol.is_some_and(|protocol| protocol.is_valid(row));
        let rows = |of_database| (0..self.connections.num_rows()).filter(move |&row| is_database(row) == of_database);
        let mut known = HashSet::new();
        let mut met = Vec::new();
        for row in rows(true).chain(rows(false)) {
            for &(column, texts) in texts.iter().filter(|(_, texts)| texts.is_valid(row)) {
                let names = texts.value(row).split('\n').filter(|name| !name.is_empty());
                met.extend(
                    names.filter(|name| known.insert((column, *name))).map(|name| (column.clone(), name.into())),
                );
            }
        }
        met
    }

    /// The texts of statements in the order of the exchanges that have them, those of one exchange by the alphabet, and
    /// the errors in theirs: it does not depend on how many parts were read.
    pub fn texts_met(&self) -> Result<(Vec<String>, Vec<String>), ArrowError> {
        let columns = self.exchanges.coded(&["fingerprint", "text", "error"].map(String::from), None)?;
        let texts = text_column(&self.statements, "text");
        let mut first = vec![columns.num_rows(); self.statements.num_rows()];
        for ids in columns.columns().iter().filter_map(|column| column.as_primitive_opt::<UInt32Type>()) {
            for (row, id) in ids.iter().enumerate() {
                let first = id.and_then(|id| first.get_mut(id as usize));
                first.into_iter().for_each(|first| *first = row.min(*first));
            }
        }
        let mut statements: Vec<_> = first.into_iter().zip(texts.into_iter().flatten()).collect();
        statements.sort_unstable();
        let errors =
            columns.column(2).as_any_dictionary_opt().and_then(|errors| errors.values().as_string_opt::<i32>());
        let some = |text: &&str| !text.is_empty();
        Ok((
            statements.into_iter().filter_map(|(_, text)| text).filter(some).map(str::to_owned).collect(),
            errors.into_iter().flatten().flatten().filter(some).map(str::to_owned).collect(),
        ))
    }

    /// The recording with these words in it; `hosts` are what the hosts of its curve are called.
    pub fn renamed(&self, words: Vec<Words>, hosts: Option<Vec<String>>) -> Result<Recording, ArrowError> {
        let mut renamed = self.clone();
        renamed.is_renamed = true;
        renamed.curve_hosts = hosts;
        for Words { table, column, words } in words {
            if (&*table, &*column) == ERRORS {
                renamed.exchanges = self.exchanges.with_errors(words)?;
                continue;
            }
            let batch = renamed.table_mut(&table)?;
            let Some(texts) = text_column(batch, &column) else { continue };
            let changed: ArrayRef = Arc::new(with_words(texts, &words)?);
            let schema = batch.schema();
            let arrays = schema.fields().iter().zip(batch.columns()).map(|(field, array)| {
                (field.name(), Arc::clone(if *field.name() == column { &changed } else { array }))
            });
            *batch = RecordBatch::try_from_iter(arrays)?;
        }
        Ok(renamed)
    }

    fn table(&self, name: &str) -> Result<RecordBatch, ArrowError> {
        self.clone().table_mut(name).cloned()
    }

    fn table_mut(&mut self, name: &str) -> Result<&mut RecordBatch, ArrowError> {
        match name {
            "captures" => Ok(&mut self.captures),
            "notes" => Ok(&mut self.notes),
            "cases" => Ok(&mut self.cases),
            "connections" => Ok(&mut self.connections),
            "statements" => Ok(&mut self.statements),
            "tags" => Ok(&mut self.tags),
            "taps" => Ok(&mut self.taps),
            _ => Err(ArrowError::SchemaError(format!("`{name}` has no texts to replace"))),
        }
    }
}

/// The one column of the many rows that has texts of whoever was captured.
const ERRORS: (&str, &str) = ("exchanges", "error");

fn text_column<'a>(table: &'a RecordBatch, name: &str) -> Option<&'a StringArray> {
    table.column_by_name(name)?.as_string_opt::<i32>()
}

/// The texts with `words` in their place, in the order of the distinct ones.
fn with_words(texts: &StringArray, words: &[String]) -> Result<StringArray, ArrowError> {
    let mut numbers = HashMap::new();
    let changed = texts.iter().map(|text| {
        let next = numbers.len();
        words.get(*numbers.entry(text?).or_insert(next))
    });
    let changed = changed.collect();
    if numbers.len() == words.len() { Ok(changed) } else { Err(other_count(words.len(), numbers.len())) }
}

pub(super) fn other_count(words: usize, texts: usize) -> ArrowError {
    ArrowError::SchemaError(format!("{words} words are to stand for {texts} texts"))
}

#[cfg(test)]
#[path = "renamed_tests.rs"]
mod tests;
