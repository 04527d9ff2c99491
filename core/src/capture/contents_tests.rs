use std::io::Write;

use super::*;

/// FIPS 180-4's example.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn what_passes_is_told_when_its_end_is_read() {
    let passed = Passed::default();
    let mut reader = Hashed::new(&b"abc"[..], &passed);
    reader.read_exact(&mut [0; 3]).unwrap();
    assert_eq!(passed.get(), None);
    assert_eq!(reader.read(&mut [0; 3]).unwrap(), 0);
    assert_eq!(passed.get(), Some(&Contents { bytes: 3, sha256: ABC.to_owned() }));
}

#[test]
fn a_file_is_read_when_somebody_asks_and_not_told_when_it_has_changed() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"abc").unwrap();
    let origin = Origin::file(file.path().to_owned(), &file.as_file().metadata().unwrap());
    assert_eq!(origin.contents(|| true).unwrap(), Contents { bytes: 3, sha256: ABC.to_owned() });
    assert_eq!(origin.contents(|| false), None);
    let found = origin.contents(|| true);
    assert_eq!(origin.still(found.clone()), found);
    file.write_all(b"d").unwrap();
    assert_eq!((origin.contents(|| true), origin.still(found)), (None, None));
}
