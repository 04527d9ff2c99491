//! The status vector: how an answer says that all went well, or what did not.
//!
//! ```text
//! 1 gds code, its arguments …, [1 gds code, arguments …]…, [18 warning, arguments …]…, 0
//! 2 text buffer | 4 number | 5 interpreted text buffer | 7 15 17 errno | 19 SQLSTATE buffer
//! ```
//!
//! Success is `1 0 0`. There is no count: the vector ends with its 0. Texts stay with the client's library; the wire
//! has codes and arguments only, so the most frequent texts are kept here (codes as in Firebird's `iberror.h`).

use super::wire::{Stop, Wire, lost};
use crate::protocols::Error;

/// Items that any server has reason to send.
const ITEMS_MAX: usize = 512;
const TEXT_MAX: usize = 64 << 10;
/// The longest error text, in characters.
const MESSAGE_MAX: usize = 1000;
/// Codes of the engine begin with facility 20.
const FACILITIES: std::ops::RangeInclusive<u32> = 0x1400_0000..=0x14ff_ffff;

const END: u32 = 0;
const GDS: u32 = 1;
const TEXT: u32 = 2;
const NUMBER: u32 = 4;
const INTERPRETED: u32 = 5;
const WARNING: u32 = 18;
const SQLSTATE: u32 = 19;

/// What a status vector says, empty for success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status<'a> {
    errors: Vec<Part<'a>>,
    sqlstate: Option<&'a [u8]>,
}

/// A code with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part<'a> {
    code: u32,
    arguments: Vec<Argument<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument<'a> {
    Text(&'a [u8]),
    Number(i32),
}

impl<'a> Status<'a> {
    pub fn read(wire: &mut Wire<'a>) -> Result<Status<'a>, Stop> {
        let mut status = Status::default();
        let mut warning = false;
        for _ in 0..ITEMS_MAX {
            match wire.number("status")? {
                END => return Ok(status),
                GDS => status.code(wire.number("gds code")?)?,
                SQLSTATE => status.sqlstate = Some(wire.buffer(TEXT_MAX, "SQLSTATE")?),
                WARNING => {
                    wire.number("warning")?;
                    warning = true;
                }
                TEXT | INTERPRETED => {
                    let text = wire.buffer(TEXT_MAX, "status text")?;
                    status.argument(Argument::Text(text), warning);
                }
                NUMBER | 7 | 15 | 17 => {
                    let number = wire.number("status number")? as i32;
                    status.argument(Argument::Number(number), warning);
                }
                other => return lost(format!("no status vector has an item {other}")),
            }
        }
        lost("a status vector without end")
    }

    fn code(&mut self, code: u32) -> Result<(), Stop> {
        if code != 0 && !FACILITIES.contains(&code) {
            return lost(format!("no gds code is {code}"));
        }
        if code != 0 {
            self.errors.push(Part { code, arguments: Vec::new() });
        }
        Ok(())
    }

    fn argument(&mut self, argument: Argument<'a>, of_warning: bool) {
        if let (false, Some(part)) = (of_warning, self.errors.last_mut()) {
            part.arguments.push(argument);
        }
    }

    /// The error as people know it. `None` for success.
    pub fn error(&self) -> Option<Box<Error>> {
        const GENERAL: [u32; 2] = [335_544_569, 335_544_436];
        let telling = self.errors.iter().find(|part| !GENERAL.contains(&part.code)).or(self.errors.first())?;
        let code = match self.sqlstate() {
            Some(state) => format!("{} ({state})", telling.code),
            None => telling.code.to_string(),
        };
        let mut message = String::new();
        for part in &self.errors {
            if !message.is_empty() {
                message.push_str("; ");
            }
            message.push_str(&part.text());
            if message.len() > MESSAGE_MAX {
                break;
            }
        }
        Some(Box::new(Error { code, message: message.chars().take(MESSAGE_MAX).collect() }))
    }

    /// What the server sent, or what the first code that has one stands for.
    fn sqlstate(&self) -> Option<String> {
        if let Some(told) = self.sqlstate {
            return Some(String::from_utf8_lossy(told).into_owned());
        }
        let known = |part: &Part<'_>| known(part.code).map(|known| known.sqlstate);
        let states = || self.errors.iter().filter_map(known);
        let specific = states().find(|state| !["42000", "HY000", "22000"].contains(state));
        specific.or(states().next()).map(str::to_owned)
    }
}

impl Part<'_> {
    fn text(&self) -> String {
        let Some(known) = known(self.code) else {
            let arguments: Vec<_> = self.arguments.iter().map(|argument| format!("\"{argument}\"")).collect();
            return format!("gds {}: {}", self.code, arguments.join(" ")).trim_end_matches([':', ' ']).to_owned();
        };
        let fill = |text: String, (at, argument): (usize, &Argument<'_>)| {
            text.replace(&format!("@{}", at + 1), &argument.to_string())
        };
        self.arguments.iter().take(9).enumerate().fold(known.text.to_owned(), fill)
    }
}

