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
    let end =
        Written { layout, rows, error: 0, cursor: 3, sql_type: 3, call_number: 0x13, message: NO_MORE_ROWS }.bytes();
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
