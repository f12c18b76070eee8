//! The floor plan: which group may use which, kept by reading manifests and imports. The order and its reasons are in
//! `docs/ARCHITECTURE.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::architecture::{code, sources};

/// The crates of the product and what they stand on, lowest first. A crate uses those before it, never those after it.
pub(crate) const CRATES: [&str; 21] = [
    "base",
    "db",
    "web",
    "jose",
    "passwords",
    "images",
    "outbound",
    "letters",
    "kernel",
    "events",
    "messaging",
    "people",
    "organizations",
    "presence",
    "door",
    "flows",
    "connections",
    "app",
    "server",
    "testkit",
    "bench",
];

/// Those that make the product: from the template language to what puts the server together.
pub(crate) fn product_crates() -> impl Iterator<Item = &'static str> {
    CRATES.into_iter().skip_while(|name| *name != "letters").take_while(|name| *name != "server")
}

/// Crates on one level, which do not know each other.
const ALONE: [&str; 7] = ["db", "web", "jose", "passwords", "images", "outbound", "letters"];

/// A module as the segments of its path; the crate itself has none.
type Module = Vec<String>;

/// The modules of a crate with what they import of their own crate.
struct Imports(BTreeMap<Module, BTreeSet<Module>>);

impl Imports {
    fn of_crate(name: &str) -> Imports {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        let files = sources(name).into_iter().map(|(path, text)| {
            let inside = path.strip_prefix(&root).unwrap().with_extension("");
            (inside.iter().map(|part| part.to_string_lossy().into_owned()).collect(), code(&text))
        });
        Imports::of_files(files.collect())
    }

    /// Of files, each given as its path without the extension, and its text.
    fn of_files(files: Vec<(Vec<String>, String)>) -> Imports {
        let mut texts = BTreeMap::<Module, String>::new();
        for (mut path, text) in files {
            path.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
            texts.entry(path).or_default().push_str(&text);
        }
        let macros: Vec<(String, Module)> = texts
            .iter()
            .flat_map(|(module, text)| exported_macros(text).into_iter().map(|name| (name, module.clone())))
            .collect();
        let imports = texts.iter().map(|(module, text)| {
            let (used, mentioned) = paths(text);
            let names = names_of_modules(module, &used, &texts);
            let found = used.iter().chain(&mentioned).filter_map(|path| {
                let path = absolute(module, path, &names)?;
                let exported = macros.iter().find(|(name, _)| path.len() == 1 && *name == path[0]);
                let target = match exported {
                    Some((_, module)) => module.clone(),
                    None => (0..=path.len())
                        .rev()
                        .map(|end| path[..end].to_vec())
                        .find(|it| texts.contains_key(it))?,
                };
                (target != *module).then_some(target)
            });
            (module.clone(), found.collect())
        });
        Imports(imports.collect())
    }

    /// Modules that use each other, directly or not, and lie in several folders.
    fn circles_between_folders(&self) -> Vec<String> {
        let reach: BTreeMap<&Module, BTreeSet<&Module>> =
            self.0.keys().map(|module| (module, self.reachable(module))).collect();
        let mut found = BTreeSet::new();
        for (module, reached) in &reach {
            let circle: BTreeSet<&Module> =
                reached.iter().filter(|other| reach[**other].contains(module)).copied().collect();
            let folders: BTreeSet<Module> = circle.iter().map(|module| self.folder(module)).collect();
            if folders.len() > 1 {
                found.insert(circle.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(", "));
            }
        }
        found.into_iter().collect()
    }

    fn reachable(&self, from: &Module) -> BTreeSet<&Module> {
        let mut found = BTreeSet::new();
        let mut next: Vec<&Module> = self.0[from].iter().collect();
        while let Some(module) = next.pop() {
            if found.insert(module) {
                next.extend(&self.0[module]);
            }
        }
        found
    }

    /// The folder of a module. A file beside a folder of its name belongs into it.
    fn folder(&self, module: &Module) -> Module {
        let has_folder = self.0.keys().any(|other| other.len() > module.len() && other.starts_with(module));
        let end = if has_folder { module.len() } else { module.len().saturating_sub(1) };
        module[..end].to_vec()
    }
}

