//! Texts one behind the other: text t is `bytes[starts[t]..starts[t + 1]]`.

use std::collections::HashMap;

use memchr::memmem::Finder;

/// Whether each text holds one of `words`: all bytes are gone through as one, once for each word.
pub fn holding(starts: &[i64], bytes: &[u8], words: &[&[u8]]) -> Vec<bool> {
    let mut found = vec![false; starts.len().saturating_sub(1)];
    words.iter().filter(|word| !word.is_empty()).for_each(|word| mark(starts, bytes, word, &mut found));
    found
}

fn mark(starts: &[i64], bytes: &[u8], word: &[u8], found: &mut [bool]) {
    let finder = Finder::new(word);
    let Some(&first) = starts.first() else { return };
    let (mut text, mut begin) = (0, first as usize);
    while let Some(place) = finder.find(&bytes[begin..]) {
        let place = begin + place;
        text += starts[text + 1..].partition_point(|&start| start as usize <= place);
        let Some(&end) = starts.get(text + 1) else { return };
        let whole = place + word.len() <= end as usize;
        found[text] |= whole;
        begin = if whole { end as usize } else { place + 1 };
    }
}

/// The first text with the same bytes as each.
pub fn first_like(starts: &[i64], bytes: &[u8]) -> Vec<i64> {
    let mut known = HashMap::with_hasher(ahash::RandomState::new());
    let texts = starts.windows(2).map(|edges| &bytes[edges[0] as usize..edges[1] as usize]);
    texts.zip(0..).map(|(text, number)| *known.entry(text).or_insert(number)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_word_does_not_go_on_in_the_next_text() {
        assert_eq!(holding(&[0, 1, 3], b"aab", &[b"aa", b"b"]), [false, true]);
    }

    #[test]
    fn a_text_is_known_by_the_first_one_like_it() {
        assert_eq!(first_like(&[0, 1, 2, 2, 3, 3], b"aba"), [0, 1, 2, 0, 2]);
    }

    proptest! {
        #[test]
        fn texts_are_found_as_one_by_one(texts: Vec<String>, words in prop::collection::vec("[a-c]{1,2}", 0..3)) {
            let mut starts = vec![0];
            starts.extend(texts.iter().scan(0, |end, text| { *end += text.len() as i64; Some(*end) }));
            let found = holding(&starts, texts.concat().as_bytes(), &words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>());
            let each: Vec<bool> = texts.iter().map(|text| words.iter().any(|word| text.contains(word))).collect();
            prop_assert_eq!(found, each);
        }
    }
}
