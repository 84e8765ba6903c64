//! Members of interfaces and classes that oxc accepts and the language does not.

use crate::walk::FoundError;
use oxc_ast::AstKind;
use oxc_span::GetSpan;

/// Between two members of an interface or a type stands `,`, `;` or the end of a line.
pub(crate) fn not_separated(kind: AstKind, text: &str) -> Option<FoundError> {
    let members = match kind {
        AstKind::TSInterfaceBody(interface) => &interface.body,
        AstKind::TSTypeLiteral(literal) => &literal.members,
        _ => return None,
    };
    let is_wrong = |end: u32, next: u32| {
        let (before, between) = (&text[..end as usize], &text[end as usize..next as usize]);
        !before.ends_with([',', ';']) && !between.contains(['\n', '\r', '\u{2028}', '\u{2029}'])
    };
    let wrong = members.windows(2).find(|pair| is_wrong(pair[0].span().end, pair[1].span().start))?;
    Some((wrong[1].span().start, "expected `,`, `;` or a line break between two members".to_owned()))
}

/// A class's element that is marked as only TypeScript can.
pub(crate) fn only_of_typescript(kind: AstKind) -> Option<FoundError> {
    let mark = match kind {
        AstKind::MethodDefinition(method) => first(&[
            (method.accessibility.is_some(), ACCESSIBILITY),
            (method.r#override, "`override`"),
            (method.optional, "`?`"),
            (method.r#type.is_abstract(), "`abstract`"),
        ]),
        AstKind::PropertyDefinition(property) => first(&[
            (property.accessibility.is_some(), ACCESSIBILITY),
            (property.r#override, "`override`"),
            (property.optional, "`?`"),
            (property.definite, "`!`"),
            (property.r#type.is_abstract(), "`abstract`"),
            (property.readonly, "`readonly`"),
            (property.declare, "`declare`"),
        ]),
        AstKind::AccessorProperty(property) => first(&[
            (property.accessibility.is_some(), ACCESSIBILITY),
            (property.r#override, "`override`"),
            (property.definite, "`!`"),
            (property.r#type.is_abstract(), "`abstract`"),
        ]),
        _ => None,
    };
    mark.map(|mark| (kind.span().start, format!("{mark} in a class is TypeScript, not JavaScript")))
}

const ACCESSIBILITY: &str = "`public`, `private` or `protected`";

fn first(marks: &[(bool, &'static str)]) -> Option<&'static str> {
    marks.iter().find(|(is_there, _)| *is_there).map(|(_, mark)| *mark)
}
