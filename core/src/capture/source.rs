//! Where captures come from: files, standard input, memory, anything that reads.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::CaptureError;
use super::stop::{Pipe, Stop};

pub enum Source {
    Path(PathBuf),
    Stdin,
    Bytes { name: String, bytes: Arc<[u8]> },
    Reader { name: String, reader: Box<dyn Read + Send> },
}

impl Source {
    /// A file, or standard input for `-`.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if path.as_os_str() == "-" { Self::Stdin } else { Self::Path(path) }
    }

    pub fn bytes(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::Bytes { name: name.into(), bytes: bytes.into() }
    }

    pub fn reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        Self::Reader { name: name.into(), reader: Box::new(reader) }
    }

    /// What messages call it.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
            Self::Bytes { name, .. } | Self::Reader { name, .. } => name.clone(),
        }
    }

    /// Its length, where it has one before it is read.
    pub(super) fn size(&self) -> Option<u64> {
        match self {
            Self::Path(path) => regular(path.metadata()).map(|file| file.len()),
            Self::Bytes { bytes, .. } => Some(bytes.len() as u64),
            Self::Stdin | Self::Reader { .. } => None,
        }
    }

    /// Whether it gives the same bytes when it is opened again.
    pub(super) fn opens_again(&self) -> bool {
        self.size().is_some()
    }

    /// A stream that adds what is read from it to `consumed`; one of `many` files is not held open.
    pub(super) fn open(
        &mut self,
        consumed: &Arc<AtomicU64>,
        many: bool,
        stop: &Stop,
    ) -> Result<Box<dyn Read + Send>, CaptureError> {
        let reader: Box<dyn Read + Send> = match self {
            Self::Path(path) if many && path.is_file() => {
                open_file(path)?;
                Box::new(OpenedAgain { path: path.clone(), offset: 0 })
            }
            Self::Path(path) if path.is_file() => Box::new(open_file(path)?),
            Self::Path(path) => Box::new(Pipe::new(open_file(path)?, stop)),
            Self::Stdin => Box::new(Pipe::new(io::stdin(), stop)),
            Self::Bytes { bytes, .. } => Box::new(io::Cursor::new(Arc::clone(bytes))),
            Self::Reader { reader, .. } => std::mem::replace(reader, Box::new(io::empty())),
        };
        Ok(Box::new(Counted { reader, consumed: Arc::clone(consumed) }))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Source({})", self.name())
    }
}

fn regular(metadata: io::Result<Metadata>) -> Option<Metadata> {
    metadata.ok().filter(Metadata::is_file)
}

fn open_file(path: &PathBuf) -> Result<File, CaptureError> {
    let name = || path.display().to_string();
    let cannot_open = |reason| CaptureError::CannotOpen { path: name(), reason };
    if path.is_dir() {
        return Err(CaptureError::Directory { path: name() });
    }
    File::open(path).map_err(cannot_open)
}

/// A file that is opened for each piece that is read of it: a process may only hold so many open.
struct OpenedAgain {
    path: PathBuf,
    offset: u64,
}

impl Read for OpenedAgain {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let count = file.read(buffer)?;
        self.offset += count as u64;
        Ok(count)
    }
}

struct Counted {
    reader: Box<dyn Read + Send>,
    consumed: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.consumed.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
