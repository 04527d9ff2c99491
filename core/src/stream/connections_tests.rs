use super::*;
use crate::packet::Segment;
use crate::stream::tests::segment;

fn turned(segment: Segment<'static>) -> Segment<'static> {
    Segment { source: segment.destination, destination: segment.source, ..segment }
}

fn numbers(segments: &[Segment<'static>]) -> Vec<usize> {
    let mut connections = Connections::default();
    let mut number = |segment| {
        let (number, side) = connections.number_of(segment, &|_| true, &|port| port == 3306).unwrap();
        let connection = connections.get_mut(number);
        let fresh = connection.is_fresh(side, segment);
        connection.accept(side, segment, fresh);
        number
    };
    segments.iter().map(&mut number).collect()
}

#[test]
fn both_directions_are_one_connection_whatever_lies_between_them() {
    let one = segment(Flags::ACK);
    let other = Segment { source: Endpoint { port: 40_001, ..one.source }, ..one };
    assert_eq!(numbers(&[one, other, turned(one), turned(other), one]), [0, 1, 0, 1, 0]);
}

#[test]
fn an_address_of_ipv4_is_not_the_one_of_ipv6_with_the_same_number() {
    let one = segment(Flags::ACK);
    let ipv6 = |end: Endpoint| match end.address {
        IpAddr::V4(address) => {
            Endpoint { address: std::net::Ipv6Addr::from(u128::from(address.to_bits())).into(), ..end }
        }
        IpAddr::V6(_) => end,
    };
    let other = Segment { source: ipv6(one.source), destination: ipv6(one.destination), ..one };
    assert_eq!(numbers(&[one, other, turned(one)]), [0, 1, 0]);
}

#[test]
fn a_syn_with_another_number_on_the_same_ports_is_another_connection() {
    let syn = segment(Flags::SYN);
    assert_eq!(numbers(&[syn, syn, Segment { sequence: 9, ..syn }, turned(segment(Flags::ACK))]), [0, 0, 1, 1]);
}

#[test]
fn a_short_connection_takes_little() {
    let mut connections = Connections::default();
    let syn = segment(Flags::SYN);
    let segments = [syn, turned(segment(Flags::SYN | Flags::ACK)), segment(Flags::ACK), segment(Flags::FIN)];
    for segment in &segments {
        let (number, side) = connections.number_of(segment, &|_| true, &|port| port == 3306).unwrap();
        let connection = connections.get_mut(number);
        connection.accept(side, segment, true);
    }
    let kept = connections.get_mut(0).kept_bytes();
    assert!(kept <= 1_400, "{kept}");
}
