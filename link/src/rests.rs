//! How much later this host answers after a rest.
//!
//! ```text
//! rest ─► walk ─► byte ─► wake up, walk ─► byte ─► wake up     (two threads, loopback TCP)
//! ```
//!
//! Meanwhile others have used the processors: each side finds its memory in slower caches, its processor perhaps asleep.
//! An echo alone shows only a part of what a database's round trip takes longer then.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// The memory that a client or a server of a database touches in a round trip: with it an echo behind rests of 0.2 to 50 ms took as
/// much longer as one statement of PostgreSQL and MariaDB did on the same host (28 November 2026).
const RING_BYTES: usize = 128 << 10;
const CACHE_LINE_BYTES: usize = 64;
/// Rests in microseconds, and how many of them are measured in each of three passes, 0.22 s long.
const RESTS: [(u64, usize); 9] =
    [(200, 8), (500, 8), (1_000, 8), (2_000, 8), (3_000, 8), (5_000, 8), (10_000, 4), (20_000, 2), (50_000, 1)];
const PASSES: usize = 3;
/// Somebody else may have connected: then nothing is measured.
const MAX_TURN: Duration = Duration::from_secs(1);
/// Round trips without a rest in a pass.
const HOT_TURNS: usize = 40;
/// The part of the turns, the longest ones, that something else held up.
const HELD_UP_SHARE: f64 = 0.2;

/// The extra time of a round trip after a rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rested {
    pub rest_ms: f64,
    pub extra_ms: f64,
}

/// Measures for 0.7 s, most of which is rest; never less after a longer rest than after a shorter one.
pub fn rest_curve() -> io::Result<Vec<Rested>> {
    let mut near = Side::start()?;
    let mut hot = Vec::new();
    let mut turns = vec![Vec::new(); RESTS.len()];
    for _ in 0..PASSES {
        for _ in 0..HOT_TURNS {
            hot.push(near.turn(Duration::ZERO)?);
        }
        for (&(rest_us, count), turns) in RESTS.iter().zip(&mut turns) {
            for _ in 0..count {
                turns.push(near.turn(Duration::from_micros(rest_us))?);
            }
        }
    }
    let hot_ms = usual(&mut hot);
    let weights = RESTS.map(|(_, count)| count as f64);
    let extra: Vec<f64> = turns.iter_mut().map(|turns| (usual(turns) - hot_ms).max(0.0)).collect();
    let rests = RESTS.iter().map(|&(rest_us, _)| rest_us as f64 / 1e3);
    Ok(rests.zip(ascending(&extra, &weights)).map(|(rest_ms, extra_ms)| Rested { rest_ms, extra_ms }).collect())
}

/// The side that asks; the other one answers in a thread of its own, until this one is gone.
struct Side {
    stream: TcpStream,
    ring: Ring,
}

impl Side {
    fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        let (far, _) = listener.accept()?;
        for end in [&stream, &far] {
            end.set_nodelay(true)?;
            end.set_read_timeout(Some(MAX_TURN))?;
        }
        thread::Builder::new().name("rests".into()).spawn(move || answer(far))?;
        Ok(Self { stream, ring: Ring::new() })
    }

    /// The time of a round trip after a rest, in ms.
    fn turn(&mut self, rest: Duration) -> io::Result<f64> {
        if !rest.is_zero() {
            thread::sleep(rest);
        }
        let begin = Instant::now();
        self.ring.walk();
        self.stream.write_all(&[0])?;
        self.stream.read_exact(&mut [0])?;
        Ok(begin.elapsed().as_secs_f64() * 1e3)
    }
}

fn answer(mut stream: TcpStream) {
    let ring = Ring::new();
    while stream.read_exact(&mut [0]).is_ok() {
        ring.walk();
        if stream.write_all(&[0]).is_err() {
            return;
        }
    }
}

/// Memory of which each cache line says which one is next, so that none can be fetched before.
struct Ring(Vec<u32>);

impl Ring {
    fn new() -> Self {
        const LINE: usize = CACHE_LINE_BYTES / size_of::<u32>();
        let mut order: Vec<u32> = (0..RING_BYTES / CACHE_LINE_BYTES).map(|line| (line * LINE) as u32).collect();
        fastrand::shuffle(&mut order);
        let mut lines = vec![0; RING_BYTES / size_of::<u32>()];
        for (&line, &next) in order.iter().zip(order.iter().cycle().skip(1)) {
            lines[line as usize] = next;
        }
        Self(lines)
    }

    fn walk(&self) {
        let mut line = 0;
        for _ in 0..RING_BYTES / CACHE_LINE_BYTES {
            line = self.0[line as usize];
        }
        black_box(line);
    }
}

/// The mean of the turns that nothing else held up.
fn usual(turns: &mut [f64]) -> f64 {
    turns.sort_by(f64::total_cmp);
    let kept = turns.len() - (turns.len() as f64 * HELD_UP_SHARE).round() as usize;
    turns.iter().take(kept).sum::<f64>() / kept.max(1) as f64
}

/// The values with those that fall replaced by the mean of their neighbours, until none does.
fn ascending(values: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for (&value, &weight) in values.iter().zip(weights) {
        let mut block = (value, weight, 1);
        while let Some(&(before, heavy, count)) = blocks.last().filter(|&&(before, ..)| before > block.0) {
            blocks.pop();
            let weight = heavy + block.1;
            block = ((before * heavy + block.0 * block.1) / weight, weight, count + block.2);
        }
        blocks.push(block);
    }
    blocks.into_iter().flat_map(|(value, _, count)| std::iter::repeat_n(value, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_fall_become_the_mean_of_their_neighbours() {
        assert_eq!(ascending(&[0.1, 0.5, 0.3, 0.6], &[1.0; 4]), [0.1, 0.4, 0.4, 0.6]);
        assert_eq!(ascending(&[0.4, 0.2, 0.0], &[2.0, 1.0, 1.0]), [0.25; 3]);
    }

    #[test]
    fn the_longest_turns_do_not_count() {
        assert_eq!(usual(&mut [9.0, 1.0, 2.0, 1.0, 2.0]), 1.5);
    }

    #[test]
    fn a_ring_passes_every_line_before_it_comes_back() {
        let ring = Ring::new();
        let lines = std::iter::successors(Some(ring.0[0]), |&line| Some(ring.0[line as usize]));
        assert_eq!(lines.take_while(|&line| line != 0).count() + 1, RING_BYTES / CACHE_LINE_BYTES);
    }

    #[test]
    fn every_rest_has_its_extra_time_and_none_is_negative() {
        let curve = rest_curve().unwrap();
        assert_eq!(curve.len(), RESTS.len());
        assert!(curve.is_sorted_by(|one, next| one.rest_ms < next.rest_ms && one.extra_ms <= next.extra_ms));
        assert!(curve[0].extra_ms >= 0.0);
    }
}
