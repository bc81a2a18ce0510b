"""Which addresses are everybody's."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.workspace.addresses import is_public


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "2001:4860:4860::8888", "1.0.0.1"])
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
