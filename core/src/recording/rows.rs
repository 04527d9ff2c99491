//! Rows of numbers that are kept column by column, packed as soon as there is a chunk of them.
//!
//! Beyond so many bytes, packed chunks go to the disk; each column of a chunk is read back alone.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use super::packed::{CHUNK, Chunk, NULL};
use crate::disk::{self, Overflow};

/// What a number is likely to be, from others in its row: what is kept is how far it is off.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    Unknown,
    /// The number in that column.
    As(usize),
    /// From the number in the first column to that in the second.
    Between(usize, usize),
}

/// Rows of `COLUMNS` numbers, in the order they came; they can be read in another.
#[derive(Debug)]
pub struct Rows<const COLUMNS: usize> {
    expected: [Expected; COLUMNS],
    packed: Vec<Packed<COLUMNS>>,
    packed_rows: usize,
    /// What these take in memory, and may before further ones go to the disk.
    packed_bytes: usize,
    most: usize,
    overflow: Overflow,
    /// The newest ones, fewer than a chunk, column by column; none before the first row.
    open: Vec<[i64; STRIDE]>,
    open_rows: usize,
    /// The place of each row where they are read; none as long as that is the order they came in.
    places: Option<Vec<u32>>,
}

/// A chunk of rows, column by column. Only the last one may have fewer than [`CHUNK`].
#[derive(Debug)]
enum Packed<const COLUMNS: usize> {
    Here(Box<[Chunk; COLUMNS]>),
    /// From there on, each column up to its end.
    OnDisk(u64, Box<[u32; COLUMNS]>),
}

/// From one open column to the next: a little more than a chunk, since a cache keeps apart badly what lies apart by
/// powers of two.
const STRIDE: usize = CHUNK + 8;

impl<const COLUMNS: usize> Packed<COLUMNS> {
    /// What it takes in memory.
    fn bytes(&self) -> usize {
        size_of::<Packed<COLUMNS>>()
            + match self {
                Packed::Here(chunks) => chunks.iter().map(Chunk::bytes).sum(),
                Packed::OnDisk(..) => size_of::<[u32; COLUMNS]>(),
            }
    }
}

impl<const COLUMNS: usize> Rows<COLUMNS> {
    /// Packed rows beyond `most` bytes overflow, where there is room.
    pub fn new(expected: [Expected; COLUMNS], most: usize, overflow: Overflow) -> Rows<COLUMNS> {
        let (packed, open) = (Vec::new(), Vec::new());
        Rows { expected, packed, packed_rows: 0, packed_bytes: 0, most, overflow, open, open_rows: 0, places: None }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.packed_rows + self.open_rows
    }

    /// What further rows overflow to.
    #[inline]
    pub fn overflow(&self) -> &Overflow {
        &self.overflow
    }

