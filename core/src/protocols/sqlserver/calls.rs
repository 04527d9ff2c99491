//! Calls of procedures, as many as one message holds, read on wherever packets end.
//!
//! ```text
//! headers | call | (FF | call)*
//! call: length u16 | name, or FFFF | number u16; options u16 | (length u16 | package to an enclave)? | parameter*
//! parameter: length u8 | name | status u8 | type | value
//! ```

use super::columns::{By, Carry, Layout, Shape, Sink, Unread, Value, name, names, shape, skip_algorithm, skip_flags};
use super::framing::has_headers;
use super::prepared::Handle;
use super::text::{self, TEXT_MAX};
use crate::cursor::Cursor;
use crate::protocols::Purpose;

/// Names of procedures have four parts of 128 characters.
const NAME_MAX: u16 = 4 * 131;
/// Values are only hashed: this many bytes distinguish two executions.
const VALUES_MAX: usize = 16 << 10;
const COLUMNS_MAX: u16 = 1024;
const PIECE_MAX: usize = 128 << 10;
/// The status of a parameter that is encrypted on its own.
const ENCRYPTED: u8 = 8;
/// A column of a table of which no values are sent.
const IS_DEFAULT: u16 = 0x200;

/// A procedure that means something to whoever counts.
#[derive(Debug, PartialEq, Eq)]
pub struct Procedure {
    number: u16,
    pub name: &'static str,
    pub purpose: Purpose,
    /// Which parameter is the text of a statement.
    statement: Option<usize>,
    /// The first parameter is a handle of this kind.
    pub takes: Option<Handle>,
    /// What the numbers are that come back first.
    pub returns: &'static [Handle],
    /// The first parameter that is a value of the statement.
    values: usize,
}

const fn procedure(number: u16, name: &'static str, purpose: Purpose) -> Procedure {
    Procedure { number, name, purpose, statement: None, takes: None, returns: &[], values: usize::MAX }
}

/// What a driver asks about a statement before it executes it.
const fn describing(name: &'static str) -> Procedure {
    Procedure { statement: Some(0), ..procedure(u16::MAX, name, Purpose::Describe) }
}

use Handle::{Cursor as OfCursor, CursorStatement, Statement};

static PROCEDURES: &[Procedure] = &[
    procedure(1, "sp_cursor", Purpose::Execute),
    Procedure {
        statement: Some(1),
        returns: &[OfCursor],
        values: 6,
        ..procedure(2, "sp_cursoropen", Purpose::Execute)
    },
    Procedure { statement: Some(2), returns: &[CursorStatement], ..procedure(3, "sp_cursorprepare", Purpose::Prepare) },
    Procedure {
        takes: Some(CursorStatement),
        returns: &[OfCursor],
        values: 5,
        ..procedure(4, "sp_cursorexecute", Purpose::Execute)
    },
    Procedure {
        statement: Some(3),
        returns: &[CursorStatement, OfCursor],
        values: 7,
        ..procedure(5, "sp_cursorprepexec", Purpose::Execute)
    },
    Procedure { takes: Some(CursorStatement), ..procedure(6, "sp_cursorunprepare", Purpose::Close) },
    Procedure { takes: Some(OfCursor), ..procedure(7, "sp_cursorfetch", Purpose::Fetch) },
    Procedure { takes: Some(OfCursor), ..procedure(8, "sp_cursoroption", Purpose::Other) },
    Procedure { takes: Some(OfCursor), ..procedure(9, "sp_cursorclose", Purpose::Close) },
    Procedure { statement: Some(0), values: 2, ..procedure(10, "sp_executesql", Purpose::Execute) },
    Procedure { statement: Some(2), returns: &[Statement], ..procedure(11, "sp_prepare", Purpose::Prepare) },
    Procedure { takes: Some(Statement), values: 1, ..procedure(12, "sp_execute", Purpose::Execute) },
    Procedure {
        statement: Some(2),
        returns: &[Statement],
        values: 3,
        ..procedure(13, "sp_prepexec", Purpose::Execute)
    },
    Procedure {
        statement: Some(1),
        returns: &[Statement],
        values: 2,
        ..procedure(14, "sp_prepexecrpc", Purpose::Execute)
    },
    Procedure { takes: Some(Statement), ..procedure(15, "sp_unprepare", Purpose::Close) },
    procedure(u16::MAX, "sp_reset_connection", Purpose::Session),
    describing("sp_describe_first_result_set"),
    describing("sp_describe_undeclared_parameters"),
    describing("sp_describe_parameter_encryption"),
];

