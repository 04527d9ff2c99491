//! Reads captures as `analyze` does, tables and all, and prints how long that took: the core without Python.
//!
//! ```text
//! cargo run --release --example read -- CAPTURE…
//! ```

use std::time::Instant;

use latpcap_core::capture::Source;
use latpcap_core::pipeline::{self, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sources = std::env::args().skip(1).map(Source::path).collect();
    let started = Instant::now();
    let tables = pipeline::open_and_read(sources, &Options::default())?;
    let read_s = started.elapsed().as_secs_f64();
    let exchanges = tables.exchanges.batch()?.num_rows();
    println!("{exchanges} exchanges: read in {read_s:.3} s, with tables {:.3} s", started.elapsed().as_secs_f64());
    Ok(())
}
