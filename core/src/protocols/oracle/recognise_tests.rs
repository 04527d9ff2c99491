use super::*;

fn verdict(client: &[u8]) -> Verdict {
    recognise(&Opening { client, server: &[], first: crate::side::Side::Client, from_start: false })
}

#[test]
fn calls_are_recognised_in_both_forms() {
    assert_eq!(verdict(b"\0\0\0\x0d\x06\0\0\0\0\0\x03\x0e\x05"), Verdict::Certain);
    assert_eq!(verdict(b"\0\x0d\0\0\x06\0\0\0\0\0\x03\x0e\x05"), Verdict::Certain);
}

#[test]
fn other_protocols_are_not_claimed() {
    let others: [&[u8]; 11] = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"*1\r\n$4\r\nPING\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x0e\0\0\0\x03select 1 + 1",
        b"Q\0\0\0\x0dselect 1\0",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"\x12\x01\x00\x2f\x00\x00\x01\x00\x00\x00\x1a",
        b"\x3f\0\0\0\x06\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0",
        b"\0\0\0\x13\0\0\0\0\0\0\0\x04test",
        b"\0\0\0\x01\0\0\0\x13\0\0\0\x02\0\0\0\x22/db/test.fdb",
    ];
    for other in others {
        assert_eq!(verdict(other), Verdict::NotThis, "{other:02x?}");
    }
}

#[test]
fn a_packet_with_anything_behind_it_is_no_proof() {
    assert_eq!(verdict(b"\0\0\0\x0d\x06\0\0\0\0\0\x03\x0e\x05GET / HTTP/1.1"), Verdict::NotThis);
}
