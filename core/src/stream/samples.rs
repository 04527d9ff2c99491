//! The RTT samples of a connection, a few bytes each: they follow each other closely, and most are short.
//!
//! ```text
//! since the one before, zigzag | rtt_ns | segments << 1 | side | in_flight - segments          each a varint (LEB128)
//! ```

use super::rtt::RttSample;
use crate::side::Side;

/// No sample takes more.
const MOST: usize = 4 * 10;

/// Clean in-stream samples, with the side whose data was acknowledged.
#[derive(Debug, Default)]
pub struct Samples {
    bytes: Vec<u8>,
    len: usize,
    last_ns: i64,
    /// What was kept as the client's data is the server's.
    swapped: bool,
}

impl Samples {
    pub fn push(&mut self, side: Side, sample: RttSample) {
        self.len += 1;
        let RttSample { time_ns, rtt_ns, segments, in_flight } = sample;
        let later_ns = time_ns.wrapping_sub(std::mem::replace(&mut self.last_ns, time_ns));
        let numbers = [
            ((later_ns << 1) ^ (later_ns >> 63)) as u64,
            rtt_ns as u64,
            u64::from(segments) << 1 | (side == Side::Server) as u64,
            u64::from(in_flight.wrapping_sub(segments)),
        ];
        self.bytes.reserve(MOST);
        numbers.into_iter().for_each(|number| self.number(number));
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn swap_sides(&mut self) {
        self.swapped = !self.swapped;
    }

    pub fn iter(&self) -> impl Iterator<Item = (Side, RttSample)> {
        let mut rest = self.bytes.as_slice();
        let mut time_ns = 0i64;
        std::iter::from_fn(move || {
            let later = take_number(&mut rest)?;
            time_ns = time_ns.wrapping_add((later >> 1) as i64 ^ -((later & 1) as i64));
            let rtt_ns = take_number(&mut rest)? as i64;
            let segments_and_side = take_number(&mut rest)?;
            let segments = (segments_and_side >> 1) as u32;
            let in_flight = segments.wrapping_add(take_number(&mut rest)? as u32);
            let side = if (segments_and_side & 1 == 1) != self.swapped { Side::Server } else { Side::Client };
            Some((side, RttSample { time_ns, rtt_ns, segments, in_flight }))
        })
    }

    #[inline]
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0.. {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            break;
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> impl Strategy<Value = (Side, RttSample)> {
        let time_ns = prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>(), 0..1_000_000_000i64];
        let side = prop_oneof![Just(Side::Client), Just(Side::Server)];
        let numbers = (0..=i64::MAX, 1..=1024u32, 0..=1024u32);
        (side, time_ns, numbers).prop_map(|(side, time_ns, (rtt_ns, segments, others))| {
            (side, RttSample { time_ns, rtt_ns, segments, in_flight: segments + others })
        })
    }

    proptest! {
        #[test]
        fn what_was_kept_comes_back(samples in prop::collection::vec(sample(), 0..20), swap: bool) {
            let mut kept = Samples::default();
            samples.iter().for_each(|&(side, sample)| kept.push(side, sample));
            let side_of = |side: Side| if swap { side.other() } else { side };
            if swap {
                kept.swap_sides();
            }
            let expected: Vec<_> = samples.iter().map(|&(side, sample)| (side_of(side), sample)).collect();
            prop_assert_eq!(kept.iter().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_usual_sample_takes_ten_bytes_at_most() {
        let mut kept = Samples::default();
        for number in 0..1_000 {
            let time_ns = 1_700_000_000_000_000_000 + number * 5_000_000;
            kept.push(Side::Client, RttSample { time_ns, rtt_ns: 1_200_000, segments: 1, in_flight: 1 });
        }
        assert!(kept.bytes.len() <= 10 * 1_000);
    }
}
