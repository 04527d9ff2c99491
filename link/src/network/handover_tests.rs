use std::io::{Read, Write, pipe};
use std::os::fd::AsFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::*;

fn pair() -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a pair of sockets")
}

#[test]
fn a_line_brings_its_files() {
    let (ours, theirs) = pair();
    let (mut reader, writer) = pipe().expect("a pipe");
    tell(&theirs, READY, &[writer.as_fd()]).expect("sent");
    drop(writer);
    let files = Keeper::new(ours).files().expect("files");
    std::fs::File::from(files.into_iter().next().expect("a file")).write_all(b"written").expect("written");
    let mut read = String::new();
    reader.read_to_string(&mut read).expect("read");
    assert_eq!(read, "written");
}

#[test]
fn a_failure_is_told_in_its_own_words() {
    let (ours, theirs) = pair();
    tell(&theirs, "failed because of it", &[]).expect("sent");
    assert_eq!(Keeper::new(ours).files().expect_err("a failure").to_string(), "because of it");
}

#[test]
fn a_keeper_that_is_gone_is_missed() {
    let (ours, theirs) = pair();
    drop(theirs);
    assert!(Keeper::new(ours).files().expect_err("a failure").to_string().contains("has ended"));
}
