//! How much later a host answers after a rest, as a comment of a section header: other readers pass it over.
//!
//! ```text
//! latpcap: rests 0.2,1,5 ms: +0.04,0.05,0.47 ms; hosts 10.0.0.5,127.0.0.1
//! ```

use std::fmt::{Display, Formatter, Result};
use std::net::IpAddr;

const MAX_POINTS: usize = 16;
/// A host with many containers has as many addresses.
const MAX_ADDRESSES: usize = 64;
const MAX_REST_MS: f64 = 1e4;
const MAX_EXTRA_MS: f64 = 20.0;

/// The extra time of a round trip after a rest of its hosts, and the addresses of the host that it was measured on.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCurve {
    pub rests_ms: Vec<f64>,
    pub extra_ms: Vec<f64>,
    /// Or pseudonyms of them.
    pub addresses: Vec<String>,
}

impl HostCurve {
    /// Reads a comment; `None` where it is another one, or odd in any way.
    pub(super) fn parse(comment: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(comment).ok()?.strip_prefix("latpcap: rests ")?;
        let (rests, text) = text.split_once(" ms: +")?;
        let (extra, hosts) = text.split_once(" ms; hosts ")?;
        let curve = Self {
            rests_ms: list(rests, MAX_POINTS, |text| number(text, MAX_REST_MS))?,
            extra_ms: list(extra, MAX_POINTS, |text| number(text, MAX_EXTRA_MS))?,
            addresses: list(hosts, MAX_ADDRESSES, |text| Some(text.parse::<IpAddr>().ok()?.to_string()))?,
        };
        curve.is_valid().then_some(curve)
    }

    /// The curve that a file can hold, in whole microseconds; `None` where its numbers are no curve.
    pub fn new(rests_ms: &[f64], extra_ms: &[f64], addresses: &[IpAddr]) -> Option<Self> {
        let addresses = addresses.iter().take(MAX_ADDRESSES).map(ToString::to_string).collect();
        let curve = Self { rests_ms: rounded(rests_ms), extra_ms: rounded(extra_ms), addresses };
        Self::parse(curve.to_string().as_bytes())
    }

    fn is_valid(&self) -> bool {
        self.rests_ms.len() == self.extra_ms.len()
            && self.rests_ms.is_sorted_by(|shorter, longer| shorter < longer)
            && self.extra_ms.is_sorted()
    }
}

impl Display for HostCurve {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let (rests, extra, hosts) = (joined(&self.rests_ms), joined(&self.extra_ms), joined(&self.addresses));
        write!(formatter, "latpcap: rests {rests} ms: +{extra} ms; hosts {hosts}")
    }
}

fn list<T>(text: &str, most: usize, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let items: Vec<&str> = text.split(',').take(most + 1).collect();
    if items.len() > most {
        return None;
    }
    items.into_iter().map(parse).collect()
}

/// A decimal number without sign and exponent.
fn number(text: &str, most: f64) -> Option<f64> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|&number| is_decimal && number <= most)
}

fn rounded(milliseconds: &[f64]) -> Vec<f64> {
    milliseconds.iter().map(|each| (each * 1e3).round() / 1e3).collect()
}

fn joined(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
#[path = "host_curve_tests.rs"]
mod tests;
