//! Into the job's namespace, for a process that is about to become a command.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::spaces::keep_network_rights;

/// `may_capture`: what is started next keeps the right to capture there; without, it has no right that it had not before.
pub fn enter(network: &Path, user: Option<&Path>, may_capture: bool) -> io::Result<()> {
    let network = File::open(network)?;
    if let Some(user) = user {
        move_into_link_name_space(File::open(user)?.as_fd(), Some(LinkNameSpaceType::User))?;
    }
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
    if may_capture && user.is_some() {
        keep_network_rights()?;
    }
    // Without latpcap there is no way to anywhere.
    set_parent_process_death_signal(Some(Signal::TERM))?;
    Ok(())
}
