"""Certificates for one run: an authority, a server on this machine, a client."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Certificates:
    """Files.

    Attributes:
        authority: Who is to be trusted.
        server: Certificate and key of whoever is ``127.0.0.1``.
        client: Certificate and key of somebody.
    """

    authority: str
    server: tuple[str, str]
    client: tuple[str, str]

    def of_server(self, *, asks_for_client: bool = False) -> ssl.SSLContext:
        """What a server speaks by, to anybody or to whom the authority knows."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.server)
        if asks_for_client:
            context.load_verify_locations(self.authority)
            context.verify_mode = ssl.CERT_REQUIRED
            # By a later one a client is done before it is refused, and what it meets is a race.
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        return context


def make_certificates(folder: Path) -> Certificates:
    """Make them in *folder*."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _signed("authority", authority_key, authority_key, is_authority=True)
    file = folder / "authority.pem"
    file.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    made = []
    for name in ("server", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate, secret = folder / f"{name}.pem", folder / f"{name}.key"
        signed = _signed(name, key, authority_key)
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        made.append((str(certificate), str(secret)))
    return Certificates(str(file), *made)


def _signed(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    by: ec.EllipticCurvePrivateKey,
    *,
    is_authority: bool = False,
) -> x509.Certificate:
    now = datetime.now(UTC)
    constraints = x509.BasicConstraints(ca=is_authority, path_length=None)
    names = [x509.DNSName("localhost"), x509.IPAddress(IPv4Address("127.0.0.1"))]
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name("authority"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(constraints, critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(identifier, critical=False)
        .add_extension(issuer, critical=False)
        .sign(by, hashes.SHA256())
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
