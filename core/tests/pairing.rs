//! From packets to exchanges: what may happen to packets on the way must never pair a request with another's response.

mod support;

use proptest::prelude::*;
use support::Sender::{Client, Server};
use support::*;

fn queries(tables: latpcap_core::recording::Tables) -> Vec<Seen> {
    exchanges(tables).into_iter().filter(|seen| seen.command == "query").collect()
}

#[test]
fn a_login_and_a_query_are_three_exchanges_and_two_round_trips() {
    let mut wire = logged_in();
    wire.ask(&query("select 1"), &result(1, 10));
    let seen = exchanges(wire.read());
    let told: Vec<_> = seen.iter().map(|seen| (seen.command.as_str(), seen.round_trips, seen.rows)).collect();
    assert_eq!(told, [("connect", 0, None), ("authenticate", 1, None), ("query", 1, Some(1))]);
    assert!(seen.iter().all(|seen| seen.complete));
}

#[test]
fn an_exchange_knows_its_packets_and_how_long_the_client_waited() {
    let mut wire = logged_in();
    wire.ask(&query("select 1"), &result(400, 10));
    let last = wire.packets.len() as u32;
    let seen = &queries(wire.read())[0];
    let [request, request_end, response, response_end] = seen.frames.map(Option::unwrap);
    assert_eq!((request, request_end), (7, 7));
    assert_eq!((response, response_end), (8, last));
    assert_eq!(seen.waited_ns, Some(1_010_000));
}

#[test]
fn a_long_row_ends_with_its_last_packet() {
    let mut wire = logged_in();
    wire.ask(&query("select a"), &result(3, 20_000));
    let last = wire.packets.len() as u32;
    assert_eq!(queries(wire.read())[0].frames[3], Some(last));
}

#[test]
fn a_second_request_sent_without_waiting_shares_the_round_trip() {
    let mut wire = logged_in();
    wire.send(Client, &[query("insert 1"), query("insert 2")].concat());
    wire.now_ns += wire.rtt_ns;
    wire.send(Server, &[ok(1, 1), ok(1, 2)].concat());
    let told: Vec<_> = queries(wire.read()).iter().map(|seen| (seen.round_trips, seen.affected)).collect();
    assert_eq!(told, [(1, Some(1)), (0, Some(2))]);
}

#[test]
fn a_request_whose_packet_has_not_acknowledged_the_answer_before_was_sent_without_waiting() {
    let mut wire = logged_in();
    wire.send(Client, &query("insert 1"));
    // The second request passes after the first answer, but it was sent before that had arrived.
    let acknowledged = wire.packets.last().unwrap().bytes[28..32].to_vec();
    wire.send(Server, &ok(1, 1));
    wire.send(Client, &query("insert 2"));
    wire.packets.last_mut().unwrap().bytes[28..32].copy_from_slice(&acknowledged);
    wire.send(Server, &ok(1, 2));
    let told: Vec<_> = queries(wire.read()).iter().map(|seen| (seen.round_trips, seen.affected)).collect();
    assert_eq!(told, [(1, Some(1)), (0, Some(2))]);
}

#[test]
fn a_snap_length_of_96_still_counts_every_round_trip() {
    let mut wire = logged_in();
    for number in 0..5 {
        wire.ask(
            &query(&format!("select a from t where b = {number} and {}", "x = 1 or ".repeat(30))),
            &result(20, 60),
        );
    }
    let seen = queries(read_file(pcap(&wire.packets, 96)));
    assert_eq!(seen.iter().map(|seen| seen.round_trips).sum::<u32>(), 5);
    assert!(seen.iter().all(|seen| seen.times[2].is_some()));
}

#[test]
fn a_lost_answer_leaves_its_exchange_incomplete_and_the_next_one_right() {
    let mut wire = logged_in();
    wire.ask(&query("insert 1"), &ok(1, 1));
    wire.packets.pop();
    wire.ask(&query("insert 2"), &ok(1, 2));
    let told: Vec<_> =
        queries(wire.read()).iter().map(|seen| (seen.round_trips, seen.affected, seen.complete)).collect();
    assert_eq!(told, [(1, None, false), (1, Some(2), true)]);
}

