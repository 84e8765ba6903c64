//! {{name}}: no text contains a word that marks unfinished work.

const std = @import("std");
const gatehost = @import("gatehost.zig");
const c = gatehost.c;

const Settings = struct { word: []const u8 = "TODO" };

export fn exports_gatehost_verifier_about_describe(answer: *c.exports_gatehost_verifier_about_description_t) void {
    gatehost.describe(answer, .{
        .name = "{{name}}",
        .version = "0.1.0",
        .summary = "No text contains a word that marks unfinished work.",
        .files = &.{ "**/*.md", "**/*.txt" },
        .rules = &.{.{ .code = "word-found", .summary = "A text contains the word." }},
        .settings_schema =
        \\{
        \\  "type": "object",
        \\  "properties": {
        \\    "word": {
        \\      "description": "The word that no file may contain.",
        \\      "type": "string",
        \\      "minLength": 1,
        \\      "default": "TODO"
        \\    }
        \\  },
        \\  "additionalProperties": false
        \\}
        ,
    });
}

export fn exports_gatehost_verifier_file_verifier_check(
    file: *c.exports_gatehost_verifier_file_verifier_file_t,
    settings: *c.verifier_string_t,
    answer: *gatehost.Verdict,
) void {
    answer.* = if (file.content.tag == c.EXPORTS_GATEHOST_VERIFIER_FILE_VERIFIER_CONTENT_TEXT)
        check(gatehost.slice(file.path), gatehost.slice(file.content.val.text), gatehost.settings(Settings, settings))
    else
        gatehost.abstain("the file is not UTF-8 text");
}

fn check(path: []const u8, text: []const u8, settings: Settings) gatehost.Verdict {
    var findings: std.ArrayList(gatehost.Finding) = .empty;
    const message = gatehost.format("found `{s}`", .{settings.word});
    var from: usize = 0;
    while (std.mem.indexOfPos(u8, text, from, settings.word)) |at| : (from = at + settings.word.len) {
        const found = gatehost.failure("word-found", message, "finish it, or take it out");
        findings.append(gatehost.allocator, gatehost.atOffset(found, path, text, at)) catch @panic("out of memory");
    }
    return gatehost.verdict(findings.items);
}
