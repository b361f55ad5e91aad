//! Macros for structs of counts: each count is declared once, with its name and meaning, and addition and iteration
//! (for encodings) are derived.

/// Declares a struct of counts that can be added up; other fields are listed after `and`.
#[macro_export]
macro_rules! counts {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Name:ident { $($(#[$doc:meta])* $count:ident),+ $(,)? }
        $(and { $($(#[$other_doc:meta])* $other:ident: $Type:ty),+ $(,)? })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $Name {
            $($(#[$doc])* pub $count: u64,)+
            $($($(#[$other_doc])* pub $other: $Type,)+)?
        }

        impl $Name {
            /// Iterates over all counts, in declaration order.
            $vis fn each_mut(&mut self) -> impl Iterator<Item = &mut u64> {
                [$(&mut self.$count),+].into_iter()
            }

            /// Adds the counts of another value.
            $vis fn add(&mut self, other: &$Name) {
                $(self.$count = self.$count.saturating_add(other.$count);)+
            }
        }
    };
}

/// Declares [`crate::Second`], and [`crate::Counts`] for its fields that are plain sums.
macro_rules! second {
    (
        $(#[$meta:meta])*
        counts { $($(#[$doc:meta])* $count:ident),+ $(,)? }
        rest { $($(#[$other_doc:meta])* $other:ident: $Type:ty),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct Second {
            $($(#[$other_doc])* pub $other: $Type,)+
            $($(#[$doc])* pub $count: u64,)+
        }

        counts! {
            /// The counts of a second that add up: over the workers to the second, and over the seconds to the run.
            #[derive(Serialize, Deserialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            pub struct Counts { $($(#[$doc])* $count),+ }
        }

        impl Second {
            /// Adds counts.
            pub fn count(&mut self, more: &Counts) {
                $(self.$count = self.$count.saturating_add(more.$count);)+
            }

            /// Returns the counts that are plain sums.
            pub fn counts(&self) -> Counts {
                Counts { $($count: self.$count),+ }
            }
        }
    };
}

pub(crate) use {counts, second};
