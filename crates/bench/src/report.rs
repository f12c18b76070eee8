//! What the bench found, as aligned text: a table of loads, a table of facts, and a last line that says whether
//! all goals were met. It measures nothing.

use std::time::Duration;

use crate::load::Outcome;

#[derive(Default)]
pub(crate) struct Report {
    /// What was run, in a few lines above the tables.
    pub(crate) preface: Vec<String>,
    pub(crate) loads: Vec<Load>,
    pub(crate) facts: Vec<Fact>,
    /// What could not be measured at all, and why.
    pub(crate) broken: Vec<String>,
}

/// One scenario under load.
pub(crate) struct Load {
    pub(crate) scenario: String,
    pub(crate) engine: &'static str,
    pub(crate) connections: usize,
    pub(crate) outcome: Outcome,
    /// What the ratio is taken against, with its own number.
    pub(crate) against: String,
    pub(crate) ratio: Option<f64>,
    pub(crate) goal: Option<Goal>,
}

/// One number that is not a rate.
pub(crate) struct Fact {
    pub(crate) what: String,
    pub(crate) engine: &'static str,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) goal: Option<Goal>,
}

#[derive(Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64),
    Below(f64),
}

impl Report {
    pub(crate) fn failed(&self) -> bool {
        !self.broken.is_empty() || self.loads.iter().any(|load| load.outcome.failures > 0)
    }

    pub(crate) fn render(&self) -> String {
        let mut out = self.preface.join("\n") + "\n\n";
        let mut loads = vec![cells([
            "scenario", "engine", "conns", "rate/s", "p50 ms", "p99 ms", "against", "ratio", "goal", "met",
        ])];
        loads.extend(self.loads.iter().map(load_row));
        out += &table(&loads, &[2, 3, 4, 5, 7]);
        let mut facts = vec![cells(["measure", "engine", "value", "unit", "goal", "met"])];
        facts.extend(self.facts.iter().map(fact_row));
        out += "\n";
        out += &table(&facts, &[2]);
        out += "\n";
        for load in &self.loads {
            if let Some(first) = &load.outcome.first_failure {
                let (name, engine, count) = (&load.scenario, load.engine, load.outcome.failures);
                out += &format!("FAILED: {name} on {engine}: {count} failures, the first: {first}\n");
            }
        }
        for line in &self.broken {
            out += &format!("FAILED: {line}\n");
        }
        out + &self.summary()
    }

    fn summary(&self) -> String {
        let loads = self.loads.iter().filter_map(|load| met(load.ratio, load.goal));
        let facts = self.facts.iter().filter_map(|fact| met(Some(fact.value), fact.goal));
        let all: Vec<bool> = loads.chain(facts).collect();
        format!("{} of {} goals met\n", all.iter().filter(|met| **met).count(), all.len())
    }
}

/// A number with thousands separated, without decimals.
pub(crate) fn number(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub(crate) fn millis(duration: Option<Duration>) -> String {
    match duration.map(|duration| duration.as_secs_f64() * 1e3) {
        None => "-".into(),
        Some(ms) if ms < 1.0 => format!("{ms:.3}"),
        Some(ms) if ms < 100.0 => format!("{ms:.2}"),
        Some(ms) => number(ms),
    }
}

fn load_row(load: &Load) -> Vec<String> {
    let outcome = &load.outcome;
    let verdict = if outcome.failures > 0 { "FAILED" } else { yes_or_no(load.ratio, load.goal) };
    cells([
        load.scenario.as_str(),
        load.engine,
        &load.connections.to_string(),
        &number(outcome.rate()),
        &millis(outcome.p50()),
        &millis(outcome.p99()),
        &load.against,
        &load.ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}")),
        &goal_text(load.goal),
        verdict,
    ])
}

fn fact_row(fact: &Fact) -> Vec<String> {
    let value = if fact.value < 1_000.0 { format!("{:.1}", fact.value) } else { number(fact.value) };
    let verdict = yes_or_no(Some(fact.value), fact.goal);
    cells([fact.what.as_str(), fact.engine, &value, fact.unit, &goal_text(fact.goal), verdict])
}

fn goal_text(goal: Option<Goal>) -> String {
    match goal {
        None => "-".into(),
        Some(Goal::AtLeast(least)) => format!(">= {least}"),
        Some(Goal::Below(most)) => format!("< {most}"),
    }
}

fn yes_or_no(value: Option<f64>, goal: Option<Goal>) -> &'static str {
    match met(value, goal) {
        None => "-",
        Some(true) => "yes",
        Some(false) => "no",
    }
}

/// Whether a goal was met; a value that could not be measured did not meet it.
fn met(value: Option<f64>, goal: Option<Goal>) -> Option<bool> {
    let value = value.unwrap_or(f64::NAN);
    match goal? {
        Goal::AtLeast(least) => Some(value >= least),
        Goal::Below(most) => Some(value < most),
    }
}

fn cells<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

/// Columns two spaces apart, the `right` ones flush right, with a rule under the first row.
fn table(rows: &[Vec<String>], right: &[usize]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        let padded: Vec<String> = (0..columns)
            .map(|column| match right.contains(&column) {
                true => format!("{:>1$}", row[column], widths[column]),
                false => format!("{:<1$}", row[column], widths[column]),
            })
            .collect();
        out += padded.join("  ").trim_end();
        out += "\n";
        if index == 0 {
            out += &widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("  ");
            out += "\n";
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_their_width() {
        let rows = [cells(["name", "rate"]), cells(["GET /users/{id}", "9"]), cells(["é", "81,204"])];
        let expected = "\
name               rate
---------------  ------
GET /users/{id}       9
é                81,204
";
        assert_eq!(table(&rows, &[1]), expected);
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (value, text) in [(0.0, "0"), (999.4, "999"), (1_000.0, "1,000"), (1_234_567.0, "1,234,567")] {
            assert_eq!(number(value), text);
        }
        assert_eq!(millis(Some(Duration::from_micros(52))), "0.052");
        assert_eq!(millis(Some(Duration::from_millis(12_000))), "12,000");
    }

    #[test]
    fn what_was_not_measured_did_not_meet_its_goal() {
        assert_eq!(met(None, Some(Goal::Below(50.0))), Some(false));
        assert_eq!(met(Some(0.25), Some(Goal::AtLeast(0.25))), Some(true));
        assert_eq!(met(Some(50.0), Some(Goal::Below(50.0))), Some(false));
        assert_eq!(met(Some(1.0), None), None);
    }
}
