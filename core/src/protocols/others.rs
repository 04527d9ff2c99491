//! Databases that latpcap can name but not read yet: by the first bytes of both sides, never by the port.
//!
//! A name is given where those bytes leave no doubt. Where a message shows little (a length and a type), the lengths of
//! all messages at hand must fit, and the other side must answer in kind.

use super::Opening;

/// Which database is it, if it is none that latpcap reads?
pub fn name(opening: &Opening<'_>) -> Option<&'static str> {
    let Opening { client, server, from_start, .. } = *opening;
    let known = OTHERS.iter().find(|(.., speaks)| speaks(client, server)).map(|(name, ..)| *name);
    known.or_else(|| (!from_start && asks_in_tds(client)).then_some(SYBASE_OR_OLD))
}

/// Does the database of this name usually listen on this port? It tells who serves where no handshake does.
pub fn listens_on(name: &str, port: u16) -> bool {
    OTHERS.iter().any(|(other, ports, _)| *other == name && ports.contains(&port))
}

/// Before version 7.0, SQL Server spoke as Sybase's servers do.
const SYBASE_OR_OLD: &str = "Sybase ASE or SQL Server before 7.0";

/// Do the client and the server speak like this?
type Speaks = fn(&[u8], &[u8]) -> bool;

const OTHERS: &[(&str, &[u16], Speaks)] = &[
    ("Sybase ASE", &[5000], sybase),
    (SYBASE_OR_OLD, &[1433, 5000], tds),
    ("MongoDB", &[27_017], mongodb),
    ("Redis", &[6379], redis),
    ("Memcached", &[11_211], memcached),
    ("Couchbase or Memcached", &[11_210, 11_211], memcached_binary),
    ("Cassandra", &[9042], cassandra),
    ("DB2 or another DRDA server", &[446, 1527, 50_000], drda),
    ("ClickHouse", &[8123, 9000], clickhouse),
    ("MySQL by its X Protocol", &[33_060], mysql_x),
    ("Neo4j", &[7687], neo4j),
    ("SAP HANA", &[30_015], hana),
    ("Informix", &[9088], informix),
    ("Tarantool", &[3301], tarantool),
    ("HBase", &[16_000, 16_020], hbase),
    ("CouchDB", &[5984], |_, server| http_header(server, "server", "couchdb")),
    ("ArangoDB", &[8529], |_, server| http_header(server, "server", "arangodb")),
    ("Elasticsearch or OpenSearch", &[9200, 9300], elasticsearch),
    ("InfluxDB", &[8086], |_, server| http_header(server, "x-influxdb-version", "")),
];

// --- lengths ----------------------------------------------------------------------------------------------------------

/// More than the header of any message here.
const LONGEST_HEADER: usize = 24;

/// The messages at hand, each as long as `length` says, which gives none where no message begins.
fn messages(bytes: &[u8], length: impl Fn(&[u8]) -> Option<usize>) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = length(rest).filter(|&length| length > 0)?;
        let message = &rest[..length.min(rest.len())];
        rest = &rest[message.len()..];
        Some(message)
    })
}

/// Do these bytes hold one message behind the other? Only the last may be cut.
fn are_messages(bytes: &[u8], length: impl Fn(&[u8]) -> Option<usize>) -> bool {
    let told: usize = messages(bytes, length).map(<[u8]>::len).sum();
    told > 0 && bytes.len() - told < LONGEST_HEADER
}

