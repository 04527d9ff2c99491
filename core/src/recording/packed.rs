//! Numbers of a column, chunk by chunk, each chunk as narrow as its numbers are.
//!
//! Most columns hold the same in row after row, or numbers that lie close together; a few of their rows do not. So a
//! chunk keeps its least number once, how far above it the others are in as many bytes as most of them need, and the
//! few that need more aside.

/// Rows of a chunk.
pub const CHUNK: usize = 4096;
/// Stands for null: no frame, time, count or text has it.
pub const NULL: i64 = i64::MIN;

/// What a number aside takes: its row, and the number.
const ASIDE_BYTES: usize = size_of::<u16>() + size_of::<i64>();

/// At most [`CHUNK`] numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    least: i64,
    codes: Codes,
    /// Rows whose numbers do not fit, ascending, and these numbers.
    rows_aside: Box<[u16]>,
    aside: Box<[i64]>,
}

/// How far each number is above the one before the least, so that the least is 1; null is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Codes {
    /// All are the least.
    #[default]
    None,
    U8(Box<[u8]>),
    U16(Box<[u16]>),
    U32(Box<[u32]>),
    U64(Box<[u64]>),
}

impl Chunk {
    /// Pack `numbers`.
    pub fn of(numbers: &[i64]) -> Chunk {
        let first = numbers.first().copied().unwrap_or(NULL);
        if numbers.iter().fold(0, |differs, number| differs | (number ^ first)) == 0 {
            return Chunk { least: first, ..Chunk::default() };
        }
        let least = numbers.iter().copied().filter(|&number| number != NULL).min().unwrap_or(NULL);
        let mut codes: Vec<u64> = numbers.iter().map(|&number| code(number, least)).collect();
        let (width, aside) = cheapest(&codes);
        let mut chunk = Chunk { least, ..Chunk::default() };
        if aside > 0 {
            let fits = |code: u64| if width == 0 { code == 1 } else { bits(code) <= 8 * width };
            chunk.rows_aside = (0u16..).zip(&codes).filter(|&(_, &code)| !fits(code)).map(|(row, _)| row).collect();
            chunk.aside = chunk.rows_aside.iter().map(|&row| numbers[usize::from(row)]).collect();
            // Cut to the width, a large one may read as null's.
            chunk.rows_aside.iter().for_each(|&row| codes[usize::from(row)] = 1);
        }
        chunk.codes = match width {
            0 => Codes::None,
            1 => Codes::U8(codes.into_iter().map(|code| code as u8).collect()),
            2 => Codes::U16(codes.into_iter().map(|code| code as u16).collect()),
            4 => Codes::U32(codes.into_iter().map(|code| code as u32).collect()),
            _ => Codes::U64(codes.into()),
        };
        chunk
    }

    /// Put each number, made `with` what stands there, in its place in `numbers`.
    pub fn unpack(&self, numbers: &mut [i64], with: impl Fn(i64, i64) -> i64) {
        let aside = self.rows_aside.iter().zip(&self.aside);
        let aside: Vec<(usize, i64)> =
            aside.map(|(&row, &number)| (usize::from(row), with(number, numbers[usize::from(row)]))).collect();
        match &self.codes {
            Codes::None => numbers.iter_mut().for_each(|number| *number = with(self.least, *number)),
            Codes::U8(codes) => self.decode(codes, numbers, with),
            Codes::U16(codes) => self.decode(codes, numbers, with),
            Codes::U32(codes) => self.decode(codes, numbers, with),
            Codes::U64(codes) => self.decode(codes, numbers, with),
        }
        aside.into_iter().for_each(|(row, number)| numbers[row] = number);
    }

    /// The number of one row.
    pub fn number(&self, row: usize) -> i64 {
        let aside = self.rows_aside.binary_search_by_key(&row, |&row| usize::from(row));
        if let Ok(place) = aside {
            return self.aside[place];
        }
        let code = match &self.codes {
            Codes::None => return self.least,
            Codes::U8(codes) => codes[row].into(),
            Codes::U16(codes) => codes[row].into(),
            Codes::U32(codes) => codes[row].into(),
            Codes::U64(codes) => codes[row],
        };
        if code == 0 { NULL } else { self.least.wrapping_sub(1).wrapping_add_unsigned(code) }
    }

    /// Some are null.
    pub fn has_null(&self) -> bool {
        let in_codes = match &self.codes {
            Codes::None => self.least == NULL,
            Codes::U8(codes) => codes.contains(&0),
            Codes::U16(codes) => codes.contains(&0),
            Codes::U32(codes) => codes.contains(&0),
            Codes::U64(codes) => codes.contains(&0),
        };
        in_codes || self.aside.contains(&NULL)
    }

    /// What it takes, with its place in the table.
    pub fn bytes(&self) -> usize {
        let codes = match &self.codes {
            Codes::None => 0,
            Codes::U8(codes) => codes.len(),
            Codes::U16(codes) => size_of_val::<[u16]>(codes),
            Codes::U32(codes) => size_of_val::<[u32]>(codes),
            Codes::U64(codes) => size_of_val::<[u64]>(codes),
        };
        size_of::<Chunk>() + codes + self.aside.len() * ASIDE_BYTES
    }

