use proptest::prelude::*;

use super::*;
use crate::drivers;
use crate::protocols::pass_tests;
use crate::session::Session;
use crate::sql::{Sql, Statements};
use Side::{Client, Server};

// --- bytes ----------------------------------------------------------------------------------------------------------

fn tagged(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn untagged(code: u32, body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 8).to_be_bytes()[..], &code.to_be_bytes(), body].concat()
}

fn startup() -> Vec<u8> {
    untagged(196_608, b"user\0ann\0database\0shop\0application_name\0till\0\0")
}

fn query(sql: &str) -> Vec<u8> {
    tagged(b'Q', format!("{sql}\0").as_bytes())
}

fn parse(name: &str, sql: &str) -> Vec<u8> {
    tagged(b'P', format!("{name}\0{sql}\0\0\0").as_bytes())
}

fn bind(portal: &str, statement: &str) -> Vec<u8> {
    tagged(b'B', format!("{portal}\0{statement}\0\0\0\0\0\0\0").as_bytes())
}

fn describe(kind: char, name: &str) -> Vec<u8> {
    tagged(b'D', format!("{kind}{name}\0").as_bytes())
}

fn execute(portal: &str) -> Vec<u8> {
    tagged(b'E', format!("{portal}\0\0\0\0\0").as_bytes())
}

fn close(kind: char, name: &str) -> Vec<u8> {
    tagged(b'C', format!("{kind}{name}\0").as_bytes())
}

fn sync() -> Vec<u8> {
    tagged(b'S', b"")
}

fn flush() -> Vec<u8> {
    tagged(b'H', b"")
}

fn ready() -> Vec<u8> {
    tagged(b'Z', b"I")
}

fn complete(tag: &str) -> Vec<u8> {
    tagged(b'C', format!("{tag}\0").as_bytes())
}

fn rows(count: usize) -> Vec<u8> {
    tagged(b'D', &[0, 1, 0, 0, 0, 1, b'x']).repeat(count)
}

fn error(severity: &str, state: &str) -> Vec<u8> {
    tagged(b'E', format!("S{severity}\0V{severity}\0C{state}\0Mno 'secret' here\0\0").as_bytes())
}

/// Parse, Bind, Describe, Execute of an unnamed statement.
fn unnamed(sql: &str) -> Vec<u8> {
    [parse("", sql), bind("", ""), describe('P', ""), execute("")].concat()
}

/// The answers to `unnamed`, but for ReadyForQuery.
fn answers(count: usize, tag: &str) -> Vec<u8> {
    let description = tagged(b'T', &[0, 1]);
    [tagged(b'1', b""), tagged(b'2', b""), description, rows(count), complete(tag)].concat()
}

// --- a dialogue -----------------------------------------------------------------------------------------------------

/// A decoder fed with bytes, as the conversation does it.
struct Fed {
    decoder: Postgresql,
    session: Session,
    statements: Statements,
    rest: [Vec<u8>; 2],
    meanings: Vec<Meaning>,
    switched: Option<Layer>,
}

impl Fed {
    fn new(phase: Phase) -> Fed {
        Fed {
            decoder: Postgresql::new(phase),
            session: Session::default(),
            statements: Statements::new(true),
            rest: Default::default(),
            meanings: Vec::new(),
            switched: None,
        }
    }

    fn in_session() -> Fed {
        Fed::new(Phase::Session)
    }

    fn feed(&mut self, side: Side, bytes: &[u8]) -> Result<(), Lost> {
        self.rest[side as usize].extend_from_slice(bytes);
        while self.switched.is_none() && !self.rest[side as usize].is_empty() {
            let waiting = std::mem::take(&mut self.rest[side as usize]);
            let used = self.one(side, &waiting)?;
            self.rest[side as usize] = waiting[used..].to_vec();
            if used == 0 {
                break;
            }
        }
        Ok(())
    }

    fn one(&mut self, side: Side, bytes: &[u8]) -> Result<usize, Lost> {
        let Frame::Message { head, length } = self.decoder.frame(side, bytes)? else { return Ok(0) };
        assert!(head >= 1 && head as u64 <= length && head <= 80 << 10);
        if bytes.len() < length as usize {
            return Ok(0);
        }
        let mut context = Context { session: &mut self.session, statements: &mut self.statements, switch: None };
        let message = Message { side, bytes: &bytes[..head], length, cut: false };
        let meaning = self.decoder.message(&message, &mut context)?;
        self.switched = context.switch;
        self.meanings.push(meaning);
        Ok(length as usize)
    }

    fn client(&mut self, bytes: &[u8]) -> Vec<String> {
        self.told(Client, bytes)
    }

    fn server(&mut self, bytes: &[u8]) -> Vec<String> {
        self.told(Server, bytes)
    }

    fn told(&mut self, side: Side, bytes: &[u8]) -> Vec<String> {
        let before = self.meanings.len();
        self.feed(side, bytes).unwrap();
        let meanings = self.meanings[before..].to_vec();
        meanings.iter().flat_map(|meaning| self.words(meaning)).collect()
    }

