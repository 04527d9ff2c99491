//! The end of a call as OCI receives it: numbers of fixed width, in the byte order of the client.
//!
//! ```text
//! 04 status u32 | [end-to-end sequence u16] | [u8] | rows u32 | error u16 | 0 u16 | 0 u16 | cursor u16 | position u16 |
//!    SQL type u8 | 23 bytes, 26 with the u8 in front of the rows | call number u8 | … | [message]
//!
//! 9i: no sequence, the u8      10g, 11g, 12c: both      32-bit clients of other platforms: the sequence, or neither
//! ```
//!
//! Which of the two there are is decided once for a connection, by the first end that fits in every field: the call
//! number is the call's, and stands where this layout has it. From then on an end has this layout or is not read:
//! rows, errors and numbers are small, so that another layout would read something out of almost any bytes.

use super::{EndOfCall, Expected, HIGHEST_STATUS, candidates};
use crate::cursor::Cursor;
use crate::protocols::oracle::effort::Effort;
use crate::protocols::oracle::encodings::{Family, Order};

/// From the SQL type to the call number; three bytes more where one stands in front of the rows.
const BEFORE_CALL_NUMBER: usize = 23;
const PADDING: usize = 3;
/// Sizes without the message: 64 (10g, 32 bit) … 152 (64 bit).
const SIZES: std::ops::RangeInclusive<usize> = 60..=160;
/// Numbers in front of the rest.
const FIELDS: usize = 10;
/// With the longest message that its length of one byte allows.
const LONGEST: usize = 160 + 256;

/// Where the fields are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    order: Order,
    end_to_end: bool,
    /// A byte stands in front of the rows, and others behind them.
    padded: bool,
}

impl Layout {
    fn all() -> impl Iterator<Item = Layout> {
        let layouts = |order| {
            [(true, true), (true, false), (false, true), (false, false)].map(|(end_to_end, padded)| Layout {
                order,
                end_to_end,
                padded,
            })
        };
        Order::BOTH.into_iter().flat_map(layouts)
    }
}

/// The end of `response` in the layout that the connection has.
pub fn read<'a>(response: &'a [u8], expected: &Expected, layout: Layout, effort: &Effort) -> Option<EndOfCall<'a>> {
    near(response).find_map(|at| fields(&response[at + 1..], layout, expected, effort))
}

/// The end of `response`, and the layout by which it fits; nothing is decided by a call without a number.
pub fn decide<'a>(
    response: &'a [u8],
    expected: &Expected,
    family: Option<Family>,
    effort: &Effort,
) -> Option<(EndOfCall<'a>, Layout)> {
    expected.sequence.filter(|&sequence| sequence != 0)?;
    let possible = |layout: &Layout| family.is_none_or(|family| family == Family::Wide(layout.order));
    near(response).find_map(|at| {
        let read = |layout| fields(&response[at + 1..], layout, expected, effort).map(|end| (end, layout));
        Layout::all().filter(possible).find_map(read)
    })
}

/// The places from which an end may reach to the last byte.
fn near(response: &[u8]) -> impl Iterator<Item = usize> {
    candidates(response).take_while(|at| response.len() - (at + 1) <= LONGEST)
}

fn fields<'a>(bytes: &'a [u8], layout: Layout, expected: &Expected, effort: &Effort) -> Option<EndOfCall<'a>> {
    effort.spend(FIELDS)?;
    let order = layout.order;
    let mut cursor = Cursor::new(bytes);
    let status = u64::from(order.u32(&mut cursor)?);
    if layout.end_to_end {
        order.u16(&mut cursor)?;
    }
    if layout.padded {
        cursor.u8("byte").ok()?;
    }
    let rows = order.u32(&mut cursor)?.into();
    let error = order.u16(&mut cursor)?.into();
    let array_errors = order.u32(&mut cursor)?;
    let id = order.u16(&mut cursor)?.into();
    order.u16(&mut cursor)?;
    let sql_type = cursor.u8("SQL type").ok()?;
    let plausible = status < HIGHEST_STATUS && array_errors == 0 && expected.is_cursor(id);
    plausible.then_some(())?;
    let rest = cursor.rest();
    let call_number = rest.get(BEFORE_CALL_NUMBER + if layout.padded { PADDING } else { 0 })?;
    let (fixed, message) = if error == 0 { (rest, &[][..]) } else { split_message(rest, error)? };
    let size = 1 + bytes.len() - rest.len() + fixed.len();
    let fits = expected.is_call(*call_number) && SIZES.contains(&size);
    fits.then_some(EndOfCall { rows, error, cursor: id, sql_type, message })
}

