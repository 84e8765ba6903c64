use super::*;
use gatehost_sdk::Status;

fn verdict_of(text: &str, dialect: Dialect) -> Verdict {
    let verdict = SqlSyntax::check(&File::new("a.sql", text), Settings { dialect, ..Settings::default() });
    assert!(SqlSyntax::ABOUT.undeclared(&verdict).is_empty());
    verdict
}

fn places(text: &str, dialect: Dialect) -> Vec<(String, u32, u32)> {
    let findings = verdict_of(text, dialect).findings.into_iter();
    findings.map(|finding| finding.spot().expect("every finding has its place")).collect()
}

#[test]
fn each_dialect_takes_its_own() {
    let postgresql = "select distinct on (a) a::text from t where b @> '{1}';\ncreate function f() returns int language sql as $$ select 1; $$;";
    let sqlite = "create trigger t after insert on a begin select 1; select 2; end; insert or ignore into a values (1); pragma foreign_keys = on;";
    for (text, is_postgresql, is_sqlite) in [
        ("", Status::Pass, Status::Pass),
        ("-- nothing\n", Status::Pass, Status::Pass),
        ("select 1; select 'ö'", Status::Pass, Status::Pass),
        (postgresql, Status::Pass, Status::Fail),
        (sqlite, Status::Fail, Status::Pass),
    ] {
        assert_eq!(verdict_of(text, Dialect::Postgresql).status, is_postgresql, "{text}");
        assert_eq!(verdict_of(text, Dialect::Sqlite).status, is_sqlite, "{text}");
        assert_eq!(verdict_of(text, Dialect::Auto).status, Status::Pass, "{text}");
    }
}

#[test]
fn every_error_has_its_place() {
    for (text, dialect, expected) in [
        ("select 1;\nselect from where;\nselec 2;", Dialect::Postgresql, &[("syntax", 2, 13), ("syntax", 3, 1)][..]),
        ("insert into t values (1", Dialect::Postgresql, &[("unbalanced-bracket", 1, 22)]),
        ("update t set", Dialect::Postgresql, &[("syntax", 1, 13)]),
        ("select 'ö' 'b' from;", Dialect::Postgresql, &[("syntax", 1, 12)]),
        ("select 1;\nselec 2;", Dialect::Sqlite, &[("syntax", 2, 1)]),
        ("select 'a", Dialect::Sqlite, &[("unclosed-string", 1, 8)]),
        ("update t set", Dialect::Sqlite, &[("unexpected-end", 1, 13)]),
        ("select (1;\nselect 2", Dialect::Auto, &[("unbalanced-bracket", 1, 8)]),
        ("select a..b", Dialect::Postgresql, &[("syntax", 1, 9)]),
        ("select `a`", Dialect::Postgresql, &[("syntax", 1, 8)]),
        ("select 1 /* a", Dialect::Postgresql, &[("unclosed-comment", 1, 10)]),
        ("select 1;\n/* a\nselect 2;", Dialect::Auto, &[("unclosed-comment", 2, 1)]),
        ("select 1;\n/* a\nselect 2;", Dialect::Sqlite, &[]),
        ("select 1; /* a /* b */ pragma c;", Dialect::Auto, &[]),
        ("select 1 union;", Dialect::Sqlite, &[("syntax", 1, 10)]),
        ("select 1 except", Dialect::Sqlite, &[("syntax", 1, 10)]),
        ("select 1 union union all select 2;", Dialect::Sqlite, &[("syntax", 1, 10)]),
        ("select 1 union all select 2 intersect values (3);", Dialect::Sqlite, &[]),
        ("select \"union\", [except], `intersect` from a; select 1 /* union */;", Dialect::Sqlite, &[]),
    ] {
        let expected: Vec<_> = expected.iter().map(|&(code, line, column)| (code.to_owned(), line, column)).collect();
        assert_eq!(places(text, dialect), expected, "{text}");
    }
}

#[test]
fn an_error_among_many_statements_is_found() {
    let text = "select 1;\n".repeat(1_000) + "selec 2;\n" + &"select 3;\n".repeat(1_000);
    assert_eq!(places(&text, Dialect::Postgresql), [("syntax".to_owned(), 1_001, 1)]);
    assert_eq!(places("select 1; -- a\nselect 2 -- b\n;", Dialect::Postgresql), []);
    // Two halves do not make a whole.
    assert_eq!(places("select (1; select 2)", Dialect::Postgresql)[0].0, "syntax");
    assert_eq!(places("create table a; (b int)", Dialect::Postgresql).len(), 2);
}

