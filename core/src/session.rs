//! What a connection says about itself.

use std::hash::{DefaultHasher, Hasher};

use crate::drivers::Client;
use crate::layers::tls::TlsFacts;

/// Facts that a decoder learns as the connection goes on; `None` until said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    pub server_version: Option<String>,
    pub user: Option<String>,
    pub database: Option<String>,
    pub application: Option<String>,
    /// The signs of its driver.
    pub client: Client,
    /// Users and databases that the connection has left behind.
    pub former_users: Vec<String>,
    pub former_databases: Vec<String>,
    /// `tls`, `wire encryption`; `None` while everything is readable.
    pub encryption: Option<&'static str>,
    pub compression: Option<&'static str>,
    /// What TLS tells in clear, where it is spoken.
    pub tls: Option<Box<TlsFacts>>,
    /// The server sends unasked: replication, events.
    pub replication: bool,
    /// Rows whose format was not captured are among those counted: their number was inferred from the packets around them.
    pub estimated_rows: bool,
    /// The server's count of some rows contradicts what was asked for or came: their number is left out.
    pub implausible_rows: bool,
    /// Whether a transaction is open, as the server last said: `idle`, `open` or `failed`.
    pub transaction: Option<&'static str>,
    /// A hash of what another connection must present to cancel what runs on this one.
    pub cancel_key: Option<u64>,
    /// The hash that this connection presents.
    pub cancels: Option<u64>,
    /// A hash of what the server made up for this session alone: who passes a session on passes that on, too.
    pub made_up: Option<u64>,
}

/// Former names that are kept of each kind.
const FORMER_MAX: usize = 100;

/// Secrets and what is made up are only ever compared, so they are not kept.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

impl Session {
    /// The server has sent what it made up for this session; `cut`: not all of it was captured.
    pub fn knows_by(&mut self, made_up: &[u8], cut: bool) {
        if !cut {
            self.made_up = Some(hash(made_up));
        }
    }

    /// What tells this session from all others, where anything does.
    pub fn identity(&self) -> Option<u64> {
        self.made_up.or_else(|| self.tls.as_ref()?.server_random.map(|random| hash(&random)))
    }

    /// The connection goes on with another user.
    pub fn change_user(&mut self, user: Option<String>) {
        leave(&mut self.former_users, std::mem::replace(&mut self.user, user));
    }

    /// The connection goes on with another database.
    pub fn change_database(&mut self, database: Option<String>) {
        leave(&mut self.former_databases, std::mem::replace(&mut self.database, database));
    }
}

fn leave(former: &mut Vec<String>, name: Option<String>) {
    former.extend(name.filter(|name| former.len() < FORMER_MAX && !former.contains(name)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_left_behind_are_kept_once() {
        let mut session = Session::default();
        for database in ["shop", "crm", "shop", "crm"] {
            session.change_database(Some(database.into()));
        }
        session.change_user(None);
        assert_eq!(session.former_databases, ["shop", "crm"]);
        assert!(session.former_users.is_empty());
    }
}
