//! Prints the connections and exchanges of captures as plain text: `cargo run --example exchanges -- FILE…`

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use latpcap_core::capture::Source;
use latpcap_core::pipeline::{self, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sources = std::env::args().skip(1).map(Source::path).collect();
    let options = Options { show_literals: true, ..Options::default() };
    let tables = pipeline::open_and_read(sources, &options)?;
    let (notes, connections) = (tables.notes()?, tables.connections()?);
    for row in 0..notes.num_rows() {
        println!("note {}: {}", text(&notes, "code", row), text(&notes, "message", row));
    }
    for row in 0..connections.num_rows() {
        let fields = ["client", "server", "protocol", "server_version", "user", "database", "encryption", "state"];
        let told: Vec<_> = fields.iter().map(|field| text(&connections, field, row)).collect();
        let counts: Vec<_> =
            ["round_trips", "retransmissions", "lost_bytes"].map(|name| number(&connections, name, row)).into();
        println!("connection {row} {} {}", told.join(" "), counts.join(" "));
    }
    let statement = |id: &str| id.parse().map_or_else(|_| String::new(), |id| tables.statements.text(id).to_owned());
    let statements: Vec<String> = (0..tables.statements.len() as u32).map(|id| statement(&id.to_string())).collect();
    let exchanges = tables.exchanges.batch()?;
    for row in 0..exchanges.num_rows() {
        let commands = exchanges["command"].as_dictionary::<UInt16Type>();
        let command = commands.values().as_string::<i32>().value(commands.keys().value(row) as usize);
        let fields =
            ["stream", "exchange", "request_frame", "response_end_frame", "round_trips", "rows", "affected_rows"];
        let told: Vec<_> = fields.iter().map(|field| number(&exchanges, field, row)).collect();
        let sql = number(&exchanges, "text", row).parse::<usize>().ok().and_then(|id| statements.get(id));
        let complete = if exchanges["complete"].as_boolean().value(row) { "" } else { "INCOMPLETE" };
        let sql = sql.map_or(String::new(), |sql| sql.chars().take(100).collect());
        println!("{} {command} {} {complete} {sql}", told.join(" "), text(&exchanges, "error", row));
    }
    Ok(())
}

fn text<'a>(batch: &'a RecordBatch, name: &str, row: usize) -> &'a str {
    let column = batch[name].as_string::<i32>();
    if column.is_valid(row) { column.value(row) } else { "-" }
}

fn number(batch: &RecordBatch, name: &str, row: usize) -> String {
    let column = &batch[name];
    if column.is_null(row) {
        return "-".to_owned();
    }
    if let Some(column) = column.as_primitive_opt::<UInt32Type>() {
        return column.value(row).to_string();
    }
    if let Some(column) = column.as_primitive_opt::<Int64Type>() {
        return column.value(row).to_string();
    }
    column.as_primitive::<UInt64Type>().value(row).to_string()
}