#[test]
fn a_hole_in_a_row_stream_marks_only_its_own_exchange() {
    let mut wire = logged_in();
    wire.ask(&query("select 1"), &result(2000, 50));
    let hole = wire.packets.len() - 10;
    wire.packets.remove(hole);
    wire.ask(&query("insert 2"), &ok(1, 2));
    let told: Vec<_> = queries(wire.read()).iter().map(|seen| (seen.affected, seen.complete)).collect();
    assert_eq!(told, [(None, false), (Some(2), true)]);
}

#[test]
fn a_capture_of_the_client_alone_counts_its_requests() {
    let mut wire = logged_in();
    for number in 0..50 {
        wire.ask(&query(&format!("insert {number}")), &ok(1, 1));
    }
    wire.packets.retain(|packet| packet.bytes[12..16] == [10, 0, 0, 1]);
    let seen = queries(wire.read());
    assert_eq!(seen.len(), 50);
    assert!(seen.iter().all(|seen| seen.round_trips == 1 && !seen.complete));
}

#[test]
fn after_a_request_is_lost_among_many_no_answer_is_taken_for_another() {
    let mut wire = logged_in();
    for number in 0..8u8 {
        wire.send(Client, &query(&format!("update t set a = {number}")));
    }
    let lost = wire.packets.len();
    wire.send(Client, &query("update t set a = 8"));
    // From now on the server answers whenever the client asks: it looks as if each got its own answer.
    for number in 0..12u8 {
        wire.send(Server, &ok(1, number));
        wire.send(Client, &query(&format!("update t set a = {}", 9 + number)));
    }
    wire.packets.remove(lost);
    assert!(queries(wire.read()).iter().all(|seen| !seen.complete));
}

#[test]
fn after_a_stretch_of_a_pipeline_is_lost_on_both_sides_no_answer_is_taken_for_another() {
    let mut wire = logged_in();
    let ask = |wire: &mut Wire, number: u8| {
        wire.send(Client, &query(&format!("update t set a = {number}")));
    };
    wire.ask(&query("update t set a = 99"), &ok(1, 99));
    let begin = wire.packets.len();
    (0..40).for_each(|number| ask(&mut wire, number));
    wire.send(Server, &ok(1, 0));
    let end = wire.packets.len();
    // The client goes on sending, and the server answering what was lost.
    for number in 40..80 {
        ask(&mut wire, number);
        ask(&mut wire, 40 + number);
        wire.send(Server, &ok(1, number - 39));
    }
    wire.packets.drain(begin..end);
    let complete: Vec<_> = queries(wire.read()).iter().filter(|seen| seen.complete).map(|seen| seen.affected).collect();
    assert_eq!(complete, [Some(99)]);
}

#[test]
fn behind_a_request_and_its_answer_that_were_lost_the_next_request_is_read() {
    let mut wire = numbered(6);
    let lost = wire.packets.len() - 4;
    wire.packets.drain(lost - 2..lost);
    let seen = exchanges(wire.read());
    let told: Vec<_> = seen.iter().skip(2).map(|seen| (seen.command.as_str(), seen.affected, seen.complete)).collect();
    let read = |number| ("query", Some(number), true);
    assert_eq!(told, [read(0), read(1), read(2), ("unknown", None, false), read(4), read(5)]);
}

#[test]
fn behind_the_beginning_of_a_request_that_was_lost_its_rest_is_no_request() {
    for rest in [&b"(1, 2)"[..], &[0; 40], b"\x05\0\0\0\x03do 1", b"\x05\0\0\0\x03do 12"] {
        let mut wire = numbered(2);
        let begin = wire.packets.len();
        wire.ask(&query("select 1"), &ok(1, 3));
        wire.send(Client, &query(&format!("insert into t values ({})", "1".repeat(60)))).send(Client, rest);
        wire.ask(&query("update t set a = 4"), &ok(1, 4)).ask(&query("update t set a = 5"), &ok(1, 5));
        wire.packets.drain(begin..begin + 3);
        let affected: Vec<_> =
            queries(wire.read()).iter().filter(|seen| seen.complete).map(|seen| seen.affected).collect();
        assert_eq!(affected.last(), Some(&Some(5)), "{rest:?}");
    }
}

/// Batches of five statements, each sent in one packet; the server answers all.
fn batches(wire: &mut Wire, count: u8) {
    for batch in 0..count {
        wire.send(Client, &(0..5).flat_map(|_| query("update t set a = 1")).collect::<Vec<_>>());
        wire.now_ns += wire.rtt_ns;
        wire.send(Server, &(0..5).flat_map(|at| ok(1, 5 * batch + at)).collect::<Vec<_>>());
    }
}

