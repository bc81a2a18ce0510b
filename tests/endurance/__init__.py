"""Tests that take as long as they are given: `make endurance`. Their short forms run with the other tests."""
