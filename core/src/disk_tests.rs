use super::*;

fn room(bytes: u64) -> Option<Room> {
    Some(Room { folder: std::env::temp_dir(), bytes })
}

#[test]
fn what_was_kept_is_read_back_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut kept = Overflow::within(Some(Room { folder: folder.path().into(), bytes: 1_000 }));
    assert_eq!([kept.keep(b"first"), kept.keep(b"second")], [Some(0), Some(5)]);
    assert_eq!(kept.read(5, 6).unwrap(), b"second");
    assert_eq!(kept.read(2, 3).unwrap(), b"rst");
    #[cfg(unix)]
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn beyond_the_room_nothing_is_kept_and_why_is_said() {
    let mut kept = Overflow::within(room(10));
    let mut keep = |bytes: &[u8]| kept.keep(bytes);
    assert_eq!([keep(b"seven b"), keep(b"four"), keep(b"1")], [Some(0), None, None]);
    assert_eq!(kept.refusal(), Some("10 bytes of disk are used"));
    assert!(!kept.takes());
}

#[test]
fn without_a_folder_nothing_is_kept() {
    let folder = std::env::temp_dir().join("latpcap-no-such-folder");
    let mut kept = Overflow::within(Some(Room { folder, bytes: 1_000 }));
    assert_eq!(kept.keep(b"first"), None);
    assert!(kept.refusal().unwrap().contains("latpcap-no-such-folder"));
    assert!(!Overflow::within(None).takes());
}

#[test]
fn what_is_not_there_is_an_error() {
    let mut kept = Overflow::within(room(1_000));
    assert!(kept.read(0, 1).is_err());
    kept.keep(b"first");
    assert!(kept.read(3, 3).is_err());
}
