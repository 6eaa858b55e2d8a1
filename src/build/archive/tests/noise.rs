//! Archives of chance: none makes the program panic, and none writes outside.

use super::*;
use proptest::prelude::*;
use std::sync::LazyLock;

/// Good archives of each kind.
static GOOD: LazyLock<[Vec<u8>; 4]> = LazyLock::new(|| {
    let text = "some text that repeats, some text that repeats. ".repeat(20);
    let parts = [
        ("top/bin/node", FILE, "#!/bin/sh\n"),
        ("top/lib/text", FILE, text.as_str()),
        ("top/link", LINK, "lib/text"),
        ("top/hard", HARD, "top/lib/text"),
    ];
    let mut deflated = Vec::new();
    let mut encoder = flate2::write::DeflateEncoder::new(&mut deflated, Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap();
    let mut packed = Zipped::file("top/packed", &deflated);
    packed.method = 8;
    let files = [
        Zipped::file("top/a", text.as_bytes()),
        Zipped::new("top/link", 0o120_777, b"a"),
        packed,
    ];
    let tar = tar(&parts);
    [gzip(&tar), xz(&tar), zip(&files), tar]
});

thread_local! {
    /// One for all archives of a test, as making one takes longer than unpacking into it.
    static WORLD: World = World::new();
}

fn expect_calm(bytes: &[u8], strip: Option<usize>) {
    WORLD.with(|world| match world.unpack(bytes, strip) {
        Ok(()) => empty(&world.folder()).unwrap(),
        Err(Flaw::Archive(why)) => {
            assert!(!why.is_empty());
            assert_eq!(fs::read_dir(world.folder()).unwrap().count(), 0);
        }
        Err(other) => panic!("the archive is to blame: {other:?}"),
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn a_changed_archive_does_no_harm(
        which in 0..4_usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        strip in proptest::option::of(0..3_usize),
    ) {
        let mut bytes = GOOD[which].clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        expect_calm(&bytes, strip);
    }

    #[test]
    fn a_header_of_chance_with_a_right_checksum_does_no_harm(
        name in "[./ab\\PC]{0,40}",
        target in "[./ab]{0,40}",
        kind in proptest::sample::select(b"0\x00123456789gxLKSVMAZ".to_vec()),
        size in 0..2000_u64,
        content in proptest::collection::vec(any::<u8>(), 0..1500),
    ) {
        let name = name.as_bytes();
        let mut header = header(&name[..name.len().min(100)], EntryType::new(kind), size);
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        let parts = [entry(&("a", FILE, "x")), blocks(&header, &content), entry(&("a/b", FILE, "y"))];
        expect_calm(&tar_of(&parts), Some(0));
    }

    #[test]
    fn bytes_of_chance_do_no_harm(
        magic in proptest::sample::select(vec![&b""[..], b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"PK\x03\x04"]),
        bytes in proptest::collection::vec(any::<u8>(), 0..2000),
    ) {
        expect_calm(&[magic, &bytes].concat(), None);
    }
}
