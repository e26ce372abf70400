//! The clock of files: what changed before the sandbox started, and what after.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// When this process began.
///
/// Files get their times from the coarse clock, which stands still between two ticks, or (Linux 6.13, when
/// somebody has looked at the time of that file before) from the exact one, which is ahead of it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: i64,
}

impl Clock {
    /// Call it first of all.
    pub fn start() -> Self {
        Self { began: now(ClockId::Realtime) }
    }

    /// A time such that every change from before [`Clock::start`] has an earlier one, and every change
    /// from now on the same or a later one. Ticks are some milliseconds, so it may have to wait for one.
    pub fn stamp(&self) -> i64 {
        for _ in 0..200 {
            let stamp = now(ClockId::RealtimeCoarse);
            if stamp > self.began {
                return stamp;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        // The clock was set back: too early a time only makes more look changed.
        now(ClockId::RealtimeCoarse)
    }
}

fn now(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
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
        for round in 0..50 {
            // At all moments between two ticks, the last ones too.
            std::thread::sleep(Duration::from_micros(round * 83));
            std::fs::write(dir.path().join("before"), "x").unwrap();
            let stamp = Clock::start().stamp();
            std::fs::write(dir.path().join("after"), "x").unwrap();
            assert!(ctime("before") < stamp && ctime("after") >= stamp);
        }
    }
}
