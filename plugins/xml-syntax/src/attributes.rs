//! The attributes of an element, and the prefixes of names.

use crate::document::Document;
use crate::text::Read;
use crate::{MOST_FINDINGS, Problem};
use std::collections::{BTreeMap, BTreeSet};

impl<'a> Document<'a> {
    /// Behind an element's name, up to after its `>`. Returns whether it is closed already.
    pub(crate) fn attributes(&mut self, element: &'a str, start: usize) -> Read<bool> {
        let mut names: BTreeSet<&'a str> = BTreeSet::new();
        let mut used = vec![(element, start + 1)];
        let mut declared = Vec::new();
        let is_empty = loop {
            let space = self.cursor.space();
            if self.cursor.take("/>") {
                break true;
            }
            if self.cursor.take(">") {
                break false;
            }
            if !space {
                return Err(self.cursor.expected("a space, `>` or `/>`"));
            }
            let at = self.cursor.at;
            let name = self.cursor.name()?;
            if !names.insert(name) {
                self.add(Problem {
                    code: "duplicate-attribute",
                    message: format!("the attribute `{name}` occurs twice"),
                    at,
                });
            }
            self.cursor.space();
            self.cursor.expect("=")?;
            self.cursor.space();
            let value_at = self.cursor.at + 1;
            let value = self.cursor.quoted()?;
            self.value(value, value_at)?;
            match name.strip_prefix("xmlns:") {
                Some(prefix) => declared.push(prefix),
                None => used.push((name, at)),
            }
        };
        if let Some(prefixes) = &mut self.prefixes {
            prefixes.open(declared);
            let unbound = used.iter().filter_map(|&(name, at)| prefixes.problem(name, at)).collect::<Vec<_>>();
            self.unbound.extend(unbound);
            self.unbound.truncate(MOST_FINDINGS);
        }
        Ok(is_empty)
    }

    fn value(&mut self, value: &'a str, at: usize) -> Read {
        if let Some(before) = value.find('<') {
            let message = "`<` in a value must be written `&lt;`; check for a missing quote before it".to_owned();
            return Err(Problem { code: "bare-less-than", message, at: at + before });
        }
        let behind = self.cursor.at;
        let mut from = 0;
        while let Some(before) = value[from..].find('&') {
            self.cursor.at = at + from + before;
            let reference = self.cursor.at;
            let entity = self.cursor.reference()?;
            if let Some(problem) = entity.and_then(|name| self.entities.problem(name, true, reference)) {
                self.add(problem);
            }
            from = self.cursor.at - at;
        }
        self.cursor.at = behind;
        Ok(())
    }
}

/// The prefixes that are declared where we are.
#[derive(Default)]
pub(crate) struct Prefixes<'a> {
    /// How often each is declared by elements that are open.
    declared: BTreeMap<&'a str, usize>,
    /// What each open element declares.
    open: Vec<Vec<&'a str>>,
}

impl<'a> Prefixes<'a> {
    fn open(&mut self, declared: Vec<&'a str>) {
        for prefix in &declared {
            *self.declared.entry(prefix).or_default() += 1;
        }
        self.open.push(declared);
    }

    pub(crate) fn close(&mut self) {
        for prefix in self.open.pop().unwrap_or_default() {
            if let Some(count) = self.declared.get_mut(prefix) {
                *count -= 1;
            }
        }
    }

    fn problem(&self, name: &str, at: usize) -> Option<Problem> {
        let (prefix, _) = name.split_once(':')?;
        let is_bound = matches!(prefix, "xml" | "xmlns") || self.declared.get(prefix).is_some_and(|&count| count > 0);
        let message = format!("no `xmlns:{prefix}` declares the prefix of `{name}`");
        (!is_bound).then_some(Problem { code: "unbound-prefix", message, at })
    }
}
