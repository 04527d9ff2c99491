use super::*;

fn between(one: &str, other: &str) -> Hosts {
    Hosts::between(one.parse().unwrap(), other.parse().unwrap())
}

fn hash(one: &str, other: &str) -> u64 {
    between(one, other).hash()
}

/// Who reads a part may run another version than who reads the others.
#[test]
fn the_hash_never_changes() {
    assert_eq!(hash("10.0.0.1", "10.0.0.2"), 0x2e6b_e231_ae86_3170);
    assert_eq!(hash("fd00::1", "fd00::2"), 0x5066_81a8_1ff7_5120);
}

#[test]
fn both_directions_are_of_one_group_and_versions_of_ip_are_not() {
    assert_eq!(hash("10.0.0.1", "10.0.0.2"), hash("10.0.0.2", "10.0.0.1"));
    assert_ne!(hash("10.0.0.1", "10.0.0.2"), hash("::10.0.0.1", "::10.0.0.2"));
    assert_ne!(hash("10.0.0.1", "10.0.0.2"), hash("10.0.0.1", "10.0.0.3"));
}

#[test]
fn each_group_is_in_one_part_and_parts_are_about_alike() {
    for of in [1, 2, 3, 7] {
        let mut held = vec![0; of as usize];
        for host in 0..=255 {
            let hosts = between(&format!("10.0.0.{host}"), "10.1.0.1");
            let parts = (0..of).filter(|&number| Part::new(&[number], of).unwrap().holds(hosts));
            parts.for_each(|number| held[number as usize] += 1);
        }
        assert_eq!(held.iter().sum::<u32>(), 256);
        assert!(held.iter().all(|&groups| groups > 256 / of / 2), "{held:?}");
    }
}

#[test]
fn there_is_no_part_beyond_the_last() {
    assert_eq!(Part::new(&[2], 2), None);
    assert_eq!(Part::new(&[0], 0), None);
}

#[test]
fn a_part_of_several_numbers_holds_what_these_hold() {
    let several = Part::new(&[1, 4], 7).unwrap();
    for host in 0..=255 {
        let hosts = between(&format!("10.0.0.{host}"), "10.1.0.1");
        let one_by_one = [1, 4].into_iter().any(|number| Part::new(&[number], 7).unwrap().holds(hosts));
        assert_eq!(several.holds(hosts), one_by_one);
    }
}
