//! Native services (ANO): what client and server agree on before TTC begins.
//!
//! ```text
//! DE AD BE EF | length u16 | version u32 | services u16 | error u8 | service…
//! service     id u16 | fields u16 | error u32 | field…
//! field       length u16 | type u16 | value
//! ```

use crate::cursor::{Cursor, TooShort};

pub const MAGIC: &[u8] = &[0xde, 0xad, 0xbe, 0xef];

const ENCRYPTION: u16 = 2;
const INTEGRITY: u16 = 3;
/// A field that holds the algorithm chosen: one byte, 0 for none.
const BYTE_FIELD: u16 = 2;

/// What the server chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    pub encryption: bool,
    pub integrity: bool,
}

/// Is the whole of it here?
pub fn is_whole(bytes: &[u8]) -> bool {
    let mut cursor = Cursor::new(bytes);
    let length = cursor.skip(MAGIC.len(), "magic").and_then(|()| cursor.u16_be("length"));
    length.is_ok_and(|length| bytes.len() >= usize::from(length))
}

/// Reads the server's answer as far as it goes.
pub fn chosen(bytes: &[u8]) -> Chosen {
    let mut chosen = Chosen::default();
    let _ = services(bytes, &mut chosen);
    chosen
}

fn services(bytes: &[u8], chosen: &mut Chosen) -> Result<(), TooShort> {
    let mut cursor = Cursor::new(bytes);
    cursor.skip(MAGIC.len() + 2 + 4, "header")?;
    let services = cursor.u16_be("services")?;
    cursor.u8("error")?;
    for _ in 0..services {
        let id = cursor.u16_be("service")?;
        let fields = cursor.u16_be("fields")?;
        cursor.u32_be("service error")?;
        for _ in 0..fields {
            let length = cursor.u16_be("field length")?;
            let kind = cursor.u16_be("field type")?;
            let value = cursor.take(length.into(), "field")?;
            let set = kind == BYTE_FIELD && value.first().is_some_and(|&algorithm| algorithm != 0);
            chosen.encryption |= id == ENCRYPTION && set;
            chosen.integrity |= id == INTEGRITY && set;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(encryption: u8) -> Vec<u8> {
        let mut bytes = b"\xde\xad\xbe\xef\0\x2c\x13\0\0\0\0\x02\0".to_vec();
        bytes.extend(b"\0\x04\0\x01\0\0\0\0\0\x02\0\x06\0\x1f");
        bytes.extend(b"\0\x02\0\x02\0\0\0\0\0\x04\0\x05\x13\0\0\0\0\x01\0\x02");
        bytes.push(encryption);
        bytes
    }

    #[test]
    fn the_algorithm_of_the_encryption_service_tells_whether_the_rest_is_readable() {
        assert!(!chosen(&answer(0)).encryption);
        assert!(chosen(&answer(17)).encryption);
    }

    #[test]
    fn an_answer_cut_short_chooses_nothing() {
        assert_eq!(chosen(&answer(17)[..20]), Chosen::default());
    }
}
