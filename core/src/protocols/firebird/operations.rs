//! The operations a client may ask for, and what their packets are made of.
//!
//! Codes and layouts: Firebird's `src/remote/protocol.h` and `protocol.cpp` (3.0 to 6.0), and the wire protocol manual,
//! <https://github.com/FirebirdSQL/firebird-documentation> (`firebird-wire-protocol`).

use crate::protocols::Purpose as For;

/// A part of a client's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A database, transaction or service: its value does not matter here.
    Handle,
    Statement,
    Blob,
    Request,
    /// A 16-bit number that is no handle.
    Short,
    Number,
    Quad,
    Buffer,
    Sql,
    /// A number that is only there from this protocol version on.
    Since(u16),
    /// The protocol versions a client offers in `connect`, as many as the number before says.
    Offers,
    /// One row in the format of the BLR before it, if the number before is 1.
    Row,
    /// One message of a compiled request, never packed.
    Message,
    /// An array's elements, as the SDL in the first buffer describes them.
    Slice,
    /// `length u32 | bytes`, the bytes not padded.
    Stream,
    /// Rows, read one at a time after the packet's header: they end it.
    BatchRows,
}

/// Does the client wait for the answer?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    Always,
    /// Not where both sides have agreed on lazy sending: the answer comes before the next awaited one.
    UnlessLazy,
    /// There is no answer.
    Never,
    /// The client's part of an authentication dialogue: opens an exchange only if none is open.
    InDialogue,
    /// Filler.
    Ignored,
}

/// One operation of the client.
#[derive(Debug)]
pub struct Operation {
    pub code: u32,
    /// The protocol's name of it, without the `op_`.
    pub name: &'static str,
    pub purpose: For,
    pub waits: Waits,
    pub fields: &'static [Field],
}

pub const CONNECT: u32 = 1;
pub const ACCEPT: u32 = 3;
pub const REJECT: u32 = 4;
pub const DISCONNECT: u32 = 6;
pub const RESPONSE: u32 = 9;
pub const ATTACH: u32 = 19;
pub const CREATE: u32 = 20;
pub const COMPILE: u32 = 22;
pub const START_AND_RECEIVE: u32 = 73;
pub const START_SEND_AND_RECEIVE: u32 = 74;
pub const SEND: u32 = 25;
pub const RECEIVE: u32 = 26;
pub const RELEASE: u32 = 28;
pub const TRANSACTION: u32 = 29;
pub const CREATE_BLOB: u32 = 34;
pub const OPEN_BLOB: u32 = 35;
pub const GET_SEGMENT: u32 = 36;
pub const CANCEL_BLOB: u32 = 38;
pub const CLOSE_BLOB: u32 = 39;
pub const INFO_DATABASE: u32 = 40;
pub const EVENT: u32 = 52;
pub const OPEN_BLOB2: u32 = 56;
pub const CREATE_BLOB2: u32 = 57;
pub const GET_SLICE: u32 = 58;
pub const SLICE: u32 = 60;
pub const ALLOCATE: u32 = 62;
pub const EXECUTE: u32 = 63;
pub const EXEC_IMMEDIATE: u32 = 64;
pub const FETCH: u32 = 65;
pub const FETCH_RESPONSE: u32 = 66;
pub const FREE_STATEMENT: u32 = 67;
pub const PREPARE: u32 = 68;
pub const INFO_SQL: u32 = 70;
pub const DUMMY: u32 = 71;
pub const RESPONSE_PIGGYBACK: u32 = 72;
pub const EXEC_IMMEDIATE2: u32 = 75;
pub const EXECUTE2: u32 = 76;
pub const SQL_RESPONSE: u32 = 78;
pub const SERVICE_ATTACH: u32 = 82;
pub const SERVICE_INFO: u32 = 84;
pub const TRUSTED_AUTH: u32 = 90;
pub const CONT_AUTH: u32 = 92;
pub const ACCEPT_DATA: u32 = 94;
pub const CRYPT: u32 = 96;
pub const CRYPT_KEY_CALLBACK: u32 = 97;
pub const COND_ACCEPT: u32 = 98;
pub const PING: u32 = 93;
pub const BATCH_CREATE: u32 = 99;
pub const BATCH_MSG: u32 = 100;
pub const BATCH_EXEC: u32 = 101;
pub const BATCH_CS: u32 = 103;
pub const FETCH_SCROLL: u32 = 112;
pub const INLINE_BLOB: u32 = 114;

use Field::*;
use Waits::*;

