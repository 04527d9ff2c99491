//! What one tap has seen of the bytes that one side sent: which packets bring bytes once more?

/// Holes that are remembered; of more the oldest counts as filled.
const MAX_HOLES: usize = 8;

#[derive(Debug, Default)]
pub struct Sent {
    /// All before was sent, but for the holes.
    next: Option<u32>,
    /// From, and before which.
    holes: Vec<(u32, u32)>,
}

impl Sent {
    /// So many bytes from `from` on pass: were all of them seen before?
    pub fn again(&mut self, from: u32, length: u32) -> bool {
        let end = from.wrapping_add(length);
        let next = *self.next.get_or_insert(from);
        if is_before(next, end) {
            if is_before(next, from) {
                if self.holes.len() == MAX_HOLES {
                    self.holes.remove(0);
                }
                self.holes.push((next, from));
            }
            self.next = Some(end);
            return false;
        }
        let Some(at) = self.holes.iter().position(|&(begin, before)| is_before(from, before) && is_before(begin, end))
        else {
            return true;
        };
        let (begin, before) = self.holes.remove(at);
        let left = [(begin, from), (end, before)];
        self.holes.extend(left.into_iter().filter(|&(begin, before)| is_before(begin, before)));
        self.holes.truncate(MAX_HOLES);
        false
    }
}

fn is_before(one: u32, other: u32) -> bool {
    (other.wrapping_sub(one) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(segments: &[(u32, u32)]) -> Vec<bool> {
        let mut sent = Sent::default();
        segments.iter().map(|&(from, length)| sent.again(from, length)).collect()
    }

    #[test]
    fn what_was_sent_before_is_sent_again() {
        assert_eq!(again(&[(10, 5), (15, 5), (15, 5), (12, 8), (18, 4)]), [false, false, true, true, false]);
    }

    #[test]
    fn what_was_overtaken_is_new() {
        assert_eq!(
            again(&[(0, 5), (10, 5), (20, 5), (5, 5), (5, 5), (15, 5)]),
            [false, false, false, false, true, false]
        );
    }

    #[test]
    fn numbers_begin_again() {
        assert_eq!(again(&[(u32::MAX - 4, 10), (5, 5), (u32::MAX - 4, 10)]), [false, false, true]);
    }
}
