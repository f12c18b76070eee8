//! Testing tokens: automated tests show one to pass checks that tell people from programs. There are no
//! such checks here, so a token is only made, in the published form, and nothing has to know it again.

pub mod backend;
