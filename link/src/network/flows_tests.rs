use std::net::TcpListener;

use super::*;

const FAR: Duration = Duration::from_millis(5);

fn flow() -> Flow {
    let address = "10.0.0.1:1".parse().expect("an address");
    Flow { client: address, server: address }
}

fn syn() -> Syn {
    Syn { packet: b"SYN".into(), path: Path::Delayed, arrived: Instant::now() }
}

fn accepted() -> Decision {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a listener");
    let server = TcpStream::connect(listener.local_addr().expect("its address"));
    Decision { server, distance: FAR }
}

fn refused() -> Decision {
    Decision { server: Err(io::ErrorKind::ConnectionRefused.into()), distance: FAR }
}

#[test]
fn a_syn_waits_for_the_server_and_its_copies_with_it() {
    let flows = Flows::default();
    assert!(flows.enter(flow()) && !flows.enter(flow()));
    assert!(matches!(flows.arrive(flow(), syn()), Verdict::Wait));
    assert!(matches!(flows.arrive(flow(), syn()), Verdict::Wait));
    let (waiting, verdict) = flows.decide(flow(), accepted()).expect("a SYN");
    assert_eq!(waiting.packet, b"SYN");
    assert!(matches!(verdict, Verdict::Pass(FAR)));
    assert!(matches!(flows.arrive(flow(), syn()), Verdict::Pass(Duration::ZERO)), "a copy");
}

#[test]
fn a_server_that_accepts_meanwhile_adds_its_distance_once() {
    let flows = Flows::default();
    flows.enter(flow());
    assert!(flows.decide(flow(), accepted()).is_none(), "the SYN is still on the link");
    assert!(matches!(flows.arrive(flow(), syn()), Verdict::Pass(FAR)));
    assert!(matches!(flows.arrive(flow(), syn()), Verdict::Pass(Duration::ZERO)), "a copy");
    assert!(flows.take_server(flow()).is_some() && flows.take_server(flow()).is_none());
}

#[test]
fn a_refusal_waits_for_the_syn() {
    let flows = Flows::default();
    flows.enter(flow());
    assert!(flows.decide(flow(), refused()).is_none());
    assert!(
        matches!(flows.arrive(flow(), syn()), Verdict::Refuse(why, FAR) if why.kind() == io::ErrorKind::ConnectionRefused)
    );
    assert!(matches!(flows.arrive(flow(), syn()), Verdict::Begin), "the next one asks again");
    assert!(matches!(flows.decide(flow(), refused()), Some((_, Verdict::Refuse(_, FAR)))));
    assert!(flows.enter(flow()));
}

#[test]
fn an_opening_that_is_over_does_not_end_a_later_one_of_the_same_port() {
    let flows = Flows::default();
    flows.enter(flow());
    flows.decide(flow(), accepted());
    assert!(flows.take_server(flow()).is_some());
    flows.forget(flow());
    assert!(flows.enter(flow()));
    assert!(flows.take_server(flow()).is_none(), "the server has not decided yet");
    assert!(flows.decide(flow(), accepted()).is_none());
    assert!(flows.decide(flow(), refused()).is_none(), "a decision that comes late");
    assert!(matches!(flows.stage(flow()), Stage::Handshake));
    assert!(flows.take_server(flow()).is_some());
    assert!(flows.decide(flow(), accepted()).is_none() && flows.take_server(flow()).is_none(), "nobody has asked");
}

#[test]
fn a_handshake_that_does_not_end_is_given_up() {
    let flows = Flows::default();
    flows.enter(flow());
    flows.decide(flow(), accepted());
    flows.give_up(Instant::now());
    assert!(matches!(flows.stage(flow()), Stage::Handshake));
    flows.give_up(Instant::now() + MAX_HANDSHAKE);
    assert!(matches!(flows.stage(flow()), Stage::Unknown));
}
