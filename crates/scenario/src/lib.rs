//! What a virtual user sends next.
