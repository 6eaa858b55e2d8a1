//! A reader that stops where an archive asks for more than it may. Pure.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

use super::{Bounds, Flaw};
use crate::build::leash::Leash;

/// How many bytes may still be read, shared by a reader and whoever sets its limits.
#[derive(Debug)]
pub(super) struct Meter {
    /// Of the whole archive.
    left: Cell<u64>,
    bounds: Bounds,
    /// Of the current part of it.
    part: Cell<u64>,
    /// What the current part is, for a message.
    name: Cell<&'static str>,
    /// Why reading was stopped, which no reader in between can change the words of.
    stopped: RefCell<Option<Flaw>>,
    leash: Leash,
}

impl Meter {
    /// Makes a meter for an archive of which no more may be read than it may unpack to.
    pub(super) fn new(bounds: &Bounds, leash: &Leash) -> Rc<Self> {
        Rc::new(Self {
            left: Cell::new(bounds.bytes),
            bounds: bounds.clone(),
            part: Cell::new(u64::MAX),
            name: Cell::new(""),
            stopped: RefCell::new(None),
            leash: leash.clone(),
        })
    }

    /// Begins a part of the archive of which so many bytes may be read.
    pub(super) fn begin(&self, name: &'static str, bytes: u64) {
        self.name.set(name);
        self.part.set(bytes);
    }

    /// Ends the part: from here on only the whole archive is limited.
    pub(super) fn end(&self) {
        self.part.set(u64::MAX);
    }

    /// Returns why reading was stopped, in place of what a reader made of it.
    pub(super) fn reason(&self, other: Flaw) -> Flaw {
        self.stopped.take().unwrap_or(other)
    }

    fn count(&self, read: usize) -> io::Result<()> {
        let read = read as u64;
        let flaw = if self.leash.is_over() {
            Flaw::Late
        } else if read > self.part.get() {
            Flaw::Archive(format!("{} of it are too long", self.name.get()))
        } else if read > self.left.get() {
            self.bounds.exceeded()
        } else {
            self.part.set(self.part.get() - read);
            self.left.set(self.left.get() - read);
            return Ok(());
        };
        self.stopped.replace(Some(flaw));
        Err(io::Error::other("stopped by the meter"))
    }
}

/// A reader below a meter.
#[derive(Debug)]
pub(super) struct Metered<R> {
    inner: R,
    meter: Rc<Meter>,
}

impl<R> Metered<R> {
    /// Puts a reader below a meter.
    pub(super) fn new(inner: R, meter: &Rc<Meter>) -> Self {
        Self {
            inner,
            meter: Rc::clone(meter),
        }
    }
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.meter.count(read)?;
        Ok(read)
    }
}

impl<R: Seek> Seek for Metered<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn bounds(bytes: u64) -> Bounds {
        Bounds {
            bytes,
            entries: 1,
            size: 7,
        }
    }

    fn read(total: u64, part: u64, bytes: usize) -> Option<Flaw> {
        let (leash, _holder) = Leash::new(Duration::from_mins(1));
        let meter = Meter::new(&bounds(total), &leash);
        meter.begin("the headers", part);
        let mut reader = Metered::new(io::repeat(0).take(bytes as u64), &meter);
        let ended = io::copy(&mut reader, &mut io::sink());
        ended
            .err()
            .map(|error| meter.reason(Flaw::Archive(error.to_string())))
    }

    #[test]
    fn reading_stops_at_the_limit_of_the_part_or_of_the_whole() {
        assert!(read(10, 10, 10).is_none());
        let why = |flaw: Option<Flaw>| match flaw {
            Some(Flaw::Archive(why)) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(read(20, 10, 11)), "the headers of it are too long");
        assert_eq!(
            why(read(10, 20, 11)),
            "it unpacks to more than 10 bytes, too much for an archive of 7"
        );
    }

    #[test]
    fn a_part_that_has_ended_is_no_limit() {
        let (leash, _holder) = Leash::new(Duration::from_mins(1));
        let meter = Meter::new(&bounds(100), &leash);
        meter.begin("the headers", 1);
        meter.end();
        let mut reader = Metered::new(io::repeat(0).take(50), &meter);
        assert_eq!(io::copy(&mut reader, &mut io::sink()).unwrap(), 50);
    }
}