#[test]
fn after_a_lost_answer_a_client_that_always_waits_for_all_is_trusted_after_as_many_requests() {
    let mut wire = logged_in();
    batches(&mut wire, 8);
    wire.packets.pop();
    batches(&mut wire, 4);
    let seen = queries(wire.read());
    let trusted: Vec<_> = seen.iter().map(|seen| seen.complete).collect();
    assert_eq!(trusted, [[true; 35].as_slice(), &[false; 10], &[true; 15]].concat());
}

#[test]
fn a_client_that_no_longer_waits_for_all_is_not_trusted_by_its_habit() {
    let mut wire = logged_in();
    batches(&mut wire, 8);
    wire.send(Client, &(0..5).flat_map(|_| query("update t set a = 2")).collect::<Vec<_>>());
    wire.send(Server, &ok(1, 200));
    let lost = wire.packets.len() - 1;
    // From now on it sends more before the answers come.
    for number in 0..30u8 {
        wire.send(Client, &[query("update t set a = 3"), query("update t set a = 4")].concat());
        wire.send(Server, &ok(1, 201 + number));
    }
    wire.packets.remove(lost);
    let seen = queries(wire.read());
    assert!(seen[40..].iter().all(|seen| !seen.complete));
}

#[test]
fn after_a_silence_pairs_are_trusted_again() {
    let mut wire = logged_in();
    for number in 0..8u8 {
        wire.send(Client, &query(&format!("update t set a = {number}")));
    }
    let lost = wire.packets.len() - 1;
    wire.send(Server, &(0..8).flat_map(|number| ok(1, number)).collect::<Vec<_>>());
    wire.packets.remove(lost);
    wire.ask(&query("update t set a = 20"), &ok(1, 20));
    wire.now_ns += 2_000_000_000;
    wire.ask(&query("update t set a = 21"), &ok(1, 21));
    let told: Vec<_> = queries(wire.read()).iter().map(|seen| (seen.affected, seen.complete)).collect();
    assert_eq!(told[told.len() - 2..], [(Some(20), false), (Some(21), true)]);
}

#[test]
fn an_answer_that_passes_before_its_question_has_no_times() {
    let mut wire = logged_in();
    wire.ask(&query("update t set a = 1"), &ok(1, 1));
    let answer = wire.packets.len() - 1;
    let early = wire.packets[answer - 1].time_ns - 500;
    wire.packets[answer].time_ns = early;
    wire.ask(&query("update t set a = 2"), &ok(1, 2));
    let told: Vec<_> = queries(wire.read()).iter().map(|seen| (seen.affected, seen.complete)).collect();
    assert_eq!(told, [(Some(1), false), (Some(2), true)]);
}

#[test]
fn a_client_that_goes_on_before_the_answer_that_makes_it_go_on_has_no_times() {
    let asked_for = mysql(1, b"\xfbdata.csv");
    let mut wire = logged_in();
    wire.ask(&query("load data local infile 'data.csv' into table t"), &asked_for);
    wire.ask(&[mysql(2, b"1,2\n"), mysql(3, b"")].concat(), &ok(4, 1));
    assert_eq!(
        queries(wire.read()).iter().map(|seen| (seen.round_trips, seen.complete)).collect::<Vec<_>>(),
        [(2, true)]
    );
    let contents = wire.packets.len() - 2;
    wire.packets[contents].time_ns = wire.packets[contents - 1].time_ns - 500;
    assert_eq!(
        queries(wire.read()).iter().map(|seen| (seen.affected, seen.complete)).collect::<Vec<_>>(),
        [(Some(1), false)]
    );
}

/// Queries and answers that show whether they belong together: query number `n` affects `n` rows.
fn numbered(count: u8) -> Wire {
    let mut wire = logged_in();
    for number in 0..count {
        wire.ask(&query(&format!("update t set a = {number}")), &ok(1, number));
    }
    wire
}

/// The hash of the literals shows which query it was.
fn right_pairs(count: u8) -> std::collections::HashMap<u64, u64> {
    queries(numbered(count).read()).iter().map(|seen| (seen.parameters, seen.affected.unwrap())).collect()
}

