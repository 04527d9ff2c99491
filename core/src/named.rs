//! Enumerations whose values have words, each listed once.

macro_rules! named {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$of:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$about])*
        pub enum $name {
            $($(#[$of])* $value,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$value),+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }

            /// The one with that word.
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|each| each.as_str() == word)
            }
        }
    };
}
