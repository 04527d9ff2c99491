//! How far the answer to one command has come. State decides what a packet is, not its first byte alone.
//!
//! ```text
//! OK | ERR                                                                   most commands
//! count | definitions | (EOF) | rows | EOF, or OK that begins with FE        a result set; (EOF) without DEPRECATE_EOF
//! … with MORE_RESULTS_EXIST in its status: another result follows            several statements, CALL
//! FB file → contents … empty packet → OK                                     LOCAL INFILE
//! 00 statement u32 | columns u16 | parameters u16 | 00 | warnings u16        prepare; then both groups of definitions,
//!                                                                            each with its (EOF)
//! ```

use super::commands::Answer;
use super::framing::{self, CURSOR_EXISTS, Completion, MORE_RESULTS_EXIST, Packet, lenenc};
use crate::cursor::{Cursor, Lost, TooShort};
use crate::protocols::Outcome;
use crate::sql::Sql;

const LOCAL_INFILE: u8 = 0xfb;
/// A count of nine bytes and a flag.
const LONGEST_HEADER: u32 = 10;
/// No EOF is longer than this, and hardly an OK.
const LONGEST_END: u32 = 256;

/// What is true of the whole connection and decides how a result set is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// No EOF between definitions and rows; `None` until the login or the first result set has shown it.
    pub deprecate_eof: Option<bool>,
}

/// What the next packet of the server will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The first packet of a response.
    First(Answer),
    /// A column definition, and how many are left, this one included.
    Definition {
        left: u64,
        then: Then,
    },
    /// The EOF behind the definitions, where there is one.
    DefinitionsEnd {
        then: Then,
    },
    Row,
    /// The client's turn: the contents of a local file.
    Infile,
    /// The login's dialogue: either side may be next.
    Authentication,
    /// The capture has cut off what would have told.
    Unreadable,
}

/// What follows the definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Rows,
    /// The second group of a prepare's definitions.
    Columns(u16),
    Nothing,
}

/// What is true once the command has succeeded.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Success {
    #[default]
    Nothing,
    LoggedIn,
    Database(Option<String>),
    User {
        user: Option<String>,
        database: Option<String>,
    },
    ConnectionReset,
    Prepared(Option<Sql>),
}

/// What a packet did to the response.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    More,
    Row,
    Done(Outcome),
}

/// The answer to one command, as far as it has come.
#[derive(Clone, Debug)]
pub struct Response {
    pub reply: Reply,
    /// What the next packet of this exchange must be numbered.
    pub sequence: u8,
    /// The packet before was full: the next one belongs to it.
    pub continues: bool,
    pub success: Success,
    /// A default database that an OK packet reports.
    pub database: Option<String>,
    /// What a backslash in later statements means, as the server's status says.
    pub escapes: Option<bool>,
    /// Whether a transaction is open now, as the server's status says.
    pub transaction: Option<&'static str>,
    /// The command may leave its rows at the server.
    pub cursor: bool,
    /// Rows are data, not the server's bookkeeping.
    pub counts_rows: bool,
    /// A prepared statement's number and how many parameters it has, once the server has told.
    pub prepared: Option<(u32, u16)>,
    /// OK reports changed rows, and further results.
    results: bool,
    had_rows: bool,
    affected_rows: Option<u64>,
}

impl Response {
    pub fn new(answer: Answer, sequence: u8) -> Response {
        let reply = match answer {
            Answer::Authentication => Reply::Authentication,
            Answer::Unknown => Reply::Unreadable,
            _ => Reply::First(answer),
        };
        Response {
            reply,
            sequence,
            continues: false,
            success: Success::default(),
            database: None,
            escapes: None,
            transaction: None,
            cursor: false,
            counts_rows: true,
            prepared: None,
            results: answer == Answer::Results,
            had_rows: false,
            affected_rows: None,
        }
    }

    /// The client speaks inside this exchange.
    pub fn is_dialogue(&self) -> bool {
        matches!(self.reply, Reply::Infile | Reply::Authentication)
    }

