//! Rows of numbers that are kept column by column, packed as soon as there is a chunk of them.
//!
//! Beyond so many bytes, packed chunks go to the disk; each column of a chunk is read back alone.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::packed::{CHUNK, Chunk, NULL};
use super::view::{Cut, Order, View};
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

/// Rows of `COLUMNS` numbers, in the order they came; a [`View`] says which are read, and in which order.
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
}

/// A chunk of rows, column by column. Only the last one may have fewer than [`CHUNK`].
#[derive(Debug)]
enum Packed<const COLUMNS: usize> {
    Here(Box<[Chunk; COLUMNS]>),
    /// From there on, each column up to its end.
    OnDisk(u64, Box<[u32; COLUMNS]>),
}

/// One number of so many in a chunk, or fewer, are looked up one by one.
const SPARSE: usize = 16;
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
        Rows { expected, packed, packed_rows: 0, packed_bytes: 0, most, overflow, open, open_rows: 0 }
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

    /// What the rows take in memory.
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

    /// All rows, in the order they came.
    pub fn all(&self) -> View {
        View::of(Order::AsTheyCame(self.len()))
    }

    /// The rows group by group, and in each by their number, which no two rows of a group share. No further row comes.
    pub fn sort(&mut self, group: usize, number: usize) -> io::Result<View> {
        self.close();
        let (mut groups, mut numbers) = (Vec::with_capacity(self.len()), Vec::with_capacity(self.len()));
        self.each(&self.all(), [group, number], |[group, number]| {
            groups.push(group as u32);
            numbers.push(number as u32);
        })?;
        let keys = || groups.iter().zip(&numbers);
        if keys().is_sorted() {
            return Ok(self.all());
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
        Ok(View::of(Order::Placed(Arc::new(places))))
    }

    /// Some columns of each row of a view, in the order the rows came.
    pub fn each<const SOME: usize>(
        &self,
        view: &View,
        columns: [usize; SOME],
        mut take: impl FnMut([i64; SOME]),
    ) -> io::Result<()> {
        self.each_placed(view, columns, |_, row| take(row))
    }

    /// Some columns of each row of a view with its place among those that are read, in the order the rows came.
    pub fn each_placed<const SOME: usize>(
        &self,
        view: &View,
        columns: [usize; SOME],
        mut take: impl FnMut(usize, [i64; SOME]),
    ) -> io::Result<()> {
        let mut chunks = [[0; CHUNK]; SOME];
        self.each_chunk(view, |chunk, picked| {
            let rows = self.rows_of(chunk);
            for (&column, numbers) in columns.iter().zip(&mut chunks) {
                self.numbers(chunk, column, view.cut, picked, &mut numbers[..rows.len()])?;
            }
            let mut row = |at: usize, place: usize| {
                let mut numbers = [0; SOME];
                numbers.iter_mut().zip(&chunks).for_each(|(number, chunk)| *number = chunk[at - rows.start]);
                take(place, numbers);
            };
            match (&view.order, picked) {
                (_, Some(picked)) => picked.iter().for_each(|&[at, place]| row(at as usize, place as usize)),
                (Order::Placed(places), None) => rows.clone().for_each(|at| row(at, places[at] as usize)),
                (_, None) => rows.clone().for_each(|at| row(at, at)),
            }
            Ok(())
        })
    }

    /// The chunks that have rows of a view, with these rows where they are not all.
    fn each_chunk(
        &self,
        view: &View,
        mut take: impl FnMut(usize, Option<&[[u32; 2]]>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Order::Picked(rows, part) = &view.order else {
            return (0..self.len().div_ceil(CHUNK)).try_for_each(|chunk| take(chunk, None));
        };
        let mut rest = &rows[part.clone()];
        while let Some(&[first, _]) = rest.first() {
            let chunk = first as usize / CHUNK;
            let here = rest.partition_point(|&[row, _]| (row as usize) < (chunk + 1) * CHUNK);
            take(chunk, Some(&rest[..here]))?;
            rest = &rest[here..];
        }
        Ok(())
    }

    /// The rows of a chunk; those behind the packed ones are the open ones.
    fn rows_of(&self, chunk: usize) -> Range<usize> {
        chunk * CHUNK..self.len().min((chunk + 1) * CHUNK)
    }

    /// A column of the rows `within` a view, in the order in which they are read; `null` hears of each of them, from 0 on,
    /// where there is nothing.
    pub fn column<T: Copy + Default>(
        &self,
        view: &View,
        column: usize,
        within: &Range<usize>,
        value: impl Fn(i64) -> T,
        mut null: impl FnMut(usize),
    ) -> io::Result<Vec<T>> {
        let mut values = vec![T::default(); within.len()];
        let mut numbers = [0; CHUNK];
        self.each_chunk(view, |chunk, picked| {
            let rows = self.rows_of(chunk);
            if !has_any(view, &rows, picked, within) {
                return Ok(());
            }
            let numbers = &mut numbers[..rows.len()];
            let has_null = self.numbers(chunk, column, view.cut, picked, numbers)?;
            let mut put = |place: u32, number: i64| {
                let place = (place as usize).wrapping_sub(within.start);
                let Some(wanted) = values.get_mut(place) else { return };
                *wanted = value(number);
                if has_null && number == NULL {
                    null(place);
                }
            };
            match (&view.order, picked) {
                (_, Some(picked)) => {
                    picked.iter().for_each(|&[row, place]| put(place, numbers[row as usize - rows.start]));
                }
                (Order::Placed(places), _) => {
                    places[rows].iter().zip(numbers).for_each(|(&place, &mut number)| put(place, number));
                }
                _ => {
                    let here = rows.start.max(within.start)..rows.end.min(within.end);
                    let numbers = &numbers[here.start - rows.start..here.end - rows.start];
                    let first = here.start - within.start;
                    values[first..].iter_mut().zip(numbers).for_each(|(wanted, &number)| *wanted = value(number));
                    let nulls = (first..).zip(numbers).filter(|(_, number)| has_null && **number == NULL);
                    nulls.for_each(|(place, _)| null(place));
                }
            }
            Ok(())
        })?;
        Ok(values)
    }

    /// A column of a chunk, of its picked rows at least, as a view has it; whether some may be null.
    fn numbers(
        &self,
        chunk: usize,
        column: usize,
        cut: Option<Cut>,
        picked: Option<&[[u32; 2]]>,
        numbers: &mut [i64],
    ) -> io::Result<bool> {
        let Some(cut) = cut.filter(|cut| cut.spans.contains(&column)) else {
            return self.uncut(chunk, column, picked, numbers);
        };
        self.uncut(chunk, column, picked, numbers)?;
        let mut ends = [0; CHUNK];
        self.uncut(chunk, cut.end, picked, &mut ends[..numbers.len()])?;
        for (number, end) in numbers.iter_mut().zip(ends) {
            if end == NULL || end.wrapping_sub(*number) < cut.begin {
                *number = NULL;
            }
        }
        Ok(true)
    }

    /// A column of a chunk as it was kept, likewise.
    fn uncut(&self, chunk: usize, column: usize, picked: Option<&[[u32; 2]]>, numbers: &mut [i64]) -> io::Result<bool> {
        match (self.packed.get(chunk), picked) {
            (Some(Packed::Here(chunks)), Some(picked)) if picked.len() * SPARSE < numbers.len() => {
                for row in picked.iter().map(|&[row, _]| row as usize % CHUNK) {
                    numbers[row] = self.number(chunks, column, row);
                }
                Ok(true)
            }
            (Some(packed), _) => Ok(self.unpack(packed, column, numbers)?.has_null()), // null is kept as such, whatever is expected
            (None, _) => {
                numbers.copy_from_slice(self.open(column));
                Ok(true)
            }
        }
    }

    /// One number of a packed chunk.
    fn number(&self, chunks: &[Chunk; COLUMNS], column: usize, row: usize) -> i64 {
        let number = chunks[column].number(row);
        let expected = |other| self.number(chunks, other, row);
        match self.expected[column] {
            Expected::Unknown => number,
            Expected::As(other) => sum(number, expected(other)),
            Expected::Between(from, to) => sum(number, between(expected(from), expected(to))),
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

/// Some of the rows of a chunk are `within` those, by the order in which they are read.
fn has_any(view: &View, rows: &Range<usize>, picked: Option<&[[u32; 2]]>, within: &Range<usize>) -> bool {
    let is_within = |place: u32| within.contains(&(place as usize));
    match (&view.order, picked) {
        _ if within.len() == view.len() => true,
        (_, Some(picked)) => picked.iter().any(|&[_, place]| is_within(place)),
        (Order::Placed(places), _) => places[rows.clone()].iter().any(|&place| is_within(place)),
        _ => rows.start < within.end && within.start < rows.end,
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
#[path = "rows_tests.rs"]
mod tests;