/// A procedure of the application or of the server, called by its name.
pub static NAMED: Procedure = Procedure { values: 0, ..procedure(u16::MAX, "rpc", Purpose::Execute) };

impl Procedure {
    fn numbered(number: u16) -> Option<&'static Procedure> {
        PROCEDURES.iter().find(|procedure| procedure.number == number && number != u16::MAX)
    }

    fn named(name: &str) -> &'static Procedure {
        let last = name.rsplit('.').next().unwrap_or_default().trim_matches(['[', ']']);
        PROCEDURES.iter().find(|procedure| procedure.name.eq_ignore_ascii_case(last)).unwrap_or(&NAMED)
    }
}

/// One call, as far as it was read.
#[derive(Debug)]
pub struct Call {
    pub procedure: &'static Procedure,
    /// As it was called, where it is none that is known.
    pub name: String,
    statement: Vec<u8>,
    statement_is_whole: bool,
    handle: Vec<u8>,
    /// The beginning of what it was called with.
    pub values: Vec<u8>,
}

impl Call {
    /// The statement that it brings.
    pub fn statement(&self) -> Option<String> {
        self.procedure.statement?;
        Some(text::statement(&self.statement, self.statement_is_whole))
    }

    /// The number that it is called with.
    pub fn handle(&self) -> Option<i32> {
        self.procedure.takes?;
        self.handle.as_slice().try_into().ok().map(i32::from_le_bytes)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Headers,
    Name,
    Package,
    /// A parameter, or the next call.
    Parameter,
    Value(Shape),
    /// How the value was encrypted on its own.
    Cipher,
    /// The number of a table's columns comes next, then so many of them.
    Table,
    TableColumns(u16),
    TableRows,
    TableRow(usize),
    Unknown,
}

/// A message of calls.
#[derive(Debug, Default)]
pub struct Calls {
    state: State,
    value: Value,
    carry: Carry,
    call: Option<Call>,
    /// How many parameters of the call have begun.
    parameters: usize,
    /// The value that comes is encrypted on its own.
    is_encrypted: bool,
    table: Vec<Shape>,
}

impl Calls {
    pub fn kept_bytes(&self) -> usize {
        let call = self.call.as_ref().map_or(0, |call| call.statement.capacity() + call.values.capacity());
        self.carry.kept_bytes() + call + self.table.capacity() * size_of::<Shape>()
    }

    /// What follows was not captured, or is not read.
    pub fn give_up(&mut self) {
        self.state = State::Unknown;
        self.carry.clear();
    }

    /// The next bytes of the message; calls that are whole with them go to `over`.
    pub fn read(&mut self, fresh: &[u8], layout: Layout, over: &mut Vec<Call>) {
        let bytes = self.carry.join(fresh);
        let mut cursor = Cursor::new(&bytes);
        while !cursor.is_empty() && self.state != State::Unknown {
            let before = cursor;
            match self.step(&mut cursor, layout, over) {
                Ok(true) => {}
                Ok(false) => break,
                Err(Unread::Need(need)) if need - before.position() <= PIECE_MAX => {
                    cursor = before;
                    break;
                }
                Err(_) => self.give_up(),
            }
        }
        let read = cursor.position();
        if self.state != State::Unknown && read < bytes.len() {
            self.carry.keep(bytes, read);
        }
    }

    /// The message is over: its last call, if one has begun.
    pub fn end(&mut self) -> Option<Call> {
        self.call.take()
    }

    fn step(&mut self, cursor: &mut Cursor<'_>, layout: Layout, over: &mut Vec<Call>) -> Result<bool, Unread> {
        match self.state {
            State::Headers => {
                if layout.is_wide() || has_headers(cursor.peek()) {
                    let length = cursor.u32_le("length of headers")?;
                    cursor.skip((length as usize).saturating_sub(4), "headers")?;
                }
                self.state = State::Name;
            }
            State::Name => {
                let call = call(cursor)?;
                over.extend(self.call.replace(call));
                self.parameters = 0;
                self.state = State::Package;
            }
            State::Package => {
                if layout.begins_with_package(*cursor, true)? {
                    let length = cursor.u16_le("length of a package")?;
                    cursor.skip(length.into(), "package")?;
                }
                self.state = State::Parameter;
            }
            State::Parameter => return self.parameter(cursor, layout).map(|()| true),
            State::Value(shape) => return Ok(self.read_value(shape, cursor)),
            State::Cipher => {
                skip_algorithm(cursor, layout, By::Client)?;
                cursor.skip(4 + 4 + 4 + 8 + 1, "key and version")?;
                self.state = State::Parameter;
            }
            State::Table => {
                let count = cursor.u16_le("number of columns")?;
                self.table.clear();
                self.state = match count {
                    u16::MAX | 0 => State::TableRows,
                    count if count <= COLUMNS_MAX => State::TableColumns(count),
                    _ => State::Unknown,
                };
            }
            State::TableColumns(left) => {
                let flags = skip_flags(cursor, layout)?;
                let shape = shape(cursor, layout, By::Client)?;
                names(cursor, 1)?;
                if shape == Shape::Table {
                    return Err(Unread::Unknown);
                }
                if flags & IS_DEFAULT == 0 && shape.takes_bytes() {
                    self.table.push(shape);
                }
                self.state = if left > 1 { State::TableColumns(left - 1) } else { State::TableRows };
            }
            State::TableRows => self.table_goes_on(cursor)?,
            State::TableRow(at) => return Ok(self.table_row(at, cursor)),
            State::Unknown => return Ok(false),
        }
        Ok(true)
    }

