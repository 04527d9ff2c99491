//! The process that makes the two namespaces and keeps them as long as latpcap lives.
//!
//! It must be a process of one thread: only such a one may make a user namespace, which is what makes network namespaces
//! without root. Nothing of this is on a disk or has a name: it ends with the last process and file that refer to it.

use std::fs::{File, read_to_string, write};
use std::io::{self, Error, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, configure_capability_in_ambient_set, set_capabilities, unshare_unsafe,
};

use super::handover::{FAILED, LISTEN, READY, hear, tell};
use super::leftover::end_processes_in;
use super::machine::{Machine, without_ip};
use super::routes::{self, DELAYED, DIRECT, Family};
use crate::delay::{LinkError, Tun, packet_socket};

/// What the network needs beside its devices. It is the kernel's own in a namespace until it is set.
const BOTH: [(&str, &str); 4] = [
    ("ipv4/conf/all/rp_filter", "0"),
    // Packets from and to 127.0.0.1 pass the devices, and an answer may come from an address that is local here, too.
    ("ipv4/conf/DEVICE/route_localnet", "1"),
    ("ipv4/conf/DEVICE/accept_local", "1"),
    ("ipv4/conf/DEVICE/rp_filter", "0"),
];
/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// One of the two namespaces.
struct Space {
    namespace: File,
    delayed: Tun,
    direct: Tun,
    loopback: OwnedFd,
    /// Copies of what enters the link.
    copies: OwnedFd,
}

/// Make the namespaces, hand them over through `socket`, and serve until nobody is at its other end.
pub fn keep(socket: &OwnedFd, servers: &[SocketAddr], congestion_control: &str) -> io::Result<()> {
    let spaces = make(servers, congestion_control);
    let (user, [job, far]) = match &spaces {
        Ok((user, spaces)) => (user, spaces),
        Err(why) => return tell(socket, &format!("{FAILED}{why}"), &[]),
    };
    let answers = [packet_socket::sender(DELAYED)?, packet_socket::sender(DIRECT)?];
    let mut files = Vec::new();
    for space in [job, far] {
        files.extend([
            space.namespace.as_fd(),
            space.delayed.as_fd(),
            space.direct.as_fd(),
            space.loopback.as_fd(),
            space.copies.as_fd(),
        ]);
    }
    files.extend(answers.iter().map(AsFd::as_fd));
    files.extend(user.as_ref().map(AsFd::as_fd));
    tell(socket, READY, &files)?;
    let served = serve(socket);
    end_processes_in(&job.namespace);
    served
}

/// Sockets in the far namespace, where this process stays.
fn serve(socket: &OwnedFd) -> io::Result<()> {
    loop {
        let (line, _) = hear(socket)?;
        let Some(port) = line.strip_prefix(LISTEN).and_then(|port| port.parse().ok()) else {
            return Ok(());
        };
        match listen_on(port) {
            Ok(listener) => tell(socket, READY, &[listener.as_fd()])?,
            Err(why) => tell(socket, &format!("{FAILED}{why}"), &[])?,
        }
    }
}

/// The user namespace, where root's rights are lacking; then the job's namespace and the far one.
fn make(servers: &[SocketAddr], congestion_control: &str) -> io::Result<(Option<File>, [Space; 2])> {
    let machine = Machine::look()?;
    let user = enter_new_namespaces()?;
    let job = space(&machine, |family| routes::job(family, servers, &machine, congestion_control))
        .map_err(|why| without(congestion_control, why))?;
    reserve_ports(&machine)?;
    unshare(UnshareFlags::NEWNET)?;
    let far = space(&machine, |family| routes::far(family, congestion_control))?;
    Ok((user, [job, far]))
}

/// A network namespace for this process; where that is not permitted, in a user namespace of its own.
fn enter_new_namespaces() -> io::Result<Option<File>> {
    match unshare(UnshareFlags::NEWNET) {
        Ok(()) => Ok(None),
        Err(Errno::PERM) => {
            let (user, group) = (geteuid().as_raw(), getegid().as_raw());
            unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET).map_err(|why| not_permitted(&why.into()))?;
            // The job keeps its user and group: each is itself in the new namespace.
            write("/proc/self/setgroups", "deny")?;
            write("/proc/self/uid_map", format!("{user} {user} 1")).map_err(|why| not_permitted(&why))?;
            write("/proc/self/gid_map", format!("{group} {group} 1")).map_err(|why| not_permitted(&why))?;
            keep_network_rights().map_err(|why| not_permitted(&why.into()))?;
            Ok(Some(File::open("/proc/self/ns/user")?))
        }
        Err(failed) => Err(failed.into()),
    }
}