impl std::fmt::Display for Argument<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Argument::Text(text) => formatter.write_str(&String::from_utf8_lossy(text)),
            Argument::Number(number) => number.fmt(formatter),
        }
    }
}

/// A code that is met often.
struct Known {
    code: u32,
    sqlstate: &'static str,
    text: &'static str,
}

const fn error(number: u32, sqlstate: &'static str, text: &'static str) -> Known {
    Known { code: 0x1400_0000 + number, sqlstate, text }
}

fn known(code: u32) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.code == code)
}

/// Numbers within the facility, in their order. The general ones (569, 436) have no SQLSTATE of their own, but 42000
/// where nothing says more.
const KNOWN: &[Known] = &[
    error(1, "22000", "arithmetic exception, numeric overflow, or string truncation"),
    error(4, "08003", "invalid database handle (no active connection)"),
    error(12, "0B000", "invalid transaction handle (expecting explicit transaction start)"),
    error(14, "22018", "conversion error from string \"@1\""),
    error(16, "40001", "deadlock"),
    error(24, "08001", "I/O error during \"@1\" operation for file \"@2\""),
    error(25, "40001", "lock conflict on no wait transaction"),
    error(27, "23000", "validation error for column @1, value \"@2\""),
    error(28, "22000", "no current record for fetch operation"),
    error(29, "23000", "attempt to store duplicate value (visible to active transactions) in unique index \"@1\""),
    error(31, "42000", "unsuccessful metadata update"),
    error(32, "28000", "no permission for @1 access to @2 @3"),
    error(39, "42000", "attempted update of read-only column @1"),
    error(41, "25006", "attempted update during read-only transaction"),
    error(55, "08001", "unavailable database"),
    error(62, "HY000", "@1"),
    error(75, "42S02", "relation @1 is not defined"),
    error(101, "08004", "connection rejected by remote interface"),
    error(131, "40001", "update conflicts with concurrent update"),
    error(146, "23000", "violation of FOREIGN KEY constraint \"@1\" on table \"@2\""),
    error(152, "28000", "your user name and password are not defined"),
    error(190, "40001", "lock time-out on wait transaction"),
    error(197, "HY000", "exception @1"),
    error(208, "08006", "database @1 shutdown"),
    error(238, "23000", "operation violates CHECK constraint @1 on view or table @2"),
    error(250, "42000", "invalid command"),
    error(258, "42S22", "column unknown"),
    error(260, "42S02", "table unknown"),
    error(261, "42000", "procedure unknown"),
    error(314, "42000", "token unknown - line @1, column @2"),
    error(328, "08006", "connection lost to pipe server"),
    error(345, "23000", "violation of PRIMARY or UNIQUE KEY constraint \"@1\" on table \"@2\""),
    error(401, "08001", "unable to complete network request to host \"@1\""),
    error(406, "08006", "error reading data from the connection"),
    error(407, "08006", "error writing data to the connection"),
    error(458, "22012", "integer divide by zero: the code attempted to divide an integer value by zero"),
    error(474, "HY008", "operation was cancelled"),
    error(518, "23000", "foreign key reference target does not exist"),
    error(519, "23000", "foreign key references are present for the record"),
    error(528, "HY000", "@1"),
    error(531, "42000", "unexpected end of command - line @1, column @2"),
    error(536, "08006", "connection shutdown"),
    error(594, "22001", "string right truncation"),
    error(596, "22003", "numeric value is out of range"),
    error(752, "23000", "problematic key value is @1"),
    error(713, "22001", "expected length @1, actual @2"),
    error(558, "40001", "concurrent transaction number is @1"),
    error(116, "42000", "SQL error code = @1"),
    error(249, "42000", "dynamic SQL error"),
];

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
