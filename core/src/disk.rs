//! Room on a disk, for what does not fit in memory: a temporary file that has no name and that nobody else can open.
//!
//! It is made when something is put there, only grows, and is gone with the program, however that ends. Where there is
//! no room any more, or never was, that is said once, and what comes stays in memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A kind of rows may take one part in so many.
const ROWS: u64 = 16;

/// Where files may be made, and how much they may take together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    pub folder: PathBuf,
    pub bytes: u64,
}

impl Room {
    /// What a kind of rows may take of it: exchanges, RTT samples. The rest is for what is computed from them.
    pub fn for_rows(&self) -> Room {
        Room { folder: self.folder.clone(), bytes: self.bytes / ROWS }
    }
}

/// What went to the disk, of one kind.
#[derive(Debug, Default)]
pub struct Overflow {
    room: Option<Room>,
    file: Option<Mutex<File>>,
    used: u64,
    refusal: Option<String>,
}

impl Overflow {
    /// In this room, or in none.
    pub fn within(room: Option<Room>) -> Overflow {
        Overflow { room, ..Overflow::default() }
    }

    /// There may be room.
    #[inline]
    pub fn takes(&self) -> bool {
        self.room.is_some() && self.refusal.is_none()
    }

    /// Keeps the bytes and says where they begin; `None` where there is no room, from then on.
    pub fn keep(&mut self, bytes: &[u8]) -> Option<u64> {
        let room = self.room.as_ref().filter(|_| self.refusal.is_none())?;
        let after = self.used + bytes.len() as u64;
        if after > room.bytes {
            self.refusal = Some(format!("{} bytes of disk are used", room.bytes));
            return None;
        }
        if let Err(error) = write(&mut self.file, room, self.used, bytes) {
            self.refusal = Some(format!("{}: {error}", room.folder.display()));
            return None;
        }
        Some(std::mem::replace(&mut self.used, after))
    }

    /// Why nothing more can be kept.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Some of the bytes that were kept.
    pub fn read(&self, begin: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut read = vec![0; bytes];
        file.seek(SeekFrom::Start(begin))?;
        file.read_exact(&mut read)?;
        Ok(read)
    }
}

fn write(file: &mut Option<Mutex<File>>, room: &Room, at: u64, bytes: &[u8]) -> io::Result<()> {
    if file.is_none() {
        *file = Some(Mutex::new(tempfile::tempfile_in(&room.folder)?));
    }
    let Some(file) = file else { return Ok(()) };
    let file = file.get_mut().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

/// What was read back is not what was kept.
pub fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a temporary file was changed or is damaged")
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;
