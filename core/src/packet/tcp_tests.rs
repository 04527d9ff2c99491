use super::*;

#[test]
fn the_options_of_a_syn_are_read() {
    let options = Options::read(&[1, 2, 4, 5, 0xb4, 4, 2, 3, 3, 7, 0]);
    assert_eq!(options.maximum_segment_size, Some(1460));
    assert_eq!(options.window_scale, Some(7));
}

#[test]
fn the_timestamp_is_read_where_it_usually_is() {
    assert_eq!(leading_timestamp(&[1, 1, 8, 10, 0, 0, 1, 2, 0, 0, 0, 9]), Some((258, 9)));
    assert_eq!(leading_timestamp(&[1, 1, 8, 10, 0, 0]), None);
    assert_eq!(leading_timestamp(&[1, 1, 5, 10, 0, 0, 1, 2]), None);
}

#[test]
fn a_block_below_the_acknowledgment_or_within_the_next_one_came_twice() {
    let blocks = |edges: &[u8]| {
        let edges: Vec<u8> = edges.iter().flat_map(|&edge| [0, 0, 0, edge]).collect();
        came_twice(&[&[1, 1, 5, 2 + edges.len() as u8], &edges[..]].concat(), 50)
    };
    assert!(blocks(&[40, 50]));
    assert!(blocks(&[60, 70, 55, 80]));
    assert!(!blocks(&[60, 70]));
    assert!(!blocks(&[60, 70, 80, 90]));
    assert!(!came_twice(&[1, 1, 5, 10, 0, 0], 50));
}

#[test]
fn an_option_of_length_zero_does_not_hang() {
    let options = Options::read(&[9, 0, 9, 0, 3, 3, 7]);
    assert_eq!(options.window_scale, Some(7));
}