    /// Take in a whole packet that is certainly only more of the answer: is it a row that counts? `None`: it may be
    /// anything else.
    #[inline]
    pub fn pass(&mut self, packet: &Packet<'_>, layout: &mut Layout) -> Option<bool> {
        let first = packet.first().filter(|first| *first != framing::ERR)?;
        match self.reply {
            _ if self.continues || packet.continues() => None,
            Reply::Row => (first != framing::EOF).then_some(self.counts_rows),
            Reply::Definition { left, then: Then::Rows } if !packet.is_eof() => {
                self.reply = after_definition(left, Then::Rows, layout);
                Some(false)
            }
            Reply::DefinitionsEnd { then: Then::Rows } if packet.is_eof() && !self.cursor => {
                layout.deprecate_eof = Some(false);
                self.reply = Reply::Row;
                Some(false)
            }
            Reply::First(Answer::Results) => {
                self.result_set(ResultHeader::read(packet)?, layout);
                Some(false)
            }
            _ => None,
        }
    }

    /// Is a whole packet that does not [`pass`](Response::pass) certainly the OK or EOF behind a result, with nothing
    /// else to come of it?
    #[inline]
    pub fn is_completed_by(&self, packet: &Packet<'_>) -> bool {
        let completes = match self.reply {
            Reply::Row => packet.ends_rows(),
            Reply::First(Answer::Results) => packet.first() == Some(framing::OK) && !packet.continues(),
            _ => false,
        };
        completes && !self.continues && matches!(self.success, Success::Nothing)
    }

    /// The next packet of the server.
    pub fn step(&mut self, packet: &Packet<'_>, layout: &mut Layout) -> Result<Step, Lost> {
        let Some(first) = packet.first() else {
            return self.unseen(packet, layout);
        };
        match (self.reply, first) {
            (_, framing::ERR) if packet.is_progress() => Ok(Step::More),
            (_, framing::ERR) => {
                let error = Some(packet.error());
                Ok(Step::Done(Outcome { error, ..self.outcome() }))
            }
            (Reply::First(answer), _) => self.first(answer, first, packet, layout),
            (Reply::Definition { left, then }, _) => self.definition(left, then, packet, layout),
            (Reply::DefinitionsEnd { then }, _) => self.definitions_end(then, packet, layout),
            (Reply::Row, _) => Ok(self.row_or_end(packet)),
            (Reply::Infile, _) => Err(Lost("the server answers before the local file has ended".into())),
            (Reply::Authentication, framing::OK) => Ok(self.complete(packet)),
            (Reply::Authentication | Reply::Unreadable, _) => Ok(Step::More),
        }
    }

    /// A packet of which not even the first byte is there.
    fn unseen(&mut self, packet: &Packet<'_>, layout: &Layout) -> Result<Step, Lost> {
        match self.reply {
            Reply::Definition { left, then } => self.definition(left, then, packet, layout),
            Reply::Row if packet.length > LONGEST_END => Ok(self.row()),
            Reply::Authentication => Ok(Step::More),
            _ => Ok(self.unreadable()),
        }
    }

    fn unreadable(&mut self) -> Step {
        self.reply = Reply::Unreadable;
        Step::More
    }

    fn first(&mut self, answer: Answer, first: u8, packet: &Packet<'_>, layout: &Layout) -> Result<Step, Lost> {
        match (answer, first) {
            (Answer::Results, _) => self.first_of_results(first, packet, layout),
            (Answer::Text, _) => Ok(Step::Done(self.outcome())),
            (Answer::Prepared, framing::OK) => Ok(self.prepared(packet)),
            (Answer::Rows, _) => {
                self.begin_rows();
                Ok(self.row_or_end(packet))
            }
            (Answer::Fields, framing::EOF) => Ok(self.complete(packet)),
            (Answer::Fields, _) => Ok(Step::More),
            (Answer::Verdict, framing::OK | framing::EOF) => Ok(self.complete(packet)),
            _ => Err(unexpected(first)),
        }
    }

