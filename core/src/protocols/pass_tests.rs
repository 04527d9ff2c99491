//! Messages that are passed over at once mean what they mean one by one, and leave the same behind.

use super::{Context, Decoder, Frame, Meaning, Message, Passed};
use crate::session::Session;
use crate::side::Side;
use crate::sql::Statements;

/// What a dialogue means, read with [`Decoder::pass`] or message by message. What only goes on is added up.
pub fn meanings(decoder: &mut dyn Decoder, turns: &[(Side, Vec<u8>)], passes: bool) -> Vec<String> {
    let (mut session, mut statements) = (Session::default(), Statements::new(true));
    let (mut told, mut going_on) = (Vec::new(), Passed::default());
    for (side, bytes) in turns {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let mut context = Context { session: &mut session, statements: &mut statements, switch: None };
            let passed = if passes { decoder.pass(*side, rest, &mut context) } else { Passed::default() };
            if passed.length > 0 {
                rest = &rest[passed.length..];
                let length = passed.length;
                going_on.add_meaning(length, passed.meaning(*side));
                told.extend(ended(&mut going_on));
                continue;
            }
            let read = match decoder.frame(*side, rest) {
                Ok(Frame::Message { head, length }) if length <= rest.len() as u64 => {
                    let message = Message { side: *side, bytes: &rest[..head], length, cut: false };
                    rest = &rest[length as usize..];
                    decoder.message(&message, &mut context).map(|meaning| (meaning, length as usize))
                }
                Ok(_) => break,
                Err(lost) => Err(lost),
            };
            match (side, read) {
                (Side::Server, Ok((meaning @ (Meaning::More | Meaning::Rows(_)), length)))
                | (Side::Client, Ok((meaning @ (Meaning::MoreWithoutWait | Meaning::Becomes { .. }), length))) => {
                    going_on.add_meaning(length, meaning);
                }
                (Side::Server, Ok((meaning @ Meaning::Done(_), length))) => {
                    going_on.add_meaning(length, meaning);
                    told.extend(ended(&mut going_on));
                }
                (_, Ok((meaning, length))) => {
                    told.push(format!("{:?}; {meaning:?}, {length} bytes", std::mem::take(&mut going_on)));
                }
                (_, Err(lost)) => {
                    told.push(format!("{:?}; {lost:?}", std::mem::take(&mut going_on)));
                    decoder.resume();
                    break;
                }
            }
        }
        told.push(format!("{:?} of the {side:?}", std::mem::take(&mut going_on)));
    }
    told.push(format!("{session:?}"));
    told
}

/// What went on, where it has come to its end.
fn ended(going_on: &mut Passed) -> Option<String> {
    going_on.end.is_some().then(|| format!("{:?}", std::mem::take(going_on)))
}