    /// Append it to `bytes`, as [`Chunk::read`] takes it:
    ///
    /// ```text
    /// least | bytes a code: u8 | how many aside: u16 | codes | rows aside | numbers aside              little-endian
    /// ```
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.least.to_le_bytes());
        let (width, aside) = (self.codes.width(), self.aside.len() as u16);
        bytes.push(width);
        bytes.extend(aside.to_le_bytes());
        match &self.codes {
            Codes::None => {}
            Codes::U8(codes) => bytes.extend_from_slice(codes),
            Codes::U16(codes) => codes.iter().for_each(|code| bytes.extend(code.to_le_bytes())),
            Codes::U32(codes) => codes.iter().for_each(|code| bytes.extend(code.to_le_bytes())),
            Codes::U64(codes) => codes.iter().for_each(|code| bytes.extend(code.to_le_bytes())),
        }
        self.rows_aside.iter().for_each(|row| bytes.extend(row.to_le_bytes()));
        self.aside.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    }

    /// A chunk of so many rows, from what it was written as; `None` where that is nothing of the kind.
    pub fn read(mut bytes: &[u8], rows: usize) -> Option<Chunk> {
        let least = i64::from_le_bytes(take(&mut bytes)?);
        let [width] = take(&mut bytes)?;
        let aside = usize::from(u16::from_le_bytes(take(&mut bytes)?));
        let codes = match width {
            0 => Codes::None,
            1 => Codes::U8(numbers(&mut bytes, rows, u8::from_le_bytes)?),
            2 => Codes::U16(numbers(&mut bytes, rows, u16::from_le_bytes)?),
            4 => Codes::U32(numbers(&mut bytes, rows, u32::from_le_bytes)?),
            8 => Codes::U64(numbers(&mut bytes, rows, u64::from_le_bytes)?),
            _ => return None,
        };
        let rows_aside = numbers(&mut bytes, aside, u16::from_le_bytes)?;
        let aside = numbers(&mut bytes, aside, i64::from_le_bytes)?;
        let is_whole = bytes.is_empty() && rows_aside.iter().all(|&row| usize::from(row) < rows);
        is_whole.then_some(Chunk { least, codes, rows_aside, aside })
    }

    fn decode<T>(&self, codes: &[T], numbers: &mut [i64], with: impl Fn(i64, i64) -> i64)
    where
        T: Copy + From<u8> + Into<u64> + PartialEq,
    {
        let before = self.least.wrapping_sub(1);
        let places = numbers.iter_mut().zip(codes);
        if codes.contains(&T::from(0)) {
            let known = |code: u64| if code == 0 { NULL } else { before.wrapping_add_unsigned(code) };
            places.for_each(|(number, &code)| *number = with(known(code.into()), *number));
        } else {
            places.for_each(|(number, &code)| *number = with(before.wrapping_add_unsigned(code.into()), *number));
        }
    }
}

impl Codes {
    /// Bytes of each.
    fn width(&self) -> u8 {
        match self {
            Codes::None => 0,
            Codes::U8(_) => 1,
            Codes::U16(_) => 2,
            Codes::U32(_) => 4,
            Codes::U64(_) => 8,
        }
    }
}

fn take<const BYTES: usize>(bytes: &mut &[u8]) -> Option<[u8; BYTES]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

fn numbers<T, const BYTES: usize>(bytes: &mut &[u8], count: usize, number: fn([u8; BYTES]) -> T) -> Option<Box<[T]>> {
    let (taken, rest) = bytes.split_at_checked(count * BYTES)?;
    *bytes = rest;
    Some(taken.as_chunks().0.iter().map(|&bytes| number(bytes)).collect())
}

#[inline]
fn code(number: i64, least: i64) -> u64 {
    if number == NULL { 0 } else { (number.wrapping_sub(least) as u64).wrapping_add(1) }
}

#[inline]
fn bits(code: u64) -> usize {
    (u64::BITS - code.leading_zeros()) as usize
}

/// In how many bytes each the codes take the least room, with the numbers that stand aside then, and how many do.
fn cheapest(codes: &[u64]) -> (usize, usize) {
    let mut of_bits = [0; 1 + u64::BITS as usize];
    codes.iter().for_each(|&code| of_bits[bits(code)] += 1);
    let aside = |width: usize| {
        let fits: usize = if width == 0 { of_bits[1] } else { of_bits[..=8 * width].iter().sum() };
        codes.len() - fits
    };
    let widths = [0, 1, 2, 4, 8].map(|width| (width, aside(width)));
    let bytes = |&(width, aside): &(usize, usize)| codes.len() * width + aside * ASIDE_BYTES;
    widths.into_iter().min_by_key(bytes).unwrap_or((8, 0))
}

#[cfg(test)]
#[path = "packed_tests.rs"]
mod tests;
