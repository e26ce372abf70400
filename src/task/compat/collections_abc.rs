//! `collections-abc`: Python 3.10 took the abstract classes out of `collections`; they are in `collections.abc`.
//!
//! `from collections import Mapping, deque` becomes two imports. `collections.Mapping` becomes `collections.abc.Mapping`
//! where the module is imported, by whatever name, and the name means nothing else there. Strings and comments stay as
//! they are, and so does everything that did not move.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use super::bindings;
use super::python::{Code, Statement};
use super::{Fixed, Tree};

/// What moved.
const MOVED: [&str; 25] = [
    "AsyncGenerator",
    "AsyncIterable",
    "AsyncIterator",
    "Awaitable",
    "ByteString",
    "Callable",
    "Collection",
    "Container",
    "Coroutine",
    "Generator",
    "Hashable",
    "ItemsView",
    "Iterable",
    "Iterator",
    "KeysView",
    "Mapping",
    "MappingView",
    "MutableMapping",
    "MutableSequence",
    "MutableSet",
    "Reversible",
    "Sequence",
    "Set",
    "Sized",
    "ValuesView",
];

const MODULE: &str = "collections";

pub(super) fn apply(tree: &dyn Tree) -> std::io::Result<Fixed> {
    let wanted = |path: &Path| path.extension().is_some_and(|end| end == "py" || end == "pyi");
    Fixed::edit(tree, &wanted, &|text| if text.contains(MODULE) { fixed(text) } else { text.to_owned() })
}

/// Something to write in place of a part of the text.
type Edit = (Range<usize>, String);

fn fixed(text: &str) -> String {
    let code = Code::new(text);
    let mut edits: Vec<Edit> = Vec::new();
    let mut imports = Imports::default();
    for statement in &code.statements {
        match code.word(statement.first) {
            "import" => imports.read(&code, statement),
            "from" => edits.extend(split(text, &code, statement)),
            _ => {}
        }
    }
    edits.extend(attributes(&code, &imports));
    edits.sort_by_key(|(range, _)| range.start);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (range, new) in edits {
        out.push_str(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
    }
    out + &text[at..]
}

/// A module that is imported under a name.
struct Import<'a> {
    name: &'a str,
    /// The token that binds it, and the last of its part of the statement.
    bound_at: usize,
    last: usize,
    /// Whether it is `collections.abc` that is imported so.
    is_abc: bool,
}

/// All imports of the module.
#[derive(Default)]
struct Imports<'a> {
    names: Vec<Import<'a>>,
    /// Somebody sees to it that `collections.abc` is there.
    has_abc: bool,
}

impl<'a> Imports<'a> {
    /// `import os, collections as c, collections.abc`
    fn read(&mut self, code: &Code<'a>, statement: &Statement) {
        let words = statement.first + 1..statement.end;
        let commas: Vec<usize> = words.clone().filter(|at| code.word(*at) == ",").chain([statement.end]).collect();
        let mut start = words.start;
        for comma in commas {
            let part: Vec<&str> = (start..comma).map(|at| code.word(at)).collect();
            let bound_at = match part.as_slice() {
                [MODULE] | [MODULE, ".", _] => Some(start),
                [MODULE, "as", _] => Some(start + 2),
                _ => None,
            };
            let is_abc = part.starts_with(&[MODULE, ".", "abc"]);
            self.has_abc |= is_abc && statement.scope == 0;
            let import = |bound_at| Import { name: code.word(bound_at), bound_at, last: comma - 1, is_abc };
            self.names.extend(bound_at.map(import));
            start = comma + 1;
        }
    }
}

