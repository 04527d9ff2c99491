use super::*;

/// Gives its bytes one at a time, as a slow pipe does.
struct Drip(u8);

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(first) = buffer.first_mut().filter(|_| self.0 < 5) else {
            return Ok(0);
        };
        *first = self.0;
        self.0 += 1;
        Ok(1)
    }
}

#[test]
fn a_slow_pipe_is_waited_for() {
    let mut buffer = ReadBuffer::new(Box::new(Drip(0)), USUAL_SIZE);
    assert_eq!(buffer.peek(2), Some(&[0, 1][..]));
    buffer.consume(2);
    assert_eq!(buffer.peek(3), Some(&[2, 3, 4][..]));
    assert_eq!(buffer.peek(4), None);
    assert_eq!(buffer.offset(), 2);
}

#[test]
fn a_length_that_never_arrives_costs_no_memory() {
    let mut buffer = ReadBuffer::new(Box::new(Drip(0)), USUAL_SIZE);
    assert_eq!(buffer.peek(usize::MAX / 4), None);
    assert_eq!(buffer.buffer.len(), USUAL_SIZE);
}

#[test]
fn it_grows_for_bytes_that_arrive() {
    let mut buffer = ReadBuffer::new(Box::new(io::repeat(7).take(1_000_000)), USUAL_SIZE);
    assert_eq!(buffer.peek(1_000_000).map(<[u8]>::len), Some(1_000_000));
    assert!(buffer.skip(1_000_000));
    assert!(buffer.at_end());
}

#[test]
fn skipping_needs_no_room() {
    let mut buffer = ReadBuffer::new(Box::new(io::repeat(7).take(5_000_000)), USUAL_SIZE);
    assert!(buffer.skip(4_999_999));
    assert!(!buffer.skip(2));
    assert_eq!(buffer.buffer.len(), USUAL_SIZE);
}
