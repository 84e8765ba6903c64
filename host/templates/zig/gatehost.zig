//! Helpers for Gatehost verifiers in Zig: settings, places, findings. `c` has the types of `bindings/verifier.h`.

const std = @import("std");
pub const c = @import("c");

/// An instance lives for one call, so nothing needs to be freed.
pub const allocator = std.heap.c_allocator;

pub fn slice(text: c.verifier_string_t) []const u8 {
    return if (text.len == 0) "" else text.ptr[0..text.len];
}

/// A copy that the answer can keep. An empty slice points anywhere, which the host would not believe.
fn keep(comptime T: type, items: []const T) [*c]T {
    if (items.len == 0) return null;
    return (allocator.dupe(T, items) catch @panic("out of memory")).ptr;
}

/// A text that the answer can keep.
pub fn copy(text: []const u8) c.verifier_string_t {
    return .{ .ptr = keep(u8, text), .len = text.len };
}

pub fn format(comptime template: []const u8, values: anytype) []const u8 {
    return std.fmt.allocPrint(allocator, template, values) catch @panic("out of memory");
}

/// The settings, read into a struct whose fields have defaults. The host has checked them against the schema.
pub fn settings(comptime Settings: type, json: *const c.verifier_string_t) Settings {
    return std.json.parseFromSliceLeaky(Settings, allocator, slice(json.*), .{}) catch @panic("bad settings");
}

pub const Level = enum(u8) {
    failure = c.GATEHOST_VERIFIER_TYPES_LEVEL_ERROR,
    warning = c.GATEHOST_VERIFIER_TYPES_LEVEL_WARNING,
    note = c.GATEHOST_VERIFIER_TYPES_LEVEL_NOTE,
};

/// A kind of finding that the verifier can report. The code `*` stands for all that come from the settings.
pub const Rule = struct {
    code: []const u8,
    level: Level = .failure,
    summary: []const u8,
    help: []const u8 = "",
};

pub const About = struct {
    name: []const u8,
    version: []const u8,
    summary: []const u8,
    files: []const []const u8 = &.{},
    settings_schema: []const u8 = "",
    /// Every kind of finding that it can report.
    rules: []const Rule,
};

/// How the verifier describes itself.
pub fn describe(answer: *c.exports_gatehost_verifier_about_description_t, about: About) void {
    const files = allocator.alloc(c.verifier_string_t, about.files.len) catch @panic("out of memory");
    for (files, about.files) |*file, glob| file.* = copy(glob);
    const rules = allocator.alloc(c.exports_gatehost_verifier_about_rule_t, about.rules.len) catch @panic("out of memory");
    for (rules, about.rules) |*into, rule| {
        into.* = std.mem.zeroes(c.exports_gatehost_verifier_about_rule_t);
        into.code = copy(rule.code);
        into.level = @intFromEnum(rule.level);
        into.summary = copy(rule.summary);
        into.help = copy(rule.help);
    }
    answer.* = std.mem.zeroes(c.exports_gatehost_verifier_about_description_t);
    answer.name = copy(about.name);
    answer.version = copy(about.version);
    answer.summary = copy(about.summary);
    answer.files = .{ .ptr = keep(c.verifier_string_t, files), .len = files.len };
    answer.settings_schema = copy(about.settings_schema);
    answer.rules = .{ .ptr = keep(c.exports_gatehost_verifier_about_rule_t, rules), .len = rules.len };
}

pub const Finding = c.gatehost_verifier_types_finding_t;

/// Something that must not pass. `level` and `category` are fields to set.
pub fn failure(code: []const u8, message: []const u8, hint: []const u8) Finding {
    var finding = std.mem.zeroes(Finding);
    finding.code = copy(code);
    finding.level = c.GATEHOST_VERIFIER_TYPES_LEVEL_ERROR;
    finding.message = copy(message);
    finding.hint = .{ .is_some = true, .val = copy(hint) };
    return finding;
}

