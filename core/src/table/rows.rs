//! Rows of numbers that are kept column by column, packed as soon as there is a chunk of them.

use super::packed::{CHUNK, Chunk, NULL};

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
    packed: Vec<[Chunk; COLUMNS]>,
    packed_bytes: usize,
    /// The newest ones, fewer than a chunk.
    open: Vec<[i64; COLUMNS]>,
    /// The place of each row where they are read; none as long as that is the order they came in.
    places: Option<Vec<u32>>,
}

impl<const COLUMNS: usize> Rows<COLUMNS> {
    pub fn new(expected: [Expected; COLUMNS]) -> Rows<COLUMNS> {
        Rows { expected, packed: Vec::new(), packed_bytes: 0, open: Vec::new(), places: None }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.packed.len() * CHUNK + self.open.len()
    }

    /// What the rows take, without their places.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.packed_bytes + self.open.len() * size_of::<[i64; COLUMNS]>()
    }

    #[inline]
    pub fn push(&mut self, row: [i64; COLUMNS]) {
        self.open.push(row);
        if self.open.len() == CHUNK {
            self.pack();
        }
    }

    fn pack(&mut self) {
        let mut numbers = Vec::with_capacity(CHUNK);
        let chunks = std::array::from_fn(|column| {
            let rows = self.open.iter();
            numbers.clear();
            match self.expected[column] {
                Expected::Unknown => numbers.extend(rows.map(|row| row[column])),
                Expected::As(other) => numbers.extend(rows.map(|row| off(row[column], row[other]))),
                Expected::Between(from, to) => {
                    numbers.extend(rows.map(|row| off(row[column], between(row[from], row[to]))));
                }
            }
            Chunk::of(&numbers)
        });
        self.packed_bytes += chunks.iter().map(Chunk::bytes).sum::<usize>();
        self.packed.push(chunks);
        self.open.clear();
    }

    /// Read them group by group from now on, and in each by their number, which no two rows of a group share.
    pub fn sort(&mut self, group: usize, number: usize) {
        let (mut groups, mut numbers) = (Vec::with_capacity(self.len()), Vec::with_capacity(self.len()));
        self.each([group, number], |[group, number]| {
            groups.push(group as u32);
            numbers.push(number as u32);
        });
        let keys = || groups.iter().zip(&numbers);
        if keys().is_sorted() {
            return;
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
    }

    /// Some columns of each row, in the order the rows came.
    pub fn each<const SOME: usize>(&self, columns: [usize; SOME], mut take: impl FnMut([i64; SOME])) {
        let mut chunks = [[0; CHUNK]; SOME];
        for packed in &self.packed {
            columns.iter().zip(&mut chunks).for_each(|(&column, numbers)| self.unpack(packed, column, numbers));
            (0..CHUNK).for_each(|row| take(std::array::from_fn(|column| chunks[column][row])));
        }
        self.open.iter().for_each(|row| take(columns.map(|column| row[column])));
    }

    /// A column in the order in which the rows are read; `null` hears of each place where there is nothing.
    pub fn column<T: Copy + Default>(
        &self,
        column: usize,
        value: impl Fn(i64) -> T,
        mut null: impl FnMut(usize),
    ) -> Vec<T> {
        let mut values = vec![T::default(); self.len()];
        self.chunks(column, |first, numbers, has_null| {
            let rows = first..first + numbers.len();
            let places = self.places.as_ref().map(|places| &places[rows.clone()]);
            match places {
                None => values[rows].iter_mut().zip(numbers).for_each(|(place, &number)| *place = value(number)),
                Some(places) => {
                    places.iter().zip(numbers).for_each(|(&place, &number)| values[place as usize] = value(number));
                }
            }
            if has_null {
                let nulls = (0..numbers.len()).filter(|&row| numbers[row] == NULL);
                nulls.for_each(|row| null(places.map_or(first + row, |places| places[row] as usize)));
            }
        });
        values
    }

    /// The numbers of a column in the order they came, chunk by chunk: the first row, the numbers, may one be null?
    fn chunks(&self, column: usize, mut take: impl FnMut(usize, &[i64], bool)) {
        let mut numbers = [0; CHUNK];
        for (packed, first) in self.packed.iter().zip((0..).step_by(CHUNK)) {
            self.unpack(packed, column, &mut numbers);
            take(first, &numbers, packed[column].has_null()); // null is kept as such, whatever is expected
        }
        let open = &mut numbers[..self.open.len()];
        open.iter_mut().zip(&self.open).for_each(|(number, row)| *number = row[column]);
        take(self.packed.len() * CHUNK, open, true);
    }

    fn unpack(&self, packed: &[Chunk; COLUMNS], column: usize, numbers: &mut [i64; CHUNK]) {
        match self.expected[column] {
            Expected::Unknown => packed[column].unpack(numbers, |number, _| number),
            Expected::As(other) => {
                self.unpack(packed, other, numbers);
                packed[column].unpack(numbers, sum);
            }
            Expected::Between(from, to) => {
                let mut begins = [0; CHUNK];
                self.unpack(packed, from, &mut begins);
                self.unpack(packed, to, numbers);
                numbers.iter_mut().zip(begins).for_each(|(number, begin)| *number = between(begin, *number));
                packed[column].unpack(numbers, sum);
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

    /// A group, a number in it, a time, and a later one.
    fn rows(count: i64) -> impl Iterator<Item = [i64; 4]> {
        (0..count).map(|row| {
            let time = if row % 1000 == 7 { NULL } else { 1_700_000_000_000_000_000 + row * 250_000 };
            let later = if row % 500 == 7 { NULL } else { time.wrapping_add(400 + row % 90) };
            [row % 3, row / 3, time, later]
        })
    }

    fn kept(rows: impl Iterator<Item = [i64; 4]>) -> Rows<4> {
        let mut kept = Rows::new([Expected::Unknown, Expected::Unknown, Expected::Unknown, Expected::As(2)]);
        rows.for_each(|row| kept.push(row));
        kept
    }

    #[test]
    fn rows_come_back_as_they_came_whole_chunks_and_what_is_open() {
        let count = 2 * CHUNK as i64 + 100;
        let (kept, mut back) = (kept(rows(count)), Vec::new());
        kept.each([0, 1, 2, 3], |row| back.push(row));
        assert_eq!(back, rows(count).collect::<Vec<_>>());
    }

    #[test]
    fn rows_are_read_group_by_group_and_nulls_stay_with_their_rows() {
        let count = CHUNK as i64 + 50;
        let mut kept = kept(rows(count));
        kept.sort(0, 1);
        let mut sorted: Vec<_> = rows(count).collect();
        sorted.sort();
        for column in 0..4 {
            let mut nulls = Vec::new();
            let values = kept.column(column, |number| number, |place| nulls.push(place));
            assert_eq!(values, sorted.iter().map(|row| row[column]).collect::<Vec<_>>(), "column {column}");
            nulls.sort();
            let expected = (0..sorted.len()).filter(|&row| sorted[row][column] == NULL);
            assert_eq!(nulls, expected.collect::<Vec<_>>(), "column {column}");
        }
    }

    #[test]
    fn what_is_as_expected_takes_no_room() {
        let count = 8 * CHUNK as i64;
        let pushed = |later: fn(i64) -> i64| kept((0..count).map(|row| [0, row, row * row, later(row)])).bytes();
        assert_eq!(pushed(|row| row * row + 3), pushed(|row| row * row));
        assert!(pushed(|row| row * row * 7) > pushed(|row| row * row) + count as usize);
    }
}