fn u16_be(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

fn u32_be(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

fn u32_le(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n'))
}

/// Text in lines that end as those of Redis and Memcached do: the first one's words.
fn first_line(bytes: &[u8]) -> Option<Vec<&str>> {
    const LONGEST: usize = 512;
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let end = bytes.windows(2).position(|window| window == b"\r\n")?;
    let line = str::from_utf8(&bytes[..end]).ok().filter(|line| is_text(line.as_bytes()))?;
    Some(line.split(' ').collect())
}

// --- Sybase, old SQL Server -------------------------------------------------------------------------------------------

/// Tabular Data Stream before 7.0: type u8 | status u8 | length u16 | channel u16 | number u8 | window u8, 0
const TDS_HEADER: usize = 8;
const TDS_BATCH: u8 = 1;
const TDS_LOGIN: u8 = 2;
const TDS_RPC: u8 = 3;
const TDS_ANSWER: u8 = 4;
const TDS_ATTENTION: u8 = 6;
const TDS_BULK: u8 = 7;
const TDS_TRANSACTION: u8 = 14;
const TDS_NORMAL: u8 = 15;
const TDS_REQUESTS: [u8; 6] = [TDS_BATCH, TDS_RPC, TDS_ATTENTION, TDS_BULK, TDS_TRANSACTION, TDS_NORMAL];
/// Where a login has the version that it asks for, and the major one that Sybase alone speaks.
const TDS_VERSION: usize = TDS_HEADER + 458;
const TDS_5: u8 = 5;

fn tds_length(bytes: &[u8], types: &[u8]) -> Option<usize> {
    let &[kind, status, _, _, _, _, _, 0] = bytes.first_chunk::<TDS_HEADER>()? else { return None };
    let length = usize::from(u16_be(bytes, 2)?);
    (types.contains(&kind) && status < 0x20 && length >= TDS_HEADER).then_some(length)
}

/// In the middle of a connection an answer may have begun before the capture: whole requests, the last one with its end.
fn asks_in_tds(client: &[u8]) -> bool {
    const LAST: u8 = 1;
    let length = |bytes: &[u8]| tds_length(bytes, &TDS_REQUESTS);
    let told: usize = messages(client, length).map(<[u8]>::len).sum();
    let Some(last) = messages(client, length).last() else { return false };
    told == client.len() && length(last) == Some(last.len()) && last[1] & LAST != 0 && told > TDS_HEADER
}

/// Its login says so, or its requests, of which no other has the kind.
fn sybase(client: &[u8], server: &[u8]) -> bool {
    let asks = are_messages(client, |bytes| tds_length(bytes, &[TDS_NORMAL]));
    client.get(TDS_VERSION) == Some(&TDS_5) && is_login(client, server) || asks && answers_in_tds(server)
}

/// Any client of old TDS: a login, or requests that a server answers in kind.
fn tds(client: &[u8], server: &[u8]) -> bool {
    let asks = || are_messages(client, |bytes| tds_length(bytes, &TDS_REQUESTS));
    is_login(client, server) || asks() && (answers_in_tds(server) || server.is_empty() && is_batch(client))
}

fn answers_in_tds(server: &[u8]) -> bool {
    are_messages(server, |bytes| tds_length(bytes, &[TDS_ANSWER]))
}

/// Host, user and password, 30 bytes each, and how many of these are used; a password need not be text.
fn is_login(client: &[u8], server: &[u8]) -> bool {
    let begins = tds_length(client, &[TDS_LOGIN]).is_some() && (server.is_empty() || answers_in_tds(server));
    let body = client.get(TDS_HEADER..).unwrap_or_default();
    begins
        && body.get(92).is_some_and(|&used| used <= 30)
        && body.chunks(31).take(2).all(|field| match field {
            [text @ .., used] if text.len() == 30 => {
                usize::from(*used) <= text.len() && (*used == 0 || is_text(&text[..usize::from(*used)]))
            }
            _ => false,
        })
}

/// SQL in one packet, without an answer.
fn is_batch(client: &[u8]) -> bool {
    tds_length(client, &[TDS_BATCH]) == Some(client.len()) && is_text(&client[TDS_HEADER..])
}

// --- MongoDB ----------------------------------------------------------------------------------------------------------

/// length u32 | request u32 | answers u32 | operation u32, little-endian
/// <https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/>
const MONGODB_HEADER: usize = 16;
const MONGODB_LONGEST: usize = 48 << 20;
const OP_QUERY: u32 = 2004;
const OP_MSG: u32 = 2013;

fn mongodb(client: &[u8], server: &[u8]) -> bool {
    const ASKED: [u32; 9] = [2001, 2002, OP_QUERY, 2005, 2006, 2007, 2010, 2012, OP_MSG];
    const ANSWERED: [u32; 4] = [1, 2011, 2012, OP_MSG];
    let length = |bytes: &[u8], operations: &[u32]| {
        let fits = |length: &usize| (MONGODB_HEADER..MONGODB_LONGEST).contains(length);
        u32_le(bytes, 12).filter(|operation| operations.contains(operation))?;
        u32_le(bytes, 0).map(|length| length as usize).filter(fits)
    };
    let asks = are_messages(client, |bytes| length(bytes, &ASKED));
    match server {
        _ if !asks => false,
        [] => is_mongodb_request(client),
        _ => {
            let answered = u32_le(server, 8);
            let mut asked = messages(client, |bytes| length(bytes, &ASKED));
            are_messages(server, |bytes| length(bytes, &ANSWERED))
                && asked.any(|message| u32_le(message, 4) == answered)
        }
    }
}

/// A query names its collection; a message holds a document that is as long as the message.
fn is_mongodb_request(client: &[u8]) -> bool {
    match u32_le(client, 12) {
        Some(OP_QUERY) => {
            let name = client.get(MONGODB_HEADER + 4..).and_then(|rest| rest.split(|&byte| byte == 0).next());
            name.is_some_and(|name| is_text(name) && name.contains(&b'.'))
        }
        Some(OP_MSG) => {
            let document = u32_le(client, MONGODB_HEADER + 5).map(|length| length as usize + MONGODB_HEADER + 5);
            client.get(MONGODB_HEADER + 4) == Some(&0) && document == u32_le(client, 0).map(|length| length as usize)
        }
        _ => false,
    }
}

// --- Redis, Memcached -------------------------------------------------------------------------------------------------

/// A command is an array of strings, each behind its length: `*1 $4 PING`, a line each.
/// <https://redis.io/docs/latest/develop/reference/protocol-spec/>
fn redis(client: &[u8], server: &[u8]) -> bool {
    let mut lines = client.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or_default());
    let mut counted = |mark: u8| -> Option<usize> {
        let line = lines.next()?.strip_prefix(&[mark])?;
        str::from_utf8(line).ok()?.parse().ok()
    };
    let is_array = counted(b'*').is_some_and(|count| count > 0);
    let length = counted(b'$');
    let command = lines.next().unwrap_or_default();
    let is_command = length == Some(command.len()) && is_text(command);
    is_array && is_command || client == b"PING\r\n" && server.starts_with(b"+PONG\r\n")
}

/// <https://github.com/memcached/memcached/blob/master/doc/protocol.txt>
fn memcached(client: &[u8], server: &[u8]) -> bool {
    let (Some(asked), Some(answered)) = (first_line(client), first_line(server)) else { return false };
    let is_number = |word: &&str| word.parse::<u64>().is_ok();
    match asked[..] {
        ["get" | "gets", _, ..] => matches!(answered[..], ["VALUE", _, _, _, ..] | ["END"]),
        ["set" | "add" | "replace" | "append" | "prepend" | "cas", _, ref numbers @ ..] => {
            let stored = matches!(answered[..], ["STORED" | "NOT_STORED" | "EXISTS" | "NOT_FOUND"]);
            numbers.len() >= 3 && numbers[..3].iter().all(is_number) && stored
        }
        ["gat" | "gats", _, _, ..] => matches!(answered[..], ["VALUE", _, _, _, ..] | ["END"]),
        ["mg" | "ms" | "md" | "ma", _, ..] => matches!(answered[..], ["HD" | "EN" | "NS" | "NF" | "EX" | "VA", ..]),
        ["delete", _, ..] => matches!(answered[..], ["DELETED" | "NOT_FOUND"]),
        ["touch", _, _, ..] => matches!(answered[..], ["TOUCHED" | "NOT_FOUND"]),
        ["incr" | "decr", _, ref by, ..] => {
            is_number(by) && (answered == ["NOT_FOUND"] || answered.len() == 1 && is_number(&answered[0]))
        }
        ["stats", ..] => matches!(answered[..], ["STAT", _, ..]),
        ["version"] => matches!(answered[..], ["VERSION", _]),
        _ => false,
    }
}

/// magic u8 | operation u8 | key u16 | extras u8 | type u8, 0 | status u16 | length u32 | opaque u32 | version u64
fn memcached_binary(client: &[u8], server: &[u8]) -> bool {
    const HEADER: usize = 24;
    let length = |bytes: &[u8], magic: u8| {
        let key = usize::from(u16_be(bytes, 2)?) + usize::from(*bytes.get(4)?);
        let body = u32_be(bytes, 8)? as usize;
        (bytes[0] == magic && bytes[5] == 0 && key <= body && body < 64 << 20).then_some(HEADER + body)
    };
    let answers = client.get(1) == server.get(1) && client.get(12..16) == server.get(12..16);
    let asks = are_messages(client, |bytes| length(bytes, 0x80));
    asks && answers && are_messages(server, |bytes| length(bytes, 0x81))
}

// --- Cassandra --------------------------------------------------------------------------------------------------------

/// version u8 | flags u8 | stream i16 (i8 before version 3) | operation u8 | length u32
/// <https://github.com/apache/cassandra/blob/trunk/doc/native_protocol_v4.spec>
fn cassandra(client: &[u8], server: &[u8]) -> bool {
    const ASKED: [u8; 8] = [0x01, 0x05, 0x07, 0x09, 0x0a, 0x0b, 0x0d, 0x0f];
    const ANSWERED: [u8; 8] = [0x00, 0x02, 0x03, 0x06, 0x08, 0x0c, 0x0e, 0x10];
    const VERSIONS: &[u8] = b"\0\x0bCQL_VERSION";
    let Some(&version) = client.first().filter(|version| matches!(version, 1..=5 | 0x41 | 0x42)) else { return false };
    let at = if version < 3 { 3 } else { 4 };
    let length = |bytes: &[u8], version: u8, operations: &[u8]| {
        let operation = bytes.get(at).filter(|operation| operations.contains(operation));
        operation.filter(|_| bytes[0] == version && bytes[1] < 0x20)?;
        u32_be(bytes, at + 1).map(|length| length as usize + at + 5).filter(|&length| length < 256 << 20)
    };
    let begins = length(client, version, &[0x01, 0x05]).is_some();
    if begins && (contains(client, VERSIONS) || contains(server, VERSIONS)) {
        return true;
    }
    let asks = are_messages(client, |bytes| length(bytes, version, &ASKED));
    let answers = are_messages(server, |bytes| length(bytes, version | 0x80, &ANSWERED));
    asks && answers && client.get(2..at) == server.get(2..at)
}

// --- DB2 and others by DRDA -------------------------------------------------------------------------------------------

/// length u16 | D0 | format u8 | correlation u16 | length u16, of what follows | code point u16
/// <https://pubs.opengroup.org/dbiop/> (DRDA V5, volume 3: DDM)
const EXCHANGE_ATTRIBUTES: u16 = 0x1041;

fn drda(client: &[u8], server: &[u8]) -> bool {
    let length = |bytes: &[u8]| {
        let (length, inner) = (u16_be(bytes, 0)?, u16_be(bytes, 6)?);
        let fits =
            bytes[2] == 0xd0 && matches!(bytes[3] & 0x0f, 1..=5) && inner >= 4 && inner <= length.checked_sub(6)?;
        fits.then_some(usize::from(length))
    };
    let begins = u16_be(client, 8) == Some(EXCHANGE_ATTRIBUTES);
    let answers = if server.is_empty() { begins } else { are_messages(server, length) };
    answers && are_messages(client, length)
}

// --- those that say their name ----------------------------------------------------------------------------------------

/// Hello: 0 | length | name; the server's begins so as well.
fn clickhouse(client: &[u8], server: &[u8]) -> bool {
    let says = |bytes: &[u8]| matches!(bytes, [0, 10..=64, name @ ..] if name.starts_with(b"ClickHouse"));
    says(client) || says(server) || http_header(server, "x-clickhouse-query-id", "")
}

/// length u32 | type u8; the first answer tells the ways to log in.
fn mysql_x(client: &[u8], server: &[u8]) -> bool {
    let length = |bytes: &[u8]| u32_le(bytes, 0).filter(|&length| length < 1 << 24).map(|length| length as usize + 4);
    are_messages(client, length) && are_messages(server, length) && contains(server, b"authentication.mechanisms")
}

/// A magic number, then four versions of Bolt.
fn neo4j(client: &[u8], _: &[u8]) -> bool {
    client.starts_with(&[0x60, 0x60, 0xb0, 0x17])
}

/// FF FF FF FF, then versions and options in a fixed form.
fn hana(client: &[u8], _: &[u8]) -> bool {
    client.starts_with(&[0xff, 0xff, 0xff, 0xff, 4, 0x20, 0, 4, 1, 0, 0])
}

/// `sq`, a length in base 64, and soon the service.
fn informix(client: &[u8], _: &[u8]) -> bool {
    client.starts_with(b"sq") && contains(&client[..client.len().min(256)], b"sqlexec")
}

fn tarantool(_: &[u8], server: &[u8]) -> bool {
    server.starts_with(b"Tarantool ") && server.get(63) == Some(&b'\n')
}

fn hbase(client: &[u8], _: &[u8]) -> bool {
    client.starts_with(b"HBas\0")
}

/// By HTTP, or between its nodes: `ES` | length u32 | …
fn elasticsearch(client: &[u8], server: &[u8]) -> bool {
    const LEAST: u32 = 13;
    let length = |bytes: &[u8]| match bytes {
        [b'E', b'S', ..] => {
            u32_be(bytes, 2).filter(|length| (LEAST..1 << 28).contains(length)).map(|length| length as usize + 6)
        }
        _ => None,
    };
    const SEARCHED: [&[u8]; 2] = [b"\"_shards\":{\"total\":", b"You Know, for Search"];
    let by_http = http_header(server, "x-elastic-product", "elasticsearch")
        || is_http(server) && SEARCHED.iter().any(|told| contains(server, told));
    by_http || are_messages(client, length) && (server.is_empty() || are_messages(server, length))
}

fn is_http(server: &[u8]) -> bool {
    server.starts_with(b"HTTP/1.")
}

/// Does an HTTP answer begin here that has this header, its value beginning so?
fn http_header(server: &[u8], name: &str, value: &str) -> bool {
    let lines = server.split(|&byte| byte == b'\n').skip(1).map(<[u8]>::trim_ascii);
    is_http(server)
        && lines.take_while(|line| !line.is_empty()).any(|line| {
            let mut parts = line.splitn(2, |&byte| byte == b':').map(<[u8]>::trim_ascii);
            let named = parts.next().is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()));
            let told = parts.next().and_then(|told| told.get(..value.len()));
            named && told.is_some_and(|told| told.eq_ignore_ascii_case(value.as_bytes()))
        })
}

#[cfg(test)]
#[path = "others_tests.rs"]
mod tests;
