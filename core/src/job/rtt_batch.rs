//! The times of a few RTTs, side by side. What a step does to one it does to all, so a processor takes them together.

use std::ops::{Add, Sub};

/// RTTs that go through the steps together.
pub const RTT_BATCH: usize = 4;

/// A number that exceeds a whole one by less than this is whole.
const ROUNDING_STEPS: f64 = 1e-3;

/// A time at each of these RTTs, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times(pub [f64; RTT_BATCH]);

impl Times {
    #[inline]
    pub fn all(time: f64) -> Times {
        Times([time; RTT_BATCH])
    }

    /// The later of both.
    #[inline]
    pub fn max(self, other: Times) -> Times {
        self.with(other, |one, other| if other > one { other } else { one })
    }

    /// The earlier of both.
    #[inline]
    pub fn min(self, other: Times) -> Times {
        self.with(other, |one, other| if other < one { other } else { one })
    }

    #[inline]
    pub fn least(self) -> f64 {
        let Times([a, b, c, d]) = self;
        a.min(b).min(c.min(d))
    }

    /// Where this is not below zero `then`, otherwise the other.
    #[inline]
    pub fn choose(self, then: Times, otherwise: Times) -> Times {
        let Times([a, b, c, d]) = self;
        let ([e, f, g, h], [i, j, k, l]) = (then.0, otherwise.0);
        let of = |own: f64, then, otherwise| if own >= 0.0 { then } else { otherwise };
        Times([of(a, e, i), of(b, f, j), of(c, g, k), of(d, h, l)])
    }

    /// So many times as long.
    #[inline]
    pub fn times(self, factor: f64) -> Times {
        self.with(Times::all(factor), |time, factor| factor * time)
    }

    /// The next whole number of steps, one at least.
    pub fn in_steps(self, step: f64) -> Times {
        Times(self.0.map(|time| step * (time / step - ROUNDING_STEPS).ceil().max(1.0)))
    }

    #[inline]
    fn with(self, Times([e, f, g, h]): Times, of: impl Fn(f64, f64) -> f64) -> Times {
        let Times([a, b, c, d]) = self;
        Times([of(a, e), of(b, f), of(c, g), of(d, h)])
    }
}

impl Add for Times {
    type Output = Times;

    #[inline]
    fn add(self, other: Times) -> Times {
        self.with(other, |one, other| one + other)
    }
}

impl Add<f64> for Times {
    type Output = Times;

    #[inline]
    fn add(self, time: f64) -> Times {
        self + Times::all(time)
    }
}

impl Sub for Times {
    type Output = Times;

    #[inline]
    fn sub(self, other: Times) -> Times {
        self.with(other, |one, other| one - other)
    }
}
