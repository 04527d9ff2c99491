//! Reads captures as `analyze` does, tables and all, and prints how long that took: the core without Python.
//!
//! ```text
//! cargo run --release --example read -- [--threads=N] CAPTURE…
//! ```

use std::time::Instant;

use latpcap_core::capture::Source;
use latpcap_core::ledger::Limits;
use latpcap_core::pipeline::{self, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (arguments, paths): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let threads = arguments.iter().find_map(|argument| argument.strip_prefix("--threads="));
    let limits = Limits::of(8_000_000_000); // as the benchmarks give `analyze`: nothing is to be left out
    let options = Options { threads: threads.map(str::parse).transpose()?, limits, ..Options::default() };
    let started = Instant::now();
    let tables = pipeline::open_and_read(paths.into_iter().map(Source::path).collect(), &options)?;
    let read_s = started.elapsed().as_secs_f64();
    println!("{} exchanges in {} bytes: read in {read_s:.3} s", tables.exchanges.len(), tables.exchanges.bytes());
    Ok(())
}
