use super::*;

fn words(items: &[u32]) -> Vec<u8> {
    items.iter().flat_map(|item| item.to_be_bytes()).collect()
}

#[test]
fn success_is_code_zero_and_an_end() {
    let bytes = words(&[1, 0, 0]);
    let mut wire = Wire::new(&bytes);
    assert_eq!(Status::read(&mut wire).unwrap().error(), None);
    assert_eq!(wire.position(), 12);
}

#[test]
fn a_warning_is_no_error() {
    let bytes = words(&[1, 0, 18, 335_544_807, 4, 7, 0]);
    assert_eq!(Status::read(&mut Wire::new(&bytes)).unwrap().error(), None);
}

#[test]
fn several_codes_are_one_error_and_the_most_telling_names_it() {
    let mut bytes = words(&[1, 335_544_569, 1, 335_544_436, 4, -104i32 as u32, 1, 335_544_634, 4, 1, 4, 8]);
    bytes.extend(words(&[1, 335_544_382, 2, 4]));
    bytes.extend(b"wher");
    bytes.extend(words(&[0]));
    let error = Status::read(&mut Wire::new(&bytes)).unwrap().error().unwrap();
    assert_eq!(error.code, "335544634 (42000)");
    assert_eq!(error.message, "dynamic SQL error; SQL error code = -104; token unknown - line 1, column 8; wher");
}

#[test]
fn what_is_no_status_vector_is_refused() {
    assert!(matches!(Status::read(&mut Wire::new(&words(&[3, 0]))), Err(Stop::Lost(_))));
    assert!(matches!(Status::read(&mut Wire::new(&words(&[1, 77]))), Err(Stop::Lost(_))));
    let endless = words(&[4; 2000]);
    assert!(matches!(Status::read(&mut Wire::new(&endless)), Err(Stop::Lost(_))));
}