    /// What the rows take in memory, without their places.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.packed_bytes + self.open_rows * size_of::<[i64; COLUMNS]>()
    }

    #[inline]
    pub fn push(&mut self, row: [i64; COLUMNS]) {
        if self.open.is_empty() {
            self.open = vec![[0; STRIDE]; COLUMNS];
        }
        if let Some(columns) = self.open.first_chunk_mut::<COLUMNS>() {
            columns.iter_mut().zip(row).for_each(|(column, number)| column[self.open_rows] = number);
        }
        self.open_rows += 1;
        if self.open_rows == CHUNK {
            self.pack();
        }
    }

    /// The numbers of a column that are not packed yet.
    fn open(&self, column: usize) -> &[i64] {
        self.open.get(column).map_or(&[], |numbers| &numbers[..self.open_rows])
    }

    fn pack(&mut self) {
        let mut numbers = Vec::with_capacity(CHUNK);
        let chunks = std::array::from_fn(|column| {
            let open = self.open(column);
            numbers.clear();
            match self.expected[column] {
                Expected::Unknown => return Chunk::of(open),
                Expected::As(other) => {
                    numbers.extend(open.iter().zip(self.open(other)).map(|(&number, &other)| off(number, other)))
                }
                Expected::Between(from, to) => {
                    let expected = self.open(from).iter().zip(self.open(to)).map(|(&from, &to)| between(from, to));
                    numbers.extend(open.iter().zip(expected).map(|(&number, expected)| off(number, expected)));
                }
            }
            Chunk::of(&numbers)
        });
        let mut packed = Packed::Here(Box::new(chunks));
        if self.packed_bytes + packed.bytes() > self.most && self.overflow.takes() {
            packed = self.put_on_disk(packed);
        }
        self.packed_bytes += packed.bytes();
        self.packed_rows += self.open_rows;
        self.packed.push(packed);
        self.open_rows = 0;
    }

    /// The same on disk; it stays where it is when there is no room.
    fn put_on_disk(&mut self, packed: Packed<COLUMNS>) -> Packed<COLUMNS> {
        let Packed::Here(chunks) = &packed else { return packed };
        let mut bytes = Vec::new();
        let ends = chunks.each_ref().map(|chunk| {
            chunk.write(&mut bytes);
            bytes.len() as u32
        });
        self.overflow.keep(&bytes).map_or(packed, |begin| Packed::OnDisk(begin, Box::new(ends)))
    }

    /// No further row comes: where rows overflow, so do the last ones.
    fn close(&mut self) {
        if self.bytes() > self.most && self.open_rows > 0 && self.overflow.takes() {
            self.pack();
        }
    }

    /// Read them group by group from now on, and in each by their number, which no two rows of a group share.
    pub fn sort(&mut self, group: usize, number: usize) -> io::Result<()> {
        self.close();
        let (mut groups, mut numbers) = (Vec::with_capacity(self.len()), Vec::with_capacity(self.len()));
        self.each([group, number], |[group, number]| {
            groups.push(group as u32);
            numbers.push(number as u32);
        })?;
        let keys = || groups.iter().zip(&numbers);
        if keys().is_sorted() {
            return Ok(());
        }
        let mut ends = vec![0; groups.iter().max().map_or(0, |&last| last as usize + 1)];
        groups.iter().for_each(|&group| ends[group as usize] += 1_usize);
        let mut end = 0;
        ends.iter_mut().for_each(|rows| end += std::mem::replace(rows, end));
        let mut order = vec![0_u32; groups.len()];
        for (row, &group) in (0..).zip(&groups) {
            order[ends[group as usize]] = row;
            ends[group as usize] += 1;
        }
        let mut begin = 0;
        for end in ends {
            order[begin..end].sort_by_key(|&row| numbers[row as usize]);
            begin = end;
        }
        let mut places = groups;
        (0..).zip(order).for_each(|(place, row)| places[row as usize] = place);
        self.places = Some(places);
        Ok(())
    }

    /// Some columns of each row, in the order the rows came.
    pub fn each<const SOME: usize>(&self, columns: [usize; SOME], mut take: impl FnMut([i64; SOME])) -> io::Result<()> {
        let mut chunks = [[0; CHUNK]; SOME];
        for (packed, rows) in self.packed.iter().zip(self.chunk_rows()) {
            for (&column, numbers) in columns.iter().zip(&mut chunks) {
                self.unpack(packed, column, &mut numbers[..rows.len()])?;
            }
            (0..rows.len()).for_each(|row| take(std::array::from_fn(|column| chunks[column][row])));
        }
        let open = columns.map(|column| self.open(column));
        (0..self.open_rows).for_each(|row| take(open.map(|numbers| numbers[row])));
        Ok(())
    }

    /// The rows of each packed chunk.
    fn chunk_rows(&self) -> impl Iterator<Item = Range<usize>> {
        let all = self.packed_rows;
        (0..all).step_by(CHUNK).map(move |first| first..all.min(first + CHUNK))
    }

    /// A column of the rows `within`, in the order in which they are read; `null` hears of each of them, from 0 on, where
    /// there is nothing.
    pub fn column<T: Copy + Default>(
        &self,
        column: usize,
        within: &Range<usize>,
        value: impl Fn(i64) -> T,
        mut null: impl FnMut(usize),
    ) -> io::Result<Vec<T>> {
        let mut values = vec![T::default(); within.len()];
        let mut numbers = [0; CHUNK];
        let open = (self.packed_rows..self.len(), None);
        for (rows, packed) in self.chunk_rows().zip(self.packed.iter().map(Some)).chain([open]) {
            if !self.has_any(&rows, within) {
                continue;
            }
            let (numbers, has_null) = match packed {
                Some(packed) => {
                    let numbers = &mut numbers[..rows.len()];
                    let chunk = self.unpack(packed, column, numbers)?;
                    (&*numbers, chunk.has_null()) // null is kept as such, whatever is expected
                }
                None => (self.open(column), true),
            };
            let Some(places) = &self.places else {
                let here = rows.start.max(within.start)..rows.end.min(within.end);
                let numbers = &numbers[here.start - rows.start..here.end - rows.start];
                let first = here.start - within.start;
                values[first..].iter_mut().zip(numbers).for_each(|(wanted, &number)| *wanted = value(number));
                let nulls = (first..).zip(numbers).filter(|(_, number)| has_null && **number == NULL);
                nulls.for_each(|(place, _)| null(place));
                continue;
            };
            for (&place, &number) in places[rows].iter().zip(numbers) {
                let place = (place as usize).wrapping_sub(within.start);
                let Some(wanted) = values.get_mut(place) else { continue };
                *wanted = value(number);
                if has_null && number == NULL {
                    null(place);
                }
            }
        }
        Ok(values)
    }

    /// Some of these rows, by the order they came in, are `within` those, by the order in which they are read.
    fn has_any(&self, rows: &Range<usize>, within: &Range<usize>) -> bool {
        match &self.places {
            None => rows.start < within.end && within.start < rows.end,
            Some(_) if within.len() == self.len() => true,
            Some(places) => places[rows.clone()].iter().any(|&place| within.contains(&(place as usize))),
        }
    }

    /// The numbers of a column, and the chunk that they were in, which says whether some are null.
    fn unpack<'a>(
        &self,
        packed: &'a Packed<COLUMNS>,
        column: usize,
        numbers: &mut [i64],
    ) -> io::Result<Cow<'a, Chunk>> {
        let chunk = self.chunk(packed, column, numbers.len())?;
        match self.expected[column] {
            Expected::Unknown => chunk.unpack(numbers, |number, _| number),
            Expected::As(other) => {
                let nulls = self.unpack(packed, other, numbers)?.has_null() || chunk.has_null();
                if nulls { chunk.unpack(numbers, sum) } else { chunk.unpack(numbers, i64::wrapping_add) }
            }
            Expected::Between(from, to) => {
                let mut begins = [0; CHUNK];
                self.unpack(packed, from, &mut begins[..numbers.len()])?;
                self.unpack(packed, to, numbers)?;
                numbers.iter_mut().zip(begins).for_each(|(number, begin)| *number = between(begin, *number));
                chunk.unpack(numbers, sum);
            }
        }
        Ok(chunk)
    }

    fn chunk<'a>(&self, packed: &'a Packed<COLUMNS>, column: usize, rows: usize) -> io::Result<Cow<'a, Chunk>> {
        match packed {
            Packed::Here(chunks) => Ok(Cow::Borrowed(&chunks[column])),
            Packed::OnDisk(begin, ends) => {
                let first = column.checked_sub(1).map_or(0, |before| ends[before]);
                let bytes = self.overflow.read(begin + u64::from(first), (ends[column] - first) as usize)?;
                Chunk::read(&bytes, rows).map(Cow::Owned).ok_or_else(disk::damaged)
            }
        }
    }
}

