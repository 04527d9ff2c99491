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
#[path = "wide_tests.rs"]
pub mod tests;
