use super::super::packets;
use super::*;

fn record(recording: &mut Recording, payload: &[u8]) {
    recording.packet(pcapng::packet_block_length(payload.len()), |out, snap_length| {
        packets::packet(out, 1, &[], payload, snap_length);
    });
}

#[test]
fn what_was_recorded_is_in_the_file_while_it_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.pcapng");
    let mut recording = Recording::begin(&path, 0).unwrap();
    for number in 0..3_u8 {
        record(&mut recording, &[number + 1; 40]);
        recording.watcher().flush();
        let there = std::fs::read(&path).unwrap();
        assert_eq!(there.windows(40).filter(|bytes| *bytes == [number + 1; 40]).count(), 1);
    }
    let recorded = recording.end();
    assert_eq!((recorded.packets, recorded.dropped, recorded.ended), (3, 0, None));
}

#[test]
fn a_flush_waits_for_what_is_handed_on_and_not_recorded_yet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.pcapng");
    let mut recording = Recording::begin(&path, 0).unwrap();
    let (watcher, (flushed, is_flushed)) = (recording.watcher(), std::sync::mpsc::channel());
    let handing = watcher.hold();
    let flushing = watcher.clone();
    let client = thread::spawn(move || {
        flushing.flush();
        flushed.send(std::fs::read(path).unwrap()).unwrap();
    });
    assert!(is_flushed.recv_timeout(FLUSHED_EVERY).is_err(), "the answer is handed on");
    record(&mut recording, &[7; 40]);
    drop(handing);
    assert!(is_flushed.recv().unwrap().windows(40).any(|bytes| bytes == [7; 40]));
    client.join().unwrap();
}

/// `/dev/full` has no room for anything.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_recording_and_is_told() {
    assert!(Recording::begin(Path::new("/dev/full"), 0).is_err());
}

#[test]
fn behind_a_failure_the_file_ends_with_a_whole_block() {
    let folder = tempfile::tempdir().unwrap();
    let mut blocks = Vec::new();
    for number in 0..3_u8 {
        packets::packet(&mut blocks, 1, &[], &[number; 5], 0);
    }
    let one = blocks.len() / 3;
    for there in 0..blocks.len() {
        let mut file = File::create(folder.path().join("full")).unwrap();
        file.write_all(b"head").unwrap();
        file.write_all(&blocks[..there]).unwrap();
        let kept = keep_whole(&mut file, Some(4), &blocks);
        assert_eq!(pcapng::packets(&blocks[kept..]) as usize, 3 - there / one);
        assert_eq!(file.metadata().unwrap().len() as usize, 4 + there / one * one);
    }
}
