//! A sleep that ends to the microsecond. The poll by itself counts in milliseconds on older kernels.

use std::io;
use std::os::fd::AsFd;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::Timespec;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

/// A timer that the poll listens to.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: OwnedFd,
    /// When it rings; it is not set again for the same time.
    set_for: Option<u64>,
}

impl Alarm {
    /// Makes an alarm that is not set.
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self {
            timer: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            set_for: None,
        })
    }

    /// Returns what the poll is to listen to.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    /// Sets it for a time, which is so many nanoseconds from now.
    pub(super) fn set(&mut self, due: u64, nanoseconds: u64) {
        if self.set_for == Some(due) {
            return;
        }
        let after = |nanoseconds| Timespec {
            tv_sec: 0,
            tv_nsec: nanoseconds,
        };
        let once = Itimerspec {
            it_interval: after(0),
            it_value: after(i64::try_from(nanoseconds).unwrap_or(0)),
        };
        // Without it, the next turn comes only some milliseconds later.
        if timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once).is_ok() {
            self.set_for = Some(due);
        }
    }

    /// Takes note that it rang.
    pub(super) fn ring(&mut self) {
        // Setting it anew silences it as reading does, but nothing may be due for long.
        let mut count = [0; 8];
        let read = rustix::io::read(&self.timer, &mut count);
        // One that was set anew meanwhile has nothing to read and rings later.
        if read.is_ok() {
            self.set_for = None;
        }
    }
}
