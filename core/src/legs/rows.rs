//! The exchanges of a recording, as far as they show which of them belong together.

use std::io;
use std::ops::Range;

use crate::passes::first_alike;
use crate::recording::{Column, DatabaseConnections, ExchangeColumns, NULL, Recording};
use crate::sql::StatementKind;

/// A statement with its literals, by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Statement {
    pub fingerprint: u32,
    /// The first exchange with the same literals.
    pub literals: u32,
    /// It reads, writes or does something else than to manage the session.
    pub is_work: bool,
}

/// An exchange. Times are ns since 1970, [`NULL`] where nothing was captured.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub connection: u32,
    /// Its statement, where all of it was captured.
    pub statement: Option<Statement>,
    pub request_ns: i64,
    pub response_ns: i64,
    pub response_end_ns: i64,
}

/// The exchanges in the order of connection and request.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub all: Vec<Row>,
    /// The first row of each connection, and at last the number of all.
    first: Vec<u32>,
}

impl Rows {
    pub fn of(recording: &Recording, connections: &DatabaseConnections) -> io::Result<Rows> {
        let exchanges = &recording.exchanges;
        let row = |connection| Row { connection, statement: None, request_ns: 0, response_ns: 0, response_end_ns: 0 };
        let mut all: Vec<Row> = connections_of(exchanges, connections)?.into_iter().map(row).collect();
        let mut fill = |column, put: fn(&mut Row, i64)| -> io::Result<()> {
            all.iter_mut().zip(exchanges.all_numbers(column)?).for_each(|(row, number)| put(row, number));
            Ok(())
        };
        fill(Column::request_time, |row, ns| row.request_ns = ns)?;
        fill(Column::response_time, |row, ns| row.response_ns = ns)?;
        fill(Column::response_end_time, |row, ns| row.response_end_ns = ns)?;
        let works = [StatementKind::Read, StatementKind::Write, StatementKind::Other];
        let works = recording.statements_of(&works).map_err(io::Error::other)?;
        let literals = first_alike(&exchanges.all_numbers(Column::parameters)?);
        let complete = exchanges.all_numbers(Column::complete)?;
        let fingerprints = exchanges.all_numbers(Column::fingerprint)?;
        for (row, ((literals, complete), fingerprint)) in
            all.iter_mut().zip(literals.into_iter().zip(complete).zip(fingerprints))
        {
            let is_whole = complete == 1 && row.request_ns != NULL && row.response_ns != NULL;
            let Some(fingerprint) = u32::try_from(fingerprint).ok().filter(|_| is_whole) else { continue };
            let is_work = works.get(fingerprint as usize) == Some(&true);
            row.statement = Some(Statement { fingerprint, literals: literals as u32, is_work });
        }
        Ok(Rows::sorted(all, connections.len()))
    }

    /// Rows that are in order, of so many connections.
    pub fn sorted(all: Vec<Row>, connections: usize) -> Rows {
        let mut first = vec![0; connections + 1];
        all.iter().for_each(|row| first[row.connection as usize + 1] += 1);
        (0..connections).for_each(|connection| first[connection + 1] += first[connection]);
        Rows { all, first }
    }

    /// The places of a connection's rows.
    pub fn of_connection(&self, connection: u32) -> Range<u32> {
        self.first[connection as usize]..self.first[connection as usize + 1]
    }

    /// The rows of a connection.
    pub fn rows_of(&self, connection: u32) -> &[Row] {
        let places = self.of_connection(connection);
        &self.all[places.start as usize..places.end as usize]
    }
}

impl Row {
    pub fn is_answered(&self) -> bool {
        self.request_ns != NULL && self.response_ns != NULL
    }

    /// Request → response.
    pub fn waited_ns(&self) -> i64 {
        self.response_ns.saturating_sub(self.request_ns)
    }
}

/// The place of the connection of each exchange.
pub fn connections_of(exchanges: &ExchangeColumns, connections: &DatabaseConnections) -> io::Result<Vec<u32>> {
    let place = |stream| connections.place(stream).map(|place| place as u32);
    let unknown = || io::Error::other("it has exchanges of connections that are not there");
    exchanges.all_numbers(Column::stream)?.into_iter().map(|stream| place(stream).ok_or_else(unknown)).collect()
}
