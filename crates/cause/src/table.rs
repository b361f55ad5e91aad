//! The macro that declares the sentences of an area.

/// Declares the sentences of an area. Each has a name, which becomes a function, placeholders, and an English and a
/// Chinese text. `before` marks a sentence whose English text may occur in records from before causes were stored;
/// `fixed` marks a sentence whose argument is given at compile time; `own` one that is about a limit of brunt itself, and
/// not about the peer.
///
/// Third-party protocols declare their sentences in the same way; reports show these in English.
#[macro_export]
macro_rules! sentences {
    ($area:literal: $($name:ident $(($($place:ident),+))? = $en:literal, $zh:literal $(, $how:ident)?;)+) => {
        #[allow(non_camel_case_types)]
        enum Id { $($name),+ }

        /// All sentences of this area.
        pub(crate) static ALL: &[$crate::Sentence] = &[$($crate::Sentence {
            key: concat!($area, ".", stringify!($name)),
            places: &[$($(stringify!($place)),+)?],
            en: $en,
            zh: $zh,
            before: $crate::sentences!(@before $($how)?),
            own: $crate::sentences!(@own $($how)?),
        }),+];

        $($crate::sentences!(@one $name ($($($place),+)?) $en $(, $how)?);)+
    };
    (@before before) => { true };
    (@before $($how:ident)?) => { false };
    (@own own) => { true };
    (@own $($how:ident)?) => { false };
    (@one $name:ident ($place:ident) $en:literal, fixed) => {
        #[doc = $en]
        pub const fn $name($place: &'static str) -> $crate::StaticSentence {
            $crate::StaticSentence::new(&ALL[Id::$name as usize], $place)
        }
    };
    (@one $name:ident () $en:literal $(, $how:ident)?) => {
        #[doc = $en]
        pub const fn $name() -> $crate::StaticCause {
            const { &$crate::StaticSentence::new(&ALL[Id::$name as usize], "") }.plain()
        }
    };
    (@one $name:ident ($($place:ident),+) $en:literal $(, $how:ident)?) => {
        #[doc = $en]
        pub fn $name($($place: impl Into<$crate::CauseArgument>),+) -> $crate::Cause {
            $crate::Cause::new(&ALL[Id::$name as usize], [$($place.into()),+])
        }
    };
}
