use super::super::tests::Made;
use super::*;

const MS: i64 = 1_000_000;

/// One connection whose SYN and SYN/ACK passed then; the server is 10 ms beyond the capture point.
fn begun(syn_ns: Option<i64>, syn_ack_ns: Option<i64>, first_ns: i64) -> (Option<i64>, Option<i64>) {
    let beginning = Beginning { syn_ns, syn_ack_ns, ..Beginning::default() }.completed(10 * MS, first_ns);
    (beginning.syn_ns, beginning.syn_ack_ns)
}

#[test]
fn one_packet_of_a_handshake_shows_the_other() {
    let captured = (Some(0), Some(12 * MS));
    assert_eq!(begun(captured.0, captured.1, 13 * MS), captured, "what was captured stays");
    assert_eq!(begun(None, Some(0), 13 * MS), (Some(-10 * MS), Some(0)), "before the first packet");
    assert_eq!(begun(Some(0), None, 13 * MS), (Some(0), Some(10 * MS)));
    assert_eq!(begun(Some(0), None, 4 * MS), (Some(0), Some(4 * MS)), "before the first exchange");
    assert_eq!(begun(Some(0), None, -MS), (Some(0), Some(0)), "of a clock that was set back");
    assert_eq!(begun(Some(0), None, UNSEEN), (Some(0), None), "nobody said anything");
    assert_eq!(begun(None, None, MS), (None, None));
}

#[test]
fn a_client_that_logs_in_first_was_greeted_before_where_servers_speak_first() {
    let greeted = |protocol: &str, lost_bytes: u64, is_asked_first: bool| {
        let of =
            DatabaseConnection { syn_ns: Some(0), syn_ack_ns: Some(MS), lost_bytes, ..DatabaseConnection::default() };
        let mut connections = DatabaseConnections::default();
        (connections.all, connections.protocols) = (vec![of], vec![protocol.to_owned()]);
        let login = Login { is_asked_first, ..Login::default() };
        completed(&connections, &[0], &Made::with(1, MS as f64).phases, &[login])[0].is_greeted
    };
    assert!(greeted("mysql", 1, true));
    assert!(!greeted("mysql", 0, true), "nothing is missing");
    assert!(!greeted("mysql", 1, false), "the client begins with something else");
    assert!(!greeted("postgresql", 1, true));
    assert!(!greeted("tls", 1, true), "no protocol that is known");
}
