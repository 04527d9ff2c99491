use super::*;

const S: i64 = 1_000_000_000;

/// Each packet's time as it is handed on, in seconds, and whether it is its own.
fn handed_on(times_s: &[i64]) -> Vec<(i64, bool)> {
    let mut leaps = Leaps::default();
    let mut found = Vec::new();
    for (frame, &time_s) in (1..).zip(times_s) {
        let packet = Packet {
            frame,
            time_ns: time_s * S,
            tap: 0,
            place: 0,
            alone: true,
            link_type: 1,
            bytes: &[7; 3],
            original_length: 3,
        };
        found.extend(
            leaps.release(Some(packet.time_ns)).map(|(pending, own)| (pending.frame, pending.time_ns / S, own)),
        );
        if !leaps.hold(&packet) {
            found.push((frame, time_s, true));
        }
    }
    found.extend(leaps.release(None).map(|(pending, own)| (pending.frame, pending.time_ns / S, own)));
    assert!(found.iter().map(|&(frame, ..)| frame).eq(1..=times_s.len() as u64));
    found.into_iter().map(|(_, time_s, own)| (time_s, own)).collect()
}

fn with_their_own_times(times_s: &[i64]) -> bool {
    handed_on(times_s) == times_s.iter().map(|&time_s| (time_s, true)).collect::<Vec<_>>()
}

#[test]
fn a_lone_time_far_ahead_is_wrong() {
    assert_eq!(handed_on(&[5, 5, 1_000, 6, 7]), [(5, true), (5, true), (5, false), (6, true), (7, true)]);
}

#[test]
fn so_is_one_far_behind() {
    assert_eq!(handed_on(&[1_000, 0, 1_001]), [(1_000, true), (1_000, false), (1_001, true)]);
}

#[test]
fn the_first_packets_time_is_wrong_where_the_next_is_years_off() {
    let (now, later) = (1_700_000_000, 3_000_000_000);
    assert_eq!(handed_on(&[later, now, now]), [(now, false), (now, true), (now, true)]);
    assert_eq!(handed_on(&[0, now, now]), [(now, false), (now, true), (now, true)]);
    assert!(with_their_own_times(&[now, now + 86_400, now + 86_401]));
}

#[test]
fn so_is_the_second_ones() {
    let (now, later) = (1_700_000_000, 3_000_000_000);
    for wrong in [0, later] {
        assert_eq!(handed_on(&[now, wrong, now]), [(now, true), (now, false), (now, true)]);
    }
}

#[test]
fn pauses_and_clocks_that_were_set_are_no_wrong_times() {
    assert!(with_their_own_times(&[0, 60, 60, 3_600, 7_200, 7_201]));
    assert!(with_their_own_times(&[100, 40, 41, 42]));
    assert!(with_their_own_times(&[0, 100, 101, 1, 2]));
    assert!(with_their_own_times(&[0, 100]));
}