    /// A meaning as a test wants to read it; what only goes on is left out.
    fn words(&self, meaning: &Meaning) -> Vec<String> {
        match meaning {
            Meaning::Request(request) | Meaning::Turn(request) => {
                vec![format!("{} {:?}{}", request.command, request.awaits, self.text(request.sql))]
            }
            Meaning::Becomes { command, sql, .. } => vec![format!("becomes {command}{}", self.text(*sql))],
            Meaning::Rows(0) | Meaning::More | Meaning::MoreWithoutWait => Vec::new(),
            Meaning::Rows(rows) => vec![format!("rows {rows}")],
            Meaning::Failed(error) => vec![format!("failed {}", error.code)],
            Meaning::Done(outcome) => vec![done(outcome)],
            Meaning::Several(meanings) => meanings.iter().flat_map(|meaning| self.words(meaning)).collect(),
            other => vec![format!("{other:?}").to_lowercase()],
        }
    }

    fn text(&self, sql: Option<Sql>) -> String {
        sql.map_or(String::new(), |sql| format!(": {}", self.statements.text(sql.text)))
    }
}

fn done(outcome: &Outcome) -> String {
    let affected = outcome.affected_rows.map_or(String::new(), |rows| format!(" affected {rows}"));
    let error = outcome.error.as_ref().map_or(String::new(), |error| format!(" {}", error.code));
    format!("done{affected}{error}")
}

// --- start-up -------------------------------------------------------------------------------------------------------

#[test]
fn the_reply_to_an_ssl_request_is_one_bare_byte() {
    let mut fed = Fed::new(Phase::Startup);
    assert_eq!(fed.client(&untagged(80_877_103, b"")), ["tls Answer"]);
    assert_eq!(fed.server(b"N"), ["done"]);
    assert_eq!(fed.client(&startup()), ["authenticate Answer"]);
}

#[test]
fn a_client_that_asks_for_tls_first_is_not_taken_for_one_that_does_not() {
    let startup = untagged(196_608, b"user\0ann\0database\0shop\0client_encoding\0UTF8\0\0");
    let driver = |asks_for_tls: bool| {
        let mut fed = Fed::new(Phase::Startup);
        if asks_for_tls {
            fed.client(&untagged(80_877_103, b""));
            fed.server(b"N");
        }
        fed.client(&startup);
        drivers::driver("postgresql", &fed.session.client, None).map(|known| known.name.to_owned())
    };
    assert_eq!(driver(false).as_deref(), Some("pg (Node.js)"));
    assert_eq!(driver(true), None, "libpq sends the same behind its SSLRequest");
}

#[test]
fn tls_goes_on_in_the_exchange_that_asked_for_it() {
    let mut fed = Fed::new(Phase::Startup);
    fed.client(&untagged(80_877_103, b""));
    assert_eq!(fed.server(b"S"), [""; 0]);
    assert_eq!(fed.switched, Some(Layer::Tls));
}

#[test]
fn gss_encryption_is_refused_before_tls_is() {
    let mut fed = Fed::new(Phase::Startup);
    assert_eq!(fed.client(&untagged(80_877_104, b"")), ["gss Answer"]);
    assert_eq!(fed.server(b"N"), ["done"]);
    assert_eq!(fed.client(&untagged(80_877_103, b"")), ["tls Answer"]);
    assert_eq!(fed.server(b"N"), ["done"]);
}

#[test]
fn accepted_gss_encryption_cannot_be_read() {
    let mut fed = Fed::new(Phase::Startup);
    fed.client(&untagged(80_877_104, b""));
    fed.server(b"G");
    assert_eq!(fed.switched, Some(Layer::Encrypted { login: &["startup"] }));
}

