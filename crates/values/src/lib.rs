//! Code shared by several protocols: templates with slots, captures and checks of responses, and buffers for response
//! bytes under one memory budget.

pub mod before_after;
pub mod budget;
pub mod capture;
pub mod count_range;
pub mod data;
pub mod file;
pub mod group_captures;
pub mod pattern;
pub mod percent;
pub mod pipe;
pub mod side_messages;
pub mod standard_input;
pub mod steps;
pub mod template;
pub mod text_search;
pub mod url_overrides;
pub mod verify;
pub mod weight;
