//! latpcap's core: capture bytes → packets → TCP segments → stream chunks → messages → exchanges → columns.
//!
//! It has no clock, no network and no Python: that is `extension/`.

#[macro_use]
mod named;
mod batch;
pub mod capture;
pub mod case;
pub mod cases;
pub mod client_groups;
pub mod conversation;
mod conversations;
pub mod cursor;
pub mod disk;
pub mod drivers;
mod ending;
pub mod exchange;
mod flows;
pub mod key_log_files;
pub mod health;
pub mod job;
pub mod json;
pub mod layers;
pub mod ledger;
pub mod legs;
pub mod live;
pub mod note;
mod options;
pub mod packet;
pub mod passes;
pub mod pipeline;
pub mod protocols;
pub mod rtt;
pub mod session;
pub mod side;
pub mod sql;
mod stages;
pub mod stream;
pub mod recording;
pub mod taps;
mod unread;
