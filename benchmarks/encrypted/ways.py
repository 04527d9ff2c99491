"""The ways in which one and the same job is run: clear, and encrypted as the environment says.

Version and suites are limited where no program has to know: OpenSSL reads `OPENSSL_CONF`, Java the properties that
`JAVA_TOOL_OPTIONS` names. `LATPCAP_TLS` asks the workloads to encrypt at all.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

OPENSSL = """\
openssl_conf = openssl_init
[openssl_init]
ssl_conf = ssl_section
[ssl_section]
system_default = limits
[limits]
MaxProtocol = {version}
CipherString = {suites}
"""
JAVA = """\
jdk.tls.disabledAlgorithms=SSLv3, TLSv1, TLSv1.1{disabled}
{key_limits}
"""


@dataclass(frozen=True)
class Way:
    """How connections are secured."""

    name: str
    version: str = ""
    """Empty: clear."""
    suites: str = "DEFAULT"
    """OpenSSL's names; TLS 1.2 only."""
    java_suites: str = ""
    resumes: bool = False
    """Each connection resumes the session of the one before it."""
    key_limit: str = ""
    """JSSE asks for new keys after so many bytes."""
    wire: bool = False
    """The protocol's own encryption, without TLS."""

    def environment(self, folder: Path) -> dict[str, str]:
        """What a workload is started with; its files go to the folder."""
        if self.wire:
            return {"LATPCAP_TLS": "1"}
        if not self.version:
            return {}
        openssl, java = folder / f"{self.name}.cnf", folder / f"{self.name}.properties"
        openssl.write_text(OPENSSL.format(version=self.version, suites=self.suites))
        limits = f"jdk.tls.keyLimits=AES/GCM/NoPadding KeyUpdate {self.key_limit}" if self.key_limit else ""
        java.write_text(JAVA.format(disabled=", TLSv1.3" if self.version == "TLSv1.2" else "", key_limits=limits))
        options = [f"-Djava.security.properties={java}"]
        # Without tickets MariaDB names the session, by which the agent's secrets of TLS 1.2 can be found.
        options += ["-Djdk.tls.client.enableSessionTicketExtension=false"] if self.version == "TLSv1.2" else []
        options += [f"-Djdk.tls.client.cipherSuites={self.java_suites}"] if self.java_suites else []
        variables = {"LATPCAP_TLS": "1", "OPENSSL_CONF": str(openssl), "JAVA_TOOL_OPTIONS": " ".join(options)}
        variables |= {"LATPCAP_SUITES": self.suites} if self.suites != "DEFAULT" else {}
        return variables | ({"LATPCAP_RESUME": "1"} if self.resumes else {})


CLEAR, AGAIN = Way("clear"), Way("again")
"""Clear twice: what differs there is the job's own variation."""
TLS12, TLS13 = Way("tls12", "TLSv1.2"), Way("tls13", "TLSv1.3")
CBC = Way("cbc", "TLSv1.2", "ECDHE-RSA-AES256-SHA384", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256")
"""OpenSSL encrypts, then authenticates; Java's has no such extension and does it the other way round."""
WIRE = Way("wire", wire=True)
"""Firebird's: Arc4 with Firebird 3."""
RESUMED12, RESUMED13 = Way("resumed12", "TLSv1.2", resumes=True), Way("resumed13", "TLSv1.3", resumes=True)
KEY_UPDATES = Way("key_updates", "TLSv1.3", key_limit="2^14")


def key_log(file: Path, variables: dict[str, str]) -> dict[str, str]:
    """Whatever makes clients write their secrets to the file."""
    agent, library = os.environ.get("LATPCAP_JAVA_AGENT"), os.environ.get("LATPCAP_PRELOAD")
    told = {"SSLKEYLOGFILE": str(file)}
    if agent and "JAVA_TOOL_OPTIONS" in variables:
        told["JAVA_TOOL_OPTIONS"] = f"{variables['JAVA_TOOL_OPTIONS']} -javaagent:{agent}={file}"
    return told | ({"LATPCAP_PRELOAD": library} if library else {})
