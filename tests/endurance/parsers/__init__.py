"""Parsers of text from outside, each given bytes that a fuzzer makes up.

`targets` lists them, `fuzzing` runs them under atheris, and `cases` keeps the inputs that found something.
"""
