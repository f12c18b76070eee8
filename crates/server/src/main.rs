//! The program itself; see the library beside it.

use std::process::ExitCode;

/// The system's allocator is slower for many small objects on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    latchkey_server::run()
}
