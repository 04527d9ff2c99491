//! What is read is the same on any number of threads.

mod support;

use std::num::NonZeroUsize;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use latpcap_core::capture::Source;
use latpcap_core::disk::Room;
use latpcap_core::ledger::LEAST_MEMORY;
use latpcap_core::pipeline::{self, Limits, Options};
use proptest::prelude::*;
use support::*;

/// All tables of these files, read as one recording.
fn tables(files: &[Vec<u8>], limits: Limits, threads: usize) -> Vec<RecordBatch> {
    tables_beyond(files, limits, None, threads)
}

/// The same where what does not fit in memory may go to the disk, so many bytes.
fn tables_beyond(files: &[Vec<u8>], limits: Limits, disk: Option<u64>, threads: usize) -> Vec<RecordBatch> {
    let sources = files.iter().map(|file| Source::bytes("test", file.as_slice())).collect();
    let disk = disk.map(|bytes| Room { folder: std::env::temp_dir(), bytes });
    let options = Options { limits, disk, threads: NonZeroUsize::new(threads), ..Options::default() };
    let tables = pipeline::open_and_read(sources, &options).unwrap();
    let most = [tables.captures(), tables.notes(), tables.statements(), tables.tags(), tables.connections()];
    let more = [tables.rtt_samples(), tables.clock_readings(), tables.exchanges.batch()];
    most.into_iter().chain(more).map(Result::unwrap).collect()
}

/// Every so many packets one is lost, comes twice, or comes late; behind one of them the clock was set.
fn damage(packets: &mut Vec<Packet>, losses: &[(prop::sample::Index, u8)]) {
    for (index, how) in losses {
        let at = index.index(packets.len() - 1);
        match how % 4 {
            0 => drop(packets.remove(at)),
            1 => packets.insert(at, packets[at].clone()),
            2 => packets.swap(at, at + 1),
            _ => packets[at..].iter_mut().for_each(|packet| packet.time_ns += 5_000_000_000),
        }
    }
}

/// So little of each that some limits are met.
fn little(connections: usize, buffers: usize, requests: usize, memory: usize) -> Limits {
    let most = Limits::of(LEAST_MEMORY);
    let (statements, errors, samples) = (8_000, 4_000, 4_000);
    let memory = most.files + most.fragments + memory;
    Limits { memory, connections, buffers, requests, statements, errors, samples, ..most }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn threads_change_nothing(
        connections in 1_u16..12,
        losses in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..30),
        files in 1_usize..4,
        limits in prop::option::of((5_000_usize..60_000, 1_000_usize..20_000, 1_000_usize..20_000, 30_000_usize..900_000)),
    ) {
        let mut packets = traffic(connections, 600 / u32::from(connections));
        damage(&mut packets, &losses);
        let part = packets.len().div_ceil(files);
        let files: Vec<_> = packets.chunks(part).map(|packets| pcap(packets, 262_144)).collect();
        let small = Limits::of(LEAST_MEMORY);
        let limits = limits.map_or(small, |(connections, buffers, requests, memory)| little(connections, buffers, requests, memory));
        let alone = tables(&files, limits, 1);
        for threads in [2, 3, 8] {
            prop_assert_eq!(&tables(&files, limits, threads), &alone, "{} threads", threads);
        }
    }
}

/// Limits within which nothing of it needs the disk, and those within which all rows and most samples do.
fn with_and_without_disk() -> (Limits, Limits) {
    let most = Limits::of(LEAST_MEMORY);
    (most, Limits { rows: 0, samples: 32 * 2_400, ..most })
}

#[test]
fn what_goes_to_the_disk_is_the_same_on_any_number_of_threads() {
    let (in_memory, little) = with_and_without_disk();
    let files = [pcap(&traffic(3, 4_000), 262_144)];
    let alone = tables(&files, in_memory, 1);
    let rows: Vec<_> = alone.iter().map(RecordBatch::num_rows).collect();
    assert!(rows[5] > 3_000 && rows[7] > 2 * 4_096, "{rows:?}");
    for threads in [1, 3] {
        for (beyond, within) in tables_beyond(&files, little, Some(u64::MAX), threads).iter().zip(&alone) {
            assert!(beyond == within, "{threads}: {:?}", within.schema().fields()[0]);
        }
    }
}

#[test]
fn where_the_disk_is_full_too_is_the_same_on_any_number_of_threads() {
    let memory = |bytes: usize| Limits {
        memory: Limits::of(LEAST_MEMORY).files + Limits::of(LEAST_MEMORY).fragments + bytes,
        ..with_and_without_disk().1
    };
    let files = [pcap(&traffic(3, 4_000), 262_144)];
    for (room, limits) in [(16 * 500_000, memory(1_200_000)), (16 * 100_000, memory(6_000_000)), (0, memory(2_000_000))]
    {
        let alone = tables_beyond(&files, limits, Some(room), 1);
        let rows = alone.last().map_or(0, RecordBatch::num_rows);
        assert!((1_000..12_000).contains(&rows), "{rows}");
        assert!(alone[1]["code"].as_string::<i32>().iter().flatten().any(|code| code == "too-many-exchanges"));
        assert_eq!(tables_beyond(&files, limits, Some(room), 3), alone);
    }
}

#[test]
fn the_memory_is_full_at_the_same_packet_on_any_number_of_threads() {
    let packets = traffic(5, 400);
    let limits = little(1_000_000, 100_000, 100_000, 400_000);
    let files = [pcap(&packets, 262_144)];
    let alone = tables(&files, limits, 1);
    let rows = alone.last().map_or(0, RecordBatch::num_rows);
    assert!((100..1_500).contains(&rows), "{rows}");
    for threads in [2, 3, 8] {
        assert_eq!(tables(&files, limits, threads), alone, "{threads}");
    }
}
