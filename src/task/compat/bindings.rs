//! Where a name of Python means something else than a module: in which functions and classes it is bound otherwise.
//! When in doubt it is.

use std::collections::{BTreeMap, BTreeSet};

use super::python::{Code, Kind, Statement};

/// For each of some names the scopes that bind it by anything but the imports whose names are at `own`. Whatever is in
/// them, or in a scope of theirs, may be about something else.
pub(super) fn scopes<'a>(
    code: &Code<'a>,
    names: &BTreeSet<&'a str>,
    own: &BTreeSet<usize>,
) -> BTreeMap<&'a str, BTreeSet<usize>> {
    let mut found: BTreeMap<&str, BTreeSet<usize>> = names.iter().map(|name| (*name, BTreeSet::new())).collect();
    for statement in &code.statements {
        let line = Line::new(code, statement);
        for at in statement.first..statement.end {
            let token = &code.tokens[at];
            let is_bare = token.kind == Kind::Name && (at == 0 || code.word(at - 1) != ".");
            let Some(scopes) = found.get_mut(token.text).filter(|_| is_bare && !own.contains(&at)) else { continue };
            match line.binds(code, at) {
                Some(Where::Here) => scopes.insert(statement.scope),
                Some(Where::Around) => scopes.insert(code.scopes[statement.scope]),
                Some(Where::File) => scopes.insert(0),
                None => false,
            };
        }
    }
    found
}

/// Whether a scope is one of those, or in one of them.
pub(super) fn is_in(code: &Code<'_>, scopes: &BTreeSet<usize>, mut scope: usize) -> bool {
    loop {
        if scopes.contains(&scope) {
            return true;
        }
        if scope == 0 {
            return false;
        }
        scope = code.scopes[scope];
    }
}

/// Where a name is bound.
enum Where {
    Here,
    /// The name of a function or class, which belongs to what is around it.
    Around,
    File,
}

/// What a statement does with the names in it.
struct Line<'a> {
    statement: &'a Statement,
    /// `def`, `for`, `import` and so on; without `async`.
    verb: &'a str,
    /// The last `=` that assigns.
    assigns: Option<usize>,
    /// The first `as`, and the first `import`.
    renames: Option<usize>,
    imports: Option<usize>,
}

impl<'a> Line<'a> {
    fn new(code: &'a Code<'a>, statement: &'a Statement) -> Self {
        let Statement { first, end, .. } = *statement;
        let verb = if code.word(first) == "async" { code.word(first + 1) } else { code.word(first) };
        let find = |word: &str| (first..end).find(|at| code.word(*at) == word);
        let assigns = (first..end).rfind(|at| code.word(*at) == "=" && code.tokens[*at].depth == 0);
        Self { statement, verb, assigns, renames: find("as"), imports: find("import") }
    }

    fn binds(&self, code: &Code<'_>, at: usize) -> Option<Where> {
        let token = &code.tokens[at];
        let (before, after) = (if at == 0 { "" } else { code.word(at - 1) }, code.word(at + 1));
        match (self.verb, before) {
            ("global" | "nonlocal", _) => return Some(Where::File),
            ("import" | "from", _) => return self.imports(code, at).then_some(Where::Here),
            ("del" | "case", _) if after != "." => return Some(Where::Here),
            ("def" | "class", "def" | "class") => return Some(Where::Around),
            // A parameter.
            ("def", "(" | "," | "*") if token.depth == 1 => return Some(Where::Here),
            _ => {}
        }
        let is_target = after != "." && !token.in_call;
        let is_assigned = self.assigns.is_some_and(|assigns| at < assigns) && is_target;
        let is_renamed = self.renames.is_some_and(|renames| renames < at) && is_target;
        let is_changed = after.len() == 2 && after.ends_with('=') && !["==", "!=", "<=", ">="].contains(&after);
        let is_declared = after == ":" && at == self.statement.first;
        let binds = is_assigned || is_renamed || is_changed || is_declared;
        (binds || self.is_looped(code, at) || self.is_of_lambda(code, at)).then_some(Where::Here)
    }

    /// `import a, x.b as a`, `from x import a, b as a`: by its last name.
    fn imports(&self, code: &Code<'_>, at: usize) -> bool {
        let (before, after) = (code.word(at - 1), code.word(at + 1));
        let is_source = self.imports.is_none_or(|imports| at < imports);
        before == "as" || (after != "as" && !is_source && matches!(before, "import" | "," | "("))
    }

    /// Between `for` and `in`, of a loop or a comprehension.
    fn is_looped(&self, code: &Code<'_>, at: usize) -> bool {
        let near = self.statement.first.max(at.saturating_sub(FURTHEST))..at;
        near.rev().map(|at| code.word(at)).find(|word| matches!(*word, "for" | "in")) == Some("for")
    }

    /// Between `lambda` and its colon.
    fn is_of_lambda(&self, code: &Code<'_>, at: usize) -> bool {
        let near = self.statement.first.max(at.saturating_sub(FURTHEST))..at;
        let is_end = |word: &&str| matches!(*word, "lambda" | ":");
        let is_parameter = matches!(code.word(at - usize::from(at > 0)), "lambda" | "," | "*");
        is_parameter && near.rev().map(|at| code.word(at)).find(is_end) == Some("lambda")
    }
}

/// Targets of a loop and parameters are no further from the word that begins them.
const FURTHEST: usize = 64;