    fn first_of_results(&mut self, first: u8, packet: &Packet<'_>, layout: &Layout) -> Result<Step, Lost> {
        match (ResultHeader::read(packet), first) {
            (Some(header), _) => Ok(self.result_set(header, layout)),
            (None, framing::OK | framing::EOF) => Ok(self.complete(packet)),
            (None, LOCAL_INFILE) => {
                self.reply = Reply::Infile;
                Ok(Step::More)
            }
            (None, _) if packet.length <= LONGEST_HEADER && !packet.is_whole() => Ok(self.unreadable()),
            (None, _) => Err(unexpected(first)),
        }
    }

    fn begin_rows(&mut self) {
        self.had_rows = true;
        self.reply = Reply::Row;
    }

    fn row_or_end(&mut self, packet: &Packet<'_>) -> Step {
        if packet.ends_rows() { self.complete(packet) } else { self.row() }
    }

    /// Where the definitions are left out, the EOF behind them is not.
    fn result_set(&mut self, header: ResultHeader, layout: &Layout) -> Step {
        self.begin_rows();
        self.reply = match header.definitions {
            true => Reply::Definition { left: header.columns, then: Then::Rows },
            false => after_last_definition(Then::Rows, layout),
        };
        Step::More
    }

    fn prepared(&mut self, packet: &Packet<'_>) -> Step {
        let Ok(prepared) = PrepareOk::read(packet) else {
            return self.unreadable();
        };
        self.prepared = Some((prepared.id, prepared.parameters));
        let (left, then) = match (prepared.parameters, prepared.columns) {
            (0, columns) => (columns, Then::Nothing),
            (parameters, 0) => (parameters, Then::Nothing),
            (parameters, columns) => (parameters, Then::Columns(columns)),
        };
        if left == 0 || !prepared.definitions {
            return Step::Done(self.outcome());
        }
        self.reply = Reply::Definition { left: left.into(), then };
        Step::More
    }

    fn definition(&mut self, left: u64, then: Then, packet: &Packet<'_>, layout: &Layout) -> Result<Step, Lost> {
        if packet.is_eof() {
            return Err(Lost(format!("the definitions end while {left} are still to come")));
        }
        self.reply = after_definition(left, then, layout);
        // Where it is not known yet whether an EOF follows, it is not waited for unless the client waits for something else, too.
        let ends = self.reply == Reply::DefinitionsEnd { then: Then::Nothing } && layout.deprecate_eof != Some(false);
        Ok(if ends { Step::Done(self.outcome()) } else { Step::More })
    }

    fn definitions_end(&mut self, then: Then, packet: &Packet<'_>, layout: &mut Layout) -> Result<Step, Lost> {
        let eof = packet.is_eof();
        if !eof && layout.deprecate_eof == Some(false) {
            return Err(Lost("no EOF follows the column definitions".into()));
        }
        layout.deprecate_eof = Some(!eof);
        match then {
            Then::Nothing => Ok(Step::Done(self.outcome())),
            Then::Columns(columns) => {
                self.reply = Reply::Definition { left: columns.into(), then: Then::Nothing };
                if eof { Ok(Step::More) } else { self.definition(columns.into(), Then::Nothing, packet, layout) }
            }
            Then::Rows => {
                self.reply = Reply::Row;
                Ok(if eof { self.rows_begin(packet) } else { self.row_or_end(packet) })
            }
        }
    }

    /// The EOF between definitions and rows; no rows follow it where they stay at the server, to be fetched.
    fn rows_begin(&mut self, eof: &Packet<'_>) -> Step {
        if self.cursor && Completion::read(eof).has(CURSOR_EXISTS) { self.complete(eof) } else { Step::More }
    }

    fn row(&mut self) -> Step {
        if self.counts_rows { Step::Row } else { Step::More }
    }