/// How far a number is off, where both are known. The times of a capture are less than 2^63 ns apart.
#[inline]
fn off(number: i64, expected: i64) -> i64 {
    if number == NULL || expected == NULL { number } else { number.wrapping_sub(expected) }
}

#[inline]
fn sum(off: i64, expected: i64) -> i64 {
    if off == NULL || expected == NULL { off } else { off.wrapping_add(expected) }
}

#[inline]
fn between(from: i64, to: i64) -> i64 {
    if from == NULL || to == NULL { NULL } else { to.wrapping_sub(from) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Room;

    /// A group, a number in it, a time, and a later one.
    fn rows(count: i64) -> impl Iterator<Item = [i64; 4]> {
        (0..count).map(|row| {
            let time = if row % 1000 == 7 { NULL } else { 1_700_000_000_000_000_000 + row * 250_000 };
            let later = if row % 500 == 7 { NULL } else { time.wrapping_add(400 + row % 90) };
            [row % 3, row / 3, time, later]
        })
    }

    const EXPECTED: [Expected; 4] = [Expected::Unknown, Expected::Unknown, Expected::Unknown, Expected::As(2)];

    fn kept(rows: impl Iterator<Item = [i64; 4]>) -> Rows<4> {
        let mut kept = Rows::new(EXPECTED, usize::MAX, Overflow::default());
        rows.for_each(|row| kept.push(row));
        kept
    }

    /// The same where only so many bytes fit in memory, and so many on the disk.
    fn overflowing(rows: impl Iterator<Item = [i64; 4]>, most: usize, disk: u64) -> Rows<4> {
        let room = Room { folder: std::env::temp_dir(), bytes: disk };
        let mut kept = Rows::new(EXPECTED, most, Overflow::within(Some(room)));
        rows.for_each(|row| kept.push(row));
        kept
    }

    fn on_disk(kept: &Rows<4>) -> usize {
        kept.packed.iter().filter(|packed| matches!(packed, Packed::OnDisk(..))).count()
    }

    #[test]
    fn rows_come_back_as_they_came_whole_chunks_and_what_is_open() {
        let count = 2 * CHUNK as i64 + 100;
        let (kept, mut back) = (kept(rows(count)), Vec::new());
        kept.each([0, 1, 2, 3], |row| back.push(row)).unwrap();
        assert_eq!(back, rows(count).collect::<Vec<_>>());
    }

    #[test]
    fn rows_are_read_group_by_group_and_nulls_stay_with_their_rows() {
        let count = CHUNK as i64 + 50;
        let mut kept = kept(rows(count));
        kept.sort(0, 1).unwrap();
        let mut sorted: Vec<_> = rows(count).collect();
        sorted.sort();
        for column in 0..4 {
            let mut nulls = Vec::new();
            let values = kept.column(column, &(0..kept.len()), |number| number, |place| nulls.push(place)).unwrap();
            assert_eq!(values, sorted.iter().map(|row| row[column]).collect::<Vec<_>>(), "column {column}");
            nulls.sort();
            let expected = (0..sorted.len()).filter(|&row| sorted[row][column] == NULL);
            assert_eq!(nulls, expected.collect::<Vec<_>>(), "column {column}");
        }
    }

    #[test]
    fn some_of_the_rows_are_read_alone() {
        let count = 2 * CHUNK as i64 + 50;
        for sorted in [false, true] {
            let mut kept = kept(rows(count));
            if sorted {
                kept.sort(0, 1).unwrap();
            }
            let part = |within: Range<usize>| {
                let mut nulls = Vec::new();
                (kept.column(2, &within, |number| number, |place| nulls.push(place)).unwrap(), nulls.len())
            };
            let (whole, nulls) = part(0..kept.len());
            let parts = [0..1, 1..CHUNK + 3, CHUNK + 3..kept.len(), 5..5].map(part);
            assert_eq!(parts.each_ref().map(|(values, _)| values.clone()).concat(), whole);
            assert_eq!(parts.iter().map(|(_, nulls)| nulls).sum::<usize>(), nulls);
        }
    }

    #[test]
    fn what_is_as_expected_takes_no_room() {
        let count = 8 * CHUNK as i64;
        let pushed = |later: fn(i64) -> i64| kept((0..count).map(|row| [0, row, row * row, later(row)])).bytes();
        assert_eq!(pushed(|row| row * row + 3), pushed(|row| row * row));
        assert!(pushed(|row| row * row * 7) > pushed(|row| row * row) + count as usize);
    }

    /// Every column, and where each has its nulls.
    fn columns(kept: &Rows<4>) -> Vec<(Vec<i64>, Vec<usize>)> {
        let mut nulls = Vec::new();
        let mut column =
            |column| kept.column(column, &(0..kept.len()), |number| number, |place| nulls.push(place)).unwrap();
        let columns = [0, 1, 2, 3].map(&mut column).to_vec();
        columns.into_iter().map(|column| (column, nulls.clone())).collect()
    }

    #[test]
    fn rows_on_disk_are_the_same_wherever_the_memory_or_the_disk_is_full() {
        let count = 5 * CHUNK as i64 + 70;
        let mut here = kept(rows(count));
        here.sort(0, 1).unwrap();
        for (most, disk, chunks) in [(0, u64::MAX, 6), (60_000, u64::MAX, 4), (0, 120_000, 3), (0, 0, 0)] {
            let mut kept = overflowing(rows(count), most, disk);
            kept.sort(0, 1).unwrap();
            assert_eq!(on_disk(&kept), chunks, "{most} {disk}");
            assert_eq!(columns(&kept), columns(&here), "{most} {disk}");
        }
    }

    #[test]
    fn rows_on_disk_take_next_to_no_memory() {
        let kept = overflowing(rows(20 * CHUNK as i64), 0, u64::MAX);
        assert!(kept.bytes() < 20 * 100, "{}", kept.bytes());
    }

    #[test]
    fn what_is_no_longer_on_disk_is_an_error() {
        let mut kept = overflowing(rows(2 * CHUNK as i64), 0, u64::MAX);
        kept.overflow = Overflow::default();
        assert!(kept.column(3, &(0..kept.len()), |number| number, |_| {}).is_err());
        assert!(kept.sort(0, 1).is_err());
    }
}
