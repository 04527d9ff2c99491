//! Prints one line per packet: frame, time, link type and, where it holds a TCP segment, its ports, numbers and length.
//!
//! ```text
//! cargo run --release --example segments -- [--count | --walk] CAPTURE…
//! ```
//!
//! `--count` only counts them, as fast as captures are read and packets dissected; `--walk` only goes from one record of a
//! pcap file to the next, which is as fast as that can ever be.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::process::ExitCode;

use latpcap_core::capture::{Captures, Source};
use latpcap_core::packet::{Dissected, Dissector, Segment};

fn main() -> ExitCode {
    let (options, paths): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    if options == ["--walk"] {
        return match paths.iter().try_for_each(|path| walk(path)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let sources = paths.into_iter().map(Source::path).collect();
    let mut recording = match Captures::open(sources) {
        Ok(recording) => recording,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(3);
        }
    };
    let done = match options.is_empty() {
        true => print(&mut recording),
        false => count(&mut recording),
    };
    for note in recording.notes() {
        eprintln!("{} ({}): {}", note.code.as_str(), note.count, note.message);
    }
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn print(recording: &mut Captures) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut dissector = Dissector::new();
    while let Some(packet) = recording.next_packet() {
        write!(out, "{}\t{}\t{}", packet.frame, packet.time_ns, packet.link_type)?;
        match dissector.segment(packet) {
            Dissected::Tcp(segment) => print_segment(&mut out, &segment)?,
            Dissected::Other => writeln!(out)?,
            Dissected::UnknownLinkType(_) => writeln!(out, "\tunknown link type")?,
            Dissected::Aggregate(_) => writeln!(out, "\tseveral frames")?,
            Dissected::Encrypted(by) => writeln!(out, "\tencrypted by {by}")?,
            Dissected::Cut => writeln!(out, "\tcut")?,
            Dissected::Malformed(malformed) => writeln!(out, "\t{malformed}")?,
        }
    }
    out.flush()
}

fn print_segment(out: &mut impl Write, segment: &Segment<'_>) -> io::Result<()> {
    let (source, destination) = (segment.source, segment.destination);
    writeln!(
        out,
        "\t{}\t{}\t{}\t{}\t{}\t{}\t{:#04x}\t{}",
        source.address,
        source.port,
        destination.address,
        destination.port,
        segment.sequence,
        segment.acknowledgment,
        segment.flags.0,
        segment.wire_length,
    )
}

/// The limit: block after block is read, and of each record only its length, in the byte order of this machine.
fn walk(path: &str) -> io::Result<()> {
    const FILE_HEADER: usize = 24;
    const RECORD_HEADER: usize = 16;
    let mut file = File::open(path)?;
    file.read_exact(&mut [0; FILE_HEADER])?;
    let mut block = vec![0; 256 * 1024];
    let (mut packets, mut bytes, mut kept) = (0_u64, 0_u64, 0);
    loop {
        let count = file.read(&mut block[kept..])?;
        let filled = &block[..kept + count];
        let mut rest = filled;
        while let Some(header) = rest.first_chunk::<RECORD_HEADER>() {
            let captured = u32::from_ne_bytes([header[8], header[9], header[10], header[11]]) as usize;
            let Some(next) = rest.get(RECORD_HEADER + captured..) else { break };
            (packets, bytes, rest) = (packets + 1, bytes + captured as u64, next);
        }
        if count == 0 {
            println!("{packets} packets, {bytes} bytes");
            return Ok(());
        }
        let walked = filled.len() - rest.len();
        block.copy_within(walked..kept + count, 0);
        kept = kept + count - walked;
    }
}

/// Only counts: to measure how fast captures are read.
fn count(recording: &mut Captures) -> io::Result<()> {
    let mut dissector = Dissector::new();
    let (mut packets, mut segments, mut payload) = (0_u64, 0_u64, 0_u64);
    while let Some(packet) = recording.next_packet() {
        packets += 1;
        dissector.dissect(&packet, |dissected| {
            if let Dissected::Tcp(segment) = dissected {
                segments += 1;
                payload += u64::from(segment.wire_length);
            }
        });
    }
    println!("{packets} packets, {segments} segments, {payload} bytes of payload");
    for file in recording.files() {
        println!("{file:?}");
    }
    Ok(())
}
