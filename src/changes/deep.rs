//! Room for trees that are deep: descriptors and stack.

use std::path::PathBuf;

use super::read::Unreadable;

/// Each level is a call inside the one above. Untouched memory costs nothing.
const STACK: usize = 512 << 20;

/// The usual limit of 1024 descriptors is for programs that use `select`; deep trees need more.
pub fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
}

/// The stack of the process is as large as somebody's `ulimit` says, and running into its end is no error but death.
pub fn on_a_large_stack<T: Send>(work: impl FnOnce() -> Result<T, Unreadable> + Send) -> Result<T, Unreadable> {
    let failed = |source| Unreadable { path: PathBuf::from("."), source };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).map_err(failed)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
