"""Which addresses are public: everybody's, and not this machine's, this network's, or a cloud's own."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

NOT_PUBLIC_4 = tuple(
    IPv4Network(text)
    for text in (
        "100.64.0.0/10",  # shared by customers of a provider; also the metadata of Alibaba's cloud
        "168.63.129.16/32",  # Azure's own services, on an address that looks public
        "192.0.0.0/24",  # protocol assignments; also the metadata of Oracle's cloud
        "192.88.99.0/24",  # relays of 6to4
    )
)
"""What Python's `is_global` does not leave out in every version."""

NOT_PUBLIC_6 = tuple(
    IPv6Network(text)
    for text in (
        "::/96",  # IPv4-compatible, deprecated
        "64:ff9b:1::/48",  # a network's own translation to IPv4
        "2001::/32",  # Teredo: leads through a relay to any IPv4 address
        "fec0::/10",  # site-local, deprecated
    )
)

NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether this is an address of the public internet; an IPv6 one that stands for an IPv4 one is judged as that."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        inner = _embedded(ip)
        if inner is None:
            return _is_global(ip) and not any(ip in network for network in NOT_PUBLIC_6)
        ip = inner
    return _is_global(ip) and not any(ip in network for network in NOT_PUBLIC_4)


def _embedded(ip: IPv6Address) -> IPv4Address | None:
    if ip in NAT64:
        return IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip.ipv4_mapped or ip.sixtofour


def _is_global(ip: IPv4Address | IPv6Address) -> bool:
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_loopback)
