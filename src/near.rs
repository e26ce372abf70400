//! What somebody may have meant: words that are nearly the same.

/// Longer ones are no misspelling of ours.
const LONGEST: usize = 40;

/// The one of `known` that is at most two letters away, whatever the case.
pub fn closest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if word.chars().count() > LONGEST {
        return None;
    }
    let word = word.to_lowercase();
    let near = known.map(|k| (distance(&word, &k.to_lowercase()), k)).min_by_key(|(far, _)| *far)?;
    // Of a short name two letters are most of it.
    (near.0 <= 2 && near.0 * 3 <= near.1.len()).then_some(near.1)
}

/// Letters to change, add or remove.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, far) in [("", "abc", 3), ("abc", "abc", 0), ("image", "imagge", 1), ("kitten", "sitting", 3)] {
            assert_eq!((distance(a, b), distance(b, a)), (far, far), "{a} {b}");
        }
    }

    #[test]
    fn a_typing_mistake_is_near_and_another_word_is_not() {
        let closest = |word| closest(word, ["api-7k3q", "on-exit"].into_iter());
        assert_eq!(closest("api-7kq"), Some("api-7k3q"));
        assert_eq!(closest("spi-7k4q"), Some("api-7k3q"));
        assert_eq!(closest("OnExit"), Some("on-exit"));
        assert_eq!((closest("network"), closest("")), (None, None));
    }
}
