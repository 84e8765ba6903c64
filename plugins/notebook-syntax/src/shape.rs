//! What the schemas of nbformat 4.0 to 4.5 ask for, as tables.
//!
//! Left out is what only some of these versions ask for in metadata, which nobody but their own reader looks at.

/// A key of an object.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) is_required: bool,
    pub(crate) kind: Kind,
}

/// What a value must be.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Boolean,
    String,
    /// A string that is not empty.
    Name,
    /// A string or an object.
    Mode,
    /// `true`, `false` or `"auto"`.
    Scrolled,
    /// A whole number, from this one on.
    Number(u64),
    /// How often a cell was run: a whole number or null.
    Count,
    /// A string or a list of strings.
    Text,
    /// A list of strings.
    Strings,
    /// Different strings without a comma.
    Tags,
    /// Text by its media type; what is JSON by its type may be anything.
    Bundle,
    /// A bundle for each name.
    Attachments,
    Cells,
    Outputs,
    /// 1 to 64 letters, digits, `-` and `_`.
    Id,
    /// An object with keys of its own.
    Object(Shape),
}

/// The keys of an object, and whether others may stand beside them.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) keys: &'static [Key],
    pub(crate) is_open: bool,
}

const fn open(keys: &'static [Key]) -> Kind {
    Kind::Object(Shape { keys, is_open: true })
}

const fn closed(keys: &'static [Key]) -> Shape {
    Shape { keys, is_open: false }
}

const fn required(name: &'static str, kind: Kind) -> Key {
    Key { name, is_required: true, kind }
}

const fn optional(name: &'static str, kind: Kind) -> Key {
    Key { name, is_required: false, kind }
}

pub(crate) const NOTEBOOK: Shape = closed(&[
    required("cells", Kind::Cells),
    required("metadata", METADATA),
    required("nbformat", Kind::Number(4)),
    required("nbformat_minor", Kind::Number(0)),
]);

const METADATA: Kind = open(&[
    optional("kernelspec", open(&[required("name", Kind::String), required("display_name", Kind::String)])),
    optional("language_info", LANGUAGE),
    optional("orig_nbformat", Kind::Number(1)),
]);

const LANGUAGE: Kind = open(&[
    required("name", Kind::String),
    optional("codemirror_mode", Kind::Mode),
    optional("file_extension", Kind::String),
    optional("mimetype", Kind::String),
    optional("pygments_lexer", Kind::String),
]);

const NAME: Key = optional("name", Kind::Name);
const TAGS: Key = optional("tags", Kind::Tags);
const CELL_TYPE: Key = required("cell_type", Kind::String);
/// Since 4.5, and never required: Jupyter makes one up.
const ID: Key = optional("id", Kind::Id);
const OUTPUT_TYPE: Key = required("output_type", Kind::String);
const OUTPUTS: Key = required("outputs", Kind::Outputs);
const SOURCE: Key = required("source", Kind::Text);
const ATTACHMENTS: Key = optional("attachments", Kind::Attachments);
const COUNT: Key = required("execution_count", Kind::Count);

/// The shape of a cell by its type; `None` where the type is unknown.
pub(crate) fn cell(cell_type: &str) -> Option<Shape> {
    const RAW: Key = required("metadata", open(&[optional("format", Kind::String), NAME, TAGS]));
    const MARKDOWN: Key = required("metadata", open(&[NAME, TAGS]));
    const CODE: Key = required(
        "metadata",
        open(&[optional("collapsed", Kind::Boolean), optional("scrolled", Kind::Scrolled), NAME, TAGS]),
    );
    Some(match cell_type {
        "raw" => closed(&[CELL_TYPE, ID, RAW, SOURCE, ATTACHMENTS]),
        "markdown" => closed(&[CELL_TYPE, ID, MARKDOWN, SOURCE, ATTACHMENTS]),
        "code" => closed(&[CELL_TYPE, ID, CODE, SOURCE, OUTPUTS, COUNT]),
        _ => return None,
    })
}

/// The shape of an output by its type; `None` where the type is unknown.
pub(crate) fn output(output_type: &str) -> Option<Shape> {
    const DATA: Key = required("data", Kind::Bundle);
    const METADATA: Key = required("metadata", open(&[]));
    const STREAM: &[Key] = &[OUTPUT_TYPE, required("name", Kind::String), required("text", Kind::Text)];
    const ERROR: &[Key] = &[
        OUTPUT_TYPE,
        required("ename", Kind::String),
        required("evalue", Kind::String),
        required("traceback", Kind::Strings),
    ];
    Some(match output_type {
        "execute_result" => closed(&[OUTPUT_TYPE, DATA, METADATA, COUNT]),
        "display_data" => closed(&[OUTPUT_TYPE, DATA, METADATA]),
        "stream" => closed(STREAM),
        "error" => closed(ERROR),
        _ => return None,
    })
}
