"""10,000 secrets in 45 forms of statements, told to a real server, and looked for in what latpcap shows of the traffic.

    python benchmarks/planted_secrets.py SERVER CAPTURE HOST PORT USER PASSWORD DATABASE
    python benchmarks/planted_secrets.py SERVER CAPTURE        searches again in what was recorded before

SERVER is mariadb, mariadb-tls, postgresql, firebird or sqlserver: 2,000 in forms of its own, as batches, with and as
parameters, told to the scripted server of the tests without HOST and the rest. Through TLS the client logs its keys beside the capture, every
command is given them, and no key may be in an output, either.

The server answers each statement, mostly with an error that repeats a part of it; nothing it is told is to succeed, and
what does is rolled back. The bytes pass a recorder and become a capture; then every command that the privacy tests run
prints it in every format, by default, with literals, and with pseudonyms. A password must be in none of these outputs,
a literal only in the second. Needs PyMySQL, psycopg or firebird-driver (without TLS), and the project's tests.
"""

from __future__ import annotations

import random
import re
import ssl
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import click
from click.testing import CliRunner
from planted import Recorder, pcapng

from latpcap.cli import cli

SECRETS = 10_000
PASSWORDS = (
    "create user u identified by '{}'",
    "create user u identified by {}",
    'create user u identified by "{}"',
    "create user u@localhost identified via ed25519 using '{}' or unix_socket",
    "alter user u identified by 'x' replace '{}'",
    "alter role u password '{}'",
    "alter role u with encrypted password '{}' valid until 'infinity'",
    'alter role u password "{}"',
    "alter role u password {}",
    "create user u password '{}'",
    "set password for u = '{}'",
    "set password = password('{}') andd",
    "set my.api_key = '{}' andd",
    "set my.api_key = {}",
    "set my.api_key to {}",
    "select set_config('my.api_key', '{}', false, 1)",
    "update users set password = '{}' where id = 1",
    "update users set password = {}",
    "select * from users where password = {} and id = 1",
    "select * from users where token <> {}",
    "select * from users where api_key = md5('{}')",
    "select * from dblink('postgresql://u:{}@h/db', 'select 1')",
    "select dblink_connect('host=h password={}')",
    "create user mapping for u server x options (user 'u', password '{}')",
    "create subscription s connection 'host=h password={}' publication",
    "change master to master_password='{}' andd",
    "grant all on *.* to u identified by '{}' andd",
    "select aes_encrypt('x', '{}') andd",
    "select pgp_sym_encrypt('x', '{}')",
    "select a from nowhere /* password={} */",
    "select a from nowhere -- token: {}",
    "do $$ begin execute 'alter role x password ''{}'' '; end $$",
    "prepare p from 'set password = ''{}'' '",
    "call login(name => 'bob', p_password => {})",
)
LITERALS = (
    "select * from nowhere where mail = '{}'",
    "insert into nowhere values ('it's {}', 1)",
    "select 'the dogs' {} bone', 'b'",
    "select 'a', the dogs' {} bone', 'b'",
    "select cast('{}' as integer)",
    "select * from nowhere where mail in ('{}', '{}b') andd",
    "selec '{}'",
    "select 'never closed {}",
    "select count('{}', '{}')",
    "select 1 + '{}' from nowhere",
    "execute procedure p '{}'",
)
TRANSACT = (
    "create login u with password = '{}'",
    "create login u with password = N'{}' must_change, check_policy = on",
    "create login u with password = {}",
    "alter login u with password = '{}' old_password = 'x'",
    "alter login u with password = 'x' old_password = '{}'",
    "alter login [u] with password = N'{}' unlock",
    "create user u with password = '{}', default_schema = dbo",
    "alter user u with password = '{}'",
    "create application role r with password = '{}', default_schema = dbo",
    "alter application role r with name = s, password = '{}'",
    "create master key encryption by password = '{}'",
    "alter master key regenerate with encryption by password = '{}'",
    "open master key decryption by password = '{}'",
    "backup master key to file = 'f' encryption by password = '{}'",
    "restore master key from file = 'f' decryption by password = '{}' encryption by password = 'x'",
    "restore master key from file = 'f' decryption by password = 'x' encryption by password = '{}'",
    "backup service master key to file = 'f' encryption by password = '{}'",
    "create certificate c encryption by password = '{}' with subject = 's'",
    "create certificate c from file = 'f' with private key (file = 'g', decryption by password = '{}')",
    "backup certificate c to file = 'f' with private key (file = 'g', encryption by password = '{}')",
    "alter certificate c with private key (decryption by password = 'x', encryption by password = '{}')",
    "create symmetric key k with algorithm = aes_256, key_source = '{}' encryption by password = 'x'",
    "create symmetric key k with algorithm = aes_256, identity_value = '{}' encryption by password = 'x'",
    "create symmetric key k with algorithm = aes_256 encryption by password = '{}'",
    "open symmetric key k decryption by password = '{}'",
    "open symmetric key k decryption by certificate c with password = '{}'",
    "alter symmetric key k add encryption by password = '{}'",
    "create asymmetric key a with algorithm = rsa_2048 encryption by password = '{}'",
    "alter asymmetric key a with private key (decryption by password = '{}')",
    "create credential c with identity = 'u', secret = '{}'",
    "alter credential c with identity = 'u', secret = N'{}'",
    "create database scoped credential c with identity = 'SHARED ACCESS SIGNATURE', secret = '{}'",
    "select * from openrowset('SQLNCLI', 'Server=h;Uid=u;Pwd={};', 'select 1')",
    "select * from openrowset('SQLNCLI', 'h';'u';'{}', 'select 1') as a",
    "select * from opendatasource('SQLNCLI', 'Data Source=h;User ID=u;Password={}').d.dbo.t",
    "create external data source s with (location = 'sqlserver://h', connection_options = 'UID=u;PWD={}')",
    "bulk insert t from 'https://h/f?sv=1&sig={}' with (format = 'csv')",
    "copy into t from 'https://h/f' with (credential = (identity = 'Shared Access Signature', secret = '{}'))",
    "exec sp_addlinkedserver @server = 's', @srvproduct = '', @provider = 'p', @provstr = 'Server=h;Pwd={}'",
    "exec sp_addlinkedsrvlogin 's', 'false', null, 'u', '{}'",
    "exec sp_addlinkedsrvlogin @rmtsrvname = 's', @useself = 'false', @rmtuser = 'u', @rmtpassword = '{}'",
    "execute master.dbo.sp_addlinkedsrvlogin @rmtsrvname = N's', @rmtpassword = N'{}'",
    "exec sp_addlogin 'u', '{}'",
    "sp_addlogin 'u', '{}', 'db'",
    "exec sp_addlogin @loginame = 'u', @passwd = '{}'",
    "exec sp_password 'x', '{}', 'u'",
    "exec sp_password '{}', 'x'",
    "exec sp_password null, '{}', 'u'",
    "exec sp_password @new = '{}', @loginame = 'u'",
    "exec [sys].[sp_password] @old = '{}', @new = 'x'",
    "exec sp_setapprole 'r', '{}'",
    "exec sp_setapprole @rolename = 'r', @password = '{}', @encrypt = 'odbc'",
    "exec sp_setapprole 'r', {encrypt N'{}'}, 'odbc'",
    "exec sp_addapprole 'r', '{}'",
    "exec sp_approlepassword 'r', '{}'",
    "exec sp_change_users_login 'Auto_Fix', 'u', null, '{}'",
    "exec msdb.dbo.sysmail_add_account_sp @account_name = 'a', @username = 'u', @password = '{}'",
    "exec sp_addpullsubscription_agent @publisher = 'p', @distributor_password = '{}'",
    "exec xp_cmdshell 'sqlcmd -S h -U u -P {} -Q 1'",
    "exec xp_cmdshell 'bcp d.dbo.t out f -S h -U u -P{} -c'",
    "backup database d to disk = 'f' with password = '{}'",
    "backup log d to disk = 'f' with mediapassword = '{}', format",
    "restore database d from disk = 'f' with mediapassword = '{}', password = 'x'",
    "declare @pwd nvarchar(50) = '{}'; exec sp_addlogin 'u', @pwd",
    "declare @password nvarchar(50); set @password = N'{}'; select 1 from nowhere",
    "select @password = '{}' from nowhere",
    "if pwdcompare('{}', (select h from nowhere)) = 1 select 1",
    "select pwdencrypt('{}')",
    "select encryptbypassphrase('{}', c) from nowhere",
    "select decryptbypassphrase(N'{}', c) from nowhere",
    "select decryptbycert(cert_id('c'), c, N'{}') from nowhere",
    "select signbyasymkey(asymkey_id('a'), c, N'{}') from nowhere",
    "exec('create login u with password = ''{}''')",
    "exec ('create login u with password = ''{}''') at s",
    "exec sp_executesql N'alter login u with password = ''{}'''",
    "insert into [users] ([name], [password]) values ('u', N'{}')",
    "update users set [password] = '{}' where id = 1",
    "select * from users where [password] = N'{}' and [id] = 1",
    "begin try exec sp_addlogin 'u', '{}' end try begin catch throw end catch",
)
ENDINGS = ("", "!", "#1", "-x", "@x", ".y", "é", "/z")
"""What stands behind the word that is looked for."""
BARE_ENDINGS = ("", "!x", "#1", "@x", "$y")
FORMATS = {"hidden": [], "shown": ["--show-literals"], "pseudonyms": ["--pseudonymise"]}
COMMANDS = (
    ["analyze"],
    ["analyze", "--json"],
    ["statements", "--format", "csv"],
    ["table exchanges", "--format", "csv"],
    ["table connections", "--format", "csv"],
    ["table health", "--format", "csv"],
    ["findings"],
    ["analyze", "-o", "{}/report.md"],
    ["analyze", "-o", "{}/report.html"],
    ["sql", "select * from statements"],
)


