//! The schemas of nbformat 4.0 to 4.5, as tables.
//!
//! Metadata that only some of these versions require is left out, because only their own readers use it.

/// A key of an object.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) is_required: bool,
    pub(crate) kind: ValueType,
}

/// What a value must be.
#[derive(Clone, Copy)]
pub(crate) enum ValueType {
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

const fn open(keys: &'static [Key]) -> ValueType {
    ValueType::Object(Shape { keys, is_open: true })
}

const fn closed(keys: &'static [Key]) -> Shape {
    Shape { keys, is_open: false }
}

const fn required(name: &'static str, kind: ValueType) -> Key {
    Key { name, is_required: true, kind }
}

const fn optional(name: &'static str, kind: ValueType) -> Key {
    Key { name, is_required: false, kind }
}

pub(crate) const NOTEBOOK: Shape = closed(&[
    required("cells", ValueType::Cells),
    required("metadata", METADATA),
    required("nbformat", ValueType::Number(4)),
    required("nbformat_minor", ValueType::Number(0)),
]);

const METADATA: ValueType = open(&[
    optional("kernelspec", open(&[required("name", ValueType::String), required("display_name", ValueType::String)])),
    optional("language_info", LANGUAGE),
    optional("orig_nbformat", ValueType::Number(1)),
]);

const LANGUAGE: ValueType = open(&[
    required("name", ValueType::String),
    optional("codemirror_mode", ValueType::Mode),
    optional("file_extension", ValueType::String),
    optional("mimetype", ValueType::String),
    optional("pygments_lexer", ValueType::String),
]);

const NAME: Key = optional("name", ValueType::Name);
const TAGS: Key = optional("tags", ValueType::Tags);
const CELL_TYPE: Key = required("cell_type", ValueType::String);
/// Since 4.5, and never required: Jupyter makes one up.
const ID: Key = optional("id", ValueType::Id);
const OUTPUT_TYPE: Key = required("output_type", ValueType::String);
const OUTPUTS: Key = required("outputs", ValueType::Outputs);
const SOURCE: Key = required("source", ValueType::Text);
const ATTACHMENTS: Key = optional("attachments", ValueType::Attachments);
const COUNT: Key = required("execution_count", ValueType::Count);

/// The shape of a cell by its type; `None` where the type is unknown.
pub(crate) fn cell(cell_type: &str) -> Option<Shape> {
    const RAW: Key = required("metadata", open(&[optional("format", ValueType::String), NAME, TAGS]));
    const MARKDOWN: Key = required("metadata", open(&[NAME, TAGS]));
    const CODE: Key = required(
        "metadata",
        open(&[optional("collapsed", ValueType::Boolean), optional("scrolled", ValueType::Scrolled), NAME, TAGS]),
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
    const DATA: Key = required("data", ValueType::Bundle);
    const METADATA: Key = required("metadata", open(&[]));
    const STREAM: &[Key] = &[OUTPUT_TYPE, required("name", ValueType::String), required("text", ValueType::Text)];
    const ERROR: &[Key] = &[
        OUTPUT_TYPE,
        required("ename", ValueType::String),
        required("evalue", ValueType::String),
        required("traceback", ValueType::Strings),
    ];
    Some(match output_type {
        "execute_result" => closed(&[OUTPUT_TYPE, DATA, METADATA, COUNT]),
        "display_data" => closed(&[OUTPUT_TYPE, DATA, METADATA]),
        "stream" => closed(STREAM),
        "error" => closed(ERROR),
        _ => return None,
    })
}
