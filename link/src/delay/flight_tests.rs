use super::*;

#[test]
fn packets_come_out_in_order_when_they_are_due() {
    let mut flight = Flight::default();
    let second = Duration::from_secs(1);
    flight.add(second, b"first");
    flight.add(second * 2, b"second");
    let mut out = Vec::new();
    for now in [0, 1, 1, 2, 2] {
        flight.send_due(second * now + second / 2, |late, bytes| out.push((late, bytes.to_vec())));
    }
    assert_eq!(out, [(second / 2, b"first".to_vec()), (second / 2, b"second".to_vec())]);
    assert_eq!((flight.packets(), flight.held), (0, 0));
}

#[test]
fn room_ends_with_packets_of_any_size() {
    for size in [1, 65_535] {
        let mut flight = Flight::default();
        let packet = vec![0; size];
        let mut count = 0;
        while flight.has_room() {
            flight.add(Duration::ZERO, &packet);
            count += 1;
        }
        assert_eq!(count, MAX_BYTES.div_ceil(size.max(MIN_PACKET_BYTES)));
        while flight.send_due(Duration::ZERO, |_, _| ()) {}
        assert_eq!(flight.held, 0);
    }
}
