//! What this machine's own network is like: what a job must find in its own.

use std::fs::read_to_string;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

/// States of sockets as /proc/net has them.
const TCP_LISTENS: &str = "0A";
const UDP_UNCONNECTED: &str = "07";

#[derive(Debug, Default)]
pub struct Machine {
    /// Its own addresses, but for those of its loopback device and those that hold for one link only.
    pub addresses: Vec<IpAddr>,
    /// Ports where something listens on 127.0.0.1 or ::1.
    pub tcp: Vec<u16>,
    pub udp: Vec<u16>,
    pub has_ipv6: bool,
    /// Its TCP settings, by name.
    pub tcp_settings: Vec<(String, String)>,
}

/// What makes TCP as it is on this machine; a namespace begins with the kernel's own.
const TCP_SETTINGS: [&str; 14] = [
    "ip_local_port_range",
    "tcp_adv_win_scale",
    "tcp_autocorking",
    "tcp_early_retrans",
    "tcp_ecn",
    "tcp_limit_output_bytes",
    "tcp_notsent_lowat",
    "tcp_recovery",
    "tcp_rmem",
    "tcp_sack",
    "tcp_slow_start_after_idle",
    "tcp_timestamps",
    "tcp_window_scaling",
    "tcp_wmem",
];

impl Machine {
    pub fn look() -> io::Result<Self> {
        Ok(Self {
            addresses: addresses()?,
            tcp: listening(&["tcp", "tcp6"], TCP_LISTENS),
            udp: listening(&["udp", "udp6"], UDP_UNCONNECTED),
            has_ipv6: Path::new("/proc/net/if_inet6").exists(),
            tcp_settings: TCP_SETTINGS.iter().filter_map(|&name| Some((name.into(), setting(name)?))).collect(),
        })
    }

    /// A loopback address, or one of its own.
    pub fn is_here(&self, address: IpAddr) -> bool {
        address.is_loopback() || self.addresses.contains(&address)
    }

    pub fn has_ipv6_outside(&self) -> bool {
        self.addresses.iter().any(IpAddr::is_ipv6)
    }
}

fn setting(name: &str) -> Option<String> {
    Some(read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok()?.trim().to_owned())
}

fn addresses() -> io::Result<Vec<IpAddr>> {
    let output = Command::new("ip").args(["-brief", "address"]).output().map_err(without_ip)?;
    Ok(own_addresses(&String::from_utf8_lossy(&output.stdout)))
}

/// `eth0 UP 192.0.2.2/24 2001:db8::2/64`, `tun0 UNKNOWN 198.51.100.1 peer 198.51.100.2/32`: that of a peer is another's.
fn own_addresses(table: &str) -> Vec<IpAddr> {
    let words: Vec<&str> = table.split_whitespace().collect();
    let own = words.iter().enumerate().filter(|&(at, _)| at == 0 || words[at - 1] != "peer");
    own.filter_map(|(_, word)| word.split('/').next()?.parse().ok())
        .filter(|address: &IpAddr| !address.is_loopback() && !is_link_local(*address))
        .collect()
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// The one program that this needs.
pub fn without_ip(why: io::Error) -> io::Error {
    match why.kind() {
        io::ErrorKind::NotFound => {
            io::Error::new(why.kind(), "there is no `ip` program: install the package iproute2 (Fedora: iproute)")
        }
        _ => why,
    }
}

fn listening(tables: &[&str], state: &str) -> Vec<u16> {
    let texts = tables.iter().filter_map(|table| read_to_string(format!("/proc/net/{table}")).ok());
    let mut ports: Vec<u16> = texts.flat_map(|text| on_loopback(&text, state)).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// The ports of those sockets in a table of /proc/net that are in this state and take what goes to the loopback device.
fn on_loopback(table: &str, state: &str) -> Vec<u16> {
    table
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (local, found) = (words.nth(1)?, words.nth(1)?);
            let socket = socket(local)?;
            let taken = socket.ip().is_loopback() || socket.ip().is_unspecified();
            (found == state && taken && socket.port() != 0).then_some(socket.port())
        })
        .collect()
}

/// `0100007F:1538`: words of 32 bits in this machine's byte order, the port as a number.
fn socket(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| Some(u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok()?.to_ne_bytes());
    let address = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let bytes: Vec<u8> = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
            Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000   100
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0
   2: 0100007F:9999 0100007F:1538 01 00000000:00000000 00:00000000 00000000     0
   3: 0200A8C0:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0
";
    const TCP6: &str = "   0: 00000000000000000000000001000000:1539 00000000000000000000000000000000:0000 0A 0
   1: 00000000000000000000000000000000:0CEA 00000000000000000000000000000000:0000 0A 0
   2: 0000000000000000FFFF00000100007F:0CEB 00000000000000000000000000000000:0000 0A 0
";

    #[test]
    fn addresses_that_others_reach_are_this_machine_s() {
        let table = "lo UNKNOWN 127.0.0.1/8 ::1/128\neth0 UP 192.0.2.2/24 2001:db8::2/64 fe80::1/64\n\
                     tun0 UNKNOWN 198.51.100.1 peer 198.51.100.2/32\n";
        let own: Vec<String> = own_addresses(table).iter().map(IpAddr::to_string).collect();
        assert_eq!(own, ["192.0.2.2", "2001:db8::2", "198.51.100.1"]);
    }

    #[test]
    fn what_listens_on_the_loopback_device_or_everywhere_is_found() {
        assert_eq!(on_loopback(TCP, TCP_LISTENS), [5432, 22]);
        assert_eq!(on_loopback(TCP6, TCP_LISTENS), [5433, 3306, 3307]);
        assert!(on_loopback("nonsense : 0A\n 0: 12:34 x 0A", TCP_LISTENS).is_empty());
    }
}
