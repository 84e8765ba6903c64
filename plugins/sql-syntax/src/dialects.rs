//! Recognises dialects without a parser here, by words that no other dialect has.
//!
//! Only files that neither PostgreSQL nor SQLite accepts are searched. A word in a string, a quoted name or a comment does
//! not count, so that a broken file is not excused for what it mentions.

/// Dialects, and the words that tell each: `'` stands for a string, `` ` `` for a name in backticks, `#` for a number.
const DIALECTS: &[(&str, &[&str])] = &[
    (
        "ClickHouse",
        &["engine = mergetree", "engine = replicatedmergetree", "engine = replacingmergetree", "lowcardinality ("],
    ),
    (
        "MySQL or MariaDB",
        &[
            "auto_increment",
            "engine = innodb",
            "engine = myisam",
            "engine = memory",
            "engine = aria",
            "engine innodb",
            "; delimiter",
            "default charset",
            "default character set",
            "charset = utf8",
            "charset = utf8mb4",
            "collate = utf8mb4_general_ci",
            "collate = utf8mb4_unicode_ci",
            "on duplicate key update",
            "insert ignore",
            "replace into `",
            "lock tables `",
            "alter table `",
            "create table `",
            "drop table if exists `",
            "insert into `",
            "create database if not exists `",
            "modify column",
            "change column",
            "flush privileges",
            "identified by '",
            "int unsigned",
            "bigint unsigned",
            ") unsigned",
            "; unlock tables",
            "unique key `",
            "@ @ global .",
            "set foreign_key_checks",
        ],
    ),
    (
        "Transact-SQL",
        &[
            "nvarchar (",
            "identity ( # , # )",
            "set nocount on",
            "set quoted_identifier",
            "set ansi_nulls",
            "[ dbo ] .",
            "declare @",
            "exec sp_executesql",
            "uniqueidentifier",
            "begin tran",
            "raiserror (",
        ],
    ),
    (
        "Oracle",
        &[
            "varchar2 (",
            "nvarchar2 (",
            "number ( #",
            "create or replace package",
            "execute immediate",
            "from dual",
            "sysdate",
        ],
    ),
    (
        "BigQuery or Spark",
        &["create or replace table `", "struct <", "array <", "partitioned by (", "using delta", "from `"],
    ),
];

/// The dialect that a text is unmistakably written in; `None` where there is no telling.
pub(crate) fn recognised(text: &str) -> Option<&'static str> {
    let words = words(text);
    if words.has_executable_comment {
        return Some("MySQL or MariaDB");
    }
    let is_there = |wanted: &&&str| words.text.contains(&format!(" {wanted} "));
    DIALECTS.iter().find(|(_, marks)| marks.iter().any(|mark| is_there(&mark))).map(|(name, _)| *name)
}

struct Words {
    /// Words and marks in lower case with a space around each.
    text: String,
    /// `/*!40101 … */`, which MySQL runs.
    has_executable_comment: bool,
}

fn words(text: &str) -> Words {
    let mut words = Words { text: String::from(" ; "), has_executable_comment: false };
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &text[at..];
        let length = match byte {
            b'-' if rest.starts_with("--") => line(rest),
            b'#' if text[..at].trim_end_matches([' ', '\t']).ends_with('\n') || at == 0 => line(rest),
            b'/' if rest.starts_with("/*") => {
                words.has_executable_comment |=
                    rest[2..].starts_with('!') && rest[3..].starts_with(|c: char| c.is_ascii_digit());
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            }
            b'\'' | b'"' | b'`' => {
                words.text.push(char::from(byte));
                words.text.push(' ');
                quoted(rest)
            }
            b'0'..=b'9' => {
                words.text.push_str("# ");
                rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
            }
            _ if byte.is_ascii_alphabetic() || byte == b'_' => {
                let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                words.text.push_str(&rest[..length].to_ascii_lowercase());
                words.text.push(' ');
                length
            }
            _ if byte.is_ascii_whitespace() => 1,
            _ => {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                words.text.push_str(&rest[..length]);
                words.text.push(' ');
                length
            }
        };
        at += length;
    }
    words
}

fn line(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

/// How long a string is that starts here. A backslash may escape its quote.
fn quoted(rest: &str) -> usize {
    let quote = rest.as_bytes()[0];
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quote != b'`' => escaped = true,
            _ if byte == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_has_words_of_its_own() {
        for (text, expected) in [
            ("create table `a` (b int) engine=InnoDB DEFAULT CHARSET=utf8;", Some("MySQL or MariaDB")),
            ("create table a (b int auto_increment primary key);", Some("MySQL or MariaDB")),
            ("DELIMITER //\ncreate procedure p() begin end//\n", Some("MySQL or MariaDB")),
            ("/*!40101 SET NAMES utf8 */;", Some("MySQL or MariaDB")),
            ("# it's\ninsert into `a` values ('it\\'s');", Some("MySQL or MariaDB")),
            ("CREATE TABLE a (b UInt8) ENGINE = MergeTree ORDER BY b", Some("ClickHouse")),
            ("create table [dbo].[a] ([b] nvarchar(10))", Some("Transact-SQL")),
            ("create table a (b varchar2(10))", Some("Oracle")),
            ("selec 1", None),
            ("selec 'engine = innodb auto_increment' -- auto_increment\n/* auto_increment */", None),
            ("selec \"auto_increment\"", None),
            ("create table auto_increments (a int) wrong", None),
        ] {
            assert_eq!(recognised(text), expected, "{text}");
        }
    }
}
