//! The clock of files: what changed before the sandbox started, and what after.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// When this process began, in ticks of the clock that files get their times from.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: i64,
}

impl Clock {
    /// Call it first of all.
    pub fn start() -> Self {
        Self { began: now() }
    }

    /// A time such that every change from before [`Clock::start`] has an earlier one, and every change
    /// from now on the same or a later one. Ticks are some milliseconds, so it may have to wait for one.
    pub fn stamp(&self) -> i64 {
        for _ in 0..200 {
            let stamp = now();
            if stamp != self.began {
                return stamp;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        now()
    }
}

fn now() -> i64 {
    let time = clock_gettime(ClockId::RealtimeCoarse);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn files_from_before_are_older_and_files_from_now_on_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let ctime = |name: &str| {
            let meta = std::fs::metadata(dir.path().join(name)).unwrap();
            meta.ctime() * 1_000_000_000 + meta.ctime_nsec()
        };
        for _ in 0..50 {
            std::fs::write(dir.path().join("before"), "x").unwrap();
            let stamp = Clock::start().stamp();
            std::fs::write(dir.path().join("after"), "x").unwrap();
            assert!(ctime("before") < stamp && ctime("after") >= stamp);
        }
    }
}