fn never_mispairs(packets: &[Packet], count: u8) -> Result<(), TestCaseError> {
    let right = right_pairs(count);
    for seen in queries(read(packets)) {
        if let (true, Some(affected)) = (seen.complete, seen.affected) {
            prop_assert_eq!(right.get(&seen.parameters), Some(&affected));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn dropped_packets_never_mispair(dropped in prop::collection::vec(0usize..90, 1..20)) {
        let mut packets = numbered(40).packets;
        for index in dropped {
            if index < packets.len() {
                packets.remove(index);
            }
        }
        never_mispairs(&packets, 40)?;
    }

    #[test]
    fn duplicated_packets_change_nothing(duplicated in prop::collection::vec(0usize..80, 1..40)) {
        let mut packets = numbered(40).packets;
        let right = queries(read(&packets));
        for index in duplicated {
            let copy = packets[index].clone();
            packets.insert(index + 1, copy);
        }
        let seen = queries(read(&packets));
        prop_assert_eq!(seen.len(), right.len());
        for (seen, right) in seen.iter().zip(&right) {
            prop_assert_eq!((seen.parameters, seen.affected, seen.round_trips), (right.parameters, right.affected, 1));
        }
    }

    #[test]
    fn packets_captured_out_of_order_are_paired_alike(swaps in prop::collection::vec((5usize..80, 1usize..6), 1..30)) {
        let mut packets = numbered(40).packets;
        let right = queries(read(&packets));
        for (index, distance) in swaps {
            let other = (index + distance).min(packets.len() - 1);
            packets.swap(index, other);
        }
        let seen = queries(read(&packets));
        prop_assert_eq!(seen.len(), right.len());
        for (seen, right) in seen.iter().zip(&right) {
            prop_assert_eq!((seen.parameters, seen.affected), (right.parameters, right.affected));
        }
        prop_assert_eq!(seen.iter().map(|seen| seen.round_trips).sum::<u32>(), 40);
    }

    #[test]
    fn shuffled_packets_never_mispair(packets in Just(numbered(40).packets).prop_shuffle()) {
        never_mispairs(&packets, 40)?;
    }

    #[test]
    fn compression_begins_behind_the_ok_however_long_it_is(mss in 1usize..2000, text in 0usize..5000) {
        let packed = |packet: Vec<u8>| [&(packet.len() as u32).to_le_bytes()[..3], &[0, 0, 0, 0], &packet].concat();
        let mut compressed_login = login();
        compressed_login[4] |= 0x20;
        let mut long_ok = ok(2, 0);
        long_ok.extend(vec![b'x'; text]);
        long_ok[..3].copy_from_slice(&(text as u32 + 7).to_le_bytes()[..3]);
        let mut wire = Wire::new();
        wire.mss = mss;
        wire.handshake().send(Server, &greeting()).ask(&compressed_login, &long_ok);
        wire.ask(&packed(query("select a from t")), &packed(result(3, 10)));
        let seen = exchanges(wire.read());
        prop_assert!(seen.iter().all(|seen| seen.complete), "{:?}", seen);
        prop_assert_eq!(seen.last().map(|seen| (seen.command.as_str(), seen.rows)), Some(("query", Some(3))));
    }

    #[test]
    fn any_cut_into_packets_gives_the_same_exchanges(mss in 1usize..200) {
        let dialogue = |mss| {
            let mut wire = Wire::new();
            wire.mss = mss;
            wire.handshake().send(Server, &greeting());
            wire.ask(&login(), &ok(2, 0));
            wire.ask(&query("select a from t"), &result(30, 300));
            wire.ask(&query("insert 1"), &ok(1, 7));
            let told: Vec<_> = exchanges(wire.read())
                .into_iter()
                .map(|seen| (seen.command, seen.round_trips, seen.rows, seen.affected, seen.complete, seen.parameters))
                .collect();
            told
        };
        prop_assert_eq!(dialogue(mss), dialogue(100_000));
    }

    #[test]
    fn damaged_bytes_never_panic(flips in prop::collection::vec((0usize..6000, any::<u8>()), 1..60)) {
        let mut file = pcap(&numbered(40).packets, 262_144);
        for (index, value) in flips {
            let length = file.len();
            file[24 + index % (length - 24)] = value;
        }
        let _ = exchanges(read_file(file));
    }
}
