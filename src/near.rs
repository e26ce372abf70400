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

/// Letters to change, add, remove, or swap with the next.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, far) in
            [("", "abc", 3), ("abc", "abc", 0), ("image", "imagge", 1), ("kitten", "sitting", 3), ("agnet", "agent", 1)]
        {
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