/// `collections.X` by all names of the module, and what imports `collections.abc` for them.
fn attributes(code: &Code<'_>, imports: &Imports<'_>) -> Vec<Edit> {
    let names = imports.names.iter().map(|import| import.name).collect();
    let shadowed = bindings::scopes(code, &names, &imports.names.iter().map(|import| import.bound_at).collect());
    let mut edits = Vec::new();
    let mut used = BTreeSet::new();
    for statement in &code.statements {
        if matches!(code.word(statement.first), "import" | "from" | "del") {
            continue;
        }
        for at in statement.first..statement.end {
            let Some(scopes) = shadowed.get(code.word(at)) else { continue };
            let is_use = (at == 0 || code.word(at - 1) != ".") && code.word(at + 1) == ".";
            // Whoever assigns it puts back what is missing.
            let has_moved = MOVED.contains(&code.word(at + 2)) && code.word(at + 3) != "=";
            if is_use && has_moved && !bindings::is_in(code, scopes, statement.scope) {
                let end = code.tokens[at].end();
                edits.push((end..end, ".abc".to_owned()));
                used.insert(code.word(at));
            }
        }
    }
    // The module alone does not bring it along.
    let bare = imports.names.iter().filter(|import| used.contains(import.name) && !import.is_abc && !imports.has_abc);
    edits.extend(bare.map(|import| {
        let end = code.tokens[import.last].end();
        let also = if import.name == MODULE { "" } else { " as _collections_abc" };
        (end..end, format!(", collections.abc{also}"))
    }));
    edits
}

/// `from collections import …`: where all names moved, the module is another one; else there are two statements.
fn split(text: &str, code: &Code<'_>, statement: &Statement) -> Vec<Edit> {
    let Statement { first, end, starts_line, .. } = *statement;
    if (code.word(first + 1), code.word(first + 2)) != (MODULE, "import") {
        return Vec::new();
    }
    let names = names(code, first + 3..end);
    let moved: Vec<&Range<usize>> = names.iter().filter(|name| MOVED.contains(&code.word(name.start))).collect();
    if moved.is_empty() {
        return Vec::new();
    }
    let module = code.tokens[first + 1].end();
    if moved.len() == names.len() {
        return vec![(module..module, ".abc".to_owned())];
    }
    let shown = |name: &Range<usize>| -> String { name.clone().map(|at| code.word(at)).collect::<Vec<_>>().join(" ") };
    let listed = |names: &[&Range<usize>]| names.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ");
    let start = code.tokens[first].at;
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let between = if starts_line { format!("\n{}", &text[line..start]) } else { "; ".to_owned() };
    let before = format!("from collections.abc import {}{between}", listed(&moved));
    let whole = start..code.tokens[end - 1].end();
    if text[whole.clone()].contains('#') {
        // Comments in between stay where they are; so they can only be in brackets, where a comma may come last.
        let gone = moved.iter().map(|name| {
            let comma = usize::from(code.word(name.end) == ",");
            (code.tokens[name.start].at..code.tokens[name.end - 1 + comma].end(), String::new())
        });
        return [(start..start, before)].into_iter().chain(gone).collect();
    }
    let stay: Vec<&Range<usize>> = names.iter().filter(|name| !moved.contains(name)).collect();
    vec![(whole, format!("{before}from collections import {}", listed(&stay)))]
}

/// The names after `import`, each with what it is called here. None of `*`, nor of anything that is not understood.
fn names(code: &Code<'_>, words: Range<usize>) -> Vec<Range<usize>> {
    let words = match (code.word(words.start), code.word(words.end - 1)) {
        ("(", ")") => words.start + 1..words.end - 1,
        ("(", _) => return Vec::new(),
        _ => words,
    };
    let mut names = Vec::new();
    let mut start = words.start;
    for at in words.clone().chain([words.end]) {
        if at < words.end && code.word(at) != "," {
            continue;
        }
        let name = start..at;
        let is_name = |word: &str| word.bytes().all(super::python::is_word) && !word.is_empty();
        match name.clone().map(|at| code.word(at)).collect::<Vec<_>>().as_slice() {
            [] => {}
            [word] if is_name(word) => names.push(name),
            [word, "as", other] if is_name(word) && is_name(other) => names.push(name),
            _ => return Vec::new(),
        }
        start = at + 1;
    }
    names
}

#[cfg(test)]
#[path = "collections_abc_tests.rs"]
mod tests;
