use super::*;

fn machine() -> Machine {
    let addresses = ["192.0.2.1", "2001:db8::1"].map(|address| address.parse().expect("an address"));
    Machine { addresses: addresses.into(), tcp: vec![5432, 6379], udp: vec![53], has_ipv6: true, ..Default::default() }
}

fn rules(family: Family, server: &str) -> Vec<String> {
    let server: SocketAddr = server.parse().expect("an address");
    let job = job(family, &[server], &machine(), "reno");
    job.lines().filter(|line| line.starts_with("rule add pref 10 ")).map(str::to_owned).collect()
}

#[test]
fn a_server_of_this_machine_is_delayed_by_whatever_name() {
    let all = |family, addresses: [&str; 2]| {
        for server in ["127.0.0.1:5432", "[::1]:5432", "192.0.2.1:5432", "[2001:db8::1]:5432"] {
            let expected =
                addresses.map(|to| format!("rule add pref 10 iif lo to {to} ipproto tcp dport 5432 lookup 100"));
            assert_eq!(rules(family, server), expected);
        }
    };
    all(Family::V4, ["127.0.0.0/8", "192.0.2.1"]);
    all(Family::V6, ["2001:db8::1", "::1"]);
}

#[test]
fn a_server_elsewhere_is_delayed_by_its_address() {
    let expected = ["rule add pref 10 iif lo to 203.0.113.5 ipproto tcp dport 3306 lookup 100"];
    assert_eq!(rules(Family::V4, "203.0.113.5:3306"), expected);
    assert_eq!(rules(Family::V6, "203.0.113.5:3306"), [""; 0]);
}

#[test]
fn what_listens_here_is_reached_by_the_direct_way() {
    let job = job(Family::V4, &[], &machine(), "reno");
    for rule in ["tcp dport 5432", "tcp dport 6379", "udp dport 53"] {
        assert!(job.contains(&format!("rule add pref 20 iif lo to 127.0.0.0/8 ipproto {rule} lookup 101\n")));
    }
}

#[test]
fn without_ipv6_outside_there_is_none_in_the_job() {
    let machine = Machine { addresses: vec!["192.0.2.1".parse().expect("an address")], ..Default::default() };
    assert!(!job(Family::V6, &[], &machine, "reno").contains("route add default dev direct src 2001:2::2 congctl"));
    assert!(job(Family::V4, &[], &machine, "reno").contains("route add default dev direct src 198.18.0.2 congctl"));
}
