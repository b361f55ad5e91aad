//! Counts that are written down once: what each is called and means. Adding up and walking over them, as an encoding does,
//! follow from that.

/// Declares a struct of counts.
#[macro_export]
macro_rules! counts {
    ($(#[$meta:meta])* $vis:vis struct $Name:ident { $($(#[$doc:meta])* $field:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $Name {
            $($(#[$doc])* pub $field: u64),+
        }

        impl $Name {
            /// All of them, in the order they are declared in.
            $vis fn each_mut(&mut self) -> impl Iterator<Item = &mut u64> {
                [$(&mut self.$field),+].into_iter()
            }

            /// Adds another's.
            $vis fn add(&mut self, other: &$Name) {
                let mut other = *other;
                for (mine, theirs) in self.each_mut().zip(other.each_mut()) {
                    *mine = mine.saturating_add(*theirs);
                }
            }
        }
    };
}