def main(server: str, capture: Path, host: str = "", port: str = "", *login: str) -> int:
    random.seed(server)
    planted = dict(statements(server))
    if host or (server == "sqlserver" and not capture.exists()):
        errors = record(server, (host, int(port or 0), *login), [sql for sql, _ in planted.values()], capture)
        print(f"{server}: {len(planted):,} statements, {errors:,} errors, {capture.stat().st_size:,} bytes")
    with tempfile.TemporaryDirectory() as folder:
        return sum(search(capture, folder, way, planted) for way in FORMATS)


def statements(server: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """The word to look for → a statement that holds it, and its form."""
    forms = (TRANSACT if server == "sqlserver" else PASSWORDS) + LITERALS
    for number in range(2_000 if server == "sqlserver" else SECRETS):
        form = forms[number % len(forms)]
        word = "zq" + "".join(random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=9))
        word = random.choice((word, word.upper(), word.capitalize()))
        endings = ENDINGS if "'{}" in form else BARE_ENDINGS
        ending = "" if "://" in form else random.choice(endings)
        yield word.lower(), (form.replace("{}", word + ending), form)


def record(server: str, login: tuple[Any, ...], sent: list[str], capture: Path) -> int:
    host, port, *rest = login
    with scripted() if server == "sqlserver" else nullcontext() as ours:
        recorder = Recorder(ours.port if ours else port, host or "127.0.0.1")
        errors = CLIENTS[server](recorder.port, rest, sent, capture.with_suffix(".keys"))
    recorder.join()
    capture.write_bytes(pcapng([recorder.talk]))
    return errors


