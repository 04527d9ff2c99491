//! Protocols (names, usual ports, which server begins by speaking) and the table of their clients.

use pyo3::prelude::*;

use latpcap_core::drivers::table_json;
use latpcap_core::protocols::{Opening, REGISTRY, Verdict, opaque, protocol_on as found_on};
use latpcap_core::side::Side;

/// The names that `decode_as` takes.
#[pyfunction]
pub fn protocols() -> Vec<&'static str> {
    REGISTRY.iter().map(|protocol| protocol.name).chain(opaque::NAMES).collect()
}

/// The protocol whose usual server port this is.
#[pyfunction]
pub fn protocol_on(port: u16) -> Option<&'static str> {
    found_on(port).map(|protocol| protocol.name)
}

/// The protocol of a server that says this before its client has said anything.
#[pyfunction]
pub fn greeting_of(server: &[u8]) -> Option<&'static str> {
    let opening = Opening { client: &[], server, first: Side::Server, from_start: true };
    REGISTRY.iter().find(|each| (each.recognise)(&opening) == Verdict::Certain).map(|each| each.name)
}

/// The table of drivers and frameworks, as JSON: how each shows itself, and its settings.
#[pyfunction]
pub fn driver_table() -> String {
    table_json()
}