fn not_permitted(why: &Error) -> Error {
    let restricted = read_to_string("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
        .is_ok_and(|setting| setting.trim() == "1");
    let cause =
        if restricted { "AppArmor restricts user namespaces here" } else { "user namespaces are not permitted here" };
    Error::new(ErrorKind::PermissionDenied, format!("{cause} ({why}): run it as root, or use the relay"))
}

fn without_tun(why: LinkError) -> Error {
    let advice = match &why {
        LinkError::System { why, .. } if why.kind() == ErrorKind::NotFound => {
            ": `modprobe tun`, for a container `--device /dev/net/tun`; or use the relay"
        }
        LinkError::System { why, .. } if why.kind() == ErrorKind::PermissionDenied => {
            ": run it as root, or `sudo chmod 666 /dev/net/tun`, as most systems have it; or use the relay"
        }
        _ => "",
    };
    Error::other(format!("{why}{advice}"))
}

fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    #[allow(unsafe_code)]
    // SAFETY: file descriptors stay shared, which is what may go wrong.
    unsafe {
        unshare_unsafe(flags)
    }
}

/// The rights over the namespaces' networks, for `ip`, too: a program that is started by another user than root would
/// lose them.
pub fn keep_network_rights() -> Result<(), Errno> {
    let rights = CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW;
    let mut sets = capabilities(None)?;
    sets.inheritable |= rights;
    set_capabilities(None, sets)?;
    rights.iter().try_for_each(|right| configure_capability_in_ambient_set(right, true))
}

fn space(machine: &Machine, routes: impl Fn(Family) -> String) -> io::Result<Space> {
    let namespace = File::open("/proc/self/ns/net")?;
    let open = |name| Tun::open(name).map_err(without_tun);
    let (delayed, direct) = (open(DELAYED)?, open(DIRECT)?);
    for (name, value) in BOTH {
        for device in [DELAYED, DIRECT] {
            set(&name.replace("DEVICE", device), value)?;
        }
    }
    set_tcp(machine)?;
    ip(Family::V4, &routes::devices(machine))?;
    ip(Family::V4, &routes(Family::V4))?;
    if machine.has_ipv6 {
        set("ipv6/conf/all/disable_ipv6", "0")?;
        ip(Family::V6, &routes(Family::V6))?;
    }
    let (loopback, copies) = (packet_socket::sender("lo")?, packet_socket::copies(DELAYED)?);
    Ok(Space { namespace, delayed, direct, loopback, copies })
}

/// TCP as on this machine, but without a memory of earlier runs.
fn set_tcp(machine: &Machine) -> io::Result<()> {
    for (name, value) in &machine.tcp_settings {
        let _ = set(&format!("ipv4/{name}"), value);
    }
    set("ipv4/tcp_no_metrics_save", "1")
}

/// The reason, if it is that this machine has no such congestion control; the kernel has looked for a module by then.
fn without(congestion_control: &str, why: Error) -> Error {
    match read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control") {
        Ok(available) if available.split_whitespace().all(|name| name != congestion_control) => {
            Error::other(format!("no congestion control {congestion_control} here, but {}", available.trim()))
        }
        _ => why,
    }
}

/// What this machine listens on is reached by its port, so the job's own sockets take others.
fn reserve_ports(machine: &Machine) -> io::Result<()> {
    let ports: Vec<String> = machine.tcp.iter().chain(&machine.udp).map(u16::to_string).collect();
    set("ipv4/ip_local_reserved_ports", &ports.join(","))
}

fn set(name: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/{name}");
    write(&path, value).map_err(|why| Error::new(why.kind(), format!("{path} cannot be set: {why}; use the relay")))
}

/// Have `ip` do what these lines say.
fn ip(family: Family, lines: &str) -> io::Result<()> {
    let mut program = Command::new("ip")
        .args([family.option(), "-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(without_ip)?;
    if let Some(mut input) = program.stdin.take() {
        input.write_all(lines.as_bytes())?;
    }
    let output = program.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(Error::other(format!("`ip` cannot set the job's network up: {why}")))
}

/// At any address, of both families where there are two.
fn listen_on(port: u16) -> io::Result<TcpListener> {
    let open = |family| socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None);
    let socket = match open(AddressFamily::INET6) {
        Ok(socket) => {
            sockopt::set_ipv6_v6only(&socket, false)?;
            bind(&socket, &SocketAddr::from((std::net::Ipv6Addr::UNSPECIFIED, port)))?;
            socket
        }
        Err(_) => {
            let socket = open(AddressFamily::INET)?;
            bind(&socket, &SocketAddr::from((std::net::Ipv4Addr::UNSPECIFIED, port)))?;
            socket
        }
    };
    listen(&socket, BACKLOG)?;
    Ok(socket.into())
}
