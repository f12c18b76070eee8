//! What a template shows whatever its conditions say.

use std::collections::BTreeSet;

use super::syntax::Piece;

/// The variables of one branch, by their paths.
type Shown = BTreeSet<String>;

/// The branches of a condition, as far as they were read.
struct Block {
    /// What all branches before this one show.
    so_far: Option<Shown>,
    /// What this one shows.
    branch: Shown,
    /// The condition of the first branch, while that is read.
    first: Option<String>,
    /// What is shown in the first branch and is its condition: where it is empty there is nothing to show.
    itself: Option<String>,
    has_else: bool,
}

impl Block {
    fn new(condition: &str) -> Block {
        let first = Some(condition.to_owned());
        Block { so_far: None, branch: Shown::new(), first, itself: None, has_else: false }
    }

    fn end_branch(&mut self) {
        let branch = std::mem::take(&mut self.branch);
        self.itself = self.first.take().filter(|condition| branch.contains(condition)).or(self.itself.take());
        self.so_far = Some(match self.so_far.take() {
            Some(so_far) => so_far.intersection(&branch).cloned().collect(),
            None => branch,
        });
    }

    /// What is certain to be shown. Without an `else` there is a way past all branches.
    fn certain(mut self) -> Shown {
        self.end_branch();
        let all = self.so_far.filter(|_| self.has_else).unwrap_or_default();
        all.into_iter().chain(self.itself).collect()
    }
}

/// The variables that are shown in every branch of every condition. `is_seen` says of each one, by its place in
/// the order of all and its path, whether it is shown where it stands.
pub fn always_shown(pieces: &[Piece<'_>], is_seen: impl Fn(usize, &str) -> bool) -> BTreeSet<String> {
    let mut count = 0;
    let mut outside = Shown::new();
    let mut open: Vec<Block> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(_) => (),
            Piece::Value { path, .. } => {
                here(&mut open, &mut outside).extend(Some(path.clone()).filter(|path| is_seen(count, path)));
                count += 1;
            }
            Piece::If(condition) => open.push(Block::new(condition)),
            Piece::ElseIf(_) | Piece::Else => {
                if let Some(block) = open.last_mut() {
                    block.end_branch();
                    block.has_else |= matches!(piece, Piece::Else);
                }
            }
            Piece::End => {
                let certain = open.pop().map(Block::certain).unwrap_or_default();
                here(&mut open, &mut outside).extend(certain);
            }
        }
    }
    outside
}

/// Where what comes next is shown.
fn here<'a>(open: &'a mut [Block], outside: &'a mut Shown) -> &'a mut Shown {
    open.last_mut().map_or(outside, |block| &mut block.branch)
}

#[cfg(test)]
mod tests {
    use super::super::syntax::parse;
    use super::*;

    #[test]
    fn only_what_every_branch_shows_is_certain() {
        for (source, expected) in [
            ("{{x}} {{#if a}}{{y}}{{/if}}", "x"),
            ("{{#if a}}{{x}}{{/if}}", ""),
            ("{{#if a}}{{x}}{{else}}{{y}}{{/if}}", ""),
            ("{{#if a}}{{x}}{{y}}{{else}}{{y}}{{x}}{{/if}}", "x y"),
            ("{% if a %}{{x}}{% elif b %}{% else %}{{x}}{% endif %}", ""),
            ("{% if a %}{{x}}{% elif b %}{{x}}{% endif %}", ""),
            ("{% if a %}{{x}}{% elif b %}{{x}}{% else %}{{x}}{% endif %}", "x"),
            ("{{#if a}}{{#if b}}{{x}}{{else}}{{x}}{{/if}}{{else}}{{x}}{{/if}}", "x"),
            ("{{#if a}}{{#if b}}{{x}}{{/if}}{{else}}{{x}}{{/if}}", ""),
            ("{{#if a}}{{else}}{{/if}}{{x|upper}}", "x"),
            // A variable that is not empty is shown here.
            ("{{#if x}}{{x}}{{/if}}", "x"),
            ("{{#if x}}{{x}}{{else}}{{y}}{{/if}}", "x"),
            ("{{#unless x}}{{x}}{{/unless}}", ""),
            ("{% if a %}{% elif x %}{{x}}{% endif %}", ""),
        ] {
            let pieces = parse(source).unwrap().pieces;
            let shown: Vec<String> = always_shown(&pieces, |_, _| true).into_iter().collect();
            assert_eq!(shown.join(" "), expected, "{source}");
        }
    }

    #[test]
    fn what_nobody_sees_is_not_shown() {
        let pieces = parse("{{#if a}}{{x}}{{y}}{{else}}{{x}}{{y}}{{/if}}{{z}}").unwrap().pieces;
        let shown = always_shown(&pieces, |nth, path| nth != 2 && path != "z");
        assert_eq!(shown.into_iter().collect::<Vec<_>>(), ["y"]);
    }
}