/// The names of macros that a text exports: they are used as if they stood at the root of the crate.
fn exported_macros(text: &str) -> Vec<String> {
    let rest = text.split("#[macro_export]").skip(1);
    let name =
        |part: &str| part.split("macro_rules!").nth(1)?.split('{').next().map(|name| name.trim().to_owned());
    rest.filter_map(name).collect()
}

/// The modules that a path may begin with: the children of its module, and what that module imports.
fn names_of_modules(
    module: &Module,
    used: &[String],
    texts: &BTreeMap<Module, String>,
) -> BTreeMap<String, Module> {
    let is_child = |other: &&Module| other.len() == module.len() + 1 && other.starts_with(module);
    let children = texts.keys().filter(is_child);
    let mut names: BTreeMap<String, Module> =
        children.map(|child| (child.last().unwrap().clone(), child.clone())).collect();
    for path in used {
        let imported = absolute(module, path, &names).filter(|path| texts.contains_key(path));
        let renamed = path.split(" as ").nth(1).map(|name| name.trim().to_owned());
        if let Some(name) = imported.and_then(|path| Some((renamed.or(path.last().cloned())?, path))) {
            names.insert(name.0, name.1);
        }
    }
    names
}

/// The paths in a text: the leaves of its `use` trees, and those in between.
fn paths(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut used, mut mentioned) = (Vec::new(), Vec::new());
    let mut rest = text;
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(at) = rest.find(is_name) {
        let path = &rest[at..];
        let end = path.find(|c: char| !is_name(c) && c != ':').unwrap_or(path.len());
        let tree = path.strip_prefix("use ").and_then(|tree| tree.split_once(';'));
        let before = &text[..text.len() - path.len()];
        let is_continued = before.ends_with([':', '$']);
        let is_visibility = before.ends_with("(in ");
        rest = match tree {
            Some((tree, after)) => {
                used.extend(expanded(tree));
                after
            }
            None => {
                if path[..end].contains("::") && !is_continued && !is_visibility {
                    mentioned.push(path[..end].to_owned());
                }
                &path[end..]
            }
        };
    }
    (used, mentioned)
}

/// The leaves of a `use` tree.
fn expanded(tree: &str) -> Vec<String> {
    let Some((start, rest)) = tree.split_once('{') else {
        return vec![tree.trim().to_owned()];
    };
    let (mut leaves, mut depth, mut leaf) = (Vec::new(), 0, String::new());
    for c in rest.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => leaves.push(std::mem::take(&mut leaf)),
            _ => {
                depth += match c {
                    '{' => 1,
                    '}' => -1,
                    _ => 0,
                };
                leaf.push(c);
            }
        }
    }
    leaves.push(leaf);
    let whole = leaves.iter().filter(|leaf| !leaf.trim().is_empty());
    whole.flat_map(|leaf| expanded(&format!("{}{}", start.trim(), leaf.trim()))).collect()
}

/// A path from the root of the crate, as `module` writes it; nothing if it leads elsewhere.
fn absolute(module: &Module, path: &str, names: &BTreeMap<String, Module>) -> Option<Module> {
    let path = path.split(" as ").next().unwrap_or_default();
    let mut segments = path.split("::").filter(|part| !part.is_empty() && *part != "*").peekable();
    let mut found = match *segments.peek()? {
        "crate" => Module::new(),
        "self" | "super" => module.clone(),
        name => names.get(name)?.clone(),
    };
    let mut is_start = true;
    while let Some(part) = segments.next_if(|part| is_start || ["self", "super"].contains(part)) {
        is_start = false;
        if part == "super" {
            found.pop()?;
        }
    }
    found.extend(segments.map(str::to_owned));
    found.pop_if(|last| last == "self");
    Some(found)
}

#[test]
fn no_circle_of_files_crosses_folders() {
    for name in CRATES {
        let circles = Imports::of_crate(name).circles_between_folders();
        assert!(circles.is_empty(), "{name}: {circles:#?}");
    }
}

/// What a crate of ours depends on, by its manifest; what only its tests need does not count.
fn dependencies(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("Cargo.toml");
    dependencies_in(&std::fs::read_to_string(path).unwrap())
}

