//! Columns that are declared once: the struct, how it is read by name from whoever hands it over, and its check.

use std::borrow::Cow;

/// Where columns come from, by name: they are borrowed where they can be.
pub trait Source {
    type Error;
    fn u32s(&self, name: &'static str) -> Result<Cow<'_, [u32]>, Self::Error>;
    fn i64s(&self, name: &'static str) -> Result<Cow<'_, [i64]>, Self::Error>;
    fn f64s(&self, name: &'static str) -> Result<Cow<'_, [f64]>, Self::Error>;
    fn bools(&self, name: &'static str) -> Result<Cow<'_, [bool]>, Self::Error>;
}

/// What a column may hold.
pub trait Cell: Sized + Clone + 'static {
    fn column<'a, S: Source>(source: &'a S, name: &'static str) -> Result<Cow<'a, [Self]>, S::Error>;
}

macro_rules! cells {
    ($($cell:ty: $read:ident),+) => {
        $(impl Cell for $cell {
            fn column<'a, S: Source>(source: &'a S, name: &'static str) -> Result<Cow<'a, [Self]>, S::Error> {
                source.$read(name)
            }
        })+
    };
}

cells!(u32: u32s, i64: i64s, f64: f64s, bool: bools);

/// A struct of columns, by what they have one value of: a connection, an exchange, ….
macro_rules! columns {
    (
        $(#[$about:meta])* $name:ident
        $($group:ident { $($(#[$of_one:meta])* $column:ident: $cell:ty,)+ })+
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default)]
        pub struct $name<'a> {
            $($($(#[$of_one])* pub $column: std::borrow::Cow<'a, [$cell]>,)+)+
        }

        impl<'a> $name<'a> {
            /// The columns by their names.
            pub const COLUMNS: &'static [&'static str] = &[$($(stringify!($column),)+)+];

            /// Read each column by its name.
            pub fn read<S: $crate::job::Source>(source: &'a S) -> Result<$name<'a>, S::Error> {
                Ok($name {
                    $($($column: $crate::job::Cell::column(source, stringify!($column))?,)+)+
                })
            }

            /// Each column has a value for each.
            fn fits(&self, $($group: usize),+) -> bool {
                $([$(self.$column.len(),)+].iter().all(|&length| length == $group))&&+
            }
        }
    };
}

pub(super) use columns;
