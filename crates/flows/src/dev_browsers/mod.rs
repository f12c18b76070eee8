//! Introducing browsers of developers.

mod frames;
pub mod frontend;
