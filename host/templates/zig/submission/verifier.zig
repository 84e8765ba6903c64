//! {{name}}: the claim mentions every file that changed.

const std = @import("std");
const gatehost = @import("gatehost.zig");
const c = gatehost.c;

const Settings = struct { ignore: ?[]const u8 = null };

export fn exports_gatehost_verifier_about_describe(answer: *c.exports_gatehost_verifier_about_description_t) void {
    gatehost.describe(answer, .{
        .name = "{{name}}",
        .version = "0.1.0",
        .summary = "The claim mentions every file that changed.",
        .rules = &.{
            .{ .code = "no-claim", .summary = "There is no claim." },
            .{ .code = "not-mentioned", .summary = "The claim does not mention a changed file." },
        },
        .settings_schema =
        \\{
        \\  "type": "object",
        \\  "properties": {
        \\    "ignore": {
        \\      "description": "Paths that start with this need no mention.",
        \\      "type": "string",
        \\      "minLength": 1
        \\    }
        \\  },
        \\  "additionalProperties": false
        \\}
        ,
    });
}

export fn exports_gatehost_verifier_submission_verifier_check(
    submission: *c.gatehost_verifier_submission_submission_t,
    settings: *c.verifier_string_t,
    answer: *gatehost.Verdict,
) void {
    answer.* = check(submission, gatehost.settings(Settings, settings));
}

fn check(submission: *c.gatehost_verifier_submission_submission_t, settings: Settings) gatehost.Verdict {
    if (submission.changes.len == 0) return gatehost.notApplicable("no file changed");
    if (!submission.claim.is_some) {
        return gatehost.verdict(&.{gatehost.failure("no-claim", "there is no claim", "say what was done")});
    }
    const claim = gatehost.slice(submission.claim.val.text);
    var findings: std.ArrayList(gatehost.Finding) = .empty;
    for (submission.changes.ptr[0..submission.changes.len]) |change| {
        const path = gatehost.slice(change.path);
        if (settings.ignore) |start| if (std.mem.startsWith(u8, path, start)) continue;
        if (std.mem.indexOf(u8, claim, path) != null) continue;
        const message = gatehost.format("the claim does not mention `{s}`", .{path});
        const missing = gatehost.failure("not-mentioned", message, "say what was done to it, or take the change back");
        findings.append(gatehost.allocator, gatehost.atFile(missing, path)) catch @panic("out of memory");
    }
    return gatehost.verdict(findings.items);
}