/// The finding, at a whole file.
pub fn atFile(finding: Finding, path: []const u8) Finding {
    var placed = finding;
    placed.place.is_some = true;
    placed.place.val.path = copy(path);
    return placed;
}

/// The finding, at the byte at `offset`. Lines and columns count from 1; a column counts characters.
pub fn atOffset(finding: Finding, path: []const u8, text: []const u8, offset: usize) Finding {
    const at = Position.of(text, offset);
    var placed = atFile(finding, path);
    placed.place.val.line = .{ .is_some = true, .val = at.line };
    placed.place.val.column = .{ .is_some = true, .val = at.column };
    return placed;
}

const Position = struct {
    line: u32,
    column: u32,

    fn of(text: []const u8, offset: usize) Position {
        const before = text[0..offset];
        const line_start = if (std.mem.lastIndexOfScalar(u8, before, '\n')) |newline| newline + 1 else 0;
        const column = std.unicode.utf8CountCodepoints(before[line_start..]) catch 0;
        return .{ .line = @intCast(std.mem.count(u8, before, "\n") + 1), .column = @intCast(column + 1) };
    }
};

/// The finding, with what identifies it besides its code and its file, such as the name of a test.
pub fn withKey(finding: Finding, key: []const u8) Finding {
    var keyed = finding;
    keyed.key = .{ .is_some = true, .val = copy(key) };
    return keyed;
}

/// The finding, which has a place, with a repair: the bytes from `start` to `end` of the text are replaced.
pub fn withFix(finding: Finding, description: []const u8, text: []const u8, start: usize, end: usize, replacement: []const u8) Finding {
    const first = Position.of(text, start);
    const last = Position.of(text, end);
    const edit = c.gatehost_verifier_types_edit_t{
        .start_line = first.line,
        .start_column = first.column,
        .end_line = last.line,
        .end_column = last.column,
        .replacement = copy(replacement),
    };
    var fixed = finding;
    fixed.fix.is_some = true;
    fixed.fix.val.description = copy(description);
    fixed.fix.val.edits = .{ .ptr = keep(c.gatehost_verifier_types_edit_t, &.{edit}), .len = 1 };
    return fixed;
}

pub const Verdict = c.gatehost_verifier_types_verdict_t;

/// The verdict that rests on these findings: a failure if there is one.
pub fn verdict(findings: []const Finding) Verdict {
    var answer = std.mem.zeroes(Verdict);
    answer.status = if (findings.len == 0) c.GATEHOST_VERIFIER_TYPES_STATUS_PASS else c.GATEHOST_VERIFIER_TYPES_STATUS_FAIL;
    answer.findings = .{ .ptr = keep(Finding, findings), .len = findings.len };
    return answer;
}

/// This verifier should judge and cannot.
pub fn abstain(why: []const u8) Verdict {
    var answer = verdict(&.{});
    answer.status = c.GATEHOST_VERIFIER_TYPES_STATUS_ABSTAIN;
    answer.summary = copy(why);
    return answer;
}

/// The input is none of this verifier's business.
pub fn notApplicable(why: []const u8) Verdict {
    var answer = abstain(why);
    answer.status = c.GATEHOST_VERIFIER_TYPES_STATUS_NOT_APPLICABLE;
    return answer;
}

pub const Metric = struct { name: []const u8, value: f64 };

/// The verdict, with numbers that were measured. `needs_person` is a field to set.
pub fn withMetrics(given: Verdict, metrics: []const Metric) Verdict {
    const all = allocator.alloc(c.gatehost_verifier_types_metric_t, metrics.len) catch @panic("out of memory");
    for (all, metrics) |*into, metric| into.* = .{ .name = copy(metric.name), .value = metric.value };
    var answer = given;
    answer.metrics = .{ .ptr = keep(c.gatehost_verifier_types_metric_t, all), .len = all.len };
    return answer;
}
