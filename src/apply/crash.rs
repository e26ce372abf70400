//! What tests do to a transaction: end the process at a point, to see that the next one can clear up, or have a
//! file system that can do less. Not in release builds.

/// Passes a point. With `COWBOX_TEST_CRASH=n` the n-th one is the last.
#[cfg(debug_assertions)]
pub fn point() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let wanted = std::env::var("COWBOX_TEST_CRASH").ok().and_then(|n| n.parse::<u64>().ok());
    if wanted == Some(PASSED.fetch_add(1, Ordering::Relaxed) + 1) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

/// Nothing.
#[cfg(not(debug_assertions))]
#[inline]
pub fn point() {}

/// From which size on files are moved, as tests want it (`COWBOX_TEST_MOVE_FROM`).
pub fn moved_from(size: u64) -> u64 {
    let wanted = || std::env::var("COWBOX_TEST_MOVE_FROM").ok().and_then(|n| n.parse().ok());
    if cfg!(debug_assertions) { wanted().unwrap_or(size) } else { size }
}

/// Whether two names can be exchanged, as far as tests allow it (`COWBOX_TEST_NO_EXCHANGE`).
pub fn may_exchange() -> bool {
    !cfg!(debug_assertions) || std::env::var_os("COWBOX_TEST_NO_EXCHANGE").is_none()
}