def mariadb(port: int, login: list[str], sent: list[str], keys: Path, **tls: Any) -> int:
    import pymysql

    user, password, database = login
    tls = tls or {"ssl_disabled": True}
    connection = pymysql.connect(host="127.0.0.1", port=port, user=user, password=password, database=database, **tls)
    with connection.cursor() as cursor:
        return sum(fails(lambda sql=sql: cursor.execute(sql), pymysql.Error) for sql in sent)


def mariadb_tls(port: int, login: list[str], sent: list[str], keys: Path) -> int:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    keys.unlink(missing_ok=True)
    context.keylog_filename = str(keys)
    return mariadb(port, login, sent, keys, ssl=context)


def postgresql(port: int, login: list[str], sent: list[str], keys: Path) -> int:
    import psycopg

    user, password, database = login
    with psycopg.connect(
        host="127.0.0.1", port=port, user=user, password=password, dbname=database, sslmode="disable", autocommit=True
    ) as connection:
        return sum(fails(lambda sql=sql: connection.execute(sql), psycopg.Error) for sql in sent)


def firebird(port: int, login: list[str], sent: list[str], keys: Path) -> int:
    from firebird.driver import DatabaseError, connect

    user, password, database = login
    with connect(f"127.0.0.1/{port}:{database}", user=user, password=password) as connection:
        cursor = connection.cursor()
        errors = sum(fails(lambda sql=sql: cursor.execute(sql), DatabaseError) for sql in sent)
        connection.rollback()
        return errors


