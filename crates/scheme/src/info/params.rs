//! Parameters of a scheme, each declared once: its field, name, range, default and meaning.

use super::Size;
use crate::{Env, Expr};
use destage_types::Nanos;

/// A type that a parameter has in the code.
pub trait ParamValue {
    /// The value of parameter `key` of the layer `e`, in a cache as `env` says.
    ///
    /// # Panics
    /// The parameter is of another type, see [`Expr::uint`].
    fn read(e: &Expr, key: &str, env: &Env) -> Self;
}

/// Words that a parameter can be, declared by [`words!`](crate::words).
pub trait Words: Sized {
    /// All of them, the default first.
    const WORDS: &'static [&'static str];
}

impl ParamValue for u64 {
    fn read(e: &Expr, key: &str, env: &Env) -> u64 {
        <Option<u64>>::read(e, key, env).expect("a number, or the type is optional")
    }
}

impl ParamValue for Option<u64> {
    fn read(e: &Expr, key: &str, env: &Env) -> Option<u64> {
        e.frames(key, u64::from(env.capacity))
    }
}

impl ParamValue for u32 {
    fn read(e: &Expr, key: &str, env: &Env) -> u32 {
        u64::read(e, key, env).min(u64::from(u32::MAX)) as u32
    }
}

impl ParamValue for usize {
    fn read(e: &Expr, key: &str, env: &Env) -> usize {
        u64::read(e, key, env) as usize
    }
}

impl ParamValue for f64 {
    fn read(e: &Expr, key: &str, _env: &Env) -> f64 {
        e.real(key)
    }
}

impl ParamValue for bool {
    fn read(e: &Expr, key: &str, _env: &Env) -> bool {
        e.flag(key)
    }
}

impl ParamValue for Nanos {
    fn read(e: &Expr, key: &str, _env: &Env) -> Nanos {
        e.time(key)
    }
}

impl ParamValue for Size {
    fn read(e: &Expr, key: &str, _env: &Env) -> Size {
        e.size(key)
    }
}

impl ParamValue for Option<Vec<f64>> {
    fn read(e: &Expr, key: &str, _env: &Env) -> Option<Vec<f64>> {
        e.vector(key).map(<[f64]>::to_vec)
    }
}

/// The name of a parameter from that of its field: `max_ghosts` is written `max-ghosts`.
#[doc(hidden)]
pub const fn dashed<const N: usize>(field: &str) -> [u8; N] {
    let (field, mut key, mut i) = (field.as_bytes(), [0; N], 0);
    while i < N {
        key[i] = if field[i] == b'_' { b'-' } else { field[i] };
        i += 1;
    }
    key
}

/// A doc comment as a sentence without the space in front.
#[doc(hidden)]
pub const fn sentence(doc: &str) -> &str {
    match std::str::from_utf8(doc.as_bytes().trim_ascii_start()) {
        Ok(text) => text,
        Err(_) => panic!("a doc comment is text"),
    }
}

/// Declares a parameter that is one of several words: a type, its values and how each is written. The
/// first one is the default.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $Name:ident {
            $(#[$first_meta:meta])* $First:ident = $first:literal,
            $($(#[$word_meta:meta])* $Word:ident = $word:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        $vis enum $Name {
            $(#[$first_meta])* #[default] $First,
            $($(#[$word_meta])* $Word,)*
        }

        impl $crate::info::Words for $Name {
            const WORDS: &'static [&'static str] = &[$first, $($word),*];
        }

        impl $crate::info::ParamValue for $Name {
            fn read(e: &$crate::Expr, key: &str, _env: &$crate::Env) -> $Name {
                match e.word(key) {
                    $first => $Name::$First,
                    $($word => $Name::$Word,)*
                    word => unreachable!("{word} is none of the declared words of {key}"),
                }
            }
        }
    };
}

/// Declares the parameters of a scheme: a structure with a field for each. The comment of a field says
/// in the help what the parameter does; its name has `-` where the field has `_`.
///
/// Gives the structure `PARAMS`, for the declaration of the scheme, and `of(expr, env)`, which reads the
/// values.
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Name:ident {
            $($(#[doc = $note:literal])+ $field:ident: $Type:ty = $param:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        $vis struct $Name {
            $($(#[doc = $note])+ pub $field: $Type,)*
        }

        impl $Name {
            /// Declarations of the parameters.
            pub const PARAMS: &'static [$crate::ParamInfo] = &[$({
                const KEY: &[u8] = &$crate::info::dashed::<{ stringify!($field).len() }>(stringify!($field));
                const NAME: &str = match std::str::from_utf8(KEY) {
                    Ok(name) => name,
                    Err(_) => panic!("names are text"),
                };
                $param.named(NAME, $crate::info::sentence(concat!($($note),+)))
            }),*];

            /// The values in the layer `expr`, in a cache as `env` says.
            pub fn of(expr: &$crate::Expr, env: &$crate::Env) -> $Name {
                $Name {
                    $($field: {
                        let key = $Name::key(stringify!($field));
                        <$Type as $crate::info::ParamValue>::read(expr, key, env)
                    },)*
                }
            }

            /// The name of a parameter from that of its field.
            fn key(field: &str) -> &'static str {
                let same = |key: &str| key.bytes().zip(field.bytes()).all(|(a, b)| a == b || (a, b) == (b'-', b'_'));
                let param = $Name::PARAMS.iter().find(|p| p.key.len() == field.len() && same(p.key));
                param.expect("every field is declared").key
            }
        }
    };
}
