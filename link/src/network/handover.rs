//! What the process that keeps the namespaces and latpcap's own say to each other: a line, and file descriptors.

use std::io::{self, Error, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

/// How much a line may hold: an error's text at most.
const LINE: usize = 4096;
const MAX_FILES: usize = 16;

pub const READY: &str = "ready";
pub const FAILED: &str = "failed ";
pub const LISTEN: &str = "listen ";

pub fn tell(socket: &OwnedFd, line: &str, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(files));
    let line = &line.as_bytes()[..line.len().min(LINE)];
    sendmsg(socket, &[IoSlice::new(line)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// An empty line: the other side is gone.
pub fn hear(socket: &OwnedFd) -> io::Result<(String, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut line = [0; LINE];
    let length = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut line)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(message) => break message.bytes,
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => break 0,
            Err(failed) => return Err(failed.into()),
        }
    };
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            files.extend(received);
        }
    }
    Ok((String::from_utf8_lossy(&line[..length]).into_owned(), files))
}

/// The process that keeps the namespaces, as latpcap's own sees it.
pub struct Keeper(Mutex<OwnedFd>);

impl Keeper {
    pub fn new(socket: OwnedFd) -> Self {
        Self(Mutex::new(socket))
    }

    /// The namespaces' file descriptors, once they are made.
    pub fn files(&self) -> io::Result<Vec<OwnedFd>> {
        self.answer(None)
    }

    /// A socket of the far namespace that takes connections to this port of any address.
    pub fn listen(&self, port: u16) -> io::Result<TcpListener> {
        let mut files = self.answer(Some(format!("{LISTEN}{port}")))?;
        Ok(files.pop().ok_or(io::ErrorKind::UnexpectedEof)?.into())
    }

    fn answer(&self, question: Option<String>) -> io::Result<Vec<OwnedFd>> {
        let socket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(question) = question {
            tell(&socket, &question, &[])?;
        }
        match hear(&socket)? {
            (line, files) if line == READY => Ok(files),
            (line, _) if line.is_empty() => Err(Error::other("the process that keeps its namespaces has ended")),
            (line, _) => Err(Error::other(line.strip_prefix(FAILED).unwrap_or(&line).to_owned())),
        }
    }
}

#[cfg(test)]
#[path = "handover_tests.rs"]
mod tests;
