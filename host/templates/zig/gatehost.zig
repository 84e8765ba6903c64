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

pub const About = struct {
    name: []const u8,
    version: []const u8,
    summary: []const u8,
    files: []const []const u8 = &.{},
    settings_schema: []const u8 = "",
};

/// What the verifier says of itself.
pub fn describe(answer: *c.exports_gatehost_verifier_about_description_t, about: About) void {
    const files = allocator.alloc(c.verifier_string_t, about.files.len) catch @panic("out of memory");
    for (files, about.files) |*file, glob| file.* = copy(glob);
    answer.* = .{
        .name = copy(about.name),
        .version = copy(about.version),
        .summary = copy(about.summary),
        .files = .{ .ptr = keep(c.verifier_string_t, files), .len = files.len },
        .settings_schema = copy(about.settings_schema),
    };
}

pub const Finding = c.gatehost_verifier_types_finding_t;

/// Something that must not pass.
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
    const before = text[0..offset];
    const line_start = if (std.mem.lastIndexOfScalar(u8, before, '\n')) |newline| newline + 1 else 0;
    const column = std.unicode.utf8CountCodepoints(before[line_start..]) catch 0;
    var placed = atFile(finding, path);
    placed.place.val.line = .{ .is_some = true, .val = @intCast(std.mem.count(u8, before, "\n") + 1) };
    placed.place.val.column = .{ .is_some = true, .val = @intCast(column + 1) };
    return placed;
}

pub const Verdict = c.gatehost_verifier_types_verdict_t;

/// The verdict that rests on these findings: a failure if there is one.
pub fn verdict(findings: []const Finding) Verdict {
    var answer = std.mem.zeroes(Verdict);
    answer.status = if (findings.len == 0) c.GATEHOST_VERIFIER_TYPES_STATUS_PASS else c.GATEHOST_VERIFIER_TYPES_STATUS_FAIL;
    answer.findings = .{ .ptr = keep(Finding, findings), .len = findings.len };
    return answer;
}

/// This verifier cannot judge.
pub fn abstain(why: []const u8) Verdict {
    var answer = verdict(&.{});
    answer.status = c.GATEHOST_VERIFIER_TYPES_STATUS_ABSTAIN;
    answer.summary = copy(why);
    return answer;
}
