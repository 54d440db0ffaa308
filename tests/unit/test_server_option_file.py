"""Option files: what a server would read of them."""

import pytest

from simrep.errors import ScenarioError
from simrep.intake.option_file import not_read, options_of, read_option_file, release_in
from simrep.models.mysql.recognition import MARIADB, MYSQL
from tests.server_files import GALERA_CNF, write


def options(path, *, branch=MARIADB, release=None):
    found = options_of(read_option_file(path), branch.groups, release)
    return {name: given.value for name, given in found.items()}


@pytest.fixture
def cnf(tmp_path):
    return write(tmp_path, "my.cnf", GALERA_CNF)


def test_options_of_the_server_and_of_nobody_else(cnf):
    found = options(cnf, release=(11, 8, 9))
    assert found["wsrep_slave_threads"] == "8"
    assert found["innodb_flush_log_at_trx_commit"] == "2"
    assert not found.keys() & {"port", "quick", "sync_binlog"}


def test_every_option_knows_its_line(cnf):
    found = options_of(read_option_file(cnf), MARIADB.groups, None)
    assert found["wsrep_slave_threads"].place == ("my.cnf", 21)
    assert found["innodb_buffer_pool_size"].spelling == "innodb-buffer-pool-size"


def test_dashes_prefixes_comments_and_quotes(cnf):
    found = options(cnf)
    assert found["innodb_buffer_pool_size"] == "4G"
    assert found["name_resolve"] == "OFF"
    assert found["query_cache_size"] == "0"
    assert found["wsrep_cluster_address"] == "gcomm://10.0.0.11,10.0.0.12,10.0.0.13"


def test_groups_of_a_release_are_read_by_that_release_alone(cnf):
    assert "sync_binlog" in options(cnf, release=(5, 7, 44))
    assert "sync_binlog" not in options(cnf, release=(5, 6, 51))
    assert "sync_binlog" in options(cnf, release=None)


def test_groups_of_mariadb_are_not_read_by_mysql(cnf):
    assert "wsrep_slave_threads" not in options(cnf, branch=MYSQL)


def test_the_release_that_the_groups_ask_for(tmp_path, cnf):
    lines = read_option_file(cnf)
    assert release_in(lines, MYSQL.own_groups) == ((5, 7), ("my.cnf", 15))
    assert release_in(lines, MARIADB.own_groups) is None
    maria = read_option_file(write(tmp_path, "one.cnf", "[mariadb-10.11]\na=1\n"))
    assert release_in(maria, MARIADB.own_groups) == ((10, 11), ("one.cnf", 2))
    both = read_option_file(write(tmp_path, "two.cnf", "[mysqld-8.0]\na=1\n[mysqld-8.4]\nb=1\n"))
    assert release_in(both, MYSQL.own_groups) is None


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("x = a # b", "a"),
        ("x = 'a # b'", "a # b"),
        ('x = "a # b" # c', "a # b"),
        ("x = a#b", "a"),
        ("x = a;b", "a;b"),
        (r"x = a\sb\tc\\d\q", "a b\tc\\d\\q"),
        (r'x = "say \"hi\" # loud"', 'say "hi" # loud'),
        ("x = it's", "it's"),
        ("  x   =   5  ", "5"),
        ("x", "ON"),
        ("x=", ""),
        ("skip-x", "OFF"),
        ("skip_x = 0", "ON"),
        ("disable-x", "OFF"),
        ("enable-x", "ON"),
        ("loose_x = 7", "7"),
        ("X = 7", "7"),
    ],
)
def test_a_line(tmp_path, line, value):
    file = write(tmp_path, "my.cnf", f"[mysqld]\n{line}\n")
    assert options(file) == {"x": value}


def test_a_later_line_wins_wherever_it_stands(tmp_path):
    (tmp_path / "conf.d").mkdir()
    write(tmp_path / "conf.d", "10-a.cnf", "[mysqld]\na=10\nb=10\n")
    write(tmp_path / "conf.d", "20-b.cnf", "[mysqld]\nb=20\n")
    write(tmp_path / "conf.d", "30-c.conf", "[mysqld]\nb=30\n")
    write(tmp_path, "more.inc", "[server]\nc=40\n")
    first = "[mysqld]\na=1\nb=1\nc=1\n!includedir conf.d\n!include more.inc\n"
    file = write(tmp_path, "my.cnf", first + "[mysqld]\na=2\n[mysqld]\nd=1\nd=2\n")
    assert options(file) == {"b": "20", "c": "40", "a": "2", "d": "2"}


def test_what_is_included_and_not_here_is_a_note(tmp_path):
    text = "!includedir /etc/nowhere/conf.d/\n[mysqld]\na=1\n!include other.cnf\nb=2\n"
    lines = read_option_file(write(tmp_path, "my.cnf", text))
    assert options_of(lines, MARIADB.groups, None).keys() == {"a", "b"}
    assert [(entry.spelling, entry.value, entry.place.line) for entry in not_read(lines)] == [
        ("!includedir", "/etc/nowhere/conf.d/", 1),
        ("!include", "other.cnf", 4),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\n", r"my.cnf:1: an option before any \[group\]"),
        ("[mysqld]\n= 1\n", "my.cnf:2: is not an option"),
        ("[mysqld]\n!inklude x\n", "my.cnf:2: '!inklude x' is neither"),
        ("!include my.cnf\n", "include each other"),
    ],
)
def test_what_is_no_option_file_is_refused(tmp_path, text, message):
    with pytest.raises(ScenarioError, match=message):
        read_option_file(write(tmp_path, "my.cnf", text))
