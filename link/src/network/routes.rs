//! The two namespaces in the words of `ip`.
//!
//! Their addresses are those that RFC 2544 and RFC 5180 set aside for measurements, so that they are nobody's.

use std::net::{IpAddr, SocketAddr};

use super::machine::Machine;

pub const DELAYED: &str = "delayed";
pub const DIRECT: &str = "direct";

/// By each of the two ways the job has an address of its own, so that answers come back by the way of the question.
const JOB: [[&str; 2]; 2] = [["198.18.0.1", "198.18.0.2"], ["2001:2::1", "2001:2::2"]];
/// Routing tables of the job.
const DELAYED_TABLE: u8 = 100;
const DIRECT_TABLE: u8 = 101;
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1"];

/// As on a wire; by the direct way the fewer packets the better.
const DELAYED_MTU: u32 = 1500;
const DIRECT_MTU: u32 = 65_535;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

impl Family {
    pub fn option(self) -> &'static str {
        ["-4", "-6"][self as usize]
    }

    fn of(self, address: IpAddr) -> bool {
        address.is_ipv6() == (self == Self::V6)
    }
}

/// Both devices, before they have addresses. Nothing but the job itself may send: no router is asked for, no group joined.
pub fn devices(machine: &Machine) -> String {
    let no_address = if machine.has_ipv6 { " addrgenmode none" } else { "" };
    let device = |name: &str, mtu| {
        format!("link set {name} mtu {mtu} txqueuelen 20000 multicast off{no_address}\nlink set {name} up\n")
    };
    format!("link set lo up\n{}{}", device(DELAYED, DELAYED_MTU), device(DIRECT, DIRECT_MTU))
}

/// The job's namespace: servers by the delayed way, all else by the direct, this machine's loopback ports among it.
///
/// Each route names the congestion control of connections along it: a namespace's own setting takes only what the host
/// allows its ordinary users, a route whatever the host has.
pub fn job(family: Family, servers: &[SocketAddr], machine: &Machine, congestion_control: &str) -> String {
    let [delayed, direct] = JOB[family as usize];
    let loopback = LOOPBACK[family as usize];
    let (length, nodad) = if family == Family::V6 { (128, " nodad") } else { (32, "") };
    let mut lines = vec![
        format!("address add {delayed}/{length} dev {DELAYED}{nodad}"),
        format!("address add {direct}/{length} dev {DIRECT}{nodad}"),
        format!("route add default dev {DELAYED} src {delayed} table {DELAYED_TABLE} congctl {congestion_control}"),
        format!("route add default dev {DIRECT} src {direct} table {DIRECT_TABLE} congctl {congestion_control}"),
        // What is local is looked up after the rules below.
        "rule add pref 32765 lookup local".into(),
        "rule del pref 0".into(),
    ];
    if family == Family::V4 || machine.has_ipv6_outside() {
        lines.push(format!("route add default dev {DIRECT} src {direct} congctl {congestion_control}"));
    }
    let rule = |pref: u32, to: &str, protocol: &str, port: u16, table: u8| {
        format!("rule add pref {pref} iif lo to {to} ipproto {protocol} dport {port} lookup {table}")
    };
    for (address, port) in destinations(family, servers, machine) {
        lines.push(rule(10, &address, "tcp", port, DELAYED_TABLE));
    }
    for (protocol, ports) in [("tcp", &machine.tcp), ("udp", &machine.udp)] {
        lines.extend(ports.iter().map(|&port| rule(20, loopback, protocol, port, DIRECT_TABLE)));
    }
    lines.join("\n") + "\n"
}

/// The far namespace: whatever it is sent is for itself, but for what goes back to the job.
pub fn far(family: Family, congestion_control: &str) -> String {
    let [delayed, direct] = JOB[family as usize];
    format!(
        "route add {delayed} dev {DELAYED} table main congctl {congestion_control}\n\
         route add {direct} dev {DIRECT} table main congctl {congestion_control}\n\
         route add local default dev lo table main\n"
    )
}

/// A server of this machine can be reached by any of its addresses.
fn destinations(family: Family, servers: &[SocketAddr], machine: &Machine) -> Vec<(String, u16)> {
    let mut found = Vec::new();
    for server in servers {
        if machine.is_here(server.ip()) {
            found.push((LOOPBACK[family as usize].to_owned(), server.port()));
            let own = machine.addresses.iter().filter(|&&address| family.of(address));
            found.extend(own.map(|address| (address.to_string(), server.port())));
        } else if family.of(server.ip()) {
            found.push((server.ip().to_string(), server.port()));
        }
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        let addresses = ["192.0.2.1", "2001:db8::1"].map(|address| address.parse().expect("an address"));
        Machine {
            addresses: addresses.into(),
            tcp: vec![5432, 6379],
            udp: vec![53],
            has_ipv6: true,
            ..Default::default()
        }
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
}
