use etherparse::{SlicedPacket, TransportSlice};

use super::*;

const CLIENT: u16 = 40_000;

#[derive(Default)]
struct Kept(Vec<Vec<u8>>);

impl Sink for Kept {
    fn packet(&mut self, length: usize, write: impl FnOnce(&mut Vec<u8>, u32)) {
        let mut block = Vec::new();
        write(&mut block, 0);
        assert_eq!(block.len(), length);
        let captured = u32::from_le_bytes(block[20..24].try_into().unwrap()) as usize;
        self.0.push(block[28..28 + captured].to_vec());
    }
}

/// What a packet library reads of each packet, relative numbers; it checks the lengths, and here the checksums.
fn read(packets: &Kept) -> Vec<(u32, u32, String, usize)> {
    let each = |bytes: &Vec<u8>| {
        let packet = SlicedPacket::from_ip(bytes).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = packet.transport else { panic!("no TCP") };
        let header = tcp.to_header();
        let net = packet.net.unwrap();
        let sum = match &net {
            etherparse::NetSlice::Ipv4(ip) => {
                assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
                header.calc_checksum_ipv4(&ip.header().to_header(), tcp.payload()).unwrap()
            }
            etherparse::NetSlice::Ipv6(ip) => {
                header.calc_checksum_ipv6(&ip.header().to_header(), tcp.payload()).unwrap()
            }
            _ => panic!("no IP"),
        };
        assert_eq!(header.checksum, sum);
        let flags = [(header.syn, 'S'), (header.fin, 'F'), (header.rst, 'R'), (header.psh, 'P'), (header.ack, 'A')];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name).collect();
        let servers = SPREAD.wrapping_neg();
        let first = if header.source_port == CLIENT { [0, servers] } else { [servers, 0] };
        let acknowledged = if header.ack { header.acknowledgment_number.wrapping_sub(first[1]) } else { 0 };
        (header.sequence_number.wrapping_sub(first[0]), acknowledged, flags, tcp.payload().len())
    };
    packets.0.iter().map(each).collect()
}

fn whole(client: &str, server: &str) -> Vec<(u32, u32, String, usize)> {
    let mut packets = Packets::new(0, client.parse().unwrap(), server.parse().unwrap());
    let mut kept = Kept::default();
    packets.syn(&mut kept, 1, 1460);
    packets.established(&mut kept, 2, 1460, 3);
    packets.data(&mut kept, 3, Side::Client, 0, b"abcde");
    packets.data(&mut kept, 4, Side::Server, 5, b"xyz");
    packets.fin(&mut kept, 5, Side::Client, 3);
    packets.fin(&mut kept, 6, Side::Server, 6);
    read(&kept)
}

#[test]
fn a_packet_library_reads_what_was_written_and_finds_the_checksums_right() {
    let row = |sequence, acknowledgment, flags: &str, length| (sequence, acknowledgment, flags.to_owned(), length);
    let expected = [
        row(0, 0, "S", 0),
        row(0, 1, "SA", 0),
        row(1, 1, "A", 0),
        row(1, 1, "A", 3),
        row(4, 1, "PA", 2),
        row(1, 6, "PA", 3),
        row(6, 4, "FA", 0),
        row(4, 7, "FA", 0),
    ];
    assert_eq!(whole("127.0.0.1:40000", "10.0.0.5:5432"), expected);
    assert_eq!(whole("[::1]:40000", "[fd00::5]:5432"), expected);
}

#[test]
fn the_longest_segment_fits_its_length_field() {
    let mut packets = Packets::new(0, "10.0.0.1:40000".parse().unwrap(), "10.0.0.2:2".parse().unwrap());
    let mut kept = Kept::default();
    packets.data(&mut kept, 0, Side::Server, 0, &[7; MAX_PAYLOAD_BYTES + 1]);
    assert_eq!(read(&kept).iter().map(|packet| packet.3).collect::<Vec<_>>(), [MAX_PAYLOAD_BYTES, 1]);
}

#[test]
fn a_refusal_acknowledges_the_syn() {
    let mut packets = Packets::new(0, "10.0.0.1:40000".parse().unwrap(), "10.0.0.2:2".parse().unwrap());
    let mut kept = Kept::default();
    packets.syn(&mut kept, 1, 1460);
    packets.refused(&mut kept, 2);
    assert_eq!(read(&kept)[1], (0, 1, "RA".to_owned(), 0));
}
