"""{{name}}: no text contains a word that marks unfinished work."""

import gatehost


def check(file, settings):
    text = gatehost.text_of(file)
    if text is None:
        return gatehost.abstain("the file is not UTF-8 text")
    word = settings.get("word", "TODO")
    findings = []
    at = text.find(word)
    while at >= 0:
        where = gatehost.place(file.path, text, at)
        findings.append(gatehost.error("word-found", f"found `{word}`", where, "finish it, or take it out"))
        at = text.find(word, at + len(word))
    return gatehost.verdict(findings)


About, FileVerifier = gatehost.file_verifier(
    check,
    name="{{name}}",
    version="0.1.0",
    summary="No text contains a word that marks unfinished work.",
    files=["**/*.md", "**/*.txt"],
    rules=[gatehost.rule("word-found", "A text contains the word.")],
    settings={
        "word": {
            "description": "The word that no file may contain.",
            "type": "string",
            "minLength": 1,
            "default": "TODO",
        },
    },
)
