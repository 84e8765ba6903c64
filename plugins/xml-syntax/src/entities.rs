//! The entities that a document declares. None is ever expanded.

use crate::Problem;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Entity<'a> {
    /// Its text.
    Internal(&'a str),
    External,
    /// Of a notation: not text, so it cannot be referred to.
    Unparsed,
}

enum Fault<'a> {
    Loop,
    Unknown(&'a str),
    /// It brings a `<`, or something from outside, into an attribute.
    NotForAttributes(&'a str),
}

fn is_predefined(name: &str) -> bool {
    matches!(name, "lt" | "gt" | "amp" | "apos" | "quot")
}

/// What is declared, and whether there may be more.
#[derive(Default)]
pub(crate) struct Entities<'a> {
    pub(crate) declared: BTreeMap<&'a str, Entity<'a>>,
    /// The document says that nothing outside of it matters.
    pub(crate) standalone: bool,
    /// There is an external subset, or a reference to a parameter entity: either may declare more.
    pub(crate) elsewhere: bool,
    /// Entities that were looked through before.
    known: BTreeSet<&'a str>,
    /// Entities that may stand in attributes, with all that they refer to.
    for_attributes: BTreeSet<&'a str>,
}

impl<'a> Entities<'a> {
    /// What is wrong with a reference.
    pub(crate) fn problem(&mut self, name: &'a str, in_attribute: bool, at: usize) -> Option<Problem> {
        let problem = |code, message| Some(Problem { code, message, at });
        if is_predefined(name) {
            return None;
        }
        match self.declared.get(name).copied() {
            None if self.elsewhere && !self.standalone => None,
            None => {
                let html = "only `lt`, `gt`, `amp`, `apos` and `quot` are predefined";
                problem("unknown-entity", format!("the entity `{name}` is not declared; {html}"))
            }
            Some(Entity::Unparsed) => problem("syntax", format!("the entity `{name}` is not text")),
            Some(Entity::External) if in_attribute => {
                problem("syntax", format!("the external entity `{name}` is not allowed in an attribute"))
            }
            Some(_) => match self.fault_within(name).or_else(|| self.fault_in_attribute(name, in_attribute))? {
                Fault::Loop => problem("entity-loop", format!("the entity `{name}` refers to itself")),
                Fault::NotForAttributes(inner) => {
                    let message = format!("the entity `{inner}` inserts a `<` or a file into an attribute");
                    problem("bare-less-than", message)
                }
                Fault::Unknown(inner) => {
                    let message = format!("the entity `{name}` refers to `{inner}`, which is not declared");
                    problem("unknown-entity", message)
                }
            },
        }
    }

    /// What is wrong with what an entity refers to, however far away. Each entity is looked through once.
    fn fault_within(&mut self, name: &'a str) -> Option<Fault<'a>> {
        if self.known.contains(name) {
            return None;
        }
        // An entity is `open` while what it refers to is looked through.
        let mut open: Vec<(&'a str, Vec<&'a str>)> = vec![(name, self.references(name))];
        let mut names = BTreeSet::from([name]);
        while let Some((current, left)) = open.last_mut() {
            match left.pop() {
                Some(next) if names.contains(next) => return Some(Fault::Loop),
                Some(next) if self.known.contains(next) || is_predefined(next) => {}
                Some(next) if self.declared.contains_key(next) => {
                    names.insert(next);
                    let references = self.references(next);
                    open.push((next, references));
                }
                Some(_) if self.elsewhere && !self.standalone => {}
                Some(next) => return Some(Fault::Unknown(next)),
                None => {
                    names.remove(current);
                    self.known.insert(current);
                    open.pop();
                }
            }
        }
        None
    }

    /// The first entity, however far away, that cannot stand in an attribute. Each entity is looked through once.
    fn fault_in_attribute(&mut self, name: &'a str, in_attribute: bool) -> Option<Fault<'a>> {
        if !in_attribute {
            return None;
        }
        let mut left = vec![name];
        while let Some(next) = left.pop() {
            if !self.for_attributes.insert(next) {
                continue;
            }
            let is_wrong = match self.declared.get(next) {
                Some(Entity::Internal(text)) => has_less_than(text),
                Some(Entity::External | Entity::Unparsed) => true,
                None => false,
            };
            if is_wrong {
                // The next reference to it is wrong as well.
                self.for_attributes.clear();
                return Some(Fault::NotForAttributes(next));
            }
            left.extend(self.references(next));
        }
        None
    }

    /// What the text of an entity refers to, but for what is a comment, an instruction or character data in it.
    fn references(&self, name: &str) -> Vec<&'a str> {
        let Some(Entity::Internal(text)) = self.declared.get(name) else { return Vec::new() };
        let mut references = Vec::new();
        let mut rest = *text;
        while let Some(at) = rest.find(['&', '<']) {
            rest = &rest[at..];
            let section = SECTIONS.iter().find(|(start, _)| rest.starts_with(start));
            if let Some((_, end)) = section {
                rest = rest.find(end).map_or("", |at| &rest[at + end.len()..]);
                continue;
            }
            if let Some((name, _)) =
                rest[1..].split_once(';').filter(|(name, _)| rest.starts_with('&') && !name.starts_with('#'))
            {
                references.push(name);
            }
            rest = &rest[1..];
        }
        references
    }
}

/// What contains no references, from its start to its end.
const SECTIONS: &[(&str, &str)] = &[("<![CDATA[", "]]>"), ("<!--", "-->"), ("<?", "?>")];

/// Whether a text has a `<` once the references to characters in it are replaced.
fn has_less_than(text: &str) -> bool {
    let mut numbers = text.split("&#").skip(1).filter_map(|rest| rest.split_once(';')).map(|(number, _)| number);
    text.contains('<')
        || numbers.any(|number| match number.strip_prefix('x') {
            Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16) == Ok(0x3C),
            None => number.parse() == Ok(0x3C_u32),
        })
}
