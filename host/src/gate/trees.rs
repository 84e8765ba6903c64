//! Random trees of gates and checks, and what each check says, for the properties of the algebra.

use super::scripted::*;
use super::*;
use crate::config::{Divergence, Enforcement, Leniency, Threshold};
use crate::plan::{GateRule, PlanNodeKind, Vote};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt;

/// A tree, and what each of its checks says.
#[derive(Clone)]
pub(super) struct TreeCase {
    pub(super) root: plan::PlanNode,
    pub(super) letters: BTreeMap<String, char>,
}

/// In one line, such as `tiers[+ all(error: Warn)[- ?]]`.
impl fmt::Debug for TreeCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sketch(&self.root))
    }
}

impl TreeCase {
    pub(super) fn run(&self) -> Node {
        self.run_with(&Circumstances::default())
    }

    pub(super) fn run_with(&self, circumstances: &Circumstances) -> Node {
        run_plan(&plan(self.root.clone()), circumstances, &self.script())
    }

    pub(super) fn script(&self) -> Script {
        let letters: Vec<(&str, String)> =
            self.letters.iter().map(|(name, letter)| (name.as_str(), letter.to_string())).collect();
        let letters: Vec<(&str, &str)> = letters.iter().map(|(name, letter)| (*name, letter.as_str())).collect();
        Script::of(&letters)
    }

    fn sketch(&self, node: &plan::PlanNode) -> String {
        let mut terms = Vec::new();
        for (key, leniency) in [("error", node.on_error), ("abstain", node.on_abstain)] {
            if leniency != Leniency::Block {
                terms.push(format!("{key}: {leniency:?}"));
            }
        }
        terms.extend((node.mode == Enforcement::Shadow).then(|| "shadow".to_owned()));
        terms.extend((!node.enabled).then(|| "disabled".to_owned()));
        terms.extend((node.weight != 1).then(|| format!("weight: {}", node.weight)));
        let terms = if terms.is_empty() { String::new() } else { format!("({})", terms.join(", ")) };
        match &node.what {
            PlanNodeKind::Check(_) => format!("{}{terms}", self.letters.get(&node.name).unwrap_or(&' ')),
            PlanNodeKind::Gate(gate) => {
                let members: Vec<String> = gate.members.iter().map(|member| self.sketch(member)).collect();
                format!("{:?}{terms}[{}]", gate.rule, members.join(" "))
            }
        }
    }

    /// Returns the same tree with another root.
    pub(super) fn with_root(&self, root: plan::PlanNode) -> Self {
        Self { root, letters: self.letters.clone() }
    }
}

fn any_leniency() -> impl Strategy<Value = Leniency> {
    prop_oneof![3 => Just(Leniency::Block), 1 => Just(Leniency::Warn), 1 => Just(Leniency::Escalate)]
}

fn any_threshold() -> impl Strategy<Value = Threshold> {
    prop_oneof![
        Just(Threshold::Majority),
        Just(Threshold::TwoThirds),
        Just(Threshold::Unanimous),
        (1..5u64).prop_map(Threshold::AtLeast)
    ]
}

/// Returns a rule for this many members.
fn any_rule(members: usize) -> impl Strategy<Value = GateRule> {
    let voices = prop_oneof![Just((0..members).collect::<Vec<_>>()), prop::collection::vec(0..members, members)];
    let divergence = prop_oneof![Just(Divergence::Escalate), Just(Divergence::Fail)];
    let vote = (any_threshold(), 0..3u32, any::<bool>(), divergence, voices).prop_map(
        |(threshold, absences, gone_are_missing, on_divergence, voices)| {
            GateRule::Vote(Vote { threshold, absences, gone_are_missing, on_divergence, voices })
        },
    );
    prop_oneof![1 => Just(GateRule::Tiers), 1 => Just(GateRule::All), 1 => Just(GateRule::Any), 2 => vote]
}

