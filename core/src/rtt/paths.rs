//! Which connections share a path: one client host, one server endpoint.

use std::collections::HashMap;

use crate::recording::DatabaseConnections;

/// The paths (one client host, one server endpoint) in the order of their first connection; that of each connection is
/// known to the phases.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// The host of the client, and the server's endpoint.
    pub clients: Vec<String>,
    pub servers: Vec<String>,
}

impl Paths {
    /// The paths of connections, and that of each; those of different `groups` share none.
    pub fn of(connections: &DatabaseConnections, groups: Option<&[u32]>) -> (Paths, Vec<u32>) {
        let mut paths = Paths::default();
        let mut known = HashMap::<_, u32, ahash::RandomState>::default();
        let path_of = connections.all.iter().enumerate().map(|(place, connection)| {
            let group = groups.and_then(|groups| groups.get(place).copied());
            *known.entry((connection.host, connection.server, group)).or_insert_with(|| {
                let name = |names: &[String], number: u32| names.get(number as usize).cloned().unwrap_or_default();
                paths.clients.push(name(&connections.hosts, connection.host));
                paths.servers.push(name(&connections.servers, connection.server));
                paths.clients.len() as u32 - 1
            })
        });
        let path_of = path_of.collect();
        (paths, path_of)
    }

    pub fn len(&self) -> usize {
        self.clients.len()
    }

    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// The client's host and the server's endpoint.
    pub fn ends(&self, path: usize) -> [&str; 2] {
        [&self.clients[path], &self.servers[path]]
    }
}
