//! Archives that mean harm: each is refused with its reason, writes nothing outside, and leaves nothing behind.

use super::*;

#[test]
fn paths_that_lead_out_are_refused() {
    for path in [
        "../../evil",
        "a/../../evil",
        "..",
        "a/..",
        "/tmp/evil",
        "//x",
    ] {
        expect_refusal(&tar(&[(path, FILE, "x")]), "leads out");
        assert!(refusal(&zip(&[Zipped::file(path, b"x")])).contains("leads out"));
    }
    expect_refusal(&tar(&[("../evil", FOLDER, "")]), "leads out");
    assert!(refusal(&zip(&[Zipped::file("../evil/", b"")])).contains("leads out"));
}

#[test]
fn links_that_lead_out_are_refused() {
    for target in [
        "../../evil",
        "/etc/passwd",
        "../into/../../evil",
        "/nowhere",
    ] {
        let deep = [("d/l", FOLDER, ""), ("d/link", LINK, target)];
        expect_refusal(&tar(&deep), "the link d/link leads out");
        expect_refusal(&tar(&[("link", LINK, target)]), "leads out");
        let zipped = zip(&[Zipped::new("d/link", 0o120_777, target.as_bytes())]);
        assert!(refusal(&zipped).contains("the link d/link leads out"));
    }
}

#[test]
fn a_chain_of_links_that_leads_out_is_refused_even_to_nothing() {
    let up = [("d/e", FOLDER, ""), ("d/up", LINK, "..")];
    for target in ["d/up/..", "d/up/../not-there", "d/up/d/../../not-there"] {
        let chain = [up[0], up[1], ("f", LINK, target)];
        expect_refusal(&tar(&chain), "the link f leads out");
    }
}

#[test]
fn a_link_into_this_very_folder_by_its_whole_path_is_refused() {
    let world = World::new();
    let target = world.folder().join("a").to_str().unwrap().to_owned();
    let bytes = zip(&[
        Zipped::file("a", b""),
        Zipped::new("l", 0o120_777, target.as_bytes()),
    ]);
    assert!(matches!(
        world.unpack(&bytes, Some(0)),
        Err(Flaw::Archive(_))
    ));
}