/// Returns a tree whose checks are all named `?`, and what they say in order.
pub(super) fn any_tree(letters: &'static str, lenient: bool) -> impl Strategy<Value = TreeCase> {
    let leaf = prop::sample::select(letters.chars().collect::<Vec<_>>()).prop_map(|letter| (check("?"), vec![letter]));
    let tree = leaf.prop_recursive(3, 16, 4, |inner| {
        let group = prop::collection::vec(inner.clone(), 1..=4).prop_flat_map(|members| {
            any_rule(members.len()).prop_map(move |rule| {
                let (members, letters): (Vec<_>, Vec<_>) = members.iter().cloned().unzip();
                (gate("?", rule, members), letters.concat())
            })
        });
        let not = inner.prop_map(|(member, letters)| (gate("?", GateRule::Not, vec![member]), letters));
        let terms = (any_leniency(), any_leniency(), prop::bool::weighted(0.15), prop::bool::weighted(0.05), 1..4u32);
        (prop_oneof![4 => group, 1 => not], terms).prop_map(|((mut node, letters), terms)| {
            let (on_error, on_abstain, shadow, disabled, weight) = terms;
            node.on_error = on_error;
            node.on_abstain = on_abstain;
            node.mode = if shadow { Enforcement::Shadow } else { Enforcement::Enforce };
            node.enabled = !disabled;
            node.weight = weight;
            (node, letters)
        })
    });
    // Leaves have terms too; the root only those that it can have.
    (tree, prop::collection::vec((any_leniency(), prop::bool::weighted(0.15)), 64)).prop_map(
        move |((mut root, letters), terms)| {
            let mut names = BTreeMap::new();
            let mut rest = letters.iter();
            let mut terms = terms.into_iter().cycle();
            name_all(&mut root, &mut 0, &mut |node| {
                if let PlanNodeKind::Check(check) = &mut node.what {
                    check.member = node.name.clone();
                    names.insert(node.name.clone(), *rest.next().expect("a letter"));
                    let (leniency, shadow) = terms.next().expect("terms");
                    (node.on_error, node.on_abstain) = (leniency, leniency);
                    node.mode = if shadow { Enforcement::Shadow } else { Enforcement::Enforce };
                }
                if !lenient {
                    strict(node);
                }
            });
            root.mode = Enforcement::Enforce;
            root.enabled = true;
            TreeCase { root, letters: names }
        },
    )
}

/// Returns a tree with a gate at its root.
pub(super) fn any_gate(letters: &'static str, lenient: bool) -> impl Strategy<Value = TreeCase> {
    any_tree(letters, lenient).prop_map(|mut case| {
        if matches!(case.root.what, PlanNodeKind::Check(_)) {
            case.root = gate("root", GateRule::All, vec![case.root]);
        }
        case
    })
}

fn name_all(node: &mut plan::PlanNode, next: &mut usize, each: &mut impl FnMut(&mut plan::PlanNode)) {
    node.name = format!("n{next}");
    *next += 1;
    each(node);
    if let PlanNodeKind::Gate(gate) = &mut node.what {
        gate.members.iter_mut().for_each(|member| name_all(member, next, each));
    }
}

/// Returns how many more voters there are when shadows vote too.
pub(super) fn in_shadow(members: &[plan::PlanNode]) -> u32 {
    let count = members.iter().filter(|member| member.enabled && member.mode == Enforcement::Shadow).count();
    u32::try_from(count).expect("few members")
}

/// Returns the tree without any relaxation. A member that leaves shadow mode is one voter more, and the quorum stays the
/// same.
pub(super) fn strict(node: &mut plan::PlanNode) {
    if let PlanNodeKind::Gate(gate) = &mut node.what
        && let GateRule::Vote(vote) = &mut gate.rule
        && vote.gone_are_missing
    {
        vote.absences += in_shadow(&gate.members);
    }
    node.on_error = Leniency::Block;
    node.on_abstain = Leniency::Block;
    node.mode = Enforcement::Enforce;
}

pub(super) fn each(node: &mut plan::PlanNode, change: &impl Fn(&mut plan::PlanNode)) {
    change(node);
    if let PlanNodeKind::Gate(gate) = &mut node.what {
        gate.members.iter_mut().for_each(|member| each(member, change));
    }
}