const fn operation(code: u32, name: &'static str, purpose: For, waits: Waits, fields: &'static [Field]) -> Operation {
    Operation { code, name, purpose, waits, fields }
}

/// `h object | h incarnation | buf items | u32 buffer length`
const INFO: &[Field] = &[Handle, Short, Buffer, Number];
/// `h request | h incarnation | h transaction | h message number | h messages`
const REQUEST: &[Field] = &[Request, Short, Handle, Short, Short];
const REQUEST_WITH_MESSAGE: &[Field] = &[Request, Short, Handle, Short, Short, Message];
const ARRAY: &[Field] = &[Handle, Quad, Number, Buffer, Buffer, Slice];

/// Everything a client may begin a packet with.
pub const CLIENT: &[Operation] = &[
    operation(
        EXECUTE,
        "execute",
        For::Execute,
        Always,
        &[Statement, Handle, Buffer, Short, Short, Row, Since(16), Since(18), Since(19)],
    ),
    operation(FETCH, "fetch", For::Fetch, Always, &[Statement, Buffer, Short, Short]),
    operation(GET_SEGMENT, "get_segment", For::Blob, Always, &[Blob, Short, Buffer]),
    operation(OPEN_BLOB2, "open_blob2", For::Blob, Always, &[Buffer, Handle, Quad]),
    operation(CLOSE_BLOB, "close_blob", For::Blob, UnlessLazy, &[Blob]),
    operation(FREE_STATEMENT, "free_statement", For::Close, UnlessLazy, &[Statement, Short]),
    operation(ALLOCATE, "allocate_statement", For::Other, UnlessLazy, &[Handle]),
    operation(
        PREPARE,
        "prepare_statement",
        For::Prepare,
        Always,
        &[Handle, Statement, Short, Sql, Buffer, Number, Since(20)],
    ),
    operation(TRANSACTION, "transaction", For::Begin, Always, &[Handle, Buffer]),
    operation(30, "commit", For::End, Always, &[Handle]),
    operation(31, "rollback", For::End, Always, &[Handle]),
    operation(50, "commit_retaining", For::End, Always, &[Handle]),
    operation(86, "rollback_retaining", For::End, Always, &[Handle]),
    operation(32, "prepare", For::Transaction, Always, &[Handle]),
    operation(51, "prepare2", For::Transaction, Always, &[Handle, Buffer]),
    operation(33, "reconnect", For::Begin, Always, &[Handle, Buffer]),
    operation(
        EXECUTE2,
        "execute2",
        For::Execute,
        Always,
        &[Statement, Handle, Buffer, Short, Short, Row, Buffer, Short, Since(16), Since(18), Since(19)],
    ),
    operation(
        EXEC_IMMEDIATE,
        "exec_immediate",
        For::Execute,
        Always,
        &[Handle, Handle, Short, Sql, Buffer, Number, Since(20)],
    ),
    operation(
        EXEC_IMMEDIATE2,
        "exec_immediate2",
        For::Execute,
        Always,
        &[Buffer, Short, Short, Row, Buffer, Short, Since(19), Handle, Handle, Short, Sql, Buffer, Number, Since(20)],
    ),
    operation(FETCH_SCROLL, "fetch_scroll", For::Fetch, Always, &[Statement, Buffer, Short, Short, Short, Number]),
    operation(INFO_SQL, "info_sql", For::Describe, Always, &[Statement, Short, Buffer, Number]),
    operation(69, "set_cursor", For::Other, Always, &[Statement, Buffer, Short]),
    operation(CREATE_BLOB, "create_blob", For::Blob, Always, &[Handle, Quad]),
    operation(OPEN_BLOB, "open_blob", For::Blob, Always, &[Handle, Quad]),
    operation(CREATE_BLOB2, "create_blob2", For::Blob, Always, &[Buffer, Handle, Quad]),
    operation(37, "put_segment", For::Blob, Always, &[Blob, Short, Buffer]),
    operation(44, "batch_segments", For::Blob, Always, &[Blob, Short, Buffer]),
    operation(CANCEL_BLOB, "cancel_blob", For::Blob, UnlessLazy, &[Blob]),
    operation(61, "seek_blob", For::Blob, Always, &[Blob, Short, Number]),
    operation(43, "info_blob", For::Blob, Always, &[Blob, Short, Buffer, Number]),
    operation(INFO_DATABASE, "info_database", For::Session, Always, INFO),
    operation(41, "info_request", For::Other, Always, INFO),
    operation(42, "info_transaction", For::Transaction, Always, INFO),
    operation(111, "info_batch", For::Other, Always, &[Statement, Short, Buffer, Number]),
    operation(113, "info_cursor", For::Other, Always, &[Statement, Short, Buffer, Number]),
    operation(CONNECT, "connect", For::Setup, Always, &[Number, Number, Number, Buffer, Short, Buffer, Offers]),
    operation(ATTACH, "attach", For::Setup, Always, &[Handle, Buffer, Buffer]),
    operation(CREATE, "create", For::Other, Always, &[Handle, Buffer, Buffer]),
    operation(SERVICE_ATTACH, "service_attach", For::Setup, Always, &[Handle, Buffer, Buffer]),
    operation(21, "detach", For::Disconnect, Always, &[Handle]),
    operation(83, "service_detach", For::Disconnect, Always, &[Handle]),
    operation(81, "drop_database", For::Other, Always, &[Handle]),
    operation(DISCONNECT, "disconnect", For::Disconnect, Never, &[]),
    operation(2, "exit", For::Disconnect, Never, &[]),
    operation(CONT_AUTH, "authenticate", For::Setup, InDialogue, &[Buffer, Buffer, Buffer, Buffer]),
    operation(TRUSTED_AUTH, "authenticate", For::Setup, InDialogue, &[Buffer]),
    operation(CRYPT, "crypt", For::Setup, Always, &[Buffer, Buffer]),
    // The reply size is there from protocol 14 on, and before any protocol is agreed on.
    operation(CRYPT_KEY_CALLBACK, "crypt_key_callback", For::Setup, InDialogue, &[Buffer, Since(14)]),
    operation(SERVICE_INFO, "service_info", For::Other, Always, &[Handle, Short, Buffer, Buffer, Number]),
    operation(85, "service_start", For::Other, Always, &[Handle, Short, Buffer]),
    operation(48, "que_events", For::Other, Always, &[Handle, Buffer, Number, Number, Number]),
    operation(49, "cancel_events", For::Other, Always, &[Handle, Number]),
    operation(53, "connect_request", For::Other, Always, &[Short, Handle, Number]),
    operation(95, "abort_aux_connection", For::Other, Never, &[]),
    operation(91, "cancel", For::Cancel, Never, &[Short]),
    operation(PING, "ping", For::Ping, Always, &[]),
    operation(DUMMY, "dummy", For::Other, Ignored, &[]),
    operation(55, "ddl", For::Other, Always, &[Handle, Handle, Buffer]),
    operation(COMPILE, "compile", For::Prepare, Always, &[Handle, Buffer]),
    operation(23, "start", For::Other, Always, REQUEST),
    operation(24, "start_and_send", For::Other, Always, REQUEST_WITH_MESSAGE),
    operation(START_AND_RECEIVE, "start_and_receive", For::Other, Always, REQUEST),
    operation(START_SEND_AND_RECEIVE, "start_send_and_receive", For::Other, Always, REQUEST_WITH_MESSAGE),
    operation(SEND, "send", For::Other, Always, REQUEST_WITH_MESSAGE),
    operation(RECEIVE, "receive", For::Other, Always, REQUEST),
    operation(RELEASE, "release", For::Close, UnlessLazy, &[Request]),
    operation(GET_SLICE, "get_slice", For::Other, Always, ARRAY),
    operation(59, "put_slice", For::Other, Always, ARRAY),
    operation(87, "update_account_info", For::Other, Always, &[Handle, Buffer]),
    operation(88, "authenticate_user", For::Other, Always, &[Handle, Buffer, Buffer]),
    operation(BATCH_CREATE, "batch_create", For::Other, UnlessLazy, &[Statement, Buffer, Number, Buffer]),
    operation(BATCH_MSG, "batch_msg", For::Other, UnlessLazy, &[Statement, Number, BatchRows]),
    operation(BATCH_EXEC, "batch_exec", For::Execute, Always, &[Statement, Handle]),
    operation(102, "batch_rls", For::Close, UnlessLazy, &[Statement]),
    operation(109, "batch_cancel", For::Other, Always, &[Statement]),
    operation(104, "batch_regblob", For::Other, UnlessLazy, &[Statement, Quad, Quad]),
    operation(105, "batch_blob_stream", For::Blob, UnlessLazy, &[Statement, Stream]),
    operation(106, "batch_set_bpb", For::Other, UnlessLazy, &[Statement, Buffer]),
    operation(107, "repl_data", For::Other, Always, &[Handle, Buffer]),
    operation(110, "batch_sync", For::Other, Always, &[]),
];

/// The client's operation with this code.
pub fn client(code: u32) -> Option<&'static Operation> {
    CLIENT.iter().find(|operation| operation.code == code)
}
