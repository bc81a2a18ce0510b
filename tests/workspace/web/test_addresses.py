"""Which addresses are everybody's."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.workspace.web.addresses import is_public


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "2001:4860:4860::8888", "1.0.0.1", "2001:470:1:2:0:5efe:8.8.8.8"],
)
def test_the_internets_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
        *("169.254.169.254", "169.254.0.1", "100.64.0.1", "100.100.100.200", "100.127.255.255", "192.0.0.192"),
        *("168.63.129.16", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250"),
        *(
            "240.0.0.1",
            "255.255.255.255",
            "192.88.99.1",
            "::",
            "::1",
            "fe80::1",
            "fe80::1%eth0",
            "fc00::1",
            "fd00:ec2::254",
        ),
        *("fec0::1", "ff02::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1"),
        *("64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:c0a8:101::1", "2001:0:1::1", "2001:db8::1"),
        *("2001:470:1:2:0:5efe:192.168.1.1", "2001:470:1:2:200:5efe:10.0.0.1", "2001:470::5efe:7f00:1"),
        *("2001:470::100:5efe:127.0.0.1", "2001:470::300:5efe:10.0.0.1", "2002:808:808::5efe:127.0.0.1"),
        *("fe80::5efe:8.8.8.8", "64:ff9b:1:ffff::808:808", "::ffff:0:127.0.0.1", "100::1", "100:0:0:1::1"),
        *("2001:2::1", "2001:3::1", "2001:4:112::1", "2001:10::1", "2001:20::1", "2001:30::1", "2001:1ff::1"),
        *("3fff::1", "3fff:fff::1", "5f00::1", "4000::1", "1::1", "2620:4f:8000::1", "fb00::1", "e000::1"),
        *("192.0.0.9", "192.0.0.10", "192.31.196.1", "192.52.193.1", "192.175.48.1", "198.19.255.255", "0.255.0.1"),
        *("", "example.org", "1.2.3", "0x7f000001"),
    ],
)
def test_all_others_are_not(address: str) -> None:
    assert not is_public(address)


@given(number=st.integers(0, 2**32 - 1))
def test_an_address_that_stands_for_another_is_judged_as_that(number: int) -> None:
    plain = IPv4Address(number)
    high, low = number >> 16, number & 0xFFFF

    for spelled in (f"::ffff:{plain}", f"64:ff9b::{plain}", f"2002:{high:x}:{low:x}::1"):
        assert is_public(spelled) == is_public(str(plain))


@given(number=st.integers(0, 2**32 - 1), network=st.integers(0, 2**64 - 1), bits=st.integers(0, 3))
def test_a_tunnel_within_a_site_leads_to_no_address_that_is_not_public(number: int, network: int, bits: int) -> None:
    """ISATAP: any network may carry it, and the last 32 bits say which IPv4 address answers."""
    tunnel = IPv6Address(network << 64 | (bits << 24 | 0x5EFE) << 32 | number)

    assert not is_public(str(tunnel)) or is_public(str(IPv4Address(number)))


SPECIAL_PURPOSE = (
    *("0.0.0.0/8", "127.0.0.0/8"),  # RFC 1122: this network, loopback
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),  # RFC 1918: private
    "100.64.0.0/10",  # RFC 6598: shared
    *("169.254.0.0/16", "fe80::/10"),  # RFC 3927, 4291: link-local
    *("192.0.0.0/24", "2001::/23"),  # RFC 6890, 2928: protocol assignments
    *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),  # RFC 5737, 3849, 9637
    *("192.31.196.0/24", "192.175.48.0/24", "2001:4:112::/48", "2620:4f:8000::/48"),  # RFC 7535, 7534: AS112
    *("192.52.193.0/24", "2001:3::/32"),  # RFC 7450: AMT
    "192.88.99.0/24",  # RFC 7526: relays of 6to4
    *("198.18.0.0/15", "2001:2::/48"),  # RFC 2544, 5180: benchmarks
    *("224.0.0.0/4", "ff00::/8"),  # RFC 5771, 4291: multicast
    "240.0.0.0/4",  # RFC 1112, 8190: reserved, broadcast
    "::/96",  # RFC 4291: unspecified, loopback, IPv4-compatible
    "::ffff:0:0:0/96",  # RFC 2765: IPv4-translated
    "64:ff9b:1::/48",  # RFC 8215: translation within a network
    *("100::/64", "100:0:0:1::/64"),  # RFC 6666, 9780: discarded, dummy
    "2001::/32",  # RFC 4380: Teredo
    *("2001:10::/28", "2001:20::/28", "2001:30::/28"),  # RFC 4843, 7343, 9374: ORCHID, DRIP
    "5f00::/16",  # RFC 9602: segment routing
    "fc00::/7",  # RFC 4193: private
    "fec0::/10",  # RFC 3879: site-local
)
"""IANA's registries of special-purpose addresses, with the documents that reserve them."""


@pytest.mark.parametrize("network", SPECIAL_PURPOSE)
def test_no_address_that_is_reserved_is_public_however_it_is_spelled(network: str) -> None:
    reserved = ip_network(network)

    for plain in (reserved[0], reserved[-1], reserved[reserved.num_addresses // 2]):
        spellings = [str(plain), plain.exploded]
        if isinstance(plain, IPv4Address):
            high, low = int(plain) >> 16, int(plain) & 0xFFFF
            spellings += [f"{prefix}{plain}" for prefix in ("::ffff:", "::FFFF:", "0:0:0:0:0:ffff:", "64:ff9b::", "::")]
            spellings += [f"::ffff:{high:x}:{low:x}", f"2002:{high:x}:{low:x}::1", f"2001:470::5efe:{plain}"]
        assert [each for each in spellings if is_public(each)] == []


@given(number=st.integers(0, 2**32 - 1))
def test_what_python_knows_to_be_private_is_not_public(number: int) -> None:
    plain = IPv4Address(number)

    assert plain.is_global or not is_public(str(plain))


@given(number=st.integers(0, 2**128 - 1))
def test_of_all_other_addresses_none_outside_of_global_unicast_is_public(number: int) -> None:
    plain = IPv6Address(number)
    stands_for_another = plain.ipv4_mapped is not None or plain in IPv6Network("64:ff9b::/96")

    assert stands_for_another or plain in IPv6Network("2000::/3") or not is_public(str(plain))
