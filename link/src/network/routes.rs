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
#[path = "routes_tests.rs"]
mod tests;
