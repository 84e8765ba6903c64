//! Recognises templates of YAML.
//!
//! `{{ … }}` within quotes or behind `$` is a matter of whoever reads the value (Ansible, GitHub Actions), and the file
//! is YAML. It is a template where such a mark stands in place of a line, an item or a value.

/// The first line with a template's mark, from 1.
pub(crate) fn first_line(text: &str) -> Option<usize> {
    text.lines().position(is_template).map(|before| before + 1)
}

fn is_template(line: &str) -> bool {
    let line = line.trim_start();
    let item = line.trim_start_matches("- ").trim_start();
    is_mark(item) || line.split_once(": ").is_some_and(|(_, value)| is_mark(value.trim_start()))
}

fn is_mark(text: &str) -> bool {
    text.starts_with("{{") || text.starts_with("{%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_in_place_of_yaml_is_a_template() {
        for line in [
            "{{- if .Values.a }}",
            "  {{ include \"a\" . | nindent 4 }}",
            "{% for x in y %}",
            "a: {{ .b }}",
            "- {{ a }}",
            "  - a: {{ b }}",
        ] {
            assert_eq!(first_line(&format!("a: b\n{line}\n")), Some(2), "{line}");
        }
    }

    #[test]
    fn a_mark_within_a_value_is_not() {
        for line in
            ["a: \"{{ b }}\"", "a: ${{ github.ref }}", "run: echo {{ x }}", "# {{ a }}", "a: '{% b %}'", "a: {}"]
        {
            assert_eq!(first_line(line), None, "{line}");
        }
    }
}
