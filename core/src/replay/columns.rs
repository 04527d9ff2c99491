//! Columns that are declared once: the struct, how it is read by name from whoever hands it over, and its check.

/// Where columns come from, by name.
pub trait Source {
    type Error;
    fn u32s(&self, name: &str) -> Result<Vec<u32>, Self::Error>;
    fn i64s(&self, name: &str) -> Result<Vec<i64>, Self::Error>;
    fn f64s(&self, name: &str) -> Result<Vec<f64>, Self::Error>;
    fn bools(&self, name: &str) -> Result<Vec<bool>, Self::Error>;
}

/// What a column may hold.
pub trait Cell: Sized {
    fn column<S: Source>(source: &S, name: &str) -> Result<Vec<Self>, S::Error>;
}

macro_rules! cells {
    ($($cell:ty: $read:ident),+) => {
        $(impl Cell for $cell {
            fn column<S: Source>(source: &S, name: &str) -> Result<Vec<Self>, S::Error> {
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
        pub struct $name {
            $($($(#[$of_one])* pub $column: Vec<$cell>,)+)+
        }

        impl $name {
            /// Read each column by its name.
            pub fn read<S: $crate::replay::Source>(source: &S) -> Result<$name, S::Error> {
                Ok($name {
                    $($($column: $crate::replay::Cell::column(source, stringify!($column))?,)+)+
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
