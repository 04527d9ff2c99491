//! Connections that are no database traffic though they concern a database, as notes: nobody answered, or what is said
//! cannot be read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::case::Case;
use crate::conversation::Conversation;
use crate::note::{NoteCode, Notes};
use crate::protocols::others::listens_on;
use crate::protocols::{Protocol, protocol_on};
use crate::stream::{Connection, State};

/// Groups of connections that a message tells of.
const MAX_NAMED: usize = 3;

/// Connections to one port with one name: how many, and the first of them.
#[derive(Clone, Copy, Debug)]
struct Group {
    count: u64,
    first: u32,
}

/// By name and server port.
type Groups = BTreeMap<(Cow<'static, str>, u16), Group>;

/// What the connections without a readable dialogue are.
#[derive(Default)]
pub struct Unread {
    refused: Groups,
    unanswered: Groups,
    unrecognised: Groups,
    others: Groups,
}

impl Unread {
    /// Takes in a connection; `named`: the user says that a database listens on its port.
    pub fn add(&mut self, stream: u32, connection: &Connection, conversation: &Conversation, named: bool) {
        let mut port = connection.server.port;
        let usual = protocol_on(port).map(|protocol: &Protocol| protocol.name);
        let expected = usual.or(named.then_some(""));
        let (groups, name) = match (connection.state(), conversation.other_database(), expected) {
            (_, Some(name), _) => {
                if !connection.oriented && listens_on(name, connection.client.port) && !listens_on(name, port) {
                    port = connection.client.port;
                }
                (&mut self.others, name)
            }
            (State::Refused, None, Some(name)) => (&mut self.refused, name),
            (State::Unanswered, None, Some(name)) => (&mut self.unanswered, name),
            (_, None, Some(name)) if is_spoken(connection) => (&mut self.unrecognised, name),
            _ => return,
        };
        groups.entry((Cow::Borrowed(name), port)).or_insert(Group { count: 0, first: stream }).count += 1;
    }

    /// Each group of each kind.
    pub fn cases(&self) -> impl Iterator<Item = Case> {
        let kinds = [
            (NoteCode::Refused, &self.refused),
            (NoteCode::Unanswered, &self.unanswered),
            (NoteCode::Unrecognised, &self.unrecognised),
            (NoteCode::OtherDatabase, &self.others),
        ];
        kinds.into_iter().flat_map(|(code, groups)| {
            groups.iter().map(move |((name, port), group)| Case {
                name: name.clone(),
                port: *port,
                ..Case::new(code, group.count, u64::from(group.first))
            })
        })
    }

    /// Takes in a group of a part of the recording.
    pub fn join(&mut self, case: Case) {
        let groups = match case.code {
            NoteCode::Refused => &mut self.refused,
            NoteCode::Unanswered => &mut self.unanswered,
            NoteCode::Unrecognised => &mut self.unrecognised,
            _ => &mut self.others,
        };
        let first = u32::try_from(case.first).unwrap_or(u32::MAX);
        let group = groups.entry((case.name, case.port)).or_insert(Group { count: 0, first });
        group.first = group.first.min(first);
        group.count = group.count.saturating_add(case.count);
    }

    pub fn add_to(&self, notes: &mut Notes) {
        let mut note = |code, groups: &Groups, message: &dyn Fn(String) -> String| {
            let count = groups.values().map(|group| group.count).sum();
            notes.add_several(code, count, || message(told(groups)));
        };
        note(NoteCode::Refused, &self.refused, &|told| {
            format!("connections refused by the server (no listener) are left out: {told}")
        });
        note(NoteCode::Unanswered, &self.unanswered, &|told| {
            format!("connections with an unanswered SYN (dropped by a firewall, or no such host) are left out: {told}")
        });
        note(NoteCode::Unrecognised, &self.unrecognised, &|told| {
            format!("traffic on a database's port was not recognised and is left out: {told}; {}", self.try_this())
        });
        note(NoteCode::OtherDatabase, &self.others, &|told| {
            let port = largest(&self.others).map_or(0, |((_, port), _)| port);
            format!("databases that latpcap cannot read yet: {told}; --decode-as {port}=opaque counts the round trips")
        });
    }

    fn try_this(&self) -> String {
        let ((name, port), _) = largest(&self.unrecognised).unwrap_or((("", 0), Group { count: 0, first: 0 }));
        let as_usual =
            if name.is_empty() { String::new() } else { format!("--decode-as {port}={name} reads it anyway, ") };
        format!("{as_usual}--decode-as {port}=opaque counts its round trips")
    }
}

/// Bytes were sent, and the ports leave no doubt who serves: a port of ours may be a client's by chance.
fn is_spoken(connection: &Connection) -> bool {
    connection.last_data_ns.is_some() && (connection.oriented || connection.server.port < connection.client.port)
}

fn by_size(groups: &Groups) -> Vec<((&str, u16), Group)> {
    let mut sorted: Vec<_> = groups.iter().map(|((name, port), &group)| ((&**name, *port), group)).collect();
    sorted.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
    sorted
}

fn largest(groups: &Groups) -> Option<((&str, u16), Group)> {
    by_size(groups).first().copied()
}

/// `SQL Server on port 1433 (3 connections, first: stream 0)`; only the largest groups.
fn told(groups: &Groups) -> String {
    let sorted = by_size(groups);
    let mut parts: Vec<String> = sorted.iter().take(MAX_NAMED).map(|(key, group)| one(key, group)).collect();
    if sorted.len() > MAX_NAMED {
        parts.push(format!("and {} more ports", sorted.len() - MAX_NAMED));
    }
    parts.join(", ")
}

fn one(&(name, port): &(&str, u16), Group { count, first }: &Group) -> String {
    let plural = if *count == 1 { "" } else { "s" };
    let name = if name.is_empty() { String::new() } else { format!("{name} on ") };
    format!("{name}port {port} ({count} connection{plural}, first: stream {first})")
}
