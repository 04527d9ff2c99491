use super::*;

/// Gives what it has, then keeps its reader waiting.
struct Open(&'static [u8]);

impl Read for Open {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            thread::sleep(Duration::from_secs(3600));
        }
        self.0.read(buffer)
    }
}

#[test]
fn a_pipe_is_read_to_its_end() {
    let bytes: Vec<u8> = (0..300_000_u32).map(|byte| byte as u8).collect();
    let mut read = Vec::new();
    Pipe::new(io::Cursor::new(bytes.clone()), &Stop::default()).read_to_end(&mut read).unwrap();
    assert_eq!(read, bytes);
}

#[test]
fn a_pipe_that_stays_open_is_left_when_that_is_asked_for() {
    let stop = Stop::default();
    let mut pipe = Pipe::new(Open(b"abc"), &stop);
    let mut read = [0; 8];
    assert_eq!(pipe.read(&mut read).unwrap(), 3);
    stop.ask();
    assert_eq!(pipe.read(&mut read).unwrap(), 0);
    assert!(stop.has_left());
}

#[test]
fn a_pipe_that_ends_by_itself_is_not_left() {
    let stop = Stop::default();
    stop.ask();
    let mut read = Vec::new();
    Pipe::new(io::Cursor::new(b"abc"), &stop).read_to_end(&mut read).unwrap();
    assert_eq!(read, b"abc");
    assert!(!stop.has_left());
}