    fn parameter(&mut self, cursor: &mut Cursor<'_>, layout: Layout) -> Result<(), Unread> {
        let separates = |byte: u8| byte >= 0xfe || byte == 0x80 && !layout.is_wide();
        if cursor.peek_u8().is_some_and(separates) {
            cursor.skip(1, "separator")?;
            self.state = State::Name;
            return Ok(());
        }
        name(cursor)?;
        self.is_encrypted = cursor.u8("status")? & ENCRYPTED != 0;
        let shape = shape(cursor, layout, By::Client)?;
        self.state = if shape == Shape::Table { State::Table } else { State::Value(shape) };
        self.parameters += 1;
        Ok(())
    }

    fn read_value(&mut self, shape: Shape, cursor: &mut Cursor<'_>) -> bool {
        let at = self.parameters - 1;
        let Some(call) = &mut self.call else { return false };
        let procedure = call.procedure;
        let sink = match at {
            0 if procedure.takes.is_some() => Some(Sink { bytes: &mut call.handle, most: 8 }),
            at if procedure.statement == Some(at) => Some(Sink { bytes: &mut call.statement, most: 2 * TEXT_MAX + 2 }),
            at if at >= procedure.values => Some(Sink { bytes: &mut call.values, most: VALUES_MAX }),
            _ => None,
        };
        if !self.value.read(shape, cursor, sink) {
            return false;
        }
        call.statement_is_whole |= procedure.statement == Some(at);
        if at >= procedure.values && call.values.len() < VALUES_MAX {
            // `a`, `bc` is not `ab`, `c`.
            call.values.push(0);
        }
        self.state = if self.is_encrypted { State::Cipher } else { State::Parameter };
        true
    }

    /// The order of a table's columns, its next row or its end.
    fn table_goes_on(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Unread> {
        match cursor.u8("token of a table")? {
            // The end of what describes it, then that of its rows.
            0 if self.value == Value::Begins => {
                self.value = Value::Chunks;
            }
            0 => {
                self.value = Value::Begins;
                self.state = State::Parameter;
            }
            1 if self.value == Value::Chunks => {
                self.value = Value::Begins;
                self.state = State::TableRow(0);
            }
            kind @ (0x10 | 0x11) => {
                let count = usize::from(cursor.u16_le("number of columns")?);
                cursor.skip(count * if kind == 0x10 { 3 } else { 2 }, "columns")?;
            }
            _ => return Err(Unread::Unknown),
        }
        Ok(())
    }

    fn table_row(&mut self, begin: usize, cursor: &mut Cursor<'_>) -> bool {
        for (at, shape) in self.table.iter().enumerate().skip(begin) {
            let values = self.call.as_mut().map(|call| Sink { bytes: &mut call.values, most: VALUES_MAX });
            if !self.value.read(*shape, cursor, values) {
                self.state = State::TableRow(at);
                return false;
            }
        }
        self.value = Value::Chunks;
        self.state = State::TableRows;
        true
    }
}

fn call(cursor: &mut Cursor<'_>) -> Result<Call, Unread> {
    let length = cursor.u16_le("length of a name")?;
    let (procedure, name) = match length {
        u16::MAX => {
            let number = cursor.u16_le("number of a procedure")?;
            (Procedure::numbered(number).ok_or(Unread::Unknown)?, String::new())
        }
        1..=NAME_MAX => {
            let name = text::decode(cursor.take(2 * usize::from(length), "name")?);
            (Procedure::named(&name), name)
        }
        _ => return Err(Unread::Unknown),
    };
    cursor.skip(2, "options")?;
    Ok(Call {
        procedure,
        name,
        statement: Vec::new(),
        statement_is_whole: false,
        handle: Vec::new(),
        values: Vec::new(),
    })
}
