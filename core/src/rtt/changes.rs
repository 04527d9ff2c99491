// STAND-IN, until rtt-changes is merged.

use std::io;

use super::evidence::Collected;
use super::phases::{Changes, Phases};
use crate::recording::{DatabaseConnections, Recording};

pub fn find(
    _recording: &Recording,
    _connections: &DatabaseConnections,
    _phases: &Phases,
    _collected: &Collected,
    _relevant: &[[bool; 2]],
) -> io::Result<(Changes, Vec<f64>)> {
    todo!()
}