/// The same by the text of a manifest: always, on some systems only, or while building.
fn dependencies_in(manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_used = false;
    for line in manifest.lines() {
        let head = line.strip_prefix('[').and_then(|head| head.split(']').next());
        let entry = match head {
            Some(head) => {
                is_used = head.split('.').any(|part| ["dependencies", "build-dependencies"].contains(&part));
                head.rsplit('.').next().filter(|_| is_used)
            }
            None => Some(line).filter(|_| is_used),
        };
        let name = entry.and_then(|entry| entry.strip_prefix("latchkey-")?.split(['.', ' ', '=']).next());
        found.extend(name.map(str::to_owned));
    }
    found
}

#[test]
fn dependencies_are_read_from_every_table_but_that_of_tests() {
    let manifest = "[dependencies]\nlatchkey-a.workspace = true\nserde = \"1\"\nlatchkey-b = { path = \"../b\" }\n\
                    [dev-dependencies]\nlatchkey-x.workspace = true\n\
                    [target.'cfg(unix)'.dependencies]\nlatchkey-c.workspace = true\n\
                    [target.'cfg(unix)'.dev-dependencies]\nlatchkey-y.workspace = true\n\
                    [build-dependencies]\nlatchkey-d=\"1\"\n[dependencies.latchkey-e]\nworkspace = true\n[lints]\n";
    assert_eq!(dependencies_in(manifest), ["a", "b", "c", "d", "e"]);
}

#[test]
fn crates_use_those_below_them_only() {
    let place = |name: &str| CRATES.iter().position(|known| *known == name);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let own = place(&name).unwrap_or_else(|| panic!("say in CRATES where `{name}` belongs"));
        for used in dependencies(&name) {
            assert!(
                place(&used) < Some(own),
                "{name} must not use {used} (docs/ARCHITECTURE.md, The floor plan)"
            );
            assert!(!ALONE.contains(&&*name) || !ALONE.contains(&&*used), "{name} must not use {used}");
        }
    }
}

#[test]
fn the_floor_plan_names_every_folder_of_a_group() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let plan = std::fs::read_to_string(root.join("docs/ARCHITECTURE.md")).unwrap();
    for name in product_crates().skip_while(|name| *name != "events") {
        let row = plan.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("the floor plan has no row for `{name}`"));
        let text = std::fs::read_to_string(root.join(format!("crates/{name}/src/lib.rs"))).unwrap();
        for module in text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')) {
            assert!(row.contains(&format!("`{module}`")), "the row of `{name}` does not name `{module}`");
        }
    }
}

/// The test of circles would pass if nothing were read.
#[test]
fn imports_are_read_as_the_compiler_reads_them() {
    let file = |path: &str, text: &str| (path.split('/').map(str::to_owned).collect(), text.to_owned());
    let imports = Imports::of_files(vec![
        file("lib", "pub mod people;"),
        file("people", "pub mod users; pub mod tickets;"),
        file("people/users/mod", "pub mod store;"),
        file(
            "people/users/store",
            "use super::super::{tickets as passes, tickets::rules::{judge as verdict, Look}};",
        ),
        file("people/tickets", ""),
        file("people/tickets/rules", "fn f() { crate::people::users::store::find() }"),
        file("door", "use crate::{flows, people::users};\nuse crate::word;"),
        file("flows", "use other::crate_name; use inner::x; pub(in crate::door) fn f() { rules::f() }"),
        file(
            "flows/rules",
            "use crate::people::{tickets as passes, users::store}; fn f() { passes::rules::f(); store::f() }",
        ),
        file("flows/inner", "#[macro_export]\nmacro_rules! word { () => {} }"),
    ]);
    let of = |path: &str| {
        let module: Module = path.split("::").map(str::to_owned).collect();
        imports.0[&module].iter().map(|module| module.join("::")).collect::<Vec<_>>()
    };
    assert_eq!(of("people::users::store"), ["people::tickets", "people::tickets::rules"]);
    assert_eq!(of("people::tickets::rules"), ["people::users::store"]);
    assert_eq!(of("door"), ["flows", "flows::inner", "people::users"]);
    assert_eq!(of("flows"), ["flows::inner", "flows::rules"]);
    assert_eq!(of("flows::rules"), ["people::tickets", "people::tickets::rules", "people::users::store"]);
    assert_eq!(imports.circles_between_folders(), ["people::tickets::rules, people::users::store"]);
}
