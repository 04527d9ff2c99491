use std::io::Read;
use std::net::TcpListener;

use super::*;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a listener");
    let ours = begin(listener.local_addr().expect("its address")).expect("a connection");
    (decided(ours).expect("accepted"), listener.accept().expect("a connection").0)
}

fn connection() -> (TcpStream, Connection, TcpStream) {
    let ((far, job), (ours, server)) = (pair(), pair());
    let flow = Flow { client: job.peer_addr().expect("an address"), server: ours.peer_addr().expect("an address") };
    job.set_nonblocking(false).expect("set");
    far.set_nonblocking(false).expect("set");
    (far, Connection::new(1, flow, job, ours).expect("a connection"), server)
}

#[test]
fn bytes_and_ends_are_passed_on() {
    let (mut job, connection, mut server) = connection();
    let mut buffer = vec![0; PIECE_BYTES];
    job.write_all(b"question").expect("sent");
    job.shutdown(Shutdown::Write).expect("shut down");
    while connection.pass(Way::There, &mut buffer).expect("passed") != Passed::Nothing {}
    let mut read = String::new();
    server.read_to_string(&mut read).expect("read");
    assert_eq!(read, "question");
    assert!(!connection.is_over());
    drop(server);
    while connection.pass(Way::Back, &mut buffer).expect("passed") != Passed::Nothing {}
    assert!(connection.is_over());
    assert_eq!(job.read(&mut buffer).expect("read"), 0);
}

#[test]
fn a_reset_is_passed_on_as_a_reset() {
    let (mut job, connection, server) = connection();
    let mut buffer = vec![0; PIECE_BYTES];
    SockRef::from(&server).set_linger(Some(Duration::ZERO)).expect("set");
    drop(server);
    assert!(connection.pass(Way::Back, &mut buffer).is_err());
    connection.reset();
    job.write_all(b"question").expect("sent");
    for way in [Way::Back, Way::There] {
        assert_eq!(connection.pass(way, &mut buffer).expect("passed"), Passed::Nothing);
    }
    job.set_nonblocking(true).expect("set");
    assert_eq!(job.read(&mut buffer).expect_err("no end").kind(), ErrorKind::WouldBlock);
    drop(connection);
    job.set_nonblocking(false).expect("set");
    assert_eq!(job.read(&mut buffer).expect_err("a reset").kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_reset_drops_what_could_not_be_written() {
    let (_job, connection, mut server) = connection();
    let mut buffer = vec![0; PIECE_BYTES];
    server.set_nonblocking(true).expect("set");
    while server.write(&buffer).is_ok() {
        while connection.pass(Way::Back, &mut buffer).expect("passed") != Passed::Nothing {}
    }
    assert!(connection.is_blocked(Way::Back));
    connection.reset();
    assert!(connection.is_over() && !connection.is_blocked(Way::Back));
}

/// Linux switches its stamps on a little after the first socket has asked for them: until then none is older than the read.
#[test]
fn an_answer_has_waited_since_the_kernel_had_it() {
    let (_job, connection, mut server) = connection();
    let mut buffer = vec![0; PIECE_BYTES];
    let mut waited_in_the_kernel = || {
        server.write_all(b"answer").expect("sent");
        std::thread::sleep(Duration::from_millis(20));
        let Passed::Piece(waited) = connection.pass(Way::Back, &mut buffer).expect("passed") else { panic!("nothing") };
        assert!(waited <= connection.opened.elapsed());
        waited >= Duration::from_millis(20)
    };
    assert!((0..50).any(|_| waited_in_the_kernel()));
}

#[test]
fn questions_and_answers_are_no_bulk_transfer_however_fast() {
    let (job, connection, server) = connection();
    let (mut buffer, mut message) = (vec![0; PIECE_BYTES], vec![1; MAX_BURST_BYTES / 8]);
    for _ in 0..64 {
        for (way, mut from, mut to) in [(Way::There, &job, &server), (Way::Back, &server, &job)] {
            from.write_all(&message).expect("sent");
            while connection.pass(way, &mut buffer).expect("passed") != Passed::Nothing {}
            to.read_exact(&mut message).expect("read");
            assert!(!connection.wants_help(way));
        }
    }
}

#[test]
fn what_cannot_be_written_waits() {
    let (mut job, connection, mut server) = connection();
    let mut buffer = vec![0; PIECE_BYTES];
    server.set_nonblocking(true).expect("set");
    let mut sent = 0;
    while let Ok(bytes) = server.write(&buffer) {
        sent += bytes;
        while connection.pass(Way::Back, &mut buffer).expect("passed") != Passed::Nothing {}
    }
    assert!(
        connection.is_blocked(Way::Back) && connection.wants_help(Way::Back) && connection.leave_to_helper(Way::Back)
    );
    drop(server);
    let reader = std::thread::spawn(move || job.read_to_end(&mut Vec::new()).expect("read"));
    let mut all = vec![0; PIECE_BYTES];
    while !reader.is_finished() {
        connection.pass(Way::Back, &mut all).expect("passed");
    }
    assert_eq!(reader.join().expect("read"), sent);
    assert!(connection.end_help(Way::Back), "something has come meanwhile");
}
