use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::*;

fn packed(texts: &[&[u8]]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    for text in texts {
        encoder.write_all(text).unwrap();
        encoder.flush().unwrap();
    }
    encoder.get_ref().clone()
}

#[test]
fn any_cut_gives_the_same_bytes() {
    let text = b"select 1 from rdb$database ".repeat(5000);
    let stream = packed(&[b"hello", &text, b"bye"]);
    for cut in [1, 7, 1460, stream.len()] {
        let (mut layer, mut plain) = (Deflate::default(), Vec::new());
        stream.chunks(cut).for_each(|part| layer.unwrap(part, &mut plain).unwrap());
        assert_eq!(plain, [b"hello", &text[..], b"bye"].concat());
    }
}

#[test]
fn damage_and_loss_end_the_stream() {
    let mut layer = Deflate::default();
    assert!(layer.unwrap(b"no zlib at all", &mut Vec::new()).is_err());
    let mut layer = Deflate::default();
    layer.reset();
    assert!(layer.unwrap(&packed(&[b"hello"]), &mut Vec::new()).is_err());
}