#[test]
fn what_may_be_of_another_dialect_is_not_judged() {
    for (text, dialect) in [
        ("select 'it\\'s (fine';", Dialect::Auto),
        ("selec 1", Dialect::Auto),
        ("select 1 union;", Dialect::Auto),
        ("\\this is not SQL at all (((", Dialect::Auto),
        ("\\this is not SQL at all (((", Dialect::Postgresql),
        ("select :name from t where a = :'b';", Dialect::Postgresql),
        ("select U&'\\0061'", Dialect::Postgresql),
        ("select 0b11", Dialect::Postgresql),
        ("select 'a'ö", Dialect::Postgresql),
    ] {
        assert_eq!(verdict_of(text, dialect).status, Status::Abstain, "{text}");
    }
}

#[test]
fn what_is_too_deep_or_too_long_is_not_judged() {
    let deep = format!("select {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    let long = format!("select {}1", "1,".repeat(100_000));
    for dialect in [Dialect::Postgresql, Dialect::Sqlite, Dialect::Auto] {
        assert_eq!(verdict_of(&deep, dialect).status, Status::Abstain);
    }
    assert_eq!(verdict_of(&long, Dialect::Postgresql).status, Status::Abstain);
    assert_eq!(verdict_of(&long, Dialect::Auto).status, Status::Pass);
}

#[test]
fn a_template_and_another_dialect_are_not_applicable() {
    let mysql = "create table `a` (b int) engine=innodb default charset=utf8;";
    for (text, dialect, expected) in [
        (mysql, Dialect::Auto, Status::NotApplicable),
        (mysql, Dialect::Postgresql, Status::Fail),
        ("insert into `a` values ('it\\'s (fine');", Dialect::Auto, Status::NotApplicable),
        ("select * from {{ ref('a') }}", Dialect::Postgresql, Status::NotApplicable),
        ("select * from {{ ref('a') }}", Dialect::Sqlite, Status::NotApplicable),
        ("{{ config(a='b') }}\nselect 1\n", Dialect::Auto, Status::NotApplicable),
        ("select a\n{% if b %}, c{% endif %}\nfrom d", Dialect::Auto, Status::NotApplicable),
        ("select '{{ a }}'", Dialect::Postgresql, Status::Pass),
        ("selec '{{ a }}'", Dialect::Postgresql, Status::Fail),
        ("select '{{ a('b') }}' from c", Dialect::Postgresql, Status::NotApplicable),
    ] {
        assert_eq!(verdict_of(text, dialect).status, expected, "{text}");
        let strict =
            SqlSyntax::check(&File::new("a.sql", text), Settings { dialect, strict: true, ..Settings::default() });
        assert_eq!(strict.status == Status::Pass, expected == Status::Pass, "{text}");
        assert_ne!(strict.status, Status::NotApplicable, "{text}");
    }
}

/// As SQLite and PostgreSQL say.
#[test]
fn the_references_agree() {
    for (text, dialect, expected) in [
        ("create table a (b int references t(id) not null unique)", Dialect::Sqlite, None),
        (
            "create table a (b int(10) references t not null default 1, c int references t(id) not null)",
            Dialect::Sqlite,
            None,
        ),
        ("create table a (b int references t on delete set null not null)", Dialect::Sqlite, None),
        ("create table a (b int references t(id) not deferrable not null)", Dialect::Sqlite, None),
        ("create table a (b int references t(id), c not nul)", Dialect::Sqlite, Some(("syntax", 1, 47))),
        ("create table a (b int, foreign key (b) references t(id) not null)", Dialect::Sqlite, Some(("syntax", 1, 61))),
        ("select coalesce(a, b, )", Dialect::Sqlite, Some(("syntax", 1, 23))),
        ("select 1 where 1 in (1,)", Dialect::Sqlite, Some(("syntax", 1, 24))),
        ("create virtual table a using fts5(x,)", Dialect::Sqlite, None),
        ("select ',)' /* ,) */", Dialect::Sqlite, None),
        // The parser's own database has arrays, types and sequences. SQLite has `[…]` for names.
        ("select array[1, 2], a[1] from [b\"c]", Dialect::Sqlite, None),
        ("select ö, [ä] as [b]\n, c -- [\nfrom ü", Dialect::Sqlite, None),
        ("select a[1][1] from b", Dialect::Sqlite, Some(("syntax", 1, 12))),
        ("select [a", Dialect::Sqlite, Some(("unexpected-end", 1, 10))),
        ("create index a on b (c) with (d = 1)", Dialect::Sqlite, Some(("syntax", 1, 25))),
        ("select f(array[1, 2])", Dialect::Sqlite, Some(("syntax", 1, 15))),
        ("select 1 where a && b", Dialect::Sqlite, Some(("syntax", 1, 18))),
        ("select 1 where a @> b", Dialect::Sqlite, Some(("syntax", 1, 18))),
        ("create domain a as int", Dialect::Sqlite, Some(("syntax", 1, 8))),
        ("create type a as enum ('b')", Dialect::Sqlite, Some(("syntax", 1, 8))),
        ("create materialized view a as select 1", Dialect::Sqlite, Some(("syntax", 1, 8))),
        ("select 1; drop sequence a", Dialect::Sqlite, Some(("syntax", 1, 16))),
        ("create index a on b using btree (c)", Dialect::Sqlite, Some(("syntax", 1, 21))),
        ("insert into a values (1, default)", Dialect::Sqlite, Some(("syntax", 1, 26))),
        ("update a set b = default", Dialect::Sqlite, Some(("syntax", 1, 18))),
        ("insert into a default values", Dialect::Sqlite, None),
        ("pragma temp_store = default", Dialect::Sqlite, None),
        ("select f(a) within group (order by b) from c", Dialect::Sqlite, Some(("syntax", 1, 20))),
        ("select a within from b", Dialect::Sqlite, None),
        ("select a within group by b", Dialect::Sqlite, None),
        ("begin concurrent", Dialect::Sqlite, Some(("syntax", 1, 7))),
        ("select :1, #a, $b::c(d)", Dialect::Sqlite, None),
        ("select 1_000", Dialect::Sqlite, None),
        // SQLite refuses these whatever the tables are.
        ("select 12ab", Dialect::Sqlite, Some(("syntax", 1, 8))),
        ("create function a", Dialect::Sqlite, Some(("syntax", 1, 8))),
        ("create table a (b) int", Dialect::Sqlite, Some(("syntax", 1, 23))),
        ("values (1), (1, 2)", Dialect::Sqlite, Some(("syntax", 1, 18))),
        // Since SQLite 3.53.
        (
            "alter table a add constraint b check (c > 1) on conflict fail; selec 1",
            Dialect::Sqlite,
            Some(("syntax", 1, 64)),
        ),
        ("alter table main.a add check (c > 1); alter table a drop constraint b", Dialect::Sqlite, None),
        ("alter table a alter column b set not null; alter table a alter b drop not null", Dialect::Sqlite, None),
        ("alter table a add constraint b check (c >)", Dialect::Sqlite, Some(("syntax", 1, 19))),
        ("alter table a add constraint b check (c), d", Dialect::Sqlite, Some(("syntax", 1, 19))),
        ("alter table a add foreign key (b) references c", Dialect::Sqlite, Some(("syntax", 1, 19))),
        // A cast with one colon is no variable of psql.
        ("select (-1):int4", Dialect::Postgresql, Some(("syntax", 1, 12))),
        ("select '1':int4", Dialect::Postgresql, Some(("syntax", 1, 11))),
        ("insert a values ('{{1}}')", Dialect::Postgresql, Some(("syntax", 1, 8))),
        (" '$.a ? (@ > 1)'::jsonpath", Dialect::Postgresql, Some(("syntax", 1, 2))),
        ("select $2147483647", Dialect::Postgresql, None),
        ("select $2147483648", Dialect::Postgresql, Some(("syntax", 1, 8))),
        ("select $99999999999999999999", Dialect::Postgresql, Some(("syntax", 1, 8))),
        ("create function f() returns int begin atomic select 1;", Dialect::Postgresql, Some(("unexpected-end", 1, 1))),
        ("create function f() returns int begin atomic select 1; end;", Dialect::Postgresql, None),
        ("select 1; create role a nonsense", Dialect::Postgresql, Some(("syntax", 1, 25))),
        ("create table a (b int) partition by magic (b)", Dialect::Postgresql, Some(("syntax", 1, 37))),
    ] {
        let expected = expected.map(|(code, line, column)| (code.to_owned(), line, column));
        assert_eq!(places(text, dialect).into_iter().next(), expected, "{text}");
    }
    for text in ["select coalesce(a, b, )", "select 1 where 1 in (1,)"] {
        assert_ne!(verdict_of(text, Dialect::Auto).status, Status::Pass, "{text}");
    }
    let old = |text: &str| {
        let settings = Settings { dialect: Dialect::Postgresql, version: Version::Seventeen, strict: false };
        SqlSyntax::check(&File::new("a.sql", text), settings).status
    };
    for text in [
        "create table a (b int generated always as (c * 2) virtual)",
        "create table a (b int generated always as (c * 2))",
        "alter table a add check (b > 0) not enforced",
        "create table a (b int, c int4range, primary key (b, c without overlaps))",
        "alter table a add constraint b not null c not valid",
        "insert into a values (1) returning with (old as o) o.b",
        "select 1; vacuum only a; select 2",
    ] {
        assert_eq!(places(text, Dialect::Postgresql), [], "{text}");
        assert_eq!(old(text), Status::Fail, "{text}");
    }
    let wrong = "create table a (b int generated always as (c *) virtual)";
    assert_eq!(places(wrong, Dialect::Postgresql), [("syntax".to_owned(), 1, 47)]);
}
