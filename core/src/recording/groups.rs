//! The table of client groups.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::{batch, numbers, strings, times};
use crate::client_groups::Group;

/// One row a group; `hash` modulo the number of parts is the part that holds it.
pub fn groups(groups: &[Group]) -> Result<RecordBatch, ArrowError> {
    batch(vec![
        ("host", strings(groups.iter().map(|group| Some(group.hosts.low.to_string())))),
        ("other_host", strings(groups.iter().map(|group| Some(group.hosts.high.to_string())))),
        ("packets", numbers(groups.iter().map(|group| group.packets))),
        ("bytes", numbers(groups.iter().map(|group| group.bytes))),
        ("first_time", times(groups.iter().map(|group| Some(group.first_ns)))),
        ("last_time", times(groups.iter().map(|group| Some(group.last_ns)))),
        ("hash", numbers(groups.iter().map(|group| group.hosts.hash()))),
    ])
}
