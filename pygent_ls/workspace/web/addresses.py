"""Classification of IP addresses as public, as opposed to this machine's, this network's, or a cloud's own.

The tables are IANA's registries of special-purpose addresses (iana-ipv4-special-registry, iana-ipv6-special-registry)
with RFC 9602 and 9637, of 2024. Python's `is_global` is not used because it differs between versions. Only IPv6 global
unicast addresses are public, except for the ranges excluded here.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

NOT_PUBLIC_4: Sequence[IPv4Network] = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by customers of a provider; also the metadata of Alibaba's cloud
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's own services, on an address that looks public
        "169.254.0.0/16",  # link-local; the metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; also the metadata of Oracle's cloud
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112: answered by the nearest server
        "192.52.193.0/24",  # AMT relays
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)

PUBLIC_6 = IPv6Network("2000::/3")
"""Global unicast: excludes loopback, link-local, private, site-local and multicast addresses, translation to IPv4,
segment routing, and reserved ranges.
"""

NOT_PUBLIC_6: Sequence[IPv6Network] = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID, AMT, drones
        "2001:db8::/32",  # documentation
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)

_STAND_FOR_4: Sequence[tuple[IPv6Network, int]] = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4
)
"""Networks whose addresses only lead to an embedded IPv4 address, with the number of bits after that address."""

_ISATAP = 0x0000_5EFE
"""Start of the second half of an address that leads to the IPv4 address at its end, in any network."""

_ISATAP_MASK = 0xFCFF_FFFF
"""Mask without the bits `u` and `g`, which may have either value (RFC 5214, section 6.1)."""


def is_public(address: str) -> bool:
    """Return whether an address is public; an IPv6 address that embeds an IPv4 address is judged by the latter."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, IPv4Address):
        return _is_public_4(ip)
    if int(_inner(ip, 32)) & _ISATAP_MASK == _ISATAP and not _is_public_4(_inner(ip, 0)):
        return False
    for network, n_bits in _STAND_FOR_4:
        if ip in network:
            return _is_public_4(_inner(ip, n_bits))
    return ip in PUBLIC_6 and not any(ip in network for network in NOT_PUBLIC_6)


def _inner(ip: IPv6Address, n_bits: int) -> IPv4Address:
    """Return the 32 bits before the last `n_bits`."""
    return IPv4Address(int(ip) >> n_bits & 0xFFFF_FFFF)


def _is_public_4(ip: IPv4Address) -> bool:
    return not any(ip in network for network in NOT_PUBLIC_4)