#[test]
fn a_link_that_leads_out_once_the_top_folder_is_gone_is_refused() {
    let world = World::new();
    let bytes = tar(&[("top/a", FILE, ""), ("top/l", LINK, "../top/a")]);
    world.unpack(&bytes, Some(0)).unwrap();
    for strip in [None, Some(1)] {
        let world = World::new();
        let result = world.unpack(&bytes, strip);
        assert!(matches!(result, Err(Flaw::Archive(why)) if why.contains("leads out")));
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    let direct = [("out", LINK, "../.."), ("out/evil", FILE, "x")];
    expect_refusal(&tar(&direct), "out is no folder");
    let deeper = [("out", LINK, "../.."), ("out/a/evil", FILE, "x")];
    expect_refusal(&tar(&deeper), "through a link");
    let folder = [("out", LINK, "../.."), ("out/a", FOLDER, "")];
    expect_refusal(&tar(&folder), "through a link");
    let zipped = [
        Zipped::new("out", 0o120_777, b"../.."),
        Zipped::file("out/evil", b"x"),
    ];
    assert!(refusal(&zip(&zipped)).contains("out is no folder"));
}

#[test]
fn hard_links_lead_to_files_of_the_archive_only() {
    for target in ["/etc/passwd", "../../canary", "../canary", "missing"] {
        let tar = tar(&[("l", HARD, target)]);
        assert!(!refusal(&tar).is_empty(), "{target}");
    }
    let through = [("s", LINK, "/etc"), ("l", HARD, "s/passwd")];
    expect_refusal(&tar(&through), "through a link");
    let link = [("s", LINK, "/etc/passwd"), ("l", HARD, "s")];
    expect_refusal(&tar(&link), "no file in it");
}

#[test]
fn devices_pipes_and_sockets_are_refused() {
    for kind in [EntryType::Fifo, EntryType::Char, EntryType::Block] {
        expect_refusal(
            &tar(&[("x", kind, "")]),
            "x is neither file, folder nor link",
        );
    }
    for kind in [0o010_000, 0o020_000, 0o060_000, 0o140_000] {
        let zipped = zip(&[Zipped::new("x", kind | 0o644, b"")]);
        assert!(refusal(&zipped).contains("neither file"));
    }
}

#[test]
fn a_bomb_ends_at_what_its_size_justifies() {
    let zeros = "\0".repeat(1_200_000);
    let bomb = tar(&[("zeros", FILE, &zeros)]);
    assert_eq!(
        refusal(&bomb),
        "it unpacks to more than 1048576 bytes, too much for an archive of 1201664"
    );
    assert!(refusal(&gzip(&bomb)).starts_with("it unpacks to more than 1048576 bytes"));
    assert!(refusal(&xz(&bomb)).starts_with("it unpacks to more than 100000 bytes"));
    let mut deflated = Vec::new();
    let mut encoder = flate2::write::DeflateEncoder::new(&mut deflated, Compression::best());
    encoder.write_all(zeros.as_bytes()).unwrap();
    encoder.finish().unwrap();
    let mut file = Zipped::file("zeros", &deflated);
    (file.method, file.said_size) = (8, Some(1_200_000));
    assert!(refusal(&zip(&[file.clone()])).starts_with("it unpacks to more than"));
    file.said_size = Some(10);
    assert!(refusal(&zip(&[file])).contains("larger than its declared"));
}

#[test]
fn a_bomb_of_holes_is_refused() {
    let mut header = Header::new_gnu();
    header.set_path("holes").unwrap();
    header.set_entry_type(EntryType::GNUSparse);
    header.set_mode(0o644);
    header.set_size(0);
    let gnu = header.as_gnu_mut().unwrap();
    gnu.set_is_extended(false);
    gnu.realsize.copy_from_slice(b"77777777777\0");
    gnu.sparse[0].offset.copy_from_slice(b"77777777777\0");
    gnu.sparse[0].numbytes.copy_from_slice(b"00000000000\0");
    header.set_cksum();
    expect_refusal(&tar_of(&[blocks(&header, b"")]), "it unpacks to more than");
}

#[test]
fn files_with_holes_in_another_form_are_refused() {
    let record = pax(&[("GNU.sparse.major", "1"), ("GNU.sparse.realsize", "9")]);
    let file = entry(&("GNUSparseFile.0/x", FILE, "0\n"));
    expect_refusal(&tar_of(&[record, file]), "is a sparse file");
}

#[test]
fn a_file_that_counts_twice_is_refused() {
    let content = vec![b'x'; 60_000];
    let kernel = Zipped::file("a", &content);
    let mut again = Zipped::file("b", &content);
    again.place = Some(0);
    assert!(refusal(&zip(&[kernel, again])).contains("overlap"));
}

#[test]
fn too_many_entries_are_refused() {
    let names: Vec<String> = (0..60).map(|number| format!("f{number}")).collect();
    let parts: Vec<Part> = names.iter().map(|name| (name.as_str(), FILE, "")).collect();
    expect_refusal(&tar(&parts), "more than 50 entries");
    let files: Vec<Zipped> = names.iter().map(|name| Zipped::file(name, b"")).collect();
    assert!(refusal(&zip(&files)).contains("more than 50 entries"));
}

#[test]
fn a_zip_that_says_to_have_many_entries_is_not_believed() {
    let mut bytes = vec![0; 46 * 60];
    bytes[..4].copy_from_slice(b"PK\x03\x04");
    let place = bytes.len() as u64;
    bytes.extend_from_slice(b"PK\x06\x06");
    bytes.extend_from_slice(&44_u64.to_le_bytes());
    bytes.extend_from_slice(&[45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for number in [60, 60, 46 * 60, 0_u64] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(b"PK\x06\x07\0\0\0\0");
    bytes.extend_from_slice(&place.to_le_bytes());
    bytes.extend_from_slice(&1_u32.to_le_bytes());
    bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    bytes.extend_from_slice(&[0xff; 12]);
    bytes.extend_from_slice(&[0; 2]);
    assert_eq!(refusal(&bytes), "it has more than 50 entries");
}

#[test]
fn paths_too_long_or_too_deep_are_refused() {
    let deep = "d/".repeat(40);
    let folders = [long_name(&deep.repeat(3)), entry(&("x", FOLDER, ""))];
    expect_refusal(&tar_of(&folders), "too long or too deep");
    let long = format!("{}/", "x".repeat(200)).repeat(20);
    let file = [long_name(&long), entry(&("x", FILE, ""))];
    expect_refusal(&tar_of(&file), "…");
    let name = [long_name(&"x".repeat(300)), entry(&("x", FILE, ""))];
    expect_refusal(&tar_of(&name), "cannot be written");
    assert!(refusal(&zip(&[Zipped::file(&deep.repeat(3), b"")])).contains("too deep"));
}

#[test]
fn a_name_or_attributes_that_fill_the_memory_are_refused() {
    let world = World::new();
    let name = "x".repeat(3 << 20);
    for header in [long_name(&name), pax(&[("comment", &name)])] {
        let bytes = gzip(&tar_of(&[header, entry(&("x", FILE, ""))]));
        let archive = world.dir.path().join("archive");
        fs::write(&archive, bytes).unwrap();
        let (leash, _holder) = Leash::new(Duration::from_mins(1));
        let result = unpack(&archive, &world.folder(), Some(0), &leash);
        assert!(
            matches!(result, Err(Flaw::Archive(why)) if why == "the headers of it are too long")
        );
    }
}

#[test]
fn an_xz_that_fills_the_memory_is_refused() {
    let mut bytes = xz(&tar(&[("a", FILE, "x")]));
    // The size of the dictionary, in the header of the first block, and that header's checksum.
    let block = 12;
    let length = (usize::from(bytes[block]) + 1) * 4;
    let size = block
        + 1
        + bytes[block + 1..]
            .iter()
            .position(|&byte| byte == 0x21)
            .unwrap()
        + 2;
    bytes[size] = 40;
    let mut crc = flate2::Crc::new();
    crc.update(&bytes[block..block + length - 4]);
    bytes[block + length - 4..block + length].copy_from_slice(&crc.sum().to_le_bytes());
    assert_eq!(refusal(&bytes), "it takes too much memory to unpack");
}

#[test]
fn a_size_given_twice_hides_no_entry_that_leads_out() {
    // Who believes the header sees a file of 512 bytes; who believes the attribute sees an entry in it.
    let inner = entry(&("../evil", FILE, ""));
    let mut file = entry(&("a", FILE, ""));
    let outer = header(b"a", FILE, 512);
    file[..512].copy_from_slice(outer.as_bytes());
    expect_refusal(&tar_of(&[pax(&[("size", "0")]), file, inner]), "leads out");
}

#[test]
fn a_path_hidden_in_an_attribute_is_looked_at_too() {
    let path = pax(&[("path", "../../evil")]);
    expect_refusal(&tar_of(&[path, entry(&("a", FILE, "x"))]), "leads out");
    let target = pax(&[("linkpath", "../../evil")]);
    expect_refusal(&tar_of(&[target, entry(&("a", LINK, "b"))]), "leads out");
    let long = [long_name("../evil"), entry(&("a", FILE, "x"))];
    expect_refusal(&tar_of(&long), "leads out");
}

#[test]
fn only_the_directory_of_a_zip_counts() {
    let world = World::new();
    let mut file = Zipped::file("good", b"x");
    file.local_name = Some("../evil");
    world.unpack(&zip(&[file.clone()]), Some(0)).unwrap();
    assert_eq!(world.read("good"), "x");
    (file.name, file.local_name) = ("../evil", Some("good"));
    assert!(refusal(&zip(&[file])).contains("leads out"));
}

#[test]
fn an_encrypted_zip_says_so() {
    let mut file = Zipped::file("secret", b"x");
    file.flags = 1;
    assert_eq!(refusal(&zip(&[file])), "secret is encrypted");
}

#[test]
fn an_unknown_compression_is_named() {
    let mut file = Zipped::file("a", b"x");
    file.method = 14;
    let why = refusal(&zip(&[file]));
    assert!(why.starts_with("a is compressed by "), "{why}");
}

#[test]
fn a_name_is_shown_without_what_a_terminal_would_obey() {
    let why = refusal(&tar(&[("../\u{1b}[31mred\nline", FILE, "")]));
    assert_eq!(why, "the path ../\\u{1b}[31mred\\nline leads out of it");
}

#[test]
fn what_stands_in_the_way_of_another_entry_is_refused() {
    let file_then_folder = [("a", FILE, "x"), ("a/b", FILE, "y")];
    expect_refusal(&tar(&file_then_folder), "a is no folder");
    let folder_then_file = [("a/b", FILE, "y"), ("a", FILE, "x")];
    expect_refusal(&tar(&folder_then_file), "a cannot be written");
}

#[test]
fn a_torn_archive_is_the_archives_fault() {
    let noise: String = (0..9000_u32)
        .map(|n| char::from(33 + (n.wrapping_mul(2_654_435_761) >> 25) as u8 % 90))
        .collect();
    let whole = tar(&[("a", FILE, &noise)]);
    let zipped = zip(&[Zipped::file("a", noise.as_bytes())]);
    for bytes in [gzip(&whole), xz(&whole), whole, zipped] {
        assert!(!refusal(&bytes[..bytes.len() / 2]).is_empty());
    }
}

#[test]
fn another_kind_of_file_is_named() {
    assert_eq!(
        refusal(b"BZh91AY&SY"),
        "it is a bzip2 file; Harness unpacks .tar.gz, .tar.xz, .tar and .zip"
    );
    assert!(refusal(b"<html>not found</html>").starts_with("it is no archive"));
    assert!(!refusal(&gzip(b"a compressed log")).is_empty());
}

#[test]
fn an_archive_of_nothing_says_so() {
    assert_eq!(refusal(&gzip(&tar(&[]))), "there is nothing in it");
    assert_eq!(refusal(&zip(&[])), "there is nothing in it");
    let world = World::new();
    let result = world.unpack(&tar(&[("a/b", FILE, "")]), Some(2));
    let Err(Flaw::Archive(why)) = result else {
        panic!("it was not refused")
    };
    assert_eq!(why, "nothing is left of it without 2 leading folders");
}

#[test]
fn unpacking_ends_when_its_time_is_over() {
    let world = World::new();
    let archive = world.dir.path().join("archive");
    for bytes in [tar(&[("a", FILE, "x")]), zip(&[Zipped::file("a", b"x")])] {
        fs::write(&archive, bytes).unwrap();
        let (leash, _holder) = Leash::new(Duration::ZERO);
        let result = unpack(&archive, &world.folder(), None, &leash);
        assert!(matches!(result, Err(Flaw::Late)));
    }
}

/// Returns an entry that holds the name of the next.
fn long_name(name: &str) -> Vec<u8> {
    let header = header(b"././@LongLink", EntryType::GNULongName, name.len() as u64);
    blocks(&header, name.as_bytes())
}

/// Returns an entry that holds further attributes of the next.
fn pax(pairs: &[(&str, &str)]) -> Vec<u8> {
    let record = |(key, value): &(&str, &str)| {
        let rest = key.len() + value.len() + 3;
        let length = (rest..rest + 20)
            .find(|all| all.to_string().len() + rest == *all)
            .unwrap();
        format!("{length} {key}={value}\n")
    };
    let records: String = pairs.iter().map(record).collect();
    let mut header = Header::new_ustar();
    header.set_path("PaxHeaders/x").unwrap();
    header.set_entry_type(EntryType::XHeader);
    header.set_mode(0o644);
    header.set_size(records.len() as u64);
    header.set_cksum();
    blocks(&header, records.as_bytes())
}
