//! Capture files and pipes, read as one recording in time order.

mod annotate;
mod clock;
mod compressed;
mod contents;
mod error;
mod growing;
mod host_curve;
mod identify;
mod leap;
mod order;
mod pcap;
mod pcapng;
mod read_buffer;
mod reader;
mod record;
mod captures;
mod source;
mod stop;
mod summary;
mod taps;

pub use annotate::{AnnotateError, Annotated, Comments, Keys, annotate};
pub use captures::{Captures, Packet};
pub use contents::{Contents, Origin};
pub use error::CaptureError;
pub use growing::whole_part;
pub use host_curve::HostCurve;
pub use identify::looks_like;
pub use leap::{Leaps, possible_time};
pub use pcapng::writing;
pub use source::{Remote, Source};
pub use stop::Stop;
pub use summary::{CaptureFile, CutPacket};