#[test]
fn the_whole_authentication_is_one_exchange() {
    let mut fed = Fed::new(Phase::Startup);
    assert_eq!(fed.client(&startup()), ["authenticate Answer"]);
    assert_eq!(fed.server(&tagged(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0")), [""; 0]);
    assert_eq!(fed.client(&tagged(b'p', b"SCRAM-SHA-256\0\0\0\0\0")), [""; 0]);
    fed.server(&tagged(b'R', b"\0\0\0\x0br=..."));
    fed.client(&tagged(b'p', b"c=biws"));
    let status = tagged(b'S', b"server_version\x0018.1 (Debian)\0");
    let last = [tagged(b'R', b"\0\0\0\x0cv=..."), tagged(b'R', b"\0\0\0\0"), status, tagged(b'K', &[7; 40]), ready()];
    assert_eq!(fed.server(&last.concat()), ["done"]);
    assert_eq!(fed.session.server_version.as_deref(), Some("18.1 (Debian)"));
    assert_eq!(fed.session.user.as_deref(), Some("ann"));
    assert_eq!(fed.session.database.as_deref(), Some("shop"));
    assert_eq!(fed.session.application.as_deref(), Some("till"));
}

#[test]
fn without_a_database_it_is_the_user_s() {
    let mut fed = Fed::new(Phase::Startup);
    fed.client(&untagged(196_610, b"user\0ann\0\0"));
    assert_eq!(fed.session.database.as_deref(), Some("ann"));
}

#[test]
fn a_refused_login_is_complete_whatever_language_the_server_speaks() {
    let mut fed = Fed::new(Phase::Startup);
    fed.client(&startup());
    assert_eq!(fed.server(&tagged(b'E', "SВАЖНО\0C28P01\0Mпароль\0\0".as_bytes())), ["done 28P01"]);
}

#[test]
fn a_server_out_of_processes_answers_in_protocol_2() {
    let mut fed = Fed::new(Phase::Startup);
    fed.client(&startup());
    assert_eq!(fed.server(b"EFATAL:  could not fork new process\n\0"), ["done FATAL"]);
}

#[test]
fn a_cancel_request_is_not_answered_whatever_the_length_of_its_key() {
    for key in [4, 32, 256] {
        let mut fed = Fed::new(Phase::Startup);
        assert_eq!(fed.client(&untagged(80_877_102, &vec![7; 4 + key])), ["cancel Nothing"]);
    }
}

#[test]
fn protocol_2_is_followed_by_its_turns() {
    let mut fed = Fed::new(Phase::Startup);
    assert_eq!(fed.client(&untagged(0x0002_0000, &[0; 288])), ["authenticate Answer"]);
    fed.server(b"R\0\0\0\0K\0\0\0\x01\0\0\0\x02Z");
    assert_eq!(fed.client(b"Qselect 1\0"), ["unreadable Answer"]);
    fed.server(b"Pblank\0T");
    assert_eq!(fed.client(b"X"), ["unreadable Answer"]);
}

#[test]
fn a_startup_message_that_lies_about_its_length_is_none() {
    let mut decoder = Postgresql::new(Phase::Startup);
    let long = [&48u32.to_be_bytes()[..], &196_608u32.to_be_bytes(), b"user\0zeek\0\0"].concat();
    let short = [&3u32.to_be_bytes()[..], &196_608u32.to_be_bytes(), b"user\0zeek\0\0"].concat();
    assert!(decoder.frame(Client, &long).is_err());
    assert!(decoder.frame(Client, &short).is_err());
}

// --- simple queries -------------------------------------------------------------------------------------------------

#[test]
fn a_query_ends_with_ready_for_query() {
    let mut fed = Fed::in_session();
    assert_eq!(fed.client(&query("select a from t")), ["query Answer: select a from t"]);
    let answer = [tagged(b'T', &[0, 1]), rows(2), complete("SELECT 2")].concat();
    assert_eq!(fed.server(&answer), ["rows 1", "rows 1"]);
    assert_eq!(fed.server(&ready()), ["done"]);
}

#[test]
fn several_statements_in_one_query_are_one_exchange() {
    let mut fed = Fed::in_session();
    fed.client(&query("update t set a = 1; delete from t; select 1"));
    let answer =
        [complete("UPDATE 3"), complete("DELETE 2"), tagged(b'T', &[0, 1]), rows(1), complete("SELECT 1"), ready()];
    assert_eq!(fed.server(&answer.concat()), ["rows 1", "done affected 5"]);
}

#[test]
fn an_insert_counts_its_last_number() {
    let mut fed = Fed::in_session();
    fed.client(&query("insert into t values (1), (2)"));
    assert_eq!(fed.server(&[complete("INSERT 0 2"), ready()].concat()), ["done affected 2"]);
}

#[test]
fn a_query_without_a_statement_is_a_ping() {
    let mut fed = Fed::in_session();
    assert_eq!(fed.client(&query(" ")), ["query Answer"]);
    assert_eq!(fed.server(&[tagged(b'I', b""), ready()].concat()), ["done"]);
}

#[test]
fn a_result_without_rows_has_none_but_says_so() {
    let mut fed = Fed::in_session();
    fed.client(&query("select 1 where false"));
    fed.feed(Server, &[tagged(b'T', &[0, 1]), complete("SELECT 0"), ready()].concat()).unwrap();
    assert_eq!(fed.meanings[1], Meaning::Rows(0));
}

#[test]
fn an_error_has_its_state_and_ends_with_ready_for_query() {
    let mut fed = Fed::in_session();
    fed.client(&query("select 1/0"));
    assert_eq!(fed.server(&error("ERROR", "22012")), ["failed 22012"]);
    assert_eq!(fed.server(&ready()), ["done"]);
}

#[test]
fn a_fatal_error_ends_the_exchange_at_once() {
    let mut fed = Fed::in_session();
    fed.client(&query("select pg_sleep(9)"));
    assert_eq!(fed.server(&error("FATAL", "57P01")), ["done 57P01"]);
}

#[test]
fn what_comes_unasked_opens_and_ends_nothing() {
    let mut fed = Fed::in_session();
    let unasked = [
        tagged(b'N', b"SNOTICE\0Mhello\0\0"),
        tagged(b'A', b"\0\0\0\x07jobs\x0042\0"),
        tagged(b'S', b"TimeZone\0UTC\0"),
    ];
    assert_eq!(fed.server(&tagged(b'A', b"\0\0\0\x07jobs\x0042\0")), ["pushed"]);
    assert_eq!(fed.server(&error("FATAL", "57P05")), ["unrelated"]);
    fed.client(&query("do $$ $$"));
    assert_eq!(fed.server(&unasked.concat()), ["pushed"]);
    assert_eq!(fed.server(&[complete("DO"), ready()].concat()), ["done"]);
}

#[test]
fn a_function_call_is_one_exchange() {
    let mut fed = Fed::in_session();
    assert_eq!(fed.client(&tagged(b'F', &[0; 10])), ["function_call Answer"]);
    assert_eq!(fed.server(&[tagged(b'V', b"\0\0\0\x01a"), ready()].concat()), ["done"]);
}

#[test]
fn an_empty_query_asks_whether_the_server_is_there() {
    let mut fed = Fed::in_session();
    assert_eq!(fed.client(&query("")), ["query Answer"]);
    assert_eq!((asked(&fed).purpose, asked(&fed).sql), (Purpose::Ping, None));
    assert_eq!(fed.server(&[tagged(b'I', b""), ready()].concat()), ["done"]);
}

#[test]
fn terminate_is_not_waited_for() {
    assert_eq!(Fed::in_session().client(b"X\0\0\0\x04"), ["terminate Nothing"]);
}

// --- extended queries -----------------------------------------------------------------------------------------------

#[test]
fn the_messages_of_one_execution_are_one_exchange() {
    let mut fed = Fed::in_session();
    let told = fed.client(&[unnamed("select $1"), sync()].concat());
    assert_eq!(told, ["prepare Answer: select $1", "becomes bind: select $1", "becomes execute: select $1"]);
    assert_eq!(fed.server(&answers(1, "SELECT 1")), ["rows 1"]);
    assert_eq!(fed.server(&ready()), ["done"]);
}

#[test]
fn a_prepared_statement_shows_its_text_when_it_runs() {
    let mut fed = Fed::in_session();
    let told = fed.client(&[parse("s1", "select 1"), describe('S', "s1"), sync()].concat());
    assert_eq!(told, ["prepare Answer: select 1"]);
    let answer = [tagged(b'1', b""), tagged(b't', b"\0\0"), tagged(b'T', &[0, 1]), ready()];
    assert_eq!(fed.server(&answer.concat()), ["done"]);
    let told = fed.client(&[bind("", "s1"), execute(""), sync()].concat());
    assert_eq!(told, ["bind Answer: select 1", "becomes execute: select 1"]);
    assert_eq!(fed.server(&[tagged(b'2', b""), rows(1), complete("SELECT 1"), ready()].concat()), ["rows 1", "done"]);
}

#[test]
fn a_statement_prepared_before_the_capture_is_known_by_its_name() {
    let mut fed = Fed::in_session();
    let told = fed.client(&[bind("", "S_7"), execute(""), sync()].concat());
    assert_eq!(told.last().unwrap(), "becomes execute: EXECUTE S_7");
}

/// The last request.
fn asked(fed: &Fed) -> Request {
    match fed.meanings.last() {
        Some(Meaning::Request(request)) => request.clone(),
        other => panic!("{other:?}"),
    }
}

/// The answers of a server to a text without rows.
fn did(tag: &str) -> Vec<u8> {
    [complete(tag), ready()].concat()
}

#[test]
fn a_statement_prepared_by_a_text_shows_its_text_when_it_runs() {
    let mut fed = Fed::in_session();
    assert_eq!(fed.client(&query("PREPARE p1 (int) AS select $1")), ["query Answer: PREPARE p1 (int) AS select $1"]);
    let prepared = asked(&fed);
    assert_eq!(prepared.purpose, Purpose::Prepare);
    fed.server(&did("PREPARE"));
    let told = fed.client(&[bind("", "p1"), execute(""), sync()].concat());
    assert_eq!(told, ["bind Answer: select $1", "becomes execute: select $1"]);
    fed.server(&[tagged(b'2', b""), rows(1), complete("SELECT 1"), ready()].concat());
    for (text, purpose) in [("EXECUTE p1 (7)", Purpose::Execute), ("DEALLOCATE p1", Purpose::Close)] {
        assert_eq!(fed.client(&query(text)), [format!("query Answer: {text}")], "with literals, as it was sent");
        let request = asked(&fed);
        assert_eq!(request.purpose, purpose);
        assert_eq!(request.sql.unwrap().fingerprint, prepared.sql.unwrap().fingerprint);
        fed.server(&did("SELECT 1"));
    }
    fed.client(&query("PREPARE p1 AS select 2"));
    fed.server(&did("PREPARE"));
    assert_eq!(fed.client(&bind("", "p1")), ["bind Answer: select 2"]);
}

#[test]
fn a_text_closes_what_parse_has_prepared() {
    let mut fed = Fed::in_session();
    fed.client(&[parse("_PLAN0x55d0", "select 1"), sync()].concat());
    fed.server(&[tagged(b'1', b""), ready()].concat());
    fed.client(&query("SAVEPOINT _s;DEALLOCATE \"_PLAN0x55d0\";RELEASE _s"));
    let closed = asked(&fed);
    assert_eq!((closed.purpose, fed.statements.text(closed.sql.unwrap().fingerprint)), (Purpose::Close, "select ?"));
}

#[test]
fn a_name_whose_new_statement_is_refused_keeps_the_old_one() {
    let mut fed = Fed::in_session();
    fed.client(&query("prepare p as select 1"));
    fed.server(&did("PREPARE"));
    for (text, told) in [("prepare p as select 2", "execute: select 1"), ("prepare q as selec", "execute: EXECUTE q")] {
        fed.client(&query(text));
        fed.server(&[error("ERROR", "42P05"), ready()].concat());
        let name = &text[8..9];
        let asked = fed.client(&[bind("", name), execute(""), sync()].concat());
        assert_eq!(asked[1], format!("becomes {told}"));
        fed.server(&[tagged(b'2', b""), complete("SELECT 0"), ready()].concat());
    }
}

#[test]
fn names_that_change_are_forgotten_with_the_requests_that_were_missed() {
    let mut fed = Fed::in_session();
    fed.client(&[parse("s1", "select 1"), parse("s2", "select 2"), sync()].concat());
    fed.decoder.missed_requests(9);
    assert_eq!(fed.client(&bind("", "s1")), ["bind Answer: select 1"], "nothing says that names change here");
    fed.client(&[close('S', "s1"), sync()].concat());
    fed.decoder.missed_requests(9);
    assert_eq!(fed.client(&bind("", "s2")), ["bind Answer: EXECUTE s2"]);
}

#[test]
fn an_empty_statement_that_runs_is_a_ping() {
    let purpose = |fed: &Fed| match fed.meanings.iter().rev().find(|meaning| matches!(meaning, Meaning::Becomes { .. }))
    {
        Some(Meaning::Becomes { purpose, .. }) => *purpose,
        _ => unreachable!("nothing ran"),
    };
    let empty = [tagged(b'1', b""), tagged(b'2', b""), tagged(b'I', b""), ready()].concat();
    let mut fed = Fed::in_session();
    fed.client(&[parse("", ""), bind("", ""), execute(""), sync()].concat());
    assert_eq!(purpose(&fed), Purpose::Ping);
    assert_eq!(fed.server(&empty), ["done"]);
    fed.client(&[parse("S_1", " "), bind("", "S_1"), execute(""), sync()].concat());
    fed.server(&empty);
    fed.client(&[bind("", "S_1"), execute(""), sync()].concat());
    assert_eq!(purpose(&fed), Purpose::Ping, "prepared before");
    fed.server(&[tagged(b'2', b""), tagged(b'I', b""), ready()].concat());
    fed.decoder.resume();
    fed.client(&[bind("", ""), execute(""), sync()].concat());
    assert_eq!(purpose(&fed), Purpose::Execute, "what was prepared is not known");
}

#[test]
fn a_sync_that_ends_nothing_is_a_ping() {
    let purpose = |fed: &Fed| asked(fed).purpose;
    let mut fed = Fed::in_session();
    fed.client(&[unnamed("select 1"), sync()].concat());
    fed.server(&[answers(1, "SELECT 1"), ready()].concat());
    assert_eq!(fed.client(&sync()), ["sync Answer"]);
    assert_eq!(purpose(&fed), Purpose::Ping);
    fed.server(&ready());
    fed.client(&[parse("s1", "select 1"), flush()].concat());
    fed.server(&tagged(b'1', b""));
    fed.client(&sync());
    assert_eq!(purpose(&fed), Purpose::Other, "it ends what was flushed");
    fed.decoder.resume();
    fed.client(&sync());
    assert_eq!(purpose(&fed), Purpose::Other, "what it ends may not have been captured");
}

#[test]
fn behind_a_lost_answer_to_an_ssl_request_the_startup_message_is_read() {
    let mut fed = Fed::new(Phase::Startup);
    fed.client(&untagged(80_877_103, b""));
    assert!(fed.decoder.resumes(&startup()));
    assert!(fed.decoder.resumes(&query("select 1")), "or it has introduced itself in what was lost");
    fed.decoder.resume();
    assert_eq!(fed.client(&startup()), ["authenticate Answer"]);
    assert_eq!(fed.session.user.as_deref(), Some("ann"));
}

#[test]
fn after_a_loss_the_unnamed_statement_may_be_another() {
    let mut fed = Fed::in_session();
    fed.client(&[parse("", "select 1"), parse("s1", "select 2"), sync()].concat());
    fed.decoder.resume();
    assert_eq!(fed.client(&[bind("", ""), execute("")].concat()), ["bind Answer", "becomes execute"]);
    assert_eq!(fed.client(&bind("", "s1")), ["bind Shared: select 2"]);
}

#[test]
fn a_statement_that_a_driver_closes_in_front_of_the_next_belongs_to_that() {
    let mut fed = Fed::in_session();
    let told = fed.client(&[close('S', "s1"), unnamed("select 2"), sync()].concat());
    assert_eq!(told[0], "close Answer");
    assert_eq!(told[3], "becomes execute: select 2");
    assert_eq!(fed.server(&[tagged(b'3', b""), answers(0, "SELECT 0"), ready()].concat()), ["done"]);
}

#[test]
fn a_begin_glued_in_front_shares_the_round_trip() {
    let mut fed = Fed::in_session();
    let begin = [parse("", "BEGIN"), bind("", ""), execute("")].concat();
    let told = fed.client(&[begin, unnamed("select 1"), sync()].concat());
    assert_eq!([&told[0], &told[3]], ["prepare Answer: BEGIN", "prepare Shared: select 1"]);
    let begun = [tagged(b'1', b""), tagged(b'2', b""), complete("BEGIN")].concat();
    assert_eq!(fed.server(&begun), ["done"]);
    assert_eq!(fed.server(&[answers(1, "SELECT 1"), ready()].concat()), ["rows 1", "done"]);
}

#[test]
fn statements_before_one_sync_share_its_round_trip_even_if_answers_came_between() {
    let mut fed = Fed::in_session();
    assert_eq!(fed.client(&unnamed("select 1"))[0], "prepare Answer: select 1");
    assert_eq!(fed.server(&answers(1, "SELECT 1")), ["rows 1", "done"]);
    assert_eq!(fed.client(&unnamed("select 2"))[0], "prepare Shared: select 2");
    assert_eq!(fed.server(&answers(1, "SELECT 1")), ["rows 1", "done"]);
    assert_eq!(fed.client(&sync()), ["sync Shared"]);
    assert_eq!(fed.server(&ready()), ["done"]);
}

#[test]
fn after_a_flush_the_client_waits_again() {
    let mut fed = Fed::in_session();
    fed.client(&[parse("s1", "select 1"), describe('S', "s1"), flush()].concat());
    assert_eq!(fed.server(&[tagged(b'1', b""), tagged(b't', b"\0\0"), tagged(b'n', b"")].concat()), ["done"]);
    let told = fed.client(&[bind("", "s1"), execute(""), sync()].concat());
    assert_eq!(told[0], "bind Answer: select 1");
}

#[test]
fn a_suspended_portal_is_fetched_from() {
    let mut fed = Fed::in_session();
    fed.client(&[parse("", "select a"), bind("c1", ""), execute("c1"), sync()].concat());
    let some = [tagged(b'1', b""), tagged(b'2', b""), rows(2), tagged(b's', b""), ready()].concat();
    assert_eq!(fed.server(&some), ["rows 1", "rows 1", "done"]);
    assert_eq!(fed.client(&[execute("c1"), sync()].concat()), ["fetch Answer: select a"]);
    assert_eq!(fed.server(&[rows(1), complete("SELECT 1"), ready()].concat()), ["rows 1", "done"]);
    assert_eq!(fed.client(&[close('P', "c1"), sync()].concat()), ["close Answer: select a"]);
    assert_eq!(fed.server(&[tagged(b'3', b""), ready()].concat()), ["done"]);
}

#[test]
fn one_bound_twice_is_two_executions() {
    let mut fed = Fed::in_session();
    let twice = [parse("s", "insert"), bind("", "s"), execute(""), bind("", "s"), execute(""), sync()].concat();
    let requests: Vec<_> = fed.client(&twice).into_iter().filter(|told| !told.starts_with("becomes")).collect();
    assert_eq!(requests, ["prepare Answer: insert", "bind Shared: insert"]);
}

#[test]
fn after_an_error_everything_up_to_the_sync_ends_with_it() {
    let mut fed = Fed::in_session();
    let three = [unnamed("select 1"), unnamed("select 2"), unnamed("select 3"), sync()].concat();
    fed.client(&[three, unnamed("select 4"), sync()].concat());
    assert_eq!(fed.server(&[tagged(b'1', b""), error("ERROR", "42601")].concat()), ["done 42601"]);
    assert_eq!(fed.server(&ready()), ["done", "done"]);
    assert_eq!(fed.server(&[answers(1, "SELECT 1"), ready()].concat()), ["rows 1", "done"]);
}

#[test]
fn an_error_of_the_last_statement_ends_with_its_sync() {
    let mut fed = Fed::in_session();
    fed.client(&[unnamed("select 1"), sync()].concat());
    assert_eq!(fed.server(&error("ERROR", "42601")), ["failed 42601"]);
    assert_eq!(fed.server(&ready()), ["done"]);
}

#[test]
fn an_answer_to_something_else_is_no_answer() {
    let mut fed = Fed::in_session();
    fed.client(&[unnamed("select 1"), sync()].concat());
    assert!(fed.feed(Server, &tagged(b'2', b"")).is_err());
    let mut fed = Fed::in_session();
    fed.client(&[unnamed("select 1"), sync()].concat());
    assert!(fed.feed(Server, &ready()).is_err());
}

// --- COPY -----------------------------------------------------------------------------------------------------------

#[test]
fn rows_copied_in_belong_to_the_query_and_notices_answer_none_of_them() {
    let mut fed = Fed::in_session();
    fed.client(&query("copy t from stdin"));
    assert_eq!(fed.server(&tagged(b'G', &[0, 0, 1, 0, 0])), [""; 0]);
    assert_eq!(fed.client(&tagged(b'd', b"1\n")), [""; 0]);
    assert_eq!(fed.server(&tagged(b'N', b"SNOTICE\0\0")), ["unrelated"]);
    assert_eq!(fed.client(&tagged(b'c', b"")), [""; 0]);
    assert_eq!(fed.server(&[complete("COPY 1"), ready()].concat()), ["done affected 1"]);
}

#[test]
fn rows_copied_out_are_returned_not_changed() {
    let mut fed = Fed::in_session();
    fed.client(&query("copy t to stdout"));
    let answer = [tagged(b'H', &[0, 0, 1, 0, 0]), tagged(b'd', b"1\n"), tagged(b'c', b""), complete("COPY 1"), ready()];
    fed.feed(Server, &answer.concat()).unwrap();
    let outcome = Outcome { rows: Some(1), ..Outcome::default() };
    assert_eq!(fed.meanings.last(), Some(&Meaning::Done(outcome)));
}

#[test]
fn rows_that_are_still_sent_after_an_error_belong_to_nothing() {
    let mut fed = Fed::in_session();
    fed.client(&query("copy t from stdin"));
    fed.server(&tagged(b'G', &[0, 0, 1, 0, 0]));
    assert_eq!(fed.server(&[error("ERROR", "22P02"), ready()].concat()), ["failed 22P02", "done"]);
    assert_eq!(fed.client(&[tagged(b'd', b"2\n"), tagged(b'c', b"")].concat()), ["unrelated", "unrelated"]);
}

#[test]
fn a_client_that_does_not_wait_for_the_permission_waits_once() {
    let mut fed = Fed::in_session();
    fed.client(&query("copy t from stdin"));
    fed.client(&tagged(b'd', b"1\n"));
    fed.server(&tagged(b'G', &[0, 0, 1, 0, 0]));
    fed.client(&tagged(b'c', b""));
    assert_eq!([&fed.meanings[1], &fed.meanings[3]], [&Meaning::MoreWithoutWait, &Meaning::MoreWithoutWait]);
    assert_eq!(fed.server(&[complete("COPY 1"), ready()].concat()), ["done affected 1"]);
}

#[test]
fn a_sync_sent_before_the_rows_is_read_over() {
    let mut fed = Fed::in_session();
    fed.client(&[parse("", "copy t from stdin"), bind("", ""), execute(""), sync()].concat());
    fed.server(&[tagged(b'1', b""), tagged(b'2', b""), tagged(b'G', &[0, 0, 0])].concat());
    fed.client(&[tagged(b'd', b"1\n"), tagged(b'c', b""), sync()].concat());
    let told = fed.server(&[complete("COPY 1"), ready()].concat());
    assert_eq!(told.len(), 2);
}

#[test]
fn replication_is_no_dialogue() {
    let mut fed = Fed::in_session();
    fed.client(&query("START_REPLICATION 0/0"));
    assert_eq!(fed.server(&tagged(b'W', &[0, 0, 0])), ["done"]);
    assert!(fed.session.replication);
    assert_eq!(fed.switched, Some(Layer::Push));
}

// --- hostile bytes --------------------------------------------------------------------------------------------------

#[test]
fn a_statement_is_kept_up_to_its_limit() {
    let mut fed = Fed::in_session();
    let told = fed.client(&query(&format!("select {}", "é".repeat(40_000))));
    assert!(told[0].ends_with('…') && !told[0].contains('\u{fffd}'));
    assert!(told[0].len() < framing::TEXT_MAX + 30);
}

#[test]
fn a_cut_message_is_used_as_far_as_it_goes() {
    let mut fed = Fed::in_session();
    let mut context = Context { session: &mut fed.session, statements: &mut fed.statements, switch: None };
    let message = Message { side: Client, bytes: b"Q\0\0\0\x40select", length: 65, cut: true };
    let meaning = fed.decoder.message(&message, &mut context).unwrap();
    assert_eq!(fed.words(&meaning), ["query Answer: select…"]);
}

#[test]
fn names_and_unanswered_messages_are_bounded() {
    let mut fed = Fed::in_session();
    let many: Vec<u8> = (0..20_000).flat_map(|number| parse(&format!("s{number}"), "select 1")).collect();
    for part in many.chunks(100_000) {
        fed.feed(Client, part).unwrap();
    }
    let parse = parse("s", "select 1");
    assert!((0..300_000).any(|_| fed.one(Client, &parse).is_err()));
}

// --- recognition ----------------------------------------------------------------------------------------------------

fn verdict(client: &[u8], server: &[u8], first: Side, from_start: bool) -> Verdict {
    recognise::recognise(&Opening { client, server, first, from_start })
}

#[test]
fn a_connection_is_recognised_by_its_first_message() {
    for first in [startup(), untagged(80_877_103, b""), untagged(80_877_104, b""), untagged(80_877_102, &[1; 8])] {
        assert_eq!(verdict(&first, b"", Client, true), Verdict::Certain);
        assert_eq!(verdict(&first[..5], b"", Client, true), Verdict::Unsure);
    }
}

#[test]
fn direct_tls_is_recognised_by_the_name_it_asks_for() {
    let hello = b"\x16\x03\x01\x00\x80\x01\0\0\x7c\x03\x03 random \0\x10\0\x0d\0\x0b\x0apostgresql";
    assert_eq!(verdict(hello, b"", Client, true), Verdict::Certain);
    let opening = Opening { client: hello, server: b"", first: Client, from_start: true };
    assert_eq!(decoder(&opening).layer, Some(Layer::Tls));
}

#[test]
fn a_session_under_way_is_recognised_by_a_whole_request() {
    let prepared = [bind("", "s1"), execute(""), sync()].concat();
    let long = query(&"x".repeat(9000))[..1448].to_vec();
    for request in [query("select 1"), long, prepared, [close('S', "s1"), sync()].concat()] {
        assert_eq!(verdict(&request, b"", Client, false), Verdict::Certain);
    }
    assert_eq!(verdict(b"", &[rows(2), complete("SELECT 2"), ready()].concat(), Server, false), Verdict::Certain);
}

#[test]
fn in_the_middle_of_a_pipeline_no_request_can_be_told_from_those_before_it() {
    assert_eq!(verdict(&unnamed("select 1"), b"", Client, false), Verdict::Unsure);
    assert!(!Postgresql::new(Phase::Session).resumes(&unnamed("select 1")));
    assert!(Postgresql::new(Phase::Session).resumes(&[unnamed("select 1"), sync()].concat()));
}

#[test]
fn other_protocols_are_left_alone() {
    let foreign: [&[u8]; 16] = [
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /x HTTP/1.1\r\n\r\n",
        b"DELETE /x HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"EHLO a\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x0f\0\0\0\x03select a from t",
        b"\0\0\0\x01\0\0\0\x13\0\0\0\x02\0\0\0\x24",
        b"\0\x3a\0\0\x01\0\0\0\x01\x36\x01\x2c\0\0\x08\0\x7f\xff",
        b"\0\0\0\x14\0\x03\0\0\0\0\0\x01\0\x06client\0\0\0\0",
        b"\x3a\0\0\0\x01\0\0\0\0\0\0\0\xd4\x07\0\0",
        b"\0\0\0\x2f\xfeSMB@\0\0\0",
        b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\0\x80\0",
    ];
    for client in foreign {
        for from_start in [true, false] {
            assert_eq!(verdict(client, b"", Client, from_start), Verdict::NotThis, "{client:02x?}");
        }
    }
    assert_eq!(verdict(b"", b"\x4a\0\0\0\x0a8.0.32\0", Server, true), Verdict::NotThis);
}

// --- properties -----------------------------------------------------------------------------------------------------

/// A real dialogue's shape: who speaks, and what.
fn dialogue() -> Vec<(Side, Vec<u8>)> {
    let error_then_rest = [tagged(b'1', b""), error("ERROR", "42601"), ready()].concat();
    vec![
        (Client, untagged(80_877_103, b"")),
        (Server, b"N".to_vec()),
        (Client, startup()),
        (Server, tagged(b'R', b"\0\0\0\x05salt")),
        (Client, tagged(b'p', b"md5deadbeef\0")),
        (Server, [tagged(b'R', b"\0\0\0\0"), tagged(b'K', &[1; 8]), ready()].concat()),
        (Client, query("select a from t where b = 'x'")),
        (Server, [tagged(b'T', &[0; 30]), rows(5), complete("SELECT 5"), ready()].concat()),
        (Client, [unnamed("insert into t values ($1)"), sync()].concat()),
        (Server, [answers(0, "INSERT 0 1"), ready()].concat()),
        (Client, [unnamed("select"), unnamed("select 2"), sync()].concat()),
        (Server, error_then_rest),
        (Client, query("copy t from stdin")),
        (Server, tagged(b'G', &[0, 0, 0])),
        (Client, [tagged(b'd', &[b'x'; 500]), tagged(b'c', b"")].concat()),
        (Server, [complete("COPY 1"), ready()].concat()),
        (Client, tagged(b'X', b"")),
    ]
}

fn meanings(dialogue: &[(Side, Vec<u8>)], mut cut: impl FnMut(usize) -> usize) -> Vec<Meaning> {
    let mut fed = Fed::new(Phase::Startup);
    for (side, bytes) in dialogue {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(cut(rest.len()).clamp(1, rest.len()));
            fed.feed(*side, now).unwrap();
            rest = later;
        }
    }
    fed.meanings
}

#[test]
fn byte_by_byte_means_the_same_as_whole() {
    assert_eq!(meanings(&dialogue(), |_| 1), meanings(&dialogue(), |length| length));
}

proptest! {
    #[test]
    fn any_cut_means_the_same(cuts in prop::collection::vec(1usize..40, 1..200)) {
        let mut cuts = cuts.into_iter().cycle();
        let parts = meanings(&dialogue(), |_| cuts.next().unwrap());
        prop_assert_eq!(parts, meanings(&dialogue(), |length| length));
    }

    #[test]
    fn messages_that_are_passed_over_mean_what_they_mean_one_by_one(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut turns = dialogue();
        for (turn, place, byte) in flips {
            *place.get_mut(turn.get_mut(&mut turns).1.as_mut_slice()) = byte;
        }
        let new = || Postgresql::new(Phase::Startup);
        let told = |passes| pass_tests::meanings(&mut new(), &turns, passes);
        prop_assert_eq!(told(true), told(false));
    }

    #[test]
    fn random_bytes_after_any_prefix_are_survived(
        turns in 0usize..18,
        random in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..300)), 1..10),
    ) {
        let mut fed = Fed::new(Phase::Startup);
        for (side, bytes) in dialogue().iter().take(turns) {
            fed.feed(*side, bytes).unwrap();
        }
        for (client, bytes) in random {
            if fed.feed(if client { Client } else { Server }, &bytes).is_err() {
                fed.decoder.resume();
                fed.rest = Default::default();
            }
        }
    }

    #[test]
    fn random_messages_are_survived(
        messages in prop::collection::vec((any::<bool>(), 0usize..32, prop::collection::vec(any::<u8>(), 0..40)), 1..40),
    ) {
        let mut fed = Fed::in_session();
        for (client, tag, body) in messages {
            let (side, tags) = if client { (Client, &b"QPBDCEFSHXdcfp"[..]) } else { (Server, &b"123nsIcZDTdCENStRKGHWAVv"[..]) };
            if fed.feed(side, &tagged(tags[tag % tags.len()], &body)).is_err() {
                fed.decoder.resume();
                fed.rest = Default::default();
            }
            fed.switched = None;
        }
    }

    #[test]
    fn random_bytes_are_never_recognised(bytes in prop::collection::vec(any::<u8>(), 8..200), from_start in any::<bool>()) {
        prop_assert_ne!(verdict(&bytes, b"", Client, from_start), Verdict::Certain);
    }
}
