//! Passes over whole columns that many measures and findings share: what stands together, in which order, and sums.
//!
//! A column is a slice with one value a row; what comes out has a value for each row or for each group. None of them
//! compares row with row: each costs a few walks over its columns, whatever the number of groups. Rows are numbered in
//! 32 bits.

mod groups;
mod order;
mod quantiles;
mod radix;
mod runs;
mod sums;
mod texts;

pub use groups::{counted, distinct, first_alike, numbered};
pub use order::{groups, order};
pub use quantiles::{Ascending, ascending, lower_median, quantile};
pub use runs::{last_known, running_maximum, serving};
pub use sums::{Known, sums};
pub use texts::{first_like, holding};
