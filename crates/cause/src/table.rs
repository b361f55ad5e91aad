//! How the sentences of an area are declared.

/// Declares the sentences of an area: of each its name, which is a function, with its places; English; Chinese. One that records made
/// before causes may hold in English alone ends in `before`; one whose place is filled when brunt is built in `fixed`.
///
/// A protocol that is not among brunt's own declares its sentences in the same way; reports show them in English.
#[macro_export]
macro_rules! sentences {
    ($area:literal: $($name:ident $(($($place:ident),+))? = $en:literal, $zh:literal $(, $how:ident)?;)+) => {
        #[allow(non_camel_case_types)]
        enum Id { $($name),+ }

        /// The sentences of this area.
        pub(crate) static ALL: &[$crate::Sentence] = &[$($crate::Sentence {
            key: concat!($area, ".", stringify!($name)),
            places: &[$($(stringify!($place)),+)?],
            en: $en,
            zh: $zh,
            before: $crate::sentences!(@before $($how)?),
        }),+];

        $($crate::sentences!(@one $name ($($($place),+)?) $en $(, $how)?);)+
    };
    (@before) => { false };
    (@before fixed) => { false };
    (@before before) => { true };
    (@one $name:ident ($place:ident) $en:literal, fixed) => {
        #[doc = $en]
        pub const fn $name($place: &'static str) -> $crate::Fixed {
            $crate::Fixed::new(&ALL[Id::$name as usize], $place)
        }
    };
    (@one $name:ident () $en:literal $(, before)?) => {
        #[doc = $en]
        pub const fn $name() -> $crate::Plain {
            const { &$crate::Fixed::new(&ALL[Id::$name as usize], "") }.plain()
        }
    };
    (@one $name:ident ($($place:ident),+) $en:literal $(, before)?) => {
        #[doc = $en]
        pub fn $name($($place: impl Into<$crate::Place>),+) -> $crate::Cause {
            $crate::Cause::new(&ALL[Id::$name as usize], [$($place.into()),+])
        }
    };
}
