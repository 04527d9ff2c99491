"""The server's half of a password logon (12c verifier)."""

from __future__ import annotations

import hashlib
import secrets

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from oracle.ttc import Reader

PASSWORD = b"tiger"
ROUNDS, SESSION_ROUNDS = 4096, 3


def encrypted(key: bytes, text: bytes) -> bytes:
    cipher = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
    return cipher.update(text) + cipher.finalize()


def decrypted(key: bytes, text: bytes) -> bytes:
    cipher = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).decryptor()
    return cipher.update(text) + cipher.finalize()


def derived(secret: bytes, salt: bytes, length: int, rounds: int) -> bytes:
    return PBKDF2HMAC(algorithm=hashes.SHA512(), salt=salt, length=length, iterations=rounds).derive(secret)


def hexed(value: bytes) -> str:
    return value.hex().upper()


def value_of(message: bytes, key: bytes) -> bytes:
    """The value behind a key, hexadecimal in the message."""
    reader = Reader(message, message.index(key) + len(key))
    reader.ub()
    return bytes.fromhex(reader.string().decode())


class Logon:
    """One client that proves that it knows the password."""

    def __init__(self) -> None:
        self.salt, self.session_salt, self.own_part = (secrets.token_bytes(size) for size in (16, 16, 32))
        key = derived(PASSWORD, self.salt + b"AUTH_PBKDF2_SPEEDY_KEY", 64, ROUNDS)
        self.verifier = hashlib.sha512(key + self.salt).digest()[:32]

    def challenge(self) -> list[tuple[str, str, int]]:
        return [
            ("AUTH_SESSKEY", hexed(encrypted(self.verifier, self.own_part)), 0),
            ("AUTH_VFR_DATA", hexed(self.salt), 0x4815),
            ("AUTH_PBKDF2_CSK_SALT", hexed(self.session_salt), 0),
            ("AUTH_PBKDF2_VGEN_COUNT", str(ROUNDS), 0),
            ("AUTH_PBKDF2_SDER_COUNT", str(SESSION_ROUNDS), 0),
            ("AUTH_GLOBALLY_UNIQUE_DBID\0", hexed(secrets.token_bytes(16)), 0),
        ]

    def response(self, message: bytes) -> str | None:
        """The server's own proof, or `None` for a wrong password."""
        other_part = decrypted(self.verifier, value_of(message, b"AUTH_SESSKEY"))
        secret = hexed(other_part[:32] + self.own_part[:32]).encode()
        session_key = derived(secret, self.session_salt, 32, SESSION_ROUNDS)
        password = decrypted(session_key, value_of(message, b"AUTH_PASSWORD"))[16:]
        if password[: -password[-1]] != PASSWORD:
            return None
        proof = secrets.token_bytes(16) + b"SERVER_TO_CLIENT" + bytes([16] * 16)
        return hexed(encrypted(session_key, proof))
