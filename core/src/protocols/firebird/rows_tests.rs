use super::*;

/// integer, varchar(10), blob
const BLR: &[u8] = &[5, 2, 4, 0, 6, 0, 8, 0, 7, 0, 37, 10, 0, 7, 0, 17, 0, 0, 0, 0, 7, 0, 0xff, 0x4c];

fn length(format: &Format, packed: bool, bytes: &[u8]) -> Result<usize, Stop> {
    let mut wire = Wire::new(bytes);
    format.row(packed, &mut wire, &Progress::default()).map(|()| wire.position())
}

#[test]
fn blr_tells_the_columns_and_that_one_is_a_blob() {
    let format = Format::of_rows(BLR).unwrap();
    assert_eq!(format.shapes, [Shape::Fixed(4), Shape::Varying(10), Shape::Fixed(8)]);
    assert!(format.has_blobs);
    assert_eq!(Format::of_rows(b"\x05\x02\x04\0\x02\0\xee\0\x07\0\xff\x4c"), None);
}

#[test]
fn a_packed_row_leaves_its_nulls_out() {
    let format = Format::of_rows(BLR).unwrap();
    let row = [0b101, 0, 0, 0, 0, 0, 0, 3, b'a', b'b', b'c', 0, 0xee];
    assert_eq!(length(&format, true, &row), Ok(12));
    assert_eq!(length(&format, true, &row[..6]), Err(Stop::Need(8)));
}

#[test]
fn a_plain_row_sends_its_nulls_and_says_so_after_each() {
    let format = Format::of_rows(BLR).unwrap();
    let mut row = vec![0, 0, 0, 7, 0, 0, 0, 0];
    row.extend([0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    row.extend([0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0]);
    assert_eq!(length(&format, false, &row), Ok(28));
    row[4] = 7;
    assert!(matches!(length(&format, false, &row), Err(Stop::Lost(_))));
}

#[test]
fn an_array_is_as_long_as_its_elements() {
    let longs = [1, 6, 1, 8, 0, 2];
    let mut wire = Wire::new(&[0; 100]);
    slice(&longs, 12, &mut wire, &Progress::default()).unwrap();
    assert_eq!(wire.position(), 12);
    let shorts = [1, 6, 1, 7, 0, 2];
    slice(&shorts, 6, &mut wire, &Progress::default()).unwrap();
    assert_eq!(wire.position(), 24);
    assert!(slice(b"what", 4, &mut wire, &Progress::default()).is_err());
}