    /// OK or EOF: the end, or the end of one result among several.
    fn complete(&mut self, packet: &Packet<'_>) -> Step {
        let completion = Completion::read(packet);
        if self.results && packet.first() == Some(framing::OK) {
            *self.affected_rows.get_or_insert(0) += completion.affected_rows;
        }
        let further = self.results && completion.has(MORE_RESULTS_EXIST);
        self.escapes = completion.escapes();
        self.transaction = completion.transaction;
        self.database = completion.database.or(self.database.take());
        if further {
            self.reply = Reply::First(Answer::Results);
            return Step::More;
        }
        Step::Done(self.outcome())
    }

    fn outcome(&self) -> Outcome {
        let rows = (self.had_rows && self.counts_rows).then_some(0);
        Outcome { rows, affected_rows: self.affected_rows, error: None }
    }
}

fn unexpected(first: u8) -> Lost {
    Lost(format!("an answer cannot begin with {first:#04x} here"))
}

/// What follows a definition where so many were left.
fn after_definition(left: u64, then: Then, layout: &Layout) -> Reply {
    match left {
        0 | 1 => after_last_definition(then, layout),
        _ => Reply::Definition { left: left - 1, then },
    }
}

/// What follows the last definition of a group.
fn after_last_definition(then: Then, layout: &Layout) -> Reply {
    match (layout.deprecate_eof, then) {
        (Some(true), Then::Rows) => Reply::Row,
        (Some(true), Then::Columns(columns)) => Reply::Definition { left: columns.into(), then: Then::Nothing },
        _ => Reply::DefinitionsEnd { then },
    }
}

/// The first packet of a result set: how many columns, and whether their definitions follow.
///
/// A client that can do without the definitions gets one more byte: MariaDB's stands behind the count, and so does
/// MySQL's, whose documentation puts it before. A count is never 0, so it shows which is which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultHeader {
    columns: u64,
    definitions: bool,
}

impl ResultHeader {
    /// `None` for what is longer or begins like an OK packet, which has seven bytes (before MySQL 4.1 three or more).
    pub fn read(packet: &Packet<'_>) -> Option<ResultHeader> {
        if packet.length > LONGEST_HEADER || !packet.is_whole() {
            return None;
        }
        match packet.payload {
            [0, 1..=0xfa] | [0, 0xfc, _, _] => ResultHeader::flag_first(packet.payload).ok(),
            [0 | LOCAL_INFILE | framing::EOF, ..] => None,
            [columns @ 1..=0xfa] => Some(ResultHeader { columns: u64::from(*columns), definitions: true }),
            [1, 1..=0xfa] | [1, 0xfc, _, _] => ResultHeader::flag_first(packet.payload).ok(),
            _ => ResultHeader::count_first(packet.payload).ok(),
        }
    }

    fn flag_first(payload: &[u8]) -> Result<ResultHeader, TooShort> {
        let mut cursor = Cursor::new(payload);
        let definitions = cursor.u8("definitions follow")? != 0;
        Ok(ResultHeader { columns: lenenc(&mut cursor, "number of columns")?, definitions })
    }

    fn count_first(payload: &[u8]) -> Result<ResultHeader, TooShort> {
        let mut cursor = Cursor::new(payload);
        let columns = lenenc(&mut cursor, "number of columns")?;
        Ok(ResultHeader { columns, definitions: cursor.u8("definitions follow").unwrap_or(1) != 0 })
    }
}

/// The first packet of the answer to a prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PrepareOk {
    id: u32,
    columns: u16,
    parameters: u16,
    /// A client that can do without the definitions may be spared them.
    definitions: bool,
}

impl PrepareOk {
    fn read(packet: &Packet<'_>) -> Result<PrepareOk, TooShort> {
        let mut cursor = Cursor::new(packet.payload);
        cursor.skip(1, "OK header")?;
        let id = cursor.u32_le("statement id")?;
        let columns = cursor.u16_le("number of columns")?;
        let parameters = cursor.u16_le("number of parameters")?;
        let definitions = cursor.skip(3, "warnings").and_then(|()| cursor.u8("definitions follow")).unwrap_or(1) != 0;
        Ok(PrepareOk { id, columns, parameters, definitions })
    }
}
