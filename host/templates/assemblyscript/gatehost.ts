// Helpers for Gatehost verifiers in AssemblyScript, which has no bindings for components: the contract's records are
// read and written where the canonical ABI puts them. Offsets are those of `wit/`, as `wit-bindgen` lays them out.

@external("gatehost:verifier/log@0.1.0", "write")
declare function write(severity: i32, text: usize, length: i32): void;

/** Write a line for whoever writes or operates the verifier: 0 debug, 1 info, 2 warn, 3 error. */
export function log(severity: i32, message: string): void {
  const bytes = String.UTF8.encode(message);
  write(severity, changetype<usize>(bytes), bytes.byteLength);
}

/** Memory for what the host hands over. An instance lives for one call, so nothing is ever freed. */
export function cabi_realloc(old: usize, oldSize: usize, align: usize, size: usize): usize {
  return old == 0 ? heap.alloc(size) : heap.realloc(old, size);
}

/** What `abort` and a failed assertion come to: no verdict. */
export function stop(message: string | null, file: string | null, line: u32, column: u32): void {
  unreachable();
}

export function text(at: usize, length: i32): string {
  return String.UTF8.decodeUnsafe(at, length);
}

export function textAt(at: usize): string {
  return text(load<usize>(at), load<i32>(at, 4));
}

function storeText(at: usize, value: string): void {
  const bytes = String.UTF8.encode(value);
  store<usize>(at, changetype<usize>(bytes));
  store<i32>(at, bytes.byteLength, 4);
}

function storeOption(at: usize, value: string | null): void {
  if (value === null) return;
  store<u8>(at, 1);
  storeText(at + 4, value);
}

/** Zeroed memory for an answer. */
function answer(size: usize): usize {
  const at = heap.alloc(size);
  memory.fill(at, 0, size);
  return at;
}

/** What the verifier says of itself. */
export function about(name: string, version: string, summary: string, files: string[], settingsSchema: string): usize {
  const at = answer(40);
  storeText(at, name);
  storeText(at + 8, version);
  storeText(at + 16, summary);
  const globs = answer(8 * max(files.length, 1));
  for (let i = 0; i < files.length; i++) storeText(globs + 8 * i, files[i]);
  store<usize>(at, globs, 24);
  store<i32>(at, files.length, 28);
  storeText(at + 32, settingsSchema);
  return at;
}

/** One thing that must not pass. Lines and columns count from 1; 0 is none. */
export class Finding {
  path: string | null = null;
  line: u32 = 0;
  column: u32 = 0;

  constructor(public code: string, public message: string, public hint: string) {}

  /** At a whole file. */
  atFile(path: string): Finding {
    this.path = path;
    return this;
  }

  /** At the code unit at `offset` of the file's text. A column counts characters. */
  atOffset(path: string, text: string, offset: i32): Finding {
    this.path = path;
    this.line = 1;
    this.column = 1;
    for (let i = 0; i < offset; i++) {
      const unit = text.charCodeAt(i);
      if (unit == 10) {
        this.line++;
        this.column = 1;
      } else if ((unit & 0xfc00) != 0xdc00) {
        // The second half of a pair is no character of its own.
        this.column++;
      }
    }
    return this;
  }

  store(at: usize): void {
    storeText(at, this.code);
    store<u8>(at, 0, 8);
    storeText(at + 12, this.message);
    const path = this.path;
    if (path !== null) {
      store<u8>(at, 1, 20);
      storeText(at + 24, path);
      if (this.line > 0) {
        store<u8>(at, 1, 32);
        store<u32>(at, this.line, 36);
        store<u8>(at, 1, 40);
        store<u32>(at, this.column, 44);
      }
    }
    storeOption(at + 64, this.hint);
  }
}

const FINDING: usize = 76;

function verdictOf(status: u8, summary: string, findings: Finding[]): usize {
  const at = answer(56);
  store<u8>(at, status);
  storeText(at + 24, summary);
  const list = answer(FINDING * max(findings.length, 1));
  for (let i = 0; i < findings.length; i++) findings[i].store(list + FINDING * i);
  store<usize>(at, list, 32);
  store<i32>(at, findings.length, 36);
  return at;
}

/** The verdict that rests on these findings: a failure if there is one. */
export function verdict(findings: Finding[]): usize {
  return verdictOf(findings.length > 0 ? 0 : 1, "", findings);
}

/** This verifier cannot judge. */
export function abstain(why: string): usize {
  return verdictOf(2, why, []);
}

/** The parts of a submission that the sample needs; `wit/submission.wit` has the others. */
export class Submission {
  constructor(private at: usize) {}

  get claim(): string | null {
    return load<u8>(this.at, 120) ? textAt(this.at + 124) : null;
  }

  /** The paths of the changed files. */
  get changed(): string[] {
    const list = load<usize>(this.at, 152);
    const paths: string[] = [];
    for (let i = 0; i < load<i32>(this.at, 156); i++) paths.push(textAt(list + 56 * i));
    return paths;
  }

  /** The settings come right behind the submission. */
  get settings(): string {
    return textAt(this.at + 256);
  }
}

/** A setting that is a string, if it is said. The settings are a JSON object that fits the schema. */
export function setting(settings: string, name: string): string | null {
  const reader = new Reader(settings);
  let depth = 0;
  let isKey = false;
  while (reader.at < settings.length) {
    const unit = settings.charCodeAt(reader.at);
    if (unit == 0x22) {
      const found = reader.string();
      if (isKey && depth == 1 && found == name) {
        reader.at = settings.indexOf('"', reader.at);
        return reader.at < 0 ? null : reader.string();
      }
      isKey = false;
      continue;
    }
    if (unit == 0x7b || unit == 0x5b) depth++;
    if (unit == 0x7d || unit == 0x5d) depth--;
    if (unit == 0x7b || unit == 0x2c) isKey = true;
    reader.at++;
  }
  return null;
}

class Reader {
  at: i32 = 0;

  constructor(private json: string) {}

  /** The string whose opening quotation mark is here. */
  string(): string {
    let value = "";
    this.at++;
    while (this.json.charCodeAt(this.at) != 0x22) {
      const unit = this.json.charAt(this.at++);
      value += unit == "\\" ? this.escaped() : unit;
    }
    this.at++;
    return value;
  }

  private escaped(): string {
    const kind = this.json.charAt(this.at++);
    if (kind == "u") {
      const unit = I32.parseInt(this.json.substr(this.at, 4), 16);
      this.at += 4;
      return String.fromCharCode(unit);
    }
    const known = "bfnrt".indexOf(kind);
    return known < 0 ? kind : "\b\f\n\r\t".charAt(known);
  }
}