def sqlserver(port: int, login: list[str], sent: list[str], keys: Path) -> int:
    """By turns as a batch, as a statement with a parameter, and as the parameter of a statement and of a procedure."""
    import pytds

    ways: tuple[Callable[[Any, str], Any], ...] = (
        *[lambda cursor, sql: cursor.execute(sql)] * 5,
        lambda cursor, sql: cursor.execute(sql + " -- %s", (1,)),
        lambda cursor, sql: cursor.execute("exec sp_addlogin %s, %s", ("u", sql)),
        lambda cursor, sql: cursor.callproc("sp_password", (None, sql)),
    )
    with pytds.connect("127.0.0.1", "shop", "ann", "top secret", port=port, autocommit=True) as connection:
        cursor, turns = connection.cursor(), random.choices(ways, k=len(sent))
        return sum(
            fails(lambda way=way, sql=sql: way(cursor, sql), pytds.Error) for way, sql in zip(turns, sent, strict=True)
        )


def scripted() -> Any:
    """The server of the tests, whose errors repeat what SQL Server's do."""
    from sqlserver import scripted_server

    def failing(sql: str) -> Any:
        found = re.search(r"zq[a-z0-9]{9}[^\s')]*", sql, re.IGNORECASE)
        word = found[0] if found else "x"
        errors = (
            (102, f"Incorrect syntax near '{word}'."),
            (105, f"Unclosed quotation mark after the character string '{sql[-40:]}'."),
            (207, f"Invalid column name '{word}'."),
            (245, f"Conversion failed when converting the varchar value '{word}' to data type int."),
            (2627, f"Violation of PRIMARY KEY constraint 'pk'. The duplicate key value is ({word}, 1)."),
            (2628, f"String or binary data would be truncated in table 't', column 'c'. Truncated value: '{word}'."),
            (50000, f"{word} has no credit"),
        )
        raise scripted_server.SqlServerError(*random.choice(errors))

    scripted_server.run = failing
    return scripted_server.Server()


CLIENTS: dict[str, Callable[[int, list[str], list[str], Path], int]] = {
    "mariadb": mariadb,
    "mariadb-tls": mariadb_tls,
    "postgresql": postgresql,
    "firebird": firebird,
    "sqlserver": sqlserver,
}


def fails(run: Callable[[], Any], error: type[Exception]) -> bool:
    try:
        run()
    except error:
        return True
    return False


def search(capture: Path, folder: str, way: str, planted: dict[str, tuple[str, str]]) -> int:
    """Print the forms whose secrets are shown, and return how many secrets are."""
    text = "\n".join(outputs(capture, folder, way)).lower()
    found = set(re.findall(r"zq[a-z0-9]{9}", text)) & planted.keys()
    keys = capture.with_suffix(".keys")
    secrets = [line.split()[2] for line in keys.read_text().splitlines() if line[:1].isalpha()] if keys.exists() else []
    shown = sum(secret[:16].lower() in text or secret[-16:].lower() in text for secret in secrets)
    literals = {word for word in found if planted[word][1] in LITERALS}
    wrong = found - literals if way == "shown" else found
    forms = Counter(planted[word][1] for word in wrong)
    print(
        f"  {way}: {len(wrong):,} of {len(planted):,} secrets shown"
        + (f", {len(literals):,} literals" * (way == "shown"))
    )
    for form, count in forms.most_common():
        print(f"    {count:>5}  {form}")
    if secrets:
        print(f"    {shown} of {len(secrets)} keys shown")
    return len(wrong) + shown


def outputs(capture: Path, folder: str, way: str) -> Iterator[str]:
    for command in COMMANDS:
        rest = [part.replace("{}", folder) for part in command[1:]]
        keys = capture.with_suffix(".keys")
        rest += ["--keylog", str(keys)] if keys.exists() else []
        result = CliRunner().invoke(cli, [*command[0].split(), str(capture), *rest, *FORMATS[way]])
        if result.exit_code:
            raise click.ClickException(f"latpcap {' '.join(command)}: {result.output}{result.exception}")
        yield result.output
        for file in Path(folder).glob("report.*"):
            yield file.read_text()
            file.unlink()


if __name__ == "__main__":
    if len(sys.argv) not in (3, 8) or sys.argv[1] not in CLIENTS:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]) > 0)
