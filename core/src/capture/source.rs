//! Where captures come from: files, standard input, memory, other machines, anything that reads.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::contents::{Hashed, Origin, Passed};
use super::error::CaptureError;
use super::stop::{Pipe, Stop};

pub struct Source {
    name: String,
    kind: Kind,
    /// What was read of it, where that passes only once.
    passed: Passed,
}

enum Kind {
    Path(PathBuf),
    Stdin,
    Bytes(Arc<[u8]>),
    Reader(Box<dyn Read + Send>),
    Remote(Box<dyn Remote>),
}

/// A file that lies elsewhere, and is read from its beginning on as often as it is opened.
pub trait Remote: Send {
    /// What errors call it.
    fn place(&self) -> String;
    fn size(&self) -> u64;
    fn open(&self) -> io::Result<Box<dyn Read + Send>>;
}

impl Source {
    /// A file, or standard input for `-`.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if path.as_os_str() == "-" {
            Self::new("standard input", Kind::Stdin)
        } else {
            Self::new(path.display().to_string(), Kind::Path(path))
        }
    }

    pub fn bytes(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::new(name, Kind::Bytes(bytes.into()))
    }

    pub fn reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        Self::new(name, Kind::Reader(Box::new(reader)))
    }

    pub fn remote(file: impl Remote + 'static) -> Self {
        Self::new(file.place(), Kind::Remote(Box::new(file)))
    }

    fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind, passed: Passed::default() }
    }

    /// Lets results call it something else: results are handed on, and folders are nobody's business.
    pub fn called(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// What results call it.
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// What errors call it: they are for whoever named the file, and may have to find it.
    pub(super) fn place(&self) -> String {
        match &self.kind {
            Kind::Path(path) => path.display().to_string(),
            Kind::Remote(file) => file.place(),
            Kind::Stdin | Kind::Bytes(_) | Kind::Reader(_) => self.name(),
        }
    }

    /// Its length, where it has one before it is read.
    pub(super) fn size(&self) -> Option<u64> {
        match &self.kind {
            Kind::Path(path) => regular(path.metadata()).map(|file| file.len()),
            Kind::Bytes(bytes) => Some(bytes.len() as u64),
            Kind::Remote(file) => Some(file.size()),
            Kind::Stdin | Kind::Reader(_) => None,
        }
    }

    /// From where to tell what it holds, when somebody asks.
    pub(super) fn origin(&self) -> Origin {
        match &self.kind {
            Kind::Path(path) => regular(path.metadata())
                .map_or_else(|| Origin::Passed(Arc::clone(&self.passed)), |file| Origin::file(path.clone(), &file)),
            Kind::Stdin | Kind::Bytes(_) | Kind::Reader(_) | Kind::Remote(_) => {
                Origin::Passed(Arc::clone(&self.passed))
            }
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
        let passed = &self.passed;
        let reader: Box<dyn Read + Send> = match &mut self.kind {
            Kind::Path(path) if many && path.is_file() => {
                open_file(path)?;
                Box::new(OpenedAgain { path: path.clone(), offset: 0 })
            }
            Kind::Path(path) if path.is_file() => Box::new(open_file(path)?),
            Kind::Path(path) => Box::new(Hashed::new(Pipe::new(open_file(path)?, stop), passed)),
            Kind::Stdin => Box::new(Hashed::new(Pipe::new(io::stdin(), stop), passed)),
            Kind::Bytes(bytes) => Box::new(Hashed::new(io::Cursor::new(Arc::clone(bytes)), passed)),
            Kind::Remote(file) => {
                let cannot_open = |reason| CaptureError::CannotOpen { path: file.place(), reason };
                Box::new(Hashed::new(file.open().map_err(cannot_open)?, passed))
            }
            Kind::Reader(reader) => Box::new(Hashed::new(std::mem::replace(reader, Box::new(io::empty())), passed)),
        };
        Ok(Box::new(Counted { reader, consumed: Arc::clone(consumed) }))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Source({})", self.name)
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
