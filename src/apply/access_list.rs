//! Access lists: the session's are not carried over, the host's own stay.

/// What is said of one that does not land.
pub const LEFT_OUT: &str = "its access list is not carried over";

/// Whose permissions an entry of a list is about.
const USER: u16 = 0x02;
const OWNING_GROUP: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;

/// The entries: whose, which permissions, which id.
fn entries(list: &[u8]) -> impl Iterator<Item = (u16, u16, u32)> + '_ {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u32, |n, b| (n << 8) | u32::from(*b));
    // Four bytes of version, then eight for each.
    list.get(4..)
        .unwrap_or_default()
        .chunks_exact(8)
        .map(move |entry| (number(&entry[..2]) as u16, number(&entry[2..4]) as u16, number(&entry[4..])))
}

/// Whether two lists give the same people the same. The mask is the mode's.
pub fn is_same(a: &[u8], b: &[u8]) -> bool {
    let named =
        |list| -> Vec<_> { entries(list).filter(|(tag, ..)| [USER, OWNING_GROUP, GROUP].contains(tag)).collect() };
    named(a) == named(b)
}

/// The mode of a file without its list. With one, the group's bits are the mask of everybody in the list: left
/// as they are, they could give the group more than it has.
pub fn mode_without(list: &[u8], mode: u32) -> u32 {
    let of = |wanted| entries(list).find(|(tag, ..)| *tag == wanted).map(|(_, bits, _)| u32::from(bits) & 7);
    match (of(OWNING_GROUP), of(MASK)) {
        (Some(group), Some(mask)) => (mode & !0o070) | ((group & mask) << 3),
        _ => mode,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let mut bytes = 2u32.to_le_bytes().to_vec();
        for (tag, bits, id) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(bits.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn without_its_list_a_file_gives_the_group_no_more() {
        let acl = list(&[(1, 6, 0), (USER, 7, 1), (OWNING_GROUP, 4, 0), (MASK, 7, 0), (0x20, 0, 0)]);
        assert_eq!(mode_without(&acl, 0o670), 0o640);
        let masked = list(&[(OWNING_GROUP, 7, 0), (MASK, 1, 0)]);
        assert_eq!(mode_without(&masked, 0o610), 0o610);
        for nonsense in [&b""[..], b"\x02", b"\x02\0\0\0\x04\0\x07"] {
            assert_eq!(mode_without(nonsense, 0o640), 0o640);
        }
    }

    #[test]
    fn the_mask_and_the_owner_are_the_modes() {
        let a = list(&[(1, 6, 0), (USER, 7, 1), (OWNING_GROUP, 4, 0), (MASK, 7, 0)]);
        let b = list(&[(1, 7, 0), (USER, 7, 1), (OWNING_GROUP, 4, 0), (MASK, 0, 0)]);
        let other = list(&[(1, 6, 0), (USER, 7, 2), (OWNING_GROUP, 4, 0), (MASK, 7, 0)]);
        assert!(is_same(&a, &b) && !is_same(&a, &other) && !is_same(&a, b""));
    }
}