/// Splits the fixed fields from the message, which has to end the response.
fn split_message(rest: &[u8], error: u32) -> Option<(&[u8], &[u8])> {
    let at = memchr::memmem::find(rest, format!("ORA-{error:05}").as_bytes())?;
    let (fixed, message) = rest.split_at(at);
    let (&length, fixed) = fixed.split_last()?;
    (usize::from(length) == message.len()).then_some((fixed, message))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const NO_MORE_ROWS: &[u8] = b"ORA-01403: no data found\n";

    /// An end of call as servers of these versions write it.
    pub struct Written {
        pub layout: Layout,
        pub rows: u32,
        pub error: u16,
        pub cursor: u16,
        pub sql_type: u8,
        pub call_number: u8,
        pub message: &'static [u8],
    }

    pub const fn layout(order: Order, end_to_end: bool, padded: bool) -> Layout {
        Layout { order, end_to_end, padded }
    }

    pub const ORACLE_9I: Layout = layout(Order::Little, false, true);
    pub const ORACLE_10G: Layout = layout(Order::Little, true, true);
    pub const ORACLE_10G_BIG_ENDIAN: Layout = layout(Order::Big, true, true);
    pub const ORACLE_11G_32_BIT: Layout = layout(Order::Little, true, false);
    pub const ORACLE_10G_32_BIT: Layout = layout(Order::Little, false, false);

    impl Written {
        pub fn bytes(&self) -> Vec<u8> {
            let order = self.layout.order;
            let u16 = |number: u16| match order {
                Order::Little => number.to_le_bytes(),
                Order::Big => number.to_be_bytes(),
            };
            let u32 = |number: u32| match order {
                Order::Little => number.to_le_bytes(),
                Order::Big => number.to_be_bytes(),
            };
            let mut bytes = vec![4];
            bytes.extend(u32(1));
            if self.layout.end_to_end {
                bytes.extend(u16(15));
            }
            if self.layout.padded {
                bytes.push(1);
            }
            bytes.extend(u32(self.rows));
            bytes.extend(u16(self.error));
            bytes.extend([0; 4]);
            bytes.extend(u16(self.cursor));
            bytes.extend([0; 2]);
            bytes.push(self.sql_type);
            bytes.extend(vec![0; BEFORE_CALL_NUMBER + if self.layout.padded { PADDING } else { 0 }]);
            bytes.push(self.call_number);
            bytes.extend([0; 40]);
            if self.error != 0 {
                bytes.push(self.message.len() as u8);
                bytes.extend(self.message);
            }
            bytes
        }
    }

    fn fetched(layout: Layout, rows: u32) -> Vec<u8> {
        let end = Written { layout, rows, error: 0, cursor: 3, sql_type: 3, call_number: 0x13, message: NO_MORE_ROWS }
            .bytes();
        [b"\x06\x02\x01\0\0\0\0\0\x0f\x07\x03SYS\x04ICOL\x15\x01\0\x02\x07\x04USER", &end[..]].concat()
    }

    const FETCH: Expected = Expected { sequence: Some(0x13), cursor: 3, certain: true, without_cursor: false };

    #[test]
    fn each_layout_is_told_by_where_its_call_number_is() {
        for expected in Layout::all() {
            let response = fetched(expected, 31);
            let (end, layout) = decide(&response, &FETCH, None, &Effort::default()).unwrap();
            assert_eq!((end.rows, end.cursor, end.sql_type, layout), (31, 3, 3, expected));
        }
    }

    #[test]
    fn an_end_in_another_layout_is_not_read() {
        let response = fetched(ORACLE_11G_32_BIT, 31);
        assert!(read(&response, &FETCH, ORACLE_11G_32_BIT, &Effort::default()).is_some());
        for other in Layout::all().filter(|&layout| layout != ORACLE_11G_32_BIT) {
            assert_eq!(read(&response, &FETCH, other, &Effort::default()), None);
        }
    }

    #[test]
    fn an_end_of_another_call_or_cursor_is_not_read() {
        let response = fetched(ORACLE_10G, 31);
        assert_eq!(decide(&response, &Expected { sequence: Some(0x14), ..FETCH }, None, &Effort::default()), None);
        assert_eq!(decide(&response, &Expected { cursor: 4, ..FETCH }, None, &Effort::default()), None);
        assert_eq!(decide(&response, &Expected { sequence: None, ..FETCH }, None, &Effort::default()), None);
    }

    #[test]
    fn an_error_needs_its_message() {
        let end = Written {
            layout: ORACLE_9I,
            rows: 4,
            error: 1403,
            cursor: 3,
            sql_type: 3,
            call_number: 0x13,
            message: NO_MORE_ROWS,
        };
        let bytes = end.bytes();
        let read_end = read(&bytes, &FETCH, ORACLE_9I, &Effort::default()).unwrap();
        assert_eq!((read_end.rows, read_end.error, read_end.message), (4, 1403, NO_MORE_ROWS));
        assert_eq!(read(&bytes[..bytes.len() - 1], &FETCH, ORACLE_9I, &Effort::default()), None);
    }
}
