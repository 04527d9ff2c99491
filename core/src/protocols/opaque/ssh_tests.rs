use super::*;
use crate::session::Session;
use crate::sql::Statements;
use Side::{Client, Server};

fn packet(message: u8, length: usize) -> Vec<u8> {
    let mut bytes = ((length - 4) as u32).to_be_bytes().to_vec();
    bytes.extend([6, message]);
    bytes.resize(length, 0);
    bytes
}

/// What a stream's turns are, told by the command of each; `greeting` where the server speaks first.
fn turns(parts: &[(Side, Vec<u8>)]) -> Vec<&'static str> {
    let (mut ssh, mut told) = (Ssh::new(), Vec::new());
    let (mut session, mut statements) = (Session::default(), Statements::new(false));
    for (side, bytes) in parts {
        let mut at = 0;
        while at < bytes.len() {
            let Frame::Message { head, length } = ssh.frame(*side, &bytes[at..]).unwrap() else { break };
            assert!(1 <= head && head as u64 <= length);
            let kept = &bytes[at..bytes.len().min(at + head)];
            let message = Message { side: *side, bytes: kept, length, cut: kept.len() < head };
            let mut context = Context { session: &mut session, statements: &mut statements, switch: None };
            match ssh.message(&message, &mut context).unwrap() {
                Meaning::Turn(request) => told.push(request.command),
                Meaning::Greeting(_) => told.push("greeting"),
                _ => {}
            }
            at += length as usize;
        }
    }
    told
}

fn dialogue() -> Vec<(Side, Vec<u8>)> {
    vec![
        (Client, b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec()),
        (Server, [b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec(), packet(20, 1080)].concat()),
        (Client, [packet(20, 1500), packet(30, 1208)].concat()),
        (Server, [packet(31, 1500), packet(NEWKEYS, 16), vec![9; 300]].concat()),
        (Client, [packet(NEWKEYS, 16), vec![9; 44]].concat()),
        (Server, vec![9; 44]), // SERVICE_ACCEPT
        (Client, vec![9; 60]),
        (Server, vec![9; 76]), // USERAUTH_FAILURE
        (Client, vec![9; 308]),
        (Server, vec![9; 28]), // USERAUTH_SUCCESS
        (Client, vec![9; 92]),
        (Server, vec![9; 44]),
    ]
}

#[test]
fn key_exchange_and_login_are_set_up() {
    assert_eq!(turns(&dialogue()), ["ssh", "ssh", "ssh", "ssh", "ssh", "unreadable"]);
}

#[test]
fn a_server_may_speak_first_and_say_other_lines() {
    let parts = vec![(Server, b"welcome\r\nSSH-2.0-x\r\n".to_vec()), (Client, b"SSH-2.0-y\r\n".to_vec())];
    assert_eq!(turns(&parts), ["greeting", "ssh"]);
}

#[test]
fn a_login_without_a_sign_of_success_does_not_go_on_for_ever() {
    let mut parts = dialogue();
    parts.truncate(6);
    (0..20).for_each(|_| parts.extend([(Client, vec![9; 60]), (Server, vec![9; 76])]));
    let told = turns(&parts);
    assert_eq!(told.iter().filter(|command| **command == "ssh").count(), 3 + ATTEMPTS as usize);
    assert_eq!(told.last(), Some(&"unreadable"));
}

proptest::proptest! {
    #[test]
    fn whatever_comes_has_a_length(parts in proptest::collection::vec(
        (proptest::bool::ANY, proptest::collection::vec(proptest::num::u8::ANY, 1..40)), 0..20)
    ) {
        let side = |client| if client { Client } else { Server };
        let mut dialogue: Vec<_> = dialogue().into_iter().take(parts.len() % 6).collect();
        dialogue.extend(parts.iter().map(|(client, bytes)| (side(*client), bytes.clone())));
        turns(&dialogue);
    }
}

#[test]
fn what_only_begins_like_ssh_is_turns() {
    let parts = vec![
        (Client, b"SSH-2.0-x\n".to_vec()),
        (Server, vec![b'x'; 4_000]),
        (Client, vec![0xff; 60]),
        (Server, vec![7; 60]),
        (Client, vec![0xff; 60]),
    ];
    assert_eq!(turns(&parts), ["ssh", "ssh", "ssh"]);
}
